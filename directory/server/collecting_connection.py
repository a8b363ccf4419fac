"""Lets gunicorn serve a whole request in its own way, and collects the response that it would send to a client."""

from typing import Any

from directory.server.connections import Connection


class CollectingConnection:
    """An adapter: gunicorn's `handle` takes it for a connection and its socket, and it collects the response."""

    initialized = data_ready = True
    is_http2 = False

    def __init__(self, connection: Connection, parser: Any = None) -> None:
        self.client, self.server, self.parser, self.sock = connection.client, connection.server, parser, self
        self._parts: list[bytes] = []

    @property
    def response(self) -> bytes:
        """What was sent so far."""
        return b"".join(self._parts)

    def send(self, data: bytes) -> int:
        """Add to the response."""
        self._parts.append(data)
        return len(data)

    sendall = send

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> None:
        """Add a file's content to the response."""
        file.seek(offset)
        self.send(file.read(count))

    def ignore(self, *_: Any) -> None:
        """Do nothing: there is a parser already, and the event loop waits for the client and closes the connection."""

    init = setblocking = settimeout = gettimeout = shutdown = recv = close = ignore
