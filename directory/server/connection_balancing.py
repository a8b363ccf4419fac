"""Accepts connections and shares them evenly among the server's processes.

All processes wait at one socket, and the one that wakes first accepts. So of sixteen connections one process of two may
get fourteen, and a proxy keeps its connections open: one core works and the other rests.
"""

import errno
import math
import mmap
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from directory.server.tuning import ACCEPT_MAX, NO_FILES_SECONDS, YIELD_LOOK_SECONDS, YIELD_SECONDS

PLACES = 256  # more than there are processes at a time; each takes the place of its number
GONE = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED}  # another process was faster, or the client has given up
NO_FILES = {errno.EMFILE, errno.ENFILE}

# Made before there are workers, which share it: the connections of each and one more, 0 where there is no process.
_held = memoryview(mmap.mmap(-1, 4 * PLACES)).cast("I")


def forget(age: int) -> None:
    """Note that the worker with this number, which gunicorn gave it, has ended: no other leaves connections to it."""
    _held[age % PLACES] = 0


class Acceptor:
    """Accepts new connections, and yields for YIELD_SECONDS to a process that has fewer.

    Where no other process takes any it accepts twice as many each time: the others are busy, and many clients wait.
    `count` returns how many connections the process has; `take` is given each new one.
    """

    def __init__(
        self, poller: selectors.BaseSelector, listeners: list[Any], age: int, *,
        most: int, count: Callable[[], int], take: Callable[[socket.socket, Any, Any], None],
    ) -> None:  # fmt: skip
        self._poller, self._listeners, self._place = poller, listeners, age % PLACES
        self._most, self._count, self._take = most, count, take
        self._accepts = False
        self._stops = False
        self._resume = 0.0  # when to accept again, by time.monotonic()
        self._allowance = 0  # connections to accept next, because it has yielded in vain

    def adjust(self) -> None:
        """Start or stop accepting: by the number of connections, and by the process whose turn it is."""
        self._publish_count()
        wanted = self._count() < self._most
        waits = time.monotonic() < self._resume and (self._is_ahead() or not self._allowance)
        if wanted != self._accepts and not (wanted and waits):
            self._set_accepting(wanted)

    def timeout(self) -> float:
        """Seconds after which to `adjust` again."""
        if self._accepts or self._stops or self._count() >= self._most:
            return math.inf
        return YIELD_LOOK_SECONDS if self._allowance else max(0.0, self._resume - time.monotonic())

    def stop(self) -> None:
        """Accept for the last time: the clients that the kernel has admitted already. Then refuse new ones.

        A process that held the socket open to its end would admit clients and cut them off. A proxy may repeat a
        request at another host if it was refused, but not if it was cut off.
        """
        self._set_accepting(False)
        self._stops = True
        while self._listeners:
            listener = self._listeners.pop()
            while self._accept_one(listener):
                pass
            listener.close()
        self._publish_count()

    def accept(self, listener: Any) -> None:
        """Accept what waits, or yield to another process."""
        own = self._allowance if time.monotonic() >= self._resume else 0
        self._allowance = 0
        for taken in range(ACCEPT_MAX + 1):
            if taken >= own and self._is_ahead():
                self._allowance = min(2 * own or 1, ACCEPT_MAX)
                self._rest(YIELD_SECONDS)
                break
            if not self._accept_one(listener) or self._count() >= self._most:
                break
        self._publish_count()

    def _accept_one(self, listener: Any) -> bool:
        """Accept one connection; whether there was any."""
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in NO_FILES:
                self._rest(NO_FILES_SECONDS)
            elif error.errno not in GONE:
                raise
            return False
        self._take(sock, client, listener.getsockname())
        return True

    def _rest(self, seconds: float) -> None:
        """Accept nothing for so long."""
        self._resume = time.monotonic() + seconds
        self._set_accepting(False)

    def _set_accepting(self, accepts: bool) -> None:
        if accepts == self._accepts or self._stops:
            return
        for listener in self._listeners:
            if accepts:
                listener.setblocking(False)
                self._poller.register(listener, selectors.EVENT_READ, self.accept)
            else:
                self._poller.unregister(listener)
        self._accepts = accepts

    def _publish_count(self) -> None:
        # Of a process that stops the others know nothing, or they would leave connections to it.
        _held[self._place] = 0 if self._stops else self._count() + 1

    def _is_ahead(self) -> bool:
        """Whether another process has fewer connections."""
        held = _held.tolist()
        held[self._place] = 0
        return bool(min(filter(None, held), default=math.inf) <= self._count())
