"""Rate limits: six tiers with a setting each, counted by user where signed in and else by address, and some fixed ones.

A request is counted after the caller is known and before the body is read, and stays counted whatever becomes of it.
The `auth` tier is the exception: `counted` says how and why.
"""

import hmac
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from flask import Flask, Response, current_app, g, request
from flask_limiter import RateLimitExceeded
from limits import RateLimitItem, parse_many
from limits.strategies import MovingWindowRateLimiter

from directory.errors import DirectoryError, Invalid, RateLimited
from directory.extensions import limiter
from directory.http.authentication import viewer
from directory.http.client_address import client_address
from directory.http.converters import hookless
from directory.http.rate_limit_storage import ProcessMemory, fall_back

STRATEGY = "moving-window"  # the only one that holds over any window, not just over those that begin on the clock
# Another strategy finds keys of another type under the same name, so the name says which it is.
PREFIX = f"directory:{STRATEGY}"
REDIS_SECONDS = 0.25
# Anybody can ask for a link to be mailed: so many are mailed to an account, and to an address, over all callers.
FIXED = {"recovery": "20 per hour", "mail_account": "3 per hour", "mail_address": "3 per hour"}
FIXED |= {"sign_in": "30 per 5 minutes"}  # a sign-in by a provider is two requests
# What `account_limits` delays guesses by: wrong passwords of a login over all addresses, of which 100 are counted, and
# whether a login has succeeded from an address.
FIXED |= {"failures": "100 per hour", "signed_in": "1 per 30 days"}
# Sign-ins and registrations of an address that succeeded, and so do not count as guesses.
FIXED |= {"not_guessed": "100 per 5 minutes"}


class Standing(NamedTuple):
    """How one limit of a tier stands after this request; `wait` is in seconds, until one more is free."""

    item: RateLimitItem
    remaining: int
    wait: int


