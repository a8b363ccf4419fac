"""The one write transaction, on either database.

Reads need none. A write runs in `transaction`. On SQLite it takes the write lock first, because there a read that
becomes a write fails at once, despite the busy timeout. On both databases it rolls back and retries the work after a
conflict with another transaction. In read-only mode requests cannot begin one.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from flask import current_app, g
from sqlalchemy import Connection, Engine, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from directory.db import deadline
from directory.db.engine import BUSY_TIMEOUT, SQLITE_BUSY_MILLISECONDS
from directory.errors import ReadOnly, Unavailable
from directory.extensions import db

T = TypeVar("T")
log = logging.getLogger(__name__)
_write_locks: WeakKeyDictionary[Engine, Lock] = WeakKeyDictionary()

TRIES = 3
CONFLICTS = {"40001", "40P01", "55P03"}  # serialisation failure, deadlock, lock not available


def transaction(work: Callable[[], T], *, single: bool = False) -> T:
    """Run `work` in one write transaction and commit it.

    After a conflict with another transaction the work is rolled back and run again, three times in all, so it must not
    do anything outside the database. An exception rolls everything back. `single` work is one prepared statement on
    PostgreSQL, which is a transaction by itself and needs no BEGIN and COMMIT.
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

    Without `wait` it fails at once if it would have to wait for another writer: for writes that may be left out. With
    `single` PostgreSQL commits the one statement itself. Raises ReadOnly, and Unavailable if another writer of this
    process takes too long.
    """
    require_writable()
    if db.session.registry.has():
        db.session.rollback()  # ends the read transaction before it
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
    """Raise ReadOnly if a request would write in read-only mode.

    Commands may write in that mode, for example to move the data. So it is not a setting of the database connections.
    """
    if current_app.config["READ_ONLY"] and "exchange" in g:
        raise ReadOnly


@contextmanager
def _begin_postgresql(wait: bool) -> Iterator[None]:
    connection = db.session.connection(execution_options={"isolation_level": "READ COMMITTED"})
    if not wait:
        connection.exec_driver_sql("SET LOCAL lock_timeout = 1")
    yield


@contextmanager
def _begin_sqlite(wait: bool) -> Iterator[None]:
    """Take the database's one write lock, after the other writers of this process.

    SQLite retries after ever longer pauses, so some writers wait for seconds while others overtake them. A lock of the
    process passes from one thread to the next at once. The remaining time is for the wait for other processes.
    """
    give_up_at = time.monotonic() + deadline.remaining(SQLITE_BUSY_MILLISECONDS / 1000) if wait else 0.0
    lock = _write_locks.setdefault(db.engine, Lock())
    if not lock.acquire(timeout=max(0.0, give_up_at - time.monotonic())):
        raise Unavailable
    try:
        seconds = max(0.0, give_up_at - time.monotonic())
        db.session.connection(execution_options={BUSY_TIMEOUT: int(seconds * 1000)})
        yield
    finally:
        db.session.rollback()  # a no-op after a commit; the database's lock must be released before ours
        lock.release()


@contextmanager
def reading() -> Iterator[None]:
    """One transaction for reads through a cursor, outside of any other. PostgreSQL has cursors only in one."""
    db.session.rollback()
    if on_postgresql():
        db.session.connection(execution_options={"isolation_level": "READ COMMITTED"})
    try:
        yield
    finally:
        db.session.rollback()


@contextmanager
def by_index() -> Iterator[None]:
    """Have PostgreSQL read no whole table in the block, for statements with conditions that it takes for frequent."""
    with _planning(enable_seqscan="off"):
        yield


@contextmanager
def in_order() -> Iterator[None]:
    """Have PostgreSQL read the order of an index in the block, for a list of which it expects few rows.

    Without statistics it expects few of any list, and would collect and sort all of it.
    """
    with _planning(enable_seqscan="off", enable_bitmapscan="off"):
        yield


@contextmanager
def by_bitmap() -> Iterator[None]:
    """Have PostgreSQL collect matches by indexes in the block, where it would look for the first ones in a table."""
    with _planning(enable_seqscan="off", enable_indexscan="off", enable_indexonlyscan="off"):
        yield


@contextmanager
def _planning(**settings: object) -> Iterator[None]:
    """Settings of PostgreSQL's planner for the block.

    The block is one transaction, because behind a connection pooler a setting lasts for one transaction. Within another
    transaction the defaults follow, unless the block fails.
    """
    if not on_postgresql():
        yield
        return
    within = in_transaction() and not db.session.connection().connection.dbapi_connection.autocommit  # type: ignore[union-attr]
    if not within:
        db.session.close()  # a rollback would have each object that was read before be read again
        db.session.connection(execution_options={"isolation_level": "READ COMMITTED"})
    try:
        changes = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
        db.session.execute(text(f"SELECT {changes}"))
        yield
        for name in settings if within else ():
            db.session.execute(text(f"SET LOCAL {name} TO DEFAULT"))
    finally:
        if not within:
            db.session.rollback()


def lift_time_limits(connection: Connection | None = None) -> None:
    """Remove the limits on the time of a statement and of an idle transaction, for bulk work of commands.

    They are removed for the current transaction of `connection`, or of the session, which begins one if needed. The
    limit on the wait for a lock stays.
    """
    connection = db.session.connection() if connection is None else connection
    if connection.dialect.name != "postgresql":
        return
    if connection.connection.dbapi_connection.autocommit:  # type: ignore[union-attr]
        db.session.rollback()
        connection = db.session.connection(execution_options={"isolation_level": "READ COMMITTED"})
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.exec_driver_sql(f"SET LOCAL {limit} = 0")


def on_postgresql() -> bool:
    """Whether the current application's database is PostgreSQL."""
    return db.engine.dialect.name == "postgresql"


def insert_into(model: Any) -> Any:
    """An insert in the dialect of the current application's database, which can say what to do on a conflict."""
    return (postgresql if on_postgresql() else sqlite).insert(model)


def in_transaction() -> bool:
    """Whether the current session is in a transaction, which its next statement will be part of."""
    return db.session.registry.has() and db.session().in_transaction()
