"""What only administrators send and see."""

from marshmallow import fields

from directory.api.schemas.accounts import UserOutput
from directory.api.schemas.dashboard import ProjectCounts
from directory.api.schemas.projects import CursorPagination, CursorQuery, PageQuery, Pagination, UserRef
from directory.http.converters import HIGHEST_ID
from directory.http.fields import Line, Strict, Timestamp, Whole, Word
from directory.models import AccountStatus, DeliveryState, Role
from directory.services.audit import ACTIONS


class ProjectRef(Strict):
    """A project by id, and its title as it was then; null in entries from before titles were recorded."""

    id = fields.Integer(required=True)
    title = fields.String(required=True, allow_none=True)


# What a project's writable fields hold: texts, null, and the list of tags.
TEXTS = {"type": ["string", "array", "null"], "items": {"type": "string"}}


class Change(Strict):
    """What a field was before an edit and after it: whole, a category by its slug."""

    from_ = fields.Raw(required=True, data_key="from", attribute="from", metadata=TEXTS)
    to = fields.Raw(required=True, metadata=TEXTS)


class AuditOutput(Strict):
    """One change.

    `actor` is null where the operator's command line acted, `project` and `user` where the entry is about none.
    """

    id = fields.Integer(required=True)
    action = Word(ACTIONS, required=True)
    at = Timestamp(required=True)
    actor = fields.Nested(UserRef, required=True, allow_none=True)
    project_id = fields.Integer(required=True, allow_none=True)
    user_id = fields.Integer(required=True, allow_none=True)
    from_ = fields.String(required=True, allow_none=True, data_key="from", attribute="from_state")
    to = fields.String(required=True, allow_none=True, attribute="to_state")
    reason = fields.String(required=True, allow_none=True)
    project = fields.Nested(ProjectRef, required=True, allow_none=True)
    user = fields.Nested(
        UserRef, required=True, allow_none=True, metadata={"description": "With the name that they have now."}
    )
    changes = fields.Dict(
        keys=fields.String(),
        values=fields.Nested(Change),
        required=True,
        allow_none=True,
        metadata={"description": "Of an edit, what it changed, by field; else null."},
    )


class AuditQuery(CursorQuery):
    """The audit log's filters."""

    action = Word(ACTIONS)
    project_id = Whole(1, HIGHEST_ID)
    user_id = Whole(1, HIGHEST_ID)
    actor_id = Whole(1, HIGHEST_ID)


class AuditPage(Strict):
    """Audit entries, newest first."""

    items = fields.List(fields.Nested(AuditOutput), required=True)
    pagination = fields.Nested(CursorPagination, required=True)


class UsersQuery(PageQuery):
    """The users list."""

    q = Line(1, 100, metadata={"description": "A part of the username or e-mail address."})
    role = Word(tuple(Role))
    status = Word(tuple(AccountStatus))
    sort = Word(("newest", "username"), load_default="newest", metadata={"default": "newest"})


class UserChanges(Strict):
    """A new role or status, or both."""

    role = Word(tuple(Role))
    status = Word(tuple(AccountStatus))


class Stats(Strict):
    """What a user has submitted, given and received."""

    projects = fields.Nested(ProjectCounts, required=True)
    upvotes_given = fields.Integer(required=True)
    upvotes_received = fields.Integer(required=True)
    last_submission_at = Timestamp(required=True, allow_none=True)


class UserDetail(UserOutput):
    """An account with its statistics."""

    stats = fields.Nested(Stats, required=True)


class UserPage(Strict):
    """A page of users."""

    items = fields.List(fields.Nested(UserDetail), required=True)
    pagination = fields.Nested(Pagination, required=True)


class DeliveriesQuery(CursorQuery):
    """The webhook deliveries, by state."""

    state = Word(tuple(DeliveryState))


class AttemptOutput(Strict):
    """One try: the receiver's status, or why there was none; how long; the first kilobyte of the answer."""

    at = Timestamp(required=True)
    status = fields.Integer(required=True, allow_none=True)
    error = fields.String(required=True, allow_none=True)
    milliseconds = fields.Integer(required=True)
    response = fields.String(required=True)


class DeliveryOutput(Strict):
    """One notification for one endpoint. The endpoint goes by a name: its address may be a secret."""

    id = fields.Integer(required=True)
    webhook_id = fields.String(required=True)
    event = fields.String(required=True)
    endpoint = fields.String(required=True)
    project_id = fields.Integer(required=True, allow_none=True)
    state = Word(tuple(DeliveryState), required=True)
    attempts = fields.List(fields.Nested(AttemptOutput), required=True)
    created_at = Timestamp(required=True)
    next_attempt_at = Timestamp(required=True, allow_none=True)
    delivered_at = Timestamp(required=True, allow_none=True)


class DeliveryPage(Strict):
    """Deliveries, newest first."""

    items = fields.List(fields.Nested(DeliveryOutput), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
