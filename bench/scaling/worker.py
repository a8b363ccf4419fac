"""A server process of the model: an event loop, threads, one interpreter lock, and stored pages that votes spoil."""

import math
import random
from typing import Any

from bench.scaling.costs import Costs
from bench.scaling.database import QUANTUM, Database
from bench.scaling.engine import Signal, Simulation, Station, Task
from bench.scaling.load import ROW, STORED, VOTE, Links, Request
from directory.server.vote_batching import BatchingWindow

SWITCH = 0.005  # seconds after which Python's interpreter lets another thread run


class Worker:
    """Serves requests. `answered` is their number; `made` the pages that were made anew, `stored` those given again."""

    def __init__(
        self, simulation: Simulation, costs: Costs, database: Database, cores: Station, links: Links, *, seed: str,
        redis: Station | None = None, threads: int = 8,
    ) -> None:  # fmt: skip
        self._simulation, self._costs, self._database, self._cores = simulation, costs, database, cores
        self._links, self._redis, self._rng = links, redis, random.Random(seed)
        # The system wakes any of the threads that wait for the interpreter, not the one that has waited for longest.
        self.interpreter = Station(simulation, 1, random.Random(f"interpreter {seed}"))
        self._threads = Station(simulation, threads)
        self.answered = self.made = self.stored = self.snapshots = self.batches = 0
        self._inbox: list[Request] = []
        self._ended: list[tuple[list[Request], bool]] = []  # requests that a thread has served; whether as a batch
        self._wake = Signal(simulation)
        self._window = BatchingWindow()
        self._seen = 0  # the votes that the last snapshot showed
        self._pages: dict[Any, int] = {}  # by key, the number of votes at which a page is known to be valid
        simulation.start(self._loop())

    def receive(self, request: Request) -> None:
        """Take a request."""
        self._inbox.append(request)
        self._wake.fire()

    def _loop(self) -> Task:
        while True:
            timeout = self._window.timeout(self._simulation.now)
            if not (self._inbox or self._ended) and timeout > 0:
                if timeout < math.inf:  # the system's wait counts in milliseconds, rounded up
                    self._simulation.after(max(0.001, math.ceil(timeout * 1000 - 1e-6) / 1000), self._wake.fire)
                yield self._wake
                continue
            yield from self._iterate()

    def _iterate(self) -> Task:
        """One iteration of the loop."""
        (came, self._inbox), (ended, self._ended) = (self._inbox, []), (self._ended, [])
        yield from self._compute(self._costs.iteration)
        for served, is_batch in ended:
            yield from self._send(served)
            if is_batch:
                self._window.end(served, self._simulation.now)  # type: ignore[arg-type]
        stored, rows = self._dispatch(came)
        if stored:
            yield from self._give_again(stored)
        if rows:
            yield from self._make_rows(rows)
        batch: Any = self._window.take(self._simulation.now)
        if batch:
            self._simulation.start(self._serve_votes(batch))

    def _dispatch(self, came: list[Request]) -> tuple[list[Request], list[Request]]:
        """Add votes to the window, give threads what they serve, and return what the loop answers itself."""
        stored, rows = [], []
        for request in came:
            if request.way == VOTE:
                self._window.add(request)  # type: ignore[arg-type]
            elif request.way == ROW:
                rows.append(request)
            elif request.way == STORED and request.subject in self._pages:
                stored.append(request)
            else:
                self._simulation.start(self._serve_in_thread(request))
        return stored, rows

    def _make_rows(self, requests: list[Request]) -> Task:
        costs = self._costs
        yield from self._round_trip(costs.rows_app, costs.rows_database + len(requests) * costs.row_database)
        for request in requests:
            yield from self._compute(costs.row)
            self._answer(request)

    def _send(self, served: list[Request]) -> Task:
        for request in served:
            yield from self._compute(self._costs.send)
            self._answer(request)

    def _answer(self, request: Request) -> None:
        self.answered += 1
        request.answer()

    def _compute(self, seconds: float) -> Task:
        """Run Python: under the interpreter's lock, on a processor."""
        while seconds > 0:
            piece = min(seconds, SWITCH)
            yield self.interpreter
            yield from self._cores.serve(piece, QUANTUM)
            self.interpreter.busy += piece
            self.interpreter.release()
            seconds -= piece

    def _round_trip(self, app: float, database: float) -> Task:
        """Send a statement and wait for its result."""
        yield from self._compute(app)
        yield from self._travel()
        yield from self._database.run(database)
        yield from self._travel()

    def _travel(self) -> Task:
        if self._links.proxy:
            yield from self._cores.serve(self._links.proxy, QUANTUM)
        if self._links.database:
            yield self._links.database

    def _snapshot(self) -> Task:
        """Read the snapshot; what was committed when the server read it counts as seen."""
        self.snapshots += 1
        yield from self._compute(self._costs.snapshot)
        yield from self._travel()
        yield from self._database.run(self._costs.snapshot_database)
        seen = self._database.votes
        yield from self._travel()
        self._seen = max(self._seen, seen)

    def _is_valid(self, request: Request) -> bool:
        """Whether a page is valid at the last snapshot: each vote since then may have spoiled it."""
        valid_at = self._pages.get(request.subject)
        if valid_at is None:
            return False
        if valid_at < self._seen and self._rng.random() > (1 - request.spoils) ** (self._seen - valid_at):
            return False
        self._pages[request.subject] = max(valid_at, self._seen)
        return True

    def _give_again(self, requests: list[Request]) -> Task:
        yield from self._snapshot()
        for request in requests:
            if self._is_valid(request):
                self.stored += 1
                yield from self._compute(self._costs.stored)
                self._answer(request)
            else:
                self._simulation.start(self._serve_in_thread(request))

    def _serve_in_thread(self, request: Request) -> Task:
        """Make a page, or do what the request says that the application takes."""
        yield self._threads
        if request.way == STORED:
            yield from self._make(request)
        else:
            yield from self._compute(request.subject)
        self._threads.release()
        self._ended.append(([request], False))
        self._wake.fire()

    def _make(self, request: Request) -> Task:
        """Give a page that another thread has made meanwhile, or make it. It is as old as the last snapshot."""
        costs = self._costs
        if self._is_valid(request):
            yield from self._compute(costs.thread)
            yield from self._snapshot()
            if self._is_valid(request):
                self.stored += 1
                return
        self.made += 1
        seen = self._seen
        yield from self._round_trip(costs.page / 2, costs.page_database)
        yield from self._compute(costs.page / 2)
        self._pages[request.subject] = max(seen, self._pages.get(request.subject, 0))

    def _serve_votes(self, batch: list[Request]) -> Task:
        """Look the callers up, count the limits of all by one round trip, and then all votes."""
        costs, n = self._costs, len(batch)
        self.batches += 1
        yield self._threads
        yield from self._round_trip(costs.batch, costs.batch_database / 2 + n * costs.lookup_database)
        for _ in batch:
            yield from self._compute(costs.vote / 2)
        if self._links.limits:
            yield from self._count_by_redis()
        yield from self._travel()
        projects = [request.subject for request in batch]
        yield from self._database.vote(projects, costs.batch_database / 2 + n * costs.vote_database)
        yield from self._travel()
        yield from self._compute(n * costs.vote / 2)
        self._threads.release()
        self._ended.append((batch, True))
        self._wake.fire()

    def _count_by_redis(self) -> Task:
        """Count a vote: several commands, one after the other."""
        for _ in range(self._costs.redis_trips):
            yield from self._compute(self._costs.redis_app)
            yield self._links.redis
            if self._redis is not None:
                yield from self._redis.serve(self._costs.redis, QUANTUM)
            yield self._links.redis
