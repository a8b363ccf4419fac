"""Pages of a total order, by number or by position.

Every order ends in a unique key, and all its keys have one direction, so the rest of a list after a position is one
comparison of rows: `(a, id) < (:a, :id)`. It costs the same at any depth, and skips and repeats no row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import FromClause, Select, bindparam, literal_column, select, tuple_

from directory.extensions import db

if TYPE_CHECKING:
    AnySelect = Select[*tuple[Any, ...]]
else:
    AnySelect = Select  # with any columns, which SQLAlchemy 2.0 cannot express at run time


NEAR = 500  # a page by number that skips at most so many rows is near the top


@dataclass(frozen=True, slots=True)
class Sort:
    """An order: its keys (the last one unique), and their direction."""

    keys: tuple[Any, ...]
    descending: bool


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two rows: the keys of the row next to it, and the direction of reading from it."""

    keys: tuple[Any, ...]
    forward: bool


@dataclass(frozen=True, slots=True)
class Window:
    """The requested part of a list: `limit` rows of page `page`, or next to `position`."""

    limit: int
    page: int | None = 1
    position: Position | None = None

    @property
    def start(self) -> str:
        """Its beginning: "top", "near" or "far" from the top, "after" a position or, backwards, "before" one."""
        if self.position is not None:
            return "after" if self.position.forward else "before"
        if not self.skipped:
            return "top"
        return "near" if self.skipped <= NEAR else "far"

    def parameters(self) -> dict[str, Any]:
        """The values for a statement that `windowed` made."""
        if self.position is not None:
            return {f"_key_{n}": key for n, key in enumerate(self.position.keys)}
        return {"_offset": self.skipped} if self.skipped else {}

    @property
    def skipped(self) -> int:
        """The number of rows before its page."""
        return ((self.page or 1) - 1) * self.limit


@dataclass(slots=True)
class Slice:
    """The rows of a window, the positions of the next and the previous one (None at the ends), the total if known.

    With `total_capped` there are more than `total` rows; the others were not counted.
    """

    items: list[Any]
    next: Position | None
    previous: Position | None
    total: int | None = None
    total_capped: bool = False


def fetch(query: AnySelect, sort: Sort, window: Window) -> Slice:
    """Run `query` in the order of `sort`, cut to `window`, in one statement."""
    statement = windowed(query, sort, window.start, window.limit)
    return cut(db.session.execute(statement, window.parameters()).all(), sort, window)


def windowed(query: AnySelect, sort: Sort, start: str, limit: int, *, one_plan: bool = False) -> AnySelect:
    """The statement for a window of `query`. Its last columns are the keys of the order.

    The limit is part of the text, because a plan for any limit would suit a large one. One more row than the limit
    shows whether the list continues. `one_plan` makes a text for which PostgreSQL keeps one plan for all pages near the
    top. Without it PostgreSQL would assume that an unknown offset skips a tenth of all rows, consider the generic plan
    too expensive, and plan each page again; so the statement limits the rows before the offset.
    """
    query = query.add_columns(*(key.label(f"_key_{n}") for n, key in enumerate(sort.keys)))
    if start in {"after", "before"}:
        here = tuple_(*sort.keys)
        there = tuple_(*(bindparam(f"_key_{n}", type_=key.type) for n, key in enumerate(sort.keys)))
        query = query.where(here < there if sort.descending == (start == "after") else here > there)
    query = query.order_by(*directed(sort.keys, sort, start))
    if start == "near" and one_plan:
        first = query.limit(literal_column(str(NEAR + limit + 1))).subquery("first")
        query = select(first).order_by(*directed(carried(first, sort), sort, start))
    if start in {"near", "far"}:
        query = query.offset(bindparam("_offset", type_=None))
    return query.limit(literal_column(str(limit + 1)))


def carried(window: FromClause, sort: Sort) -> list[Any]:
    """The key columns of a windowed statement, for a statement that selects from it."""
    return [window.c[f"_key_{n}"] for n in range(len(sort.keys))]


def directed(keys: Iterable[Any], sort: Sort, start: str) -> list[Any]:
    """The keys in the direction in which a window is read."""
    descending = sort.descending != (start == "before")
    return [key.desc() if descending else key.asc() for key in keys]


def cut(rows: Sequence[Any], sort: Sort, window: Window) -> Slice:
    """The rows of such a statement as a slice."""
    backwards = window.start == "before"
    more = len(rows) > window.limit
    rows = list(rows[: window.limit])
    if backwards:
        rows.reverse()
    goes_on = more or backwards
    goes_back = more if backwards else window.start != "top"
    first, last = (tuple(row[-len(sort.keys) :]) for row in (rows[0], rows[-1])) if rows else (None, None)
    return Slice(
        rows,
        Position(last, forward=True) if last and goes_on else None,
        Position(first, forward=False) if first and goes_back else None,
    )


def as_dict(row: Any) -> dict[str, Any]:
    """The columns of a fetched row by name, without the sort keys."""
    return {name: value for name, value in row._mapping.items() if not name.startswith("_key_")}
