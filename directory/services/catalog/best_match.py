"""The best matches of a query that very many projects match, without a look at all of them.

Best match looks at the `search.MOST` matches with the most votes. A page shows few of them, and mostly these are known
sooner: the projects with the most votes are looked at until there are enough matches of one rank, and the matches of
better ranks are looked up in the indexes without descriptions. Where that does not tell, the answer is None.
"""

from typing import Any, NamedTuple

from directory.db.statements import Row
from directory.services.catalog import search, search_queries
from directory.services.catalog.paging import Window
from directory.services.catalog.search_language import TIERS, Tier

LOOKED_AT = (100, 500)  # projects with the most votes, or after a cursor's position: so many, and if need be so many
BETTER = 64  # better matches than those, for each step of the rank

# What finds all that have a better rank, by rank: a title that equals the query as a whole may have none of its words.
_WHOLE, _TITLE, _BRIEF, *_BEGINNINGS, _ = TIERS
_BETTER: tuple[tuple[Tier, ...], ...] = (
    (_WHOLE, _BEGINNINGS[1]),
    (_WHOLE, _BRIEF, _BEGINNINGS[0]),
    (_WHOLE, _BRIEF),
    (_WHOLE, _TITLE),
    (_WHOLE,),
    (),
)


class Match(NamedTuple):
    """A match in the order of the best ones."""

    rank: int
    upvotes: int
    id: int


def page(given: dict[str, Any], window: Window, dialect: str) -> list[Match] | None:
    """The live projects of a window and one more, best first, of a query that more than `search.MOST` of them match.

    `given` are the values of `search.expressions`. None where it takes a look at all.
    """
    position = window.position
    if position is None:
        return _from_top(given, window.skipped, window.limit + 1, None, dialect)
    if not position.forward:
        return None
    after = Match(*position.keys)
    size = window.limit + 1
    for looked_at in LOOKED_AT:
        found = _following(given, after, size, looked_at, dialect)
        if found is not None:
            return found
    return _from_top(given, 0, size, after, dialect)


def _following(given: dict[str, Any], after: Match, size: int, looked_at: int, dialect: str) -> list[Match] | None:
    """Those of the same rank as the one before them."""
    statement = search_queries.most_voted(looked_at, True, dialect)
    rows = statement.all({**given, "here_upvotes": after.upvotes, "here_id": after.id})
    found = [match for match in _best(rows) if match.rank == after.rank][:size]
    return found if len(found) == size and _is_looked_at(found[-1]) else None


def _from_top(given: dict[str, Any], skipped: int, size: int, after: Match | None, dialect: str) -> list[Match] | None:
    """Those that are best of all, or best of all after one."""
    for looked_at in LOOKED_AT:
        found = _best_of_all(given, skipped + size, after, looked_at, dialect)
        if found is not None:
            return found[skipped:]
    return None


def _best_of_all(
    given: dict[str, Any], wanted: int, after: Match | None, looked_at: int, dialect: str
) -> list[Match] | None:
    # No more than best match looks at: all of these are among the matches with the most votes.
    rows = search_queries.most_voted(min(looked_at, search.MOST), False, dialect).all(given)
    seen = [match for match in _best(rows) if after is None or match < after][:wanted]
    if len(seen) < wanted or (looked_at < LOOKED_AT[-1] and _has_many_better(seen)):
        return None
    better = _better_than(seen[-1].rank, given, dialect)
    if better is None:
        return None
    others = set(better) - set(seen)
    if others and not _is_looked_at(min(others, key=lambda match: match[1:])):
        return None
    return sorted({*seen, *(match for match in better if after is None or match < after)}, reverse=True)[:wanted]


def _has_many_better(seen: list[Match]) -> bool:
    """Whether so many are better than the last one that all better ones may be too many to be looked up."""
    return sum(match.rank > seen[-1].rank for match in seen) > 2


def _better_than(rank: int, given: dict[str, Any], dialect: str) -> list[Match] | None:
    """The matches of a better rank, None where there are too many."""
    tiers = _BETTER[rank]
    rows = search_queries.leading(tiers, BETTER + 1, dialect).all(given) if tiers else []
    return None if len(rows) > BETTER else [match for match in _best(rows) if match.rank > rank]


def _is_looked_at(match: Match) -> bool:
    """Whether it surely is among the matches with the most votes, being among as many projects with the most votes."""
    here = {"here_upvotes": match.upvotes, "here_id": match.id, "most": search.MOST}
    rows = search_queries.above().all(here)
    return bool(rows[0][0] < search.MOST)


def _best(rows: list[Row]) -> list[Match]:
    """Rows of id, votes and rank as matches, best first."""
    return sorted(
        (Match(rank, upvotes, number) for number, upvotes, rank in rows if None not in {upvotes, rank}), reverse=True
    )
