"""Calls the WSGI application for a request that is whole."""

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from directory.db import deadline
from directory.http.wsgi import header_lines, read_body
from directory.server.protocol import Request

BODILESS = ("204", "304")  # the statuses whose responses end with their head, RFC 9112 section 6.3
# What is the same for every request. The server never has a part of a body in hand, so it ends the input itself.
BASE: dict[str, Any] = {
    "wsgi.errors": sys.stderr, "wsgi.version": (1, 0), "wsgi.multithread": True, "wsgi.multiprocess": True,
    "wsgi.run_once": False, "wsgi.input_terminated": True, "wsgi.url_scheme": "http", "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "gunicorn",
}  # fmt: skip


class Response(NamedTuple):
    """The status, the header lines and the body; the connection adds what belongs to it."""

    status: bytes
    headers: bytes
    body: bytes


def call(app: Callable[..., Iterable[bytes]], request: Request) -> Response:
    """The application's response, in the time that the request has left since it came.

    Raises what escapes the application, and ValueError for a header that could be taken for several.
    """
    started: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        started[:] = status, headers

    with deadline.for_request(time.perf_counter() - request.began):
        body = read_body(app(request.environ, start))
    status, headers = started
    return encoded(status, headers, body)


def encoded(status: str, headers: list[tuple[str, str]], body: bytes) -> Response:
    """A response as it is sent. Raises ValueError for a header that could be taken for several."""
    if not status.startswith(BODILESS) and not any(name.lower() == "content-length" for name, _ in headers):
        headers = [*headers, ("Content-Length", str(len(body)))]
    lines = header_lines(headers)
    if not lines.count(b"\r") == lines.count(b"\n") == len(headers):
        raise ValueError("a header of the response holds the end of a line")
    return Response(status.encode(), lines, body)
