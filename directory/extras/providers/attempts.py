"""Sign-ins under way. Each belongs to one browser and one provider, ends after ten minutes, and is used once.

The state goes to the provider and back; the database holds its hash. A cookie holds a secret of the browser.
"""

import secrets
from datetime import timedelta

from sqlalchemy import delete

from directory.errors import SignInExpired
from directory.extensions import UNSYNCHRONISED, db
from directory.models import SignInAttempt, now
from directory.services.accounts.sessions import digest

LIFETIME = timedelta(minutes=10)


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
    attempt = db.session.execute(used, execution_options=UNSYNCHRONISED).one_or_none()
    if attempt is None:
        raise SignInExpired
    return attempt.next_path, attempt.user_id
