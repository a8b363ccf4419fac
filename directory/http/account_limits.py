"""Limits of accounts: guesses at a password, and links that any caller has mailed to an account or an address."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flask import g

from directory.errors import RateLimited
from directory.http import rate_limits
from directory.services.accounts.accounts import canonical_login

log = logging.getLogger(__name__)
GUESSES = ("auth", "account", "password")  # the limits that count a guess at a password

# A login has so many failures an hour, from any addresses, without a delay: half of the hundred of an account, which
# has two logins. If both counted together, a delay would reveal which e-mail address belongs to which username.
FREE_FAILURES = 50
# A delay, and the failures after which it doubles.
FIRST_SECONDS, MOST_SECONDS, DOUBLED_EVERY = 0.25, 1.0, 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """A counted guess at a password.

    `may_pass` is false if the password must not be checked. The guess first waits `delay` seconds.
    """

    may_pass: bool = True
    delay: float = 0.0


def guess_at_login(login: str, account_id: int | None) -> Attempt:
    """Count a guess at the password of a login. Raises RateLimited.

    The limit that refuses with 429 counts the login, not the account. If it counted the account, five wrong logins by
    username and one by e-mail address would reveal whether the two belong together. A second limit counts the account
    under either name, so that two names do not allow more guesses. Over this limit the attempt may not pass: the caller
    treats the account as unknown, and answers as for a wrong password, even if it is right. An unknown login is counted
    in the same way, so that the time reveals nothing.
    """
    g.login, g.account_id = canonical_login(login), account_id
    # The headers of a login show no limit of an account: only `auth`, or the limit that refuses.
    rate_limits.hit("account", shown=False)
    return _slowed(may_pass=_spent("password"))


def guess_at_own_password(username: str, account_id: int) -> Attempt:
    """Count a guess at the caller's own password like a guess at a login. Raises RateLimited."""
    g.login, g.account_id = username, account_id
    for tier in GUESSES:
        rate_limits.hit(tier)
    return _slowed(may_pass=True)


def _slowed(*, may_pass: bool) -> Attempt:
    """The attempt, with a delay that depends on the failures of this login in the last hour, from any addresses.

    A delay refuses no right password, so guesses cannot lock out an owner. An address from which this login has
    succeeded does not wait. Addresses that keep guessing wait twice as long as those that try once.
    """
    failures = rate_limits.hits("failures")
    if failures < FREE_FAILURES or rate_limits.hits("signed_in"):
        return Attempt(may_pass)
    delay = FIRST_SECONDS * 2 ** ((failures - FREE_FAILURES) // DOUBLED_EVERY)
    return Attempt(may_pass, min(delay, MOST_SECONDS) * (1 if rate_limits.hits("account") <= 1 else 2))


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


def remember_address() -> None:
    """Remember, for 30 days, that this login has succeeded from this address."""
    if not rate_limits.hits("signed_in"):
        _spent("signed_in")


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
        log.info("silent limit reached", extra={"tier": tier, "account_id": g.get("account_id")})
        rate_limits.states_of_request().pop(tier, None)
        return False
    return True
