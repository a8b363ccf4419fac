"""Behind PgBouncer in transaction mode nothing of a session is relied on, and what the pooler needs is said."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from flask import Flask
from sqlalchemy import Integer, bindparam, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from directory.db import deadline, deadline_connection
from directory.db.errors import is_undone
from directory.db.pooler import POSTGRES_SETTINGS, is_lost
from directory.db.snapshots import PooledSnapshotReader, open_reader
from directory.db.statements import Prepared
from directory.db.transactions import by_index, lift_time_limits, transaction
from directory.extensions import db
from directory.http import readiness
from directory.services.catalog import readers
from tests.conftest import Database, build
from tests.support import pooler, quiet_reads, servers
from tests.support.caching import close_snapshots
from tests.support.chaosproxy import ChaosProxy
from tests.support.factories import Api, World
from tests.support.processes import Server
from tests.support.serving import ROOT
from tests.support.variants import ENVIRONMENT
from tests.support.waiting import until

pytestmark = [
    pytest.mark.parametrize("migrated", ["postgresql"], indirect=True),
    pytest.mark.direct("has a PgBouncer of its own"),
    pytest.mark.usefixtures("waits_as_shipped"),
]


@pytest.fixture(scope="module")
def bouncer() -> Iterator[Server]:
    """With one session of the server for each database, which all connections share."""
    with servers.or_skip():
        server = pooler.pgbouncer(servers.url_of(servers.DATABASE), default_pool_size=1)
    yield server
    server.close()


def behind(database: Database, server: Server) -> Flask:
    port = make_url(server.url).port
    return build(make_url(database.url).set(port=port).render_as_string(hide_password=False))


def close(app: Flask) -> None:
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    close_snapshots(app)


@pytest.fixture
def settings(database: Database) -> Iterator[None]:
    pooler.provide_settings(database.url)
    yield
    forget_settings(database)


def forget_settings(database: Database) -> None:
    with servers.connect(database.url) as connection:
        connection.execute(f'ALTER ROLE postgres IN DATABASE "{make_url(database.url).database}" RESET ALL'.encode())


@pytest.fixture
def pooled(database: Database, bouncer: Server, settings: None) -> Iterator[list[Flask]]:
    """Two applications behind the pooler."""
    apps = [behind(database, bouncer) for _ in range(2)]
    yield apps
    for app in apps:
        close(app)


def shown(app: Flask, *names: str) -> list[Any]:
    """Settings of the session that the connections share."""
    with app.app_context(), db.engine.connect() as connection:
        return [connection.scalar(text(f"SELECT current_setting('{name}')")) for name in names]


def test_applications_share_a_session_and_leave_nothing_in_it(pooled: list[Flask], world: World) -> None:
    voters, projects = [world.caller(world.user()).token for _ in pooled], [world.project() for _ in range(3)]
    admin = world.caller(world.admin()).token
    for _ in range(3):
        for app, token in zip(pooled, voters, strict=True):
            for project in projects:
                assert Api(app, token).post(f"/api/projects/{project}/upvote").status_code == 200
            for path in ("/api/projects", "/api/projects?q=flask", f"/api/projects/{projects[0]}"):
                assert [Api(app, t).get(path).status_code for t in (None, token)] == [200, 200]
            assert Api(app, admin).get("/api/admin/analytics").status_code == 200
    with pooled[0].app_context(), db.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM pg_prepared_statements")) == 0
    assert shown(pooled[1], *POSTGRES_SETTINGS) == [*POSTGRES_SETTINGS.values()]
    assert shown(pooled[1], "enable_seqscan", "plan_cache_mode") == ["on", "auto"]


def test_settings_for_one_transaction_end_with_it(pooled: list[Flask]) -> None:
    names = ("statement_timeout", "idle_in_transaction_session_timeout", "enable_seqscan")
    with pooled[0].app_context():
        transaction(lift_time_limits)
        with by_index():
            assert db.session.scalar(text(f"SHOW {names[2]}")) == "off"
    assert shown(pooled[1], *names) == [*(POSTGRES_SETTINGS[name] for name in names[:2]), "on"]


def test_the_cache_learns_of_votes_through_the_pooler(pooled: list[Flask], world: World) -> None:
    project, voter = world.project(), world.caller(world.user()).token
    path = f"/api/projects/{project}"
    for votes in (0, 1):
        assert [Api(app).get(path).json["upvotes"] for app in pooled] == [votes, votes]
        assert Api(pooled[votes], voter).post(f"{path}/upvote").json["upvotes"] == 1 - votes


def test_a_quiet_database_is_asked_for_the_snapshot_alone(
    pooled: list[Flask], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pooled[0].app_context(), servers.connect(database.url) as others:
        reader = open_reader(db.engine)
        note = "INSERT INTO changes (project_id, low, high) VALUES (7, 1, 2)"
        quiet_reads.check(monkeypatch, reader, lambda: others.execute(note))
        reader.close()


def test_the_snapshot_of_another_server_is_no_newer_one_of_this(pooled: list[Flask], world: World) -> None:
    """A standby gives numbers again that the lost server had given to transactions that it never sent."""
    with pooled[0].app_context():
        reader = open_reader(db.engine)
        assert isinstance(reader, PooledSnapshotReader)
        state, _ = reader.read(None, 5.0)
        snapshot, _, server = state.partition(b"@")
        assert server
        foreign, asked = snapshot + b"@another", [("session", "token", "1", "1")]
        # The snapshot itself moves with every transaction on the server, in other databases too.
        found = [reader.read(state, 5.0), reader.read(foreign, 5.0)]
        found += [reader.read_with(since, 5.0, readers.votes("postgresql"), asked)[:2] for since in (state, foreign)]
        assert [(seen.partition(b"@")[2], changes) for seen, changes in found] == [(server, []), (server, None)] * 2
        with pytest.raises(ValueError, match="not a snapshot"):
            reader.read(b"1'; DROP TABLE users; --", 5.0)
        reader.close()


def test_what_has_to_be_set_is_said_and_is_enough(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    with pooler.pgbouncer(database.url) as given:
        app = behind(database, given)
        with caplog.at_level(logging.ERROR, "directory.http.readiness"):
            readiness.report(app)
            assert Api(app).get("/readyz").status_code == 503
        lines = [record.getMessage() for record in caplog.records if record.name == "directory.http.readiness"]
        assert len(lines) == 2
        assert "lack our settings (statement_timeout, lock_timeout, idle_in_transaction_session_timeout, " in lines[0]
        with servers.connect(database.url) as connection:
            connection.execute(lines[0].partition("RECONNECT in PgBouncer): ")[2].encode())
        try:
            pooler.reconnect(given)
            until(lambda: Api(app).get("/readyz").status_code == 200, 20)
        finally:
            forget_settings(database)
            close(app)


def test_a_pooler_that_ignores_our_options_is_recognised_as_well(database: Database, settings: None) -> None:
    given = pooler.pgbouncer(database.url, ignore_startup_parameters="options")
    with given as server:
        app = behind(database, server)
        with app.app_context(), db.engine.connect() as connection:
            assert connection.connection.dbapi_connection.is_pooled  # type: ignore[union-attr]
        close(app)


def test_migrations_are_refused_with_one_line(database: Database, bouncer: Server, settings: None) -> None:
    url = make_url(database.url).set(port=make_url(bouncer.url).port).render_as_string(hide_password=False)
    command = [sys.executable, "-m", "flask", "--app", str(ROOT / "wsgi.py"), "db", "upgrade"]
    environment = {**ENVIRONMENT, "DATABASE_URL": url, "FLASK_SKIP_DOTENV": "1", "LOG_LEVEL": "ERROR"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stderr.splitlines() == [
        "Error: DATABASE_URL leads through a connection pooler: migrate with an address of PostgreSQL itself."
    ]


@pytest.mark.parametrize("by", ["prepared", "session"])
def test_after_the_pooler_has_lost_its_server_the_outcome_is_unknown(pooled: list[Flask], by: str) -> None:
    """The server may have committed: nothing that cannot be repeated may be tried again."""
    ending = select(text("pg_terminate_backend(pg_backend_pid())"))
    with pooled[0].app_context():
        prepared = Prepared(ending.add_columns(bindparam("given", type_=Integer())))
        end = {"prepared": lambda: prepared.first({"given": 1}), "session": lambda: db.session.execute(ending)}[by]
        with pytest.raises(DBAPIError) as raised:
            end()
        assert raised.value.connection_invalidated
        assert not is_undone(raised.value)
        assert not is_lost(psycopg.errors.UniqueViolation(), is_pooled=True)
        assert is_lost(psycopg.errors.ProtocolViolation(), is_pooled=False)
        db.session.rollback()
        assert db.session.scalar(text("SELECT 7")) == 7


def test_a_server_that_is_mute_behind_the_pooler_means_503_at_once(
    database: Database, settings: None, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pooler accepts connections all the same, so the circuit breaker asks the server."""
    monkeypatch.setattr(deadline_connection, "SILENCE", 0.2)
    monkeypatch.setattr(deadline, "SECONDS", 2.2)
    token = world.caller(world.user()).token
    with ChaosProxy(make_url(database.url).port or 5432) as proxy:
        server = make_url(database.url).set(port=proxy.port).render_as_string(hide_password=False)
        with pooler.pgbouncer(server) as given:
            app = behind(database, given)
            member = Api(app, token)
            assert member.get("/api/auth/me").status_code == 200
            with app.app_context(), db.engine.connect() as connection:
                breaker = connection.connection.dbapi_connection.breaker  # type: ignore[union-attr]
            proxy.set("mute")
            assert member.get("/api/auth/me").status_code == 503
            until(breaker.check_open, 20)
            proxy.set("pass")
            until(lambda: member.get("/api/auth/me").status_code == 200, 20)
            close(app)
