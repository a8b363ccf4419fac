"""The role and status of an account, which also says whether its votes count."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from sqlalchemy import update

from directory import events
from directory.db import deadline
from directory.db.transactions import lift_time_limits
from directory.errors import AccountDeleted, AdminRequired, Invalid, LastAdmin, NotFound
from directory.extensions import modify
from directory.language.messages import _
from directory.models import LOCAL, AccountStatus, Role, User
from directory.services import audit, permissions
from directory.services.accounts import accounts, sessions
from directory.services.catalog import category_slugs, fields
from directory.services.identity import Caller
from directory.services.votes import voting

# The votes of suspended users do not count. A suspension, or its end, changes the counters for all votes of the user in
# one transaction. On two busy cores 10,000 votes take a second or two; for more, the request gets more time.
MANY_VOTES, SECONDS_FOR_MANY = 10_000, 60
Unchanged = Literal["unchanged"]
UNCHANGED: Final = "unchanged"
CHANGED = {"role": events.USER_ROLE_CHANGED, "status": events.USER_STATUS_CHANGED}
OF_REVIEWERS = _("Only a reviewer has categories to review.")


def administer(
    user_id: int,
    *,
    role: str | None,
    status: str | None,
    review_categories: Sequence[str] | Unchanged | None = UNCHANGED,
    by: Caller | None,
    reason: str | None = None,
    lock_owned: bool = False,
    provider: str | None = None,
) -> int:
    """Change another's (or one's own) role or status; there is an active administrator at all times.

    `review_categories` are the slugs of the categories that a reviewer may review, None for all. A new reviewer gets
    all unless it says otherwise, and who is no longer a reviewer loses them.

    It locks the rows of all active administrators in the order of their ids, and checks that the caller is still
    among them. Every weaker check was measured to leave no administrator, or to let a demoted one demote others.
    `by` is None on the operator's command line, and for a `provider` whose groups give the role or, with `role` None,
    no longer give one: then the account has the one given by hand again. The log has that name, and the reason of a new
    status. A new status also locks the projects that the user has voted for and, with `lock_owned`, the user's own, so
    that the calling function can change them.

    With a new status all votes of the user that are not discounted begin to count, or no longer do; it returns how
    many. Raises NotFound, AdminRequired, AccountDeleted, LastAdmin, Invalid.
    """
    admins, target = accounts.lock_admins_and(user_id)
    if by is not None and by.id not in admins:
        raise AdminRequired
    if target is None:
        raise NotFound
    values = _role(target, role, provider) | {"status": status or target.status}
    role, status = values["role"], values["status"]
    if target.deleted_at is not None and (role, status) != (target.role, target.status):
        raise AccountDeleted
    stays = role == Role.ADMIN and status == AccountStatus.ACTIVE
    if admins == {user_id} and not stays:
        raise LastAdmin
    _record_changes(target, {"role": role, "status": status}, by=by, reasons={"status": reason, "role": provider})
    if review_categories != UNCHANGED:
        values["review_categories"] = _chosen(role, review_categories)
    if role == Role.REVIEWER:
        _record_categories(target, values["review_categories"], by=by)
    votes = _change(target, values, lock_owned=lock_owned)
    if status == AccountStatus.SUSPENDED:
        sessions.end_everything(user_id)
    return votes


def _role(target: Any, role: str | None, provider: str | None) -> dict[str, Any]:
    """The columns of the role, its categories, and who gave it; the role given by hand is kept under a provider's."""
    if role is None and provider is None:
        return {"role": target.role, "review_categories": target.review_categories}
    by_hand = {"role_source": LOCAL, "local_role": None, "local_categories": None}
    if role is None:
        return {"role": target.local_role or Role.MEMBER, "review_categories": target.local_categories, **by_hand}
    values = {"role": role, "review_categories": target.review_categories if role == target.role else None}
    if provider is None:
        return values | by_hand
    if target.role_source == LOCAL:
        values |= {"local_role": target.role, "local_categories": target.review_categories}
    return {**values, "role_source": provider}


def _chosen(role: str, slugs: Sequence[str] | None) -> list[int] | None:
    """The ids of the categories that an account is to review; None for all. Raises Invalid."""
    if role != Role.REVIEWER:
        raise Invalid.field("review_categories", OF_REVIEWERS)
    if slugs is None:
        return None
    ids = category_slugs.ids(slugs)
    unknown = [n for n, slug in enumerate(slugs) if slug not in ids]
    if unknown:
        raise Invalid([{"pointer": f"#/review_categories/{n}", "detail": fields.NO_CATEGORY} for n in unknown])
    return sorted({*ids.values()})


def _record_categories(target: Any, after: list[int] | None, *, by: Caller | None) -> None:
    """Log the new categories of a reviewer, by their slugs."""
    before: list[int] | None = target.review_categories
    if before == after:
        return
    change = dict(zip(("from", "to"), permissions.slugs(before, after), strict=True))
    audit.record(events.USER_CATEGORIES_CHANGED, by=by, user_id=target.id, changes={"review_categories": change})


def _change(target: Any, values: dict[str, Any], *, lock_owned: bool) -> int:
    """Give an account its new role and status. Returns how many votes begin to count, or no longer do.

    It first waits for the user's current requests, so that none of them ends with a role that is taken away. The
    account is locked already. Its projects are locked before its row is changed, because the trigger of that row locks
    `user_counts`.
    """
    user_id, status, votes = target.id, values["status"], 0
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


def _record_changes(target: Any, values: dict[str, Any], *, by: Caller | None, reasons: dict[str, str | None]) -> None:
    for name, value in values.items():
        before = getattr(target, name)
        if before != value:
            changed = {"user_id": target.id, "from_state": before, "to_state": value, "reason": reasons[name]}
            audit.record(CHANGED[name], by=by, **changed)
