"""The statements that read projects, each built once for its shape and run with parameters ever after.

Building an expression costs several times what running it does; so what differs from request to request is a bound
value, and what a statement is made of (which filters, which order, who asks) is its key in a cache.
"""

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    or_,
    select,
)

from directory.db.batched_query import BatchedQuery
from directory.db.statements import Prepared
from directory.models import Category, Project, ProjectTag, Revision, Standing, Status, Upvote, User
from directory.services.catalog import search
from directory.services.catalog.columns import queue_position, shown, viewed, waiting, with_revision
from directory.services.catalog.narrowing import BY_VOTER, by_project, conditions, without_query
from directory.services.catalog.paging import AnySelect, Sort, carried, directed, windowed

projects, categories, users = Project.__table__, Category.__table__, User.__table__
tags, standings, upvotes = ProjectTag.__table__, Standing.__table__, Upvote.__table__
P, S, R = projects.c, standings.c, Revision.__table__.c

SORTS = {
    "newest": Sort("newest", (P.listed_at, P.id), descending=True),
    "upvotes": Sort("upvotes", (P.upvotes, P.id), descending=True),
    "popular": Sort("popular", (P.hot, P.id), descending=True),
    "oldest": Sort("oldest", (P.submitted_at, P.id), descending=False),
}
BEST = Sort("best", (column("rank", Integer), P.upvotes, P.id), descending=True)  # of what search.ranked gives
# The same two by the table whose indexes are in these orders, for projects of one state.
STANDINGS = {
    "upvotes": Sort("upvotes", (S.upvotes, S.project_id), descending=True),
    "popular": Sort("popular", (S.hot, S.project_id), descending=True),
}
BEYOND: Any = bindparam("beyond", type_=BigInteger)  # how many matches of a query are counted at most
FEW, MANY, CAPPED = "few", "many", "capped"  # matches of a query; the last one where the list itself surely has many
WITHOUT_VOTES = SORTS.keys() - STANDINGS.keys()  # the orders that no vote changes
COUNTERS = {
    Status.LIVE: categories.c.live_projects,
    Status.PENDING: categories.c.pending_projects,
    Status.REJECTED: categories.c.rejected_projects,
}


def order(sort: str) -> Sort:
    """The order of that name; "best" is the best match first, and has to have a query."""
    return BEST if sort == "best" else SORTS[sort]


@lru_cache(maxsize=300)  # each takes 50 KB; usual are a few dozen, but limits and filters make thousands
def page(
    filters: tuple[str, ...],
    status: str | None,
    sort: str,
    start: str,
    limit: int,
    signed_in: bool,
    dialect: str,
    matches: str = "",
) -> Prepared:
    """A window of a list narrowed by the named filters, with the list's total beside each row, null where unknown.

    Its ids are found first, by an index alone where there is one, and what is shown is looked up for them and not for
    those that a page skips. Where counters tell the total, one statement gives both for less than two do. `matches`
    says how many a query has: FEW, MANY or CAPPED.
    """
    among, by, total = _listed(filters, status, sort, dialect, matches)
    one_plan = dialect == "postgresql" and _counted(filters)
    found = windowed(among, by, start, limit, one_plan=one_plan).subquery("found")
    keys = carried(found, by)
    query = shown(signed_in).join(found, found.c.id == P.id).add_columns(total.label("total"), *keys)
    return Prepared(query.order_by(*directed(keys, by, start)), replan=not _counted(filters))


def _listed(
    filters: tuple[str, ...], status: str | None, sort: str, dialect: str, matches: str
) -> tuple[AnySelect, Sort, ColumnElement[Any]]:
    """The ids that a list is of, its order by the columns at hand, and its total."""
    is_gathered = matches == FEW or "voter_id" in filters
    if matches in {FEW, CAPPED}:
        filters = by_project(filters)
    if is_gathered:
        listed = _gathered(filters, status, dialect, matches)
    elif sort == "best":
        listed = _most_voted(filters, status, dialect)
    else:
        among, by = _walked(filters, status, sort, dialect)
        return among, by, BEYOND if matches == CAPPED else _told(filters, status, dialect)
    total = select(func.count()).select_from(listed).correlate(None).scalar_subquery()
    if sort == "best":
        ranks = search.ranked(listed, dialect).subquery("ranks") if is_gathered else _first(listed)
        return select(ranks.c.id), _order_of(BEST, ranks), total
    return select(listed.c.id), _order_of(SORTS[sort], listed), total


def _walked(filters: tuple[str, ...], status: str | None, sort: str, dialect: str) -> tuple[AnySelect, Sort]:
    """The ids by an index that is in the list's order, where there is one."""
    if "waiting" in filters:
        queue = waiting(dialect)
        among = select(queue.c.id).where(*conditions(filters, status, dialect, queue.c).values())
        return among, _order_of(SORTS[sort], queue)
    if status and sort in STANDINGS:
        return standing(filters, status, dialect), STANDINGS[sort]
    return select(P.id).where(*conditions(filters, status, dialect).values()), SORTS[sort]


def standing(filters: tuple[str, ...], status: str, dialect: str) -> AnySelect:
    """The ids out of the standings, and out of the projects where those do not tell."""
    query: AnySelect = select(S.project_id.label("id")).where(*conditions(filters, status, dialect, S).values())
    return query if _stands(filters) else query.join(projects, P.id == S.project_id)


