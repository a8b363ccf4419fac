"""The columns of a project in answers."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Subquery,
    UnaryExpression,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.sql.operators import custom_op

from directory.db.paging import AnySelect
from directory.models import Category, Message, Project, Revision, Upvote, User
from directory.services import turns
from directory.services.catalog import orders
from directory.services.catalog.fields import FIELDS, Kind
from directory.services.turns import in_queue, revision_in_queue

projects, categories, users = Project.__table__, Category.__table__, User.__table__
upvotes, revisions = Upvote.__table__, Revision.__table__
P, R = projects.c, revisions.c

COMPOSED = {Kind.CATEGORY, Kind.FLAG, Kind.OWNER, Kind.REVISION, Kind.REVIEW}  # made from columns with other names
COLUMNS = (
    *(P[field.name] for field in FIELDS if field.kind not in COMPOSED),
    P.category_id,
    categories.c.slug.label("category_slug"),
    categories.c.name.label("category_name"),
    P.owner_id,
    users.c.username.label("owner_username"),
    users.c.status.label("owner_status"),
)
NAMES = (*(column.name for column in COLUMNS), "has_upvoted")
ID, STATUS, OWNER, DESCRIPTION = (NAMES.index(name) for name in ("id", "status", "owner_id", "description"))
# The additional columns for a signed-in caller, which only owners and reviewers see: the revision, and `turns.COLUMNS`.
REVISION = (R.changes, R.category, R.submitted_at, R.reason, R.rejected)


def after(signed_in: bool) -> int:
    """The index of the first column after those of the project, such as the total of a page."""
    return len(NAMES) + (len(REVISION) + len(turns.COLUMNS) if signed_in else 0)


def unindexed(column: Any, dialect: str) -> Any:
    """The column for a condition; on SQLite with a unary plus, so that it uses no index that begins with the column."""
    return UnaryExpression(column, operator=custom_op("+")) if dialect == "sqlite" else column


def viewed(signed_in: bool, viewer: ColumnElement[Any] | None = None) -> AnySelect:
    """The columns of a project, with the vote of the `viewer`: an id, by default the parameter `viewer_id`."""
    voted: ColumnElement[Any] = literal(None)
    if signed_in:
        viewer = bindparam("viewer_id") if viewer is None else viewer
        # Not EXISTS: for that PostgreSQL may read all votes of the viewer, who may have many.
        vote = select(upvotes.c.project_id).where(upvotes.c.user_id == viewer, upvotes.c.project_id == P.id)
        voted = vote.scalar_subquery().is_not(None)
    columns: AnySelect = select(*COLUMNS, voted.label("has_upvoted"))
    return columns.join_from(projects, categories, categories.c.id == P.category_id).join(
        users, users.c.id == P.owner_id
    )


def with_revision(viewer: ColumnElement[Any] | None = None) -> AnySelect:
    """The columns of a project for a signed-in caller, those of its revision, and `turns.COLUMNS`."""
    labels = [column.label(f"revision_{column.name}") for column in REVISION]
    labels += [column.label(f"waits_{column.table.name}_{column.name}") for column in turns.COLUMNS]
    return viewed(signed_in=True, viewer=viewer).outerjoin(revisions, R.project_id == P.id).add_columns(*labels)


def shown(signed_in: bool) -> AnySelect:
    """The columns of a project for any caller."""
    return with_revision() if signed_in else viewed(signed_in=False)


def revision(
    changes: dict[str, Any] | None,
    category: str | None,
    submitted_at: datetime | None,
    reason: str | None,
    rejected: dict[str, Any] | None,
) -> dict[str, Any] | None:
    """The revision in these columns as its owner sees it; None without one. A refused one has what was written."""
    if changes is None:
        return None
    if category is not None:
        changes = {**changes, "category": category}
    shown = {"changes": changes, "submitted_at": submitted_at, "reason": reason}
    return shown if submitted_at is not None else {**shown, "rejected": rejected or {}}


def answered() -> AnySelect:
    """The ids of the projects whose owners wrote last, and nobody answered."""
    return select(Message.project_id).where(Message.is_unanswered)


def waiting(dialect: str) -> Subquery:
    """The table of the queue: projects that are `in_queue`, and live ones whose changes are.

    `submitted_at` is that of the project, or of its changes. Each kind is read in the order of its index: PostgreSQL
    does so only if each part has its own ORDER BY, SQLite only if it has none. `unindexed` prevents SQLite from looking
    up the changes of each project, which it did if its last ANALYZE had found no changes.
    """
    named = {"status": P.status, "category_id": P.category_id, "owner_id": P.owner_id, **orders.keys()}
    columns = [column for name, column in named.items() if name not in {"id", "submitted_at"}]
    pending = select(P.id, P.submitted_at, *columns).where(in_queue())
    changed = select(R.project_id.label("id"), R.submitted_at, *columns).join(
        projects, P.id == unindexed(R.project_id, dialect)
    )
    changed = changed.where(revision_in_queue())
    if dialect == "postgresql":
        pending = select(pending.order_by(P.submitted_at, P.id).subquery())
        changed = select(changed.order_by(R.submitted_at, R.project_id).subquery())
    return union_all(pending, changed).subquery("waiting")


def queue_position() -> ColumnElement[Any]:
    """The project's place in the queue, from 1; null if it is not there. For a statement of `with_revision`."""
    since = case((in_queue(), P.submitted_at), (revision_in_queue(), R.submitted_at))
    pending, changed = projects.alias("pending"), revisions.alias("changed")
    here = tuple_(since, P.id)
    first = select(func.count()).select_from(pending).where(in_queue(pending.c))
    second = select(func.count()).select_from(changed).where(revision_in_queue(changed.c))
    numbers = (
        first.where(tuple_(pending.c.submitted_at, pending.c.id) <= here),
        second.where(tuple_(changed.c.submitted_at, changed.c.project_id) <= here),
    )
    counted = (number.correlate(projects, revisions).scalar_subquery() for number in numbers)
    return func.nullif(sum(counted, start=literal_column("0")), 0)
