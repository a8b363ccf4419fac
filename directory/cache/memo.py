"""A memo: values that are expensive to compute, stored until anything is written to the database."""

from collections.abc import Callable, Hashable

from directory.cache.store import ResponseStore
from directory.cache.validator import Snapshot, SnapshotValidator
from directory.db import deadline

CAPACITY = 2**20  # bytes of values in the memory of a process


class Memo:
    """Of several callers that ask for the same value at once, one computes it and the others wait for that one."""

    def __init__(self, validator: SnapshotValidator) -> None:
        self._validator = validator
        self.store: ResponseStore[bytes] = ResponseStore(CAPACITY)

    def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """The value stored under `key` if it is still valid, else a new one. Raises what `compute` raises."""
        snapshot = self._validator.snapshot()
        return self._stored(key, snapshot) or self._computed(key, snapshot, compute)

    def _stored(self, key: Hashable, snapshot: Snapshot | None) -> bytes | None:
        return None if snapshot is None else self.store.get(key, snapshot)

    def _computed(self, key: Hashable, snapshot: Snapshot | None, compute: Callable[[], bytes]) -> bytes:
        """Compute the value, unless another caller did while this one waited. Half of the deadline is for waiting."""
        with self.store.single_flight(deadline.remaining(deadline.SECONDS) / 2):
            if (value := self._stored(key, snapshot)) is not None:
                return value
            begun = self._validator.snapshot()  # as late as that, so that it is valid for the callers that wait
            value = compute()
            if begun is not None:
                self.store.put(key, begun, value, len(value))
            return value
