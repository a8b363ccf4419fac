"""The schemas of the audit log, and of the history and the timeline of a project."""

from typing import Any

from marshmallow import fields

from directory import events
from directory.api.schemas.paging import Cursor, CursorPagination, CursorQuery
from directory.api.schemas.projects import USERNAME, UserRef
from directory.http.fields import DayOrTime, Matching, Search, Strict, Timestamp, Whole, Word
from directory.language.messages import _
from directory.models.base import HIGHEST_ID
from directory.services.audit import TIMELINE


class HistoryQuery(CursorQuery):
    """A project's history or timeline; a hundred entries unless asked otherwise."""

    limit = Whole(1, 100, load_default=100, metadata={"default": 100})


class TimelineEvent(Strict):
    """An event of a project."""

    at = Timestamp(required=True)
    event = Word(tuple(dict.fromkeys(TIMELINE.values())), required=True)
    reason = fields.String(metadata={"description": "The reason of a rejection or unpublishing, if one was given."})


class TimelinePage(Strict):
    """The events of a project, oldest first. It does not name the reviewers."""

    items = fields.List(fields.Nested(TimelineEvent), required=True)
    pagination = fields.Nested(CursorPagination, required=True)


class ProjectRef(Strict):
    """A project by id, and its title as it was then; null in entries from before titles were recorded."""

    id = fields.Integer(required=True)
    title = fields.String(required=True, allow_none=True)


# The values of a project's writable fields: texts, null, the lists of tags and of pictures, and the addresses of a logo
# by size; and those of own fields and of their definitions.
VALUES = {
    "type": ["string", "number", "boolean", "array", "object", "null"],
    "items": {"type": ["string", "integer", "object"]}, "additionalProperties": {"type": "string"},
}  # fmt: skip


class Change(Strict):
    """The whole value of a field before an edit and after it; a category is its slug."""

    from_ = fields.Raw(required=True, data_key="from", attribute="from", metadata=VALUES)
    to = fields.Raw(required=True, metadata=VALUES)


class JudgedVotes(Strict):
    """The votes that a decision discounted or counted again."""

    number = fields.Integer(required=True)
    user_ids = fields.List(fields.Integer(), required=True)


class AuditOutput(Strict):
    """One change, or one act about an account or a category.

    `actor` is null for a command of the operator and for what the service did itself. `project` and `user` are null if
    the entry is not about one. The log has no network address and no e-mail address. Of sign-ins it has those of
    administrators.
    """

    id = fields.Integer(required=True)
    action = Word(events.LOGGED, required=True)
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
        metadata={
            "properties": {"fields": {"type": "object", "description": "The changes of own fields, by name."}},
            "description": "The fields that an edit changed, or that wait for review; of a category its fields, always "
            "with its slug, and of an own field with its name; the delivery that was sent again, or the number of "
            "them; the endpoint that was tested; the number of faults that were repaired. Otherwise null.",
        },
    )
    field = fields.String(
        allow_none=True,
        metadata={"description": "The name of the own field that was changed, null for the order; otherwise absent."},
    )
    rule_id = fields.Integer(
        required=True, allow_none=True, metadata={"description": "The rule that decided; otherwise null."}
    )
    votes = fields.Nested(
        JudgedVotes,
        required=True,
        allow_none=True,
        metadata={"description": "The number and the voters of the votes that a decision changed; otherwise null."},
    )


class Username(Matching):
    """A username of a filter."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(USERNAME, 32, says=_("This is not a username."), fold=True, trim=True, **kwargs)


class AuditFilters(Strict):
    """The filters of the audit log."""

    action = Word(events.LOGGED)
    project_id = Whole(1, HIGHEST_ID)
    user_id = Whole(1, HIGHEST_ID, metadata={"description": "The id of the user that the entry is about."})
    actor_id = Whole(1, HIGHEST_ID, metadata={"description": "The id of the user who acted."})
    user = Username(metadata={"description": "The username of the user that the entry is about."})
    actor = Username(metadata={"description": "The username of the user who acted."})
    imports = Word(("false",), metadata={"description": "false: without the entries of projects that were imported."})
    q = Search(
        200, metadata={"description": "A part of the project's title, of the reason, or of one of the two usernames."}
    )
    since = DayOrTime(metadata={"description": "From this time on, or from the beginning of this day in UTC."})
    until = DayOrTime(end=True, metadata={"description": "Before this time, or to the end of this day in UTC."})


class AuditQuery(CursorQuery, AuditFilters):
    """A page of the audit log."""


class AuditFileQuery(AuditFilters):
    """A part of the audit log as a file."""

    cursor = Cursor()


class AuditPage(Strict):
    """Audit entries, newest first.

    A page with several filters, or with `q`, may have fewer items than its limit, or none, although the log goes on:
    follow `next_cursor` until it is null.
    """

    items = fields.List(fields.Nested(AuditOutput), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
