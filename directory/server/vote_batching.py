"""Serves votes that come at once by one thread: one lookup of their callers, one transaction (ADR 13).

A route with a `many` in its operation is served so.
"""

import asyncio
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
from directory.server.protocol import Request
from directory.server.thread_pool import ThreadPool
from directory.server.tuning import BATCH_MAX, PAUSE_SECONDS, WINDOW_SECONDS
from directory.server.wsgi import Response, encoded

log = logging.getLogger(__name__)


class BatchedRoutes:
    """The routes whose requests are served together: those with an id in their path and a `many`."""

    def __init__(self, app: Flask) -> None:
        self._routes: list[tuple[set[str], re.Pattern[str], str, Any]] = []
        for rule in app.url_map.iter_rules():
            view: Any = app.view_functions[rule.endpoint]
            if getattr(getattr(view, "operation", None), "many", None) is not None:
                path = f"({ID.pattern})".join(map(re.escape, re.split(r"<id:[^>]*>", rule.rule)))
                methods = (rule.methods or set()) - {"HEAD", "OPTIONS"}
                self._routes.append((methods, re.compile(path), rule.rule, view))

    def find(self, environ: dict[str, Any]) -> tuple[Any, str, int] | None:
        """The view, the rule and the id of a request for one of them, without a query or a body; None for any other."""
        if environ.get("QUERY_STRING") or environ.get("CONTENT_LENGTH", "0") != "0":
            return None
        if "HTTP_TRANSFER_ENCODING" in environ:
            return None
        for methods, path, rule, view in self._routes:
            if environ["REQUEST_METHOD"] in methods and (found := path.fullmatch(environ["PATH_INFO"])) is not None:
                return view, rule, int(found[1])
        return None


class BatchingWindow:
    """Which requests are served together: those that come while the batch before is being served.

    A request that finds no batch under way is served at once. The next batch starts when as many further requests have
    come as were in this one, or after PAUSE_SECONDS. The requests of a batch share what costs each of them most when
    alone: a thread that sleeps and wakes, a lookup, a transaction. Instants are of time.monotonic().
    """

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._underway: list[Request] = []
        self._opens_at = 0.0
        self._enough = BATCH_MAX  # requests that start the next batch before that

    def add(self, received: Request) -> None:
        """Add a request that has come."""
        self._waiting.append(received)

    def timeout(self, now: float) -> float:
        """Seconds until the next batch starts; infinite where no request waits."""
        if not self._waiting:
            return math.inf
        return 0.0 if len(self._waiting) >= self._enough else max(0.0, self._opens_at - now)

    def take(self, now: float) -> list[Request]:
        """The requests to serve now, if any. The next ones wait until these are served, but not for long."""
        if self.timeout(now) > 0:
            return []
        self._underway, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
        self._opens_at, self._enough = now + WINDOW_SECONDS, sys.maxsize
        return self._underway

    def end(self, batch: list[Request], now: float) -> None:
        """Note that a batch has been served."""
        if batch is self._underway:
            self._enough = min(BATCH_MAX, len(batch) + len(self._waiting))
            self._opens_at = now + PAUSE_SECONDS if self._enough > 1 else 0.0
            self._underway = []


class VoteBatcher:
    """Serves requests for the batched routes. All but the two `_serve` runs in the event loop.

    `deliver` is given what came of a request, and `alone` a request that is to get a thread of its own.
    """

    def __init__(
        self, app: Flask, pool: ThreadPool, loop: asyncio.AbstractEventLoop, *,
        deliver: Callable[[Request, Response | BaseException], None], alone: Callable[[Request], None],
    ) -> None:  # fmt: skip
        self._pool, self._loop, self._together = pool, loop, Together(app)
        self._deliver, self._alone = deliver, alone
        self._timer: asyncio.TimerHandle | None = None
        self._found: dict[Request, tuple[Any, str, int]] = {}
        self.routes, self.window = BatchedRoutes(app), BatchingWindow()

    def take(self, request: Request) -> bool:
        """Take a request for the next batch; whether it is for a batched route."""
        if (found := self.routes.find(request.environ)) is None:
            return False
        self._found[request] = found
        self.window.add(request)
        return True

    def start(self) -> None:
        """Have a thread serve the requests whose time has come, and look again when that of the others comes."""
        now = time.monotonic()
        if batch := self.window.take(now):
            asked = [Asked(each.environ, *self._found.pop(each), each.began) for each in batch]
            self._pool.submit(partial(self._serve, batch, asked))
        if self._timer is not None:
            self._timer.cancel()
        wait = self.window.timeout(now)
        self._timer = None if wait == math.inf else self._loop.call_later(wait, self.start)

    def _serve(self, batch: list[Request], asked: list[Asked]) -> None:
        """Serve the batch, in a thread."""
        try:
            ended: list[Any] = [_outcome(each) for each in self._together.answer(asked)]
        except BaseException as error:  # a request without an outcome would wait for ever
            log.exception("a batch of requests was given up")
            ended = [error] * len(batch)
        self._loop.call_soon_threadsafe(self._end, batch, ended)

    def _end(self, batch: list[Request], ended: list[Any]) -> None:
        """Deliver what came of the requests, in the loop."""
        for request, outcome in zip(batch, ended, strict=True):
            if outcome is None:
                self._alone(request)
            elif callable(outcome):
                self._pool.submit(partial(self._serve_alone, request, outcome))
            else:
                self._deliver(request, outcome)
        self.window.end(batch, time.monotonic())
        self.start()

    def _serve_alone(self, request: Request, answer: Callable[[], Answer]) -> None:
        """Do for one request what could not be done with others, in a thread."""
        outcome: Any
        try:
            outcome = _outcome(answer())
        except BaseException as error:
            outcome = error
        self._loop.call_soon_threadsafe(self._deliver, request, outcome)


def _outcome(answer: Any) -> Any:
    return encoded(*answer) if isinstance(answer, Answer) else answer
