"""Many hosts: what they answer at most, and what a front page in a day's news makes of them."""

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from bench.scaling.costs import MEASURED, Costs
from bench.scaling.database import Database
from bench.scaling.engine import Simulation, Station
from bench.scaling.load import STORED, THREAD, VOTE, Links, Request, closed_loop, ignore_answer, open_loop
from bench.scaling.scenarios import FRONT, HOT, drawn
from bench.scaling.worker import Worker

PROCESSES = CORES = 2  # of a host
CONNECTIONS = 16  # of a closed loop, to a process
ANYTHING = 0.001  # the probability with which a vote is noted as a change of anything, which spoils every page
ANSWERED_WITHIN = 0.25  # seconds within which 99 % of votes and of first pages are answered where a load is carried
FULL = 0.9  # the share of the time for which hosts, PostgreSQL and the row may be busy then


@dataclass(frozen=True)
class Fleet:
    """Hosts of two processes on two processors, before a PostgreSQL on so many others."""

    hosts: int
    database_cores: int = 8
    milliseconds: float = 0.25  # each way, to PostgreSQL and to Redis
    sessions: int = 1_000_000  # of PostgreSQL, where a pooler shares them


@dataclass(frozen=True)
class News:
    """A load in a minute: who reads the first page, who votes for one project on it, and what stands before the hosts.

    `files` are the files that a reader loads from the hosts, `sessions` how often it asks who calls, `age` the seconds
    for which each of `edges` caches gives public answers again without asking.
    """

    readers: float = 100_000
    votes: float = 5_000
    files: int = 3
    sessions: float = 1.0
    age: float = 0.0
    edges: int = 10

    def times(self, factor: float) -> "News":
        """The same load so many times."""
        return replace(self, readers=self.readers * factor, votes=self.votes * factor)


@dataclass(frozen=True)
class Outcome:
    """What became of a load: requests a second, milliseconds, shares of time, and numbers a second."""

    requests: float
    list_p99: float
    vote_p50: float
    vote_p99: float
    hosts_busy: float
    database_busy: float
    row_locked: float
    made: float
    stored: float
    flushes: float
    late_locks: int


class System:
    """A fleet under way."""

    def __init__(self, fleet: Fleet, costs: Costs, *, limits: bool) -> None:
        self.simulation, self._fleet = Simulation(), fleet
        self.database = Database(self.simulation, costs, Station(self.simulation, fleet.database_cores), fleet.sessions)
        self.redis = Station(self.simulation, 1)
        self.machines = [Station(self.simulation, CORES) for _ in range(fleet.hosts)]
        links = Links(fleet.milliseconds / 1000, fleet.milliseconds / 1000, limits=limits)
        self.workers = [
            Worker(self.simulation, costs, self.database, machine, links, seed=f"{n} {m}", redis=self.redis)
            for n, machine in enumerate(self.machines)
            for m in range(PROCESSES)
        ]

    def hosts_busy(self, seconds: float) -> float:
        """The share of the time for which the hosts' processors were busy."""
        return sum(machine.busy for machine in self.machines) / seconds / CORES / len(self.machines)

    def database_busy(self, seconds: float) -> float:
        """The same of PostgreSQL's."""
        return self.database.cores.busy / seconds / self.database.cores.places


def most(operation: str, fleet: Fleet, *, costs: Costs = MEASURED, seconds: float = 0.2) -> tuple[float, float, float]:
    """What a fleet answers at most, a second, of an operation of the bench; how busy hosts and PostgreSQL are."""
    system = System(fleet, costs, limits=operation != "list")
    clients = Station(system.simulation, 1_000_000)  # somewhere else
    for n, worker in enumerate(system.workers):
        draw = drawn(operation, random.Random(f"{operation} {n}"))
        for _ in range(CONNECTIONS):
            system.simulation.start(closed_loop(system.simulation, worker, draw, clients, costs.client, []))
    system.simulation.run(warm := 0.1)
    before = sum(worker.answered for worker in system.workers)
    system.simulation.run(warm + seconds)
    rate = (sum(worker.answered for worker in system.workers) - before) / seconds
    return rate, system.hosts_busy(warm + seconds), system.database_busy(warm + seconds)


