"""How the service talks to its database: engine settings for SQLite and PostgreSQL, and the one write transaction.

Reads run in a plain transaction. A write runs in `transaction`, which on SQLite takes the write lock at its start
(a read that turns into a write fails at once there, whatever the busy timeout) and on either database rolls back and
runs the work again when it lost against another transaction. In read-only mode no request begins one.
"""

import logging
import os
import random
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import orjson
from flask import current_app, has_request_context
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InvalidatePoolError, SQLAlchemyError

from directory.db import deadline
from directory.errors import ReadOnly, Unavailable
from directory.extensions import db

T = TypeVar("T")
log = logging.getLogger(__name__)
_turns: WeakKeyDictionary[Engine, Lock] = WeakKeyDictionary()

TRIES = 3
# All waits together stay under the 5 s within which a caller is promised an answer.
SQLITE_BUSY_MILLISECONDS = 4_500
POSTGRES_SETTINGS = {
    "statement_timeout": "4000",
    "lock_timeout": "1400",
    "idle_in_transaction_session_timeout": "10000",
    "timezone": "UTC",
    "datestyle": "ISO",
    "jit": "off",  # compiling takes 20 ms, and of a million projects the planner finds it worth for a search of 1 ms
    "max_parallel_workers_per_gather": "0",  # their start takes 5 ms, of which a search needs none: see in_parallel
}
CONFLICTS = {"40001", "40P01", "55P03"}  # serialisation failure, deadlock, lock not available
# What libpq takes from the environment and sends after our settings, so that they would lose.
OVERRULING = ("PGTZ", "PGDATESTYLE")


def engine_options(url: str, *, threads: int) -> dict[str, Any]:
    """The engine's options for `url`; the pool has a connection for each of the process's `threads`."""
    if make_url(url).get_backend_name() == "sqlite":
        return {"hide_parameters": True, "connect_args": {"timeout": SQLITE_BUSY_MILLISECONDS / 1000}}
    return {
        "hide_parameters": True,  # an error's text goes to the log, and values may be hashes of secrets
        # Reads commit nothing, and without BEGIN and ROLLBACK they cost one round trip instead of three.
        "isolation_level": "AUTOCOMMIT",
        "json_deserializer": orjson.loads,
        "pool_size": threads,
        "max_overflow": 2,
        "pool_timeout": 3,
        # The pool's rollback would be for nothing: outside of transactions there is none, and theirs end with them.
        "pool_reset_on_return": None,
        "connect_args": {
            "connect_timeout": deadline.CONNECT,
            # What is worth preparing is prepared by name; the driver would drop that too with its own, at any rollback.
            "prepare_threshold": None,
            "tcp_user_timeout": 10_000,
            "keepalives_idle": 30,
            "options": " ".join(f"-c {name}={value}" for name, value in POSTGRES_SETTINGS.items()),
        },
    }


def prepare(engine: Engine) -> None:
    """Give a SQLite engine its pragmas and explicit transactions, a PostgreSQL one its settings and its pre-ping."""
    if engine.dialect.name == "postgresql":
        for name in OVERRULING:
            os.environ.pop(name, None)
        deadline.prepare(engine)
        event.listen(engine, "checkout", _require_open)
        return
    event.listen(engine, "connect", _sqlite_connect)
    event.listen(engine, "begin", _sqlite_begin)


def _require_open(connection: Any, _record: Any, _proxy: Any) -> None:
    """The pre-ping, without a round trip: a server that went away has closed the socket, and that can be read.

    An idle connection has nothing to say; whatever there is to read on it is its end. The pool then makes new ones.
    """
    arrived = select.poll()
    arrived.register(connection.pgconn.socket, select.POLLIN)
    if arrived.poll(0):
        raise InvalidatePoolError


