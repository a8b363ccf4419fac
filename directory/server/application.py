"""Calls the WSGI application, in a thread, for the requests that the server has read itself."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gunicorn.http.wsgi import base_environ

from directory.db import deadline
from directory.http.wsgi import header_lines, read_body
from directory.server.connections import Connection
from directory.server.request_reader import ParsedRequest

BODILESS = ("204", "304")  # the statuses whose responses end with their head, RFC 9112 section 6.3


@dataclass(eq=False, slots=True)
class ReceivedRequest:
    """A request that was read, over which connection, and when it came: by time.perf_counter()."""

    connection: Connection
    request: ParsedRequest
    began: float


class Response(NamedTuple):
    """The status, the header lines and the body; the server adds what belongs to the connection."""

    status: bytes
    headers: bytes
    body: bytes


Outcome = Response | BaseException


class Application:
    """The WSGI application."""

    def __init__(self, app: Callable[..., Iterable[bytes]], config: Any) -> None:
        self._app = app
        self._environ = {**base_environ(config), "wsgi.multithread": True}

    def outcome(self, received: ReceivedRequest) -> Outcome:
        """The response, or what `respond` raised; before the deadline, which counts from when the request came."""
        try:
            with deadline.for_request(time.perf_counter() - received.began):
                return self.respond(received)
        except BaseException as error:  # a thread that ended would be missing
            return error

    def respond(self, received: ReceivedRequest) -> Response:
        """The response.

        Raises what escapes the application, and ValueError for a header that could be taken for several.
        """
        started: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
            started[:] = status, headers

        body = read_body(self._app(self.environ_of(received), start))
        status, headers = started
        return self.encoded(status, headers, body)

    @staticmethod
    def encoded(status: str, headers: list[tuple[str, str]], body: bytes) -> Response:
        """The response as it is sent. Raises ValueError for a header that could be taken for several."""
        if not status.startswith(BODILESS) and not any(name.lower() == "content-length" for name, _ in headers):
            headers = [*headers, ("Content-Length", str(len(body)))]
        lines = header_lines(headers)
        if not lines.count(b"\r") == lines.count(b"\n") == len(headers):
            raise ValueError("a header of the response holds the end of a line")
        return Response(status.encode(), lines, body)

    def environ_of(self, received: ReceivedRequest) -> dict[str, Any]:
        """The WSGI environment of a request."""
        connection = received.connection
        (client, client_port, *_), (server, port, *_) = connection.client, connection.server
        return {
            **self._environ, **received.request.environ(), "gunicorn.socket": connection.sock, "REMOTE_ADDR": client,
            "REMOTE_PORT": str(client_port), "SERVER_NAME": server, "SERVER_PORT": str(port),
        }  # fmt: skip
