"""Decides what answers a request: the event loop itself, a batch of votes, or the application in a thread.

Reads that the cache can answer at once, and that come in the same iteration of the loop, are answered together.
Everything here runs in the event loop; the thread pool runs the rest.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask

from directory.cache.reads import Read, read_from
from directory.cache.responder import PendingRead, Responder
from directory.cache.response import SCHEMES, STATUSES, CachedResponse, constant_responses
from directory.http import hooks, languages, problem_details
from directory.http.files import Files
from directory.http.request_body import BODY_MAX, body_max
from directory.http.wsgi import Response
from directory.language.choice import PLAIN
from directory.server.protocol import Connection, Refusal, Request
from directory.server.thread_pool import ThreadPool, call_application
from directory.server.vote_batching import VoteBatcher

HELD_MAX = 64 * 2**20  # bytes that the clients of a process may occupy: see `Connection.held`
LARGE_MAX = 32 * 2**20  # bytes of the bodies over BODY_MAX (http/request_body.py) that wait for a thread or have one
EVICTED = 16  # the part of all connections that make room when a process has as many as it may: one in so many
LOG_SECONDS = 10.0  # between two log lines on connections that were closed for others

log = logging.getLogger(__name__)
_STATUSES = {status: line.encode("ascii") for status, line in STATUSES.items()}


class Dispatcher:
    """Answers the requests of all connections of a process. `count` is called for each response but refusals."""

    def __init__(
        self, app: Any, loop: asyncio.AbstractEventLoop, *, threads: int, keepalive: float, count: Callable[[], None]
    ) -> None:
        self._app, self._loop, self._count, self.keepalive = app, loop, count, keepalive
        self.connections: set[Connection] = set()
        self.held = 0  # bytes that slow clients occupy
        self._large = 0  # bytes of large bodies that a thread has, or that wait for one
        self._evicted, self._logs_evicted_at = 0, 0.0
        self.is_stopping = False  # if so, each connection is closed after its next response
        self._pool = ThreadPool(threads)
        self._waiting: list[Request] = []
        self._hops, self._cookie, self._languages = 0, "", PLAIN
        self._votes: VoteBatcher | None = None  # None where another application wraps ours: it has to see all requests
        if isinstance(app, Flask):
            self._hops, self._cookie = app.config["TRUSTED_PROXIES"], app.config["COOKIE_NAME"]
            self._languages = languages.of_app(app)
            self._files: Files = app.extensions["files"]
            self._constants = constant_responses(app)
            self._responder: Responder | None = app.extensions.get("response_cache")
            self._votes = VoteBatcher(app, self._pool, loop, deliver=self._deliver, alone=self._hand_over)

    def body_max(self, environ: dict[str, Any]) -> int:
        """The bytes that the body of a request may have."""
        return body_max(environ["REQUEST_METHOD"], environ["PATH_INFO"])

    def receive(self, request: Request) -> None:
        """Take a request, to dispatch it with the others of this iteration."""
        if not self._waiting:
            self._loop.call_soon(self._dispatch)
        self._waiting.append(request)

    def refuse(self, connection: Connection, refusal: Refusal) -> None:
        """Send the answer to a request that is not valid."""
        metrics = self._app.extensions.get("metrics") if isinstance(self._app, Flask) else None
        if metrics is not None:
            metrics.count("other", "none", refusal.status, 0.0)
        connection.respond(*problem_details.without_request(refusal.status, refusal.detail).encoded(), keep=False)

    def make_room(self) -> None:
        """Close some of the connections that wait for their clients: of the client with the most, the oldest first."""
        waiting = [connection for connection in self.connections if connection.is_waiting]
        evicted = _longest_waiting(waiting)[: max(1, len(self.connections) // EVICTED)]
        self._evict(evicted, "too many connections")

    def hold(self, size: int) -> None:
        """Note that slow clients occupy so many more bytes."""
        self.held += size
        if self.held > HELD_MAX >= self.held - size:
            self._loop.call_soon(self._free)

    def _free(self) -> None:
        """Close connections that occupy memory until the others occupy half of what they may.

        One that waits for a response may be closed, too: it has sent requests without waiting for that.
        """
        excess, evicted = self.held - HELD_MAX // 2, []
        for connection in _longest_waiting([connection for connection in self.connections if connection.held]):
            if excess > 0:
                excess -= connection.held
                evicted.append(connection)
        self._evict(evicted, "too much memory for slow clients")

    def _evict(self, connections: list[Connection], reason: str) -> None:
        for connection in connections:
            connection.evict()
        self._evicted += len(connections)
        if self._evicted and time.monotonic() >= self._logs_evicted_at:
            self._logs_evicted_at = time.monotonic() + LOG_SECONDS
            log.warning("connections closed for others", extra={"reason": reason, "connections": self._evicted})
            self._evicted = 0

    def expire(self) -> None:
        """Close connections that are past their deadlines, or answer 408; clients that take responses get more time."""
        now = time.monotonic()
        for connection in [
            connection for connection in self.connections if connection.deadline <= now or not connection.is_idle
        ]:
            connection.expire(now)

    def _dispatch(self) -> None:
        """Answer the requests of this iteration: quick reads together, votes in batches, all others one by one."""
        waiting, self._waiting = self._waiting, []
        reads = [(request, pending) for request in waiting if (pending := self._route(request)) is not None]
        if reads and self._responder is not None:
            self._responder.respond_in_loop([pending for _, pending in reads])
            self._send_reads([pair for pair in reads if not pair[1].is_unknown])
            if unknown := [pair for pair in reads if pair[1].is_unknown]:
                identify = partial(self._responder.respond_to_unknown, [pending for _, pending in unknown])
                self._pool.call(self._loop, identify, lambda _: self._send_reads(unknown))
        if self._votes is not None:
            self._votes.start()

    def _send_reads(self, reads: list[tuple[Request, PendingRead]]) -> None:
        """Send the responses to reads, and have the application respond to those without one."""
        for request, pending in reads:
            if pending.response is None:
                self._hand_over(request)
            else:
                self._send_cached(request, pending.read, *pending.response)

    def _route(self, request: Request) -> PendingRead | None:
        """Return a read that the loop may answer with the others; answer any other request, or pass it on."""
        environ = request.environ
        if self._hops:
            self._apply_forwarded_scheme(environ)
        if not environ["PATH_INFO"].startswith("/") and environ["REQUEST_METHOD"] != "OPTIONS":
            self.refuse(request.connection, Refusal(400, "The address is not a path."))
        elif self._votes is None:
            self._hand_over(request)
        elif (read := read_from(environ, self._cookie, self._languages)) is not None and (
            pending := self._pending(read)
        ) is not None:
            return pending
        elif read is not None and read.credential is None and read.address in self._constants:
            self._send_cached(request, read, self._constants[read.address], None)
        elif (file := self._files.answer(environ, request.began)) is not None:
            self._send(request, file.encoded())
        elif not self._votes.take(request):
            self._hand_over(request)
        return None

    def _pending(self, read: Read) -> PendingRead | None:
        return None if self._responder is None or read.scheme not in SCHEMES else self._responder.pending(read)

    def _apply_forwarded_scheme(self, environ: dict[str, Any]) -> None:
        """Set the scheme that the trusted proxies report, as the application does."""
        reported = [scheme.strip() for scheme in environ.get("HTTP_X_FORWARDED_PROTO", "").split(",")]
        if len(reported) >= self._hops and reported[-self._hops]:
            environ["wsgi.url_scheme"] = reported[-self._hops].lower()

    def _send_cached(self, request: Request, read: Read, response: CachedResponse, user_id: int | None) -> None:
        status, lines, body = response.encode(read)
        hooks.record(self._app, read.method, read.path, response.route, status, request.began, read.request_id, user_id)
        self._send(request, Response(_STATUSES[status], lines, body))

    def _hand_over(self, request: Request) -> None:
        """Have a thread call the application, unless the large bodies of others occupy too much memory."""
        large = request.size if request.size > BODY_MAX else 0
        if large and self._large + large > LARGE_MAX:
            self.refuse(request.connection, Refusal(503, "Too many uploads wait. Try again shortly."))
            return
        self._large += large
        self._pool.call(self._loop, partial(call_application, self._app, request), partial(self._end, request, large))

    def _end(self, request: Request, large: int, outcome: Response | BaseException) -> None:
        self._large -= large
        self._deliver(request, outcome)

    def _deliver(self, request: Request, outcome: Response | BaseException) -> None:
        """Send the response, or a 500 for what escaped the application."""
        if isinstance(outcome, Response):
            self._send(request, outcome)
            return
        log.error("a request was given up", exc_info=outcome)
        failed = problem_details.without_request(500, "The service failed. Quote the request_id when you report it.")
        self._count()
        request.connection.respond(*failed.encoded(), keep=False)

    def _send(self, request: Request, response: Response) -> None:
        self._count()
        request.connection.respond(*response, keep=request.keep)


def _longest_waiting(connections: list[Connection]) -> list[Connection]:
    """Sort connections: first those with the most newer ones of the same client.

    All connections are of one client where a proxy passes them on; then the longest waiting are first.
    """
    newer: Counter[str] = Counter()
    ranks = {}
    for connection in sorted(connections, key=lambda connection: -connection.waits_since):
        ranks[connection] = newer[connection.client]
        newer[connection.client] += 1
    return sorted(connections, key=lambda connection: (-ranks[connection], connection.waits_since))