def _sqlite_connect(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver's own late BEGIN would make every write a read first
    for pragma in (
        f"busy_timeout={SQLITE_BUSY_MILLISECONDS}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "temp_store=MEMORY",
        "trusted_schema=OFF",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _sqlite_begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if "patience" not in options:
        connection.exec_driver_sql("BEGIN DEFERRED")
        return
    connection.exec_driver_sql(f"PRAGMA busy_timeout={options['patience']}")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={SQLITE_BUSY_MILLISECONDS}")


def transaction(work: Callable[[], T], *, single: bool = False) -> T:
    """Run `work` in one write transaction and commit it.

    Work that lost against another transaction is rolled back and run again, three times in all; so it must hold
    nothing but database work. What it raises rolls everything back. `single` work writes by one prepared statement
    on PostgreSQL, which is a transaction by itself and needs no BEGIN and COMMIT around it.
    """
    for attempt in range(1, TRIES + 1):
        try:
            with writing(single=single):
                return work()
        except DBAPIError as error:
            if attempt == TRIES or getattr(error.orig, "sqlstate", None) not in CONFLICTS:
                raise
            log.info("transaction conflict, trying again", extra={"attempt": attempt})
            time.sleep(random.uniform(0.005, 0.03) * attempt)  # noqa: S311 (jitter, no secret)
    raise AssertionError("unreachable")  # pragma: no cover


@contextmanager
def writing(*, wait: bool = True, single: bool = False) -> Iterator[None]:
    """One write transaction of the current session: committed at the end, rolled back by any exception.

    Without `wait` it fails at once where it would wait for another writer: for what may be left undone.
    Raises ReadOnly, and Unavailable where another writer of this process takes too long.
    """
    require_writable()
    if db.session.registry.has():
        db.session.rollback()  # ends what was read before
    if single and on_postgresql():
        yield
        return
    begin = _begin_postgresql if on_postgresql() else _begin_sqlite
    try:
        with begin(wait):
            yield
            db.session.commit()
    except BaseException:
        db.session.rollback()
        raise


def require_writable() -> None:
    """Raise ReadOnly where a request would write in read-only mode.

    Commands may write all the same: one of them moves the data for which the service is in that mode. So it is no
    setting of the connections.
    """
    if has_request_context() and current_app.config["READ_ONLY"]:
        raise ReadOnly


@contextmanager
def _begin_postgresql(wait: bool) -> Iterator[None]:
    connection = db.session.connection(execution_options={"isolation_level": "READ COMMITTED"})
    if not wait:
        connection.exec_driver_sql("SET LOCAL lock_timeout = 1")
    yield


@contextmanager
def _begin_sqlite(wait: bool) -> Iterator[None]:
    """Take the database's one write lock, behind the other writers of this process.

    SQLite lets whoever waits look again after ever longer pauses, so that some wait for seconds while others pass;
    among threads a lock hands it over at once. What of the patience is left goes to other processes' writers.
    """
    ends = time.monotonic() + deadline.left(SQLITE_BUSY_MILLISECONDS / 1000) if wait else 0.0
    turn = _turns.setdefault(db.engine, Lock())
    if not turn.acquire(timeout=max(0.0, ends - time.monotonic())):
        raise Unavailable
    try:
        left = max(0.0, ends - time.monotonic())
        db.session.connection(execution_options={"patience": int(left * 1000)})
        yield
    finally:
        db.session.rollback()  # where it was not committed: the database's lock goes before ours
        turn.release()


@contextmanager
def in_parallel() -> Iterator[None]:
    """Let PostgreSQL divide what is asked within among its workers: worth it for sums over whole tables alone."""
    if not on_postgresql():
        yield
        return
    db.session.execute(text("SET max_parallel_workers_per_gather = 2"))
    try:
        yield
    finally:
        with suppress(SQLAlchemyError):  # where the connection is gone, so is its setting
            db.session.execute(text("RESET max_parallel_workers_per_gather"))  # to what the connection began with


def unbounded() -> None:
    """Lift the time limits of the current transaction, for bulk work of a command. Where there is none, one begins."""
    if not on_postgresql():
        return
    if db.session.connection().connection.dbapi_connection.autocommit:  # type: ignore[union-attr]
        db.session.rollback()
        db.session.connection(execution_options={"isolation_level": "READ COMMITTED"})
    db.session.execute(text("SET LOCAL statement_timeout = 0"))


def on_postgresql() -> bool:
    """Whether the current application's database is PostgreSQL."""
    return db.engine.dialect.name == "postgresql"


def within_transaction() -> bool:
    """Whether the current session is in use: what it is asked next belongs to what it has done."""
    return db.session.registry.has() and db.session().in_transaction()
