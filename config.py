"""The only reader of the environment. A value that makes no sense stops the start with one line that names it."""

import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from limits import parse_many
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent
INSTANCE = ROOT / "instance"

RATELIMITS = {
    "RATELIMIT_VOTING": "30 per minute; 300 per hour",
    "RATELIMIT_SUBMISSION": "5 per hour; 20 per day",
    "RATELIMIT_AUTH": "10 per 5 minutes",
    "RATELIMIT_WRITE": "60 per minute",
    "RATELIMIT_READ": "",
}
WEBHOOK_FORMATS = {"standard", "discord", "slack"}
WEBHOOK_EVENTS = {
    "project.approved",
    "project.submitted",
    "project.rejected",
    "project.unpublished",
    "project.deleted",
}


class ConfigError(SystemExit):
    """A setting that makes no sense; as a SystemExit it ends the start with its one line on standard error."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")


def load(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The settings from the environment, checked. Raises ConfigError."""
    env = os.environ if environ is None else environ
    production = _choice(env, "APP_ENV", "development", {"development", "production", "testing"}) == "production"
    redis_url = _read(env, "REDIS_URL", "", _redis_url)
    settings: dict[str, Any] = {
        "APP_ENV": env.get("APP_ENV") or "development",
        "SECRET_KEY": _secret_key(env, production=production),
        "SQLALCHEMY_DATABASE_URI": _read(env, "DATABASE_URL", "", _database_url),
        "REDIS_URL": redis_url,
        "THREADS": _whole(env, "THREADS", 8, 1, 256),
        "WEB_CONCURRENCY": _whole(env, "WEB_CONCURRENCY", 2 if redis_url else 1, 1, 64),
        "RATELIMIT_ENABLED": _flag(env, "RATELIMIT_ENABLED", True),
        "CORS_ORIGINS": _read(env, "CORS_ORIGINS", "", _origins),
        "TRUSTED_PROXIES": _whole(env, "TRUSTED_PROXIES", 0, 0, 10),
        "REGISTRATION_OPEN": _flag(env, "REGISTRATION_OPEN", True),
        "REVIEW_ON_EDIT": _choice(env, "REVIEW_ON_EDIT", "material", {"material", "always", "never"}),
        "WEBHOOK_ENDPOINTS": _webhooks(env),
        "METRICS_ENABLED": _flag(env, "METRICS_ENABLED", False),
        "LOG_LEVEL": _choice(env, "LOG_LEVEL", "INFO", {"DEBUG", "INFO", "WARNING", "ERROR"}),
    }
    settings |= {name: _read(env, name, default, _ratelimit) for name, default in RATELIMITS.items()}
    _one_process_on_memory(settings)
    return settings


