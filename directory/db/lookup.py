"""Looking up rows by their keys, several at once."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Select, String, bindparam, cast, func, literal_column, select, true

from directory.db.statements import Prepared, Row
from directory.db.transactions import on_postgresql


class LookUp:
    """The rows of `query`, each by its `key`: for several callers in one statement, where one costs a round trip.

    `parameters` makes the values of whatever else the query asks for, when it is asked.
    """

    def __init__(
        self, query: Select[Any], key: ColumnElement[Any], parameters: Callable[[], dict[str, Any]] = dict
    ) -> None:
        keyed = query.add_columns(key.label("key"))
        keys = func.unnest(cast(bindparam("keys", type_=String()), ARRAY(key.type)))
        given = keys.table_valued("key", name="given").render_derived()
        # One at a time, and no more than one: a join of all was planned as a walk through the whole table.
        each = keyed.where(key == given.c.key).limit(literal_column("1")).lateral("each")
        self._alone = Prepared(keyed.where(key == bindparam("key")))
        self._together = Prepared(select(*each.c).select_from(given.join(each, true())))
        self._parameters = parameters

    def find(self, key: Any) -> Row | None:
        """The row, with its key for the last of its values; None where there is none."""
        return self._alone.first({"key": key, **self._parameters()})

    def all(self, keys: list[Any]) -> list[Row | None]:
        """The row for each key."""
        if len(keys) == 1 or not on_postgresql():  # one takes the server less so; SQLite has no lateral joins
            return [self.find(key) for key in keys]
        found = {row[-1]: row for row in self._together.all({"keys": keys, **self._parameters()})}
        return [found.get(key) for key in keys]
