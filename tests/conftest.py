"""The fixtures of every test: both databases, applications, callers, things to act on, and a recorder of statements."""

import math
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url

import config
from directory import create_app
from directory.extensions import db
from directory.services.catalog import search_frequency
from tests.support import answers, extras, kept_sessions, outside, pooler, quick, servers
from tests.support.caching import close_snapshots
from tests.support.factories import Api, World
from tests.support.variants import ENVIRONMENT, OF_THE_RUN, counts, databases_of, reason_to_skip

if TYPE_CHECKING:
    from tests.support.lying_provider import LyingProvider
    from tests.support.mailbox import Mailbox


def pytest_configure(config: pytest.Config) -> None:
    os.environ["FLASK_SKIP_DOTENV"] = "1"  # what a developer's `.env` says is not tested
    quick.configure()
    outside.watch()
    event.listen(Engine, "connect", order_nothing)
    answers.record(config)


def order_nothing(driver: Any, _record: Any) -> None:
    """Have SQLite return rows in the other order where no ORDER BY says which: PostgreSQL returns them in any."""
    if isinstance(driver, sqlite3.Connection):
        driver.execute("PRAGMA reverse_unordered_selects=ON")


def pytest_unconfigure(config: pytest.Config) -> None:
    servers.stop_servers()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that does not say itself on which database on each of those that the run asks for."""
    says = any("migrated" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "migrated" in metafunc.fixturenames and not says:
        metafunc.parametrize("migrated", databases_of(metafunc.definition), indirect=True, scope="session")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if reason := reason_to_skip(item):
        pytest.skip(reason)


def pytest_runtest_teardown() -> None:
    asked = [*outside.connected]
    outside.connected.clear()
    assert asked == [], "this test connects to the outside"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--counted", choices=["yes", "no"], help="only tests whose coverage counts, or only the others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the other half of `make check` (tests/support/variants.py)."""
    if half := config.getoption("counted"):
        halves: dict[bool, list[pytest.Item]] = {True: [], False: []}
        for item in items:
            halves[counts(item)].append(item)
        items[:] = halves[half == "yes"]
        config.hook.pytest_deselected(items=halves[half != "yes"])


def build(url: str, **settings: Any) -> Flask:
    """An application for a database, with settings as the environment would give them."""
    given = {name: str(value) for name, value in settings.items()}
    return create_app(config.load({**ENVIRONMENT, **OF_THE_RUN, "DATABASE_URL": url, **given}))


def migrate(url: str) -> None:
    """Make the tables of an empty database. A new file of SQLite is a copy of one that was migrated before."""
    path = make_url(url).database
    if url.startswith("sqlite:") and path and not Path(path).exists():
        Path(path).write_bytes(template())
    else:
        upgrade(url)


def upgrade(url: str) -> None:
    app = build(url)
    with app.app_context():
        flask_migrate.upgrade()
        db.engine.dispose()


@cache
def template() -> bytes:
    """The file of a migrated SQLite database, with its first rows alone."""
    with tempfile.TemporaryDirectory() as folder:
        upgrade(f"sqlite:///{folder}/template.db")
        return Path(folder, "template.db").read_bytes()


class Database:
    """A migrated database with its first rows alone, which can be made so again."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def backend(self) -> str:
        return self.url.partition(":")[0].partition("+")[0]

    def reset(self) -> None:
        raise NotImplementedError


class SqliteDatabase(Database):
    def __init__(self, folder: Path) -> None:
        super().__init__(f"sqlite:///{folder / 'test.db'}")
        self.path = folder / "test.db"

    def reset(self) -> None:
        """Put a new file there, not bytes into the old one, which a connection of a failed test may still have open."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        self.path.write_bytes(template())


