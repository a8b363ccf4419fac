"""A whole request, as gunicorn's own way of serving takes it: what it does to the client's socket is collected here."""

from typing import Any

from directory.server.connections import Connection


class Exchange:
    """A request that is whole, and its answer: what gunicorn's `handle` takes for a connection and for its socket."""

    initialized = data_ready = True
    is_http2 = False

    def __init__(self, connection: Connection, parser: Any) -> None:
        self.client, self.server, self.parser, self.sock = connection.client, connection.server, parser, self
        self.parts: list[bytes] = []

    def init(self) -> None:
        """Do nothing: there is a parser already."""

    def send(self, data: bytes) -> int:
        """Add to the answer."""
        self.parts.append(data)
        return len(data)

    sendall = send

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> None:
        """Add a file's content to the answer."""
        file.seek(offset)
        self.send(file.read(count))

    def ignore(self, *_: Any) -> None:
        """Do nothing: the loop keeps and closes the connection itself, which gunicorn believes to do here."""

    setblocking = settimeout = gettimeout = shutdown = recv = close = ignore
