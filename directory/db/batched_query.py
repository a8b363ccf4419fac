"""Runs a query that returns at most one row, for several sets of values, in one statement."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ARRAY, Select, String, bindparam, cast, column, func, literal_column, select, true
from sqlalchemy.types import TypeEngine

from directory.db.statements import Prepared, Row, of_unknown_length
from directory.db.transactions import on_postgresql


class BatchedQuery:
    """A query that returns at most one row, run for several sets of values in one statement and round trip.

    `types` are the types of the values by name; `query` builds the query from their columns. `parameters` is called for
    each run and returns the values of the other parameters.
    """

    def __init__(
        self,
        types: dict[str, TypeEngine[Any]],
        query: Callable[..., Select[Any]],
        parameters: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._names, self._parameters = tuple(types), parameters
        self._one = Prepared(query(**{name: bindparam(name, type_=kind) for name, kind in types.items()}))
        arrays = (of_unknown_length(cast(bindparam(name, type_=String()), ARRAY(kind))) for name, kind in types.items())
        columns = (column(name, kind) for name, kind in types.items())
        sets = func.unnest(*arrays).table_valued(*columns, with_ordinality="place", name="given").render_derived()
        # One lookup for each set of values: PostgreSQL planned a join with all at once as a scan of the whole table.
        lookup = query(**{name: sets.c[name] for name in types}).limit(literal_column("1")).lateral("each")
        # On PostgreSQL: the rows found, each after the number of its set of values, from 1.
        self.several: Select[Any] = select(sets.c.place, *lookup.c).select_from(sets.join(lookup, true()))
        self._several = Prepared(self.several)

    def one(self, *values: Any) -> Row | None:
        """The row for one set of values, in the order of `types`; None without one."""
        return self._one.first({**self._parameters(), **dict(zip(self._names, values, strict=True))})

    def all(self, sets: list[Row]) -> list[Row | None]:
        """The row for each set of values."""
        if not sets:
            return []
        if len(sets) == 1 or not on_postgresql():  # for one set this costs less; SQLite has no lateral joins
            return [self.one(*values) for values in sets]
        return self.placed(self._several.all(self.named(sets)), len(sets))

    def named(self, sets: list[Row]) -> dict[str, Any]:
        """The parameters of `several`."""
        values = map(list, zip(*sets, strict=True))
        return {**self._parameters(), **dict(zip(self._names, values, strict=True))}

    @staticmethod
    def placed(rows: list[Row], count: int) -> list[Row | None]:
        """The rows of `several` in the order of the sets of values, without their numbers."""
        by_place = {row[0]: row[1:] for row in rows}
        return [by_place.get(place) for place in range(1, count + 1)]
