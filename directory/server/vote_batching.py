"""Serves votes that come at once by one thread: one lookup of their callers, one transaction (ADR 13).

Which routes are batched they say of themselves (`batched` of their operation).
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
from directory.server.fast_path import Application, Asked, Response
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
Outcome = Response | BaseException


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
    """Which requests go together: those that come while the ones before are being served.

    A request that finds no batch under way goes at once. Under load the requests of a batch share what costs each of
    them most when alone: a thread that sleeps and wakes, a lookup, a transaction. Instants are of time.monotonic().
    """

    def __init__(self) -> None:
        self._waiting: list[Asked] = []
        self._underway: list[Asked] = []
        self._opens_at = 0.0
        self._enough = BATCH_MAX  # requests to go before that
        self._holds = False

    def add(self, asked: Asked) -> None:
        """One more has come."""
        self._waiting.append(asked)

    def timeout(self, now: float) -> float:
        """Seconds until the next batch is to go; infinite where no request waits."""
        if not self._waiting:
            return math.inf
        return 0.0 if len(self._waiting) >= self._enough else max(0.0, self._opens_at - now)

    def take(self, now: float, *, hold: bool) -> list[Asked]:
        """The requests that are to be served now; none while they wait. They `hold` the next ones, or do not."""
        if self.timeout(now) > 0:
            return []
        self._underway, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
        self._holds, self._opens_at, self._enough = hold, now + WINDOW_SECONDS if hold else 0.0, sys.maxsize
        return self._underway

    def end(self, batch: list[Asked], now: float) -> None:
        """A batch has been served. When as many requests are there again as were in it, no other is waited for."""
        if batch is self._underway:
            self._enough = min(BATCH_MAX, len(batch) + len(self._waiting))
            self._opens_at = now + PAUSE_SECONDS if self._holds and self._enough > 1 else 0.0
            self._underway = []


class Quickest:
    """The quickest lookup of the last complete group of `some`; 0 before the first. It belongs to the event loop."""

    def __init__(self, some: int) -> None:
        self.seconds, self._some = 0.0, some
        self._next, self._count = math.inf, 0

    def take(self, seconds: float) -> None:
        """Take in how long another took."""
        self._next, self._count = min(self._next, seconds), self._count + 1
        if self._count == self._some:
            self.seconds, self._next, self._count = self._next, math.inf, 0


class VoteBatcher:
    """Has batches served by threads of the pool, and the requests alone where they cannot be.

    `defer` calls a function in the event loop; `deliver` is called there with a request and its answer, or the error
    that came of it; `alone` is called with a request that is to be answered by a thread of its own.
    """

    def __init__(
        self, app: Flask, application: Application, pool: ThreadPool, *, defer: Callable[..., None],
        deliver: Callable[[Asked, Outcome], None], alone: Callable[[Asked], None],
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
        """Have the requests served that are to go now. Runs in the loop."""
        batch = self.window.take(time.monotonic(), hold=self.is_near)
        if batch:
            self._pool.submit(partial(self._serve, batch))

    def _serve(self, batch: list[Asked]) -> None:
        """Answer them, in a thread."""
        ended: list[tuple[Asked, Outcome]] = []
        unanswered = dict.fromkeys(batch)
        try:
            known = self._look_up(batch)
            if known is None:
                self._leave_alone(batch, unanswered)
                return
            works = self._works(unanswered, ended, known)
            for over in GreenletBatch(self._pool).run(works) if len(batch) > 1 else map(_do, works):
                self._defer(self._end, batch, ended.copy(), over)
                ended.clear()
        except BaseException as error:  # a request without an outcome would wait for ever
            log.exception("a batch of requests was given up")
            self._defer(self._end, batch, [*ended, *((asked, error) for asked in unanswered)], True)

    def _look_up(self, batch: list[Asked]) -> sessions.Known | None:
        """The callers of all, by one statement for each kind; None where the database does not tell them soon."""
        cookie = self._app.config["COOKIE_NAME"]
        try:
            found = (authentication.proof(asked.request.credentials(), cookie) for asked in batch)
            proofs = [proof for proof in found if proof is not None]
            began = time.perf_counter()
            with self._app.app_context(), deadline.within(LOOKUP_SECONDS):
                known = sessions.look_up(proofs)
        except Exception as error:
            log.info("callers not looked up together", extra={"reason": type(error).__name__})
            return None
        if proofs:
            self._defer(self._lookups.take, time.perf_counter() - began)
        return known

    def _leave_alone(self, batch: list[Asked], unanswered: dict[Asked, None]) -> None:
        """Have each answered alone: without a lookup each may have to wait for its own."""
        for asked in batch:
            del unanswered[asked]
            self._alone(asked)
        self._defer(self._end, batch, [], True)

    def _works(
        self, unanswered: dict[Asked, None], ended: list[tuple[Asked, Outcome]], known: sessions.Known
    ) -> Iterator[Callable[[], None]]:
        """What answers each. A request that would begin late is answered alone."""
        late = time.monotonic() + BEGIN_SECONDS
        for asked in [*unanswered]:
            if time.monotonic() < late:
                yield partial(self._answer, asked, unanswered, ended, known)
            else:
                del unanswered[asked]
                self._alone(asked)

    def _answer(
        self, asked: Asked, unanswered: dict[Asked, None], ended: list[tuple[Asked, Outcome]], known: sessions.Known
    ) -> None:
        outcome: Outcome
        try:
            with deadline.for_request(time.perf_counter() - asked.began):
                outcome = self._application.respond(asked, known)
        except BaseException as error:
            outcome = error
        del unanswered[asked]
        ended.append((asked, outcome))

    def _end(self, batch: list[Asked], ended: list[tuple[Asked, Outcome]], over: bool) -> None:
        """Deliver answers, in the loop; `over` when the requests of the batch wait for nothing in common any more."""
        for asked, outcome in ended:
            self._deliver(asked, outcome)
        if over:
            self.window.end(batch, time.monotonic())


def _do(work: Callable[[], None]) -> bool:
    """Do what no other request waits for."""
    work()
    return True
