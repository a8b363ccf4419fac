"""Reads the database's current snapshot, once for all callers that wait for it.

Its number, and the changes up to it, decide which stored values are valid (`store.py`). The same connection reads rows
of votes with the snapshot, and single objects for the event loop.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any, NamedTuple

from sqlalchemy import Engine

from directory.cache.changes import RecentChanges
from directory.db.errors import log_failure
from directory.db.snapshots import SnapshotReader, open_reader
from directory.db.statements import Row, use_connection
from directory.models import now
from directory.services.catalog import readers

THREAD_TIMEOUT = 1.0  # seconds for a thread's read of the snapshot; if it takes longer, the application answers
# The event loop holds up all connections while it waits. Between two waits it answers /healthz, mostly within 100 ms.
LOOP_TIMEOUT = 0.05  # seconds for a statement; a snapshot and its changes have half as long again if they take two
LOOP_LOCK_TIMEOUT = 0.02  # seconds for a thread that is reading to end
# Seconds in which the loop does not use the database, so that threads answer.
PAUSE_AFTER_LOSS = 1.0  # after the connection was lost
PAUSE_AFTER_TIMEOUT = 0.1  # after the loop waited LOOP_LOCK_TIMEOUT and could not read the snapshot
log = logging.getLogger(__name__)


class Snapshot(NamedTuple):
    """The state of the database at an instant. Snapshots with the same number see the same rows."""

    number: int
    changes: RecentChanges


ReadVotes = Callable[[list[Row]], tuple[Snapshot | None, list[Row | None]]]


class SnapshotSource:
    """Gives the database's current snapshot, over a connection of its own.

    A caller needs a read that began after it asked. So callers that ask while a read is under way share the next one:
    under load there are far fewer reads than callers.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self.dialect = engine, engine.dialect.name
        self._lock = threading.Lock()
        self._reads_begun = 0
        self._read_in_loop = False  # whether the event loop made the last read, for which it has less time
        self._number = 0
        self._changes = RecentChanges()
        self._state: Any = None  # the database's own name for the last snapshot
        self._day: date | None = None  # the UTC day on which it was read
        self.latest: Snapshot | None = None  # the last one: rows that are read from now on are at least as new
        self._reader: SnapshotReader | None = None
        self._paused_until = 0.0  # by time.monotonic()

    def snapshot(self, *, in_loop: bool = False) -> Snapshot | None:
        """A snapshot taken after this call began; None where the database does not give one in time.

        In the event loop also None unless a connection is open, which answers at once.
        """
        if in_loop and not self._is_ready:
            return None
        before = self._reads_begun  # these reads began too early for this caller
        if not self._lock.acquire(timeout=LOOP_LOCK_TIMEOUT if in_loop else THREAD_TIMEOUT):
            if in_loop:
                self._paused_until = time.monotonic() + PAUSE_AFTER_TIMEOUT
            return None
        try:
            gave_up_soon = self.latest is None and self._read_in_loop and not in_loop
            if self._reads_begun == before or gave_up_soon:
                self._reads_begun += 1
                self.latest, _ = self._read_snapshot(in_loop)
            return self.latest
        finally:
            self._lock.release()

    @contextmanager
    def reading_votes(self, *, in_loop: bool) -> Iterator[ReadVotes | None]:
        """A function that reads the snapshot together with rows of `readers.votes`. No other thread reads meanwhile.

        The function returns None as the snapshot if the database does not give one in time. In place of a function the
        block gets None if another thread holds the lock for too long, and in the event loop if no connection is open.
        """
        lock_timeout = LOOP_LOCK_TIMEOUT if in_loop else THREAD_TIMEOUT
        if (in_loop and not self._is_ready) or not self._lock.acquire(timeout=lock_timeout):
            yield None
            return

        def read(asked: list[Row]) -> tuple[Snapshot | None, list[Row | None]]:
            self._reads_begun += 1
            self.latest, rows = self._read_snapshot(in_loop, asked)
            return self.latest, rows

        try:
            yield read
        finally:
            self._lock.release()

    @contextmanager
    def borrow_connection(self) -> Iterator[bool]:
        """Run the prepared statements of the block over this connection, for the event loop.

        Yields False if there is none, or another thread uses it too long: then the block must run no statement. Raises
        what the block raises.
        """
        if not (self._is_ready and self._lock.acquire(timeout=LOOP_LOCK_TIMEOUT)):
            yield False
            return
        try:
            if self._reader is None:  # closed by the thread that held the lock
                yield False
                return
            with use_connection(self._reader.connection, LOOP_TIMEOUT):
                yield True
        except Exception as error:
            if getattr(error, "connection_invalidated", False):
                self.close()
            raise
        except BaseException:  # it may have interrupted a wait, whose result the next statement would get
            self.close()
            raise
        finally:
            self._lock.release()

    @property
    def _is_ready(self) -> bool:
        return self._reader is not None and time.monotonic() >= self._paused_until

    @property
    def should_connect(self) -> bool:
        """Whether a connection is missing and the pause after the last one is over."""
        return self._reader is None and time.monotonic() >= self._paused_until

    def close(self) -> None:
        """Close the connection. The next call of `snapshot` opens another."""
        reader, self._reader, self._state = self._reader, None, None
        self._paused_until = time.monotonic() + PAUSE_AFTER_LOSS
        if reader is not None:
            reader.close()

    def _read_snapshot(self, in_loop: bool, asked: list[Row] | None = None) -> tuple[Snapshot | None, list[Row | None]]:
        """Read the snapshot, and the rows for the values that are `asked`.

        The first snapshot of a connection cannot be compared with earlier ones, so anything may have changed before it.
        The same holds for the first snapshot of a UTC day, because pages show what is new this week.
        """
        self._read_in_loop = in_loop
        if self._reader is None and in_loop:  # it has no time to open a connection
            return None, []
        timeout, rows = LOOP_TIMEOUT if in_loop else THREAD_TIMEOUT, list[Row | None]()
        try:
            if self._reader is None:
                self._reader = open_reader(self._engine)
            if asked is None:
                state, changes = self._reader.read(self._state, timeout)
            else:
                state, changes, rows = self._reader.read_with(self._state, timeout, readers.votes(self.dialect), asked)
        except Exception as error:
            log_failure(log, "snapshot not read", error)
            self.close()
            return None, []
        day = now().date()
        if (state, day) == (self._state, self._day) and self.latest is not None:
            return self.latest, rows
        self._number += 1
        is_comparable = self._state is not None and day == self._day
        self._changes.add(self._number, changes if is_comparable else None)
        self._state, self._day = state, day
        return Snapshot(self._number, self._changes), rows
