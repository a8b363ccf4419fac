"""The write transaction and the engine: retries, waiting for locks, settings, and which errors mean unavailable."""

import os
import socket
import sqlite3
from contextlib import closing, suppress
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.db import transactions
from directory.db.engine import configure
from directory.db.errors import is_unavailable, state_of
from directory.db.transactions import by_index, lift_time_limits, transaction, writing
from directory.errors import Unavailable
from directory.extensions import db
from directory.models import User
from tests.conftest import Database
from tests.support import servers


class Original(Exception):
    """What a driver raised."""

    def __init__(self, sqlstate: str | None = None) -> None:
        super().__init__("lost")
        self.sqlstate = sqlstate


def failing(times: int, state: str) -> Any:
    """Work that meets `times` conflicts and then succeeds."""
    tries: list[int] = []

    def work() -> int:
        tries.append(1)
        if len(tries) <= times:
            raise OperationalError("UPDATE", {}, Original(state))
        return len(tries)

    return work


@pytest.mark.parametrize("state", ["40001", "40P01", "55P03"])
def test_work_runs_three_times_in_all_where_it_meets_conflicts(context: None, state: str) -> None:
    assert transaction(failing(2, state)) == 3
    with pytest.raises(OperationalError):
        transaction(failing(3, state))


def test_work_that_fails_for_another_reason_is_not_run_again(context: None) -> None:
    work = failing(1, "57014")
    with pytest.raises(OperationalError):
        transaction(work)
    assert work() == 2


def test_failed_work_is_rolled_back(context: None) -> None:
    def work() -> None:
        db.session.add(User(username="x", email="x@example.org", password_hash="!"))
        db.session.flush()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        transaction(work)
    assert db.session.scalar(select(User.id)) is None


@pytest.mark.direct("ends the session of a connection")
def test_a_connection_that_the_server_closed_is_replaced(app: Flask, database: Database) -> None:
    if database.backend == "sqlite":
        return  # there is no server
    with app.app_context():
        engine = db.engine
        with engine.connect() as first, engine.connect() as second:
            pids = [connection.scalar(text("SELECT pg_backend_pid()")) for connection in (first, second)]
        with engine.connect() as one:
            mine = one.scalar(text("SELECT pg_backend_pid()"))
            other = next(pid for pid in pids if pid != mine)
            assert one.scalar(text("SELECT pg_terminate_backend(:pid, 2000)"), {"pid": other})
        for _ in range(3):
            with engine.connect() as again:
                assert again.scalar(text("SELECT 1")) == 1


def test_a_writer_that_must_not_wait_fails_at_once(app: Flask, database: Database) -> None:
    with app.app_context():
        if database.backend == "postgresql":
            return  # a row is locked there, which test_sessions holds
        with writing(), pytest.raises(Unavailable), transactions._begin_sqlite(wait=False):
            pass
        path = database.url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(OperationalError), writing(wait=False):
                pass
        with writing(wait=False):
            assert db.session.scalar(select(User.id)) is None


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (PoolTimeout(), True), (OperationalError("", {}, Original("57P01")), True),
        (OperationalError("", {}, Original("53300")), True), (OperationalError("", {}, Original(None)), True),
        (DBAPIError("", {}, Original("08006")), True), (DBAPIError("", {}, Original("22021")), False),
        (InterfaceError("", {}, Original(None)), False), (ValueError(), False),
    ],
)  # fmt: skip
def test_which_errors_mean_that_the_database_is_unavailable(error: Exception, away: bool) -> None:
    assert is_unavailable(error) is away


def test_the_state_of_an_error_is_the_databases_own_code() -> None:
    assert state_of(OperationalError("", {}, Original("57P01"))) == "57P01"
    assert state_of(ValueError()) is None
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("nonsense")
    assert state_of(OperationalError("", {}, caught.value)) == "SQLITE_ERROR"


def test_a_setting_of_the_planner_ends_with_its_block_after_a_failure(context: None) -> None:
    if db.engine.dialect.name == "sqlite":
        with by_index():  # changes nothing there
            assert db.session.scalar(text("SELECT 1")) == 1
        return
    shown = text("SHOW enable_seqscan")

    def fail() -> None:
        with by_index():
            assert db.session.scalar(shown) == "off"
            db.session.execute(text("SELECT 1 / 0"))

    with pytest.raises(DBAPIError):
        fail()
    assert db.session.scalar(shown) == "on"


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_connection_has_our_settings_and_not_those_of_the_database(database: Database, context: None) -> None:
    wanted = {
        "statement_timeout": "4s",
        "lock_timeout": "1400ms",
        "idle_in_transaction_session_timeout": "10s",
        "TimeZone": "UTC",
        "DateStyle": "ISO, MDY",
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
    }
    with servers.connect(database.url) as other:
        # Where the tests run it would be UTC anyway.
        other.execute(f"ALTER DATABASE \"{other.info.dbname}\" SET TimeZone = 'America/New_York'")
        try:
            with db.engine.connect() as connection:
                assert {name: connection.scalar(text(f"SHOW {name}")) for name in wanted} == wanted
        finally:
            other.execute(f'ALTER DATABASE "{other.info.dbname}" RESET TimeZone')


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_our_settings_win_over_the_environment(make_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGTZ", "Pacific/Auckland")
    monkeypatch.setenv("PGDATESTYLE", "SQL, DMY")
    with make_app().app_context(), db.engine.connect() as connection:
        assert [connection.scalar(text(f"SHOW {name}")) for name in ("TimeZone", "DateStyle")] == ["UTC", "ISO, MDY"]


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_keepalives_detect_that_the_servers_machine_is_gone(context: None) -> None:
    with db.engine.connect() as connection:
        descriptor = connection.connection.dbapi_connection.pgconn.socket  # type: ignore[union-attr]
        with socket.socket(fileno=os.dup(descriptor)) as theirs:
            assert theirs.family in (socket.AF_INET, socket.AF_INET6)
            assert theirs.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30  # seconds
            assert theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000  # milliseconds


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
@pytest.mark.parametrize("inside", [True, False])
def test_the_time_limits_are_lifted_for_one_transaction_alone(context: None, inside: bool) -> None:
    """Outside of a transaction each statement is a transaction, and SET LOCAL would end with it."""

    def limits() -> list[str]:
        names = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")
        return [db.session.scalars(text(f"SHOW {name}")).one() for name in names]

    def lifted() -> list[str]:
        lift_time_limits()
        return limits()

    db.session.execute(select(User.id))
    assert (transaction(lifted) if inside else lifted()) == ["0", "0", "1400ms"]
    db.session.rollback()
    assert limits() == ["4s", "10s", "1400ms"]


def test_a_new_sqlite_database_and_the_files_beside_it_are_readable_by_their_owner_alone(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'new.db'}")
    configure(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE secrets (id INTEGER)")
        connection.commit()
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm"), 0o600)


def test_a_database_in_memory_or_in_a_missing_folder_makes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:///:memory:", f"sqlite:///{tmp_path / 'none' / 'new.db'}"):
        engine = create_engine(url)
        configure(engine)
        with suppress(OperationalError), engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    assert list(tmp_path.iterdir()) == []
