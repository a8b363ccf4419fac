"""The clients' connections: read, written and closed by the event loop, so that a slow client costs a buffer alone.

All methods run in the event loop. A connection is in one state at a time: it is read from, until there is a request; or
it is busy, while its request is answered; or it is written to; or it is being closed.
"""

import math
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from directory.server.request_buffer import RequestBuffer
from directory.server.tuning import (
    DRAIN_MAX,
    FIRST_BYTE_SECONDS,
    LINGER_SECONDS,
    LINGERING_MAX,
    RECEIVE,
    SEND_SECONDS,
    STOP_SECONDS,
)

PARTS = 64  # buffers sent by one call; systems take no less


class Connection:
    """One client: what has come of its next request, and what it has not taken of its answer yet."""

    __slots__ = ("buffer", "client", "deadline", "drained", "is_read", "keep", "rest", "server", "sock", "unsent")

    def __init__(self, sock: socket.socket, client: Any, server: Any) -> None:
        self.sock, self.client, self.server = sock, client, server
        self.buffer: RequestBuffer | None = None  # where a request has begun and is not answered
        self.rest = b""  # what came behind a request
        self.unsent: deque[memoryview] = deque()
        self.keep = False  # whether it is kept when all of its answer is sent
        self.is_read = False  # whether the loop waits for its next bytes
        self.deadline = math.inf  # by time.monotonic()
        self.drained = 0


