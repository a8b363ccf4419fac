"""The best matches of a query that very many projects match, without a look at all of them.

Best match looks at the `search.MOST` matches with the most votes. A page shows few of them, and mostly these are known
sooner: the projects with the most votes are looked at until there are enough matches of one rank, and the matches of
better ranks are looked up in the indexes without descriptions. Where that does not decide, the answer is None. Then
`is_rare` says whether collecting all matches costs less than a scan of the list for `search.MOST`.
"""

from typing import Any, NamedTuple

from directory.db.statements import Prepared, Row
from directory.services.catalog import narrowing, search, search_queries
from directory.services.catalog.paging import Window
from directory.services.catalog.search_language import TIERS, Tier

# Projects with the most votes, or after a cursor's position: so many are looked at, and more where those do not decide.
LOOKED_AT = (64, 500, 2_500)
BETTER = 64  # better matches than those, for each step of the rank
# If fewer than RARE of the SAMPLE most voted projects match, a scan for `search.MOST` matches reads more than 200,000
# projects. If more match, collecting them costs more.
SAMPLE, RARE = 500, 25

# The tiers that find all matches of a better rank, by rank: a title that equals the whole query may have none of its
# words.
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


class Search(NamedTuple):
    """A query for live projects: the names of its filters and their values, with those of `search.expressions`."""

    names: tuple[str, ...]
    given: dict[str, Any]
    dialect: str


NARROWED_BY = {"status", "q", "category", "tag"}  # lists whose most voted projects the standings show


def page(asked: Search, window: Window) -> list[Match] | None:
    """The projects of a window and one more, best first, of a search with more than `search.MOST` matches.

    None where it takes a look at all.
    """
    position = window.position
    if position is None:
        return _from_top(asked, window.skipped, window.limit + 1, None)
    if not position.forward:
        return None
    after = Match(*position.keys)
    size = window.limit + 1
    for looked_at in LOOKED_AT:
        found = _following(asked, after, size, looked_at)
        if found is not None:
            return found
    return _from_top(asked, 0, size, after)


def is_rare(asked: Search) -> bool:
    """Whether few of the projects with the most votes match."""
    return len(_best(_most_voted(asked, SAMPLE, after=False).all(asked.given))) < RARE


def _following(asked: Search, after: Match, size: int, looked_at: int) -> list[Match] | None:
    """Those of the same rank as the one before them."""
    here = {"here_upvotes": after.upvotes, "here_id": after.id}
    rows = _most_voted(asked, looked_at, after=True).all({**asked.given, **here})
    found = [match for match in _best(rows) if match.rank == after.rank][:size]
    return found if len(found) == size and _is_looked_at(asked, found[-1]) else None


def _from_top(asked: Search, skipped: int, size: int, after: Match | None) -> list[Match] | None:
    """Those that are best of all, or best of all after one."""
    for looked_at in LOOKED_AT:
        found = _best_of_all(asked, skipped + size, after, looked_at)
        if found is not None:
            return found[skipped:]
    return None


def _best_of_all(asked: Search, wanted: int, after: Match | None, looked_at: int) -> list[Match] | None:
    # No more than best match looks at: all of these are among the matches with the most votes.
    rows = _most_voted(asked, min(looked_at, search.MOST), after=False).all(asked.given)
    seen = [match for match in _best(rows) if after is None or match < after][:wanted]
    if len(seen) < wanted or (looked_at < LOOKED_AT[-1] and _has_many_better(seen)):
        return None
    better = _better_than(seen[-1].rank, asked)
    if better is None:
        return None
    others = set(better) - set(seen)
    if others and not _is_looked_at(asked, min(others, key=lambda match: match[1:])):
        return None
    return sorted({*seen, *(match for match in better if after is None or match < after)}, reverse=True)[:wanted]


def _has_many_better(seen: list[Match]) -> bool:
    """Whether so many are better than the last one that all better ones may be too many to be looked up."""
    return sum(match.rank > seen[-1].rank for match in seen) > 2


def _better_than(rank: int, asked: Search) -> list[Match] | None:
    """The matches of a better rank, None where there are too many."""
    tiers = _BETTER[rank]
    names = narrowing.without_query(asked.names)
    rows = search_queries.leading(names, tiers, BETTER + 1, asked.dialect).all(asked.given) if tiers else []
    return None if len(rows) > BETTER else [match for match in _best(rows) if match.rank > rank]


def _is_looked_at(asked: Search, match: Match) -> bool:
    """Whether it surely is among the matches with the most votes, being among as many projects with the most votes."""
    here = {**asked.given, "here_upvotes": match.upvotes, "here_id": match.id}  # `most` is given
    [[above]] = search_queries.above(narrowing.without_query(asked.names), asked.dialect).all(here)
    return bool(above < search.MOST)


def _most_voted(asked: Search, looked_at: int, *, after: bool) -> Prepared:
    return search_queries.most_voted(narrowing.without_query(asked.names), looked_at, after, asked.dialect)


def _best(rows: list[Row]) -> list[Match]:
    """Rows of id, votes and rank as matches, best first."""
    return sorted(
        (Match(rank, upvotes, number) for number, upvotes, rank in rows if None not in {upvotes, rank}), reverse=True
    )
