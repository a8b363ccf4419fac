"""How many projects have a word, as PostgreSQL's statistics estimate it: a part of all projects, without a count.

The estimates decide in which way matches are found, never which are found. SQLite has none, and needs none: its index
finds the matches of several words one by one.
"""

import time
from bisect import bisect_left
from heapq import nlargest
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, text

from directory.db.statements import Prepared
from directory.extensions import db
from directory.services.catalog.search_language import Begun, Share

MOST_BEGUN = 8  # words with a beginning: of more the query would be long
SECONDS = 600.0  # after which the statistics are read again
_STATISTICS = Prepared(
    text(
        "SELECT CAST(CAST(most_common_elems AS text) AS text[]), most_common_elem_freqs, "
        "(SELECT reltuples FROM pg_class WHERE oid = to_regclass('project_search')) FROM pg_stats "
        "WHERE schemaname = current_schema() AND tablename = 'project_search' AND attname = 'document' "
        "AND most_common_elems IS NOT NULL"
    )
)


class _Frequencies(NamedTuple):
    words: list[str]  # in their order
    shares: list[float]
    of_others: float  # what a word that is not listed has at most
    projects: float
    read_at: float  # by time.monotonic()


_read: WeakKeyDictionary[Engine, _Frequencies] = WeakKeyDictionary()


def estimates() -> Share | None:
    """The function that estimates; None if the database has no statistics."""
    if db.engine.dialect.name != "postgresql":
        return None
    words, shares, of_others, *_ = _known()

    def share(word: str, as_beginning: bool) -> float:
        at = bisect_left(words, word)
        if not as_beginning:
            return shares[at] if words[at : at + 1] == [word] else of_others
        behind = bisect_left(words, word + "\U0010ffff")
        return min(1.0, sum(shares[at:behind]) or of_others)

    return share if words else None


def known() -> Begun:
    """The function that returns the most common words with a beginning, for PostgreSQL."""
    words, shares, *_ = _known()

    def begun(beginning: str) -> list[str]:
        places = range(bisect_left(words, beginning), bisect_left(words, beginning + "\U0010ffff"))
        return [words[at] for at in nlargest(MOST_BEGUN, places, key=shares.__getitem__)]

    return begun


def projects() -> float:
    """The number of all projects, for PostgreSQL; 0 if the database has no statistics."""
    return _known().projects


def _known() -> _Frequencies:
    read = _read.get(db.engine)
    if read is None or time.monotonic() > read.read_at + SECONDS:
        read = _read[db.engine] = _statistics()
    return read


def _statistics() -> _Frequencies:
    rows = _STATISTICS.all({})
    # Behind the frequencies of the words are the least and the greatest of them.
    pairs = sorted(zip(rows[0][0], rows[0][1], strict=False)) if rows else []
    words, shares = [word for word, _ in pairs], [share for _, share in pairs]
    return _Frequencies(words, shares, min(shares, default=1.0), rows[0][2] if rows else 0.0, time.monotonic())
