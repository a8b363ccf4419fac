"""Views that check or hash a password: few of them at once, guesses slowed down, and one's own password asked again."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Event, Lock
from typing import Any

from flask import current_app

from directory.db import deadline, slots
from directory.db.slots import given_back
from directory.errors import InvalidCredentials, PasswordsOff, Unauthenticated, Unavailable, WrongPassword
from directory.http import account_limits
from directory.http.authentication import caller
from directory.http.validation import Errors
from directory.language.messages import _
from directory.models import User
from directory.services.accounts import accounts, sessions
from directory.services.accounts.passwords import AT_ONCE


class FairSemaphore:
    """Admits `size` callers at a time. In the standard library's semaphore newcomers overtake waiting callers."""

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._free = size
        self._waiting: deque[Event] = deque()

    def acquire(self, seconds: float) -> bool:
        """Enter, or wait for at most `seconds`; return whether the caller was admitted."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = Event()
            self._waiting.append(turn)
        if turn.wait(seconds):
            return True
        with self._lock:
            if turn.is_set():  # admitted just after the wait ended
                return True
            self._waiting.remove(turn)
            return False

    def release(self) -> None:
        """Leave, and admit the next caller."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


# Twice as many as can hash, which keeps these busy. More at once would delay every read by the work before a hash.
DOOR = 2 * AT_ONCE
_door = FairSemaphore(DOOR)

# The most answers that a process withholds at the same time, each in a thread; further ones are not withheld.
WITHHELD_MAX = 64
_withheld = BoundedSemaphore(WITHHELD_MAX)
sleep = time.sleep
UNUSED = _("Passwords are not used here. Leave it out.")


@contextmanager
def among_few() -> Iterator[None]:
    """Let few callers at once into the block, or into the view that it decorates; the others wait without a slot.

    A view has it within `operation`, which counts the request first: a caller over the limit waits for none of this.
    Raises Unavailable if the wait takes all of a request's time.
    """
    if not _door.acquire(0) and not _let_in():
        raise Unavailable
    try:
        yield
    finally:
        _door.release()


@contextmanager
def guessing() -> Iterator[None]:
    """Let few callers at once into the block, which counts a guess (`account_limits`) and checks its password.

    A wrong password counts as a failure, and the answer waits for the turn of the guess. Raises Unavailable.
    """
    try:
        with among_few():
            yield
    except (InvalidCredentials, WrongPassword):
        account_limits.count_failure()
        _withhold(account_limits.seconds_to_turn())
        raise
    account_limits.remember_address()
    account_limits.give_back()


def _let_in() -> bool:
    accounts.release()  # the caller's session may have been looked up; its connection goes to others during the wait
    with given_back():
        return _door.acquire(deadline.remaining(deadline.SECONDS))


def _withhold(seconds: float) -> None:
    """Wait without a slot. Under gunicorn's own worker, which has none, the wait would hold a thread: it is left out.

    Turns limit the guesses, whether or not their answers wait.
    """
    if seconds and slots.current.get() is not None and _withheld.acquire(blocking=False):
        try:
            accounts.release()
            with given_back():
                sleep(deadline.remaining(seconds))
        finally:
            _withheld.release()


def are_on() -> bool:
    """Whether accounts are signed in to by passwords (PASSWORDS)."""
    return bool(current_app.config["PASSWORDS"] == "on")


def require_passwords(**_path: Any) -> None:
    """Raise PasswordsOff where nobody signs in by a password."""
    if not are_on():
        raise PasswordsOff


def missing_password(body: dict[str, Any], detail: str) -> Errors:
    """The error of a body that lacks the caller's present password, or that has one where passwords are off.

    An account without a password needs none.
    """
    if not are_on():
        return [{"pointer": "#/current_password", "detail": UNUSED}] if "current_password" in body else []
    is_missing = "current_password" not in body and accounts.get(caller().id).password_hash
    return [{"pointer": "#/current_password", "detail": detail}] if is_missing else []


def confirm_password(password: str | None) -> User:
    """The caller's account, if `password` is its password: checked outside any transaction, and counted as a login is.

    An account without a password, and each where passwords are off, is confirmed by a session that was opened minutes
    ago.
    Raises Unauthenticated, WrongPassword, RateLimited, Unavailable, SignInAgain.
    """
    user = accounts.get(caller().id)
    if user.deleted_at is not None:  # by another request since this one was authenticated; it has no password any more
        raise Unauthenticated
    if password is None or not are_on():
        sessions.require_fresh(caller())
        return user
    account_limits.guess_at_own_password(user.username, user.id)
    accounts.release()
    with guessing():
        accounts.require_password(user.password_hash, password)
    return user