def _read(env: Mapping[str, str], name: str, default: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(env.get(name, default).strip())
    except (ValueError, ArgumentError) as error:
        raise ConfigError(name, str(error)) from None


def _choice(env: Mapping[str, str], name: str, default: str, words: set[str]) -> str:
    value = env.get(name, "").strip() or default
    if value not in words:
        raise ConfigError(name, f"{value!r} is none of {', '.join(sorted(words))}")
    return value


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    value = env.get(name, "").strip().lower()
    words = {"": default, "true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if value not in words:
        raise ConfigError(name, f"{value!r} is neither true nor false")
    return words[value]


def _whole(env: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    value = env.get(name, "").strip() or str(default)
    if not (value.isascii() and value.isdigit() and least <= int(value) <= most):
        raise ConfigError(name, f"{value!r} is no whole number from {least} to {most}")
    return int(value)


def _secret_key(env: Mapping[str, str], *, production: bool) -> str:
    key = env.get("SECRET_KEY", "").strip()
    if production and len(key) < 32:
        raise ConfigError("SECRET_KEY", "set at least 32 random characters when APP_ENV=production")
    return key or _development_key()


def _development_key() -> str:
    """Made once and kept, so that what it signs outlives a restart."""
    path = INSTANCE / "secret_key"
    INSTANCE.mkdir(exist_ok=True)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    except FileExistsError:
        pass
    return path.read_text()


def _database_url(value: str) -> str:
    if not value:
        INSTANCE.mkdir(exist_ok=True)
        return f"sqlite:///{INSTANCE / 'directory.db'}"
    url = make_url(value)
    if url.drivername in {"postgres", "postgresql"}:
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise ValueError(f"{url.drivername!r} is neither sqlite nor postgresql+psycopg")
    if url.drivername == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError("SQLite needs a file: several threads cannot share a database in memory")
    return url.render_as_string(hide_password=False)


def _redis_url(value: str) -> str:
    if value and urlsplit(value).scheme not in {"redis", "rediss", "unix"}:
        raise ValueError("a Redis URL begins with redis://, rediss:// or unix://")
    return value


def _ratelimit(value: str) -> str:
    if not value:
        return value
    try:
        parse_many(value)
    except ValueError:
        raise ValueError(f"{value!r} is no rate limit such as '30 per minute; 300 per hour'") from None
    return value


def _origins(value: str) -> tuple[str, ...]:
    origins = tuple(origin.strip() for origin in value.split(",") if origin.strip())
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in {"http", "https"} or not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
            raise ValueError(f"{origin!r} is no origin such as https://app.example.com")
    return origins


def _webhooks(env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Endpoints from WEBHOOK_ENDPOINTS, or the one of WEBHOOK_URL, each complete and checked."""
    if env.get("WEBHOOK_ENDPOINTS", "").strip():
        return _read(env, "WEBHOOK_ENDPOINTS", "", _endpoints)
    if not env.get("WEBHOOK_URL", "").strip():
        return []
    one = {"url": env["WEBHOOK_URL"].strip(), "secret": env.get("WEBHOOK_SECRET", "").split(",")}
    one["format"] = env.get("WEBHOOK_FORMAT", "").strip() or "standard"
    return _read({"WEBHOOK_URL": json.dumps([one])}, "WEBHOOK_URL", "", _endpoints)


def _endpoints(value: str) -> list[dict[str, Any]]:
    try:
        listed = json.loads(value)
    except ValueError:
        raise ValueError("is no JSON") from None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError("is no JSON list of objects")
    endpoints = [_endpoint(one) for one in listed]
    if len({one["url"] for one in endpoints}) < len(endpoints):
        raise ValueError("names one url twice")
    return endpoints


def _endpoint(given: dict[str, Any]) -> dict[str, Any]:
    """One endpoint with its defaults. Messages never repeat a value: the url of a chat is its secret."""
    if unknown := given.keys() - {"url", "secret", "format", "events"}:
        raise ValueError(f"unknown member {sorted(unknown)[0]!r}")
    url = given.get("url")
    if not isinstance(url, str) or urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise ValueError("an endpoint's url is no http or https address")
    style = given.get("format", "standard")
    if style not in WEBHOOK_FORMATS:
        raise ValueError(f"an endpoint's format is none of {', '.join(sorted(WEBHOOK_FORMATS))}")
    events = given.get("events", ["project.approved"])
    if not isinstance(events, list) or not events or not set(map(str, events)) <= WEBHOOK_EVENTS:
        raise ValueError(f"an endpoint's events are a list out of {', '.join(sorted(WEBHOOK_EVENTS))}")
    secret = given.get("secret", [])
    listed = [s for s in ([secret] if isinstance(secret, str) else secret) if isinstance(s, str) and s.strip()]
    if style == "standard" and not listed:
        raise ValueError("an endpoint of format standard needs a secret")
    return {"url": url, "format": style, "events": events, "secrets": [s.strip() for s in listed]}


def _one_process_on_memory(settings: dict[str, Any]) -> None:
    """Limits kept in memory count per process: n processes would allow n times as much."""
    if settings["WEB_CONCURRENCY"] > 1 and not settings["REDIS_URL"] and settings["RATELIMIT_ENABLED"]:
        raise ConfigError(
            "WEB_CONCURRENCY",
            "several processes need REDIS_URL, because rate limits in memory hold for one process only",
        )
