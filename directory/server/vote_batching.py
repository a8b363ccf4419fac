"""Collects votes (requests for routes with a `many`) in batches; a thread answers each by one transaction (ADR 13)."""

import asyncio
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask

from directory.http.together import BatchedRequest, Together
from directory.http.wsgi import Answer, Response
from directory.server.protocol import Request
from directory.server.thread_pool import ThreadPool

# Measured with 16 connections and two processes over PostgreSQL with fsync, 100,000 projects. Without the pause batches
# alternated between one vote and seven, and the throughput fell to a third (ADR 13).
WINDOW_SECONDS = 0.1  # after the start of a batch the next one starts, even if the first has not ended
PAUSE_SECONDS = 0.001  # after the end of a batch the next one waits, for the first one's clients to send again
BATCH_MAX = 64  # votes, which are one transaction


class BatchingWindow:
    """Which requests are served together: those that come while the previous batch is being served.

    When a batch ends, the next one starts as soon as it has as many new requests, or after PAUSE_SECONDS. If none has
    come by then, the next request is served at once. WINDOW_SECONDS after one batch started, the next starts even if
    the first has not ended. The requests of a batch share what costs each of them most when alone: a thread that sleeps
    and wakes, a lookup, a transaction. Instants are of time.monotonic().
    """

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._underway: list[Request] = []
        self._opens_at = 0.0
        self._enough = BATCH_MAX  # waiting requests that start the next batch before `_opens_at`

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
    """Serves requests for the batched routes, in the event loop; a thread answers a batch.

    `deliver` gets a request with its outcome, and `alone` a request that the application has to answer.
    """

    def __init__(
        self, app: Flask, pool: ThreadPool, loop: asyncio.AbstractEventLoop, *,
        deliver: Callable[[Request, Response | BaseException], None], alone: Callable[[Request], None],
    ) -> None:  # fmt: skip
        self._pool, self._loop, self._together = pool, loop, Together(app)
        self._deliver, self._alone = deliver, alone
        self._timer: asyncio.TimerHandle | None = None
        self._batched: dict[Request, BatchedRequest] = {}
        self.window = BatchingWindow()

    def take(self, request: Request) -> bool:
        """Take a request if it can be answered in a batch, and return whether it can."""
        if (batched := self._together.routes.find(request.environ, request.began)) is None:
            return False
        self._batched[request] = batched
        self.window.add(request)
        return True

    def start(self) -> None:
        """Have a thread answer the next batch if it is time; set a timer if requests still wait."""
        now = time.monotonic()
        if batch := self.window.take(now):
            requests = [self._batched.pop(key) for key in batch]
            answer = partial(self._together.answer, requests)
            self._pool.call(self._loop, lambda: [*map(_encoded, answer())], partial(self._end, batch))
        if self._timer is not None:
            self._timer.cancel()
        wait = self.window.timeout(now)
        self._timer = None if wait == math.inf else self._loop.call_later(wait, self.start)

    def _end(self, batch: list[Request], ended: list[Any] | BaseException) -> None:
        """Deliver the outcomes of a batch, and start the next one."""
        outcomes = [ended] * len(batch) if isinstance(ended, BaseException) else ended
        for request, outcome in zip(batch, outcomes, strict=True):
            if outcome is None:
                self._alone(request)
            elif callable(outcome):  # it could not be done with others, and gets a thread of its own
                self._pool.call(self._loop, partial(_done, outcome), partial(self._deliver, request))
            else:
                self._deliver(request, outcome)
        self.window.end(batch, time.monotonic())
        self.start()


def _encoded(outcome: Any) -> Any:
    return outcome.encoded() if isinstance(outcome, Answer) else outcome


def _done(outcome: Callable[[], Answer]) -> Any:
    return _encoded(outcome())
