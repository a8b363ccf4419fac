"""The best matches of a query that very many projects match, without reading all of them.

Best match looks at the `search.MOST` matches with the most votes. A page shows few of them, and mostly these are known
sooner: the projects with the most votes are looked at until there are enough matches of one rank, and the matches of
better ranks are looked up in the indexes without descriptions. Where that does not decide, the answer is None. Then
`is_rare` says whether collecting all matches costs less than a scan of the list for `search.MOST`.
"""

from functools import cache, lru_cache
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, bindparam, func, literal_column, select, tuple_, union

from directory.db.paging import Window
from directory.db.statements import Prepared, Row
from directory.models import VoteRanking
from directory.services.catalog import queries, search, search_counts, shapes
from directory.services.catalog.search_language import TIERS, TYPED, Tier, name

S = VoteRanking.__table__.c

# The numbers of projects with the most votes, or after a cursor's position, that are read until these decide.
LOOKED_AT = (64, 500, 2_500)
BETTER = 4_000  # better matches than those, for each step of the rank
MARGIN = 3  # times as many matches as `search.MOST` are expected
SAMPLE = 500  # of the projects with the most votes: the share of them that match is taken for that of all
# What a scan of the list takes for each project that it reads, in matches that the index collects in this time.
LOOK = {"sqlite": 3.0, "postgresql": 0.3}

# The tiers that find all matches of a better rank, by rank. What matches as a whole may lack words of the query.
_EXACT, _WHOLE, _TITLE, _BRIEF, *_BEGINNINGS, _ = TIERS
_BETTER: tuple[tuple[Tier, ...], ...] = (
    (_EXACT, _WHOLE, _BEGINNINGS[1]),
    (_EXACT, _WHOLE, _BRIEF, _BEGINNINGS[0]),
    (_EXACT, _WHOLE, _BRIEF),
    (_EXACT, _WHOLE, _TITLE),
    (_EXACT, _WHOLE),
    (_EXACT,),
    (),
)


class Match(NamedTuple):
    """A match in the order of the best ones."""

    rank: int
    upvotes: int
    id: int


class Search:
    """A query: the names of its filters, their values with those of `search_language.expressions`, and the state."""

    def __init__(self, names: tuple[str, ...], values: dict[str, Any], dialect: str, status: str | None) -> None:
        filters = shapes.by_project(shapes.without_query(names))
        synonyms = name(TYPED) in values
        self.list = shapes.ListShape(filters, status, dialect, "upvotes", shapes.CAPPED, synonyms=synonyms)
        self.given = values
        # So that `is_rare` and a further look do not read again what was read.
        self.most_voted, self.better_than = cache(self._most_voted), cache(self._better_than)

    def _most_voted(self, looked_at: int, after: Match | None = None) -> list[Match]:
        """The matches among the projects with the most votes, or among those that follow a match."""
        here = {} if after is None else {"here_upvotes": after.upvotes, "here_id": after.id}
        statement = _most_voted(self.list, looked_at, after is not None)
        return _best(statement.all({**self.given, **here}))

    def _better_than(self, rank: int) -> list[Match] | None:
        """The matches of a better rank; None if there are too many, as all matches without synonyms may be."""
        if rank == search.BY_SYNONYMS:
            return None
        tiers = _BETTER[rank]
        rows = _leading(self.list, tiers, BETTER + 1).all(self.given) if tiers else []
        return None if len(rows) > BETTER else [match for match in _best(rows) if match.rank > rank]


FREQUENT = 0.2  # the share of matches from which SQLite tests the texts of the newest projects
# The filters for which the vote rankings have the most voted projects.
NARROWED_BY = {"status", "q", "category", *shapes.TAGS}


def page(asked: Search, window: Window) -> list[Match] | None:
    """The projects of a window and one more, best first, of a search with more than `search.MOST` matches.

    None if that needs all matches.
    """
    position = window.position
    if position is None:
        return _from_top(asked, window.skipped, window.limit + 1, None)
    if not position.forward:
        return None
    after = Match(*position.keys)
    size = window.limit + 1
    for looked_at in LOOKED_AT:
        following = _following(asked, after, size, looked_at)
        if following is not None:
            return following
    return _from_top(asked, 0, size, after)


def is_common(asked: Search) -> bool:
    """Whether more than `search.MOST` match, in all likelihood, by the share among the projects with the most votes."""
    share, live = _sampled(asked)
    return share * live > search.MOST * MARGIN


def is_frequent(asked: Search) -> bool:
    """Whether so many match that the newest ones are found sooner by a test of each project than in a list of all."""
    share, _ = _sampled(asked)
    return share > FREQUENT


def is_rare(asked: Search) -> bool:
    """Whether so few match that to collect all of them costs less than a scan of the list for `search.MOST`."""
    share, live = _sampled(asked)
    return share * share * live < search.MOST * LOOK[asked.list.dialect]


