"""What is asked: requests, how far they travel, and clients that ask again or at random."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from bench.scaling.database import QUANTUM
from bench.scaling.engine import Signal, Simulation, Station, Task

STORED, ROW, VOTE, THREAD = range(4)  # how a request is served


class Request(NamedTuple):
    """What is asked, by whom, and since when.

    `subject` is of a vote the project, of a stored page its key, and of what a thread serves the seconds that it takes.
    `spoils` is the probability with which one vote makes the page invalid.
    """

    way: int
    subject: Any
    answer: Callable[[], None]
    spoils: float = 0.0


class Links(NamedTuple):
    """Seconds each way to PostgreSQL and to Redis, and of a processor for each message of a proxy between them."""

    database: float = 0.0
    redis: float = 0.0
    proxy: float = 0.0
    limits: bool = False  # whether votes are counted by Redis


class Receiver(Protocol):
    """What takes requests: a server process."""

    def receive(self, request: Request) -> None:
        """Take a request."""


def closed_loop(
    simulation: Simulation,
    worker: Receiver,
    draw: Callable[[], Request],
    cores: Station,
    seconds: float,
    times: list[float],
) -> Task:
    """A client that asks again as soon as it is answered, which takes it `seconds` of the processors `cores`.

    The length of each round goes to `times`.
    """
    answered = Signal(simulation)
    while True:
        began = simulation.now
        yield from cores.serve(seconds, QUANTUM)
        worker.receive(draw()._replace(answer=answered.fire))
        yield answered
        times.append(simulation.now - began)


def open_loop(simulation: Simulation, rate: float, rng: random.Random, arrive: Callable[[], None]) -> Task:
    """Arrivals at random: `rate` a second, each independent of the others."""
    while True:
        yield rng.expovariate(rate)
        arrive()


ignore_answer = partial(Signal.fire, Signal(Simulation()))  # for requests whose answers no client waits for
