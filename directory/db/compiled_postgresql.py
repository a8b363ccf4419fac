"""Prepared statements of libpq. It imports psycopg, which takes 8 MiB of memory: a server on SQLite does without."""

import time
from datetime import datetime
from typing import Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.types.json import Json, Jsonb
from sqlalchemy import Engine

from directory.db import compiled, deadline, pooler
from directory.db.compiled import Compiled, Row, Statement
from directory.db.engine import as_json

# Keys of a pooled connection's `info`: the object that converts results, and the names of prepared statements by text.
_LOADER, _NAMES = "directory.loader", "directory.names"
MAX_PREPARED = 100  # on one connection; thousands of statements are possible, and each takes memory


def deallocate_all(connection: Any) -> None:
    """Remove all prepared statements from a direct connection to PostgreSQL. Raises psycopg.Error."""
    connection.dbapi_connection.pgconn.send_query(b"DEALLOCATE ALL")
    connection.dbapi_connection.result(_seconds_left())
    connection.info.pop(_NAMES, None)


def _seconds_left() -> float | None:
    """The remaining seconds of a borrowed connection; None for any other connection."""
    lent = compiled.borrowed.get()
    return None if lent is None else max(0.0, lent.give_up_at - time.monotonic())


class CompiledForPostgresql(Compiled):
    """Prepared by name on each connection that runs it, unless it is planned for each run."""

    def __init__(self, statement: Statement, dialect: Any, *, replan: bool) -> None:
        super().__init__(statement, type(dialect)(paramstyle="numeric_dollar"))
        self._replan = replan

    def _fetch(self, connection: Any, values: Row, later: bool) -> list[Row]:
        driver, info = connection.dbapi_connection, connection.info
        encoded = [_encoded(value) for value in values]
        deadline.check()
        driver.begin()
        # A pooler's next transaction may run in a session without the name.
        is_named = not (self._replan or driver.is_pooled)
        name = is_named and (info.get(_NAMES, {}).get(self._text) or self._prepare(connection))
        is_queued = later and driver.queue()
        if name:
            driver.pgconn.send_query_prepared(name, encoded)
        else:
            driver.pgconn.send_query_params(self._text.encode(), encoded)
        if is_queued:
            return []
        result = driver.result(_seconds_left())
        loader = info.get(_LOADER) or info.setdefault(_LOADER, Transformer(driver))
        loader.set_pgresult(result)
        if self._readers is None:
            self._learn([result.ftype(n) for n in range(result.nfields)])
        return loader.load_rows(0, result.ntuples, tuple)  # type: ignore[no-any-return]

    def _prepare(self, connection: Any) -> bytes:
        """Prepare the statement and return its name. If the connection has MAX_PREPARED, all are removed first."""
        connection.dbapi_connection.catch_up()
        if len(connection.info.get(_NAMES, {})) >= MAX_PREPARED:
            deallocate_all(connection)
        names = connection.info.setdefault(_NAMES, {})
        name = b"directory_%d" % len(names)
        connection.dbapi_connection.pgconn.send_prepare(name, self._text.encode())
        connection.dbapi_connection.result(_seconds_left())
        names[self._text] = name
        return name

    def _is_lost(self, engine: Engine, error: Any, driver: Any) -> bool:
        return super()._is_lost(engine, error, driver) or pooler.is_lost(error, is_pooled=driver.is_pooled)


def _encoded(value: Any) -> bytes | None:
    """A value in PostgreSQL's text format. Raises psycopg.DataError for a NUL, at which libpq would end the text."""
    if isinstance(value, str):  # most are
        text = value
    elif value is None:
        return None
    elif isinstance(value, Json | Jsonb):
        text = as_json(value.obj)
    elif isinstance(value, list | tuple):
        text = _array(value)
    else:
        text = value.isoformat() if isinstance(value, datetime) else str(value)
    if "\0" in text:
        raise psycopg.DataError("a text holds NUL")
    return text.encode()


def _array(elements: list[Any] | tuple[Any, ...]) -> str:
    """An array in PostgreSQL's text format."""
    texts = [*map(str, elements)]
    if any('"' in text or "\\" in text for text in texts):
        texts = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return '{"' + '","'.join(texts) + '"}' if texts else "{}"
