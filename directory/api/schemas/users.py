"""Users, as administrators see and change them."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates_schema

from directory.api.schemas.accounts import UserOutput
from directory.api.schemas.dashboard import ProjectCounts
from directory.api.schemas.paging import PageQuery, Pagination
from directory.api.schemas.review import AuditOutput
from directory.http.fields import Flag, Prose, Search, Strict, Timestamp, Word
from directory.models import AccountStatus, Role
from directory.services.accounts.users import SORTS

WITH_SUSPENSION = ("unpublish", "reason")
DELETED = "When the account was deleted. It is suspended, and has neither an address nor a password."
LAST_SEEN = "The last sign-in or use of a session or token, accurate to five minutes. Null if the user never signed in."


class UsersQuery(PageQuery):
    """The users list."""

    q = Search(100, metadata={"description": "A part of the username or e-mail address."})
    role = Word(tuple(Role))
    status = Word(tuple(AccountStatus))
    sort = Word(tuple(SORTS), load_default="newest", metadata={"default": "newest"})


class UserChanges(Strict):
    """A new role or status, or both. `unpublish` and `reason` go with a suspension alone."""

    # With "additionalProperties", for redocly takes the few properties of a rule for all that there may be.
    rules: ClassVar[dict[str, Any]] = {
        "dependentSchemas": {
            name: {
                "required": ["status"],
                "properties": {"status": {"const": AccountStatus.SUSPENDED.value}},
                "additionalProperties": True,
            }
            for name in WITH_SUSPENSION
        }
    }

    role = Word(tuple(Role))
    status = Word(tuple(AccountStatus))
    unpublish = Flag(metadata={"description": "Whether to take down all of the user's live and pending projects."})
    reason = Prose(0, 1000, allow_none=True)

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def _with_suspension(self, _data: Any, given: dict[str, Any], **_kwargs: object) -> None:
        if given.get("status") == AccountStatus.SUSPENDED:
            return
        refused = {name: ["Only allowed together with status suspended."] for name in WITH_SUSPENSION if name in given}
        if refused:
            raise ValidationError(refused)


class Stats(Strict):
    """The numbers of a user's projects and of the votes given and received."""

    projects = fields.Nested(ProjectCounts, required=True)
    upvotes_given = fields.Integer(required=True)
    upvotes_received = fields.Integer(required=True)
    last_submission_at = Timestamp(required=True, allow_none=True)


class UserDetail(UserOutput):
    """An account with its statistics."""

    last_seen_at = Timestamp(required=True, allow_none=True, metadata={"description": LAST_SEEN})
    deleted_at = Timestamp(required=True, allow_none=True, metadata={"description": DELETED})
    stats = fields.Nested(Stats, required=True)


class UserProfile(UserDetail):
    """An account with its statistics and the latest twenty audit entries by or about the user, newest first."""

    audit = fields.List(fields.Nested(AuditOutput), required=True)


class TakenDown(Strict):
    """How many projects were unpublished, and how many rejected: those unpublished, and the pending ones."""

    unpublished = fields.Integer(required=True)
    rejected = fields.Integer(required=True)
    votes = fields.Integer(
        required=True, metadata={"description": "How many votes of the user no longer count by this suspension."}
    )


class UserChanged(UserDetail):
    """An account after its change. `taken_down` is present if the change took projects down."""

    taken_down = fields.Nested(TakenDown)


class UserPage(Strict):
    """A page of users."""

    items = fields.List(fields.Nested(UserDetail), required=True)
    pagination = fields.Nested(Pagination, required=True)
