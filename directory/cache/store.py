"""Answers kept for as long as they hold."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from directory.cache.validator import Basis, Moment

T = TypeVar("T")


class Kept(Generic[T]):
    """Answers, to `capacity` bytes; the least recently used go first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock, self._making = threading.Lock(), threading.Lock()
        self._size = 0
        self._answers: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        """Whether anything is kept under `key`, which may not hold."""
        return key in self._answers

    def get(self, key: Hashable, now: Moment) -> T | None:
        """The answer kept under `key`, if it holds."""
        found = self._answers.get(key)
        if found is None:
            return None
        if found.number < now.number:
            if found.basis is None or not now.changes.spared(found.basis, found.number):
                return None
            found.number = now.number
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
        return found.answer

    def put(self, key: Hashable, moment: Moment, answer: T, size: int, basis: Basis | None = None) -> None:
        """Keep an answer that was begun after `moment`. Without a basis it holds until anything at all is written."""
        entry = _Entry(answer, size, moment.number, basis)
        with self._lock:
            before = self._answers.pop(key, None)
            if before is not None and before.number > entry.number:
                entry = before
            self._answers[key] = entry
            self._size += entry.size - (before.size if before else 0)
            while self._size > self._capacity:
                self._size -= self._answers.popitem(last=False)[1].size

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Make an answer while nobody else makes one; who has waited for so long does it beside them."""
        has_turn = self._making.acquire(timeout=seconds)
        try:
            yield
        finally:
            if has_turn:
                self._making.release()


@dataclass(slots=True)
class _Entry(Generic[T]):
    """An answer, and the latest moment at which it is known to hold."""

    answer: T
    size: int
    number: int
    basis: Basis | None
