"""Calls the WSGI application with a whole request, and returns its whole response."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from directory.db import deadline
from directory.http.wsgi import Answer, Response, read_body
from directory.server.protocol import Request


def call(app: Callable[..., Iterable[bytes]], request: Request) -> Response:
    """The application's response. Its time counts from when the request was whole.

    Raises what escapes the application, and ValueError for a header that could be taken for several.
    """
    started: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        started[:] = status, headers

    with deadline.for_request(time.perf_counter() - request.began):
        body = read_body(app(request.environ, start))
    status, headers = started
    return Answer(status, headers, body).encoded()
