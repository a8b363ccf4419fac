"""Limits of accounts: guesses at a password, and links that are mailed to an account or an address over all callers."""

from flask import g
from flask_limiter import RateLimitExceeded

from directory.http import rate_limits

TIERS = ("mail_account", "mail_address")


def guess_at_login(login: str, account_id: int | None) -> bool:
    """Count a guess at the password of a login, and tell whether the password may be looked at.

    The limit that refuses with 429 counts what was typed. If it counted the account, five wrong logins by username and
    one by e-mail address would tell whether the two belong together. A second limit counts the account, by whichever
    name, so that the names together allow no more guesses. It answers False, and the caller treats the account as
    unknown: the answer is that of a wrong password, for a right one too. A login that no account has counts the same
    way, so that the time tells nothing. Raises RateLimitExceeded.
    """
    g.login, g.account_id = login.strip().lower(), account_id
    # The headers of a login show no limit of an account: only `auth`, or the limit that refuses.
    rate_limits.spend("account", shown=False)
    try:
        rate_limits.spend("password", shown=False)
    except RateLimitExceeded:
        del rate_limits.standings_of_request()["password"]
        return False
    return True


def guess_at_own_password(username: str, account_id: int) -> None:
    """Count a guess at the caller's own password as a login is counted. Raises RateLimitExceeded."""
    g.login, g.account_id = username, account_id
    for tier in ("auth", "account", "password"):
        rate_limits.spend(tier)


def spend_on_mail(login: str, account_id: int | None) -> None:
    """Count a link that is mailed, by the account and by the address. Raises RateLimitExceeded.

    A login that no account has is counted as an address is, so that as much is done for it.
    """
    g.login, g.account_id = login.strip().lower(), account_id
    for tier in TIERS:
        rate_limits.spend(tier, shown=False)


def may_mail(login: str, account_id: int | None) -> bool:
    """Count a link, and tell whether it may be mailed. The answer does not show the limits."""
    try:
        spend_on_mail(login, account_id)
    except RateLimitExceeded:
        for tier in TIERS:
            rate_limits.standings_of_request().pop(tier, None)
        return False
    return True
