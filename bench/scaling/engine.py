"""A discrete-event simulation: generators that wait for time, for a place at a station, or for a signal.

A task is a generator. It yields seconds to let time pass, a Station to wait for one of its places, or a Signal to wait
until somebody fires it. Tasks that are due at one instant go on in the order in which they were started, so a run with
the same seed is the same run.
"""

import heapq
from collections import deque
from collections.abc import Callable, Generator
from random import Random
from typing import Any

Task = Generator[Any, None, None]


class Simulation:
    """The clock, in seconds, and what is due."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Task]] = []
        self._count = 0

    def start(self, task: Task, delay: float = 0.0) -> None:
        """Have a task begin, or go on, after a delay."""
        self._count += 1
        heapq.heappush(self._due, (self.now + delay, self._count, task))

    def after(self, delay: float, action: Callable[[], object]) -> None:
        """Do something after a delay."""
        self.start(_done(action), delay)

    def run(self, until: float) -> None:
        """Run everything that is due before an instant, at which the clock stands afterwards."""
        while self._due and self._due[0][0] <= until:
            self.now, _, task = heapq.heappop(self._due)
            self._advance(task)
        self.now = until

    def _advance(self, task: Task) -> None:
        """Let a task go on until it has to wait."""
        while True:
            try:
                wanted = next(task)
            except StopIteration:
                return
            if isinstance(wanted, int | float):
                self.start(task, wanted)
                return
            if not wanted.admit(task):
                return


def _done(action: Callable[[], object]) -> Task:
    action()
    yield from ()


class Station:
    """A number of places. `busy` is the seconds for which places were held.

    They are given out in the order of arrival, or with `rng` to any of those that wait.
    """

    def __init__(self, simulation: Simulation, places: int, rng: Random | None = None) -> None:
        self.places, self.busy, self._rng = places, 0.0, rng
        self._simulation, self._held = simulation, 0
        self._waiting: deque[Task] = deque()

    def admit(self, task: Task) -> bool:
        """Give a place to a task, or have it wait: whether it has one."""
        if self._held < self.places:
            self._held += 1
            return True
        self._waiting.append(task)
        return False

    def release(self) -> None:
        """Give a place back, to a task that waits for one."""
        if self._waiting:
            if self._rng is not None:
                self._waiting.rotate(-self._rng.randrange(len(self._waiting)))
            self._simulation.start(self._waiting.popleft())
        else:
            self._held -= 1

    def serve(self, seconds: float, slice_: float = 1.0) -> Task:
        """Hold a place for so long, in slices, between which others get their turn."""
        while seconds > 0:
            piece = min(seconds, slice_)
            yield self
            yield piece
            self.busy += piece
            self.release()
            seconds -= piece


class Signal:
    """Something that tasks wait for."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._waiting: list[Task] = []

    def admit(self, task: Task) -> bool:
        """Have a task wait."""
        self._waiting.append(task)
        return False

    def fire(self) -> None:
        """Let all that wait go on."""
        waiting, self._waiting = self._waiting, []
        for task in waiting:
            self._simulation.start(task)
