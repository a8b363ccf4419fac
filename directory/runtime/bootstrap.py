"""Prepares the database before the first request, if PREPARE_DATABASE is set, as `make run` does."""

import logging
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask, current_app
from flask.cli import FlaskGroup
from sqlalchemy.exc import SQLAlchemyError

from directory import logs
from directory.extensions import db
from directory.services import health
from directory.services.data import seeding

log = logging.getLogger(__name__)
SAID_EVERY = 5.0  # seconds between two lines about a seeding that takes long; `flask db upgrade` prints its own
FLASK = (sys.executable, "-m", "flask", "--app", str(Path(__file__).resolve().parents[2] / "wsgi.py"))
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (a browser cannot open them)
PAGES = (("Site", "/"), ("Console", "/admin"), ("API", "/api/docs"), ("Feed", "/api/projects.atom"))


def prepare(app: Flask) -> str:
    """Migrate a database that is behind, and fill an empty one with the demo, if this is not production.

    Leaves no connection open. Returns the output of `flask seed`: the passwords of the demo. The check takes a few
    milliseconds. Each command runs in a process of its own, which frees its memory. Raises SystemExit with the status
    of a command that fails; the command prints the reason.
    """
    seeded = ""
    with app.app_context():
        if not _migrated():
            log.info("migrating", extra={"database": db.address})
            _run("db", "upgrade")
            log.info("migrated", extra={"database": db.address, "revision": ", ".join(health.heads())})
        if app.config["APP_ENV"] != "production" and seeding.is_empty():
            log.info("seeding an empty database", extra={"database": db.address})
            seeded = _run("seed", "--if-empty")
            log.info("seeded", extra={"database": db.address})
        db.session.remove()
        db.engine.dispose()
    return seeded


def _migrated() -> bool:
    try:
        with db.engine.connect() as connection:
            return health.migrations(connection) >= health.heads()
    except SQLAlchemyError:  # the command meets and reports the same
        return False


def _run(*command: str) -> str:
    """The output of the command, of which a line is logged now and then while `flask seed`, itself silent, runs.

    Its process is a copy of this one: what is imported here already, each command would import for a second or more.
    """
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    db.session.remove()
    db.engine.dispose()  # a connection belongs to one process
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = multiprocessing.get_context("fork").Process(target=_become, args=(app, command, output.fileno()))
        process.start()
        process.join(SAID_EVERY)
        while process.is_alive():
            if command[0] == "seed":
                log.info("still seeding", extra={"seconds": round(time.monotonic() - began)})
            process.join(SAID_EVERY)
        if process.exitcode:
            raise SystemExit(process.exitcode)
        output.seek(0)
        return output.read()


def _become(app: Flask, command: tuple[str, ...], output: int) -> None:
    """Run a command in place of what this process was. It logs warnings and above: the server logs two lines for it."""
    config = app.config
    config["LOG_LEVEL"] = "ERROR" if config["LOG_LEVEL"] == "ERROR" else "WARNING"
    logs.configure(config["LOG_LEVEL"], config["LOG_FORMAT"], colours=config["LOG_COLOURS"])
    os.dup2(output, sys.stdout.fileno())
    FlaskGroup(create_app=lambda: app).main([*command], prog_name="flask")


def addresses(settings: Mapping[str, Any]) -> str:
    """The addresses of a server with these settings, a line each, and how to stop it."""
    host = ANY_ADDRESS.get(settings["HOST"], settings["HOST"])
    origin = f"http://[{host}]:{settings['PORT']}" if ":" in host else f"http://{host}:{settings['PORT']}"
    shown = [(name, path) for name, path in PAGES if settings["WEB_ENABLED"] or name != "Console"]
    lines = [f"  {name:<8}{origin}{path}" for name, path in shown]
    return "\n".join(["", f"{settings['SITE_NAME']} is ready:", *lines, "Press Ctrl-C to stop.", ""])
