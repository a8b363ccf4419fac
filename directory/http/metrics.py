"""Prometheus metrics, off unless METRICS_ENABLED is set. While off, the client library is not imported.

Each process answers a scrape for all processes of its server: they share the folder PROMETHEUS_MULTIPROC_DIR, a
variable of the client library. If the operator does not set it, gunicorn's configuration does.
"""

import mmap
import os
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from flask import Flask, Response

from directory.extensions import limiter

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the client library's own; it reads it when it is imported
METHODS = {"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"}
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
MEMORY_SECONDS = 5.0  # interval at which a process that answers requests measures its memory
MEMORY = Path("/proc/self/statm")  # Linux: sizes in pages; the second is the resident size


class Crashes:
    """How many workers and deliverers of a server have ended without a request to, and were started again.

    The numbers are in memory that a process shares with those that it forks. The server alone writes them, each kind in
    one thread; every worker can show them, even if it is the only one, which shares no folder.
    """

    KINDS = ("worker", "deliverer")

    def __init__(self) -> None:
        self._counts = memoryview(mmap.mmap(-1, 8 * len(self.KINDS))).cast("Q")

    def count(self, kind: str) -> None:
        """Count one more of a kind."""
        self._counts[self.KINDS.index(kind)] += 1

    def counts(self) -> dict[str, int]:
        """The numbers by kind."""
        return dict(zip(self.KINDS, self._counts, strict=True))


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

        # They would add an unused second series to each counter.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        if FOLDER_VARIABLE in os.environ:
            from directory.http.metrics_files import reserve_room

            reserve_room()
        self.registry, labels = CollectorRegistry(), ("method", "route")
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry, multiprocess_mode="livemax")
        self.requests = counter("directory_requests", "Requests.", (*labels, "status"))
        self.seconds = Histogram(
            "directory_request_seconds", "Time to answer.", labels, registry=self.registry, buckets=BUCKETS
        )
        self.started = time.time()  # in the server, from which its processes have it
        self.crashes = Crashes()
        votes = counter("directory_votes", "Votes acknowledged, by what they left behind.", ("vote",))
        self._votes = {vote: votes.labels(vote) for vote in ("cast", "withdrawn")}
        # Without labels, so that they exist at 0: PromQL sees no increase in the first value of a new series.
        self.faults = counter("directory_faults", "Requests answered with 500.")
        self.late = counter("directory_late", "Requests that took longer than 5 s.")
        cache = counter("directory_cache_responses", "Cacheable responses, by source.", ("source",))
        self._cache = {source: cache.labels(source) for source in ("stored", "made")}
        purges = counter("directory_purges", "Deletions of expired rows that were not done, by outcome.", ("outcome",))
        self._purges = {outcome: purges.labels(outcome) for outcome in ("failed", "refused")}
        self.memory = gauge(
            "directory_memory_bytes", "Resident memory of the largest process; 0 where the system does not tell."
        )
        self.reload_refused = gauge(
            "directory_reload_refused", "1 while the settings of the last reload are refused, and those before it stay."
        )
        self._measured_at = -MEMORY_SECONDS  # by time.monotonic()
        self.fallback = gauge(
            "directory_ratelimit_fallback", "1 while Redis is out of reach and a process counts rate limits by itself."
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request. Labels have only our own values: clients' paths and methods would make endless series."""
        self.requests.labels(method if method in METHODS else "other", route, status).inc()
        self.seconds.labels(method if method in METHODS else "other", route).observe(seconds)
        if status == 500:
            self.faults.inc()
        if seconds > BUCKETS[-1]:
            self.late.inc()
        if monotonic() > self._measured_at + MEMORY_SECONDS:
            self._measure_memory()

    def count_votes(self, votes: Iterable[dict[str, Any]]) -> None:
        """Count votes by their results: cast or withdrawn."""
        for vote in votes:
            self._votes["cast" if vote["upvoted"] else "withdrawn"].inc()

    def count_cache(self, source: str) -> None:
        """Count a cacheable response: `stored` if it came from the response cache, `made` if it is new."""
        self._cache[source].inc()

    def count_purge(self, outcome: str) -> None:
        """Count a deletion of expired rows that was not done: `failed`, or `refused` as more than half of a table."""
        self._purges[outcome].inc()

    def _measure_memory(self) -> None:
        self._measured_at = monotonic()
        self.memory.set(resident_bytes())

    def page(self) -> Response:
        """All metrics in the text format: of this process or all that share the folder, and of the database."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        from directory.http.stored_metrics import Stored

        self.fallback.set(on_fallback())
        self._measure_memory()
        registry = self.registry
        if FOLDER_VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        stored = CollectorRegistry()
        stored.register(Stored())
        text = generate_latest(registry) + generate_latest(stored)
        return Response(text, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def init_app(app: Flask) -> None:
    """Start counting, if metrics are enabled."""
    if app.config["METRICS_ENABLED"]:
        settle_folder()
        app.extensions["metrics"] = Metrics()


def settle_folder() -> None:
    """Create the operator's folder; an empty name means none. Raises SystemExit if it cannot be created."""
    named = os.environ.get(FOLDER_VARIABLE)
    if not named:
        os.environ.pop(FOLDER_VARIABLE, None)
        return
    try:
        os.makedirs(named, exist_ok=True)
    except OSError as error:
        raise SystemExit(
            f"{FOLDER_VARIABLE}: {named!r} is not a folder and cannot be created: {error.strerror}"
        ) from None


def resident_bytes() -> int:
    """The resident memory of this process; 0 if the system does not report it."""
    try:
        return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def on_fallback() -> bool:
    """Whether this process counts rate limits, because Redis was unreachable at the last request to be counted."""
    return bool(limiter._storage_dead)  # the library has no public name for it
