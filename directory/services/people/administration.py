"""The role and status of an account, which also says whether its votes count."""

from typing import Any

from sqlalchemy import update

from directory.db import deadline
from directory.db.transactions import lift_time_limits
from directory.errors import AccountDeleted, AdminRequired, LastAdmin, NotFound
from directory.extensions import modify
from directory.models import AccountStatus, Role, User
from directory.services import audit
from directory.services.accounts import accounts, sessions
from directory.services.identity import Caller
from directory.services.votes import voting

# The votes of suspended users do not count. A suspension, or its end, changes the counters for all votes of the user in
# one transaction. On two busy cores 10,000 votes take a second or two; for more, the request gets more time.
MANY_VOTES, SECONDS_FOR_MANY = 10_000, 60


def administer(
    user_id: int,
    *,
    role: str | None,
    status: str | None,
    by: Caller | None,
    reason: str | None = None,
    lock_owned: bool = False,
) -> int:
    """Change another's (or one's own) role or status; there is an active administrator at all times.

    It locks the rows of all active administrators in the order of their ids, and checks that the caller is still
    among them. Every weaker check was measured to leave no administrator, or to let a demoted one demote others.
    `by` is None on the operator's command line. The reason of a new status goes into the log. A new status also locks
    the projects that the user has voted for and, with `lock_owned`, the user's own, so that the calling function can
    change them.

    With a new status all votes of the user that are not discounted begin to count, or no longer do; it returns how
    many. Raises NotFound, AdminRequired, AccountDeleted, LastAdmin.
    """
    admins, target = accounts.lock_admins_and(user_id)
    if by is not None and by.id not in admins:
        raise AdminRequired
    if target is None:
        raise NotFound
    role, status = role or target.role, status or target.status
    if target.deleted_at is not None and (role, status) != (target.role, target.status):
        raise AccountDeleted
    stays = role == Role.ADMIN and status == AccountStatus.ACTIVE
    if admins == {user_id} and not stays:
        raise LastAdmin
    values = {"role": role, "status": status}
    _record_changes(target, values, by=by, reason=reason)
    votes = _change(target, values, lock_owned=lock_owned)
    if status == AccountStatus.SUSPENDED:
        sessions.end_everything(user_id)
    return votes


def _change(target: Any, values: dict[str, str], *, lock_owned: bool) -> int:
    """Give an account its new role and status. Returns how many votes begin to count, or no longer do.

    A suspension first waits for the user's current requests. The account is locked already. Its projects are locked
    before its row is changed, because the trigger of that row locks `user_counts`.
    """
    user_id, status, votes = target.id, values["status"], 0
    if status == AccountStatus.SUSPENDED:
        accounts.wait_for_requests_of(user_id)
    if status != target.status:
        voting.lock_projects(user_id, owned=lock_owned)
        votes = voting.counted_of(user_id)
        if votes > MANY_VOTES:
            deadline.extend(SECONDS_FOR_MANY)
            lift_time_limits()
    modify(update(User).where(User.id == user_id).values(values))
    if status != target.status:
        voting.follow_status(user_id, status)
    return votes


def _record_changes(target: Any, values: dict[str, str], *, by: Caller | None, reason: str | None) -> None:
    for name, value in values.items():
        before = getattr(target, name)
        if before != value:
            why = reason if name == "status" else None
            changed = {"user_id": target.id, "from_state": before, "to_state": value, "reason": why}
            audit.record(f"user.{name}_changed", by=by, **changed)
