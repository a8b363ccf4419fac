"""Statements of the hot path: compiled once for a database, then run below what costs more than they do.

What SQLAlchemy does around a statement each time takes 150 to 230 µs, and a driver's cursor 40 to 100; the server takes
20 to look up a token. So the few that a vote, a list, a project and a caller's credentials need go this way, and
nothing else does: on PostgreSQL by libpq's prepared statements, on SQLite by the driver's cursor.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from sys import intern
from typing import Any

import psycopg
from psycopg.adapt import Transformer
from sqlalchemy import Dialect, Engine, Select, TextClause
from sqlalchemy.exc import DBAPIError

from directory.db import deadline
from directory.db.transactions import within_transaction
from directory.extensions import db

Row = tuple[Any, ...]
# Where a connection's notes hold what turns its results into values, and the names of its statements by their texts.
_LOADER, _NAMES = "directory.loader", "directory.names"
MOST = 100  # statements prepared on a connection: filters, orders and page sizes make thousands, which take memory


class _Hand(threading.local):
    """The connection that this thread's statements run over, where it is given one, and until when they may take."""

    connection: Any = None
    ends: float | None = None  # by time.monotonic()

    @property
    def seconds(self) -> float | None:
        """What is left of the time, where there is an end to it."""
        return None if self.ends is None else max(0.0, self.ends - time.monotonic())


_hand = _Hand()


@contextmanager
def over(connection: Any, seconds: float) -> Iterator[None]:
    """Have this thread's statements run over a connection of the pool's making that it has to itself, here and now.

    They all are waited for no longer than `seconds` on PostgreSQL, and the connection is closed where it takes longer.
    """
    _hand.connection, _hand.ends = connection, time.monotonic() + seconds
    try:
        yield
    finally:
        _hand.connection = _hand.ends = None


def unprepare(connection: Any) -> None:
    """Have a PostgreSQL connection forget whatever was prepared on it. Raises psycopg.Error."""
    connection.dbapi_connection.pgconn.send_query(b"DEALLOCATE ALL")
    connection.dbapi_connection.result(_hand.seconds)
    connection.info.pop(_NAMES, None)


class Prepared:
    """A statement that is run with nothing but parameters ever after, and gives plain tuples.

    Within a transaction of the session it runs in that; else by itself, which commits it, `over` what its thread has
    been given or a connection of the pool. PostgreSQL plans it `anew` each time where the best way depends on the
    values: on how many rows have a word, or a tag.
    """

    def __init__(self, statement: Select[Any] | TextClause, *, anew: bool = False) -> None:
        self.statement, self._anew = statement, anew
        self._plans: dict[str, _Plan] = {}

    def all(self, parameters: dict[str, Any]) -> list[Row]:
        """All rows. Raises what SQLAlchemy raises."""
        engine = db.engine
        plan = self._plans.get(engine.dialect.name) or self._plan(engine.dialect)
        if _hand.connection is not None:
            return plan.run(engine, _hand.connection, parameters)
        if within_transaction():
            return plan.run(engine, db.session.connection().connection, parameters)
        try:
            connection = engine.raw_connection()
        except _errors(engine) as error:
            raise _as_sqlalchemy(error, engine, gone=False) from error
        try:
            return plan.run(engine, connection, parameters)
        finally:
            connection.close()

    def first(self, parameters: dict[str, Any]) -> Row | None:
        """The first row, None where there is none."""
        rows = self.all(parameters)
        return rows[0] if rows else None

    def _plan(self, dialect: Dialect) -> "_Plan":
        if dialect.name == "postgresql":
            plan: _Plan = _PostgresqlPlan(self.statement, dialect, anew=self._anew)
        else:
            plan = _SqlitePlan(self.statement, dialect)
        self._plans[dialect.name] = plan
        return plan


