"""How many projects have a word, as PostgreSQL's statistics estimate it: a part of all projects, without a count.

The estimates decide in which way matches are found, never which are found. SQLite has none, and needs none: its index
finds the matches of several words one by one.
"""

import time
from bisect import bisect_left
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, text

from directory.db.statements import Prepared
from directory.extensions import db
from directory.services.catalog.search_language import Share

SECONDS = 600.0  # after which the statistics are read again
_STATISTICS = Prepared(
    text(
        "SELECT CAST(CAST(most_common_elems AS text) AS text[]), most_common_elem_freqs FROM pg_stats "
        "WHERE schemaname = current_schema() AND tablename = 'project_search' AND attname = 'document' "
        "AND most_common_elems IS NOT NULL"
    )
)


class _Frequencies(NamedTuple):
    words: list[str]  # in their order
    shares: list[float]
    of_others: float  # what a word that is not listed has at most
    read_at: float  # by time.monotonic()


_read: WeakKeyDictionary[Engine, _Frequencies] = WeakKeyDictionary()


def estimates() -> Share | None:
    """The function that estimates; None if the database has no statistics."""
    if db.engine.dialect.name != "postgresql":
        return None
    known = _read.get(db.engine)
    if known is None or time.monotonic() > known.read_at + SECONDS:
        known = _read[db.engine] = _statistics()
    words, shares, of_others, _ = known

    def share(word: str, as_beginning: bool) -> float:
        at = bisect_left(words, word)
        if not as_beginning:
            return shares[at] if words[at : at + 1] == [word] else of_others
        behind = bisect_left(words, word + "\U0010ffff")
        return min(1.0, sum(shares[at:behind]) or of_others)

    return share if words else None


def _statistics() -> _Frequencies:
    rows = _STATISTICS.all({})
    # Behind the frequencies of the words are the least and the greatest of them.
    pairs = sorted(zip(rows[0][0], rows[0][1], strict=False)) if rows else []
    words, shares = [word for word, _ in pairs], [share for _, share in pairs]
    return _Frequencies(words, shares, min(shares, default=1.0), time.monotonic())
