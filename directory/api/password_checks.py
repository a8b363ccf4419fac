"""Views that check or hash a password: few of them at once, and one's own password asked for once more."""

from collections.abc import Callable
from functools import wraps
from threading import BoundedSemaphore
from typing import Any

from directory.db import deadline
from directory.db.slots import given_back
from directory.errors import Unavailable
from directory.http import account_limits
from directory.http.authentication import caller
from directory.models import User
from directory.services.accounts import accounts
from directory.services.accounts.passwords import AT_ONCE
from directory.services.sign_in import identities

# Twice as many as can hash: that keeps these busy. What the others do before, all at once, would hold up every read.
DOOR = 2 * AT_ONCE
_door = BoundedSemaphore(DOOR)


def few_at_once(view: Callable[..., Any]) -> Callable[..., Any]:
    """Let few callers at once into a view that hashes a password; the others wait without a slot.

    It stands within `operation`, which counts the request first: a caller over the limit waits for none of this.
    Raises Unavailable where the wait takes all of a request's time.
    """

    @wraps(view)
    def run(**arguments: Any) -> Any:
        if not _door.acquire(blocking=False) and not _let_in():
            raise Unavailable
        try:
            return view(**arguments)
        finally:
            _door.release()

    return run


def _let_in() -> bool:
    accounts.release()  # the caller's session may have been looked up; its connection goes to others during the wait
    with given_back():
        return _door.acquire(timeout=deadline.remaining(deadline.SECONDS))


def lacks_password(body: dict[str, Any]) -> bool:
    """Whether a body lacks the caller's present password; an account without one needs none."""
    return "current_password" not in body and bool(accounts.get(caller().id).password_hash)


def confirm_password(given: str | None) -> User:
    """The caller's account, if `given` is its password: checked outside any transaction, and counted as a login is.

    An account without a password is confirmed by a session that was opened minutes ago.
    Raises WrongPassword, RateLimitExceeded, SignInAgain.
    """
    user = accounts.get(caller().id)
    if given is None:
        identities.require_fresh_session(caller())
        return user
    account_limits.guess_at_own_password(user.username, user.id)
    accounts.release()
    accounts.require_password(user.password_hash, given)
    return user
