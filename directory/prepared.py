"""Statements of the hot path: compiled once for a database, then run on the driver's own cursor.

What SQLAlchemy does around a statement each time it runs costs three to five times what the driver takes to run it.
So the few that a vote, a list, a project and the caller's credentials need go this way, and nothing else does.
"""

from typing import Any

from sqlalchemy import Dialect, Engine, Select, TextClause
from sqlalchemy.exc import DBAPIError

from directory.extensions import db

Row = tuple[Any, ...]


class Prepared:
    """A statement that is run with nothing but parameters ever after, and gives plain tuples.

    Within a transaction of the session it runs in that; else by itself, which on PostgreSQL commits it.
    """

    def __init__(self, statement: Select[Any] | TextClause) -> None:
        self.statement = statement
        self._plans: dict[str, _Plan] = {}

    def all(self, parameters: dict[str, Any]) -> list[Row]:
        """All rows. Raises what SQLAlchemy raises."""
        engine = db.engine
        plan = self._plans.get(engine.dialect.name)
        if plan is None:
            plan = self._plans[engine.dialect.name] = _Plan(self.statement, engine.dialect)
        if db.session.registry.has() and db.session().in_transaction():
            return plan.run(engine, db.session.connection().connection, parameters)
        connection = engine.raw_connection()
        try:
            return plan.run(engine, connection, parameters)
        finally:
            connection.close()

    def first(self, parameters: dict[str, Any]) -> Row | None:
        """The first row, None where there is none."""
        rows = self.all(parameters)
        return rows[0] if rows else None


class _Plan:
    """The text of a statement for a dialect, and what its values go through on their way in and out."""

    def __init__(self, statement: Select[Any] | TextClause, dialect: Dialect) -> None:
        compiled: Any = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._order = compiled.positiontup  # None where parameters go by name
        self._constants = {name: value for name, value in compiled.params.items() if not compiled.binds[name].required}
        self._writers = [(name, write) for name, bound in compiled.binds.items() if (write := _writer(bound, dialect))]
        self._columns = list(statement.selected_columns) if isinstance(statement, Select) else []
        self._readers: list[tuple[int, Any]] | None = None  # what the driver gives is known when it was asked once

    def run(self, engine: Engine, connection: Any, parameters: dict[str, Any]) -> list[Row]:
        """Run it. An error is what SQLAlchemy would have made of it, and a connection that is gone goes."""
        given = {**self._constants, **parameters}
        for name, write in self._writers:
            given[name] = write(given[name])
        sent = given if self._order is None else tuple(given[name] for name in self._order)
        cursor = connection.cursor()
        for listener in engine.dispatch.before_cursor_execute:
            listener(None, cursor, self._text, sent, None, False)
        dialect: Any = engine.dialect
        errors = dialect.loaded_dbapi
        try:
            cursor.execute(self._text, sent)
            rows = cursor.fetchall()
            if self._readers is None:
                self._readers = self._made_readers(cursor.description, dialect)
        except errors.Error as error:
            gone = dialect.is_disconnect(error, connection.dbapi_connection, cursor)
            if gone:
                connection.invalidate(error)
            raise DBAPIError.instance(
                self._text,
                None,
                error,
                errors.Error,
                hide_parameters=True,
                connection_invalidated=gone,
                dialect=dialect,
            ) from error
        finally:
            cursor.close()
        return [_read(row, self._readers) for row in rows] if self._readers else rows

    def _made_readers(self, description: Any, dialect: Dialect) -> list[tuple[int, Any]]:
        made = (
            (place, column.type.dialect_impl(dialect).result_processor(dialect, description[place][1]))
            for place, column in enumerate(self._columns)
        )
        return [(place, read) for place, read in made if read is not None]


def _read(row: Row, readers: list[tuple[int, Any]]) -> Row:
    values = list(row)
    for place, read in readers:
        values[place] = read(values[place])
    return tuple(values)


def _writer(bound: Any, dialect: Dialect) -> Any:
    return bound.type.dialect_impl(dialect).bind_processor(dialect)
