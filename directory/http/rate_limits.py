"""Rate limits: tiers with a setting each, and some fixed ones. They count by user, or by address if anonymous.

A request is counted after the caller is identified and before the body is read, whatever its outcome. The `auth` tier
is an exception: see `counted_as_guess`.
"""

import hmac
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

from flask import Flask, current_app
from limits import RateLimitItem, parse_many
from limits.strategies import MovingWindowRateLimiter

from directory.errors import DirectoryError, Invalid, RateLimited
from directory.extensions import limiter
from directory.http.client import client_address
from directory.http.converters import hookless
from directory.http.exchange import Exchange, LimitState, current
from directory.http.rate_limit_storage import ProcessMemory, fall_back, look_for_redis
from directory.services.identity import Caller

T = TypeVar("T")
STRATEGY = "moving-window"  # the only one that limits every window, not only those that begin at fixed times
# Strategies use keys of different types, so the name of a key includes the strategy.
PREFIX = f"directory:{STRATEGY}"
REDIS_SECONDS = 0.25
# Anybody can request a mailed link, so the number for an account and for an address is limited over all callers.
FIXED = {"recovery": "20 per hour", "mail_account": "3 per hour", "mail_address": "3 per hour"}
FIXED |= {"sign_in": "30 per 5 minutes"}  # a sign-in with a provider takes two requests
FIXED |= {"new_address": "10 per hour"}  # each new address that a member asks for shows whether an account has it
# The tiers that `account_limits` uses to delay guesses: wrong passwords for a login from all addresses (at most 100 are
# counted), and whether a login has succeeded from an address.
FIXED |= {"failures": "100 per hour", "signed_in": "1 per 30 days"}
# Successful sign-ins, registrations and mailed links from an address, which do not count as guesses.
FIXED |= {"not_guessed": "100 per 5 minutes"}


