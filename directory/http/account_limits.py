"""Limits of accounts: guesses at a password, links that any caller has mailed, and what a member stores in a day."""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from flask import current_app, g
from sqlalchemy import event
from sqlalchemy.orm import Session

from directory.errors import DayIsFull, RateLimited
from directory.extensions import db
from directory.http import rate_limits
from directory.http.exchange import current
from directory.models import now
from directory.services import daily_bytes, permissions
from directory.services.accounts.accounts import canonical_login

log = logging.getLogger(__name__)
UNBOUND = 2**62  # bytes
GUESSES = ("auth", "account", "password")  # the limits that count a guess at a password

# A login has so many failures an hour, from any addresses, before guesses take turns: half of the hundred of an account
# that has two logins. If both counted together, a turn would reveal which e-mail address belongs to which username.
FREE_FAILURES = 50
# The seconds between two turns at a login: after FREE_FAILURES, at most, and the failures after which they double.
FIRST_PAUSE, LONGEST_PAUSE, DOUBLED_EVERY = 0.25, 4.0, 10


def guess_at_login(login: str, account_id: int | None) -> bool:
    """Count a guess at the password of a login, and return whether the password may be checked. Raises RateLimited.

    The limit that refuses with 429 counts the login, not the account. If it counted the account, five wrong logins by
    username and one by e-mail address would reveal whether the two belong together. A second limit counts the account
    under either name, so that two names do not allow more guesses. Over this limit the password may not be checked: the
    caller treats the account as unknown, and answers as for a wrong password, even if it is right. An unknown login is
    counted in the same way, so that the time reveals nothing.
    """
    exchange = current()
    exchange.login, exchange.account_id = canonical_login(login), account_id
    # The headers of a login show no limit of an account: only `auth`, or the limit that refuses.
    rate_limits.hit("account", shown=False)
    _take_turn("first" if rate_limits.hits("account") <= 1 else "again")
    return _spent("password")


def guess_at_own_password(username: str, account_id: int) -> None:
    """Count a guess at the caller's own password like a guess at a login. Raises RateLimited."""
    exchange = current()
    exchange.login, exchange.account_id = username, account_id
    for tier in GUESSES:
        rate_limits.hit(tier)
    _take_turn("own")


def _take_turn(line: str) -> None:
    """Give the guess a turn, if this login has many failures in the last hour, from any addresses. Raises RateLimited.

    The turns of a line are a pause apart, which grows with the failures, however many addresses guess. A wrong password
    is answered at its turn (`seconds_to_turn`), a right one at once. A guess whose turn would be too late gets none.

    Guesses do not lock the owner out: an address from which this login has succeeded needs no turn, and those who try
    for the first time in some minutes, those who try again, and those who are signed in do not wait for one another.
    """
    failures = rate_limits.hits("failures")
    if failures < FREE_FAILURES or rate_limits.hits("signed_in"):
        return
    pause = min(FIRST_PAUSE * 2 ** ((failures - FREE_FAILURES) // DOUBLED_EVERY), LONGEST_PAUSE)
    wait = rate_limits.reserve("failures", line, pause, at_most=LONGEST_PAUSE)
    if wait > LONGEST_PAUSE:
        raise RateLimited(math.ceil(wait - LONGEST_PAUSE), "failures")
    current().seconds_to_turn = wait


def seconds_to_turn() -> float:
    """The seconds until the turn of this request's guess; 0 if it needs none."""
    return current().seconds_to_turn


def count_failure() -> None:
    """Count a wrong password for its login, from any address."""
    _spent("failures")


def give_back() -> None:
    """Take back the hits that this request counted as a guess, because its password was right.

    The hits of other requests and the failures of the login stay. For each address a limited number is taken back,
    enough for a class that registers; more count as guesses, because each costs a hash and a session.
    """
    if _spent("not_guessed"):
        for tier in GUESSES:
            rate_limits.give_back(tier)


def give_back_sign_in() -> None:
    """Take back the hits of a sign-in by a provider or a passkey that succeeded: its beginning and its end."""
    if _spent("not_guessed"):
        rate_limits.give_back("sign_in", 2)


def give_back_link() -> None:
    """Take back the hit of a request with a mailed link, because the link was right. It works once."""
    if _spent("not_guessed"):
        rate_limits.give_back("recovery")


def remember_address(*logins: str) -> None:
    """Remember, for 30 days, that the owner of these logins, or of the one that was guessed at, uses this address."""
    known = [canonical_login(login) for login in logins] or [current().login]
    rate_limits.count_all("signed_in", [rate_limits.at_this_address(login) for login in known])


@contextmanager
def mailing(address: str, account_id: int | None, *, is_mailed: bool = True, refuses: bool = False) -> Iterator[bool]:
    """Count a link that the block mails to an address of an account, and yield whether it may be mailed.

    Anybody can name another's address. So nothing counts for it unless a mail is sent: the hits are taken back if a
    limit is reached or if the block fails. `is_mailed` is false for a request that leads to no mail, such as for an
    unknown login: it is counted apart, so that it takes the same time. The answer does not show the limits, unless it
    `refuses`: then it raises RateLimited.
    """
    counted: list[tuple[str, str]] = []
    for tier, key in rate_limits.mail_keys(address, account_id, is_mailed=is_mailed):
        [count] = rate_limits.count_all(tier, [key])
        if not count.is_admitted:
            _take_back(counted)
            if refuses:
                raise rate_limits.refusal(tier, count)
            log.info("silent limit reached", extra={"tier": tier, "account_id": account_id})
            yield False
            return
        counted.append((tier, key))
    try:
        yield True
    except BaseException:
        _take_back(counted)
        raise


def _take_back(counted: list[tuple[str, str]]) -> None:
    for tier, key in counted:
        rate_limits.take_back(tier, key)


def _spent(tier: str) -> bool:
    """Count the request, and return whether the tier allows it. The answer does not show the tier."""
    try:
        rate_limits.hit(tier, shown=False)
    except RateLimited:
        log.info("silent limit reached", extra={"tier": tier, "account_id": current().account_id})
        current().limits.pop(tier, None)
        return False
    return True


@event.listens_for(db.session, "before_commit")
def _count_stored(session: Session) -> None:
    """Count what a request of a member stores; nothing of what administrators and reviewers do. Raises DayIsFull."""
    by = current().caller if "exchange" in g else None
    if by is None or session.in_nested_transaction() or not (size := daily_bytes.noted()):
        return
    if permissions.may(by, "administer") or current().privilege is not None:
        return
    session.flush()
    if not daily_bytes.add(by.id, size, current_app.config["MEMBER_BYTES_PER_DAY"] or UNBOUND):
        midnight = now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        raise DayIsFull(int((midnight - now()).total_seconds()) + 1)


def stored_today(account_id: int) -> dict[str, int | None]:
    """How many bytes an account has stored today, and how many it may; null without a bound."""
    return {"bytes": daily_bytes.of(account_id), "most": current_app.config["MEMBER_BYTES_PER_DAY"] or None}
