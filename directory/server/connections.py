"""The clients' connections: read, written and closed by the event loop, so that a slow client costs a buffer alone.

All methods run in the event loop. A connection is in one state at a time: it is read from, until there is a request; or
it is busy, while its request is answered; or it is written to; or it is being closed.
"""

import math
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from directory.server.request_buffer import RequestBuffer
from directory.server.tuning import (
    DISCARD_MAX,
    FIRST_BYTE_SECONDS,
    LINGER_SECONDS,
    LINGERING_MAX,
    RECEIVE,
    SEND_SECONDS,
    STOP_SECONDS,
)


class Connection:
    """One client: what has come of its next request, and what it has not taken of its response yet."""

    __slots__ = ("buffer", "client", "deadline", "discarded", "is_read", "keep", "rest", "server", "sock", "unsent")

    def __init__(self, sock: socket.socket, client: Any, server: Any) -> None:
        self.sock, self.client, self.server = sock, client, server
        self.buffer: RequestBuffer | None = None  # where a request has begun and is not answered
        self.rest = b""  # what came behind a request
        self.unsent = memoryview(b"")
        self.keep = False  # whether it stays open when all of its response is sent
        self.is_read = False  # whether the loop waits for its next bytes
        self.deadline = math.inf  # by time.monotonic()
        self.discarded = 0  # bytes that came while it was being closed


class Connections:
    """All connections of the process.

    `receive` is given what a client sent, b"" at its end; `expire` a connection whose request did not come in time.
    """

    def __init__(
        self, poller: selectors.BaseSelector, keepalive: float, receive: Callable[[Connection, bytes], None],
        expire: Callable[[Connection], None],
    ) -> None:  # fmt: skip
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
        self._wait_for_request(connection, FIRST_BYTE_SECONDS)

    def pause(self, connection: Connection) -> None:
        """Read nothing from it until its request is answered. It has no deadline then."""
        connection.deadline = math.inf
        if connection.is_read:
            self._poller.unregister(connection.sock)
            connection.is_read = False

    def send(self, connection: Connection, response: bytes, *, keep: bool) -> None:
        """Send a response, and keep the connection or close it then. What the client does not take at once waits."""
        if connection not in self.open:  # it was lost while its request was answered
            return
        connection.keep, connection.buffer = keep, None
        try:
            sent = connection.sock.send(response)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.abort(connection)
            return
        if sent == len(response):
            self._finish_response(connection)
            return
        self.pause(connection)
        connection.unsent = memoryview(response)[sent:]
        connection.deadline = time.monotonic() + SEND_SECONDS
        self._poller.register(connection.sock, selectors.EVENT_WRITE, partial(self._writable, connection))

    def send_now(self, connection: Connection, data: bytes) -> None:
        """Send a few bytes before the response, which go into the system's buffer or nowhere."""
        with suppress(OSError):
            connection.sock.send(data)

    def close(self, connection: Connection) -> None:
        """Close it when the client has read its response and closes too: a reset would take the response from it."""
        del self.open[connection]
        while len(self._closing) >= LINGERING_MAX:
            self._hang_up(next(iter(self._closing)))
        try:
            connection.sock.shutdown(socket.SHUT_WR)
            if not connection.is_read:
                self._poller.register(connection.sock, selectors.EVENT_READ)
            self._poller.modify(connection.sock, selectors.EVENT_READ, partial(self._discard, connection))
        except (OSError, ValueError):  # the client has gone
            self._forget(connection)
            return
        connection.deadline = time.monotonic() + LINGER_SECONDS
        self._closing[connection] = None

    def abort(self, connection: Connection) -> None:
        """Close it at once: the client has gone, or has sent nothing."""
        if self.open.pop(connection, self) is None:
            self._forget(connection)

    def stop(self, now: float) -> None:
        """Keep idle connections for STOP_SECONDS only: a request may be on its way."""
        self._stops_at = now + STOP_SECONDS
        for connection in self.open:
            if connection.is_read and connection.buffer is None:
                connection.deadline = min(connection.deadline, self._stops_at)

    def close_expired(self, events_read_at: float) -> None:
        """Close the connections whose deadline had passed when the events were read; something may have come since."""
        for connection in [each for each in self._closing if each.deadline <= events_read_at]:
            self._hang_up(connection)
        for connection in [each for each in self.open if each.deadline <= events_read_at]:
            if connection.buffer is not None:
                self._expire(connection)
            else:
                self.abort(connection)

    def close_all(self) -> None:
        """Close what is left, at the end of the process."""
        for connection in [*self.open, *self._closing]:
            self._forget(connection)

    def _wait_for_request(self, connection: Connection, seconds: float) -> None:
        connection.deadline = min(time.monotonic() + seconds, self._stops_at)
        if connection.is_read:
            return
        try:
            self._poller.register(connection.sock, selectors.EVENT_READ, partial(self._readable, connection))
        except OSError:  # the system can watch no more connections
            self.abort(connection)
            return
        connection.is_read = True

    def _readable(self, connection: Connection, sock: socket.socket) -> None:
        if connection not in self.open or not connection.is_read:  # closed or paused in this iteration
            return
        try:
            data = sock.recv(RECEIVE)
        except BlockingIOError:
            return
        except OSError:
            self.abort(connection)
            return
        self._receive(connection, data)

    def _writable(self, connection: Connection, sock: socket.socket) -> None:
        if connection not in self.open:
            return
        try:
            connection.unsent = connection.unsent[sock.send(connection.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self.abort(connection)
            return
        connection.deadline = time.monotonic() + SEND_SECONDS
        if not connection.unsent:
            connection.unsent = memoryview(b"")  # or it would hold the response
            self._poller.unregister(sock)
            self._finish_response(connection)

    def _finish_response(self, connection: Connection) -> None:
        """Go on with a connection whose response is sent."""
        if not connection.keep:
            self.close(connection)
            return
        self._wait_for_request(connection, self._keepalive)
        if connection.rest and connection in self.open:
            rest, connection.rest = connection.rest, b""
            self._receive(connection, rest)

    def _discard(self, connection: Connection, sock: socket.socket) -> None:
        if connection not in self._closing:
            return
        received = b""
        with suppress(OSError):
            received = sock.recv(DISCARD_MAX)
        connection.discarded += len(received)
        if not received or connection.discarded >= DISCARD_MAX:
            self._hang_up(connection)

    def _hang_up(self, connection: Connection) -> None:
        del self._closing[connection]
        self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        with suppress(OSError, KeyError, ValueError):
            self._poller.unregister(connection.sock)
        connection.unsent = memoryview(b"")
        with suppress(OSError):
            connection.sock.close()
