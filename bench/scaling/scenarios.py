"""What is simulated: closed loops as the bench plays them, hosts under any load, and a front page in a day's news."""

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from bench.scaling.costs import MEASURED, Costs
from bench.scaling.database import Database
from bench.scaling.engine import Simulation, Station
from bench.scaling.load import ROW, STORED, VOTE, Links, Request, closed_loop, ignore_answer
from bench.scaling.worker import Worker

HOT = 1  # the project that everybody votes for
FRONT = "the first page"
CATEGORIES = 12
PROJECTS = 100_000


@dataclass(frozen=True)
class Rate:
    """What a closed loop came to: requests a second, mean milliseconds, busy processors, flushes a second."""

    requests: float
    milliseconds: float
    cores: float
    flushes: float


def pages() -> tuple[list[tuple[str, float]], list[float]]:
    """The pages of `mixed` as (key, probability that a vote spoils it), and their weights summed up (bench/load.py)."""
    numbers = [1 - 2**-1.3, *(n**-1.3 - (n + 1) ** -1.3 for n in range(2, 10)), 10**-1.3]
    shares = [(n + 1) ** -0.8 for n in range(CATEGORIES)]
    kinds = [("all", 0.5), *((f"category {n}", 0.5 * share / sum(shares)) for n, share in enumerate(shares))]
    keys, weights = [], []
    for sort, part, spoils in (("newest", 0.7, SPOILS_NEWEST), ("upvotes", 0.3, SPOILS_UPVOTES)):
        for place, kind in kinds:
            for number, weight in enumerate(numbers, 1):
                keys.append((f"{sort} {place} {number}", spoils))
                weights.append(part * kind * weight)
    return keys, list(accumulate(weights))


# Of pages by date what Zipf gives 20 of 100,000 projects, and ANYTHING; of pages by votes what makes one connection to
# `mixed` have as many pages made for a request as was measured: 0.086.
SPOILS_NEWEST, SPOILS_UPVOTES = 0.0012, 0.08


def drawn(operation: str, rng: random.Random) -> Callable[[], Request]:
    """A function that draws the requests of an operation of the bench."""
    keys, weights = pages()
    popular = list(accumulate((n + 1) ** -0.9 for n in range(PROJECTS)))

    def project() -> int:
        return rng.choices(range(PROJECTS), cum_weights=popular)[0]

    def page() -> Request:
        key, spoils = rng.choices(keys, cum_weights=weights)[0]
        return Request(STORED, key, ignore_answer, spoils)

    def one() -> Request:
        return Request(ROW, None, ignore_answer)

    def vote() -> Request:
        return Request(VOTE, project(), ignore_answer)

    def hot() -> Request:
        return Request(VOTE, HOT, ignore_answer)

    def front() -> Request:
        return Request(STORED, FRONT, ignore_answer, 1.0)

    made: dict[str, Callable[[], Request]] = {
        "list": front, "one": one, "vote": vote, "vote_hot": hot, "list_mix": page,
        "mixed": lambda: rng.choices([page, one, vote], [70, 20, 10])[0](),
        "news": lambda: hot() if rng.random() < 0.05 else front(),
    }  # fmt: skip
    return made[operation]


def bench(
    operation: str, processes: int, connections: int, *, milliseconds: float = 0.0, costs: Costs = MEASURED,
    seconds: float = 1.0, cores: int = 2,
) -> Rate:  # fmt: skip
    """The bench's run of an operation: clients, processes and PostgreSQL share the processors of one machine."""
    simulation = Simulation()
    machine = Station(simulation, cores)
    database = Database(simulation, costs, machine)
    links = Links(milliseconds / 1000, proxy=costs.proxy if milliseconds else 0.0)
    workers = [Worker(simulation, costs, database, machine, links, seed=f"worker {n}") for n in range(processes)]
    draw, times = drawn(operation, random.Random(f"7-{operation}")), list[float]()
    for n in range(connections):
        client = costs.client_vote if operation.startswith("vote") else costs.client
        simulation.start(closed_loop(simulation, workers[n % processes], draw, machine, client, times))
    simulation.run(WARM_UP)
    times.clear()
    busy, flushes = machine.busy, database.flushes
    simulation.run(WARM_UP + seconds)
    used = (machine.busy - busy) / seconds / cores
    return Rate(len(times) / seconds, 1000 * statistics.fmean(times), used, (database.flushes - flushes) / seconds)


WARM_UP = 0.3  # seconds
