"""Reading projects: who may see which, one project, and the lists (the hot path).

A page is one statement over columns, the viewer's votes for it included; its total is a second one, over the
counters in `categories` wherever the filters allow it.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, func, literal, or_, select, true
from sqlalchemy.orm import aliased

from directory.errors import NotFound, NotOwner, Unauthenticated
from directory.extensions import db
from directory.models import Category, Project, ProjectTag, Status, Upvote, User
from directory.services import search
from directory.services.identity import Caller
from directory.services.paging import AnySelect, Slice, Sort, Window, fetch, plain

SORTS = {
    "newest": Sort("newest", (Project.listed_at, Project.id), descending=True),
    "upvotes": Sort("upvotes", (Project.upvotes, Project.id), descending=True),
    "popular": Sort("popular", (Project.hot, Project.id), descending=True),
    "oldest": Sort("oldest", (Project.submitted_at, Project.id), descending=False),
}
COUNTERS = {
    Status.LIVE: Category.live_projects,
    Status.PENDING: Category.pending_projects,
    Status.REJECTED: Category.rejected_projects,
}
COLUMNS = (
    Project.id,
    Project.slug,
    Project.title,
    Project.tagline,
    Project.description,
    Project.url,
    Project.repository_url,
    Project.logo_url,
    Project.tags,
    Project.status,
    Project.upvotes,
    Project.created_at,
    Project.updated_at,
    Project.submitted_at,
    Project.published_at,
    Project.rejection_reason,
    Project.version,
    Category.slug.label("category_slug"),
    Category.name.label("category_name"),
    Project.owner_id,
    User.username.label("owner_username"),
)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list is narrowed to; None narrows nothing. `owner` is a username, `owner_id` an id."""

    status: str | None = None
    category: str | None = None
    tag: str | None = None
    owner: str | None = None
    owner_id: int | None = None
    q: str | None = None


def visible_to(viewer: Caller | None) -> ColumnElement[bool]:
    """The condition that `viewer` may know of a project: it is live, their own, or they are an administrator."""
    if viewer is None:
        return Project.status == Status.LIVE
    if viewer.is_admin:
        return true()
    return or_(Project.status == Status.LIVE, Project.owner_id == viewer.id)


def require_editable(project: Any, by: Caller) -> None:
    """Raise NotFound or NotOwner unless `by` owns `project` (None where there is none) or is an administrator."""
    if project is None:
        raise NotFound
    if by.is_admin or project.owner_id == by.id:
        return
    raise NotOwner if project.status == Status.LIVE else NotFound


def editable(project_id: int, *, by: Caller) -> None:
    """Raise NotFound or NotOwner unless `by` may change the project."""
    columns = select(Project.owner_id, Project.status).where(Project.id == project_id)
    require_editable(db.session.execute(columns).one_or_none(), by)


def public_scope(*, viewer: Caller | None, status: str | None, owner: str | None, **filters: str | None) -> Filters:
    """The public list's filters for `viewer`: live unless asked otherwise, and of the others one's own.

    `owner` is a username or "me"; with "me" and no status every state shows. Raises Unauthenticated.
    """
    if viewer is None and (owner == "me" or status not in {None, Status.LIVE}):
        raise Unauthenticated
    own = viewer.id if viewer is not None and owner == "me" else None
    if own is None:
        status = status or Status.LIVE
    username = None if owner == "me" else owner
    if viewer is not None and status != Status.LIVE and not viewer.is_admin:
        own = viewer.id
    return Filters(status=status, owner=username, owner_id=own, **filters)


def one(project_id: int, *, viewer: Caller | None) -> dict[str, Any]:
    """A project as `viewer` may see it. Raises NotFound."""
    query = _select(viewer).add_columns(_queue_position().label("queue_position"))
    row = db.session.execute(query.where(Project.id == project_id, visible_to(viewer))).one_or_none()
    if row is None:
        raise NotFound
    return _view(row, viewer)


def stored(project_id: int) -> dict[str, Any]:
    """A project as it stands, whoever may see it, with its public fields. Raises NotFound."""
    row = db.session.execute(_select(None).where(Project.id == project_id)).one_or_none()
    if row is None:
        raise NotFound
    return _view(row, None)


