"""Prepared statements for the hot path: compiled once for a database, and run without SQLAlchemy's execution.

SQLAlchemy adds 150 to 230 µs to each statement and a driver's cursor 40 to 100 µs, while the server looks up a token
in 20 µs. So the statements that most requests run, or one request many times, run this way: on PostgreSQL as prepared
statements of libpq, on SQLite by the driver's cursor.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ClauseElement,
    ColumnElement,
    Dialect,
    Table,
    any_,
    bindparam,
    func,
    select,
    text,
)
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

__all__ = ["Prepared", "Row", "add_row", "add_row_later", "among", "of_unknown_length", "use_connection"]


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

    def first(self, parameters: dict[str, Any]) -> Row | None:
        """The first row, or None."""
        rows = self.all(parameters)
        return rows[0] if rows else None

    def later(self, parameters: dict[str, Any]) -> None:
        """Run it without returning rows; in a transaction it takes no round trip of its own.

        PostgreSQL gets it with the next statement of the transaction, or before the commit, which raises its errors.
        It runs at once where `refusing` is to name those, and in a savepoint: SQLAlchemy does not roll back to one
        whose release fails.
        """
        self._run(parameters, later=not (is_refusing.get() or db.session().in_nested_transaction()))

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


def add_row(model: Any, row: Mapping[str, Any]) -> int:
    """Add a row to the current transaction, and return its `id`: the ORM's unit of work costs several times as much.

    A column that is left out gets the default of the database, if any. A value may be an expression of SQL without
    parameters.
    """
    statement, values = _adding(model, row)
    [(number,)] = statement.all(values)
    return int(number)


def add_row_later(model: Any, row: Mapping[str, Any]) -> None:
    """Add a row without a round trip of its own (`Prepared.later`), and so without its id."""
    statement, values = _adding(model, row)
    statement.later(values)


def _adding(model: Any, row: Mapping[str, Any]) -> tuple[Prepared, dict[str, Any]]:
    """The statement that adds a row, with its expressions of SQL, and its values."""
    expressions = {name: str(value) for name, value in row.items() if isinstance(value, ClauseElement)}
    values = {name: value for name, value in row.items() if name not in expressions}
    return _insert(model.__table__, tuple(values), tuple(expressions.items())), values


@cache
def _insert(table: Table, names: tuple[str, ...], expressions: tuple[tuple[str, str], ...]) -> Prepared:
    columns = [*names, *(name for name, _ in expressions)]
    values = [*(f":{name}" for name in names), *(expression for _, expression in expressions)]
    statement = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join(values)}) RETURNING id"  # noqa: S608 (our own names)
    return Prepared(text(statement).bindparams(*(bindparam(name, type_=table.c[name].type) for name in names)))


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
