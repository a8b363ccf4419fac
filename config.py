"""The only reader of the environment. A value that makes no sense stops the start with one line that names it."""

import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

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
HUGE = 2**31  # what a limit and its seconds stay under, so that any storage can count it
WEBHOOK_FORMATS = {"standard", "discord", "slack"}
WEBHOOK_EVENTS = {f"project.{event}" for event in ("approved", "submitted", "rejected", "unpublished", "deleted")}
WEBHOOK_DEFAULT = ("project.approved",)


class ConfigError(SystemExit):
    """A setting that makes no sense; as a SystemExit it ends the start with its one line on standard error."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")


def load(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The settings from the environment, checked. Raises ConfigError."""
    env = os.environ if environ is None else environ
    app_env = _choice(env, "APP_ENV", "development", {"development", "production", "testing"})
    redis_url = _read(env, "REDIS_URL", "", _redis_url)
    settings: dict[str, Any] = {
        "APP_ENV": app_env,
        "SECRET_KEY": _secret_key(env, production=app_env == "production"),
        "SQLALCHEMY_DATABASE_URI": _read(env, "DATABASE_URL", "", _database_url),
        "PREPARE_DATABASE": _flag(env, "PREPARE_DATABASE", False),
        "REDIS_URL": redis_url,
        "HOST": _read(env, "HOST", "127.0.0.1", _host),
        "PORT": _whole(env, "PORT", 8000, 1, 65535),
        "THREADS": _whole(env, "THREADS", 8, 1, 256),
        "SERVER_WORKER": _choice(env, "SERVER_WORKER", "loop", {"loop", "gthread"}),
        "WEB_CONCURRENCY": _whole(env, "WEB_CONCURRENCY", 2 if redis_url else 1, 1, 64),
        "RATELIMIT_ENABLED": _flag(env, "RATELIMIT_ENABLED", True),
        "CORS_ORIGINS": _read(env, "CORS_ORIGINS", "", _origins),
        "TRUSTED_PROXIES": _whole(env, "TRUSTED_PROXIES", 0, 0, 10),
        "REGISTRATION_OPEN": _flag(env, "REGISTRATION_OPEN", True),
        "READ_ONLY": _flag(env, "READ_ONLY", False),
        "REVIEW_ON_EDIT": _choice(env, "REVIEW_ON_EDIT", "material", {"material", "always", "never"}),
        "WEBHOOK_ENDPOINTS": _webhooks(env),
        "WEBHOOK_WORKER": _flag(env, "WEBHOOK_WORKER", True),
        "METRICS_ENABLED": _flag(env, "METRICS_ENABLED", False),
        "LOG_LEVEL": _choice(env, "LOG_LEVEL", "INFO", {"DEBUG", "INFO", "WARNING", "ERROR"}),
    }
    settings |= {name: _read(env, name, default, _ratelimit) for name, default in RATELIMITS.items()}
    _one_process_on_memory(settings)
    return settings


def _read(env: Mapping[str, str], name: str, default: str, parse: Callable[[str], T]) -> T:
    """A setting as `parse` makes it of its text; set to nothing it is as if unset. The ValueErrors are our own."""
    try:
        return parse(env.get(name, "").strip() or default)
    except ValueError as error:
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
    if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
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
    try:
        if not path.exists() or not path.stat().st_size:
            INSTANCE.mkdir(exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}")
            draft.touch(0o600)
            draft.write_text(secrets.token_hex(32))
            draft.replace(path)  # whole or not at all: a process that starts beside us never reads a part of it
        return path.read_text().strip()
    except OSError as error:
        raise ConfigError("SECRET_KEY", f"is not set, and none can be kept in {path}: {error.strerror}") from None


def _database_url(value: str) -> str:
    if not value:
        return f"sqlite:///{_default_file()}"
    try:
        url = make_url(value)
        if url.drivername in {"postgres", "postgresql"}:
            url = url.set(drivername="postgresql+psycopg")
        if url.drivername in {"sqlite", "postgresql+psycopg"}:
            url.get_dialect()().create_connect_args(url)  # refuses what it cannot read
    except (TypeError, ValueError, ArgumentError):
        # The library's own words may repeat a part of the password.
        raise ValueError("is no database URL such as postgresql+psycopg://user:password@host/name") from None
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise ValueError(f"{url.drivername!r} is neither sqlite nor postgresql+psycopg")
    if url.port is not None and not 0 < url.port < 65536:
        raise ValueError(f"{url.port} is no port")
    if url.drivername == "sqlite" and (url.database in {None, "", ":memory:"} or "uri" in url.query):
        raise ValueError("SQLite needs a file, by its path: several threads cannot share a database in memory")
    return url.render_as_string(hide_password=False)


def _default_file() -> Path:
    try:
        INSTANCE.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(f"is not set, and {INSTANCE} cannot be made: {error.strerror}") from None
    return INSTANCE / "directory.db"


def _host(value: str) -> str:
    if not re.fullmatch(r"[\w.:-]+", value, re.ASCII):
        raise ValueError(f"{value!r} is no address or name to listen on")
    return value


def _redis_url(value: str) -> str:
    parts = _web_address(value, {"redis", "rediss"})
    numbered = parts is not None and re.fullmatch(r"/?|/[0-9]+", parts.path, re.ASCII)
    if value and not ((numbered or re.fullmatch(r"unix:///\S+", value)) and _is_for_redis(value)):
        raise ValueError("is no Redis URL such as redis://host:6379/0, rediss://host:6379/0 or unix:///path")
    return value


