"""Prepared statements for the hot path: compiled once for a database, and run without SQLAlchemy's execution.

SQLAlchemy adds 150 to 230 µs to each statement and a driver's cursor 40 to 100 µs, while the server looks up a token
in 20 µs. So the statements that most requests run, or one request many times, run this way: on PostgreSQL as prepared
statements of libpq, on SQLite by the driver's cursor.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from sys import intern
from typing import Any, NamedTuple

import psycopg
from psycopg.adapt import Transformer
from psycopg.types.json import Json, Jsonb
from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Dialect,
    Engine,
    Select,
    TextClause,
    Update,
    any_,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError

from directory.db import deadline, pooler
from directory.db.engine import as_json
from directory.db.transactions import in_transaction
from directory.extensions import db

Row = tuple[Any, ...]
Statement = Select[Any] | CompoundSelect[Any] | TextClause | Update
# Keys of a pooled connection's `info`: the object that converts results, and the names of prepared statements by text.
_LOADER, _NAMES = "directory.loader", "directory.names"
MAX_PREPARED = 100  # on one connection; thousands of statements are possible, and each takes memory


class _Borrowed(NamedTuple):
    """A connection for statements, and the time (of time.monotonic()) at which they give up."""

    connection: Any
    give_up_at: float


_borrowed: ContextVar[_Borrowed | None] = ContextVar("directory.connection", default=None)


@contextmanager
def use_connection(connection: Any, seconds: float) -> Iterator[None]:
    """Run the prepared statements of the block over this pooled connection, which no other thread uses.

    On PostgreSQL the limit for all of them together is `seconds`; a statement that exceeds it closes the connection.
    """
    token = _borrowed.set(_Borrowed(connection, time.monotonic() + seconds))
    try:
        yield
    finally:
        _borrowed.reset(token)


def deallocate_all(connection: Any) -> None:
    """Remove all prepared statements from a direct connection to PostgreSQL. Raises psycopg.Error."""
    connection.dbapi_connection.pgconn.send_query(b"DEALLOCATE ALL")
    connection.dbapi_connection.result(_seconds_left())
    connection.info.pop(_NAMES, None)


def _seconds_left() -> float | None:
    """The remaining seconds of a borrowed connection; None for any other connection."""
    borrowed = _borrowed.get()
    return None if borrowed is None else max(0.0, borrowed.give_up_at - time.monotonic())


class Prepared:
    """A statement that is run with parameters and returns tuples.

    If the session is in a transaction, it is part of that. Otherwise it is a transaction by itself, over the connection
    of `use_connection` or one of the pool. With `replan` PostgreSQL plans each run: for statements whose best plan
    depends on the values, such as on the number of rows with a tag.
    """

    def __init__(self, statement: Statement, *, replan: bool = False) -> None:
        self.statement, self._replan = statement, replan
        self._compiled: dict[str, _Compiled] = {}

    def all(self, parameters: dict[str, Any]) -> list[Row]:
        """All rows. Raises SQLAlchemy's errors."""
        engine, borrowed = db.engine, _borrowed.get()
        compiled = self._compiled.get(engine.dialect.name) or self._compile(engine.dialect)
        if borrowed is not None:
            return compiled.run(engine, borrowed.connection, parameters)
        if in_transaction():
            return compiled.run(engine, db.session.connection().connection, parameters)
        try:
            connection = engine.raw_connection()
        except _errors(engine) as error:
            raise _as_sqlalchemy(error, engine, is_lost=False) from error
        try:
            return compiled.run(engine, connection, parameters)
        finally:
            connection.close()

    def first(self, parameters: dict[str, Any]) -> Row | None:
        """The first row, or None."""
        rows = self.all(parameters)
        return rows[0] if rows else None

    def _compile(self, dialect: Dialect) -> "_Compiled":
        if dialect.name == "postgresql":
            compiled: _Compiled = _CompiledForPostgresql(self.statement, dialect, replan=self._replan)
        else:
            compiled = _CompiledForSqlite(self.statement, dialect)
        self._compiled[dialect.name] = compiled
        return compiled


