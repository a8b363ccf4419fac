"""Conditions for votes that count: those of active users that no administrator has discounted. All rows stay."""

from sqlalchemy import ColumnElement, and_, exists
from sqlalchemy.orm import aliased

from directory.models import AccountStatus, Upvote, User, VoteDiscount

_Voter = aliased(User)  # so that a query may join the users too

# Conditions on a row of `upvotes`.
DISCOUNTED: ColumnElement[bool] = exists().where(
    VoteDiscount.user_id == Upvote.user_id, VoteDiscount.project_id == Upvote.project_id
)
COUNTS: ColumnElement[bool] = and_(
    exists().where(_Voter.id == Upvote.user_id, _Voter.status == AccountStatus.ACTIVE), ~DISCOUNTED
)
