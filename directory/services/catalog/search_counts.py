"""Which searches have more than `search.MOST` matches, without counting those again that were counted before.

Counting takes most of the time of a search for a common word, and a hundred times as long if filters narrow the list.
So a count that exceeds the maximum is stored in the process, with the number of removals that the database had counted
by then. A removal is a live project that is deleted, leaves the live ones, or changes in something that searches and
filters look at: it takes one match at most from any search. New projects and votes take none. So a search has at least
as many matches as were counted, less the removals since.
"""

from collections import OrderedDict
from contextlib import nullcontext
from functools import lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import BigInteger, Engine, Select, cast, column, func, select, table, text

from directory.db.statements import Prepared
from directory.db.transactions import by_bitmap, by_index, in_transaction
from directory.extensions import db
from directory.models import Category, Status
from directory.services.catalog import search, search_language, shapes
from directory.services.catalog.search_words import MAX_WORDS

SPARE = 1_000  # matches are counted beyond the maximum: a count holds for so many removals
STORED = 1_000  # counts of a process; the least recently used ones go first
FILTERS = ("status", "category", *shapes.TAGS, "owner", "owner_id", "published")  # whose changes are removals

Key = tuple[Any, ...]


class _Stored(NamedTuple):
    matches: int
    removals: int


_counts: WeakKeyDictionary[Engine, OrderedDict[Key, _Stored]] = WeakKeyDictionary()
_lock = Lock()


class Matches:
    """The matches of a search: `number` is counted, or None if an earlier count shows more than `search.MOST`.

    `is_exact` says whether the list with all of its filters was counted, otherwise at least as many as it has.
    """

    def __init__(self, names: tuple[str, ...], status: str | None, values: dict[str, Any], dialect: str) -> None:
        matching = values[search_language.name(search_language.TIERS[-1])]
        self._key: Key | None = (matching, *map(values.get, FILTERS))
        self._removals = 0
        live, filters = status == Status.LIVE, {*names} - {"status"}
        tagged = tuple(name for name in shapes.TAGS if name in filters)
        if not live or not filters <= {"q", *FILTERS} or in_transaction():
            self._key = None  # a transaction may see what is not committed, or is no longer
        self.number: int | None = None
        self.is_exact = status in {None, Status.LIVE} and filters <= {"q", *shapes.TAGS}
        self.is_tested = search_language.RAREST in values
        if self._key is None or not self._are_still_many(self._key):
            self.number, self._removals = self._count(dialect, live, tagged, values)
            if self.is_exact:
                self.store(self.number)

    def _count(self, dialect: str, live: bool, tagged: tuple[str, ...], values: dict[str, Any]) -> tuple[int, int]:
        """The numbers of matches and of removals."""
        if not tagged and (conditions := sum(search_language.KNOWN.format(n) in values for n in range(MAX_WORDS))):
            with by_bitmap():
                [[number, removals]] = _known(live, conditions).all(values)
            if number > search.MOST:
                return int(number), int(removals)
        units = sum(search_language.ALONE.format(n) in values for n in range(MAX_WORDS))
        if units and _has_each(units).first(values) is None:
            return 0, 0
        statement = _matches(dialect, live, self.is_tested, tagged)
        with by_index() if self.is_tested or tagged else nullcontext():
            [[number, removals]] = statement.all(values)
        return int(number), int(removals)

    def store(self, number: int) -> None:
        """Store the number of matches, counted after this object was made, if they are more than `search.MOST`."""
        if self._key is None or number <= search.MOST:
            return
        with _lock:
            counts = _counts.setdefault(db.engine, OrderedDict())
            counts[self._key] = _Stored(number, self._removals)
            counts.move_to_end(self._key)
            if len(counts) > STORED:
                counts.popitem(last=False)

    @staticmethod
    def _are_still_many(key: Key) -> bool:
        with _lock:
            counts = _counts.get(db.engine, OrderedDict())
            stored = counts.get(key)
            if stored is None:
                return False
            counts.move_to_end(key)
        removals = int(_removals().all({})[0][0])
        # Fewer removals than then are of an older state, of a backup: nothing is known of that.
        return stored.removals <= removals < stored.removals + stored.matches - search.MOST


def add_removals(number: int) -> None:
    """Count as many removals, for changes that are not those of a project: repairs of its copies."""
    db.session.execute(text("INSERT INTO project_search_removals VALUES (:number)"), {"number": number})


def _removed() -> Select[tuple[int]]:
    removals = table("project_search_removals", column("projects", BigInteger)).c.projects
    return select(cast(func.coalesce(func.sum(removals), 0), BigInteger))


@lru_cache
def _matches(dialect: str, live: bool, tested: bool, tagged: tuple[str, ...]) -> Prepared:
    """The number of projects that match a query, or of `live` ones, no more than `cap`; and the number of removals."""
    number = search.number(
        dialect,
        shapes.CAP,
        live=live,
        tested=tested,
        tagged=partial(shapes.has_tags, tagged) if tagged else None,
    )
    return Prepared(number.add_columns(_removed().scalar_subquery()), replan=True)


@lru_cache
def _has_each(units: int) -> Prepared:
    """A row if each of so many units of a query is in some project."""
    return Prepared(search.has_each(units))


@lru_cache
def _known(live: bool, conditions: int) -> Prepared:
    """The number of matches by words that are known, no more than `cap`; and the number of removals."""
    number = search.known(conditions, shapes.CAP, live=live)
    return Prepared(number.add_columns(_removed().scalar_subquery()), replan=True)


def state() -> tuple[int, int]:
    """The numbers of removals and of live projects, as one statement reads them."""
    [[removals, live]] = _state().all({})
    return int(removals), int(live)


@lru_cache
def _state() -> Prepared:
    live = select(func.coalesce(func.sum(Category.live_projects), 0)).scalar_subquery()
    return Prepared(_removed().add_columns(live))


@lru_cache
def _removals() -> Prepared:
    return Prepared(_removed())
