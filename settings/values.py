"""Words, numbers, addresses and limits. Each parser raises ValueError with the reason, which repeats no password."""

import json
import re
from collections.abc import Callable, Collection
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

from limits import parse_many
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

T = TypeVar("T")
HUGE = 2**31  # above the values of a limit and its seconds, so that any storage can count it
LONGEST_NAME = 100
SENTINEL_SCHEME = "redis+sentinel://"
# One Sentinel or several, with one user and password for all or none; the path is the name that they have for Redis.
SENTINEL = rf"{re.escape(SENTINEL_SCHEME)}([^\s@/]*@)?(,?([\w.-]+|\[[\da-fA-F:]+\]):[0-9]{{1,5}})+(?<!/,)/[\w.-]+"
FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
RESERVED = re.compile(r"[@#/?\[\]\s]|%(?![0-9A-Fa-f]{2})")  # of a URL, so a user and a password have them escaped
SQLITE_OPTIONS = {"timeout", "isolation_level", "detect_types", "check_same_thread", "cached_statements"}
NO_DATABASE = "is not a database URL, such as postgresql+psycopg://user:password@host/name"


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """A parser that makes None of nothing."""
    return lambda value: parse(value) if value else None


def choice(*words: str) -> Callable[[str], str]:
    """A parser of one of the words, or nothing."""

    def parse(value: str) -> str:
        if value and value not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(sorted(words))}")
        return value

    return parse


def flag(value: str) -> bool:
    """Whether it is true."""
    word = value.lower()
    if word not in FLAGS:
        raise ValueError(f"{word!r} is neither true nor false")
    return FLAGS[word]


def whole(least: int, most: int) -> Callable[[str], int]:
    """A parser of a whole number."""

    def parse(value: str) -> int:
        if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}")
        return int(value)

    return parse


def separated(value: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in value.split(",") if part.strip()]


def refuse_unescaped(value: str) -> None:
    """Raise ValueError if the user or the password of a URL contains characters that have to be escaped.

    Where a password ends cannot be known then, so this is checked before anything of the URL is used or printed.
    """
    user, at, _ = value.partition("://")[2].rpartition("@")
    if at and (found := dict.fromkeys(RESERVED.findall(user))):
        escaped = ", ".join(f"{'a blank' if each.isspace() else each} as {quote(each, safe='')}" for each in found)
        raise ValueError(f"write {escaped} in the user and the password")


def database_url(value: str) -> str:
    """The URL of a SQLite file or of a PostgreSQL database, with the driver that is installed."""
    if not value.startswith("sqlite"):
        refuse_unescaped(value)
    try:
        url = make_url(value)
    except (TypeError, ValueError, ArgumentError):
        # The library's own words may repeat a part of the password.
        raise ValueError(NO_DATABASE) from None
    if url.drivername in {"postgres", "postgresql"}:
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise ValueError(f"{url.drivername!r} is neither sqlite nor postgresql+psycopg")
    if url.port is not None and not 0 < url.port < 65536:
        raise ValueError("its port is not a number from 1 to 65535")
    if unknown := sorted(url.query.keys() - _database_options(url.drivername)):
        raise ValueError(f"its option {unknown[0]!r} is unknown to the database's driver: remove it after the ?")
    if url.drivername == "sqlite" and (url.database in {None, "", ":memory:"} or "uri" in url.query):
        raise ValueError("SQLite needs a file, by its path: several threads cannot share a database in memory")
    _require_primary(url)
    return url.render_as_string(hide_password=False)


def _require_primary(url: URL) -> None:
    """Raise ValueError for several hosts without the option that finds the primary."""
    try:
        _, named = url.get_dialect()().create_connect_args(url)  # raises for a URL that it cannot read
    except (TypeError, ValueError, ArgumentError):
        raise ValueError(NO_DATABASE) from None
    if "," in str(named.get("host")) and "target_session_attrs" not in named:
        raise ValueError("several hosts need target_session_attrs=read-write: one of them is the primary")