def _is_for_redis(value: str) -> bool:
    """Whether the client takes it, its options included; nothing is connected to."""
    from redis import ConnectionPool  # it takes a while, and most do without Redis

    try:
        ConnectionPool.from_url(value).make_connection()
    except (TypeError, ValueError):
        return False
    return True


def _web_address(value: Any, schemes: Collection[str] = ("http", "https")) -> SplitResult | None:
    """The parts of an address with one of the schemes and a host; None for anything else."""
    plain = isinstance(value, str) and value.isprintable() and " " not in value
    try:
        parts = urlsplit(value if plain else "")
        return parts if parts.scheme in schemes and parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _ratelimit(value: str) -> str:
    try:
        limits = parse_many(value) if value else []
        makes_sense = all(0 < limit.amount < HUGE and limit.get_expiry() < HUGE for limit in limits)
    except ValueError:
        makes_sense = False
    # The library takes no minutes for one.
    if not makes_sense or re.search(r"(?:per|/)\s*0+(?!\d)", value, re.IGNORECASE):
        raise ValueError(f"{value!r} is no rate limit such as '30 per minute; 300 per hour'")
    return value


def _origins(value: str) -> tuple[str, ...]:
    """The origins as a browser writes them: in lower case and without the default port."""
    origins = tuple(origin.strip().lower() for origin in value.split(",") if origin.strip())
    for origin in origins:
        parts = _web_address(origin)
        if parts is None or origin != _origin(parts) or "*" in origin or not origin.isascii():
            raise ValueError(f"{origin!r} is no origin such as https://app.example.com")
        if (parts.scheme, parts.port) in {("http", 80), ("https", 443)}:
            raise ValueError(f"{origin!r} names the default port, which browsers leave out")
    return origins


def _origin(parts: SplitResult) -> str:
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else str(parts.hostname)
    return f"{parts.scheme}://{host}" if parts.port is None else f"{parts.scheme}://{host}:{parts.port}"


def _webhooks(env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Endpoints from WEBHOOK_ENDPOINTS, or the one of WEBHOOK_URL, each complete and checked."""
    if env.get("WEBHOOK_ENDPOINTS", "").strip():
        return _read(env, "WEBHOOK_ENDPOINTS", "", _endpoints)
    style = _choice(env, "WEBHOOK_FORMAT", "standard", WEBHOOK_FORMATS)
    if not env.get("WEBHOOK_URL", "").strip():
        return []
    url = _read(env, "WEBHOOK_URL", "", _webhook_url)
    listed = _read(env, "WEBHOOK_SECRET", "", lambda value: _signing_secrets(value.split(",") if value else [], style))
    return [{"url": url, "format": style, "events": list(WEBHOOK_DEFAULT), "secrets": listed}]


def _endpoints(value: str) -> list[dict[str, Any]]:
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("is no JSON") from None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError("is no JSON list of objects")
    endpoints = [_endpoint(one) for one in listed]
    if len({one["url"] for one in endpoints}) < len(endpoints):
        raise ValueError("names one url twice")
    return endpoints


def _endpoint(given: dict[str, Any]) -> dict[str, Any]:
    """One endpoint with its defaults. Messages never repeat what was given: the url of a chat is its secret."""
    if given.keys() - {"url", "secret", "format", "events"}:
        raise ValueError("an endpoint has url, secret, format and events, and no other members")
    style = given.get("format", "standard")
    if style not in list(WEBHOOK_FORMATS):
        raise ValueError(f"an endpoint's format is none of {', '.join(sorted(WEBHOOK_FORMATS))}")
    events = given.get("events", list(WEBHOOK_DEFAULT))
    if not isinstance(events, list) or not events or not all(event in list(WEBHOOK_EVENTS) for event in events):
        raise ValueError(f"an endpoint's events are a list out of {', '.join(sorted(WEBHOOK_EVENTS))}")
    secret = given.get("secret", [])
    listed = _signing_secrets([secret] if isinstance(secret, str) else secret, style)
    return {"url": _webhook_url(given.get("url", "")), "format": style, "events": events, "secrets": listed}


def _webhook_url(value: str) -> str:
    if _web_address(value) is None:
        raise ValueError("an endpoint's url is no http or https address")
    return value


def _signing_secrets(given: Any, style: str) -> list[str]:
    """The secrets of an endpoint, the newest first; those that sign must be base64, as Standard Webhooks has them."""
    from directory.services.webhooks.signing import key

    if not isinstance(given, list) or not all(isinstance(secret, str) and secret.strip() for secret in given):
        raise ValueError("a secret is a text, or a list of texts with the newest first")
    listed = [secret.strip() for secret in given]
    if style == "standard" and not listed:
        raise ValueError("an endpoint of format standard needs a secret")
    try:
        if style == "standard":
            list(map(key, listed))
    except ValueError:
        raise ValueError("a secret of format standard is base64, with or without whsec_ before it") from None
    return listed


def _one_process_on_memory(settings: dict[str, Any]) -> None:
    """Limits kept in memory count per process: n processes would allow n times as much."""
    if settings["WEB_CONCURRENCY"] > 1 and not settings["REDIS_URL"] and settings["RATELIMIT_ENABLED"]:
        why = "several processes need REDIS_URL, because rate limits in memory hold for one process only"
        raise ConfigError("WEB_CONCURRENCY", why)