def init_app(app: Flask) -> None:
    """Bind the limiter to the app's storage: Redis, or the process's memory while there is one process."""
    redis_url = app.config.get("REDIS_URL")
    app.config |= {
        # Redis's own name for a socket's address is not the limiter's.
        "RATELIMIT_STORAGE_URI": redis_url.replace("unix://", "redis+unix://", 1) if redis_url else "process://",
        "RATELIMIT_STRATEGY": STRATEGY,
        "RATELIMIT_KEY_PREFIX": PREFIX,
        "RATELIMIT_IN_MEMORY_FALLBACK_ENABLED": bool(redis_url),
    }
    if redis_url:
        options = {"socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
        app.config["RATELIMIT_STORAGE_OPTIONS"] = options
    with hookless(app):
        limiter.init_app(app)
    # What the library would fall back to is the storage that ours mends, and it has no setting for that. Its one
    # limiter serves all applications of a process in turn: what an earlier one found out about its Redis goes.
    limiter._fallback_limiter, limiter._storage_dead = MovingWindowRateLimiter(ProcessMemory()), False
    app.after_request(_headers)


def _caller() -> str:
    user = viewer()
    return f"user:{user.id}" if user else f"address:{client_address()}"


# Guesses at a password count three times: `auth` by address, `account` by the login as it was typed, and `password` by
# the account that has this login.
KEYS = {
    "voting": _caller,
    "submission": _caller,
    "auth": client_address,
    "account": lambda: f"{_masked(g.login)}@{client_address()}",
    "password": lambda: f"{g.account_id or _masked(g.login)}@{client_address()}",
    "failures": lambda: _masked(g.login),
    "signed_in": lambda: f"{_masked(g.login)}@{client_address()}",
    "not_guessed": client_address,
    "recovery": client_address,
    "sign_in": client_address,
    "mail_account": lambda: str(g.account_id or _masked(g.login)),
    "mail_address": lambda: _masked(g.login),
    "write": _caller,
    "admin": _caller,
    "read": _caller,
}


def _limits(tier: str) -> str:
    if tier in {"account", "password"}:
        return _halved(current_app.config["RATELIMIT_AUTH"])
    if tier in FIXED:
        return FIXED[tier]
    return str(current_app.config[f"RATELIMIT_{tier.upper()}"])


@lru_cache
def _items(limits: str) -> tuple[RateLimitItem, ...]:
    return tuple(parse_many(limits)) if limits else ()


def _halved(limits: str) -> str:
    """Half of the `auth` tier, for one account from one address: guessing at one is stopped before the address is."""
    halves = (f"{max(1, i.amount // 2)} per {i.multiples} {i.GRANULARITY.name}" for i in _items(limits))
    return "; ".join(halves)


def _spender(tier: str) -> Any:
    """A function whose call counts against the tier. The library tells such functions apart by their names."""

    def spend() -> None:
        return None

    spend.__name__ = spend.__qualname__ = f"spend_{tier}"
    return limiter.shared_limit(lambda: _limits(tier), scope=tier, key_func=lambda: str(g.limit_key))(spend)


_SPEND = {tier: _spender(tier) for tier in KEYS}


@contextmanager
def counted(tier: str | None) -> Iterator[None]:
    """Count the request against `tier`; within, its query and body are read. Raises RateLimited, RateLimitExceeded.

    A body that is refused with 422 spends nothing of `auth`: else ten passwords that are too short bar an address. So
    `auth` is counted after the body is checked, and before a password is hashed; `give_back` takes it back where the
    password was right. To refuse before the body is read, a first look tells whether the limit is used up. Callers at
    once may all pass this look; the hit alone decides, so that no more passwords are tried than the limit allows.
    """
    if tier is None:
        yield
        return
    if tier != "auth":
        spend("admin" if tier == "write" and request.blueprint == "admin" else tier)
        yield
        return
    require(tier)
    try:
        yield
    except Invalid:
        raise
    except DirectoryError:
        spend(tier)
        raise
    spend(tier)


def require(tier: str) -> None:
    """Refuse the request if `tier` is used up, and count nothing. Raises RateLimited."""
    if not _is_limited(tier):
        return
    g.limit_key = KEYS[tier]()
    standings = _standings(tier)
    standings_of_request()[tier] = standings
    if any(not standing.remaining for standing in standings):
        raise RateLimited(retry_after())


def spend(tier: str, *, shown: bool = True) -> None:
    """Count the request against `tier`, once, however often it is called. Raises RateLimitExceeded.

    The headers say how its limits stand; unless `shown`, only where they refuse.
    """
    spent: set[str] = g.setdefault("spent", set())
    if tier in spent or not _is_limited(tier):
        return
    # Made out here, where its failure is the database's: within, the library would take it for the storage's.
    g.limit_key = KEYS[tier]()
    spent.add(tier)
    try:
        _count(tier)
    except RateLimitExceeded:
        shown = True
        raise
    finally:
        if shown:
            standings_of_request()[tier] = _standings(tier)


def give_back(tier: str) -> None:
    """Take back what this request has counted against `tier`, if it has. Of hits at once each takes back one.

    The latest hit goes, so that the limit is free again no later than if this one had gone.
    """
    if tier not in g.get("spent", ()):
        return
    g.spent.remove(tier)
    g.limit_key = KEYS[tier]()
    try:
        for item in _items(_limits(tier)):
            limiter.limiter.storage.take_back(item.key_for(PREFIX, g.limit_key, tier))  # type: ignore[attr-defined]
    except Exception:
        fall_back()  # as in `_standings`: what is counted in a Redis that is gone is gone
    if tier in standings_of_request():
        standings_of_request()[tier] = _standings(tier)


def spent(tier: str) -> int:
    """How many requests count against a tier at present; 0 where it is off, or where Redis does not answer."""
    if not _is_limited(tier):
        return 0
    g.limit_key = KEYS[tier]()
    return max((standing.item.amount - standing.remaining for standing in _standings(tier)), default=0)


def _is_limited(tier: str) -> bool:
    return bool(current_app.config["RATELIMIT_ENABLED"] and _limits(tier))


def standings_of_request() -> dict[str, list[Standing]]:
    """How the limits stand that the headers of the answer tell of, by tier."""
    found: dict[str, list[Standing]] = g.setdefault("standings", {})
    return found


def _masked(text: str) -> str:
    """What stands for a text, the same in all processes and without them of no use for guessing at it."""
    key = current_app.config["SECRET_KEY"].encode()
    return hmac.new(key, b"login:" + text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:32]


def _count(tier: str) -> None:
    try:
        _SPEND[tier]()
    except RateLimitExceeded:
        raise
    except Exception:
        # Of the requests that are waiting for a Redis that went away, the library lets the first one fall back to
        # memory and fails the others. By now they find it marked as gone.
        _SPEND[tier]()


def _standings(tier: str) -> list[Standing]:
    """How the tier's limits stand; nothing where Redis does not answer, for no request fails for its headers."""
    try:
        items = _items(_limits(tier))
        stats = [(item, limiter.limiter.get_window_stats(item, PREFIX, g.limit_key, tier)) for item in items]
    except Exception:
        fall_back()  # this may be the first to find Redis mute: the request waits for that once
        return []
    now = time.time()
    return [Standing(item, max(0, left), max(0, math.ceil(reset - now))) for item, (reset, left) in stats]


def retry_after() -> int:
    """Whole seconds, at least one, after which every limit that is used up lets a request pass."""
    tiers = standings_of_request().values()
    return max([1, *(standing.wait for tier in tiers for standing in tier if not standing.remaining)])


def _headers(response: Response) -> Response:
    """RateLimit and RateLimit-Policy, as draft-ietf-httpapi-ratelimit-headers has them."""
    named = [(f'"{tier}-{s.item.get_expiry()}s"', s) for tier, all_ in g.get("standings", {}).items() for s in all_]
    if named:
        policy = (f"{name};q={s.item.amount};w={s.item.get_expiry()}" for name, s in named)
        response.headers["RateLimit-Policy"] = ", ".join(policy)
        response.headers["RateLimit"] = ", ".join(f"{name};r={s.remaining};t={s.wait}" for name, s in named)
    return response
