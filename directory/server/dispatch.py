"""Decides what answers a request: the event loop, by a constant or a read; a batch of votes; or the application.

The requests that come in one iteration of the loop are answered together. All of this runs in the event loop, but for
what the thread pool is given.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask

from directory.cache import cacheable_request
from directory.cache.response import STATUSES, CachedResponse, Recorder, shared_headers
from directory.http import endpoint, problem_details
from directory.http.request_body import BODY_MAX
from directory.server import wsgi
from directory.server.protocol import Connection, Refusal, Request
from directory.server.reads import Found, Reads, Wanted
from directory.server.thread_pool import ThreadPool
from directory.server.vote_batching import VoteBatcher
from directory.server.wsgi import Response

log = logging.getLogger(__name__)
_STATUSES = {status: line.encode("ascii") for status, line in STATUSES.items()}


class Dispatcher:
    """The part of the server behind its connections. `count` is called for each response."""

    def __init__(
        self, app: Any, loop: asyncio.AbstractEventLoop, *, threads: int, keepalive: float, count: Callable[[], None]
    ) -> None:
        self._app, self._loop, self._count, self.keepalive = app, loop, count, keepalive
        self.base = {**wsgi.BASE, "wsgi.multiprocess": True}
        self.connections: set[Connection] = set()
        self.keeps_alive = True
        self._pool = ThreadPool(threads)
        self._waiting: list[Request] = []
        self._hops = 0
        self._rows: Reads | None = None
        self._votes: VoteBatcher | None = None
        self._constants: dict[tuple[str, str, str], CachedResponse] = {}
        if isinstance(app, Flask):  # what wraps it would not see what the loop answers
            self._hops = app.config["TRUSTED_PROXIES"]
            self._constants, self._record = _constant_responses(app), Recorder(app)
            self._rows = Reads(app, self._pool.submit)
            self._votes = VoteBatcher(app, self._pool, loop, deliver=self._deliver, alone=self._hand_over)

    def body_max(self, environ: dict[str, Any]) -> int:
        """The bytes that the body of a request may have. A route that takes more would be looked up here."""
        return BODY_MAX

    def receive(self, request: Request) -> None:
        """Take a request, to answer it with the others of this iteration."""
        if not self._waiting:
            self._loop.call_soon(self._dispatch)
        self._waiting.append(request)

    def refuse(self, connection: Connection, refusal: Refusal) -> None:
        """Answer bytes that are not a valid request."""
        metrics = self._app.extensions.get("metrics") if isinstance(self._app, Flask) else None
        if metrics is not None:
            metrics.count("other", "none", refusal.status, 0.0)
        connection.respond(*wsgi.encoded(*problem_details.without_request(refusal.status, refusal.detail)), keep=False)

    def expire(self) -> None:
        """Give up the clients whose deadlines have passed."""
        now = time.monotonic()
        for connection in [each for each in self.connections if each.deadline <= now or not each.is_idle]:
            connection.expire(now)

    def _dispatch(self) -> None:
        """Answer the requests of this iteration."""
        waiting, self._waiting = self._waiting, []
        reads = [(request, wanted) for request in waiting if (wanted := self._route(request)) is not None]
        if reads and self._rows is not None:
            self._respond(reads, self._rows.respond([wanted for _, wanted in reads]))
        if self._votes is not None:
            self._votes.start()

    def _route(self, request: Request) -> Wanted | None:
        """Have a request answered, unless it is a read for the loop, which is returned."""
        environ = request.environ
        if self._hops:
            self._believe(environ)
        if not environ["PATH_INFO"].startswith("/") and environ["REQUEST_METHOD"] != "OPTIONS":
            self.refuse(request.connection, Refusal(400, "The address is not a path."))
        elif self._rows is None or self._votes is None:
            self._hand_over(request)
        elif (read := cacheable_request.read_from(environ)) is None:
            if not self._votes.take(request):
                self._hand_over(request)
        elif read.key in self._constants and not cacheable_request.has_credentials(environ):
            self._send(request, self._encoded(request, read, self._constants[read.key]))
        elif (wanted := self._rows.take(read, environ)) is not None:
            return wanted
        else:
            self._hand_over(request)
        return None

    def _respond(self, reads: list[tuple[Request, Wanted]], found: list[Found | None]) -> None:
        for (request, wanted), each in zip(reads, found, strict=True):
            if each is None:
                self._hand_over(request)
            else:
                self._send(request, self._encoded(request, wanted.read, *each))

    def _believe(self, environ: dict[str, Any]) -> None:
        """Note the scheme that the proxies tell, as the application will."""
        told = [each.strip() for each in environ.get("HTTP_X_FORWARDED_PROTO", "").split(",")]
        if len(told) >= self._hops and told[-self._hops]:
            environ["wsgi.url_scheme"] = told[-self._hops]

    def _encoded(self, request: Request, read: Any, response: CachedResponse, user_id: int | None = None) -> Response:
        status, lines, body = response.encode(read)
        self._record(response, read, status, request.began, user_id)
        return Response(_STATUSES[status], lines, body)

    def _hand_over(self, request: Request) -> None:
        """Have a thread call the application."""
        self._pool.submit(partial(self._call, request))

    def _call(self, request: Request) -> None:
        """Call the application, in a thread."""
        outcome: Response | BaseException
        try:
            outcome = wsgi.call(self._app, request)
        except BaseException as error:  # a thread that ended would be missing
            outcome = error
        self._loop.call_soon_threadsafe(self._deliver, request, outcome)

    def _deliver(self, request: Request, outcome: Response | BaseException) -> None:
        """Send what came of a request."""
        if isinstance(outcome, Response):
            self._send(request, outcome)
            return
        log.error("a request was given up", exc_info=outcome)
        failed = problem_details.without_request(500, "The service failed. Quote the request_id when you report it.")
        self._count()
        request.connection.respond(*wsgi.encoded(*failed), keep=False)

    def _send(self, request: Request, response: Response) -> None:
        self._count()
        request.connection.respond(*response, keep=request.keep)


def _constant_responses(app: Flask) -> dict[tuple[str, str, str], CachedResponse]:
    """The responses of the routes that say of themselves that theirs is constant, by the keys of the requests."""
    vary = "Origin" if app.config["CORS_ORIGINS"] else ""
    made = {}
    for rule in app.url_map.iter_rules():
        view: Any = app.view_functions[rule.endpoint]
        if getattr(getattr(view, "operation", None), "constant", False):
            content = endpoint.render(view.view(), view.operation)
            headers, media_type = [*content.headers.items()], content.media_type or ""
            for scheme in ("http", "https"):
                shared = shared_headers(scheme, vary)
                made[scheme, rule.rule, ""] = CachedResponse(media_type, headers, shared, "", content.body, rule.rule)
    return made
