"""The review: what only administrators send and see of projects and of the log."""

from typing import Any

from marshmallow import ValidationError, fields, validates

from directory.api.schemas.projects import (
    SEARCH,
    STATUSES,
    Cursor,
    Owner,
    PageQuery,
    ProjectDetail,
    UserRef,
)
from directory.http.converters import HIGHEST_ID
from directory.http.fields import Few, Prose, Search, Slug, Strict, Timestamp, Whole, Word
from directory.services.audit import ACTIONS
from directory.services.text import CATEGORY_SLUG_MAX


class QueueQuery(PageQuery):
    """The administrators' list of projects."""

    status = Word(STATUSES)
    category = Slug(CATEGORY_SLUG_MAX)
    owner = Owner()
    q = Search(200, metadata={"description": SEARCH})
    sort = Word(
        ("newest", "popular", "upvotes", "oldest"),
        metadata={"description": "Default newest; for status=pending oldest, the review queue's order."},
    )


class ReasonInput(Strict):
    """An optional reason."""

    reason = Prose(0, 1000, allow_none=True)


class Number(fields.Integer):
    """A whole number of a body. 7.0 is one: JSON has a single type of numbers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strict=True, **kwargs)

    def _validated(self, value: Any) -> int:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return super()._validated(whole)


class DecisionsInput(Strict):
    """One decision about many projects."""

    decision = Word(("approve", "reject"), required=True)
    ids = Few(Number(metadata={"minimum": 1, "maximum": HIGHEST_ID}), 1, 100, of="id", required=True)
    reason = Prose(0, 1000, allow_none=True)

    @validates("ids")
    def _possible(self, ids: list[int], **_kwargs: object) -> None:
        if not all(1 <= one <= HIGHEST_ID for one in ids):
            raise ValidationError("An id is a positive whole number.")


class Decision(Strict):
    """What became of one project of many: the project, or the code of the refusal."""

    id = fields.Integer(required=True)
    status = fields.Integer(required=True, metadata={"description": "200, 404 or 409."})
    code = fields.String()
    project = fields.Nested(ProjectDetail)


class DecisionList(Strict):
    """The outcomes, in the order of the ids given."""

    items = fields.List(fields.Nested(Decision), required=True)


class AuditOutput(Strict):
    """One change. `actor` is null where the operator's command line acted."""

    id = fields.Integer(required=True)
    action = Word(ACTIONS, required=True)
    at = Timestamp(required=True)
    actor = fields.Nested(UserRef, required=True, allow_none=True)
    project_id = fields.Integer(required=True, allow_none=True)
    user_id = fields.Integer(required=True, allow_none=True)
    from_ = fields.String(required=True, allow_none=True, data_key="from", attribute="from_state")
    to = fields.String(required=True, allow_none=True, attribute="to_state")
    reason = fields.String(required=True, allow_none=True)


class CursorQuery(Strict):
    """Lists that page by cursor alone."""

    limit = Whole(1, 100, load_default=20, metadata={"default": 20})
    cursor = Cursor()


class HistoryQuery(CursorQuery):
    """A project's history; a hundred entries unless asked otherwise."""

    limit = Whole(1, 100, load_default=100, metadata={"default": 100})


class AuditQuery(CursorQuery):
    """The audit log's filters."""

    action = Word(ACTIONS)
    project_id = Whole(1, HIGHEST_ID)
    user_id = Whole(1, HIGHEST_ID)
    actor_id = Whole(1, HIGHEST_ID)


class CursorPagination(Strict):
    """Where a list that pages by cursor goes on and back."""

    limit = fields.Integer(required=True)
    next_cursor = fields.String(required=True, allow_none=True)
    prev_cursor = fields.String(required=True, allow_none=True)


class AuditPage(Strict):
    """Audit entries, newest first."""

    items = fields.List(fields.Nested(AuditOutput), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
