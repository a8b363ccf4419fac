"""Serves votes that come at once by one thread: one lookup of their callers, one transaction (ADR 13).

A route says of itself that it is `batched`, in its operation.
"""

import logging
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from flask import Flask

from directory.db import deadline
from directory.http import authentication
from directory.server.application import Application, Outcome, ReceivedRequest
from directory.server.greenlet_batch import GreenletBatch
from directory.server.request_reader import ParsedRequest
from directory.server.thread_pool import ThreadPool
from directory.server.tuning import (
    BATCH_MAX,
    BEGIN_SECONDS,
    LOOKUP_SECONDS,
    NEAR_SECONDS,
    PAUSE_SECONDS,
    SAMPLE,
    WINDOW_SECONDS,
)
from directory.services.accounts import sessions

log = logging.getLogger(__name__)


class BatchedRoutes:
    """The routes whose requests are served together."""

    def __init__(self, app: Flask) -> None:
        self._paths: dict[str, list[str]] = {}
        for rule in app.url_map.iter_rules():
            operation = getattr(app.view_functions[rule.endpoint], "operation", None)
            if getattr(operation, "batched", False):
                path = "[^/]+".join(map(re.escape, re.split(r"<[^>]*>", rule.rule)))
                for method in rule.methods or ():
                    self._paths.setdefault(method, []).append(path)
        self._expressions = {method: re.compile("|".join(paths)) for method, paths in self._paths.items()}

    def has(self, request: ParsedRequest) -> bool:
        """Whether a request is for one of them."""
        expression = self._expressions.get(request.method)
        return expression is not None and expression.fullmatch(request.path) is not None


class BatchingWindow:
    """Which requests are served together: those that come while the batch before is being served.

    A request that finds no batch under way is served at once. The next batch starts when as many further requests have
    come as were in this one, or after PAUSE_SECONDS. The requests of a batch share what costs each of them most when
    alone: a thread that sleeps and wakes, a lookup, a transaction. Instants are of time.monotonic().
    """

    def __init__(self) -> None:
        self._waiting: list[ReceivedRequest] = []
        self._underway: list[ReceivedRequest] = []
        self._opens_at = 0.0
        self._enough = BATCH_MAX  # requests that start the next batch before that
        self._holds = False

    def add(self, received: ReceivedRequest) -> None:
        """Add a request that has come."""
        self._waiting.append(received)

    def timeout(self, now: float) -> float:
        """Seconds until the next batch starts; infinite where no request waits."""
        if not self._waiting:
            return math.inf
        return 0.0 if len(self._waiting) >= self._enough else max(0.0, self._opens_at - now)

    def take(self, now: float, *, hold: bool) -> list[ReceivedRequest]:
        """The requests to serve now, if any. With `hold` the next ones wait until these are served."""
        if self.timeout(now) > 0:
            return []
        self._underway, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
        self._holds, self._opens_at, self._enough = hold, now + WINDOW_SECONDS if hold else 0.0, sys.maxsize
        return self._underway

    def end(self, batch: list[ReceivedRequest], now: float) -> None:
        """Note that a batch has been served."""
        if batch is self._underway:
            self._enough = min(BATCH_MAX, len(batch) + len(self._waiting))
            self._opens_at = now + PAUSE_SECONDS if self._holds and self._enough > 1 else 0.0
            self._underway = []


class Quickest:
    """The quickest lookup of the last complete group of `some`; 0 before the first. It belongs to the event loop."""

    def __init__(self, some: int) -> None:
        self.seconds, self._some = 0.0, some
        self._next, self._count = math.inf, 0

    def add(self, seconds: float) -> None:
        """Add the duration of a lookup."""
        self._next, self._count = min(self._next, seconds), self._count + 1
        if self._count == self._some:
            self.seconds, self._next, self._count = self._next, math.inf, 0


class VoteBatcher:
    """Serves the requests of the window.

    `defer` has the loop do something, `deliver` is given each request with its outcome, and `alone` has a thread serve
    a request by itself.
    """

    def __init__(
        self, app: Flask, application: Application, pool: ThreadPool, *, defer: Callable[..., None],
        deliver: Callable[[ReceivedRequest, Outcome], None], alone: Callable[[ReceivedRequest], None],
    ) -> None:  # fmt: skip
        self._app, self._application, self._pool = app, application, pool
        self._defer, self._deliver, self._alone = defer, deliver, alone
        self.routes = BatchedRoutes(app)
        self.window = BatchingWindow()
        self._lookups = Quickest(SAMPLE)

    @property
    def is_near(self) -> bool:
        """Whether the database is so near that a request that waits for a batch and then for its own gains by it."""
        return self._lookups.seconds < NEAR_SECONDS

    def start(self) -> None:
        """Have a thread serve the requests whose time has come. Runs in the loop."""
        batch = self.window.take(time.monotonic(), hold=self.is_near)
        if batch:
            self._pool.submit(partial(self._serve, batch))

    def _serve(self, batch: list[ReceivedRequest]) -> None:
        """Serve the batch, in a thread."""
        ended: list[tuple[ReceivedRequest, Outcome]] = []
        unanswered = dict.fromkeys(batch)

        def answer(received: ReceivedRequest, known: sessions.Known) -> None:
            outcome = self._application.outcome(received, known)
            del unanswered[received]
            ended.append((received, outcome))

        def works() -> Iterator[Callable[[], None]]:
            """A thread of its own serves a request that would begin late, and each where the lookup failed."""
            known = self._look_up(batch)
            late = time.monotonic() + BEGIN_SECONDS
            for received in batch:
                if known is not None and time.monotonic() < late:
                    yield partial(answer, received, known)
                else:
                    del unanswered[received]
                    self._alone(received)

        try:
            is_done = False
            for is_done in GreenletBatch(self._pool).run(works()) if len(batch) > 1 else map(_run, works()):
                self._defer(self._end, batch, ended.copy(), is_done)
                ended.clear()
            if not is_done:  # the one request is left alone
                self._defer(self._end, batch, [], True)
        except BaseException as error:  # a request without an outcome would wait for ever
            log.exception("a batch of requests was given up")
            self._defer(self._end, batch, [*ended, *((each, error) for each in unanswered)], True)

    def _look_up(self, batch: list[ReceivedRequest]) -> sessions.Known | None:
        """The callers of all, by one statement for each kind of credential; None where that fails or takes long."""
        cookie = self._app.config["COOKIE_NAME"]
        try:
            found = (authentication.proof(each.request.credentials(), cookie) for each in batch)
            proofs = [proof for proof in found if proof is not None]
            began = time.perf_counter()
            with self._app.app_context(), deadline.within(LOOKUP_SECONDS):
                known = sessions.look_up(proofs)
        except Exception as error:
            log.info("callers not looked up together", extra={"reason": type(error).__name__})
            return None
        if proofs:
            self._defer(self._lookups.add, time.perf_counter() - began)
        return known

    def _end(self, batch: list[ReceivedRequest], ended: list[tuple[ReceivedRequest, Outcome]], is_done: bool) -> None:
        """Deliver outcomes, in the loop; `is_done` when no request of the batch waits for another any more."""
        for received, outcome in ended:
            self._deliver(received, outcome)
        if is_done:
            self.window.end(batch, time.monotonic())


def _run(work: Callable[[], None]) -> bool:
    """Run the work of a batch of one, which waits for no other."""
    work()
    return True
