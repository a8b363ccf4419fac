"""Calls the WSGI application with a request, and returns its whole response."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from directory.db import deadline
from directory.http.wsgi import Answer, Response, read_body
from directory.server.protocol import Request


def call(app: Callable[..., Iterable[bytes]], request: Request) -> Response:
    """The application's response. The request's deadline counts from when the server had read it.

    Raises what escapes the application, and ValueError for a header with a line break in it.
    """
    started: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        started[:] = status, headers

    try:
        with deadline.within(deadline.SECONDS - (time.perf_counter() - request.began)):
            body = read_body(app(request.environ, start))
    finally:
        # Werkzeug puts its request, which holds the environment, into it. Such a cycle, and the body that it holds,
        # would stay in memory until the garbage is collected.
        request.environ.clear()
    status, headers = started
    return Answer(status, headers, body).encoded()
