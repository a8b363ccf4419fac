"""The fast lane: anonymous reads answered again without the application, while nothing has been written.

One rule says when an answer may be given again: the application gave it, to the same address, as a public one, and
the database's mark is what it was before the application began to make it. A write of any process changes the mark
before it is acknowledged, so what was acknowledged is in the next answer; nothing here ages.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from flask import Flask

from directory.api import security
from directory.freshness import Guard

CAPACITY = 16 * 2**20  # bytes of answers kept by a process
OVERHEAD = 1500  # bytes that an entry takes beside its body
# A request with any of these may get another answer than the next one.
PERSONAL = ("HTTP_AUTHORIZATION", "HTTP_COOKIE", "HTTP_ORIGIN", "HTTP_IF_MATCH", "HTTP_RANGE")

Environ = dict[str, Any]
StartResponse = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A public answer of the application: its headers, all but the request's id, and its body."""

    headers: list[tuple[str, str]]
    unchanged: list[tuple[str, str]]  # the headers of its 304
    etag: str
    body: bytes


class Lane:
    """Stands before the application and gives its public answers again."""

    def __init__(self, app: Callable[[Environ, StartResponse], Iterable[bytes]], guard: Guard) -> None:
        self._app, self._guard = app, guard
        self._lock = threading.Lock()
        self._mark: Any = None
        self._answers: OrderedDict[tuple[str, ...], Answer] = OrderedDict()
        self._size = 0

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
        answer = self._kept(key, mark)
        if answer is None:
            return self._make(environ, start_response, key, mark)
        return _again(answer, environ, start_response, began)

    def _kept(self, key: tuple[str, ...], mark: Any) -> Answer | None:
        with self._lock:
            if mark != self._mark:
                self._answers.clear()
                self._mark, self._size = mark, 0
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

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
        answer = _public(given["status"], given["headers"], body)
        if answer is not None:
            self._keep(key, mark, answer)
        return [body]

    def _keep(self, key: tuple[str, ...], mark: Any, answer: Answer) -> None:
        with self._lock:
            if mark != self._mark or key in self._answers:
                return
            self._answers[key] = answer
            self._size += len(answer.body) + OVERHEAD
            while self._size > CAPACITY:
                self._size -= len(self._answers.popitem(last=False)[1].body) + OVERHEAD


def _public(status: str, headers: list[tuple[str, str]], body: bytes) -> Answer | None:
    """The answer, if everybody would get it: a 200 that says that it is public, with an ETag and no cookie."""
    named = {name.lower(): value for name, value in headers}
    if not status.startswith("200 ") or "set-cookie" in named or "etag" not in named:
        return None
    if not named.get("cache-control", "").startswith("public"):
        return None
    kept = [(name, value) for name, value in headers if name.lower() != "x-request-id"]
    unchanged = [(name, value) for name, value in kept if name.lower() not in {"content-type", "content-length"}]
    return Answer(kept, unchanged, named["etag"], body)


def _again(answer: Answer, environ: Environ, start_response: StartResponse, began: float) -> Iterable[bytes]:
    """Give a kept answer, under an id of this request's own; 304 where the caller has it."""
    request_id = security.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    had = _has(environ.get("HTTP_IF_NONE_MATCH"), answer.etag)
    headers = answer.unchanged if had else answer.headers
    start_response("304 NOT MODIFIED" if had else "200 OK", [*headers, ("X-Request-ID", request_id)])
    security.log_request("GET", environ["PATH_INFO"], 304 if had else 200, began, request_id=request_id)
    return [] if had else [answer.body]


def _has(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller has the answer: weak comparison, RFC 9110 section 13.1.2."""
    if if_none_match is None:
        return False
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in {"*", etag} for tag in tags)


def init_app(app: Flask, guard: Guard) -> None:
    """Put the lane before the application, unless reads are counted: then each has to be."""
    app.extensions["guard"] = guard
    if not (app.config["RATELIMIT_ENABLED"] and app.config["RATELIMIT_READ"]):
        app.wsgi_app = Lane(app.wsgi_app, guard)  # type: ignore[method-assign]