class _Plan:
    """The text of a statement for a dialect, and what its values go through on their way in and out."""

    def __init__(self, statement: Select[Any] | TextClause, dialect: Dialect) -> None:
        self._dialect = dialect
        compiled: Any = statement.compile(dialect=dialect)
        self._text = intern(str(compiled))
        self._order: list[str] = compiled.positiontup
        self._constants = {name: value for name, value in compiled.params.items() if not compiled.binds[name].required}
        writers = {name: b.type.dialect_impl(dialect).bind_processor(dialect) for name, b in compiled.binds.items()}
        self._writers = [(name, write) for name, write in writers.items() if write is not None]
        self._columns = list(statement.selected_columns) if isinstance(statement, Select) else []
        self._readers: list[tuple[int, Any]] | None = None  # known when the database was asked once

    def run(self, engine: Engine, connection: Any, parameters: dict[str, Any]) -> list[Row]:
        """Run it. An error is what SQLAlchemy would have made of it, and a connection that is gone goes."""
        given = {**self._constants, **parameters}
        for name, write in self._writers:
            given[name] = write(given[name])
        values = tuple(given[name] for name in self._order)
        for listener in engine.dispatch.before_cursor_execute:
            listener(None, None, self._text, values, None, False)
        dialect: Any = engine.dialect
        try:
            rows = self._ask(connection, values)
        except _errors(engine) as error:
            gone = dialect.is_disconnect(error, connection.dbapi_connection, None)
            if gone:
                connection.invalidate(error)
            raise _as_sqlalchemy(error, engine, gone=gone) from error
        return [_read(row, self._readers) for row in rows] if self._readers else rows

    def _ask(self, connection: Any, values: Row) -> list[Row]:
        """The rows as the driver gives them. The first time, tells `_learn` their types."""
        raise NotImplementedError

    def _learn(self, types: list[Any]) -> None:
        made = (
            (place, column.type.dialect_impl(self._dialect).result_processor(self._dialect, types[place]))
            for place, column in enumerate(self._columns)
        )
        self._readers = [(place, read) for place, read in made if read is not None]


class _SqlitePlan(_Plan):
    def _ask(self, connection: Any, values: Row) -> list[Row]:
        cursor = connection.cursor()
        try:
            rows: list[Row] = cursor.execute(self._text, values).fetchall()
            if self._readers is None:
                self._learn([column[1] for column in cursor.description])
            return rows
        finally:
            cursor.close()


class _PostgresqlPlan(_Plan):
    """Prepared under a name of its own on each connection that it meets, unless it is planned anew."""

    def __init__(self, statement: Select[Any] | TextClause, dialect: Any, *, anew: bool) -> None:
        super().__init__(statement, type(dialect)(paramstyle="numeric_dollar"))
        self._anew = anew

    def _ask(self, connection: Any, values: Row) -> list[Row]:
        driver, notes = connection.dbapi_connection, connection.info
        given = [_written(value) for value in values]
        deadline.require_time()
        if self._anew:
            driver.pgconn.send_query_params(self._text.encode(), given)
        else:
            name = notes.get(_NAMES, {}).get(self._text) or self._prepare(connection)
            driver.pgconn.send_query_prepared(name, given)
        result = driver.result(_hand.seconds)
        loader = notes.get(_LOADER) or notes.setdefault(_LOADER, Transformer(driver))
        loader.set_pgresult(result)
        if self._readers is None:
            self._learn([result.ftype(n) for n in range(result.nfields)])
        return loader.load_rows(0, result.ntuples, tuple)  # type: ignore[no-any-return]

    def _prepare(self, connection: Any) -> bytes:
        """The name under which the connection has the statement now; where it has too many, it forgets them all."""
        if len(connection.info.get(_NAMES, {})) >= MOST:
            unprepare(connection)
        names = connection.info.setdefault(_NAMES, {})
        name = b"directory_%d" % len(names)
        connection.dbapi_connection.pgconn.send_prepare(name, self._text.encode())
        connection.dbapi_connection.result(_hand.seconds)
        names[self._text] = name
        return name


def _errors(engine: Engine) -> Any:
    dialect: Any = engine.dialect
    return dialect.loaded_dbapi.Error


def _as_sqlalchemy(error: Exception, engine: Engine, *, gone: bool) -> Exception:
    """What SQLAlchemy makes of a driver's error; without the statement and its values, which may be secrets' hashes."""
    return DBAPIError.instance(
        "prepared",
        None,
        error,
        _errors(engine),
        hide_parameters=True,
        connection_invalidated=gone,
        dialect=engine.dialect,
    )


def _written(value: Any) -> bytes | None:
    """A value in PostgreSQL's text format. Raises psycopg.DataError for a NUL, which libpq would end it at."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        text = f"{{{','.join(map(_quoted, value))}}}"
    else:
        text = value.isoformat() if isinstance(value, datetime) else str(value)
    if "\0" in text:
        raise psycopg.DataError("a text holds NUL")
    return text.encode()


def _quoted(element: object) -> str:
    """An element of an array."""
    text = str(element).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _read(row: Row, readers: list[tuple[int, Any]]) -> Row:
    values = list(row)
    for place, read in readers:
        values[place] = read(values[place])
    return tuple(values)