def init_app(app: Flask) -> None:
    """Bind the limiter to the app's storage: Redis, or the process's memory if there is only one process."""
    redis_url = app.config.get("REDIS_URL")
    app.config |= {
        # Redis and the limiter have different schemes for sockets.
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
    # The library's own fallback has the bugs that our storage fixes, and no setting replaces it. One limiter serves all
    # applications of a process in turn, so the state of an earlier application's Redis is reset.
    limiter._fallback_limiter, limiter._storage_dead = MovingWindowRateLimiter(ProcessMemory()), False


def key_of(user: Caller | None) -> str:
    """The key that counts this caller's requests."""
    return f"user:{user.id}" if user else f"address:{client_address()}"


# A guess at a password counts three times: `auth` by address, `account` by the login as typed, `password` by the
# account with this login.
KEYS: dict[str, Callable[[], str]] = {
    **dict.fromkeys(("auth", "not_guessed", "recovery", "sign_in"), client_address),
    "account": lambda: at_this_address(current().login),
    "password": lambda: f"{current().account_id or _masked(current().login)}@{client_address()}",
    "failures": lambda: _masked(current().login),
    "signed_in": lambda: at_this_address(current().login),
}


def _key(tier: str) -> str:
    """What a tier counts the request by; the caller, unless KEYS has another key."""
    return KEYS[tier]() if tier in KEYS else key_of(current().caller)


def at_this_address(login: str) -> str:
    """The key of a login from the caller's address."""
    return f"{_masked(login)}@{client_address()}"


def mail_keys(address: str, account_id: int | None, *, is_mailed: bool) -> list[tuple[str, str]]:
    """The tiers and keys that count a mailed link. A link that is not mailed has keys of its own."""
    masked = _masked(address)
    keys = (str(account_id or masked), masked) if is_mailed else (f"nobody:{masked}",) * 2
    return [*zip(("mail_account", "mail_address"), keys, strict=True)]


def _limits(tier: str) -> str:
    if tier in {"account", "password"}:
        return _scaled(current_app.config["RATELIMIT_AUTH"], 1, 2)
    if tier == "reviewer_messages":
        return _scaled(current_app.config["RATELIMIT_MESSAGES"], 10)
    if tier in FIXED:
        return FIXED[tier]
    return str(current_app.config[f"RATELIMIT_{tier.upper()}"])


@lru_cache
def _items(limits: str) -> tuple[RateLimitItem, ...]:
    return tuple(parse_many(limits)) if limits else ()


def _scaled(limits: str, times: int, of: int = 1) -> str:
    """A multiple, or a part, of the numbers of limits.

    For one account from one address half of the `auth` tier refuses guesses at one account first; reviewers may write
    ten times as many messages as owners.
    """
    parts = (f"{max(1, i.amount * times // of)} per {i.multiples} {i.GRANULARITY.name}" for i in _items(limits))
    return "; ".join(parts)


@contextmanager
def counted_as_guess() -> Iterator[None]:
    """Count the request against `auth`; the block reads its query and body. Raises RateLimited.

    A body that is refused with 422 is not a hit: otherwise ten too short passwords would bar an address. So `auth` is
    counted after the body is checked and before a password is hashed; `give_back` takes the hit back if the password
    was right. `require` first checks whether the limit is used up, to refuse before the body is read. Concurrent
    callers may all pass that check, but not the hit, so the limit on tried passwords holds.
    """
    require("auth")
    try:
        yield
    except Invalid:
        raise
    except DirectoryError:
        hit("auth")
        raise
    hit("auth")


def require(tier: str) -> None:
    """Raise RateLimited if `tier` is used up, without counting the request."""
    if not _is_limited(tier):
        return
    limits = current().limits
    limits[tier] = states = _states(tier)
    if any(not state.remaining for state in states):
        raise RateLimited(wait_of(limits), tier)


def hit(tier: str, *, shown: bool = True) -> None:
    """Count the request against `tier`, once, however often this is called. Raises RateLimited.

    The headers show the state of its limits; unless `shown`, only if they refuse.
    """
    exchange = current()
    if tier in exchange.counted or not _is_limited(tier):
        return
    key = _key(tier)
    exchange.counted.add(tier)
    (count,) = count_all(tier, [key])
    if not count.is_admitted:
        raise refusal(tier, count)
    if shown:
        exchange.limits[tier] = count.states


def hit_together(tier: str | None, exchanges: list[Exchange]) -> list[RateLimited | None]:
    """`hit` for the requests of identified callers, in one round trip for each limit of the tier; the errors."""
    if tier is None:
        return [None] * len(exchanges)
    for exchange in exchanges:
        exchange.counted.add(tier)
    if not _is_limited(tier):
        return [None] * len(exchanges)
    counts = count_all(tier, [key_of(exchange.caller) for exchange in exchanges])
    refusals = list[RateLimited | None]()
    for exchange, count in zip(exchanges, counts, strict=True):
        exchange.limits[tier] = count.states
        refusals.append(None if count.is_admitted else RateLimited(wait_of(exchange.limits), tier))
    return refusals


class Count(NamedTuple):
    """The result of counting a request: whether it is admitted, and the state of each limit of the tier."""

    is_admitted: bool
    states: list[LimitState]


def refusal(tier: str, count: Count) -> RateLimited:
    """The error of a request that a tier does not admit; the headers of the answer show the tier."""
    limits = current().limits
    limits[tier] = count.states
    return RateLimited(wait_of(limits), tier)


def count_all(tier: str, keys: list[str], *, counts: bool = True) -> list[Count]:
    """Count a request for each key, in their order, in one round trip for each limit of the tier.

    Without `counts` it only returns the states of the limits. Without Redis it counts in the memory of the process.
    """
    if not _is_limited(tier):
        return [Count(True, [])] * len(keys)
    return _in_storage(lambda storage: _count_all(storage, tier, keys, counts))


def _in_storage(work: Callable[[Any], T]) -> T:
    """The result of work with the storage: the memory of the process if Redis is away. Other errors are not caught."""
    look_for_redis()
    storage = cast(Any, limiter.limiter.storage)
    try:
        return work(storage)
    except storage.base_exceptions:
        fall_back()  # only the first request waits for the timeout of an unresponsive Redis
    return work(limiter.limiter.storage)


def _count_all(storage: Any, tier: str, keys: list[str], counts: bool) -> list[Count]:
    """`count_all` with a storage. A request that one limit refuses is not counted against later limits."""
    items = _items(_limits(tier))
    admitted, states = [True] * len(keys), [dict[RateLimitItem, LimitState]() for _ in keys]
    for item in sorted(items):  # the shortest window first
        names = [item.key_for(PREFIX, key, tier) for key in keys]
        windows = storage.count(item, [*zip(names, (counts and is_admitted for is_admitted in admitted), strict=True)])
        at = storage.time()
        for place, window in enumerate(windows):
            admitted[place] &= window.is_admitted
            wait = max(0, math.ceil(window.begins + item.get_expiry() - at))
            states[place][item] = LimitState(item, max(0, item.amount - window.taken), wait)
    return [
        Count(is_admitted, [state[item] for item in items]) for is_admitted, state in zip(admitted, states, strict=True)
    ]


def give_back(tier: str, requests: int = 1) -> None:
    """Take back this request's hit of `tier`, if it has counted one, and those of the `requests` that led to it.

    The latest hits are removed, so that the limit is free again no later than if these requests' own were removed.
    """
    exchange = current()
    if tier not in exchange.counted:
        return
    exchange.counted.remove(tier)
    take_back(tier, _key(tier), requests)
    if tier in exchange.limits:
        exchange.limits[tier] = _states(tier)


def take_back(tier: str, key: str, requests: int = 1) -> None:
    """Remove the latest hits of a key. Those counted in an unreachable Redis are lost."""
    if not _is_limited(tier):
        return
    names = [item.key_for(PREFIX, key, tier) for item in _items(_limits(tier))] * requests
    _in_storage(lambda storage: [storage.take_back(name) for name in names])


def reserve(tier: str, line: str, pause: float, *, at_most: float) -> float:
    """Reserve the next turn in a line of this request's key, and return the seconds until then.

    It is `pause` seconds after the last one that is reserved, or after now. A turn that is more than `at_most` seconds
    away is not reserved.
    """
    name = f"{PREFIX}/turn/{tier}/{line}/{_key(tier)}"
    return float(_in_storage(lambda storage: storage.reserve(name, pause, at_most)))


def hits(tier: str) -> int:
    """The number of requests that count against a tier now; 0 if it is off."""
    states = _states(tier)
    return max((state.item.amount - state.remaining for state in states), default=0)


def _is_limited(tier: str) -> bool:
    return bool(current_app.config["RATELIMIT_ENABLED"] and _limits(tier))


def _masked(text: str) -> str:
    """A keyed digest of a text: equal in all processes, and useless for guessing the text without the key."""
    key = current_app.config["SECRET_KEY"].encode()
    return hmac.new(key, b"login:" + text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:32]


def _states(tier: str) -> list[LimitState]:
    """The states of the tier's limits; empty if it is off."""
    return count_all(tier, [_key(tier)], counts=False)[0].states if _is_limited(tier) else []


def wait_of(states: dict[str, list[LimitState]]) -> int:
    """The seconds, at least one, after which every limit that is used up allows a request."""
    return max([1, *(state.wait for tier in states.values() for state in tier if not state.remaining)])


def header_lines(states: dict[str, list[LimitState]]) -> list[tuple[str, str]]:
    """RateLimit-Policy and RateLimit of draft-ietf-httpapi-ratelimit-headers; nothing without limits."""
    named = [(f'"{tier}-{s.item.get_expiry()}s"', s) for tier, all_ in states.items() for s in all_]
    if not named:
        return []
    policy = (f"{name};q={s.item.amount};w={s.item.get_expiry()}" for name, s in named)
    state = (f"{name};r={s.remaining};t={s.wait}" for name, s in named)
    return [("RateLimit-Policy", ", ".join(policy)), ("RateLimit", ", ".join(state))]
