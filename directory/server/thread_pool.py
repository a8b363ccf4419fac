"""The threads that serve requests: as many work at a time as there are slots.

A thread that hashes, or waits for its turn to hash, gives its slot back (`db/slots.py`), and another thread works in
its place. When it returns it queues behind the work that waits; the thread that reaches it ends and leaves it the slot.
So no more threads work, or hold a database connection, than there are slots. Requests that never wait pay nothing.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from directory.db import slots


class ThreadPool:
    """Threads that do the pieces of work that come, in their order. They end with the process."""

    def __init__(self, size: int) -> None:
        self._queue: SimpleQueue[Callable[[], object] | threading.Event] = SimpleQueue()
        self.submit = self._queue.put
        for _ in range(size):
            self._start()

    def release(self) -> bool:
        """Start one more thread, for the slot that is given back; False where the system can start none."""
        try:
            self._start()
        except RuntimeError:
            return False
        return True

    def acquire(self) -> None:
        """Wait for a slot: for a thread to end in favour of the calling one, behind the work that waits."""
        turn = threading.Event()
        self._queue.put(turn)
        turn.wait()

    def _start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        slots.current.set(self)
        while slots.current.get() is self:
            work = self._queue.get()
            if isinstance(work, threading.Event):
                work.set()
                return
            work()

    def shutdown(self, wait: bool = False) -> None:
        """Do nothing: gunicorn calls it at the end, and what is not done then ends with the process."""
