"""Serves votes that come at once by one thread: one lookup of their callers, one transaction (ADR 13).

A route with a `many` in its operation is served so.
"""

import logging
import math
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask

from directory.http.converters import ID
from directory.http.together import Answer, Asked, Together
from directory.server.application import Application, Outcome, ReceivedRequest
from directory.server.request_reader import ParsedRequest
from directory.server.thread_pool import ThreadPool
from directory.server.tuning import BATCH_MAX, PAUSE_SECONDS, WINDOW_SECONDS

log = logging.getLogger(__name__)


class BatchedRoutes:
    """The routes whose requests are served together: those with an id in their path and a `many`."""

    def __init__(self, app: Flask) -> None:
        self._routes: list[tuple[set[str], re.Pattern[str], str, Any]] = []
        for rule in app.url_map.iter_rules():
            view: Any = app.view_functions[rule.endpoint]
            if getattr(getattr(view, "operation", None), "many", None) is not None:
                path = f"({ID.pattern})".join(map(re.escape, re.split(r"<id:[^>]*>", rule.rule)))
                self._routes.append((rule.methods or set(), re.compile(path), rule.rule, view))

    def find(self, request: ParsedRequest) -> tuple[Any, str, int] | None:
        """The view, the rule and the id of a request for one of them; None for any other."""
        if request.query:
            return None
        for methods, path, rule, view in self._routes:
            if request.method in methods and (found := path.fullmatch(request.path)) is not None:
                return view, rule, int(found[1])
        return None


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

    def add(self, received: ReceivedRequest) -> None:
        """Add a request that has come."""
        self._waiting.append(received)

    def timeout(self, now: float) -> float:
        """Seconds until the next batch starts; infinite where no request waits."""
        if not self._waiting:
            return math.inf
        return 0.0 if len(self._waiting) >= self._enough else max(0.0, self._opens_at - now)

    def take(self, now: float) -> list[ReceivedRequest]:
        """The requests to serve now, if any. The next ones wait until these are served, but not for long."""
        if self.timeout(now) > 0:
            return []
        self._underway, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
        self._opens_at, self._enough = now + WINDOW_SECONDS, sys.maxsize
        return self._underway

    def end(self, batch: list[ReceivedRequest], now: float) -> None:
        """Note that a batch has been served."""
        if batch is self._underway:
            self._enough = min(BATCH_MAX, len(batch) + len(self._waiting))
            self._opens_at = now + PAUSE_SECONDS if self._enough > 1 else 0.0
            self._underway = []


class VoteBatcher:
    """Serves requests for the batched routes. All but `_serve` runs in the event loop.

    `defer` has the loop call a function, `deliver` is given what came of a request, and `alone` a request that is to
    get a thread of its own.
    """

    def __init__(
        self, app: Flask, application: Application, pool: ThreadPool, *, defer: Callable[..., None],
        deliver: Callable[[ReceivedRequest, Outcome], None], alone: Callable[[ReceivedRequest], None],
    ) -> None:  # fmt: skip
        self._application, self._pool, self._together = application, pool, Together(app)
        self._defer, self._deliver, self._alone = defer, deliver, alone
        self.routes = BatchedRoutes(app)
        self.window = BatchingWindow()

    def start(self) -> None:
        """Have a thread serve the requests whose time has come."""
        if batch := self.window.take(time.monotonic()):
            self._pool.submit(partial(self._serve, batch))

    def _serve(self, batch: list[ReceivedRequest]) -> None:
        """Serve the batch, in a thread."""
        try:
            asked = [self._asked(each) for each in batch]
            ended: list[Any] = [self._outcome(each) for each in self._together.answer(asked)]
        except BaseException as error:  # a request without an outcome would wait for ever
            log.exception("a batch of requests was given up")
            ended = [error] * len(batch)
        self._defer(self._end, batch, ended)

    def _asked(self, received: ReceivedRequest) -> Asked:
        found = self.routes.find(received.request)
        if found is None:
            raise ValueError("this request is for no batched route")
        return Asked(self._application.environ_of(received), *found, received.began)

    def _outcome(self, answer: Any) -> Any:
        return self._application.encoded(*answer) if isinstance(answer, Answer) else answer

    def _end(self, batch: list[ReceivedRequest], ended: list[Any]) -> None:
        """Deliver what came of the requests, in the loop."""
        for received, outcome in zip(batch, ended, strict=True):
            if outcome is None:
                self._alone(received)
            elif callable(outcome):
                self._pool.submit(partial(self._serve_alone, received, outcome))
            else:
                self._deliver(received, outcome)
        self.window.end(batch, time.monotonic())

    def _serve_alone(self, received: ReceivedRequest, answer: Callable[[], Answer]) -> None:
        try:
            outcome: Outcome = self._outcome(answer())
        except BaseException as error:
            outcome = error
        self._defer(self._deliver, received, outcome)
