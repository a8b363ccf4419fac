"""Conditions for votes that count: those of active users that no administrator has discounted. All rows stay."""

from typing import Any

from sqlalchemy import ColumnElement, and_, exists
from sqlalchemy.orm import aliased

from directory.models import AccountStatus, Upvote, User, VoteDiscount

_Voter = aliased(User)  # so that a query may join the users too


def is_discounted(vote: Any) -> ColumnElement[bool]:
    """Whether an administrator has discounted a row of `upvotes`, or of an alias of it."""
    return exists().where(VoteDiscount.user_id == vote.user_id, VoteDiscount.project_id == vote.project_id)


def counts(vote: Any) -> ColumnElement[bool]:
    """Whether a row of `upvotes`, or of an alias of it, counts."""
    is_active = exists().where(_Voter.id == vote.user_id, _Voter.status == AccountStatus.ACTIVE)
    return and_(is_active, ~is_discounted(vote))


# Conditions on a row of `upvotes`.
DISCOUNTED: ColumnElement[bool] = is_discounted(Upvote)
COUNTS: ColumnElement[bool] = counts(Upvote)
