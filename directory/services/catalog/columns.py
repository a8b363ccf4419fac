"""The columns of a project as answers show them."""

from typing import Any

from sqlalchemy import ColumnElement, UnaryExpression, and_, bindparam, func, literal, or_, select
from sqlalchemy.sql.operators import custom_op

from directory.models import Category, Project, Upvote, User
from directory.services.catalog.paging import AnySelect

projects, categories, users = Project.__table__, Category.__table__, User.__table__
upvotes = Upvote.__table__
P = projects.c

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
    users.c.status.label("owner_status"),
)
NAMES = (*(column.name for column in COLUMNS), "has_upvoted")
ID, STATUS, OWNER = NAMES.index("id"), NAMES.index("status"), NAMES.index("owner_id")
TOTAL = QUEUE_POSITION = len(NAMES)  # the place of what a page and a single project bring beside them


def unindexed(column: Any, dialect: str) -> Any:
    """The column for a condition; on SQLite with a plus, which keeps it from choosing an index that begins with it."""
    return UnaryExpression(column, operator=custom_op("+")) if dialect == "sqlite" else column


def viewed(signed_in: bool, viewer: ColumnElement[Any] | None = None) -> AnySelect:
    """The columns of a project, with the vote of the `viewer`: an id, by default the parameter `viewer_id`."""
    voted: ColumnElement[Any] = literal(None)
    if signed_in:
        viewer = bindparam("viewer_id") if viewer is None else viewer
        # Not EXISTS: for that PostgreSQL may gather all votes of the viewer, of whom there may be many.
        vote = select(upvotes.c.project_id).where(upvotes.c.user_id == viewer, upvotes.c.project_id == P.id)
        voted = vote.scalar_subquery().is_not(None)
    columns: AnySelect = select(*COLUMNS, voted.label("has_upvoted"))
    return columns.join_from(projects, categories, categories.c.id == P.category_id).join(
        users, users.c.id == P.owner_id
    )


def queue_position() -> ColumnElement[Any]:
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
