"""Rate limits: five tiers, each one setting, counted by user where signed in and else by address.

A tier is spent by calling it, after the caller is known and before the body is read. What it counts stays counted,
whatever becomes of the request.
"""

import hmac
import math
import re
import time
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Any, NamedTuple

from flask import Flask, Response, current_app, g, request
from flask_limiter import RateLimitExceeded
from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import MovingWindowRateLimiter

from directory.extensions import limiter
from directory.http.authentication import viewer
from directory.http.converters import hookless

STRATEGY = "moving-window"  # the only one that holds over any window, not just over those that begin on the clock
# Another strategy finds keys of another type under the same name, so the name says which it is.
PREFIX = f"directory:{STRATEGY}"
REDIS_SECONDS = 0.25
# As some proxies forward it: each connection has another port, and would count for itself.
WITH_PORT = re.compile(r"\[([^]]*)\](?::[0-9]*)?|([^:]+):[0-9]*")


class ProcessMemory(MemoryStorage):
    """The library's storage in memory, made safe for threads: two that start its timer at once fail in one of them."""

    STORAGE_SCHEME = ["process"]  # noqa: RUF012 (as the library has it)

    def __init__(self, uri: str | None = None, **options: Any) -> None:
        self._turn = Lock()
        super().__init__(uri, **options)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Whether one more fits under the limit; if so it is counted."""
        with self._turn:
            self._follow_the_clock(key)
            return super().acquire_entry(key, limit, expiry, amount)

    def _follow_the_clock(self, key: str) -> None:
        """Count what is from the future as of now: else a clock that is put back an hour bars callers for that hour."""
        now = time.time()
        for entry in self.events.get(key, []):  # the newest first
            if entry.atime <= now:
                return
            entry.expiry += now - entry.atime
            entry.atime = now


class Redis(RedisStorage):
    """The library's storage in Redis, whose place it takes, asked whether it counts and not just whether it answers."""

    STORAGE_SCHEME = ["redis", "rediss", "redis+unix"]  # noqa: RUF012 (as the library has it)

    def check(self) -> bool:
        """Whether it takes a write.

        One that is full, or a replica, answers a ping; taken for well, it would be tried and given up every second.
        """
        try:
            return bool(self.storage.set(self.prefixed_key("check"), 1, ex=1))
        except self.base_exceptions:
            return False


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


def address() -> str:
    """The caller's address; of IPv6 its /64, which is what one customer is given."""
    text = request.remote_addr or "unknown"
    if with_port := WITH_PORT.fullmatch(text):
        text = with_port[1] or with_port[2]
    try:
        parsed = ip_address(text)
    except ValueError:
        return text
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((parsed, 64), strict=False))
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _caller() -> str:
    user = viewer()
    return f"user:{user.id}" if user else f"address:{address()}"


KEYS = {
    "voting": _caller,
    "submission": _caller,
    "auth": address,
    "account": lambda: f"{g.account}@{address()}",
    "write": _caller,
    "read": _caller,
}


def _limits(tier: str) -> str:
    if tier == "account":
        return _halved(current_app.config["RATELIMIT_AUTH"])
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


def spend(tier: str, *, told: bool = True) -> None:
    """Count the request against `tier`, once, however often it is asked. Raises RateLimitExceeded.

    How its limits stand goes into the headers; unless `told`, only where they refuse.
    """
    spent: dict[str, list[Standing]] = g.setdefault("spent", {})
    if tier in spent or not current_app.config["RATELIMIT_ENABLED"] or not _limits(tier):
        return
    # Made out here, where its failure is the database's: within, the library would take it for the storage's.
    g.limit_key = KEYS[tier]()
    spent[tier] = []
    try:
        _count(tier)
    except RateLimitExceeded:
        told = True
        raise
    finally:
        if told:
            spent[tier] = _standings(tier)


def spend_on_account(account_id: int | None, login: str | None = None) -> None:
    """Count a guess at an account's password from this address, or at that of a login that nobody has.

    The key is written to Redis and, once the limit is used up, to the log; but what nobody has for a login may be a
    password that was typed into the wrong field. Who gives a login has not proved to have the account: the headers tell
    him how its limit stands only when it refuses him. Raises RateLimitExceeded.
    """
    g.account_id = account_id
    # The mark keeps a login such as "7" from being counted as the account of that number.
    g.account = str(account_id) if account_id else f"?{_masked((login or '').lower())}"
    # A guess by username and one by e-mail address would leave one less each, and tell that they are one account's.
    spend("account", told=login is None)


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
    """How the tier's limits stand; nothing where Redis went away meanwhile, for no request fails for its headers."""
    try:
        items = _items(_limits(tier))
        stats = [(item, limiter.limiter.get_window_stats(item, PREFIX, g.limit_key, tier)) for item in items]
    except Exception:
        return []
    now = time.time()
    return [Standing(item, max(0, left), max(0, math.ceil(reset - now))) for item, (reset, left) in stats]


def retry_after() -> int:
    """Whole seconds, at least one, after which every limit that is used up lets a request pass."""
    spent: dict[str, list[Standing]] = g.spent
    return max([1, *(standing.wait for tier in spent.values() for standing in tier if not standing.remaining)])


def _headers(response: Response) -> Response:
    """RateLimit and RateLimit-Policy, as draft-ietf-httpapi-ratelimit-headers has them."""
    named = [(f'"{tier}-{s.item.get_expiry()}s"', s) for tier, all_ in g.get("spent", {}).items() for s in all_]
    if named:
        policy = (f"{name};q={s.item.amount};w={s.item.get_expiry()}" for name, s in named)
        response.headers["RateLimit-Policy"] = ", ".join(policy)
        response.headers["RateLimit"] = ", ".join(f"{name};r={s.remaining};t={s.wait}" for name, s in named)
    return response
