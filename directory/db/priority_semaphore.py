"""A semaphore with priorities: it lets a few callers in at a time; of those that wait the lowest rank comes first."""

import heapq
from itertools import count
from threading import Event, Lock


class PrioritySemaphore:
    """Lets `size` callers in at a time. Callers of the same rank are let in in the order in which they came."""

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._free = size
        self._numbers = count()
        self._waiting: list[tuple[int, int, Event]] = []

    def acquire_at_once(self) -> bool:
        """Enter, if there is a place; return whether the caller is in."""
        with self._lock:
            if not self._free:
                return False
            self._free -= 1
            return True

    def acquire(self, rank: int, seconds: float) -> bool:
        """Enter, or wait to be let in for so many seconds at most; return whether the caller is in."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = Event()
            entry = (rank, next(self._numbers), turn)
            heapq.heappush(self._waiting, entry)
        if turn.wait(seconds):
            return True
        with self._lock:
            if turn.is_set():  # let in after the wait had ended
                return True
            self._waiting.remove(entry)
            heapq.heapify(self._waiting)
            return False

    def release(self) -> None:
        """Leave, and let the next caller in."""
        with self._lock:
            if self._waiting:
                heapq.heappop(self._waiting)[2].set()
            else:
                self._free += 1
