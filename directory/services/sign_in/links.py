"""Links of the operator, each for one sign-in to an account: for the day on which a provider is down.

A link is a sign-in under way without a provider and a browser, so no answer of a provider can use it up.
"""

import secrets
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, select

from directory import events
from directory.errors import AccountDeleted, AccountSuspended, SignInExpired
from directory.extensions import db, modify
from directory.language.messages import _
from directory.models import AccountStatus, SignInAttempt, User, now
from directory.services import audit
from directory.services.accounts import accounts, sessions
from directory.services.identity import Caller

LIFETIME = timedelta(minutes=10)
EXPIRED = _("This link has been used, or it has expired. Ask the operator for another one.")


def make(user_id: int) -> str:
    """The token of a new link to an account. Raises NotFound, AccountDeleted, AccountSuspended."""
    _require_active(accounts.locked(user_id))
    token = secrets.token_urlsafe(32)
    details = {"browser_hash": "", "provider": "", "next_path": "/", "expires_at": now() + LIFETIME}
    db.session.add(SignInAttempt(state_hash=sessions.digest(token), user_id=user_id, **details))
    return token


def user_of(token: str) -> User:
    """The account that a link signs in to. The link stays as it is. Raises SignInExpired."""
    return accounts.get(_account_of(token))


def sign_in(token: str, *, user_agent: str) -> tuple[User, str]:
    """The account of a link, which is used up, and the secret of a new session. Raises SignInExpired, AccountSuspended.

    Of two requests with the same link the second waits for the account, and then finds the link used up.
    """
    user = accounts.locked(_account_of(token))
    if not modify(delete(SignInAttempt).where(*_is_link(token))):
        raise SignInExpired(EXPIRED)
    _require_active(user)
    audit.record(events.USER_SIGNED_IN_BY_LINK, by=Caller(user.id, user.username, user.role), user_id=user.id)
    return user, sessions.begin(user.id, user_agent=user_agent)


def _account_of(token: str) -> int:
    user_id = db.session.scalar(select(SignInAttempt.user_id).where(*_is_link(token)))
    if user_id is None:
        raise SignInExpired(EXPIRED)
    return user_id


def _is_link(token: str) -> tuple[ColumnElement[bool], ...]:
    works = SignInAttempt.expires_at > now()
    return SignInAttempt.state_hash == sessions.digest(token), SignInAttempt.provider == "", works


def _require_active(user: User) -> None:
    if user.deleted_at is not None:
        raise AccountDeleted
    if user.status == AccountStatus.SUSPENDED:
        raise AccountSuspended