def _sampled(asked: Search) -> tuple[float, int]:
    """The share of the matches among the projects with the most votes, and the number of live projects."""
    share = len(asked.most_voted(SAMPLE)) / SAMPLE
    _, live = search_counts.state()
    return share, live


def _following(asked: Search, after: Match, size: int, looked_at: int) -> list[Match] | None:
    """The matches of the same rank as `after` that follow it; None if too few are among the projects looked at."""
    matches = [match for match in asked.most_voted(looked_at, after) if match.rank == after.rank][:size]
    return matches if len(matches) == size and _is_looked_at(asked, matches[-1]) else None


def _from_top(asked: Search, skipped: int, size: int, after: Match | None) -> list[Match] | None:
    """The best matches, or the best ones after a match; None if that needs all matches."""
    for looked_at in LOOKED_AT:
        best = _best_of_all(asked, skipped + size, after, looked_at)
        if best is not None:
            return best[skipped:]
    return None


def _best_of_all(asked: Search, wanted: int, after: Match | None, looked_at: int) -> list[Match] | None:
    # No more than best match looks at: all of these are among the matches with the most votes.
    matches = asked.most_voted(min(looked_at, search.MOST))
    seen = [match for match in matches if after is None or match < after][:wanted]
    is_last = looked_at == LOOKED_AT[-1]
    if not is_last and (len(seen) < wanted or _has_many_better(seen)):
        return None
    # What is not known has the rank of the last one or a worse one, and fewer votes than those seen.
    better = asked.better_than(seen[-1].rank if len(seen) == wanted else 0)
    if better is None:
        return None
    best = sorted({*seen, *(match for match in better if after is None or match < after)}, reverse=True)[:wanted]
    others = set(best) - set(seen)
    if len(best) < wanted or best[-1].rank == search.BY_SYNONYMS:
        return None
    if others and not _is_looked_at(asked, min(others, key=lambda match: match[1:])):
        return None
    return best


def _has_many_better(seen: list[Match]) -> bool:
    """Whether so many are better than the last one that there may be too many better ones to look up."""
    return sum(match.rank > seen[-1].rank for match in seen) > 2


def _is_looked_at(asked: Search, match: Match) -> bool:
    """Whether a match is certainly among the `search.MOST` matches with the most votes: fewer projects have more."""
    here = {**asked.given, "here_upvotes": match.upvotes, "here_id": match.id}  # `most` is given
    [[above]] = _above(asked.list).all(here)
    return bool(above < search.MOST)


def _best(rows: list[Row]) -> list[Match]:
    """Rows of id, votes and rank as matches, best first."""
    return sorted(
        (Match(rank, upvotes, number) for number, upvotes, rank in rows if None not in {upvotes, rank}), reverse=True
    )


_HERE: Any = tuple_(bindparam("here_upvotes", type_=BigInteger), bindparam("here_id", type_=BigInteger))


@lru_cache
def _most_voted(listed: shapes.ListShape, looked_at: int, after: bool) -> Prepared:
    """The projects of a list with the most votes, or those that follow a position, with their votes and rank."""
    ids, by = queries.by_index(listed)
    votes, project_id = by.keys
    ids = ids.add_columns(votes.label("upvotes"))
    if after:
        ids = ids.where(tuple_(votes, project_id) < _HERE)
    first = ids.order_by(votes.desc(), project_id.desc()).limit(literal_column(str(looked_at))).subquery("first")
    rank = search.rank_of(first.c.id, listed.dialect, synonyms=listed.synonyms).label("rank")
    return Prepared(select(first.c.id, first.c.upvotes, rank))


@lru_cache
def _leading(listed: shapes.ListShape, tiers: tuple[Tier, ...], most: int) -> Prepared:
    """The ids of projects that match by one of `tiers`, `most` of each, with their votes and rank.

    These are null unless the project matches the whole query and is in the list.
    """
    some = union(*(select(search.leading(tier, listed.dialect, most).subquery()) for tier in tiers)).subquery("some")
    # Subqueries for one value, as in `search.found`: as tables all vote rankings might be read for these few.
    votes = queries.standing(listed).with_only_columns(S.upvotes)
    votes_of_one = votes.where(S.project_id == some.c.id).correlate(some).scalar_subquery()
    rank = search.rank_of(some.c.id, listed.dialect, synonyms=listed.synonyms)
    return Prepared(select(some.c.id, votes_of_one.label("upvotes"), rank.label("rank")), replan=True)


@lru_cache
def _above(listed: shapes.ListShape) -> Prepared:
    """The number of projects of a list that have more votes than those of a position, no more than `most`."""
    ids, by = queries.by_index(listed)
    counted = ids.where(tuple_(*by.keys) > _HERE).limit(bindparam("most", type_=BigInteger))
    return Prepared(select(func.count()).select_from(counted.subquery("higher")))
