"""What a process has counted of lists of live projects, with the state of the database by then.

The state is the number of removals (`search_counts`), the number of live projects, and the stamp of own fields. A
change of what is counted adds a removal or, if a project becomes live, a live project. So a state never comes again
once it is past.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from directory.extensions import db
from directory.services.catalog import search_counts
from directory.services.catalog.filters import Filters

T = TypeVar("T")


class State(NamedTuple):
    """The state of the database: the numbers of removals and of live projects, and the stamp of own fields."""

    removals: int
    live: int
    stamp: int


def present(stamp: int) -> State:
    """The state as one statement reads it; `stamp` was read before."""
    return State(*search_counts.state(), stamp)


class StoredCounts(Generic[T]):
    """Counts by the filters of their lists, at most so many; the least recently used ones go first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._stored: WeakKeyDictionary[Engine, OrderedDict[Filters, tuple[State, T]]] = WeakKeyDictionary()
        self._lock = Lock()

    def of(self, filters: Filters, state: State, make: Callable[[], T]) -> T:
        """What is stored of a list since `state`, which is the present one, or what `make` counts.

        To be called outside of transactions that write.
        """
        with self._lock:
            stored = self._stored.setdefault(db.engine, OrderedDict())
            if filters in stored:
                stored.move_to_end(filters)
                known, made = stored[filters]
                if known == state:
                    return made
        made = make()
        with self._lock:
            stored[filters] = state, made
            stored.move_to_end(filters)
            if len(stored) > self.most:
                stored.popitem(last=False)
        return made
