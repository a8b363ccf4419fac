"""Pages of a total order, by number or by position.

Every order here ends in a unique key and runs one way in all its keys, so a position is a row value and the rest of
the list is one comparison: `(a, id) < (:a, :id)`. That costs the same at any depth and neither skips nor repeats.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, literal, tuple_

from directory.extensions import db

if TYPE_CHECKING:
    AnySelect = Select[*tuple[Any, ...]]
else:
    AnySelect = Select  # of any columns; SQLAlchemy 2.0 could not be told so


@dataclass(frozen=True, slots=True)
class Sort:
    """An order: its public name, its keys (the last one unique), and which way they run."""

    name: str
    keys: tuple[Any, ...]
    descending: bool


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two rows: the keys of the row beside it, and whether the reader goes on or back from it."""

    keys: tuple[Any, ...]
    forward: bool


@dataclass(frozen=True, slots=True)
class Window:
    """What part of a list is wanted: `limit` rows of page `page`, or next to `position`."""

    limit: int
    page: int | None = 1
    position: Position | None = None


@dataclass(slots=True)
class Slice:
    """The rows wanted, and the positions from which the list goes on and back (None at its ends)."""

    items: list[Any]
    next: Position | None
    previous: Position | None


def fetch(query: AnySelect, sort: Sort, window: Window) -> Slice:
    """Run `query` in the order of `sort`, cut to `window`, in one statement."""
    backwards = window.position is not None and not window.position.forward
    columns = [key.label(f"_key_{n}") for n, key in enumerate(sort.keys)]
    query = query.add_columns(*columns)
    if window.position is not None:
        query = query.where(_beyond(sort, window.position))
    else:
        query = query.offset(((window.page or 1) - 1) * window.limit)
    descending = sort.descending != backwards
    query = query.order_by(*(key.desc() if descending else key.asc() for key in sort.keys))
    # One row more than wanted tells whether the list goes on.
    rows = list(db.session.execute(query.limit(window.limit + 1)))
    more = len(rows) > window.limit
    rows = rows[: window.limit]
    if backwards:
        rows.reverse()
    return _slice(rows, sort, window, more=more, backwards=backwards)


def plain(row: Any) -> dict[str, Any]:
    """The columns of a fetched row by name, without the sort keys that ride along."""
    return {name: value for name, value in row._mapping.items() if not name.startswith("_key_")}


def _slice(rows: list[Any], sort: Sort, window: Window, *, more: bool, backwards: bool) -> Slice:
    on_page_one = window.position is None and (window.page or 1) == 1
    goes_on = more or backwards
    goes_back = more if backwards else not on_page_one
    return Slice(
        rows,
        Position(_keys(rows[-1], sort), forward=True) if rows and goes_on else None,
        Position(_keys(rows[0], sort), forward=False) if rows and goes_back else None,
    )


def _keys(row: Any, sort: Sort) -> tuple[Any, ...]:
    return tuple(row._mapping[f"_key_{n}"] for n in range(len(sort.keys)))


def _beyond(sort: Sort, position: Position) -> Any:
    here = tuple_(*sort.keys)
    there = tuple_(*(literal(v, key.type) for key, v in zip(sort.keys, position.keys, strict=True)))
    return here < there if sort.descending == position.forward else here > there
