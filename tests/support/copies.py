"""Helpers for `flask copy`: a second database, the command, and the content of a database."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text

from directory.db.transactions import transaction
from directory.extensions import db
from tests.conftest import Database, PostgresqlDatabase, SqliteDatabase, build
from tests.support import servers
from tests.support.caching import close_snapshots
from tests.support.variants import BACKENDS


@pytest.fixture(scope="module", params=BACKENDS)
def emptied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A second migrated database, of each kind in turn."""
    if request.param == "sqlite":
        yield SqliteDatabase(tmp_path_factory.mktemp("target"))
        return
    with servers.or_skip():
        servers.url_of(servers.DATABASE)
    target = PostgresqlDatabase("target")
    yield target
    target.drop()


@pytest.fixture
def target(emptied: Database) -> Iterator[Flask]:
    """The application over the database to fill, which is empty."""
    emptied.reset()
    app = build(emptied.url)
    yield app
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    close_snapshots(app)


@pytest.fixture
def run(target: Flask, database: Database) -> Any:
    """Runs `flask copy` from the test's database into the other one."""
    runner = target.test_cli_runner(catch_exceptions=False)
    return lambda url=database.url: runner.invoke(args=["copy", "--from", url])


def held(app: Flask) -> dict[str, list[str]]:
    """All rows of all tables but sessions, claims and the numbers of days, of which only the sums have to be equal."""
    with app.app_context():
        return {
            table.name: sorted(map(repr, db.session.execute(select(table))))
            for table in db.metadata.sorted_tables
            if table.name not in ("sessions", "passkey_challenges", "review_claims", "day_counts")
        }


def nothing(app: Flask) -> bool:
    """Whether a database has no rows but those that a new one may have."""
    return not any(rows for name, rows in held(app).items() if name not in ("rules", "saved_replies"))


def change(app: Flask, statement: str, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(text(statement), values))
