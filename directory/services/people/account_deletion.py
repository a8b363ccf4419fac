"""Deletes an account with most of its rows; live projects and the log stay, under the name `deleted-[id]`.

Members delete their own accounts, administrators and operators those of others, in one transaction with a bounded
number of statements. It locks the account first, as a suspension does: other requests of the same user either end
before, and their rows are deleted too, or are refused. Then it locks the user's projects and those that change, in the
order of their ids, and last the counters that triggers change.
"""

import secrets
from dataclasses import replace
from typing import Any

from sqlalchemy import BigInteger, bindparam, exists, or_, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY

from directory import events
from directory.db.transactions import on_postgresql
from directory.errors import (
    AccountDeleted,
    AdminRequired,
    LastAdmin,
    NotFound,
    TooManyProjects,
    TooManyVotes,
    Unauthenticated,
    Unavailable,
    WrongPassword,
)
from directory.extensions import db, modify
from directory.language.messages import _
from directory.models import LOCAL, AccountStatus, Delivery, Project, Review, Role, Status, Upvote, User, now
from directory.services import audit, daily_bytes, drafts, permissions
from directory.services.accounts import accounts, mail_links, sessions
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.people import kept_reports
from directory.services.review import revisions, submissions, thread
from directory.services.sign_in import ways_in
from directory.services.votes import voting

# The most rows that one request deletes. Both together took 0.6 s on SQLite and 0.9 s on PostgreSQL; on two busy cores
# 1.1 s and 3.0 s.
PROJECTS_MAX, VOTES_MAX = 1_000, 10_000
TOO_MANY_PROJECTS = _(
    "The account has more than {number} pending and rejected projects and changes under review, which is more than one "
    "request deletes, and nothing was changed. Delete some of them, and try again.",
    number=f"{PROJECTS_MAX:,}",
)
TOO_MANY_VOTES = _(
    "The account has voted for more than {number} projects, which is more than one request takes back, and nothing was "
    "changed. Take some votes back, and try again.",
    number=f"{VOTES_MAX:,}",
)
# Nobody but the user can withdraw votes one by one, so the command has no limits.
BY_COMMAND = " Or have an operator run `flask users delete`, which has no such limit."
UNLISTED = (Status.PENDING, Status.REJECTED)

# Includes the user's live projects: a transaction that writes an event with the owner's name ends before the rename, or
# reads the new name.
_LOCK = text(
    "SELECT id FROM projects WHERE id = ANY(:ids) OR owner_id = :owner ORDER BY id FOR NO KEY UPDATE"
).bindparams(bindparam("ids", type_=ARRAY(BigInteger)))


def delete_account(*, by: Caller, known_hash: str, notify: list[Endpoint]) -> None:
    """Delete the caller's account, whose password was just verified against `known_hash`.

    The hash is empty for an account without a password. Sessions, tokens, identities, passkeys, votes, reports,
    revisions, and pending and rejected projects are deleted; live projects stay. Others can take the username and the
    address. The audit log contains ids, not names; titles and texts of projects that are gone are erased from it.
    Raises Unauthenticated, WrongPassword, LastAdmin, TooManyProjects, TooManyVotes, Unavailable.
    """
    target = _lock_own(by, known_hash)
    _delete(target, by=by, affected=_affected(by.id), notify=notify, reason=None)


def delete_user(
    user_id: int, *, by: Caller | None, notify: list[Endpoint], reason: str | None = None, is_limited: bool = True
) -> None:
    """Delete an account as its user would, by an administrator or, if `by` is None, by an operator.

    The log contains who did it, and the reason. An administrator may also delete their own account this way.
    Raises NotFound, AdminRequired, AccountDeleted, LastAdmin, and with `is_limited` TooManyProjects, TooManyVotes.
    """
    target = _lock_other(user_id, by)
    try:
        affected = _affected(user_id, is_limited=is_limited)
    except (TooManyProjects, TooManyVotes) as error:
        raise type(error)(error.detail + BY_COMMAND) from None
    _delete(target, by=by, affected=affected, notify=notify, reason=reason)


