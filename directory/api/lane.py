"""The fast lane: anonymous reads answered before Flask, and answered again while nothing has been written.

What it has not kept it makes by the very operation that the route names, without a request of Flask's around it; what
cannot be answered so, a refusal or a failure, it leaves to the application. One rule says when an answer may be given
again: it was made for the same address, as a public one, and nothing that it rests on was written since before the
making began. A write of any process shows in the database's moment before it is acknowledged, so what was acknowledged
is in the next answer; nothing here ages.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from flask import Flask, g
from werkzeug.exceptions import HTTPException

from directory.api import operation, security
from directory.freshness import Basis, Guard, Moment
from directory.kept import Kept
from directory.plain import Plain

CAPACITY = 7 * 2**20  # bytes of answers kept by a process
STATUSES = {200: "200 OK", 304: "304 NOT MODIFIED"}
DASHBOARDS = 2**20  # bytes of dashboards
OVERHEAD = 800  # bytes that an entry takes beside its body
# A request with any of these may get another answer than the next one.
PERSONAL = ("HTTP_AUTHORIZATION", "HTTP_COOKIE", "HTTP_ORIGIN", "HTTP_IF_MATCH", "HTTP_RANGE")

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Count = Callable[[str, str, int, float], None]  # method, route, status, seconds


class _Route(NamedTuple):
    """What makes the answer to a plain read."""

    rule: str
    view: Any
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """A public answer. Of its headers, all but the request's id, it holds what others have too only by reference."""

    media_type: str
    own: Headers
    shared: tuple[tuple[str, str], ...]
    etag: str
    body: bytes
    route: str

    def to(self, plain: Plain) -> tuple[int, Headers, bytes]:
        """The status, the headers that it does not share, and the body, as a caller is to get them.

        Who has it gets 304, without the headers of the content; and each gets the id of the request.
        """
        own = [*self.own, ("X-Request-ID", plain.request_id)]
        if self._is_had(plain):
            return 304, own, b""
        return 200, [("Content-Type", self.media_type), ("Content-Length", str(len(self.body))), *own], self.body

    def _is_had(self, plain: Plain) -> bool:
        """Whether the caller has the answer: weak comparison, RFC 9110 section 13.1.2."""
        if plain.if_none_match is None:
            return False
        tags = (tag.strip().removeprefix("W/") for tag in plain.if_none_match.split(","))
        return any(tag in {"*", self.etag} for tag in tags)


