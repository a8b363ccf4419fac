"""Limits of accounts: guesses at a password, and links that are mailed to an account or an address over all callers."""

import logging
from dataclasses import dataclass

from flask import g

from directory.errors import RateLimited
from directory.http import rate_limits

log = logging.getLogger(__name__)
GUESSES = ("auth", "account", "password")  # what a guess at a password counts against
TIERS = ("mail_account", "mail_address")

# Over all addresses a login has so many failures an hour without a delay: half of the hundred of an account, which has
# two logins. If both counted together, a delay would reveal which e-mail address belongs to which username.
FREE_FAILURES = 50
# A delay, and the failures after which it doubles.
FIRST_SECONDS, MOST_SECONDS, DOUBLED_EVERY = 0.25, 1.0, 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """A counted guess at a password.

    `may_pass` says whether the password may be looked at. The guess waits `delay` seconds before.
    """

    may_pass: bool = True
    delay: float = 0.0


def guess_at_login(login: str, account_id: int | None) -> Attempt:
    """Count a guess at the password of a login. Raises RateLimited.

    The limit that refuses with 429 counts the login as it was typed. If it counted the account, five wrong logins by
    username and one by e-mail address would reveal whether the two belong together. A second limit counts the account,
    by whichever name, so that the names together allow no more guesses. Beyond it the attempt may not pass: the caller
    treats the account as unknown, and the answer is that of a wrong password, for a right one too. A login that no
    account has counts the same way, so that the time reveals nothing.
    """
    g.login, g.account_id = login.strip().lower(), account_id
    # The headers of a login show no limit of an account: only `auth`, or the limit that refuses.
    rate_limits.hit("account", shown=False)
    return _slowed(may_pass=_spent("password"))


def guess_at_own_password(username: str, account_id: int) -> Attempt:
    """Count a guess at the caller's own password as a login is counted. Raises RateLimited."""
    g.login, g.account_id = username, account_id
    for tier in GUESSES:
        rate_limits.hit(tier)
    return _slowed(may_pass=True)


def _slowed(*, may_pass: bool) -> Attempt:
    """The attempt, delayed by the failures of this login over all addresses in the last hour.

    The delay refuses no right password, so that guesses lock no owner out. An address from which this
    login has succeeded does not wait. Addresses that go on guessing wait twice as long as those that try once.
    """
    failures = rate_limits.hits("failures")
    if failures < FREE_FAILURES or rate_limits.hits("signed_in"):
        return Attempt(may_pass)
    delay = FIRST_SECONDS * 2 ** ((failures - FREE_FAILURES) // DOUBLED_EVERY)
    return Attempt(may_pass, min(delay, MOST_SECONDS) * (1 if rate_limits.hits("account") <= 1 else 2))


def count_failure() -> None:
    """Count a wrong password against its login, over all addresses."""
    _spent("failures")


def give_back() -> None:
    """Take back what this request counted of the limits of guesses, for it was not one: its password was right.

    What others counted stays, and so do the failures of the login. Of an address so many such requests are taken back
    that a class can register from it; more count as guesses do, since each costs a hash and a session.
    """
    if _spent("not_guessed"):
        for tier in GUESSES:
            rate_limits.give_back(tier)


def remember_address() -> None:
    """Remember, for 30 days, that this login has succeeded from this address."""
    if not rate_limits.hits("signed_in"):
        _spent("signed_in")


def spend_on_mail(login: str, account_id: int | None) -> None:
    """Count a link that is mailed, by the account and by the address. Raises RateLimited.

    A login that no account has is counted as an address is, so that as much is done for it.
    """
    g.login, g.account_id = login.strip().lower(), account_id
    for tier in TIERS:
        rate_limits.hit(tier, shown=False)


def may_mail(login: str, account_id: int | None) -> bool:
    """Count a link, and return whether it may be mailed. The answer does not show the limits."""
    g.login, g.account_id = login.strip().lower(), account_id
    return all(_spent(tier) for tier in TIERS)


def _spent(tier: str) -> bool:
    """Count the request, and return whether the tier allows it. The answer does not show the tier."""
    try:
        rate_limits.hit(tier, shown=False)
    except RateLimited:
        log.info("silent limit reached", extra={"tier": tier, "account_id": g.get("account_id")})
        rate_limits.states_of_request().pop(tier, None)
        return False
    return True