def _database_options(driver: str) -> set[str]:
    """The options that a URL of a database may have."""
    if driver != "postgresql+psycopg":
        return {*SQLITE_OPTIONS, "uri"}
    from psycopg.pq import Conninfo  # it takes a while, and SQLite needs none of it

    return {each.keyword.decode() for each in Conninfo.get_defaults()}


def host(value: str) -> str:
    """An address or a name to listen on."""
    if not re.fullmatch(r"[\w.:-]+", value, re.ASCII):
        raise ValueError(f"{value!r} is not an address or host name to listen on")
    return value


def redis_url(value: str) -> str:
    """A URL that the Redis client takes, of a Redis or of its Sentinels, or nothing."""
    if not value.startswith("unix:"):
        refuse_unescaped(value)
    if value.startswith(SENTINEL_SCHEME):
        if not re.fullmatch(SENTINEL, value, re.ASCII):
            raise ValueError("is not a URL of Sentinels, such as redis+sentinel://host:26379,host:26379/name")
        return value
    parts = web_address(value, {"redis", "rediss"})
    numbered = parts is not None and re.fullmatch(r"/?|/[0-9]+", parts.path, re.ASCII)
    if value and not ((numbered or re.fullmatch(r"unix:///\S+", value)) and _is_for_redis(value)):
        raise ValueError("is not a Redis URL, such as redis://host:6379/0, rediss://host:6379/0 or unix:///path")
    return value


def _is_for_redis(value: str) -> bool:
    """Whether the client takes it, its options included; nothing is connected to."""
    from redis import ConnectionPool  # it takes a while, and most do without Redis

    try:
        ConnectionPool.from_url(value).make_connection()
    except (TypeError, ValueError):
        return False
    return True


def web_address(value: Any, schemes: Collection[str] = ("http", "https")) -> SplitResult | None:
    """The parts of an address with one of the schemes and a host; None for anything else."""
    printable = isinstance(value, str) and value.isprintable() and " " not in value
    try:
        parts = urlsplit(value if printable else "")
        return parts if parts.scheme in schemes and parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def json_objects(value: str) -> list[dict[str, Any]]:
    """The objects of a JSON list."""
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("is not valid JSON") from None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError("must be a JSON list of objects")
    return listed


def ratelimit(value: str) -> str:
    """The limits of a tier, or nothing."""
    try:
        limits = parse_many(value) if value else []
        makes_sense = all(0 < limit.amount < HUGE and limit.get_expiry() < HUGE for limit in limits)
    except ValueError:
        makes_sense = False
    # The library reads "per 0 minutes" as "per 1 minute".
    if not makes_sense or re.search(r"(?:per|/)\s*0+(?!\d)", value, re.IGNORECASE):
        raise ValueError(f"{value!r} is not a rate limit, such as '30 per minute; 300 per hour'")
    return value


def origins(value: str) -> tuple[str, ...]:
    """Several origins, separated by commas."""
    return tuple(map(origin, separated(value)))


def origin(value: str) -> str:
    """An origin as a browser writes it: in lower case, without the default port. A slash at its end is dropped."""
    given = value.lower().removesuffix("/")
    parts = web_address(given)
    if parts is None or given != _origin_of(parts) or "*" in given or not given.isascii():
        raise ValueError(f"{value!r} is not an origin, such as https://app.example.com")
    if (parts.scheme, parts.port) in {("http", 80), ("https", 443)}:
        raise ValueError(f"{value!r} names the default port, which browsers leave out")
    return given


def _origin_of(parts: SplitResult) -> str:
    name = f"[{parts.hostname}]" if ":" in str(parts.hostname) else str(parts.hostname)
    return f"{parts.scheme}://{name}" if parts.port is None else f"{parts.scheme}://{name}:{parts.port}"


def site_name(value: str) -> str:
    """A name of one line."""
    if len(value) > LONGEST_NAME or not value.isprintable():
        raise ValueError(f"a name is one line of at most {LONGEST_NAME} characters, none of them invisible")
    return value


def site_url(value: str) -> str:
    """The origin of the site, or nothing."""
    return origin(value) if value else ""
