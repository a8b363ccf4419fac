"""The statements that read projects, each built once for its shape and run with parameters ever after.

Building an expression costs several times what running it does; so what differs from request to request is a bound
value, and what a statement is made of (which filters, which order, who asks) is its key in a cache.
"""

from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, func, literal, literal_column, or_, select

from directory.db.lookup import LookUp
from directory.db.statements import Prepared
from directory.models import Category, Project, ProjectTag, Standing, Status, Upvote, User
from directory.services.catalog import search
from directory.services.catalog.paging import AnySelect, Sort, carried, directed, windowed

projects, categories, users = Project.__table__, Category.__table__, User.__table__
upvotes, tags, standings = Upvote.__table__, ProjectTag.__table__, Standing.__table__
P, S = projects.c, standings.c

SORTS = {
    "newest": Sort("newest", (P.listed_at, P.id), descending=True),
    "upvotes": Sort("upvotes", (P.upvotes, P.id), descending=True),
    "popular": Sort("popular", (P.hot, P.id), descending=True),
    "oldest": Sort("oldest", (P.submitted_at, P.id), descending=False),
}
# The same two by the table whose indexes are in these orders, for projects of one state.
STANDINGS = {
    "upvotes": Sort("upvotes", (S.upvotes, S.project_id), descending=True),
    "popular": Sort("popular", (S.hot, S.project_id), descending=True),
}
WITHOUT_VOTES = SORTS.keys() - STANDINGS.keys()  # the orders that no vote changes
COUNTERS = {
    Status.LIVE: categories.c.live_projects,
    Status.PENDING: categories.c.pending_projects,
    Status.REJECTED: categories.c.rejected_projects,
}
COLUMNS = (
    P.id,
    P.slug,
    P.title,
    P.tagline,
    P.description,
    P.url,
    P.repository_url,
    P.logo_url,
    P.tags,
    P.status,
    P.upvotes,
    P.created_at,
    P.updated_at,
    P.submitted_at,
    P.published_at,
    P.rejection_reason,
    P.version,
    categories.c.slug.label("category_slug"),
    categories.c.name.label("category_name"),
    P.owner_id,
    users.c.username.label("owner_username"),
)
NAMES = (*(column.name for column in COLUMNS), "has_upvoted")
TOTAL = QUEUE_POSITION = len(NAMES)  # the place of what a page and a single project bring beside them


def order(sort: str, dialect: str) -> Sort:
    """The order of that name; "best" is the best match first, and has to have a query."""
    if sort == "best":
        return Sort("best", (search.matches(dialect).c.rank, P.upvotes, P.id), descending=True)
    return SORTS[sort]


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
    those that a page skips. Where counters tell the total, one statement gives both for less than two do. `few` tells
    that a query's matches are; they are gathered then, and the list is made of them.
    """
    among, by = _among(filters, status, sort, dialect, matched=few or sort == "best")
    told = _counted(filters)
    total: ColumnElement[Any] = literal(None)
    if told:
        total = _counters(filters, status).correlate(None).scalar_subquery()
    elif sort == "best":
        total = select(func.count()).select_from(among.subquery("all_found")).scalar_subquery()
    found = windowed(among, by, start, limit, one_plan=told and dialect == "postgresql").subquery("found")
    keys = carried(found, by)
    query = _viewed(signed_in).join(found, found.c.id == P.id).add_columns(total.label("total"), *keys)
    return Prepared(query.order_by(*directed(keys, by, start)), replan=not told)


def _among(
    filters: tuple[str, ...], status: str | None, sort: str, dialect: str, *, matched: bool
) -> tuple[AnySelect, Sort]:
    """The ids that a list is of, and its order by the columns at hand; `matched` starts from the query's matches."""
    if matched:
        matches = search.matches(dialect)
        query: AnySelect = select(P.id).join(matches, matches.c.project_id == P.id)
        narrowed = conditions(tuple(name for name in filters if name != "q"), status, dialect)
        return query.where(*narrowed.values()), order(sort, dialect)
    if status and sort in STANDINGS:
        query = select(S.project_id.label("id")).where(*conditions(filters, status, dialect, S).values())
        if not _counted(filters):
            query = query.join(projects, P.id == S.project_id)
        return query, STANDINGS[sort]
    return select(P.id).where(*conditions(filters, status, dialect).values()), order(sort, dialect)


