"""The memory of the cache: responses, each with the latest snapshot at which it is known to be valid."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from directory.cache.validator import Snapshot
from directory.http.cache_tags import CacheTags

T = TypeVar("T")


class ResponseStore(Generic[T]):
    """Holds responses up to `capacity` bytes, and drops the least recently used first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock, self._flight = threading.Lock(), threading.Lock()
        self._size = 0
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        """Whether there is a response under `key`, valid or not."""
        return key in self._entries

    def get(self, key: Hashable, snapshot: Snapshot) -> T | None:
        """The response under `key`, if it is valid at this snapshot."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.valid_at < snapshot.number:
            if entry.tags is None or not snapshot.changes.is_unaffected(entry.tags, entry.valid_at):
                return None
            entry.valid_at = snapshot.number
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
        return entry.response

    def put(self, key: Hashable, snapshot: Snapshot, response: T, size: int, tags: CacheTags | None = None) -> None:
        """Store a response whose making began after `snapshot`. Without tags any write at all makes it invalid."""
        entry = _Entry(response, size, snapshot.number, tags)
        with self._lock:
            before = self._entries.pop(key, None)
            if before is not None and before.valid_at > entry.valid_at:
                entry = before
            self._entries[key] = entry
            self._size += entry.size - (before.size if before else 0)
            while self._size > self._capacity:
                self._size -= self._entries.popitem(last=False)[1].size

    @contextmanager
    def single_flight(self, seconds: float) -> Iterator[None]:
        """Let one thread at a time make a response. A thread that has waited for so many seconds goes ahead anyway."""
        is_alone = self._flight.acquire(timeout=seconds)
        try:
            yield
        finally:
            if is_alone:
                self._flight.release()


@dataclass(slots=True)
class _Entry(Generic[T]):
    """A response, and the number of the latest snapshot at which it is known to be valid."""

    response: T
    size: int
    valid_at: int
    tags: CacheTags | None
