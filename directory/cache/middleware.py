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
from typing import Any

from flask import Flask, g

from directory.cache.key import PERSONAL, CacheableRequest, is_valid
from directory.cache.response import STATUSES, Answer, Headers, joined, public_answer
from directory.cache.routes import ReadById, Reads
from directory.cache.store import Kept
from directory.cache.validator import Basis, Guard, Moment
from directory.http import endpoint, hooks

CAPACITY = 6 * 2**20  # bytes of answers kept by a process
DASHBOARDS = 2**20  # bytes of dashboards
OVERHEAD = 800  # bytes that an entry takes beside its body
_PERSONAL = [f"HTTP_{name.upper().replace('-', '_')}" for name in PERSONAL]

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Count = Callable[[str, str, int, float], None]  # method, route, status, seconds


class Lane:
    """Stands before the application, makes its public answers and gives them again."""

    def __init__(self, flask: Flask, guard: Guard, count: Count | None = None) -> None:
        self._flask, self._app, self.guard, self._count = flask, flask.wsgi_app, guard, count
        self.kept: Kept[Answer] = Kept(CAPACITY)
        self.failed = Failed()
        self._reads = Reads(flask)
        vary = ", ".join([*endpoint.PERSONAL, *(["Origin"] if flask.config["CORS_ORIGINS"] else [])])
        plain, secure = ((("Vary", vary), *hooks.public_headers(scheme)) for scheme in ("http", "https"))
        self._shared = plain, secure

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        if environ["REQUEST_METHOD"] != "GET" or not environ["PATH_INFO"].startswith("/api/"):
            return self._app(environ, start_response)
        if any(name in environ for name in _PERSONAL) or not is_valid(environ.get("HTTP_IF_NONE_MATCH")):
            return self._app(environ, start_response)
        began = time.perf_counter()
        plain = _plain(environ)
        environ["HTTP_X_REQUEST_ID"] = plain.request_id
        try:
            if failed := self.failed.take():
                raise failed
            answer = self.find(plain)
        except Exception as error:
            environ[hooks.FAILED] = error
            return self._app(environ, start_response)
        if answer is None:
            return self._passed(environ, start_response, plain)
        return self._give(answer, plain, start_response, began)

    def find(self, plain: CacheableRequest) -> Answer | None:
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

    def find_together(self, plains: list[CacheableRequest]) -> list[Answer | None]:
        """Answers that are made by one short look for all of them; None for each that takes more.

        They are not kept: to know that one still holds takes a look as well, and lists need the room more.
        Raises what the look raises.
        """
        answers: list[Answer | None] = [None] * len(plains)
        asked: defaultdict[Any, list[tuple[int, ReadById]]] = defaultdict(list)
        for place, plain in enumerate(plains):
            if (read := self._reads.by_id(plain)) is not None:
                asked[read.view].append((place, read))
        for view, reads in asked.items():
            with self._flask.app_context(), self.guard.at_hand() as there:
                if not there:
                    break
                found = endpoint.read_together(view.operation, [read.id for _, read in reads])
            for (place, read), made in zip(reads, found, strict=True):
                if made is not None:
                    answers[place] = self._answer(made, plains[place], read.rule)
        return answers

    def is_quick(self, plain: CacheableRequest) -> bool:
        """Whether it may be answered at once: an answer is kept, which may not hold, or takes a short look to make."""
        return plain.address in self.kept or self._reads.by_id(plain) is not None

    def note(self, answer: Answer, plain: CacheableRequest, status: int, began: float) -> None:
        """Log and count a request; `began` is of time.perf_counter()."""
        hooks.log_request("GET", plain.path, status, began, request_id=plain.request_id, user_id=None)
        if self._count is not None:
            self._count("GET", answer.route, status, time.perf_counter() - began)

    def _give(
        self, answer: Answer, plain: CacheableRequest, start_response: StartResponse, began: float
    ) -> Iterable[bytes]:
        status, own, body = answer.to(plain)
        start_response(STATUSES[status], [*own, *answer.shared])
        self.note(answer, plain, status, began)
        return [body] if body else []

    def _made(self, plain: CacheableRequest) -> tuple[Answer, Basis | None] | None:
        """The answer of a route that can be asked without Flask, and its basis; None where the path has none."""
        read = self._reads.find(plain)
        if read is None:
            return None
        with self._flask.app_context():
            g.request_id = plain.request_id
            query_string, view = plain.query.encode("latin-1"), read.view
            made = endpoint.read(view.operation, view.view, plain.path, read.arguments, query_string)
        return self._answer(made, plain, read.rule), made.basis

    def _answer(self, made: endpoint.Made, plain: CacheableRequest, route: str) -> Answer:
        etag = f'"{made.etag}"'
        own, shared = [*made.headers.items(), ("ETag", etag)], self._shared[plain.scheme == "https"]
        # A copy, because what the encoder gives holds on to all of the buffer that it was written into.
        return Answer("application/json", own, shared, etag, bytes(memoryview(made.body)), route)

    def _passed(self, environ: Environ, start_response: StartResponse, plain: CacheableRequest) -> Iterable[bytes]:
        """Let the application answer, and keep the answer if it is public."""
        moment = self.guard.latest
        if moment is None:
            return self._app(environ, start_response)
        head: list[Any] = []

        def note(status: str, headers: Headers, exc_info: Any = None) -> Any:
            head[:] = status, headers
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        body = joined(self._app(environ, note))
        status, headers = head
        if (answer := public_answer(status, headers, body, environ.get(hooks.ROUTE, "none"))) is not None:
            self._keep(plain.address, moment, answer)
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


def _length(key: tuple[str, ...], answer: Answer) -> int:
    """What the address takes, and what the answer's own headers do, which may repeat it."""
    return sum(map(len, key)) + sum(len(value) for _, value in answer.own)


def _plain(environ: Environ) -> CacheableRequest:
    """The request, under an id of its own."""
    request_id = hooks.request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
    return CacheableRequest(environ["wsgi.url_scheme"], path, query, request_id, environ.get("HTTP_IF_NONE_MATCH"))


def init_app(app: Flask, guard: Guard) -> None:
    """Put the lane before the application, unless reads are counted: then each has to be."""
    app.extensions |= {"guard": guard, "dashboards": Kept(DASHBOARDS)}
    if not (app.config["RATELIMIT_ENABLED"] and app.config["RATELIMIT_READ"]):
        metrics = app.extensions.get("metrics")
        app.wsgi_app = app.extensions["lane"] = Lane(app, guard, metrics and metrics.count)  # type: ignore[method-assign]