def _delete(target: Any, *, by: Caller | None, affected: set[int], notify: list[Endpoint], reason: str | None) -> None:
    """Delete a locked account. `target` has its id and its status."""
    user_id = target.id
    if on_postgresql():
        db.session.execute(_LOCK, {"ids": sorted(affected), "owner": user_id})
    voting.withdraw_all(user_id, are_counted=target.status == AccountStatus.ACTIVE)
    name = _rename(user_id)
    outbox.forget_user(user_id, name)
    if by is not None and by.id == user_id:
        by = replace(by, username=name)
    audit.record(events.USER_DELETED, by=by, user_id=user_id, from_state=target.status, reason=reason)
    gone = audit.gone(user_id, _delete_unlisted(affected, owner_id=user_id, by=by, notify=notify))
    audit.erase(gone)
    outbox.empty(Delivery.project_id.in_(gone))
    revisions.drop_all(user_id, by=by)
    thread.forget_user(user_id)
    kept_reports.forget(user_id)
    drafts.forget_facts(user_id)
    daily_bytes.forget(user_id)
    sessions.end_everything(user_id)
    mail_links.end_all(user_id)
    ways_in.end_all(user_id)
    # Last, because it locks the counts of users, which every registration changes.
    closed = {"role": Role.MEMBER, "role_source": LOCAL, "review_categories": None}
    closed |= {"local_role": None, "local_categories": None}
    closed["status"] = AccountStatus.SUSPENDED
    modify(update(User).where(User.id == user_id).values(closed))


def _lock_own(caller: Caller, known_hash: str) -> Any:
    """Lock the caller's account, whose password was just verified against `known_hash`, and return it.

    Other requests of the caller end before, or are refused. For an administrator the accounts of all active
    administrators are locked, as `administration.administer` locks them.
    Raises Unauthenticated, WrongPassword, LastAdmin, and Unavailable if the caller has just become an administrator.
    """
    admins = accounts.lock_admins_and(caller.id)[0] if permissions.may(caller, "administer") else set()
    user = accounts.locked(caller.id)
    if user.status != AccountStatus.ACTIVE:
        raise Unauthenticated
    if user.password_hash != known_hash:
        raise WrongPassword
    if user.is_admin and caller.id not in admins:
        raise Unavailable
    if admins == {caller.id}:
        raise LastAdmin(_("You are the last active administrator. Make another member one before you leave."))
    accounts.wait_for_requests_of(caller.id)
    return user


def _lock_other(user_id: int, by: Caller | None) -> Any:
    """Lock an account with those of all active administrators, as `administration.administer` does, and return it.

    Raises AdminRequired if the caller has just lost that role; NotFound, AccountDeleted, LastAdmin.
    """
    admins, target = accounts.lock_admins_and(user_id)
    if by is not None and by.id not in admins:
        raise AdminRequired
    if target is None:
        raise NotFound
    if target.deleted_at is not None:
        raise AccountDeleted
    if admins == {user_id}:
        raise LastAdmin(_("The last active administrator cannot be deleted. Make another member one before."))
    accounts.wait_for_requests_of(user_id)
    return target


def _affected(user_id: int, *, is_limited: bool = True) -> set[int]:
    """The ids of the projects that change: to be deleted, with changes that wait, or with a vote or report of the user.

    With `is_limited` it raises TooManyProjects, TooManyVotes.
    """
    revised = select(Review.id).where(Review.project_id == Project.id, Review.is_current).exists()
    unlisted = select(Project.id).where(Project.owner_id == user_id, or_(Project.status.in_(UNLISTED), revised))
    voted = select(Upvote.project_id).where(Upvote.user_id == user_id)
    own = set(db.session.scalars(unlisted.limit(PROJECTS_MAX + 1 if is_limited else None)))
    if is_limited and len(own) > PROJECTS_MAX:
        raise TooManyProjects(TOO_MANY_PROJECTS)
    others = set(db.session.scalars(voted.limit(VOTES_MAX + 1 if is_limited else None)))
    if is_limited and len(others) > VOTES_MAX:
        raise TooManyVotes(TOO_MANY_VOTES)
    return own | others | set(db.session.scalars(kept_reports.reported_by(user_id)))


def _rename(user_id: int) -> str:
    """Rename the account to `deleted-[id]`, remove its address and password, and return the name.

    An account from before such names were reserved may have the name.
    """
    name = f"deleted-{user_id}"
    if db.session.scalar(select(exists().where(or_(User.username == name, User.email == name)))):
        name = f"{name}-{secrets.token_hex(2)}"
    values = {"username": name, "email": name, "password_hash": "", "language": None, "deleted_at": now()}
    modify(update(User).where(User.id == user_id).values(values))
    return name


def _delete_unlisted(locked: set[int], *, owner_id: int, by: Caller | None, notify: list[Endpoint]) -> list[int]:
    """Delete the locked projects that are pending or rejected, and return their ids."""
    columns = select(Project.id, Project.url_key, Project.title, Project.status, Project.category_id)
    query = columns.where(Project.owner_id == owner_id, Project.status.in_(UNLISTED)).order_by(Project.id)
    projects = [project for project in db.session.execute(query) if project.id in locked]
    if projects:
        submissions.delete_each(projects, by=by, notify=notify)
    return [project.id for project in projects]
