"""A semaphore that lets callers in in the order in which they came, so that each gets its turn."""

from collections import deque
from threading import Event, Lock


class FairSemaphore:
    """Lets `size` callers in at a time. The standard library's lets newcomers overtake those that wait."""

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._free = size
        self._first: deque[Event] = deque()
        self._waiting: deque[Event] = deque()

    def acquire_at_once(self) -> bool:
        """Enter, if there is a place; return whether the caller is in."""
        with self._lock:
            if not self._free:
                return False
            self._free -= 1
            return True

    def acquire(self, seconds: float, *, first: bool = False) -> bool:
        """Enter, or wait to be let in for so many seconds at most; return whether the caller is in.

        With `first` it waits before all others: for callers that had their turn, and gave it up for a while.
        """
        turn = Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            line = self._first if first else self._waiting
            line.append(turn)
        if turn.wait(seconds):
            return True
        with self._lock:
            if turn.is_set():  # let in after the wait had ended
                return True
            line.remove(turn)
            return False

    def release(self) -> None:
        """Leave, and let the next caller in."""
        with self._lock:
            if line := self._first or self._waiting:
                line.popleft().set()
            else:
                self._free += 1
