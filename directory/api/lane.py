"""The fast lane: anonymous reads answered again without the application, while nothing has been written.

One rule says when an answer may be given again: the application gave it, to the same address, as a public one, and
the database's mark is what it was before the application began to make it. A write of any process changes the mark
before it is acknowledged, so what was acknowledged is in the next answer; nothing here ages.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from flask import Flask

from directory.api import security
from directory.freshness import Guard, Kept

CAPACITY = 16 * 2**20  # bytes of answers kept by a process
DASHBOARDS = 2**20  # bytes of dashboards
OVERHEAD = 1500  # bytes that an entry takes beside its body
# A request with any of these may get another answer than the next one.
PERSONAL = ("HTTP_AUTHORIZATION", "HTTP_COOKIE", "HTTP_ORIGIN", "HTTP_IF_MATCH", "HTTP_RANGE")

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Count = Callable[[str, str, int, float], None]  # method, route, status, seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """A public answer of the application: its headers, all but the request's id, and its body."""

    headers: list[tuple[str, str]]
    unchanged: list[tuple[str, str]]  # the headers of its 304
    etag: str
    body: bytes
    route: str


class Lane:
    """Stands before the application and gives its public answers again."""

    def __init__(self, app: Application, guard: Guard, count: Count | None = None) -> None:
        self._app, self._guard, self._count = app, guard, count
        self._kept: Kept[Answer] = Kept(CAPACITY)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        if environ["REQUEST_METHOD"] != "GET" or not environ["PATH_INFO"].startswith("/api/"):
            return self._app(environ, start_response)
        if any(name in environ for name in PERSONAL):
            return self._app(environ, start_response)
        began = time.perf_counter()
        key = (environ["wsgi.url_scheme"], environ["PATH_INFO"], environ.get("QUERY_STRING", ""))
        mark = self._guard.mark()
        if mark is None:
            return self._app(environ, start_response)
        answer = self._kept.get(key, mark)
        if answer is None:
            return self._make(environ, start_response, key, mark)
        return self._again(answer, environ, start_response, began)

    def _again(self, answer: Answer, environ: Environ, start_response: StartResponse, began: float) -> Iterable[bytes]:
        """Give a kept answer, under an id of this request's own; 304 where the caller has it."""
        request_id = security.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        has = _has(environ.get("HTTP_IF_NONE_MATCH"), answer.etag)
        status, headers = (304, answer.unchanged) if has else (200, answer.headers)
        start_response("304 NOT MODIFIED" if has else "200 OK", [*headers, ("X-Request-ID", request_id)])
        security.log_request("GET", environ["PATH_INFO"], status, began, request_id=request_id, user_id=None)
        if self._count is not None:
            self._count("GET", answer.route, status, time.perf_counter() - began)
        return [] if has else [answer.body]

    def _make(
        self, environ: Environ, start_response: StartResponse, key: tuple[str, ...], mark: Any
    ) -> Iterable[bytes]:
        """Let the application answer, and keep the answer if it is public."""
        given: dict[str, Any] = {}

        def note(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            given.update(status=status, headers=headers)
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        parts = self._app(environ, note)
        try:
            body = b"".join(parts)
        finally:
            if close := getattr(parts, "close", None):
                close()
        answer = _public(given["status"], given["headers"], body, environ[security.ROUTE])
        if answer is not None:
            self._kept.put(key, mark, answer, len(body) + OVERHEAD)
        return [body]


def _public(status: str, headers: list[tuple[str, str]], body: bytes, route: str) -> Answer | None:
    """The answer, if everybody would get it: a 200 that says that it is public, with an ETag and no cookie."""
    named = {name.lower(): value for name, value in headers}
    if not status.startswith("200 ") or "set-cookie" in named or "etag" not in named:
        return None
    if not named.get("cache-control", "").startswith("public"):
        return None
    kept = [(name, value) for name, value in headers if name.lower() != "x-request-id"]
    unchanged = [(name, value) for name, value in kept if name.lower() not in {"content-type", "content-length"}]
    return Answer(kept, unchanged, named["etag"], body, route)


def _has(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller has the answer: weak comparison, RFC 9110 section 13.1.2."""
    if if_none_match is None:
        return False
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in {"*", etag} for tag in tags)


def init_app(app: Flask, guard: Guard) -> None:
    """Put the lane before the application, unless reads are counted: then each has to be."""
    app.extensions |= {"guard": guard, "dashboards": Kept(DASHBOARDS)}
    if not (app.config["RATELIMIT_ENABLED"] and app.config["RATELIMIT_READ"]):
        metrics = app.extensions.get("metrics")
        app.wsgi_app = Lane(app.wsgi_app, guard, metrics and metrics.count)  # type: ignore[method-assign]
