"""A prepared statement as one database runs it, and the connection that it runs over; `statements.py` says what for."""

from contextvars import ContextVar
from sys import intern
from typing import Any, NamedTuple

from sqlalchemy import CompoundSelect, Dialect, Engine, Select, TextClause, Update
from sqlalchemy.exc import DBAPIError

Row = tuple[Any, ...]
Statement = Select[Any] | CompoundSelect[Any] | TextClause | Update


class Borrowed(NamedTuple):
    """A connection for statements, and the time (of time.monotonic()) at which they give up."""

    connection: Any
    give_up_at: float


borrowed: ContextVar[Borrowed | None] = ContextVar("directory.connection", default=None)


class Compiled:
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

    def run(self, engine: Engine, connection: Any, parameters: dict[str, Any], *, later: bool) -> list[Row]:
        """Run it; `later` without rows, if that is possible.

        Errors are raised as SQLAlchemy's, and a lost connection is invalidated.
        """
        bound = {**self._constants, **parameters}
        for name, write in self._writers:
            bound[name] = write(bound[name])
        values = tuple(bound[name] for name in self._order)
        for listener in engine.dispatch.before_cursor_execute:
            listener(None, None, self._text, values, None, False)
        try:
            rows = self._fetch(connection, values, later)
        except errors_of(engine) as error:
            is_lost = self._is_lost(engine, error, connection.dbapi_connection)
            if is_lost:
                connection.invalidate(error)
            raise as_sqlalchemy(error, engine, is_lost=is_lost) from error
        if not self._readers:
            return rows
        converted = [*map(list, rows)]
        for row in converted:
            for place, read in self._readers:
                row[place] = read(row[place])
        return [*map(tuple, converted)]

    def _fetch(self, connection: Any, values: Row, later: bool) -> list[Row]:
        """The rows as the driver returns them. The first run passes their types to `_learn`."""
        raise NotImplementedError

    def _is_lost(self, engine: Engine, error: Any, driver: Any) -> bool:
        """Whether the connection is of no use after this error."""
        dialect: Any = engine.dialect
        return bool(dialect.is_disconnect(error, driver, None))

    def _learn(self, types: list[Any]) -> None:
        readers = (
            (place, column.type.dialect_impl(self._dialect).result_processor(self._dialect, types[place]))
            for place, column in enumerate(self._columns)
        )
        self._readers = [(place, read) for place, read in readers if read is not None]


class CompiledForSqlite(Compiled):
    """Run by a cursor of the driver."""

    def _fetch(self, connection: Any, values: Row, later: bool) -> list[Row]:
        cursor = connection.cursor()
        try:
            rows: list[Row] = cursor.execute(self._text, values).fetchall()
            if self._readers is None:
                self._learn([column[1] for column in cursor.description or ()])
            return rows
        finally:
            cursor.close()


def errors_of(engine: Engine) -> Any:
    """The class of the driver's errors."""
    dialect: Any = engine.dialect
    return dialect.loaded_dbapi.Error


def as_sqlalchemy(error: Exception, engine: Engine, *, is_lost: bool) -> Exception:
    """SQLAlchemy's exception for a driver's error. It leaves out the values, which may be hashes of secrets."""
    return DBAPIError.instance(
        "prepared",
        None,
        error,
        errors_of(engine),
        hide_parameters=True,
        connection_invalidated=is_lost,
        dialect=engine.dialect,
    )
