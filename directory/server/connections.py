"""Shares connections evenly among the server's processes."""

import errno
import math
import mmap
import socket
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

SLOTS = 256  # more than there are processes at a time; each takes the place of its number
YIELD = 0.005  # seconds for another process to take a connection, which may have to wait for a processor first
CROWD = 16  # connections that it takes at once, at most, where nobody else comes for any
LOOK = 0.001  # seconds until it looks whether the other has taken it: no less, for that is what epoll counts in
FULL = 0.1  # seconds until there may be a file for one; gunicorn itself would end the process, with all that it serves

# Made before there are workers, which have it in common: the connections of each and one more, 0 where there is none.
_held = memoryview(mmap.mmap(-1, 4 * SLOTS)).cast("I")


def forget(age: int) -> None:
    """A worker has ended: nobody shall wait for it to take its share. `age` is the number that gunicorn gave it."""
    _held[age % SLOTS] = 0


class BalancingWorker(ThreadWorker):  # type: ignore[misc]
    """Leaves a new connection to a process that has fewer, for a moment.

    All processes wait at one socket, and whoever wakes first takes what comes. Of sixteen connections one process of
    two may so get fourteen, and a proxy keeps its connections: one core works, the other rests.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._resume = 0.0  # when to look at new connections again, by time.monotonic()
        self._owed = 0  # how many it takes next, for it has yielded in vain

    def accept(self, listener: socket.socket) -> None:
        """Take who waits, or yield.

        Where nobody else comes for a connection it takes twice as many each time: the others have their hands full, and
        a crowd is at the door.
        """
        own = self._owed if time.monotonic() >= self._resume else 0
        self._owed = 0
        for taken in range(CROWD + 1):
            if self.alive and taken >= own and self._is_ahead():
                self._owed = min(2 * own or 1, CROWD)
                self._rest(YIELD)
                break
            if not self._takes(listener) or (self.alive and self.nr_conns >= self.worker_connections):
                break
        self._tell()

    def _takes(self, listener: socket.socket) -> bool:
        """Take one connection; whether there was any."""
        before = self.nr_conns
        try:
            super().accept(listener)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._rest(FULL)
        return bool(self.nr_conns > before)

    def _rest(self, seconds: float) -> None:
        """Take no connections for so long."""
        self._resume = time.monotonic() + seconds
        self.set_accept_enabled(False)

    def set_accept_enabled(self, enabled: bool) -> None:
        """Begin or cease to take connections; not before it is time again, or the other has taken its own."""
        if not (enabled and time.monotonic() < self._resume and (self._is_ahead() or not self._owed)):
            super().set_accept_enabled(enabled)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Do one turn of the loop."""
        self._tell()
        yields = self._owed and not self._accepting and time.monotonic() < self._resume
        super().wait_for_and_dispatch_events(min(timeout, LOOK) if yields else timeout)

    def _tell(self) -> None:
        _held[self.age % SLOTS] = self.nr_conns + 1

    def _is_ahead(self) -> bool:
        """Whether another has fewer connections."""
        held = _held.tolist()
        held[self.age % SLOTS] = 0
        return bool(min(filter(None, held), default=math.inf) <= self.nr_conns)
