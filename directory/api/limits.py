"""Rate limits: five tiers, each one setting, counted by user where signed in and else by address.

A tier is spent by calling it, after the caller is known and before the body is read. What it counts stays counted,
whatever becomes of the request.
"""

import math
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network

from flask import Flask, Response, current_app, g, request
from flask_limiter import RequestLimit
from limits import parse_many

from directory.api.credentials import viewer
from directory.extensions import limiter

STRATEGY = "moving-window"  # the only one that holds over any window, not just over those that begin on the clock


def init_app(app: Flask) -> None:
    """Bind the limiter to the app's storage: Redis, or the process's memory while there is one process."""
    redis_url = app.config.get("REDIS_URL")
    app.config |= {
        "RATELIMIT_STORAGE_URI": redis_url or "memory://",
        "RATELIMIT_STRATEGY": STRATEGY,
        # Another strategy finds keys of another type under the same name, so the name says which it is.
        "RATELIMIT_KEY_PREFIX": f"directory:{STRATEGY}",
        "RATELIMIT_IN_MEMORY_FALLBACK_ENABLED": bool(redis_url),
    }
    if redis_url:
        app.config["RATELIMIT_STORAGE_OPTIONS"] = {"socket_timeout": 0.25, "socket_connect_timeout": 0.25}
    limiter.init_app(app)
    app.after_request(_headers)


def address() -> str:
    """The caller's address; of IPv6 its /64, which is what one customer is given."""
    text = request.remote_addr or "unknown"
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


def _limits(tier: str) -> str:
    return str(current_app.config[f"RATELIMIT_{tier.upper()}"])


def _per_account() -> str:
    """Half of the `auth` tier, for one account from one address: guessing at one is stopped before the address is."""
    return ";".join(
        f"{max(1, item.amount // 2)} per {item.multiples} {item.GRANULARITY.name}"
        for item in parse_many(_limits("auth"))
    )


def _spender(name: str, limits: Callable[[], str], key: Callable[[], str]) -> Callable[[], None]:
    """A function whose call counts against the limits. The library tells such functions apart by their names."""

    def spend() -> None:
        return None

    spend.__name__ = spend.__qualname__ = f"spend_{name}"
    return limiter.shared_limit(limits, scope=name, key_func=key)(spend)


_SPEND = {
    "voting": _spender("voting", lambda: _limits("voting"), _caller),
    "submission": _spender("submission", lambda: _limits("submission"), _caller),
    "auth": _spender("auth", lambda: _limits("auth"), address),
    "write": _spender("write", lambda: _limits("write"), _caller),
    "read": _spender("read", lambda: _limits("read"), _caller),
    "account": _spender("account", _per_account, lambda: str(g.account)),
}


def spend(tier: str) -> None:
    """Count the request against `tier`. Raises Flask-Limiter's RateLimitExceeded."""
    if current_app.config["RATELIMIT_ENABLED"] and _limits(tier):
        g.tier = tier
        _SPEND[tier]()


def spend_on_account(account: str) -> None:
    """Count a guess at the password of `account` from this address. Raises RateLimitExceeded."""
    if current_app.config["RATELIMIT_ENABLED"] and _limits("auth"):
        g.account = f"{account}@{address()}"
        g.tier = "account"
        _SPEND["account"]()


def retry_after() -> int:
    """Whole seconds, at least one, after which the limit that was just exceeded lets a request pass."""
    return max([1, *(_seconds_until(limit) for limit in limiter.current_limits if limit.breached)])


def _headers(response: Response) -> Response:
    """RateLimit and RateLimit-Policy, as draft-ietf-httpapi-ratelimit-headers has them."""
    if "tier" not in g:
        return response
    limits = [(f"{g.tier}-{limit.limit.get_expiry()}s", limit) for limit in limiter.current_limits]
    response.headers["RateLimit-Policy"] = ", ".join(
        f'"{name}";q={limit.limit.amount};w={limit.limit.get_expiry()}' for name, limit in limits
    )
    response.headers["RateLimit"] = ", ".join(
        f'"{name}";r={max(0, limit.remaining)};t={_seconds_until(limit)}' for name, limit in limits
    )
    return response


def _seconds_until(limit: RequestLimit) -> int:
    return max(0, math.ceil(limit.window.reset_time - time.time()))
