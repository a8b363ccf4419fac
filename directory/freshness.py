"""Whether what was answered still holds: one cheap read tells what has changed since.

PostgreSQL's snapshot names the transactions whose effects are visible. Two equal snapshots see the same rows, so an
answer made after one was taken still holds while the next is equal. Where they differ, the table `changes` tells by
what: its triggers note which projects' votes moved, and that anything else which the public sees was written. SQLite
has `PRAGMA data_version`, which changes on a connection whenever another commits, and tells no more than that.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Engine

from directory.prepared import over, unprepare

TIMEOUT = 1.0  # seconds; a database that is mute for longer is the application's to report
AT_ONCE = 0.2  # seconds at most, for who keeps others waiting meanwhile
BESIDE = 0.02  # seconds for him to wait for the read of another, which may be one that finds the database mute
SLOW = 0.1  # seconds of looks after which he begins no other
REST = 1.0  # seconds for which who keeps others waiting leaves a database alone that did not tell
REMEMBERED = 2_000  # projects whose last vote is known, and twice that many votes at most


class Moved(NamedTuple):
    """A project whose votes moved, between two numbers."""

    project_id: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Basis:
    """What an answer rests on besides what only a decision, an edit or the like changes: the votes of some projects.

    Of a page in the order of votes, `low` and `high` are the ends of what it shows: a project that is not on it gets
    there, or past it, only by votes between them.
    """

    projects: tuple[int, ...]
    low: int | None = None
    high: int | None = None


class Changes:
    """What has changed, by the number of the moment at which it was seen. One thread writes, any read.

    A moment's number is handed out when all that it saw is written here, so who knows of a moment misses none of it.
    """

    def __init__(self) -> None:
        self._everything = 0
        self._votes: dict[int, int] = {}
        self._moves: list[tuple[int, int, int]] = []
        self._complete_since = 0

    def add(self, number: int, moved: Iterable[Moved] | None) -> None:
        """Take in what the moment `number` saw; None where anything may have changed."""
        if moved is None or len(self._votes) > REMEMBERED:
            self._everything = number
            self._votes, self._moves, self._complete_since = {}, [], number
            return
        for each in moved:
            self._votes[each.project_id] = number
            self._moves.append((number, each.low, each.high))
        if len(self._moves) > 2 * REMEMBERED:
            self._complete_since = self._moves[REMEMBERED - 1][0]
            self._moves = self._moves[REMEMBERED:]

    def spared(self, basis: Basis, since: int) -> bool:
        """Whether nothing that was seen after the moment `since` changes an answer of that moment."""
        votes, moves = self._votes, self._moves
        if self._everything > since:  # asked last: if the two were emptied meanwhile, it tells
            return False
        if any(votes.get(project, 0) > since for project in basis.projects):
            return False
        return basis.low is None or basis.high is None or self._passed_by(moves, basis.low, basis.high, since)

    def _passed_by(self, moves: list[tuple[int, int, int]], low: int, high: int, since: int) -> bool:
        """Whether no votes moved between two numbers; `moves` grows at its end, or is replaced."""
        if since < self._complete_since:
            return False
        for number, lowest, highest in reversed(moves):
            if number <= since:
                return True
            if lowest <= high and highest >= low:
                return False
        return True


class Moment(NamedTuple):
    """The database at an instant. Two with the same number saw the same rows."""

    number: int
    changes: Changes


class Probe(Protocol):
    """A connection of the pool's making that is asked for the mark."""

    connection: Any

    def read(self, since: Any, seconds: float) -> tuple[Any, list[Moved] | None]:
        """The present mark, and the votes that moved since another; None for them where anything may have changed."""

    def close(self) -> None:
        """Close the connection."""


