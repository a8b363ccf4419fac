"""The memory of the cache: it returns a stored value only if it is valid at the caller's snapshot of the database."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from directory.cache.snapshot_source import Snapshot
from directory.http.cache_policy import CacheTags

T = TypeVar("T")


def count_nothing(_source: str) -> None:
    """Count nothing, where metrics are off."""


class Store(Generic[T]):
    """Holds values, such as responses, up to `capacity` bytes, and drops the least recently used first.

    `count` is called with "stored" for each value that `get` returns, and with "made" for each that is put.
    """

    def __init__(self, capacity: int, count: Callable[[str], None] = count_nothing) -> None:
        self._capacity, self._count = capacity, count
        self._lock = threading.Lock()
        self._size = 0
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        """Whether there is a value under `key`, valid or not."""
        return key in self._entries

    def get(self, key: Hashable, snapshot: Snapshot) -> T | None:
        """The value under `key`, if it is valid at this snapshot. This counts as its use."""
        value = self.peek(key, snapshot)
        if value is not None:
            self._count("stored")
            with self._lock:
                if key in self._entries:  # else another thread has dropped it
                    self._entries.move_to_end(key)
        return value

    def peek(self, key: Hashable, snapshot: Snapshot) -> T | None:
        """The same as `get`, but not counted, and without effect on which value is dropped first."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.valid_at < snapshot.number:
            if entry.tags is None or not snapshot.changes.is_unaffected(entry.tags, entry.valid_at):
                return None
            entry.valid_at = snapshot.number
        return entry.value

    def put(self, key: Hashable, snapshot: Snapshot, value: T, size: int, tags: CacheTags | None = None) -> None:
        """Store a value whose making began after `snapshot`. Without tags any write at all makes it invalid."""
        self._count("made")
        entry = _Entry(value, size, snapshot.number, tags)
        with self._lock:
            before = self._entries.pop(key, None)
            if before is not None and before.valid_at > entry.valid_at:
                entry = before
            self._entries[key] = entry
            self._size += entry.size - (before.size if before else 0)
            self._shrink()

    def grow(self, key: Hashable, value: T, more: int) -> None:
        """Note that a stored value takes so many bytes more."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and entry.value is value:  # else it was dropped
                entry.size += more
                self._size += more
                self._shrink()

    def _shrink(self) -> None:
        while self._size > self._capacity:
            self._size -= self._entries.popitem(last=False)[1].size


@dataclass(slots=True)
class _Entry(Generic[T]):
    """A value, and the number of the latest snapshot at which it is known to be valid."""

    value: T
    size: int
    valid_at: int
    tags: CacheTags | None
