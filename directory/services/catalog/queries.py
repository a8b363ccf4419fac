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

from directory.db.lookup import LookUp
from directory.db.statements import Prepared
from directory.models import Category, Project, ProjectTag, Standing, Status, User
from directory.services.catalog import search
from directory.services.catalog.columns import queue_position, viewed
from directory.services.catalog.paging import AnySelect, Sort, carried, directed, windowed

projects, categories, users = Project.__table__, Category.__table__, User.__table__
tags, standings = ProjectTag.__table__, Standing.__table__
P, S = projects.c, standings.c

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
    few: bool = False,
) -> Prepared:
    """A window of a list narrowed by the named filters, with the list's total beside each row, null where unknown.

    Its ids are found first, by an index alone where there is one, and what is shown is looked up for them and not for
    those that a page skips. Where counters tell the total, one statement gives both for less than two do. `few` says
    that a query has at most `most` matches; they are gathered then, and the list is made of them.
    """
    among, by, total = _listed(filters, status, sort, dialect, few=few)
    one_plan = dialect == "postgresql" and _counted(filters)
    found = windowed(among, by, start, limit, one_plan=one_plan).subquery("found")
    keys = carried(found, by)
    query = viewed(signed_in).join(found, found.c.id == P.id).add_columns(total.label("total"), *keys)
    return Prepared(query.order_by(*directed(keys, by, start)), replan=not _counted(filters))


def _listed(
    filters: tuple[str, ...], status: str | None, sort: str, dialect: str, *, few: bool
) -> tuple[AnySelect, Sort, ColumnElement[Any]]:
    """The ids that a list is of, its order by the columns at hand, and its total."""
    if few:
        listed = _gathered(filters, status, dialect)
    elif sort == "best":
        listed = _most_voted(filters, status, dialect)
    else:
        among, by = _walked(filters, status, sort, dialect)
        return among, by, _told(filters, status, dialect)
    total = select(func.count()).select_from(listed).correlate(None).scalar_subquery()
    if sort == "best":
        best = listed if few else _first(listed)
        ranks = search.ranked(best, dialect).subquery("ranks")
        return select(ranks.c.id), _order_of(BEST, ranks), total
    return select(listed.c.id), _order_of(SORTS[sort], listed), total


def _walked(filters: tuple[str, ...], status: str | None, sort: str, dialect: str) -> tuple[AnySelect, Sort]:
    """The ids by an index that is in the list's order, where there is one."""
    if status and sort in STANDINGS:
        query: AnySelect = select(S.project_id.label("id")).where(*conditions(filters, status, dialect, S).values())
        if not _stands(filters):
            query = query.join(projects, P.id == S.project_id)
        return query, STANDINGS[sort]
    return select(P.id).where(*conditions(filters, status, dialect).values()), SORTS[sort]


def _gathered(filters: tuple[str, ...], status: str | None, dialect: str) -> CTE:
    """The matches of a query that has few, from the index of words, with what the orders go by."""
    # Materialised, else PostgreSQL may look for the words in each project of the list, and SQLite search for each.
    matches = search.matching(dialect).cte("matches").prefix_with("MATERIALIZED")
    narrowed = conditions(tuple(name for name in filters if name != "q"), status, dialect)
    query = select(P.id, P.upvotes, P.hot, P.listed_at, P.submitted_at).join(matches, matches.c.id == P.id)
    return query.where(*narrowed.values()).cte("gathered").prefix_with("MATERIALIZED")


def _most_voted(filters: tuple[str, ...], status: str | None, dialect: str) -> CTE:
    """Of a query that many match, those with the most votes: `beyond` of them, one more than best match looks at."""
    among, by = _walked(filters, status, "upvotes", dialect)
    query = among.add_columns(by.keys[0].label("upvotes")).order_by(*(key.desc() for key in by.keys))
    return query.limit(BEYOND).cte("most_voted").prefix_with("MATERIALIZED")


def _first(most_voted: CTE) -> FromClause:
    columns = most_voted.c
    query = select(columns.id, columns.upvotes).order_by(columns.upvotes.desc(), columns.id.desc())
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
def count(filters: tuple[str, ...], status: str | None, dialect: str) -> Prepared:
    """How many projects a list holds: a sum of counters, a row for each category, where they tell it.

    Of a query's matches no more than `beyond` are counted.
    """
    if _counted(filters):
        return Prepared(_counters(filters, status))
    if "q" in filters:
        return Prepared(_at_most_beyond(filters, status, dialect), replan=True)
    matching = conditions(filters, status, dialect).values()
    return Prepared(select(func.count()).select_from(projects).where(*matching), replan=True)


