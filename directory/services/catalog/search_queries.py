"""The statements of a search that do not list: how many match, and the best matches of words that very many have."""

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Select,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    table,
    tuple_,
    union,
)

from directory.db.statements import Prepared
from directory.models import Project, Status, VoteRanking
from directory.services.catalog import narrowing, queries, search
from directory.services.catalog.columns import among, shown
from directory.services.catalog.paging import AnySelect
from directory.services.catalog.search_language import Tier

P, vote_rankings = Project.__table__.c, VoteRanking.__table__
S = vote_rankings.c
_HERE: Any = tuple_(bindparam("here_upvotes", type_=BigInteger), bindparam("here_id", type_=BigInteger))


_REMOVED = table("project_search_removals", column("projects", BigInteger))


def _removals() -> Select[tuple[int]]:
    return select(cast(func.coalesce(func.sum(_REMOVED.c.projects), 0), BigInteger))


@lru_cache
def matches(dialect: str, live: bool) -> Prepared:
    """How many projects match a query, whatever else they are, or how many `live` ones, no more than `cap`; and how
    many removals there were.
    """
    number = search.number(dialect, queries.CAP, live=live)
    return Prepared(number.add_columns(_removals().scalar_subquery()), replan=True)


@lru_cache
def removals() -> Prepared:
    """How many removals there were."""
    return Prepared(_removals())


def _live(names: tuple[str, ...], dialect: str) -> AnySelect:
    """The live projects of a list that is narrowed by the filters `names`."""
    return queries.standing(queries.ListShape(narrowing.by_project(names), Status.LIVE, dialect))


@lru_cache
def most_voted(names: tuple[str, ...], looked_at: int, after: bool, dialect: str) -> Prepared:
    """The live projects of a list with the most votes, or those that follow a position, with their votes and rank.

    The list is narrowed by the filters `names`.
    """
    live = _live(names, dialect).add_columns(S.upvotes)
    if after:
        live = live.where(tuple_(S.upvotes, S.project_id) < _HERE)
    first = live.order_by(S.upvotes.desc(), S.project_id.desc()).limit(literal_column(str(looked_at))).subquery("first")
    rank = search.rank_of(first.c.id, dialect).label("rank")
    return Prepared(select(first.c.id, first.c.upvotes, rank))


@lru_cache
def leading(names: tuple[str, ...], tiers: tuple[Tier, ...], most: int, dialect: str) -> Prepared:
    """The ids of projects that have the words where one of `tiers` says, `most` of each; votes and rank of those
    that match and are live in a list that is narrowed by the filters `names`, nulls for others.
    """
    some = union(*(select(search.leading(tier, dialect, most).subquery()) for tier in tiers)).subquery("some")
    # Subqueries for one value, as in `search.found`: as tables all vote rankings might be read for these few.
    listed = _live(names, dialect).with_only_columns(S.upvotes)
    votes = listed.where(S.project_id == some.c.id).correlate(some).scalar_subquery()
    rank = search.rank_of(some.c.id, dialect)
    return Prepared(select(some.c.id, votes.label("upvotes"), rank.label("rank")), replan=True)


@lru_cache
def above(names: tuple[str, ...], dialect: str) -> Prepared:
    """How many live projects of a list have more votes than those of a position, no more than `most`."""
    listed = _live(names, dialect)
    counted = listed.where(tuple_(S.upvotes, S.project_id) > _HERE).limit(bindparam("most", type_=BigInteger))
    return Prepared(select(func.count()).select_from(counted.subquery("higher")))


@lru_cache
def these(signed_in: bool, dialect: str) -> Prepared:
    """The projects of a list of ids, whatever their state, which as a condition might be looked up before the ids."""
    return Prepared(shown(signed_in).where(among(P.id, dialect)))
