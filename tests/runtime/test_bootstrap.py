"""PREPARE_DATABASE: what a server does to its database before it serves, and that it does no more than that."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import create_engine, text

from directory.extensions import db
from directory.runtime import bootstrap
from directory.services import health
from tests.conftest import ENVIRONMENT, Database
from tests.support import servers
from tests.support.factories import World
from tests.support.processes import free_port
from tests.support.serving import WITHIN, Serving, serving


@pytest.fixture
def empty(database: Database, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables."""
    if database.backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server, name = servers.url_of(servers.DATABASE), f"empty_{os.getpid()}"
    yield servers.create_database(server, name)
    servers.drop_database(server, name)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that would be run."""
    run: list[tuple[str, ...]] = []
    monkeypatch.setattr(bootstrap, "_run", lambda *command: run.append(command) or "printed")
    return run


def environment(url: str, **settings: str) -> dict[str, str]:
    return {**ENVIRONMENT, "APP_ENV": "development", "DATABASE_URL": url, "PREPARE_DATABASE": "true", **settings}


def test_a_server_over_an_empty_database_begins_with_the_demo(empty: str, tmp_path: Path) -> None:
    """Each step is logged when it begins and when it ends, and the passwords are printed at the end."""
    with serving(environment(empty, LOG_LEVEL="INFO"), tmp_path / "log") as server:
        assert server.request("GET", "/readyz") == 200
    assert rows(empty, "projects") > 0
    log = server.log.read_text()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    before = [line for line in lines if line["logger"] == bootstrap.__name__ and line["message"] != "still seeding"]
    assert [line["message"] for line in before] == ["migrating", "migrated", "seeding an empty database", "seeded"]
    assert [line.get("revision") for line in before] == [None, health.heads()[0], None, None]
    assert {line["database"] for line in before} == {empty.replace(":secret@", ":***@")}
    assert not [line for line in lines if line["logger"].startswith("alembic")]
    assert log.index("Booting worker") < log.index("Passwords are random")
    assert "Database:" not in log


def test_in_production_it_begins_with_tables_alone(empty: str, tmp_path: Path) -> None:
    with serving(environment(empty, APP_ENV="production"), tmp_path / "log") as server:
        assert server.request("GET", "/readyz") == 200
    assert (rows(empty, "users"), rows(empty, "projects")) == (0, 0)
    assert "seeding" not in server.log.read_text()


def test_without_the_setting_the_database_is_not_prepared(empty: str, tmp_path: Path) -> None:
    with serving(environment(empty, PREPARE_DATABASE="false"), tmp_path / "log") as server:
        assert server.request("GET", "/readyz") == 503


def rows(url: str, table: str) -> int:
    """How many rows a table has."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return int(connection.scalar(text(f"SELECT count(*) FROM {table}")))  # type: ignore[arg-type]
    finally:
        engine.dispose()


def test_what_seeding_prints_is_returned(app: Flask, commands: list[Any]) -> None:
    assert bootstrap.prepare(app) == "printed"
    assert commands == [("seed", "--if-empty")]


def test_a_seeding_that_takes_long_is_logged_while_it_does(
    app: Flask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command, in the place of ours, waits until a line is logged about it."""
    logged = tmp_path / "logged"

    def wait(_app: Flask, _command: tuple[str, ...], output: int) -> None:
        while not logged.exists():
            pass
        os.write(output, b"done\n")

    monkeypatch.setattr(bootstrap, "_become", wait)
    monkeypatch.setattr(bootstrap, "SAID_EVERY", 0.05)
    monkeypatch.setattr(bootstrap.log, "info", lambda *_, **__: logged.touch())
    with app.app_context():
        assert bootstrap._run("seed") == "done\n"


def test_a_prepared_database_is_only_checked(app: Flask, world: World, commands: list[Any]) -> None:
    world.user()
    bootstrap.prepare(app)

    assert commands == []
    with app.app_context():
        assert db.engine.pool.checkedin() == 0  # type: ignore[attr-defined]


def test_a_database_of_a_later_version_is_served_as_it_is(
    app: Flask, world: World, commands: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.user()
    monkeypatch.setattr(health, "heads", lambda: ("0001",))
    bootstrap.prepare(app)

    assert commands == []


def test_a_database_of_an_earlier_version_is_migrated(app: Flask, world: World, commands: list[Any]) -> None:
    world.user()
    with app.app_context():
        db.session.remove()
        flask_migrate.downgrade(revision="-1")
    bootstrap.prepare(app)
    with app.app_context():
        flask_migrate.upgrade()

    assert commands == [("db", "upgrade")]


def test_a_database_that_does_not_answer_ends_the_start_with_one_line(tmp_path: Path) -> None:
    unreachable = f"postgresql+psycopg://x:y@127.0.0.1:{free_port()}/x"
    server = Serving(environment(unreachable, LOG_LEVEL="ERROR"), tmp_path / "log")
    status = server.process.wait(WITHIN)

    said = [line for line in server.log.read_text().splitlines() if not line.startswith("{")]
    assert status == 1
    assert len(said) == 1
    assert said[0].startswith("Error: The database does not answer: ")
