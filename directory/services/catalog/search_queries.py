"""The statements of a search that do not list: how many match, and the best matches of words that very many have."""

from functools import lru_cache
from typing import Any

from sqlalchemy import ARRAY, JSON, BigInteger, any_, bindparam, func, literal_column, select, tuple_, union

from directory.db.statements import Prepared
from directory.models import Project, Standing
from directory.services.catalog import search
from directory.services.catalog.columns import viewed
from directory.services.catalog.paging import AnySelect
from directory.services.catalog.search_language import Tier

P, standings = Project.__table__.c, Standing.__table__
S = standings.c
_HERE: Any = tuple_(bindparam("here_upvotes", type_=BigInteger), bindparam("here_id", type_=BigInteger))


@lru_cache
def matches(dialect: str, live: bool) -> Prepared:
    """How many projects match a query, whatever else they are, or how many `live` ones; no more than `beyond`."""
    return Prepared(select(search.number(dialect, bindparam("beyond", type_=BigInteger), live=live)), replan=True)


@lru_cache
def most_voted(looked_at: int, after: bool, dialect: str) -> Prepared:
    """The live projects with the most votes, or those that follow a position, with their votes and rank."""
    live: AnySelect = select(S.project_id.label("id"), S.upvotes).where(S.status == literal_column("'live'"))
    if after:
        live = live.where(tuple_(S.upvotes, S.project_id) < _HERE)
    first = live.order_by(S.upvotes.desc(), S.project_id.desc()).limit(literal_column(str(looked_at))).subquery("first")
    return Prepared(select(first.c.id, first.c.upvotes, search.rank_of(first.c.id, dialect).label("rank")))


@lru_cache
def leading(tiers: tuple[Tier, ...], most: int, dialect: str) -> Prepared:
    """The ids of projects that have the words where one of `tiers` says, `most` of each; votes and rank of those
    that match and are live, nulls for others.
    """
    some = union(*(select(search.leading(tier, dialect, most).subquery()) for tier in tiers)).subquery("some")
    # Subqueries for one value, as in `search.found`: as tables all standings might be read for these few.
    votes = select(S.upvotes).where(S.project_id == some.c.id, S.status == literal_column("'live'")).scalar_subquery()
    rank = search.rank_of(some.c.id, dialect)
    return Prepared(select(some.c.id, votes.label("upvotes"), rank.label("rank")), replan=True)


@lru_cache
def above() -> Prepared:
    """How many live projects have more votes than those of a position, no more than `most`."""
    higher = select(S.project_id).where(S.status == literal_column("'live'"), tuple_(S.upvotes, S.project_id) > _HERE)
    counted = higher.limit(bindparam("most", type_=BigInteger)).subquery("higher")
    return Prepared(select(func.count()).select_from(counted))


@lru_cache
def these(signed_in: bool, dialect: str) -> Prepared:
    """The projects of a list of ids, whatever their state, which as a condition might be looked up before the ids."""
    ids: Any = any_(bindparam("ids", type_=ARRAY(BigInteger)))
    if dialect == "postgresql":
        return Prepared(viewed(signed_in).where(P.id == ids))
    ids = func.json_each(bindparam("ids", type_=JSON)).table_valued("value").select()
    return Prepared(viewed(signed_in).where(P.id.in_(ids)))
