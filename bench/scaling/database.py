"""The database server of the model: its processors, the flush of its log, the locks of rows, the votes so far."""

from collections import defaultdict
from collections.abc import Iterable

from bench.scaling.costs import Costs
from bench.scaling.engine import Signal, Simulation, Station, Task

QUANTUM = 0.001  # seconds of a processor after which another task gets its turn
LOCK_TIMEOUT = (
    0.05  # seconds that a batch of votes waits for a row; the service then counts the votes of the batch alone
)


class Database:
    """PostgreSQL on processors of its own, or on those that `cores` shares with the rest of one machine.

    `votes` is the number of votes that are committed, `late_locks` that of batches that waited for rows for longer than
    the service lets them, which the model does not play further.
    """

    def __init__(self, simulation: Simulation, costs: Costs, cores: Station, sessions: int = 1_000_000) -> None:
        self._simulation, self._costs, self.cores = simulation, costs, cores
        self.sessions = Station(simulation, sessions)
        self.votes = self.late_locks = self.flushes = self.statements = 0
        self.held = 0.0  # seconds for which rows were locked
        self.used = 0.0  # seconds of processors
        self._rows: defaultdict[int, Station] = defaultdict(lambda: Station(simulation, 1))
        self._written = self._synced = 0
        self._is_flushing = False
        self._flushed = Signal(simulation)

    def run(self, seconds: float) -> Task:
        """Run a statement that takes so long of a processor."""
        self.statements += 1
        yield self.sessions
        yield from self._work(seconds)
        self.sessions.release()

    def vote(self, projects: Iterable[int], seconds: float) -> Task:
        """Run a statement of votes: lock the projects in their order, write, flush the log, and release them."""
        self.statements += 1
        wanted, ballots = sorted(set(projects)), len(list(projects))
        yield self.sessions
        began = self._simulation.now
        for project in wanted:
            yield self._rows[project]
        locked = self._simulation.now
        self.late_locks += locked - began > LOCK_TIMEOUT
        yield from self._work(seconds)
        yield from self._commit()
        self.votes += ballots
        self.held += self._simulation.now - locked
        for project in wanted:
            self._rows[project].release()
        self.sessions.release()

    def _work(self, seconds: float) -> Task:
        self.used += seconds
        yield from self.cores.serve(seconds, QUANTUM)

    def _commit(self) -> Task:
        """Wait until the log is on disk up to here: one flush takes everything that was written before it began."""
        self._written += 1
        mine = self._written
        while self._synced < mine:
            if self._is_flushing:
                yield self._flushed
                continue
            self._is_flushing, target = True, self._written
            yield self._costs.flush
            self.flushes += 1
            self._synced, self._is_flushing = target, False
            self._flushed.fire()
