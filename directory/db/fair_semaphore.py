"""A semaphore that admits callers in the order of their arrival."""

from collections import deque
from threading import Event, Lock


class FairSemaphore:
    """Admits `size` callers at a time. In the standard library's semaphore newcomers overtake waiting callers."""

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._free = size
        self._first: deque[Event] = deque()
        self._waiting: deque[Event] = deque()

    def acquire(self, seconds: float, *, first: bool = False) -> bool:
        """Enter, or wait for at most `seconds`; return whether the caller was admitted.

        With `first` it waits before all others: for callers that were admitted before, and left for a while.
        """
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = Event()
            line = self._first if first else self._waiting
            line.append(turn)
        if turn.wait(seconds):
            return True
        with self._lock:
            if turn.is_set():  # admitted just after the wait ended
                return True
            line.remove(turn)
            return False

    def release(self) -> None:
        """Leave, and admit the next caller."""
        with self._lock:
            if line := self._first or self._waiting:
                line.popleft().set()
            else:
                self._free += 1
