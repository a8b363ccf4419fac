"""The votes for a project, as administrators see and judge them."""

from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validates_schema
from marshmallow.validate import Range

from directory.api.schemas.paging import CursorPagination, CursorQuery
from directory.api.schemas.review import Number
from directory.http.fields import Few, Prose, Strict, Timestamp, Word
from directory.models import AccountStatus
from directory.models.base import HIGHEST_ID
from directory.services.vote_review import ACTIONS, RULES

USERS_MAX = 1_000


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


def _number(description: str) -> fields.Integer:
    return fields.Integer(required=True, metadata={"minimum": 0, "description": description})


class VoteSummary(Strict):
    """How many votes for the project there are. The first three make up all of them; the others overlap."""

    counted = _number("That count.")
    discounted = _number("That are discounted, of suspended users too.")
    suspended = _number("Votes of suspended users that are not discounted.")
    new_accounts = _number("Cast when the voter's account was younger than 24 hours.")
    unverified = _number("Of users without a verified e-mail address.")
    single_owner = _number("Of users who have cast two votes or more, all of them for projects of this owner.")


class VotePage(Strict):
    """Votes for a project, newest first, and a summary of all of them."""

    items = fields.List(fields.Nested(ReceivedVote), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
    summary = fields.Nested(VoteSummary, required=True)


class VoteDecisionsInput(Strict):
    """Which votes for a project no longer count, or count again: those of `user_ids`, or those that `match` a rule."""

    rules: ClassVar[dict[str, Any]] = {"oneOf": [{"required": ["user_ids"]}, {"required": ["match"]}]}

    decision = Word(tuple(ACTIONS), required=True)
    user_ids = Few(
        Number(validate=Range(1, HIGHEST_ID, error="An id is a positive whole number.")), 1, USERS_MAX, of="user id"
    )
    match = Few(
        Word(RULES), 1, len(RULES), of="rule", metadata={"description": "Votes to which any of the rules applies."}
    )
    reason = Prose(0, 1000, allow_none=True, metadata={"description": "For the audit log."})

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _one_way(self, _data: object, given: dict[str, Any], **_kwargs: object) -> None:
        if ("user_ids" in given) == ("match" in given):
            raise ValidationError("Give either user_ids or match.", "user_ids")


class VotesDecided(Strict):
    """The result of a decision about votes."""

    changed = fields.Integer(
        required=True, metadata={"minimum": 0, "description": "How many votes were discounted, or discounts lifted."}
    )
    upvotes = fields.Integer(required=True, metadata={"minimum": 0, "description": "How many votes count now."})