@lru_cache(maxsize=100)
def count(filters: tuple[str, ...], status: str | None, dialect: str, most: int | None = None) -> Prepared:
    """How many projects a list holds: a sum of counters, a row for each category, where they tell it.

    With `most` also how many match the query, whatever else they are; of those no more are looked at.
    """
    if _counted(filters):
        return Prepared(_counters(filters, status))
    matching = conditions(filters, status, dialect).values()
    query: AnySelect = select(func.count()).select_from(projects).where(*matching)
    if most is not None:
        looked_at = search.ids(dialect).limit(literal_column(str(most))).subquery("looked_at")
        query = query.add_columns(select(func.count()).select_from(looked_at).scalar_subquery())
    return Prepared(query, replan=True)


def _counted(filters: tuple[str, ...]) -> bool:
    return set(filters) <= {"status", "category"}


def _counters(filters: tuple[str, ...], status: str | None) -> AnySelect:
    counters = [COUNTERS[Status(status)]] if status else list(COUNTERS.values())
    query: AnySelect = select(func.coalesce(func.sum(sum(counters[1:], start=counters[0])), 0)).select_from(categories)
    return query.where(categories.c.slug == bindparam("category")) if "category" in filters else query


@lru_cache
def one(audience: str) -> Prepared:
    """One project for "anyone", a "member" (also their own) or an "admin" (any), or as it is "stored"."""
    query = _viewed(signed_in=audience in {"member", "admin"}).where(P.id == bindparam("project_id"))
    if audience == "anyone":
        return Prepared(query.where(P.status == literal("live")))
    if audience == "member":
        query = query.where(or_(P.status == literal("live"), P.owner_id == bindparam("viewer_id")))
    return Prepared(query if audience == "stored" else query.add_columns(_queue_position().label("queue_position")))


@lru_cache
def live() -> LookUp:
    """Live projects by their ids."""
    return LookUp(_viewed(signed_in=False).where(P.status == literal_column("'live'")), P.id)


@lru_cache
def several() -> AnySelect:
    """The projects of a list of ids, for an administrator."""
    query = _viewed(signed_in=True).add_columns(_queue_position().label("queue_position"))
    return query.where(P.id.in_(bindparam("project_ids", expanding=True)))


def conditions(
    filters: tuple[str, ...], status: str | None, dialect: str, kept: Any = P
) -> dict[str, ColumnElement[bool]]:
    """The named filters as conditions; state and category are those that the projects, or `kept` by others, have.

    The status stands in the text: one plan is right for each, and PostgreSQL keeps it. Slugs and names are looked up
    in subqueries of their own: as joined tables they would keep the planner from seeing that one category is one range
    of an index that is in the wanted order already.
    """
    category = select(categories.c.id).where(categories.c.slug == bindparam("category"))
    owner = select(users.c.id).where(users.c.username == bindparam("owner"))
    tagged = select(tags.c.project_id).where(tags.c.tag == bindparam("tag"))
    known: dict[str, Any] = {
        "status": lambda: kept.status == literal_column(f"'{Status(str(status))}'"),
        "category": lambda: kept.category_id == category.correlate(None).scalar_subquery(),
        "owner": lambda: P.owner_id == owner.correlate(None).scalar_subquery(),
        "owner_id": lambda: P.owner_id == bindparam("owner_id"),
        "tag": lambda: P.id.in_(tagged),
        "q": lambda: search.found(dialect),
    }
    return {name: known[name]() for name in filters}


def _viewed(signed_in: bool) -> AnySelect:
    """The columns of a project, with the viewer's vote."""
    voted: ColumnElement[Any] = literal(None)
    if signed_in:
        # Not EXISTS: for that PostgreSQL may gather all votes of the viewer, of whom there may be many.
        vote = select(upvotes.c.project_id).where(
            upvotes.c.user_id == bindparam("viewer_id"), upvotes.c.project_id == P.id
        )
        voted = vote.scalar_subquery().is_not(None)
    columns: AnySelect = select(*COLUMNS, voted.label("has_upvoted"))
    return columns.join_from(projects, categories, categories.c.id == P.category_id).join(
        users, users.c.id == P.owner_id
    )


def _queue_position() -> ColumnElement[Any]:
    """How many pending projects stand no later in the queue, itself included; null where it is not pending."""
    queued = projects.alias("queued")
    ahead = or_(
        queued.c.submitted_at < P.submitted_at,
        and_(queued.c.submitted_at == P.submitted_at, queued.c.id <= P.id),
    )
    return (
        select(func.nullif(func.count(), 0))
        .select_from(queued)
        .where(queued.c.status == literal("pending"), P.status == literal("pending"), ahead)
        .correlate(projects)
        .scalar_subquery()
    )
