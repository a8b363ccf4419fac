"""Stores values that are expensive to compute, such as the dashboard, until anything is written to the database."""

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from directory.cache.store import SnapshotStore
from directory.cache.validator import Snapshot, SnapshotValidator
from directory.db import deadline

CAPACITY = 2**20  # bytes of values in the memory of a process


class Memo:
    """One caller computes at a time; the others wait, also for other keys."""

    def __init__(self, validator: SnapshotValidator) -> None:
        self._validator, self._computing = validator, threading.Lock()
        self.store: SnapshotStore[bytes] = SnapshotStore(CAPACITY)

    def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """The value stored under `key` if it is still valid, else a new one. Raises what `compute` raises."""
        snapshot = self._validator.snapshot()
        value = self._stored(key, snapshot)
        return self._compute(key, snapshot, compute) if value is None else value

    def _stored(self, key: Hashable, snapshot: Snapshot | None) -> bytes | None:
        return None if snapshot is None else self.store.get(key, snapshot)

    def _compute(self, key: Hashable, snapshot: Snapshot | None, compute: Callable[[], bytes]) -> bytes:
        """Compute the value, unless another caller did while this one waited: for half of its deadline at most."""
        with self.single_flight(deadline.remaining(deadline.SECONDS) / 2):
            if (value := self._stored(key, snapshot)) is not None:
                return value
            begun = self._validator.snapshot()  # as late as that, so that it is valid for the callers that wait
            value = compute()
            if begun is not None:
                self.store.put(key, begun, value, len(value))
            return value

    @contextmanager
    def single_flight(self, seconds: float) -> Iterator[None]:
        """Let one thread at a time compute a value. A thread that has waited for so many seconds goes ahead anyway."""
        is_alone = self._computing.acquire(timeout=seconds)
        try:
            yield
        finally:
            if is_alone:
                self._computing.release()
