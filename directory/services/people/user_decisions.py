"""Decisions about many accounts: each is suspended or deleted as a single one is, some of them in one transaction.

A transaction first locks what the decisions about its accounts lock one by one, in the same order: all accounts, all
projects, then the counters of these. So it deadlocks with nothing that a decision about one account does not. No
decision is about an administrator, or about the caller.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select

from directory.errors import DirectoryError, TooManyProjects, TooManyVotes
from directory.extensions import db
from directory.models import AccountStatus, Project, Role, User
from directory.services.accounts import accounts, users
from directory.services.catalog import counters
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.people import account_deletion, administration
from directory.services.review import takedown
from directory.services.votes import voting

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


def decide_some(decision: Decision, user_ids: Sequence[int], seconds: float) -> tuple[int, int]:
    """Apply the decision to some of the accounts, in the current transaction, until that has taken so many seconds.

    The accounts are locked, and then compared with the filters again. Returns how many were changed, and the id up to
    which the decision is made. Raises AdminRequired, TooManyProjects, TooManyVotes.
    """
    give_up_at = time.monotonic() + seconds
    accounts.lock_admins_and(*user_ids)
    still = select(User.id).where(User.id.in_(user_ids), *_conditions(decision)).order_by(User.id)
    ids = list(db.session.scalars(still))
    if len(ids) > 1:
        _lock(decision, ids)
    for changed, user_id in enumerate(ids):
        if changed and time.monotonic() >= give_up_at:
            return changed, ids[changed - 1]
        _decide(decision, user_id)
    return len(ids), user_ids[-1]


def _lock(decision: Decision, user_ids: list[int]) -> None:
    """Lock what the decisions about several accounts change, as a decision about one does."""
    accounts.wait_for_requests_of(*user_ids)
    deletes = decision.decision == "delete"
    projects = voting.lock_projects(*user_ids, owned=deletes or decision.unpublish)
    if deletes or decision.unpublish:
        counters.lock(projects, deleting=deletes)


def _decide(decision: Decision, user_id: int) -> None:
    by, reason = decision.by, decision.reason
    if decision.decision == "delete":
        account_deletion.delete_user(user_id, by=by, notify=decision.notify, reason=reason, is_limited=by is not None)
        return
    suspended = AccountStatus.SUSPENDED
    administration.administer(user_id, role=None, status=suspended, by=by, reason=reason, lock_owned=decision.unpublish)
    if decision.unpublish:
        takedown.take_down(user_id, by=by, notify=decision.notify, reason=reason)


def is_skipped(error: DirectoryError) -> bool:
    """Whether a decision about many leaves out the account that was refused: it has too much for one transaction."""
    return isinstance(error, TooManyProjects | TooManyVotes)


def _conditions(decision: Decision) -> list[ColumnElement[bool]]:
    """Which accounts the decision is about, and not yet made for."""
    conditions: list[Any] = [
        User.stored_role != Role.ADMIN,
        User.deleted_at.is_(None),
        users.condition(decision.filters),
    ]
    if decision.ids is not None:
        conditions.append(User.id.in_(decision.ids))
    if decision.by is not None:
        conditions.append(User.id != decision.by.id)
    if decision.decision == "suspend":
        has_open = select(Project.id).where(Project.owner_id == User.id, Project.status.in_(takedown.OPEN)).exists()
        active = User.status == AccountStatus.ACTIVE
        conditions.append(or_(active, has_open) if decision.unpublish else active)
    return conditions