class Connections:
    """All connections of the process.

    `receive` is given what a client sent, b"" at its end; `expire` a connection whose request did not come in time.
    """

    def __init__(
        self,
        poller: selectors.BaseSelector,
        keepalive: float,
        receive: Callable[[Connection, bytes], None],
        expire: Callable[[Connection], None],
    ) -> None:
        self._poller, self._keepalive, self._receive, self._expire = poller, keepalive, receive, expire
        self.open: dict[Connection, None] = {}
        self._closing: dict[Connection, None] = {}  # the oldest first
        self._stops_at = math.inf

    def __len__(self) -> int:
        """The connections that are open, without those that are being closed."""
        return len(self.open)

    @property
    def are_closed(self) -> bool:
        """Whether none is left."""
        return not (self.open or self._closing)

    def add(self, sock: socket.socket, client: Any, server: Any) -> None:
        """Take a new connection, and wait for its first byte."""
        sock.setblocking(False)
        connection = Connection(sock, client, server)
        self.open[connection] = None
        self._read(connection, FIRST_BYTE_SECONDS)

    def pause(self, connection: Connection) -> None:
        """Read nothing from it until its request is answered. It has no deadline then."""
        connection.deadline = math.inf
        if connection.is_read:
            self._poller.unregister(connection.sock)
            connection.is_read = False

    def send(self, connection: Connection, parts: Sequence[bytes], *, keep: bool) -> None:
        """Send an answer, and keep the connection or close it then. What the client does not take at once waits."""
        if connection not in self.open:  # lost meanwhile
            return
        connection.keep, connection.buffer = keep, None
        try:
            taken = connection.sock.sendmsg(parts[:PARTS])
        except BlockingIOError:
            taken = 0
        except OSError:
            self.lose(connection)
            return
        if taken < sum(map(len, parts)):
            self._write_later(connection, parts, taken)
        else:
            self._end(connection)

    def send_now(self, connection: Connection, data: bytes) -> None:
        """Send a few bytes before the answer, which go into the system's buffer or nowhere."""
        with suppress(OSError):
            connection.sock.send(data)

    def close(self, connection: Connection) -> None:
        """Close it when the client has read its answer and closes too: a reset would take the answer from it."""
        del self.open[connection]
        while len(self._closing) >= LINGERING_MAX:
            self._hang_up(next(iter(self._closing)))
        try:
            connection.sock.shutdown(socket.SHUT_WR)
            if not connection.is_read:
                self._poller.register(connection.sock, selectors.EVENT_READ)
            self._poller.modify(connection.sock, selectors.EVENT_READ, partial(self._drain, connection))
        except (OSError, ValueError):  # the client has gone
            self._forget(connection)
            return
        connection.deadline = time.monotonic() + LINGER_SECONDS
        self._closing[connection] = None

    def lose(self, connection: Connection) -> None:
        """Close it at once: the client has gone, or has said nothing."""
        if self.open.pop(connection, self) is None:
            self._forget(connection)

    def stop(self, now: float) -> None:
        """Keep idle connections for a moment only: a request may be on its way."""
        self._stops_at = now + STOP_SECONDS
        for connection in self.open:
            if connection.is_read and connection.buffer is None:
                connection.deadline = min(connection.deadline, self._stops_at)

    def close_late(self, looked: float) -> None:
        """Close what was late when its events were last looked at; something may have come since."""
        for connection in [each for each in self._closing if each.deadline <= looked]:
            self._hang_up(connection)
        for connection in [each for each in self.open if each.deadline <= looked]:
            if connection.buffer is not None:
                self._expire(connection)
            else:
                self.lose(connection)

    def close_all(self) -> None:
        """Close what is left, at the end of the process."""
        for connection in [*self.open, *self._closing]:
            self._forget(connection)

    def _read(self, connection: Connection, seconds: float) -> None:
        connection.deadline = min(time.monotonic() + seconds, self._stops_at)
        if connection.is_read:
            return
        try:
            self._poller.register(connection.sock, selectors.EVENT_READ, partial(self._readable, connection))
        except OSError:  # the system has no room for it
            self.lose(connection)
            return
        connection.is_read = True

    def _readable(self, connection: Connection, sock: socket.socket) -> None:
        if connection not in self.open or not connection.is_read:  # closed or paused in this turn
            return
        try:
            data = sock.recv(RECEIVE)
        except BlockingIOError:
            return
        except OSError:
            self.lose(connection)
            return
        self._receive(connection, data)

    def _write_later(self, connection: Connection, parts: Sequence[bytes], taken: int) -> None:
        self.pause(connection)
        connection.unsent.extend(map(memoryview, parts))
        _skip(connection.unsent, taken)
        connection.deadline = time.monotonic() + SEND_SECONDS
        self._poller.register(connection.sock, selectors.EVENT_WRITE, partial(self._writable, connection))

    def _writable(self, connection: Connection, sock: socket.socket) -> None:
        if connection not in self.open:
            return
        try:
            _skip(connection.unsent, sock.sendmsg([*islice(connection.unsent, PARTS)]))
        except BlockingIOError:
            return
        except OSError:
            self.lose(connection)
            return
        connection.deadline = time.monotonic() + SEND_SECONDS
        if not connection.unsent:
            self._poller.unregister(sock)
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        """Go on with a connection whose answer is sent."""
        if not connection.keep:
            self.close(connection)
            return
        self._read(connection, self._keepalive)
        if connection.rest and connection in self.open:
            rest, connection.rest = connection.rest, b""
            self._receive(connection, rest)

    def _drain(self, connection: Connection, sock: socket.socket) -> None:
        if connection not in self._closing:
            return
        received = b""
        with suppress(OSError):
            received = sock.recv(DRAIN_MAX)
        connection.drained += len(received)
        if not received or connection.drained >= DRAIN_MAX:
            self._hang_up(connection)

    def _hang_up(self, connection: Connection) -> None:
        del self._closing[connection]
        self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        with suppress(OSError, KeyError, ValueError):
            self._poller.unregister(connection.sock)
        connection.unsent.clear()
        with suppress(OSError):
            connection.sock.close()


def _skip(unsent: deque[memoryview], taken: int) -> None:
    """Drop so many bytes from the front."""
    while unsent and taken >= len(unsent[0]):
        taken -= len(unsent.popleft())
    if taken:
        unsent[0] = unsent[0][taken:]
