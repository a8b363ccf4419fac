"""The columns of a project in answers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Subquery,
    UnaryExpression,
    bindparam,
    case,
    func,
    literal,
    select,
    tuple_,
    type_coerce,
)
from sqlalchemy.sql.operators import custom_op

from directory.db.paging import AnySelect
from directory.db.statements import Row
from directory.extensions import db
from directory.models import FIELDS_STAMP, Category, Message, Project, Review, Upvote, User
from directory.models.base import JsonIds
from directory.services import turns
from directory.services.catalog import orders, own_fields
from directory.services.catalog.fields import FIELDS, Kind
from directory.services.turns import CURRENT, in_queue

projects, categories, users = Project.__table__, Category.__table__, User.__table__
upvotes, reviews = Upvote.__table__, Review.__table__
P, R = projects.c, reviews.c

# Made from columns with other names.
COMPOSED = {
    Kind.CATEGORY, Kind.FLAG, Kind.OWNER, Kind.PICK, Kind.REASON, Kind.REVISION, Kind.REVIEW, Kind.LINKS,
}  # fmt: skip
# Values of own fields are read in the order in which they are stored, since `own_fields.shown` orders them.
_VALUES = type_coerce(P.fields, JsonIds).label(P.fields.name)
COLUMNS = (
    *(_VALUES if field.kind is Kind.OWN else P[field.name] for field in FIELDS if field.kind not in COMPOSED),
    P.picked_at,
    P.picked_words,
    P.category_id,
    categories.c.slug.label("category_slug"),
    categories.c.name.label("category_name"),
    P.owner_id,
    users.c.username.label("owner_username"),
    users.c.status.label("owner_status"),
    FIELDS_STAMP.label("fields_stamp"),
)
NAMES = (*(column.name for column in COLUMNS), "has_upvoted")
ID, STATUS, OWNER, DESCRIPTION, STAMP = map(NAMES.index, ("id", "status", "owner_id", "description", "fields_stamp"))
# The index of the first column after those of the project, such as the total of a page, by whether the caller is signed
# in: then `turns.COLUMNS` come before it, which only owners and reviewers see.
AFTER = {False: len(NAMES), True: len(NAMES) + len(turns.COLUMNS)}


class Site(NamedTuple):
    """What is the same for all projects that a statement reads: the operator's fields, and whether links are shown."""

    defined: own_fields.Definitions
    shows_links: bool


_OF_NONE = Site(own_fields.NONE, shows_links=False)


def site_of(rows: Sequence[Row | None], stamp: int = STAMP) -> Site:
    """That of the rows of a statement, which have the number of the fields' state in the column `stamp`."""
    if not rows:
        return _OF_NONE
    number = next((row[stamp] for row in rows if row is not None), None)
    return Site(own_fields.of_stamp(number), db.shows_links)


def private_members(facts: turns.Facts, standing: turns.Standing, site: Site) -> dict[str, Any]:
    """The members of a project that its owner and reviewers alone see."""
    return {
        "rejection_reason": turns.rejection_reason(facts),
        "revision": own_fields.in_revision(turns.revision(facts, site.shows_links), site.defined),
        "review": standing.review,
        "links": (facts.links or turns.UNSEEN) if site.shows_links else None,
    }


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


def with_case(viewer: ColumnElement[Any] | None = None) -> AnySelect:
    """The columns of a project for a signed-in caller, and `turns.COLUMNS` of its current case."""
    labels = [column.label(f"case_{column.name}") for column in turns.COLUMNS]
    return viewed(signed_in=True, viewer=viewer).outerjoin(reviews, CURRENT).add_columns(*labels)


def shown(signed_in: bool) -> AnySelect:
    """The columns of a project for any caller."""
    return with_case() if signed_in else viewed(signed_in=False)


def answered() -> AnySelect:
    """The ids of the projects whose owners wrote last, and nobody answered."""
    return select(Message.project_id).where(Message.is_unanswered)


def waiting(dialect: str) -> Subquery:
    """The table of the queue: the projects whose cases are `in_queue`; `submitted_at` is their place.

    `unindexed` prevents SQLite from looking up the case of each project.
    """
    named = {"status": P.status, "category_id": R.category_id, "owner_id": P.owner_id, **orders.keys()}
    columns = [column for name, column in named.items() if name not in {"id", "submitted_at"}]
    queue = select(R.project_id.label("id"), R.place.label("submitted_at"), *columns)
    return queue.join(projects, P.id == unindexed(R.project_id, dialect)).where(in_queue()).subquery("waiting")


def queue_position() -> ColumnElement[Any]:
    """The project's place in the queue, from 1; null if it is not there. For a statement of `with_case`."""
    queue = reviews.alias("queue")
    before = tuple_(queue.c.place, queue.c.project_id) <= tuple_(R.place, R.project_id)
    number = select(func.count()).select_from(queue).where(in_queue(queue.c), before).correlate(reviews)
    return case((in_queue(), number.scalar_subquery()))
