"""Users, as administrators see and change them."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates, validates_schema

from directory.api.schemas.accounts import UserOutput
from directory.api.schemas.audit import AuditOutput
from directory.api.schemas.dashboard import ProjectCounts
from directory.api.schemas.paging import PageQuery, Pagination
from directory.http.fields import (
    BLANKS,
    NO_ID,
    DayOrTime,
    Few,
    Flag,
    Matching,
    Number,
    Prose,
    Search,
    Slug,
    Strict,
    Timestamp,
    Truth,
    Within,
    Word,
)
from directory.language.messages import _
from directory.models import AccountStatus, Role
from directory.models.base import HIGHEST_ID
from directory.services.accounts.users import SORTS
from directory.services.people.administration import OF_REVIEWERS
from directory.services.people.user_decisions import DECISIONS
from directory.services.text.rules import CATEGORY_SLUG_MAX, ascii_domain

WITH_SUSPENSION = ("unpublish", "reason")
DELETED = "When the account was deleted. It is suspended, and has neither an address nor a password."
LAST_SEEN = "The last sign-in or use of a session or token, accurate to five minutes. Null if the user never signed in."


DOMAIN = r"[a-z0-9-]+(\.[a-z0-9-]+)+"


class Domain(Matching):
    """The domain of an e-mail address. One with letters outside of ASCII is compared as its A-labels."""

    def __init__(self, **kwargs: Any) -> None:
        says = _("This is not a domain, such as example.org.")
        super().__init__(DOMAIN, 253, says=says, fold=True, trim=True, **kwargs)

    def check(self, value: str) -> str:
        """The domain in ASCII."""
        try:
            return super().check(ascii_domain(value.strip(BLANKS)))
        except UnicodeError:
            raise ValueError(self.says) from None


class _Filters(Strict):
    """The filters of users that are the same in a query string and in a body."""

    q = Search(100, metadata={"description": "A part of the username or e-mail address."})
    role = Word(tuple(Role))
    status = Word(tuple(AccountStatus))
    created_from = DayOrTime(metadata={"description": "From this time on, or from the beginning of this day in UTC."})
    created_to = DayOrTime(end=True, metadata={"description": "Before this time, or to the end of this day in UTC."})
    email_domain = Domain(metadata={"description": "The whole domain of the e-mail address; no subdomains."})


class UserFilters(_Filters):
    """The filters of users, as a body has them."""

    email_verified = Truth(metadata={"description": "Whether the e-mail address is confirmed."})
    live = Truth(metadata={"description": "Whether a project of the user is or was live; false: none ever was."})


TRUTHS = {"true": True, "false": False}


class UsersQuery(PageQuery, _Filters):
    """The users list."""

    email_verified = Word(tuple(TRUTHS), metadata={"description": "Whether the e-mail address is confirmed."})
    live = Word(tuple(TRUTHS), metadata={"description": "Whether a project of the user is or was live."})
    sort = Word(tuple(SORTS), load_default="newest", metadata={"default": "newest"})


class UserChanges(Strict):
    """A new role or status, or both, or the categories of a reviewer.

    `review_categories` are those that a reviewer may review, null for all; no other role has any. `unpublish` and
    `reason` go with a suspension alone.
    """

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
        | {
            "review_categories": {
                "properties": {"role": {"const": Role.REVIEWER.value}},
                "additionalProperties": True,
            }
        }
    }

    role = Word(tuple(Role))
    review_categories = Few(Slug(CATEGORY_SLUG_MAX), 1, 50, of="category", allow_none=True)
    status = Word(tuple(AccountStatus))
    unpublish = Flag(metadata={"description": "Whether to take down all of the user's live and pending projects."})
    reason = Prose(0, 1000, allow_none=True)

    @validates_schema(skip_on_field_errors=False, pass_original=True)
    def _with_suspension(self, _data: Any, body: dict[str, Any], **_kwargs: object) -> None:
        refused: dict[str, list[str]] = {}
        if body.get("status") != AccountStatus.SUSPENDED:
            why: list[str] = [_("Only allowed together with status suspended.")]
            refused = {name: why for name in WITH_SUSPENSION if name in body}
        if "review_categories" in body and body.get("role", Role.REVIEWER) != Role.REVIEWER:
            refused["review_categories"] = [OF_REVIEWERS]
        if refused:
            raise ValidationError(refused)


class UserDecisionsInput(Strict):
    """A decision about many accounts: those of `ids`, or those that `match` all of the filters.

    `unpublish` goes with a suspension alone.
    """

    rules: ClassVar[dict[str, Any]] = {"oneOf": [{"required": ["ids"]}, {"required": ["match"]}]}

    decision = Word(DECISIONS, required=True)
    ids = Few(Number(validate=Within(1, HIGHEST_ID, error=NO_ID)), 1, 100, of="id")
    match = fields.Nested(UserFilters, metadata={"minProperties": 1})
    unpublish = Flag(metadata={"description": "Whether to take down all of the users' live and pending projects."})
    reason = Prose(0, 1000, allow_none=True, metadata={"description": "For the audit log, and the owners of projects."})

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _one_way(self, _data: object, body: dict[str, Any], **_kwargs: object) -> None:
        if ("ids" in body) == ("match" in body):
            raise ValidationError(_("Give either ids or match."), "ids")

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _with_suspension(self, _data: object, body: dict[str, Any], **_kwargs: object) -> None:
        if "unpublish" in body and body.get("decision") != "suspend":
            raise ValidationError(_("Only allowed together with suspend."), "unpublish")

    @validates("match")
    def _not_empty(self, match: dict[str, Any], **_kwargs: object) -> None:
        if not match:
            raise ValidationError(_("Give at least one filter."))


class UsersDecided(Strict):
    """The result of one portion of a decision about many accounts."""

    changed = fields.Integer(
        required=True, metadata={"minimum": 0, "description": "How many accounts were suspended or deleted."}
    )
    remaining = fields.Integer(
        required=True,
        metadata={"minimum": 0, "description": "How many accounts the decision is still about: send it again."},
    )


class Stats(Strict):
    """The numbers of a user's projects and of the votes given and received."""

    projects = fields.Nested(ProjectCounts, required=True)
    upvotes_given = fields.Integer(required=True)
    upvotes_received = fields.Integer(required=True)
    last_submission_at = Timestamp(required=True, allow_none=True)


class UserDetail(UserOutput):
    """An account with its statistics."""

    last_seen_at = Timestamp(required=True, allow_none=True, metadata={"description": LAST_SEEN})
    review_categories = fields.List(
        fields.String(),
        required=True,
        allow_none=True,
        metadata={"description": "The categories that a reviewer may review; null for all, and for every other role."},
    )
    role_source = fields.String(
        required=True,
        metadata={"description": "Who gave the role: `local`, or the name of the provider whose groups give it."},
    )
    deleted_at = Timestamp(required=True, allow_none=True, metadata={"description": DELETED})
    stats = fields.Nested(Stats, required=True)


class StoredToday(Strict):
    """How many bytes of texts and pictures an account has stored since midnight UTC."""

    bytes = fields.Integer(required=True, metadata={"minimum": 0})
    most = fields.Integer(
        required=True, allow_none=True, metadata={"description": "How many it may (MEMBER_BYTES_PER_DAY); null: any."}
    )


class UserProfile(UserDetail):
    """An account with its statistics and the latest twenty audit entries by or about the user, newest first."""

    stored_today = fields.Nested(StoredToday, required=True)
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