class _Compiled:
    """The text of a statement for one dialect, with the conversions of its parameters and of its results."""

    def __init__(self, statement: Statement, dialect: Dialect) -> None:
        self._dialect = dialect
        compiled: Any = statement.compile(dialect=dialect)
        self._text = intern(str(compiled))
        self._order: list[str] = compiled.positiontup
        self._constants = {name: value for name, value in compiled.params.items() if not compiled.binds[name].required}
        writers = {name: b.type.dialect_impl(dialect).bind_processor(dialect) for name, b in compiled.binds.items()}
        self._writers = [(name, write) for name, write in writers.items() if write is not None]
        self._columns = list(statement.selected_columns) if isinstance(statement, Select) else []
        self._readers: list[tuple[int, Any]] | None = None  # known after the first run

    def run(self, engine: Engine, connection: Any, parameters: dict[str, Any]) -> list[Row]:
        """Run it. Errors are raised as SQLAlchemy's, and a lost connection is invalidated."""
        bound = {**self._constants, **parameters}
        for name, write in self._writers:
            bound[name] = write(bound[name])
        values = tuple(bound[name] for name in self._order)
        for listener in engine.dispatch.before_cursor_execute:
            listener(None, None, self._text, values, None, False)
        dialect: Any = engine.dialect
        try:
            rows = self._fetch(connection, values)
        except _errors(engine) as error:
            driver = connection.dbapi_connection
            is_lost = dialect.is_disconnect(error, driver, None) or (
                dialect.name == "postgresql" and pooler.is_lost(error, is_pooled=driver.is_pooled)
            )
            if is_lost:
                connection.invalidate(error)
            raise _as_sqlalchemy(error, engine, is_lost=is_lost) from error
        if not self._readers:
            return rows
        converted = [*map(list, rows)]
        for row in converted:
            for place, read in self._readers:
                row[place] = read(row[place])
        return [*map(tuple, converted)]

    def _fetch(self, connection: Any, values: Row) -> list[Row]:
        """The rows as the driver returns them. The first run passes their types to `_learn`."""
        raise NotImplementedError

    def _learn(self, types: list[Any]) -> None:
        readers = (
            (place, column.type.dialect_impl(self._dialect).result_processor(self._dialect, types[place]))
            for place, column in enumerate(self._columns)
        )
        self._readers = [(place, read) for place, read in readers if read is not None]


class _CompiledForSqlite(_Compiled):
    def _fetch(self, connection: Any, values: Row) -> list[Row]:
        cursor = connection.cursor()
        try:
            rows: list[Row] = cursor.execute(self._text, values).fetchall()
            if self._readers is None:
                self._learn([column[1] for column in cursor.description or ()])
            return rows
        finally:
            cursor.close()


class _CompiledForPostgresql(_Compiled):
    """Prepared by name on each connection that runs it, unless it is planned for each run."""

    def __init__(self, statement: Statement, dialect: Any, *, replan: bool) -> None:
        super().__init__(statement, type(dialect)(paramstyle="numeric_dollar"))
        self._replan = replan

    def _fetch(self, connection: Any, values: Row) -> list[Row]:
        driver, info = connection.dbapi_connection, connection.info
        encoded = [_encoded(value) for value in values]
        deadline.check()
        driver.begin()
        if self._replan or driver.is_pooled:  # a pooler's next transaction may run in a session without the name
            driver.pgconn.send_query_params(self._text.encode(), encoded)
        else:
            name = info.get(_NAMES, {}).get(self._text) or self._prepare(connection)
            driver.pgconn.send_query_prepared(name, encoded)
        result = driver.result(_seconds_left())
        loader = info.get(_LOADER) or info.setdefault(_LOADER, Transformer(driver))
        loader.set_pgresult(result)
        if self._readers is None:
            self._learn([result.ftype(n) for n in range(result.nfields)])
        return loader.load_rows(0, result.ntuples, tuple)  # type: ignore[no-any-return]

    def _prepare(self, connection: Any) -> bytes:
        """Prepare the statement and return its name. If the connection has MAX_PREPARED, all are removed first."""
        if len(connection.info.get(_NAMES, {})) >= MAX_PREPARED:
            deallocate_all(connection)
        names = connection.info.setdefault(_NAMES, {})
        name = b"directory_%d" % len(names)
        connection.dbapi_connection.pgconn.send_prepare(name, self._text.encode())
        connection.dbapi_connection.result(_seconds_left())
        names[self._text] = name
        return name


def _errors(engine: Engine) -> Any:
    dialect: Any = engine.dialect
    return dialect.loaded_dbapi.Error


def _as_sqlalchemy(error: Exception, engine: Engine, *, is_lost: bool) -> Exception:
    """SQLAlchemy's exception for a driver's error. It leaves out the values, which may be hashes of secrets."""
    return DBAPIError.instance(
        "prepared",
        None,
        error,
        _errors(engine),
        hide_parameters=True,
        connection_invalidated=is_lost,
        dialect=engine.dialect,
    )


def _encoded(value: Any) -> bytes | None:
    """A value in PostgreSQL's text format. Raises psycopg.DataError for a NUL, at which libpq would end the text."""
    if value is None:
        return None
    if isinstance(value, Json | Jsonb):
        text = as_json(value.obj)
    elif isinstance(value, list | tuple):
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


def of_unknown_length(array: ColumnElement[Any]) -> ColumnElement[Any]:
    """The array, in a way that the planner cannot count its elements.

    If PostgreSQL counts fewer than the ten that it assumes otherwise, it takes a plan for these values to be cheaper,
    and plans the statement for each run. Planning took twice as long as running.
    """
    return func.array(select(func.unnest(array)).scalar_subquery(), type_=array.type)


def among(
    column: Any, dialect: str, name: str = "ids", kind: Any = BigInteger, *, one_plan: bool = False
) -> Any:  # fmt: skip
    """Whether a column is in the list `name`, which is a single parameter of the statement.

    With `one_plan` PostgreSQL keeps its plan for lists of any length: for statements that take longer to plan than to
    run.
    """
    if dialect == "postgresql":
        given = bindparam(name, type_=ARRAY(kind))
        return column == any_(of_unknown_length(given) if one_plan else given)
    return column.in_(func.json_each(bindparam(name, type_=JSON)).table_valued("value").select())
