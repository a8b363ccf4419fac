"""Prepared statements for the hot path: compiled once for a database, and run without SQLAlchemy's execution.

SQLAlchemy adds 150 to 230 µs to each statement and a driver's cursor 40 to 100 µs, while the server looks up a token
in 20 µs. So the statements that most requests run, or one request many times, run this way: on PostgreSQL as prepared
statements of libpq, on SQLite by the driver's cursor.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import JSON, BigInteger, ColumnElement, Dialect, any_, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from directory.db.compiled import (
    Borrowed,
    Compiled,
    CompiledForSqlite,
    Row,
    Statement,
    as_sqlalchemy,
    borrowed,
    errors_of,
)
from directory.db.errors import is_refusing
from directory.db.transactions import in_transaction
from directory.extensions import db

__all__ = ["Prepared", "Row", "among", "of_unknown_length", "use_connection"]


@contextmanager
def use_connection(connection: Any, seconds: float) -> Iterator[None]:
    """Run the prepared statements of the block over this pooled connection, which no other thread uses.

    On PostgreSQL the limit for all of them together is `seconds`; a statement that exceeds it closes the connection.
    """
    token = borrowed.set(Borrowed(connection, time.monotonic() + seconds))
    try:
        yield
    finally:
        borrowed.reset(token)


class Prepared:
    """A statement that is run with parameters and returns tuples.

    If the session is in a transaction, it is part of that. Otherwise it is a transaction by itself, over the connection
    of `use_connection` or one of the pool. With `replan` PostgreSQL plans each run: for statements whose best plan
    depends on the values, such as on the number of rows with a tag.
    """

    def __init__(self, statement: Statement, *, replan: bool = False) -> None:
        self.statement, self._replan = statement, replan
        self._compiled: dict[str, Compiled] = {}

    def all(self, parameters: dict[str, Any]) -> list[Row]:
        """All rows. Raises SQLAlchemy's errors."""
        return self._run(parameters)

    def later(self, parameters: dict[str, Any]) -> None:
        """Run it without returning rows; in a transaction it takes no round trip of its own.

        PostgreSQL gets it with the next statement of the transaction, or before the commit, which raises its errors.
        It runs at once where `refusing` is to name those, and in a savepoint: SQLAlchemy does not roll back to one
        whose release fails.
        """
        self._run(parameters, later=not (is_refusing.get() or db.session().in_nested_transaction()))

    def first(self, parameters: dict[str, Any]) -> Row | None:
        """The first row, or None."""
        rows = self.all(parameters)
        return rows[0] if rows else None

    def _run(self, parameters: dict[str, Any], *, later: bool = False) -> list[Row]:
        engine, lent = db.engine, borrowed.get()
        compiled = self._compiled.get(engine.dialect.name) or self._compile(engine.dialect)
        if lent is not None:
            return compiled.run(engine, lent.connection, parameters, later=later)
        if in_transaction():
            return compiled.run(engine, db.session.connection().connection, parameters, later=later)
        try:
            connection = engine.raw_connection()
        except errors_of(engine) as error:
            raise as_sqlalchemy(error, engine, is_lost=False) from error
        try:
            return compiled.run(engine, connection, parameters, later=later)
        finally:
            connection.close()

    def _compile(self, dialect: Dialect) -> Compiled:
        if dialect.name == "postgresql":
            from directory.db.compiled_postgresql import CompiledForPostgresql  # psycopg is for PostgreSQL alone

            compiled: Compiled = CompiledForPostgresql(self.statement, dialect, replan=self._replan)
        else:
            compiled = CompiledForSqlite(self.statement, dialect)
        self._compiled[dialect.name] = compiled
        return compiled


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