class Lane:
    """Stands before the application, makes its public answers and gives them again."""

    def __init__(self, flask: Flask, guard: Guard, count: Count | None = None) -> None:
        self._flask, self._app, self.guard, self._count = flask, flask.wsgi_app, guard, count
        self.kept: Kept[Answer] = Kept(CAPACITY)
        self.failed = Failed()
        self._paths = flask.url_map.bind("")
        self._reads: dict[str, Any] = {
            name: view for name, view in flask.view_functions.items() if _is_plain_read(view)
        }
        vary = ", ".join([*operation.PERSONAL, *(["Origin"] if flask.config["CORS_ORIGINS"] else [])])
        plain, secure = ((("Vary", vary), *security.public_headers(scheme)) for scheme in ("http", "https"))
        self._shared = plain, secure

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        if environ["REQUEST_METHOD"] != "GET" or not environ["PATH_INFO"].startswith("/api/"):
            return self._app(environ, start_response)
        if any(name in environ for name in PERSONAL):
            return self._app(environ, start_response)
        began = time.perf_counter()
        plain = _plain(environ)
        environ["HTTP_X_REQUEST_ID"] = plain.request_id
        try:
            if failed := self.failed.take():
                raise failed
            answer = self.find(plain)
        except Exception as error:
            environ[security.FAILED] = error
            return self._app(environ, start_response)
        if answer is None:
            return self._passed(environ, start_response, plain)
        return self._give(answer, plain, start_response, began)

    def find(self, plain: Plain) -> Answer | None:
        """An answer kept or made; None where it is the application's to give. Raises whatever the making raises."""
        key = plain.address
        known = key in self.kept
        # What is not there needs no moment to be found by, only one that is no later than its making. It is not looked
        # for again: what another thread keeps meanwhile may hold at that moment, and no more when this caller asked.
        moment = None if known else self.guard.latest
        if moment is None and (moment := self.guard.moment()) is None:
            return None
        answer = self.kept.get(key, moment) if known else None
        if answer is None and (made := self._made(plain)) is not None:
            answer, basis = made
            self._keep(key, moment, answer, basis)
        return answer

    def find_together(self, plains: list[Plain], moment: Moment) -> list[Answer | None]:
        """Answers that are made by one short look for all of them, after `moment`; None for each that takes more.

        Raises what the look raises.
        """
        answers: list[Answer | None] = [None] * len(plains)
        asked: defaultdict[Any, list[tuple[int, _Route]]] = defaultdict(list)
        for place, plain in enumerate(plains):
            route = self._route(plain) if self.is_quick(plain) else None
            if route is not None and route.view.operation.together is not None:
                asked[route.view].append((place, route))
        for view, routes in asked.items():
            with self._flask.app_context(), self.guard.at_hand() as there:
                if not there:
                    break
                found = operation.read_together(view.operation, [route.arguments for _, route in routes])
            for (place, route), made in zip(routes, found, strict=True):
                if made is not None:
                    answers[place] = answer = self._answer(made, plains[place], route)
                    self._keep(plains[place].address, moment, answer, made.basis)
        return answers

    @staticmethod
    def is_quick(plain: Plain) -> bool:
        """Whether it may be answered together with others: it asks for one thing by its number and for no more."""
        return not plain.query and "0" <= plain.path[-1] <= "9"

    def note(self, answer: Answer, plain: Plain, status: int, began: float) -> None:
        """Log and count a request; `began` is of time.perf_counter()."""
        security.log_request("GET", plain.path, status, began, request_id=plain.request_id, user_id=None)
        if self._count is not None:
            self._count("GET", answer.route, status, time.perf_counter() - began)

    def _give(self, answer: Answer, plain: Plain, start_response: StartResponse, began: float) -> Iterable[bytes]:
        status, own, body = answer.to(plain)
        start_response(STATUSES[status], [*own, *answer.shared])
        self.note(answer, plain, status, began)
        return [body] if body else []

    def _made(self, plain: Plain) -> tuple[Answer, Basis | None] | None:
        """The answer of a route that can be asked without Flask, and its basis; None where the path has none."""
        route = self._route(plain)
        if route is None:
            return None
        with self._flask.app_context():
            g.request_id = plain.request_id
            query_string, view = plain.query.encode("latin-1"), route.view
            made = operation.read(view.operation, view.view, plain.path, route.arguments, query_string)
        return self._answer(made, plain, route), made.basis

    def _route(self, plain: Plain) -> _Route | None:
        try:
            rule, arguments = self._paths.match(plain.path, method="GET", return_rule=True)
        except HTTPException:
            return None
        view = self._reads.get(rule.endpoint)
        return None if view is None else _Route(rule.rule, view, dict(arguments))

    def _answer(self, made: operation.Made, plain: Plain, route: _Route) -> Answer:
        etag = f'"{made.etag}"'
        own, shared = [*made.headers.items(), ("ETag", etag)], self._shared[plain.scheme == "https"]
        # A copy, because what the encoder gives holds on to all of the buffer that it was written into.
        return Answer("application/json", own, shared, etag, bytes(memoryview(made.body)), route.rule)

    def _passed(self, environ: Environ, start_response: StartResponse, plain: Plain) -> Iterable[bytes]:
        """Let the application answer, and keep the answer if it is public."""
        moment = self.guard.latest
        if moment is None:
            return self._app(environ, start_response)
        given: dict[str, Any] = {}

        def note(status: str, headers: Headers, exc_info: Any = None) -> Any:
            given.update(status=status, headers=headers)
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        parts = self._app(environ, note)
        body = joined(parts)
        if _is_public(given["status"], given["headers"]):
            self._keep(plain.address, moment, _answer(given["headers"], body, environ[security.ROUTE]))
        return [body]

    def _keep(self, key: tuple[str, ...], moment: Moment, answer: Answer, basis: Basis | None = None) -> None:
        self.kept.put(key, moment, answer, len(answer.body) + _length(key, answer) + OVERHEAD, basis)


class Failed(threading.local):
    """What has gone wrong already in this thread with a request that the application is about to answer."""

    error: Exception | None = None

    def take(self) -> Exception | None:
        """What it is, once."""
        error, self.error = self.error, None
        return error


def joined(parts: Iterable[bytes]) -> bytes:
    """The whole of a body that an application gives in parts, which are closed."""
    try:
        return b"".join(parts)
    finally:
        if close := getattr(parts, "close", None):
            close()


def _length(key: tuple[str, ...], answer: Answer) -> int:
    """What the address takes, and what the answer's own headers do, which may repeat it."""
    return sum(map(len, key)) + sum(len(value) for _, value in answer.own)


def _plain(environ: Environ) -> Plain:
    """The request, under an id of its own."""
    request_id = security.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
    return Plain(environ["wsgi.url_scheme"], path, query, request_id, environ.get("HTTP_IF_NONE_MATCH"))


def _is_plain_read(view: Any) -> bool:
    """Whether anyone may call it, and all that it answers are data with an ETag."""
    spec = getattr(view, "operation", None)
    return view.access == "public" and spec is not None and spec.answer is not None and spec.etag


def _is_public(status: str, headers: Headers) -> bool:
    """Whether everybody would get the answer: a 200 that says that it is public, with an ETag and no cookie."""
    named = {name.lower(): value for name, value in headers}
    if not status.startswith("200 ") or "set-cookie" in named or "etag" not in named:
        return False
    return named.get("cache-control", "").startswith("public")


def _answer(headers: Headers, body: bytes, route: str) -> Answer:
    named = {name.lower(): value for name, value in headers}
    own = [each for each in headers if each[0].lower() not in {"content-type", "content-length", "x-request-id"}]
    return Answer(named["content-type"], own, (), named["etag"], body, route)


def init_app(app: Flask, guard: Guard) -> None:
    """Put the lane before the application, unless reads are counted: then each has to be."""
    app.extensions |= {"guard": guard, "dashboards": Kept(DASHBOARDS)}
    if not (app.config["RATELIMIT_ENABLED"] and app.config["RATELIMIT_READ"]):
        metrics = app.extensions.get("metrics")
        app.wsgi_app = app.extensions["lane"] = Lane(app, guard, metrics and metrics.count)  # type: ignore[method-assign]
