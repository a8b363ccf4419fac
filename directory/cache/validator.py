"""The snapshot validator: one cheap read of the database's snapshot tells which cached answers are still valid."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Engine

from directory.cache.changes import ChangeFeed
from directory.cache.snapshots import LOOP_TIMEOUT, TIMEOUT, SnapshotReader, open_reader
from directory.db.statements import Row, use_connection

log = logging.getLogger(__name__)

# The event loop holds up all connections while it waits. These bound its waits for a database that is slow or mute.
LOOP_LOCK_TIMEOUT = 0.02  # seconds that it waits for a read of the snapshot that a thread has begun
LOOP_PAUSE = 1.0  # seconds for which it leaves the database alone after a read that failed


class Snapshot(NamedTuple):
    """The state of the database at an instant. Two snapshots with the same number saw the same rows."""

    number: int
    changes: ChangeFeed


ReadVotes = Callable[[list[Row]], tuple[Snapshot | None, list[Row | None]]]


class SnapshotValidator:
    """Gives the database's current snapshot, over a connection of its own.

    A read that began after a caller asked is valid for that caller. So callers that ask while a read is under way share
    the next read: under load there are far fewer reads than callers.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._reads_begun = 0
        self._timeout = TIMEOUT  # of the last read, in seconds
        self._number = 0
        self._changes = ChangeFeed()
        self._state: Any = None  # the database's own name for the last snapshot
        self._latest: Snapshot | None = None
        self._reader: SnapshotReader | None = None
        self._paused_until = 0.0  # by time.monotonic()

    def snapshot(self) -> Snapshot | None:
        """A snapshot taken after this call began; None where the database does not give one in time."""
        return self._share_read(TIMEOUT, TIMEOUT)

    def snapshot_for_loop(self) -> Snapshot | None:
        """The same for the event loop: None unless there is a connection already, and it answers at once."""
        return self._share_read(LOOP_LOCK_TIMEOUT, LOOP_TIMEOUT) if self._is_ready else None

    def _share_read(self, lock_timeout: float, timeout: float) -> Snapshot | None:
        before = self._reads_begun  # all of these reads began too early for this caller
        if not self._lock.acquire(timeout=lock_timeout):
            return None
        try:
            has_failed = self._latest is None and timeout > self._timeout  # with less time than this caller has
            if self._reads_begun == before or has_failed:
                self._reads_begun += 1
                self._latest, _ = self._read(timeout)
            return self._latest
        finally:
            self._lock.release()

    @contextmanager
    def reading_votes(self, *, in_loop: bool) -> Iterator[ReadVotes | None]:
        """A function that reads the snapshot together with rows of `readers.votes`. No other thread reads meanwhile.

        It returns None in place of the snapshot where the database does not give one in time. There is no function
        where another thread reads for too long; and for the event loop, without a connection.
        """
        lock_timeout, timeout = (LOOP_LOCK_TIMEOUT, LOOP_TIMEOUT) if in_loop else (TIMEOUT, TIMEOUT)
        if (in_loop and not self._is_ready) or not self._lock.acquire(timeout=lock_timeout):
            yield None
            return

        def read(asked: list[Row]) -> tuple[Snapshot | None, list[Row | None]]:
            self._reads_begun += 1
            self._latest, rows = self._read(timeout, asked)
            return self._latest, rows

        try:
            yield read
        finally:
            self._lock.release()

    @contextmanager
    def borrow_connection(self) -> Iterator[bool]:
        """Run the prepared statements of the block over the validator's connection, for the event loop.

        Yields whether there is a connection; without one the block must run no statement. Raises what the block raises.
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
        except BaseException:  # it may have interrupted a wait, so that the answer would be taken for the next one
            self.close()
            raise
        finally:
            self._lock.release()

    @property
    def _is_ready(self) -> bool:
        return self._reader is not None and time.monotonic() >= self._paused_until

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection. It may be lost without our knowing."""
        return self._reader is not None

    @property
    def latest(self) -> Snapshot | None:
        """The last snapshot that was read: rows that are read from now on are no older."""
        return self._latest

    def close(self) -> None:
        """Close the connection. The next call of `snapshot` opens another."""
        reader, self._reader, self._state = self._reader, None, None
        self._paused_until = time.monotonic() + LOOP_PAUSE
        if reader is not None:
            reader.close()

    def _read(self, timeout: float, asked: list[Row] | None = None) -> tuple[Snapshot | None, list[Row | None]]:
        """Read the snapshot, and the rows that are asked. After a new connection anything may have changed.

        Such a connection knows no earlier snapshot.
        """
        self._timeout = timeout
        if self._reader is None and timeout < TIMEOUT:  # the event loop has no time to open a connection
            return None, []
        rows: list[Row | None] = []
        try:
            if self._reader is None:
                self._reader = open_reader(self._engine)
            if asked is None:
                state, changes = self._reader.read(self._state, timeout)
            else:
                state, changes, rows = self._reader.read_with_votes(self._state, timeout, asked)
        except Exception as error:
            log.info("snapshot not read", extra={"reason": type(error).__name__})
            self.close()
            return None, []
        if state == self._state and self._latest is not None:
            return self._latest, rows
        self._number += 1
        self._changes.add(self._number, None if self._state is None else changes)
        self._state = state
        return Snapshot(self._number, self._changes), rows
