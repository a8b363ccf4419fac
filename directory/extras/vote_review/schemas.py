"""The schemas of who voted, of the signs of doubtful votes, and of decisions which votes count."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates_schema

from directory.api.schemas.paging import CursorPagination, CursorQuery, Pagination
from directory.api.schemas.projects import ProjectOutput
from directory.extras.vote_review.decisions import ACTIONS, RULES
from directory.http.fields import NO_ID, Few, Number, Prose, Strict, Timestamp, Whole, Within, Word
from directory.language.messages import _
from directory.models import AccountStatus
from directory.models.base import HIGHEST_ID

USERS_MAX = 1_000


def _number(description: str) -> fields.Integer:
    return fields.Integer(required=True, metadata={"minimum": 0, "description": description})


# The numbers of votes with each sign.
NEW_ACCOUNTS = _number("Cast when the voter's account was younger than 24 hours.")
UNVERIFIED = _number("Of users without a verified e-mail address.")
SINGLE_OWNER = _number("Of users who have cast two votes or more, all of them for projects of this owner.")


class VotesQuery(CursorQuery):
    """Which votes for a project."""

    counted = Word(("true", "false"), metadata={"description": "Only votes that count, or only the others."})


class Voter(Strict):
    """The voter."""

    id = fields.Integer(required=True)
    username = fields.String(required=True)
    status = Word(tuple(AccountStatus), required=True)
    created_at = Timestamp(required=True)
    email_verified = fields.Boolean(required=True)


class ReceivedVote(Strict):
    """A vote for the project."""

    user = fields.Nested(Voter, required=True)
    at = Timestamp(required=True)
    counted = fields.Boolean(
        required=True, metadata={"description": "Whether it counts: the voter is active, and it is not discounted."}
    )
    votes = fields.Integer(required=True, metadata={"description": "How many votes the user has cast in all."})
    for_owner = fields.Integer(
        required=True, metadata={"description": "How many of them are for projects of this project's owner."}
    )


class VoteSummary(Strict):
    """How many votes for the project there are. The first three make up all of them; the others overlap."""

    counted = _number("That count.")
    discounted = _number("That are discounted, of suspended users too.")
    suspended = _number("Votes of suspended users that are not discounted.")
    new_accounts, unverified, single_owner = NEW_ACCOUNTS, UNVERIFIED, SINGLE_OWNER


class VotePage(Strict):
    """Votes for a project, newest first, and a summary of all of them."""

    items = fields.List(fields.Nested(ReceivedVote), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
    summary = fields.Nested(VoteSummary, required=True)


class DoubtfulQuery(Strict):
    """A page of the projects with doubtful votes."""

    page = Whole(1, 10_000)
    limit = Whole(1, 100, load_default=20, metadata={"default": 20})


class DoubtfulProject(ProjectOutput):
    """A live project with the numbers of its recent votes. Those of the signs overlap."""

    counted = _number("The recent votes that count.")
    doubtful = _number("Those of them with a sign. `unverified` is one where the service sends mail.")
    new_accounts, unverified, single_owner = NEW_ACCOUNTS, UNVERIFIED, SINGLE_OWNER
    is_above = fields.Boolean(
        required=True,
        metadata={"description": "Whether the share of votes with a sign is over that of all these recent votes."},
    )


class DoubtfulPage(Strict):
    """Live projects with doubtful votes, the most doubtful first."""

    items = fields.List(fields.Nested(DoubtfulProject), required=True)
    pagination = fields.Nested(Pagination, required=True)


class VoteDecisionsInput(Strict):
    """Which votes for a project no longer count, or count again: those of `user_ids`, or those that `match` a rule."""

    rules: ClassVar[dict[str, Any]] = {"oneOf": [{"required": ["user_ids"]}, {"required": ["match"]}]}

    decision = Word(tuple(ACTIONS), required=True)
    user_ids = Few(Number(validate=Within(1, HIGHEST_ID, error=NO_ID)), 1, USERS_MAX, of="user id")
    match = Few(
        Word(RULES), 1, len(RULES), of="rule", metadata={"description": "Votes to which any of the rules applies."}
    )
    reason = Prose(0, 1000, allow_none=True, metadata={"description": "For the audit log."})

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _one_way(self, _data: object, body: dict[str, Any], **_kwargs: object) -> None:
        if ("user_ids" in body) == ("match" in body):
            raise ValidationError(_("Give either user_ids or match."), "user_ids")


class VotesDecided(Strict):
    """The result of a decision about votes."""

    changed = fields.Integer(
        required=True, metadata={"minimum": 0, "description": "How many votes were discounted, or discounts lifted."}
    )
    upvotes = fields.Integer(required=True, metadata={"minimum": 0, "description": "How many votes count now."})
