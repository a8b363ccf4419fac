"""Stores values that are expensive to compute, such as the dashboard's, until anything is written to the database."""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from directory.cache.snapshot_source import Snapshot, SnapshotSource
from directory.cache.store import Store
from directory.db import deadline

CAPACITY = 2**20  # bytes of values in the memory of a process


class Memo:
    """Computes one value at a time, whatever its key; a caller that has waited too long computes its own meanwhile."""

    def __init__(self, snapshots: SnapshotSource) -> None:
        self._snapshots, self._computing = snapshots, threading.Lock()
        self.store: Store[bytes] = Store(CAPACITY)

    def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """The value stored under `key` if it is still valid, else a new one. Raises what `compute` raises."""
        snapshot = self._snapshots.snapshot()
        value = self._stored(key, snapshot)
        return self._compute(key, snapshot, compute) if value is None else value

    def _stored(self, key: Hashable, snapshot: Snapshot | None) -> bytes | None:
        return None if snapshot is None else self.store.get(key, snapshot)

    def _compute(self, key: Hashable, snapshot: Snapshot | None, compute: Callable[[], bytes]) -> bytes:
        """Wait for another caller's value, for half of the time until the deadline at most; without one, compute it."""
        with self.one_at_a_time(deadline.remaining(deadline.SECONDS) / 2):
            if (value := self._stored(key, snapshot)) is not None:
                return value
            begun = self._snapshots.snapshot()  # only now, so that the value is valid for the callers that wait already
            value = compute()
            if begun is not None:
                self.store.put(key, begun, value, len(value))
            return value

    @contextmanager
    def one_at_a_time(self, seconds: float) -> Iterator[None]:
        """Let one thread at a time run the block; a thread that has waited for `seconds` runs it all the same."""
        holds_lock = self._computing.acquire(timeout=seconds)
        try:
            yield
        finally:
            if holds_lock:
                self._computing.release()
