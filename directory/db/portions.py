"""Large work in transactions of many rows, each of which makes others wait for a fraction of a second."""

import time
from collections.abc import Callable

AT_ONCE = 1_000  # the most rows that one transaction writes, however fast that goes
FIRST = 20  # rows of the first portion
PORTION_SECONDS = 0.2  # for which a transaction may make others wait


class Doing:
    """What the running migration does, for the lines that `flask db upgrade` prints."""

    step, done, total = "", 0, 0

    @classmethod
    def begin(cls, step: str, total: int = 0) -> None:
        """Begin a step of so many rows; 0 if that is not known."""
        cls.step, cls.done, cls.total = step, 0, total

    @classmethod
    def line(cls) -> str:
        """The step, and how far it is."""
        return f"{cls.step}, {cls.done:,} of {cls.total:,}" if cls.total else cls.step


class Portions:
    """How many rows the next transaction writes: its time is bounded, and rows take very different times.

    It aims at half of PORTION_SECONDS, and at most doubles, because the next rows may be larger than the last ones.
    """

    def __init__(
        self, step: str, total: int = 0, clock: Callable[[], float] = time.monotonic, *, first: int = FIRST
    ) -> None:
        self.size, self.clock = min(first, AT_ONCE), clock
        Doing.begin(step, total)

    def took(self, seconds: float, rows: int) -> None:
        """Note how long a portion of so many rows has taken."""
        Doing.done += rows
        factor = min(2.0, PORTION_SECONDS / 2 / max(seconds, 1e-6))
        self.size = max(1, min(AT_ONCE, int(max(rows, 1) * factor)))