@lru_cache
def matches(dialect: str) -> Prepared:
    """How many projects match a query, whatever else they are; no more than `beyond` are counted."""
    query = search.matching(dialect).limit(BEYOND).subquery("looked_at")
    return Prepared(select(func.count()).select_from(query), replan=True)


def _at_most_beyond(filters: tuple[str, ...], status: str | None, dialect: str) -> AnySelect:
    if dialect == "sqlite" and status and _stands(filters):
        # Match by match, so that it ends with the last one counted: as a condition they all would be gathered.
        match = search.matching(dialect).subquery("match")
        stands = conditions(tuple(name for name in filters if name != "q"), status, dialect, S)
        query: AnySelect = select(match.c.id).join(standings, S.project_id == match.c.id).where(*stands.values())
    else:
        query, _ = _walked(filters, status, "upvotes", dialect)
    within = query.limit(BEYOND).correlate(None).subquery("within")
    return select(func.count()).select_from(within)


def _stands(filters: tuple[str, ...]) -> bool:
    """Whether the standings alone tell what a list is narrowed to, but for a query."""
    return set(filters) <= {"status", "category", "q"}


def _counted(filters: tuple[str, ...]) -> bool:
    return set(filters) <= {"status", "category"}


def _counters(filters: tuple[str, ...], status: str | None) -> AnySelect:
    counters = [COUNTERS[Status(status)]] if status else list(COUNTERS.values())
    query: AnySelect = select(func.coalesce(func.sum(sum(counters[1:], start=counters[0])), 0)).select_from(categories)
    return query.where(categories.c.slug == bindparam("category")) if "category" in filters else query


@lru_cache
def one(audience: str) -> Prepared:
    """One project for "anyone", a "member" (also their own) or an "admin" (any), or as it is "stored"."""
    query = viewed(signed_in=audience in {"member", "admin"}).where(P.id == bindparam("project_id"))
    if audience == "anyone":
        return Prepared(query.where(P.status == literal("live")))
    if audience == "member":
        query = query.where(or_(P.status == literal("live"), P.owner_id == bindparam("viewer_id")))
    return Prepared(query if audience == "stored" else query.add_columns(queue_position().label("queue_position")))


@lru_cache
def live() -> LookUp:
    """Live projects by their ids."""
    return LookUp(viewed(signed_in=False).where(P.status == literal_column("'live'")), P.id)


@lru_cache
def several() -> AnySelect:
    """The projects of a list of ids, for an administrator."""
    query = viewed(signed_in=True).add_columns(queue_position().label("queue_position"))
    return query.where(P.id.in_(bindparam("project_ids", expanding=True)))


@lru_cache
def stored() -> AnySelect:
    """The projects of a list of ids, in the order of the ids, whoever may see them."""
    return viewed(signed_in=False).where(P.id.in_(bindparam("project_ids", expanding=True))).order_by(P.id)


def conditions(
    filters: tuple[str, ...], status: str | None, dialect: str, columns: Any = P
) -> dict[str, ColumnElement[bool]]:
    """The named filters as conditions; state and category are those of the projects or of other `columns`.

    The status stands in the text: one plan is right for each, and PostgreSQL keeps it. Slugs and names are looked up
    in subqueries of their own: as joined tables they would keep the planner from seeing that one category is one range
    of an index that is in the wanted order already.
    """
    category = select(categories.c.id).where(categories.c.slug == bindparam("category"))
    owner = select(users.c.id).where(users.c.username == bindparam("owner"))
    tagged = select(tags.c.project_id).where(tags.c.tag == bindparam("tag"))
    known: dict[str, Any] = {
        "status": lambda: columns.status == literal_column(f"'{Status(str(status))}'"),
        "category": lambda: columns.category_id == category.correlate(None).scalar_subquery(),
        "owner": lambda: P.owner_id == owner.correlate(None).scalar_subquery(),
        "owner_id": lambda: P.owner_id == bindparam("owner_id"),
        "tag": lambda: P.id.in_(tagged),
        "q": lambda: search.found(P.id if columns is P else columns.project_id, dialect),
    }
    return {name: known[name]() for name in filters}