def requests_of(news: News, costs: Costs) -> list[tuple[float, Callable[[], Request], str]]:
    """The requests that reach the hosts: how many a second, what, and under which name their times are noted."""
    readers = news.readers / 60
    public = min(readers, news.edges / news.age) if news.age else readers

    def stored(key: str, spoils: float) -> Callable[[], Request]:
        return partial(Request, STORED, key, ignore_answer, spoils)

    found: list[tuple[float, Callable[[], Request], str]] = [
        (public, stored("home", ANYTHING), ""),
        (public, stored("categories", ANYTHING), ""),
        (public, stored(FRONT, 1.0), "list"),
        (readers * news.sessions, partial(Request, THREAD, costs.session, ignore_answer), ""),
        (readers * news.files, partial(Request, THREAD, costs.asset, ignore_answer), ""),
        (news.votes / 60, partial(Request, VOTE, HOT, ignore_answer), "vote"),
    ]
    return [each for each in found if each[0] > 0]


def play(news: News, fleet: Fleet, *, costs: Costs = MEASURED, seconds: float = 2.0) -> Outcome:
    """Play a load, which comes at random and is shared out at random, for so long."""
    system, rng = System(fleet, costs, limits=True), random.Random("news")
    times: dict[str, list[float]] = {"list": [], "vote": [], "": []}
    simulation, asked = system.simulation, [0]

    def arrive(make: Callable[[], Request], name: str) -> None:
        began = simulation.now
        asked[0] += 1
        answer = partial(_note, times[name], began, simulation)
        rng.choice(system.workers).receive(make()._replace(answer=answer))

    for n, (rate, make, name) in enumerate(requests_of(news, costs)):
        simulation.start(open_loop(simulation, rate, random.Random(f"arrivals {n}"), partial(arrive, make, name)))
    simulation.run(seconds)
    return Outcome(
        requests=asked[0] / seconds,
        list_p99=1000 * _at(times["list"], 0.99), vote_p50=1000 * _at(times["vote"], 0.5),
        vote_p99=1000 * _at(times["vote"], 0.99), hosts_busy=system.hosts_busy(seconds),
        database_busy=system.database_busy(seconds), row_locked=system.database.held / seconds,
        made=sum(worker.made for worker in system.workers) / seconds,
        stored=sum(worker.stored for worker in system.workers) / seconds,
        flushes=system.database.flushes / seconds, late_locks=system.database.late_locks,
    )  # fmt: skip


def _note(times: list[float], began: float, simulation: Simulation) -> None:
    times.append(simulation.now - began)


def _at(times: list[float], share: float) -> float:
    return statistics.quantiles(times, n=1000)[round(share * 1000) - 1] if len(times) > 1 else 0.0


def is_carried(outcome: Outcome) -> bool:
    """Whether a load is answered in time, with something to spare, and without votes that give up a lock."""
    late = max(outcome.list_p99, outcome.vote_p99) > 1000 * ANSWERED_WITHIN
    return (
        not (late or outcome.late_locks) and max(outcome.hosts_busy, outcome.database_busy, outcome.row_locked) <= FULL
    )


def bearable(
    news: News, fleet: Fleet, *, costs: Costs = MEASURED, seconds: float = 1.0, steps: int = 3, ceiling: float = 1024
) -> float:
    """The largest multiple of a load that is carried, to a tenth; 0 where the hosts do not carry a sixteenth of it."""
    factor = 1.0
    if is_carried(play(news.times(factor), fleet, costs=costs, seconds=seconds)):
        while factor < ceiling and is_carried(play(news.times(2 * factor), fleet, costs=costs, seconds=seconds)):
            factor *= 2
    else:
        while not is_carried(play(news.times(factor), fleet, costs=costs, seconds=seconds)):
            factor /= 2
            if factor < 1 / 16:
                return 0.0
    step = factor / 2
    for _ in range(steps):
        if is_carried(play(news.times(factor + step), fleet, costs=costs, seconds=seconds)):
            factor += step
        step /= 2
    return factor
