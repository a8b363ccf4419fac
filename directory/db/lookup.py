"""Look up rows by their keys, several in one statement."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Select, String, bindparam, cast, func, literal_column, select, true

from directory.db.statements import Prepared, Row
from directory.db.transactions import on_postgresql


class LookUp:
    """The rows of `query`, each by its `key`: one statement for several callers, because a statement is a round trip.

    `parameters` returns the values of the query's other parameters, and is called for each run.
    """

    def __init__(
        self, query: Select[Any], key: ColumnElement[Any], parameters: Callable[[], dict[str, Any]] = dict
    ) -> None:
        keyed = query.add_columns(key.label("key"))
        keys = func.unnest(cast(bindparam("keys", type_=String()), ARRAY(key.type)))
        given = keys.table_valued("key", name="given").render_derived()
        # One lookup for each key: PostgreSQL planned a join with all keys at once as a scan of the whole table.
        each = keyed.where(key == given.c.key).limit(literal_column("1")).lateral("each")
        self._one = Prepared(keyed.where(key == bindparam("key")))
        self._several = Prepared(select(*each.c).select_from(given.join(each, true())))
        self._parameters = parameters

    def find(self, key: Any) -> Row | None:
        """The row, with the key as its last value; None where there is none."""
        return self._one.first({"key": key, **self._parameters()})

    def all(self, keys: list[Any]) -> list[Row | None]:
        """The row for each key."""
        if len(keys) == 1 or not on_postgresql():  # one key costs the server less so; SQLite has no lateral joins
            return [self.find(key) for key in keys]
        found = {row[-1]: row for row in self._several.all({"keys": keys, **self._parameters()})}
        return [found.get(key) for key in keys]
