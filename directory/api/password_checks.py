"""Views that check or hash a password: few of them at once, guesses slowed down, and one's own password asked again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from flask import current_app

from directory.db import deadline, slots
from directory.db.fair_semaphore import FairSemaphore
from directory.db.slots import given_back
from directory.errors import InvalidCredentials, Unauthenticated, Unavailable, WrongPassword
from directory.http import account_limits
from directory.http.account_limits import Attempt
from directory.http.authentication import caller
from directory.http.validation import Errors
from directory.models import User
from directory.services.accounts import accounts
from directory.services.accounts.passwords import AT_ONCE
from directory.services.sign_in import identities

# Twice as many as can hash, which keeps these busy. More at once would delay every read by the work before a hash.
DOOR = 2 * AT_ONCE
_door = FairSemaphore(DOOR)

# The most attempts that a process delays at the same time; further ones are not delayed. A delay that gives its slot
# back costs a thread that waits. With gunicorn's own worker it holds one of the threads that serve: at most a quarter
# of them, each for a short time.
DELAYED_MAX = 64
HELD_SECONDS = 0.25
_delayed, _delayed_lock = [0], Lock()
sleep = time.sleep


class Place:
    """A caller's place among the few."""

    def __init__(self) -> None:
        self._is_in = False

    def enter(self, *, again: bool = False) -> None:
        """Wait to be let in after those that wait already; `again` before them. Raises Unavailable."""
        if not _door.acquire(0) and not _let_in(again):
            raise Unavailable
        self._is_in = True

    def leave(self) -> None:
        """Let the next caller in, unless the place was left before."""
        if self._is_in:
            self._is_in = False
            _door.release()

    @contextmanager
    def guessing(self, attempt: Attempt) -> Iterator[None]:
        """Delay the block as long as an attempt has to wait, and count it where the block finds the password wrong.

        Meanwhile others get the place. Then the caller gets the next free one, before all callers that came later.
        Raises Unavailable.
        """
        if attempt.delay:
            self.leave()
            _delay(attempt.delay)
            self.enter(again=True)
        try:
            yield
        except (InvalidCredentials, WrongPassword):
            account_limits.count_failure()
            raise
        account_limits.remember_address()
        account_limits.give_back()


@contextmanager
def among_few() -> Iterator[Place]:
    """Let few callers at once into the block, or into the view that it decorates; the others wait without a slot.

    A view has it within `operation`, which counts the request first: a caller over the limit waits for none of this.
    Raises Unavailable if the wait takes all of a request's time.
    """
    place = Place()
    place.enter()
    try:
        yield place
    finally:
        place.leave()


def _let_in(again: bool) -> bool:
    accounts.release()  # the caller's session may have been looked up; its connection goes to others during the wait
    with given_back():
        return _door.acquire(deadline.remaining(deadline.SECONDS), first=again)


def _delay(seconds: float) -> None:
    """Wait without a slot, or not at all if too many wait already."""
    gives_back = slots.current.get() is not None
    at_most = DELAYED_MAX if gives_back else max(1, current_app.config["THREADS"] // 4)
    with _delayed_lock:
        if _delayed[0] >= at_most:
            return
        _delayed[0] += 1
    try:
        accounts.release()
        with given_back():
            sleep(deadline.remaining(seconds if gives_back else min(seconds, HELD_SECONDS)))
    finally:
        with _delayed_lock:
            _delayed[0] -= 1


def missing_password(body: dict[str, Any], detail: str) -> Errors:
    """The error of a body that lacks the caller's present password; an account without one needs none."""
    is_missing = "current_password" not in body and accounts.get(caller().id).password_hash
    return [{"pointer": "#/current_password", "detail": detail}] if is_missing else []


def confirm_password(given: str | None) -> User:
    """The caller's account, if `given` is its password: checked outside any transaction, and counted as a login is.

    An account without a password is confirmed by a session that was opened minutes ago.
    Raises Unauthenticated, WrongPassword, RateLimited, Unavailable, SignInAgain.
    """
    user = accounts.get(caller().id)
    if user.deleted_at is not None:  # by another request since this one was authenticated; it has no password any more
        raise Unauthenticated
    if given is None:
        identities.require_fresh_session(caller())
        return user
    attempt = account_limits.guess_at_own_password(user.username, user.id)
    accounts.release()
    with among_few() as place, place.guessing(attempt):
        accounts.require_password(user.password_hash, given)
    return user
