"""Prepares the database before the first request, if PREPARE_DATABASE is set, as `make run` does."""

import logging
import os
import subprocess
import sys
from pathlib import Path

from flask import Flask, current_app
from sqlalchemy.exc import SQLAlchemyError

from directory.extensions import db
from directory.services import health
from directory.services.data import seeding

log = logging.getLogger(__name__)
FLASK = (sys.executable, "-m", "flask", "--app", str(Path(__file__).resolve().parents[2] / "wsgi.py"))


def prepare(app: Flask) -> str:
    """Migrate a database that is behind, and fill an empty one with the demo, if this is not production.

    Leaves no connection open. Returns the output of `flask seed`: the passwords of the demo. The check takes a few
    milliseconds. Each command runs in a process of its own, which frees its memory. Raises SystemExit with the status
    of a command that fails; the command prints the reason.
    """
    seeded = ""
    with app.app_context():
        if not _migrated():
            _run("db", "upgrade")
            log.info("migrated", extra={"database": db.address, "revision": ", ".join(health.heads())})
        if app.config["APP_ENV"] != "production" and seeding.is_empty():
            log.info("seeding an empty database", extra={"database": db.address})
            seeded = _run("seed", "--if-empty")
        db.session.remove()
        db.engine.dispose()
    return seeded


def _migrated() -> bool:
    try:
        with db.engine.connect() as connection:
            return health.suffices(health.migrations(connection))
    except SQLAlchemyError:  # the command meets and reports the same
        return False


def _run(*command: str) -> str:
    """The output of the command. It logs warnings and above: the server logs one line for all migrations."""
    level = "ERROR" if current_app.config["LOG_LEVEL"] == "ERROR" else "WARNING"
    environment = {**os.environ, "LOG_LEVEL": level}
    ran = subprocess.run([*FLASK, *command], env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603 (our own)
    if ran.returncode:
        raise SystemExit(ran.returncode)
    return ran.stdout
