"""A semaphore that admits callers in the order of their arrival."""

from collections import deque
from threading import Event, Lock


class FairSemaphore:
    """Admits `size` callers at a time. In the standard library's semaphore newcomers overtake waiting callers."""

    def __init__(self, size: int) -> None:
        self._lock = Lock()
        self._free = size
        self._waiting: deque[Event] = deque()

    def acquire(self, seconds: float) -> bool:
        """Enter, or wait for at most `seconds`; return whether the caller was admitted."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn = Event()
            self._waiting.append(turn)
        if turn.wait(seconds):
            return True
        with self._lock:
            if turn.is_set():  # admitted just after the wait ended
                return True
            self._waiting.remove(turn)
            return False

    def release(self) -> None:
        """Leave, and admit the next caller."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