class PostgresqlDatabase(Database):
    def __init__(self, worker: str) -> None:
        self._name = f"test_{worker}_{os.getpid()}"
        url = servers.create_database(servers.url_of(servers.DATABASE), self._name)
        migrate(url)
        super().__init__(pooler.through_pooler(url))
        kept_sessions.keep(url)
        self.engine = create_engine(url, isolation_level="AUTOCOMMIT")
        # A tenth of what TRUNCATE takes, which makes new files for every table and index. As a replica the server
        # runs no triggers and checks no keys, so the order does not matter and the log lets itself be emptied.
        names = [*(table.name for table in db.metadata.sorted_tables), "project_search"]
        filled = self._keep_first_rows(names)
        counted = [table.name for table in db.metadata.sorted_tables if "id" in table.c]
        emptied = "; ".join(f"DELETE FROM {name}" for name in names)
        refilled = "".join(f"INSERT INTO {name} TABLE first.{name}; " for name in filled)
        restarted = ", ".join(
            f"setval('{name}_id_seq', (SELECT coalesce(max(id), 0) + 1 FROM {name}), false)"
            if name in filled
            else f"setval('{name}_id_seq', 1, false)"
            for name in counted
        )
        self.empty = text(f"SET session_replication_role = replica; {emptied}; {refilled}SELECT {restarted}")

    def _keep_first_rows(self, names: list[str]) -> list[str]:
        """Copy the rows that a new database has into another schema, and return the names of their tables."""
        with self.engine.begin() as connection:
            filled = [name for name in names if connection.scalar(text(f"SELECT EXISTS (SELECT FROM {name})"))]
            copies = "; ".join(f"CREATE TABLE first.{name} AS TABLE {name}" for name in filled)
            connection.execute(text(f"CREATE SCHEMA first; {copies}"))
        return filled

    def reset(self) -> None:
        with self.engine.connect() as connection:
            connection.execute(self.empty)

    def drop(self) -> None:
        self.engine.dispose()
        servers.drop_database(servers.url_of(servers.DATABASE), self._name)


@pytest.fixture(scope="session")
def migrated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    if request.param == "sqlite":
        yield SqliteDatabase(tmp_path_factory.mktemp("sqlite"))
        return
    with servers.or_skip():
        servers.url_of(servers.DATABASE)
    database = PostgresqlDatabase(os.environ.get("PYTEST_XDIST_WORKER", "main"))
    yield database
    database.drop()


@pytest.fixture
def database(migrated: Database) -> Database:
    """The database as a migration leaves it; the test runs for each kind, or for those that TEST_DATABASES names."""
    migrated.reset()
    return migrated


@pytest.fixture
def make_app(database: Database) -> Iterator[Any]:
    """Builds applications over the test's database, with settings of its own."""
    apps: list[Flask] = []

    def make(**settings: Any) -> Flask:
        apps.append(build(database.url, **settings))
        return apps[-1]

    yield make
    for app in apps:
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
        close_snapshots(app)


@pytest.fixture
def app(make_app: Any) -> Flask:
    """The application, its rate limits off."""
    return make_app()  # type: ignore[no-any-return]


@pytest.fixture
def world(app: Flask) -> World:
    """Makes users, categories, projects and votes."""
    return World(app)


@pytest.fixture
def api(app: Flask) -> Api:
    """An anonymous caller."""
    return Api(app)


@pytest.fixture
def context(app: Flask) -> Iterator[None]:
    """An application context, for tests of the rules alone. Never together with a client: it would be reused."""
    with app.app_context():
        yield


class Statements(list[str]):
    """The SQL that ran, transaction control left out."""

    def note(self, _conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA", "SAVEPOINT", "RELEASE")):
            self.append(statement)


@pytest.fixture
def statements(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Statements]:
    """Records every statement of the application's engine."""
    with app.app_context():
        engine: Engine = db.engine
    # PostgreSQL may have collected statistics by now or not, by which a search finds its matches in one way or another.
    unknown = search_frequency._Frequencies([], [], 1.0, 0.0, math.inf)
    monkeypatch.setitem(search_frequency._read, engine, unknown)
    recorded = Statements()
    event.listen(engine, "before_cursor_execute", recorded.note)
    yield recorded
    event.remove(engine, "before_cursor_execute", recorded.note)


@pytest.fixture
def waits_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for the database end when they do in the service. In other tests they take longer on a busy machine."""
    quick.wait_as_shipped(monkeypatch.setattr)


@pytest.fixture
def mailbox() -> Iterator["Mailbox"]:
    """A mail server that takes what comes."""
    from tests.support.mailbox import Mailbox  # its library is for the tests of mail alone

    with Mailbox() as one:
        yield one


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator["LyingProvider"]:
    """A provider to sign in by, which lies where a test has it lie. On a busy machine it is not given up for slow."""
    from tests.support.lying_provider import LyingProvider

    if "providers" in extras.ON:
        monkeypatch.setattr("directory.extras.providers.transport.SECONDS", 60.0)
    with LyingProvider() as one:
        yield one