def _gathered(filters: tuple[str, ...], status: str | None, dialect: str, matches: str) -> CTE:
    """The FEW matches of a query, else what a voter has voted for, with what the orders go by."""
    few = matches == FEW
    ids = search.matching(dialect) if few else select(upvotes.c.project_id.label("id")).where(BY_VOTER)
    # Materialised, else PostgreSQL may look for the words in each project of the list, and SQLite search for each.
    begun = ids.cte("matches").prefix_with("MATERIALIZED")
    listed: Any = waiting(dialect).c if "waiting" in filters else P
    narrowed = conditions(tuple(n for n in filters if n != ("q" if few else "voter_id")), status, dialect, listed)
    columns = (listed.id, listed.upvotes, listed.hot, listed.listed_at, listed.submitted_at)
    query = select(*columns).join(begun, begun.c.id == listed.id)
    return query.where(*narrowed.values()).cte("gathered").prefix_with("MATERIALIZED")


def _most_voted(filters: tuple[str, ...], status: str | None, dialect: str) -> CTE:
    """Of a query that many match, those with the most votes: `beyond` of them, more than best match looks at."""
    among, by = _walked(without_query(filters), status, "upvotes", dialect)
    votes, project_id = by.keys
    query = search.with_rank(among.add_columns(votes.label("upvotes")), project_id, dialect)
    query = query.order_by(votes.desc(), project_id.desc()).limit(BEYOND)
    return query.cte("most_voted").prefix_with("MATERIALIZED")


def _first(most_voted: CTE) -> FromClause:
    columns = most_voted.c
    query = select(columns.id, columns.upvotes, columns.rank).order_by(columns.upvotes.desc(), columns.id.desc())
    return query.limit(bindparam("most", type_=BigInteger)).subquery("first")


def _order_of(sort: Sort, listed: FromClause) -> Sort:
    """The order by the columns of a table that has them under their names."""
    return Sort(sort.name, tuple(listed.c[key.name] for key in sort.keys), sort.descending)


def _told(filters: tuple[str, ...], status: str | None, dialect: str) -> ColumnElement[Any]:
    """The total that the page's own statement tells, null where it takes another one."""
    if _counted(filters):
        return _counters(filters, status).correlate(None).scalar_subquery()
    return _at_most_beyond(filters, status, dialect).scalar_subquery() if "q" in filters else literal(None)


@lru_cache(maxsize=100)
def count(filters: tuple[str, ...], status: str | None, dialect: str, matches: str = "") -> Prepared:
    """How many projects a list holds: a sum of counters, a row for each category, where they tell it.

    Of a query's matches no more than `beyond` are counted.
    """
    if _counted(filters):
        return Prepared(_counters(filters, status))
    if matches == FEW or "voter_id" in filters:
        filters = by_project(filters) if matches == FEW else filters
        return Prepared(select(func.count()).select_from(_gathered(filters, status, dialect, matches)), replan=True)
    if "q" in filters:
        return Prepared(_at_most_beyond(filters, status, dialect), replan=True)
    among, _ = _walked(filters, status, "newest", dialect)
    return Prepared(select(func.count()).select_from(among.subquery("among")), replan=True)


def _at_most_beyond(filters: tuple[str, ...], status: str | None, dialect: str) -> AnySelect:
    within = _walked(filters, status, "upvotes", dialect)[0].limit(BEYOND).correlate(None).subquery("within")
    return select(func.count()).select_from(within)


def _stands(filters: tuple[str, ...]) -> bool:
    """Whether a list is narrowed to what the standings tell, or the tables of words and tags by the projects' ids."""
    return set(filters) <= {"status", "category", "tag_of_each", "q"}


def _counted(filters: tuple[str, ...]) -> bool:
    return set(filters) <= {"status", "category"} or set(filters) <= {"waiting", "category"}


def _counters(filters: tuple[str, ...], status: str | None) -> AnySelect:
    """The total by the counters of the categories; of what waits, with the revisions, of which there are few."""
    counters = list(COUNTERS.values()) if status is None else [COUNTERS[Status(status)]]
    if "waiting" in filters:
        counters = [COUNTERS[Status.PENDING]]
    total: ColumnElement[Any] = func.coalesce(func.sum(sum(counters[1:], start=counters[0])), 0)
    if "waiting" in filters:
        total += _changed(filters).scalar_subquery()
    query: AnySelect = select(total).select_from(categories)
    return query.where(categories.c.slug == bindparam("category")) if "category" in filters else query


def _changed(filters: tuple[str, ...]) -> AnySelect:
    """How many live projects have changes that wait."""
    query: AnySelect = select(func.count()).select_from(R.project_id.table).where(R.submitted_at.is_not(None))
    if "category" in filters:
        query = query.join(projects, P.id == R.project_id).where(*conditions(("category",), None, "").values())
    return query.correlate(None)


@lru_cache
def one(audience: str) -> Prepared:
    """One project for "anyone", a "member" (also their own) or an "admin" (any), or as it is "stored"."""
    query = shown(signed_in=audience in {"member", "admin"}).where(P.id == bindparam("project_id"))
    if audience == "anyone":
        return Prepared(query.where(P.status == literal("live")))
    if audience == "member":
        query = query.where(or_(P.status == literal("live"), P.owner_id == bindparam("viewer_id")))
    return Prepared(query if audience == "stored" else query.add_columns(queue_position().label("queue_position")))


@lru_cache
def live() -> BatchedQuery:
    """Live projects by their ids."""
    query = viewed(signed_in=False).where(P.status == literal_column("'live'"))
    return BatchedQuery({"project_id": BigInteger()}, lambda project_id: query.where(P.id == project_id))


@lru_cache
def several() -> AnySelect:
    """The projects of a list of ids, for an administrator."""
    query = with_revision().add_columns(queue_position().label("queue_position"))
    return query.where(P.id.in_(bindparam("project_ids", expanding=True)))


@lru_cache
def stored() -> AnySelect:
    """The projects of a list of ids, in the order of the ids, whoever may see them."""
    return viewed(signed_in=False).where(P.id.in_(bindparam("project_ids", expanding=True))).order_by(P.id)
