"""Responses as they are sent: made in the event loop where that takes no thread, or by the application in a thread.

The loop answers an anonymous read from the response cache, or by one statement for all the single rows that a turn of
the loop asks for, and a route whose answer is constant. The application answers everything else.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from flask import Flask
from gunicorn.http.wsgi import base_environ

from directory.cache.key import CacheableRequest
from directory.cache.middleware import CacheMiddleware
from directory.cache.personal import PersonalRequest, PersonalResponse
from directory.cache.response import STATUSES, read_body
from directory.cache.validator import Snapshot
from directory.http import authentication, endpoint, hooks
from directory.server.connections import Connection
from directory.server.request_reader import ParsedRequest
from directory.server.tuning import LOOK_SECONDS, MEMBERS_MAX, REST_SECONDS, STALE_SECONDS

log = logging.getLogger(__name__)
BODILESS = ("204", "304")  # the statuses whose answers end with their head, RFC 9112 section 6.3


@dataclass(eq=False, slots=True)
class Asked:
    """A request that was read, over which connection, and when: by time.perf_counter().

    `personal` is set where the cache may have a personal response to it.
    """

    connection: Connection
    request: ParsedRequest
    began: float
    personal: PersonalRequest | None = None


class Response(NamedTuple):
    """The status, the header lines and the body of an answer; the server adds what belongs to the connection."""

    status: bytes
    headers: bytes
    body: bytes


class Application:
    """The WSGI application, asked in a thread for requests that the server has read itself."""

    def __init__(self, app: Callable[..., Iterable[bytes]], config: Any) -> None:
        self._app = app
        self._environ = {**base_environ(config), "wsgi.multithread": True}

    def respond(self, asked: Asked, known: Any = None) -> Response:
        """The answer. `known` are credentials that were looked up since the request came.

        Raises what escapes the application, and ValueError for a header that could be taken for several.
        """
        given: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
            given[:] = status, headers

        body = read_body(self._app(self._environ_of(asked, known), start))
        status, headers = given
        if not status.startswith(BODILESS) and not any(name.lower() == "content-length" for name, _ in headers):
            headers = [*headers, ("Content-Length", str(len(body)))]
        lines = _lines(headers)
        if not lines.count(b"\r") == lines.count(b"\n") == len(headers):
            raise ValueError("a header of the answer holds the end of a line")
        return Response(status.encode(), lines, body)

    def _environ_of(self, asked: Asked, known: Any) -> dict[str, Any]:
        connection = asked.connection
        (client, client_port, *_), (server, port, *_) = connection.client, connection.server
        environ = {
            **self._environ, **asked.request.environ(), "gunicorn.socket": connection.sock, "REMOTE_ADDR": client,
            "REMOTE_PORT": str(client_port), "SERVER_NAME": server, "SERVER_PORT": str(port),
        }  # fmt: skip
        if known is not None and time.perf_counter() - asked.began < STALE_SECONDS:
            environ[authentication.KNOWN] = known
        return environ


class FastPath:
    """What the event loop answers itself. `submit` has a thread do something."""

    def __init__(self, app: Flask, submit: Callable[[Callable[[], object]], object]) -> None:
        self.constant = ConstantResponses(app)
        cache = app.extensions.get("response_cache")
        self._reads = None if cache is None else CachedReads(cache, submit)

    def may_answer(self, asked: Asked) -> bool:
        """Whether the loop may answer: an answer is cached (and may be stale), or takes one row."""
        return self._reads is not None and self._reads.may_answer(asked)

    def answer(self, asked: list[Asked]) -> list[Response | None]:
        """The answers; None for each that a thread has to give."""
        return [None] * len(asked) if self._reads is None else self._reads.answer(asked)


class CachedReads:
    """The response cache, asked by the loop: the one place of the server that knows it."""

    def __init__(self, cache: CacheMiddleware, submit: Callable[[Callable[[], object]], object]) -> None:
        self._cache, self._submit = cache, submit
        self._rests_until = 0.0  # by time.monotonic()
        self._connects = False

    def may_answer(self, asked: Asked) -> bool:
        """Whether an answer is cached, or takes one row."""
        request, personal = asked.request, self._cache.personal
        if request.read is not None:
            return self._cache.is_quick(request.read)
        if request.personal is None:
            return False
        asked.personal = personal.recognise(request.personal, request.credentials())
        return asked.personal is not None and personal.is_quick(asked.personal)

    def answer(self, asked: list[Asked]) -> list[Response | None]:
        """The answers that the cache has or one statement gives. All of them share two looks at the database."""
        began = time.monotonic()
        if began < self._rests_until:
            return [None] * len(asked)
        if not self._cache.validator.is_connected:
            self._connect_later()
            return [None] * len(asked)
        members = [each for each in asked if each.personal is not None][:MEMBERS_MAX]
        others = [each for each in asked if each.personal is None]
        made, snapshot = self._cache.personal.find_many([_personal(each) for each in members], began + LOOK_SECONDS)
        found = dict(zip(members, made, strict=True))
        if others:
            found |= zip(others, self._look([_read(each) for each in others], began, snapshot), strict=True)
        return [self._response(found.get(each), each) for each in asked]

    def _look(
        self, reads: list[CacheableRequest], began: float, snapshot: Snapshot | None
    ) -> list[PersonalResponse | None]:
        """The anonymous answers, those of the store valid at the `snapshot`, which is read unless it has been."""
        store = self._cache.store
        if snapshot is None and any(read.key in store for read in reads):
            snapshot = self._cache.validator.snapshot_for_loop()
        answers = [None if snapshot is None else store.get(read.key, snapshot) for read in reads]
        left = [place for place, answer in enumerate(answers) if answer is None]
        is_late = time.monotonic() > began + LOOK_SECONDS
        if is_late and snapshot is None:
            self._rests_until = time.monotonic() + REST_SECONDS
        if left and not is_late:
            try:
                made = self._cache.find_many([reads[place] for place in left])
            except Exception as error:
                log.info("not answered in the loop", extra={"reason": type(error).__name__})
                made = [None] * len(left)
            for place, answer in zip(left, made, strict=True):
                answers[place] = answer
        return [None if answer is None else PersonalResponse(answer, None) for answer in answers]

    def _response(self, found: PersonalResponse | None, asked: Asked) -> Response | None:
        if found is None:
            return None
        (answer, user_id), read = found, asked.personal.public if asked.personal else _read(asked)
        status, own, body = answer.render(read)
        self._cache.record(answer, read, status, asked.began, user_id)
        return Response(STATUSES[status].encode(), _lines(own) + _shared_lines(answer.shared_headers), body)

    def _connect_later(self) -> None:
        """Have a thread open the connection that the loop looks over."""
        if not self._connects:
            self._connects = True
            self._submit(self._connect)

    def _connect(self) -> None:
        try:
            self._cache.validator.snapshot()
        finally:
            self._connects = False


class ConstantResponses:
    """The answers of the routes that say of themselves that theirs is constant (`constant` of their operation)."""

    def __init__(self, app: Flask) -> None:
        self._metrics = app.extensions.get("metrics")
        self._vary = [("Vary", "Origin")] if app.config["CORS_ORIGINS"] else []
        self._made: dict[str, endpoint.Rendered] = {}
        for rule in app.url_map.iter_rules():
            view: Any = app.view_functions[rule.endpoint]
            if getattr(getattr(view, "operation", None), "constant", False):
                self._made[rule.rule] = endpoint.render(view.view(), view.operation)

    def answer(self, asked: Asked) -> Response | None:
        """The answer; None where it is not constant."""
        read = asked.request.read
        if read is None or read.query or (made := self._made.get(read.path)) is None:
            return None
        body = made.body
        headers = [
            *made.headers.items(), ("Content-Type", "application/json"), ("Content-Length", str(len(body))),
            ("X-Request-ID", read.request_id), *self._vary, *hooks.security_headers(read.scheme),
        ]  # fmt: skip
        hooks.log_request("GET", read.path, 200, asked.began, request_id=read.request_id, user_id=None)
        if self._metrics is not None:
            self._metrics.count("GET", read.path, 200, time.perf_counter() - asked.began)
        return Response(b"200 OK", _lines(headers), body)


def _read(asked: Asked) -> CacheableRequest:
    """The read that a request is, where `FastPath.may_answer` said so."""
    return asked.request.read  # type: ignore[return-value]


def _personal(asked: Asked) -> PersonalRequest:
    """The personal request that `CachedReads.may_answer` recognised."""
    return asked.personal  # type: ignore[return-value]


def _lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """The headers as they are sent."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1")


_shared_lines = lru_cache(maxsize=8)(_lines)
