"""Decisions about many accounts: each is suspended or deleted as a single one is, in a transaction of its own.

So each locks what a decision about one account locks, in the same order, and nothing waits for the whole. No decision
is about an administrator, or about the caller.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select

from directory.errors import DirectoryError, TooManyProjects, TooManyVotes
from directory.extensions import db
from directory.models import AccountStatus, Project, Role, User
from directory.services.accounts import account_deletion, accounts, users
from directory.services.accounts.identity import Caller
from directory.services.delivery.channels import Endpoint
from directory.services.review import takedown

DECISIONS = ("suspend", "delete")
AT_ONCE = 1_000  # the most accounts that one request decides about


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision: `suspend`, with `unpublish` also what the users have submitted, or `delete`.

    It is about the accounts of `ids`, or about those that match `filters`. `by` is None for a command of the operator,
    which has no limits on an account's projects and votes.
    """

    decision: str
    filters: users.Filters
    ids: tuple[int, ...] | None = None
    by: Caller | None
    notify: list[Endpoint]
    unpublish: bool = False
    reason: str | None = None


def waiting(decision: Decision, most: int | None = None, after: int = 0) -> list[int]:
    """The ids of the accounts that the decision is still about, lowest first: at most `most`, above `after`."""
    query = select(User.id).where(*_conditions(decision), User.id > after).order_by(User.id)
    return list(db.session.scalars(query.limit(most)))


def remaining(decision: Decision) -> int:
    """How many accounts the decision is still about."""
    return db.session.scalar(select(func.count()).select_from(User).where(*_conditions(decision))) or 0


def decide_one(decision: Decision, user_id: int) -> bool:
    """Apply the decision to one of the accounts, in the current transaction. Returns whether it still was about it.

    The account is locked, and then compared with the filters again. Raises AdminRequired, TooManyProjects,
    TooManyVotes.
    """
    accounts.lock_admins_and(user_id)
    if not db.session.scalar(select(User.id).where(User.id == user_id, *_conditions(decision))):
        return False
    by, reason = decision.by, decision.reason
    if decision.decision == "delete":
        account_deletion.delete_user(user_id, by=by, notify=decision.notify, reason=reason, is_limited=by is not None)
        return True
    suspended = AccountStatus.SUSPENDED
    accounts.administer(user_id, role=None, status=suspended, by=by, reason=reason, lock_owned=decision.unpublish)
    if decision.unpublish:
        takedown.take_down(user_id, by=by, notify=decision.notify, reason=reason)
    return True


def is_skipped(error: DirectoryError) -> bool:
    """Whether a decision about many leaves out the account that was refused: it has too much for one transaction."""
    return isinstance(error, TooManyProjects | TooManyVotes)


def _conditions(decision: Decision) -> list[ColumnElement[bool]]:
    """Which accounts the decision is about, and not yet made for."""
    found: list[Any] = [User.role == Role.MEMBER, User.deleted_at.is_(None), users.condition(decision.filters)]
    if decision.ids is not None:
        found.append(User.id.in_(decision.ids))
    if decision.by is not None:
        found.append(User.id != decision.by.id)
    if decision.decision == "suspend":
        has_open = select(Project.id).where(Project.owner_id == User.id, Project.status.in_(takedown.OPEN)).exists()
        active = User.status == AccountStatus.ACTIVE
        found.append(or_(active, has_open) if decision.unpublish else active)
    return found