class Guard:
    """Gives the database's present moment.

    A read that began after a caller asked is good for that caller. So callers that ask while one is under way share
    the next one: under load there is far less than one read for each of them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Lock()
        self._begun = 0
        self._number = 0
        self._changes = Changes()
        self._mark: Any = None
        self._moment: Moment | None = None
        self._probe: Probe | None = None
        self._rests_until = 0.0  # by time.monotonic()

    def moment(self) -> Moment | None:
        """Some moment after this call began; None where the database does not tell in time."""
        return self._ask(TIMEOUT, TIMEOUT)

    def at_once(self) -> Moment | None:
        """The same, where there is a connection already and it tells at once."""
        return self._ask(BESIDE, AT_ONCE) if self._is_ready else None

    def _ask(self, turn: float, seconds: float) -> Moment | None:
        before = self._begun  # of these reads each began too early
        if not self._turn.acquire(timeout=turn):
            return None
        try:
            if self._begun == before:
                self._begun += 1
                self._moment = self._read(seconds)
            return self._moment
        finally:
            self._turn.release()

    @contextmanager
    def at_hand(self) -> Iterator[bool]:
        """Have this thread's statements run over the connection that there is; gives whether there is one.

        For what is answered at once: they share its turn, and the time of one look. Raises what they raise.
        """
        has_turn = self._is_ready and self._turn.acquire(timeout=BESIDE)
        if not has_turn:
            yield False
            return
        try:
            if self._probe is None:  # closed by whom it was waited for
                yield False
                return
            with over(self._probe.connection, AT_ONCE):
                yield True
        except Exception as error:
            if getattr(error, "connection_invalidated", False):
                self.close()
            raise
        except BaseException:  # while it may have been waited for, so that the answer is still to come
            self.close()
            raise
        finally:
            self._turn.release()

    @property
    def _is_ready(self) -> bool:
        return self._probe is not None and time.monotonic() >= self._rests_until

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, which may be lost already."""
        return self._probe is not None

    @property
    def latest(self) -> Moment | None:
        """The last moment that was read: what is read from the database from now on is no older."""
        return self._moment

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        probe, self._probe, self._mark = self._probe, None, None
        self._rests_until = time.monotonic() + REST
        if probe is not None:
            probe.close()

    def _read(self, seconds: float) -> Moment | None:
        """The moment. A new connection knows nothing of what an earlier one saw: anything may have changed."""
        if self._probe is None and seconds < TIMEOUT:  # closed by whom one has waited for; to open one takes longer
            return None
        try:
            if self._probe is None:
                self._probe = _probe(self._engine)
            mark, moved = self._probe.read(self._mark, seconds)
        except Exception:
            self.close()
            return None
        if mark == self._mark and self._moment is not None:
            return self._moment
        self._number += 1
        self._changes.add(self._number, None if self._mark is None else moved)
        self._mark = mark
        return Moment(self._number, self._changes)


def _probe(engine: Engine) -> Probe:
    connection = engine.raw_connection()
    connection.detach()  # it is never given back to the pool
    probe = PostgresqlProbe if engine.dialect.name == "postgresql" else SqliteProbe
    return probe(connection)


class SqliteProbe:
    """Asks for the version that other connections' commits change."""

    def __init__(self, connection: Any) -> None:
        self.connection, self._connection = connection, connection.dbapi_connection
        self._connection.execute(f"PRAGMA busy_timeout={int(AT_ONCE * 1000)}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, list[Moved] | None]:
        """The version."""
        return self._connection.execute("PRAGMA data_version").fetchone()[0], None


class PostgresqlProbe:
    """Asks for the snapshot, below the driver's cursors: it is the one query that every cached answer pays."""

    NAME = b"directory_moment"
    # One statement, so that what it tells of is what its snapshot sees. Who asks for the first time is told nothing.
    QUERY = b"""
        SELECT pg_current_snapshot(), c.transaction, c.project_id, c.low, c.high
        FROM (VALUES (1)) AS always LEFT JOIN changes c
        ON c.transaction >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(c.transaction, $1)
    """

    def __init__(self, connection: Any) -> None:
        self.connection, self._connection = connection, connection.dbapi_connection
        self._connection.autocommit = True
        unprepare(connection)  # else those of its time in the pool might come to take the moment's along
        # Any plan but the index's would read the rows of long ago as well.
        for setting in (b"SET plan_cache_mode = force_generic_plan", b"SET enable_seqscan = off"):
            self._connection.pgconn.send_query(setting)
            self._connection.result(TIMEOUT)
        self._connection.pgconn.send_prepare(self.NAME, self.QUERY)
        self._connection.result(TIMEOUT)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, list[Moved] | None]:
        """The snapshot and what has changed. Raises psycopg.Error, also where the server is mute for too long."""
        self._connection.pgconn.send_query_prepared(self.NAME, [since])
        told = self._connection.result(seconds)
        moved = []
        for row in range(told.ntuples):
            if told.get_value(row, 1) is None:  # nothing has
                break
            values = [told.get_value(row, column) for column in (2, 3, 4)]
            if values[0] is None:
                return told.get_value(0, 0), None
            moved.append(Moved(*map(int, values)))
        return told.get_value(0, 0), moved