def many(project_ids: list[int], *, viewer: Caller) -> dict[int, dict[str, Any]]:
    """Those of the projects that `viewer` may see, by id."""
    query = _select(viewer).add_columns(_queue_position().label("queue_position"))
    rows = db.session.execute(query.where(Project.id.in_(project_ids), visible_to(viewer)))
    return {row.id: _view(row, viewer) for row in rows}


def page(filters: Filters, sort: str | None, window: Window, *, viewer: Caller | None) -> Slice:
    """A slice of the projects that match `filters`. Visibility is the caller's: see `visible_to`.

    `sort` None means best match first where there is a query, else newest first.
    """
    condition, match = _condition(filters)
    order = SORTS[sort or "newest"]
    if filters.q is not None and sort is None:
        order = Sort("best", (match, Project.upvotes, Project.id), descending=True)
    found = fetch(_select(viewer).where(condition), order, window)
    found.items = [_view(row, viewer) for row in found.items]
    return found


def total(filters: Filters) -> int:
    """How many projects match `filters`: a sum of counters unless tag, owner or q make it a count."""
    if filters.tag is None and filters.owner is None and filters.owner_id is None and filters.q is None:
        wanted = [COUNTERS[Status(filters.status)]] if filters.status else list(COUNTERS.values())
        query = select(func.coalesce(func.sum(sum(wanted[1:], start=wanted[0])), 0))
        if filters.category is not None:
            query = query.where(Category.slug == filters.category)
    else:
        query = select(func.count()).select_from(Project).where(_condition(filters)[0])
    return int(db.session.scalar(query) or 0)


def _select(viewer: Caller | None) -> AnySelect:
    voted: ColumnElement[Any] = literal(None)
    if viewer is not None:
        votes = select(Upvote.project_id).where(Upvote.user_id == viewer.id, Upvote.project_id == Project.id)
        voted = votes.exists()
    columns: AnySelect = select(*COLUMNS, voted.label("has_upvoted"))
    return columns.join(Category, Category.id == Project.category_id).join(User, User.id == Project.owner_id)


def _queue_position() -> ColumnElement[Any]:
    """How many pending projects stand no later in the queue, itself included; null where it is not pending."""
    queued = aliased(Project)
    ahead = or_(
        queued.submitted_at < Project.submitted_at,
        and_(queued.submitted_at == Project.submitted_at, queued.id <= Project.id),
    )
    return (
        select(func.nullif(func.count(), 0))
        .select_from(queued)
        .where(queued.status == Status.PENDING, Project.status == Status.PENDING, ahead)
        .correlate(Project)
        .scalar_subquery()
    )


def _condition(filters: Filters) -> tuple[ColumnElement[bool], ColumnElement[int]]:
    """The filters as one condition, and how well a project matches the query.

    Slugs and names are looked up in subqueries of their own: as joined tables they would keep the planner from
    seeing that one category is one range of an index that is in the wanted order already.
    """
    match: ColumnElement[int] = literal(0)
    terms: list[ColumnElement[bool]] = []
    if filters.status is not None:
        terms.append(Project.status == filters.status)
    if filters.category is not None:
        category = select(Category.id).where(Category.slug == filters.category)
        terms.append(Project.category_id == category.correlate(None).scalar_subquery())
    if filters.owner is not None:
        owner = select(User.id).where(User.username == filters.owner)
        terms.append(Project.owner_id == owner.correlate(None).scalar_subquery())
    if filters.owner_id is not None:
        terms.append(Project.owner_id == filters.owner_id)
    if filters.tag is not None:
        terms.append(Project.id.in_(select(ProjectTag.project_id).where(ProjectTag.tag == filters.tag)))
    if filters.q is not None:
        found, match = search.matching(filters.q)
        terms.append(found)
    return and_(true(), *terms), match


def _view(row: Any, viewer: Caller | None) -> dict[str, Any]:
    """A row as the project that answers show; what only owner and administrators may see is left out for others."""
    project = plain(row)
    project["category"] = {"slug": project.pop("category_slug"), "name": project.pop("category_name")}
    owner_id = project.pop("owner_id")
    project["owner"] = {"id": owner_id, "username": project.pop("owner_username")}
    if viewer is None or not (viewer.is_admin or viewer.id == owner_id):
        del project["rejection_reason"]
        project.pop("queue_position", None)
    elif project["status"] != Status.REJECTED:
        project["rejection_reason"] = None
    return project
