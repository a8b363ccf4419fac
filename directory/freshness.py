"""Whether anything was written since: one cheap read that tells; and answers kept for as long as nothing was.

PostgreSQL's snapshot names the transactions whose effects are visible. Two equal snapshots see the same rows, so an
answer made after one was taken still holds while the next is equal; no row is written to have that, and a vote pays
nothing for it. SQLite has the like in `PRAGMA data_version`, which changes on a connection whenever another commits.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Engine

T = TypeVar("T")
TIMEOUT = 1.0  # seconds; a database that is mute for longer is the application's to report


class Probe(Protocol):
    """A connection that is asked for nothing but the mark."""

    def read(self) -> Any:
        """The database's present mark."""

    def close(self) -> None:
        """Close the connection."""


class Guard:
    """Gives the database's present mark; equal marks mean equal data.

    A read that began after a caller asked is good for that caller. So callers that ask while one is under way share
    the next one: under load there is far less than one read for each of them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Condition()
        self._reading = False
        self._begun = self._ended = 0
        self._generation = 0
        self._mark: Any = None
        self._probe: Probe | None = None

    def mark(self) -> Any:
        """The mark of some moment after this call began; None where the database gives none in time."""
        with self._turn:
            wanted = self._begun + 1  # one that is under way began too early
            while self._reading and self._ended < wanted:
                if not self._turn.wait(TIMEOUT):
                    return None
            if self._ended >= wanted:
                return self._mark
            self._reading = True
            self._begun += 1
        mark = self._read()
        with self._turn:
            self._mark, self._ended, self._reading = mark, self._begun, False
            self._turn.notify_all()
        return mark

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        probe, self._probe = self._probe, None
        if probe is not None:
            probe.close()

    def _read(self) -> Any:
        """The mark, told apart from those of earlier connections: SQLite counts for each connection anew."""
        try:
            if self._probe is None:
                self._generation += 1
                self._probe = _probe(self._engine)
            return self._generation, self._probe.read()
        except Exception:
            self.close()
            return None


class Kept(Generic[T]):
    """Answers of one mark, to `capacity` bytes; the least recently used go first. A new mark empties it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._mark: Any = None
        self._size = 0
        self._answers: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def get(self, key: Hashable, mark: Any) -> T | None:
        """The answer kept under `key`, if it was made under `mark`."""
        with self._lock:
            if mark != self._mark:
                self._answers.clear()
                self._mark, self._size = mark, 0
            found = self._answers.get(key)
            if found is None:
                return None
            self._answers.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, mark: Any, answer: T, size: int) -> None:
        """Keep an answer that was begun after `mark` was read, unless there has been a newer mark since."""
        with self._lock:
            if mark != self._mark or key in self._answers:
                return
            self._answers[key] = answer, size
            self._size += size
            while self._size > self._capacity:
                self._size -= self._answers.popitem(last=False)[1][1]


def _probe(engine: Engine) -> Probe:
    connection = engine.raw_connection()
    connection.detach()  # it is never given back to the pool
    probe = PostgresqlProbe if engine.dialect.name == "postgresql" else SqliteProbe
    return probe(connection.dbapi_connection)


class SqliteProbe:
    """Asks for the version that other connections' commits change."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self) -> Any:
        """The version."""
        return self._connection.execute("PRAGMA data_version").fetchone()[0]


class PostgresqlProbe:
    """Asks for the snapshot, below the driver's cursors: it is the one query that every cached answer pays."""

    def __init__(self, connection: Any) -> None:
        connection.autocommit = True
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self) -> Any:
        """The snapshot. Raises psycopg.Error, also where the server is mute for too long."""
        self._connection.pgconn.send_query(b"SELECT pg_current_snapshot()")
        return self._connection.result(TIMEOUT).get_value(0, 0)
