"""The threads that serve: as many as there are seats, for whoever has to wait long for his turn leaves his.

Where many sign in at once they wait for their turn at hashing, seconds perhaps, and need neither the database nor the
interpreter meanwhile. So another thread serves in the place of one that waits. When that comes back it queues like
everybody else, and the thread that gets to it ends and leaves it the seat. So no more threads work, or hold a
connection to the database, than there are seats; and who never waits pays nothing for all that.

There is no bound for those that wait but gunicorn's own for connections: one that had to wait in its seat might wait
for another that waits for a seat.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue


class _Own(threading.local):
    """The seats of which this thread has one."""

    seats: "Seats | None" = None
    has_left: bool = False


_own = _Own()


class Seats:
    """Threads that do the pieces of work that come, each the next one; they end with the process."""

    def __init__(self, seats: int) -> None:
        self._coming: SimpleQueue[Callable[[], object] | threading.Event] = SimpleQueue()
        self.put = self._coming.put
        for _ in range(seats):
            self.fill()

    def fill(self) -> None:
        """Have one thread more."""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        _own.seats = self
        while not _own.has_left:
            if isinstance(piece := self._coming.get(), threading.Event):
                piece.set()
                return
            piece()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Leave this thread's seat to another thread, and queue for one afterwards."""
        self.fill()
        try:
            yield
        finally:
            seated = threading.Event()
            self.put(seated)
            seated.wait()

    def shutdown(self, wait: bool = False) -> None:
        """Do nothing: gunicorn asks for it when all is done, and what is not done then ends with the process."""


@contextmanager
def aside() -> Iterator[None]:
    """Wait for something within this: a thread that serves requests leaves its seat meanwhile."""
    if _own.seats is None or _own.has_left:
        yield
        return
    with _own.seats.left():
        yield


def leave() -> None:
    """Leave this thread's seat to another thread for good: it ends with what it does, which is not much any more.

    Where the system has no room for another thread, this one keeps it.
    """
    if _own.seats is not None and not _own.has_left:
        with suppress(RuntimeError):
            _own.seats.fill()
            _own.has_left = True


def by_another(work: Callable[[], object]) -> None:
    """Have another thread do something: of a server's, the next that has a seat."""
    if _own.seats is None:
        threading.Thread(target=work, daemon=True).start()
    else:
        _own.seats.put(work)
