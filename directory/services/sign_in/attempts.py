"""Sign-ins under way. Each belongs to one browser and one provider, ends after ten minutes, and is used once.

The state goes to the provider and back; the database holds its hash. A cookie holds a secret of the browser.
"""

import secrets
from datetime import timedelta

from sqlalchemy import ColumnElement, delete, select

from directory.extensions import UNSYNCHRONISED, db, modify
from directory.language.messages import _
from directory.models import SignInAttempt, now
from directory.services.accounts.sessions import digest
from directory.services.clock import database_clock
from directory.services.deleting import delete_some
from directory.services.sign_in.refusals import SignInExpired

LIFETIME = timedelta(minutes=10)
LINK_EXPIRED = _("This link has been used, or it has expired. Ask the operator for another one.")


def begin(provider: str, browser: str, next_path: str, user_id: int | None, *, mark: str) -> str:
    """Note a sign-in that a browser begins, and return its state, which ends with the mark."""
    state = secrets.token_urlsafe(32) + mark
    attempt = SignInAttempt(
        state_hash=digest(state),
        browser_hash=digest(browser),
        provider=provider,
        next_path=next_path,
        user_id=user_id,
        expires_at=now() + LIFETIME,
    )
    db.session.add(attempt)
    return state


def take(state: str, provider: str, browser: str) -> tuple[str, int | None]:
    """Use a sign-in up, and return the path to go on to, and the account that asked to be joined; None for a sign-in.

    Raises SignInExpired for all but the first, and for another browser.
    """
    begun = delete(SignInAttempt).where(
        SignInAttempt.state_hash == digest(state),
        SignInAttempt.browser_hash == digest(browser),
        SignInAttempt.provider == provider,
        SignInAttempt.expires_at > now(),
    )
    used = begun.returning(SignInAttempt.next_path, SignInAttempt.user_id)
    found = db.session.execute(used, execution_options=UNSYNCHRONISED).one_or_none()
    if found is None:
        raise SignInExpired
    return found.next_path, found.user_id


def begin_by_link(user_id: int) -> str:
    """Note that the holder of a link may sign in to an account once, and return the link's token.

    Its row has no provider and no browser, so no answer of a provider can use it up.
    """
    token = secrets.token_urlsafe(32)
    attempt = SignInAttempt(state_hash=digest(token), browser_hash="", provider="", next_path="/", user_id=user_id)
    attempt.expires_at = now() + LIFETIME
    db.session.add(attempt)
    return token


def of_link(token: str) -> int:
    """The account that a link signs in to. The link stays as it is. Raises SignInExpired."""
    user_id = db.session.scalar(select(SignInAttempt.user_id).where(*_is_link(token)))
    if user_id is None:
        raise SignInExpired(LINK_EXPIRED)
    return user_id


def take_link(token: str) -> None:
    """Use a link up. Raises SignInExpired for all but the first."""
    if not modify(delete(SignInAttempt).where(*_is_link(token))):
        raise SignInExpired(LINK_EXPIRED)


def _is_link(token: str) -> tuple[ColumnElement[bool], ...]:
    works = SignInAttempt.expires_at > now()
    return SignInAttempt.state_hash == digest(token), SignInAttempt.provider == "", works


def purge(most: int) -> int:
    """Delete at most `most` sign-ins that have expired, and return how many."""
    return delete_some(SignInAttempt, SignInAttempt.expires_at < database_clock(), most)
