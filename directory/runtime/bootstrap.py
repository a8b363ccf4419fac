"""What is done to the database before the first request, where PREPARE_DATABASE says so, as `make run` does."""

import subprocess
import sys
from pathlib import Path

from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from directory.extensions import db
from directory.services import health
from directory.services.data import seeding

FLASK = (sys.executable, "-m", "flask", "--app", str(Path(__file__).resolve().parents[2] / "wsgi.py"))


def prepare(app: Flask) -> None:
    """Migrate a database that is behind, and plant the demo in an empty one. Leaves no connection open.

    Looking costs a few milliseconds, each command a process of its own, which takes with it what it loaded. Raises
    SystemExit with a command's status; what was wrong it has printed.
    """
    with app.app_context():
        if not _migrated():
            _run("db", "upgrade")
        if seeding.is_empty():
            _run("seed", "--if-empty")
        db.session.remove()
        db.engine.dispose()


def _migrated() -> bool:
    try:
        with db.engine.connect() as connection:
            return health.suffices(health.migrations(connection))
    except SQLAlchemyError:  # the command meets the same, and says what it is
        return False


def _run(*command: str) -> None:
    if status := subprocess.run([*FLASK, *command]).returncode:  # noqa: S603 (our own)
        raise SystemExit(status)
