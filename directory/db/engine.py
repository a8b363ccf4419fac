"""Engines for SQLite and PostgreSQL: their options, pragmas, settings, and the check of a pooled connection."""

import json
import math
import os
from contextlib import suppress
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import make_url

from directory.db import clock

# The busy timeout and the deadline are below the 5 s within which we promise a response.
SQLITE_BUSY_MILLISECONDS = 4_500
BUSY_TIMEOUT = "busy_timeout"  # execution option: milliseconds for which a writer waits for the write lock
# The letters of texts as they are: escaped, an ideograph takes up to four times the bytes.
as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
OVERRIDING = ("PGTZ", "PGDATESTYLE")  # environment variables by which libpq would override our settings


def engine_options(url: str, *, threads: int) -> dict[str, Any]:
    """The engine's options for `url`; the pool has a connection for each of the process's `threads`."""
    both = {
        "hide_parameters": True,  # errors are logged, and parameters may be hashes of secrets
        "json_serializer": as_json,
        "json_deserializer": orjson.loads,
    }
    if make_url(url).get_backend_name() == "sqlite":
        return both
    from directory.db import deadline_connection, pooler  # psycopg is for PostgreSQL alone

    return {
        **both,
        # Reads need no commit: without BEGIN and ROLLBACK they cost one round trip instead of three.
        "isolation_level": "AUTOCOMMIT",
        "pool_size": threads,
        "max_overflow": 2,
        "pool_timeout": 3,
        # A rollback by the pool would waste a round trip: each transaction ends before its connection returns.
        "pool_reset_on_return": None,
        "connect_args": {
            "connect_timeout": deadline_connection.CONNECT_SECONDS,
            # Hot statements are prepared by name (statements.py). The driver's cache would drop them at any rollback.
            "prepare_threshold": None,
            "tcp_user_timeout": 10_000,
            "keepalives_idle": 30,
            "options": pooler.OPTIONS,
        },
    }


def configure(engine: Engine) -> None:
    """Set the pragmas and explicit transactions of a SQLite engine, or the deadlines and checks of a PostgreSQL engine.

    For PostgreSQL it deletes the variables of OVERRIDING from the environment.
    """
    if engine.dialect.name == "postgresql":
        for name in OVERRIDING:
            os.environ.pop(name, None)
        from directory.db import deadline_connection

        deadline_connection.install(engine)
        return
    event.listen(engine, "do_connect", _create_private)
    event.listen(engine, "connect", _sqlite_connect)
    event.listen(engine, "begin", _sqlite_begin)


def _create_private(_dialect: Any, _record: Any, arguments: list[Any], _named: Any) -> None:
    """Create a missing SQLite file so that only its owner can read it; SQLite copies the mode to -wal and -shm."""
    with suppress(OSError):  # it exists; or it cannot be created, which SQLite will report
        if arguments[0] != ":memory:":
            os.close(os.open(arguments[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _sqlite_connect(driver: Any, _record: Any) -> None:
    clock.forget()
    driver.create_function("has_words", 2, _has_words, deterministic=True)
    driver.create_function("ln", 1, math.log, deterministic=True)  # which not every build of SQLite has
    driver.isolation_level = None  # the driver's own BEGIN would come late, after the first reads of a write
    for pragma in (
        f"busy_timeout={SQLITE_BUSY_MILLISECONDS}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "temp_store=MEMORY",
        "trusted_schema=OFF",
    ):
        driver.execute(f"PRAGMA {pragma}")


def _has_words(text: str, asked: str) -> bool:
    """Whether the text contains, for each line of `asked`, at least one of its parts, which are separated by bars.

    If `asked` begins with an empty line, a number, and groups of lines with empty lines between them, so many groups
    are enough.
    """
    if asked[:1] == "\n":
        least, *groups = asked[1:].split("\n\n")
        return sum(_has_words(text, group) for group in groups) >= int(least)
    for parts in _lines(asked):  # not any() and all(): their generators would double the time
        for part in parts:
            if part in text:
                break
        else:
            return False
    return True


@lru_cache(maxsize=64)
def _lines(asked: str) -> list[list[str]]:
    return [line.split("|") for line in asked.split("\n")]


def _sqlite_begin(begun: Connection) -> None:
    """Begin a read transaction, or with the option BUSY_TIMEOUT a transaction that has the write lock."""
    options = begun.get_execution_options()
    if BUSY_TIMEOUT not in options:
        begun.exec_driver_sql("BEGIN DEFERRED")
        return
    begun.exec_driver_sql(f"PRAGMA busy_timeout={options[BUSY_TIMEOUT]}")
    try:
        begun.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        begun.exec_driver_sql(f"PRAGMA busy_timeout={SQLITE_BUSY_MILLISECONDS}")
