"""Adding one row by a prepared statement: the ORM's unit of work, or a COPY, costs several times as much."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import ClauseElement, Table, bindparam, text

from directory.db.statements import Prepared


def add(model: Any, row: Mapping[str, Any]) -> int:
    """Add a row to the current transaction, and return its `id`.

    A column that is left out gets the default of the database, if any. A value may be an expression of SQL without
    parameters.
    """
    expressions, values = _split(row)
    [(number,)] = _insert(model.__table__, tuple(values), tuple(expressions.items())).all(values)
    return int(number)


def add_later(model: Any, row: Mapping[str, Any]) -> None:
    """Add a row whose id nobody needs, without a round trip of its own (`Prepared.later`)."""
    expressions, values = _split(row)
    _insert(model.__table__, tuple(values), tuple(expressions.items())).later(values)


def _split(row: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """The expressions of SQL of a row, and its values."""
    expressions = {name: str(value) for name, value in row.items() if isinstance(value, ClauseElement)}
    return expressions, {name: value for name, value in row.items() if name not in expressions}


@cache
def _insert(table: Table, names: tuple[str, ...], expressions: tuple[tuple[str, str], ...]) -> Prepared:
    columns = [*names, *(name for name, _ in expressions)]
    values = [*(f":{name}" for name in names), *(expression for _, expression in expressions)]
    statement = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join(values)}) RETURNING id"  # noqa: S608 (our own names)
    return Prepared(text(statement).bindparams(*(bindparam(name, type_=table.c[name].type) for name in names)))
