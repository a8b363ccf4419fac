"""Who is served together: those who come while the ones before are being served.

Nobody waits where nobody else is there. Under load those who wait share what costs each of them most when alone: a
thread that sleeps and wakes, a look at who calls, a transaction (ADR 13).
"""

import math
from typing import Generic, TypeVar

HOLD = 0.1  # seconds to wait at most for those that went before
PAUSE = 0.002  # seconds more, for a crowd that has been answered comes back
MOST = 50  # go together: each waits until the last has been begun, and takes some 30 kB meanwhile

T = TypeVar("T")


class Crowd(Generic[T]):
    """Gathers who comes, for one thread. All instants are by time.monotonic()."""

    def __init__(self) -> None:
        self._gathered: list[T] = []
        self._underway: list[T] = []
        self._held_until = 0.0

    def add(self, one: T) -> None:
        """One more has come."""
        self._gathered.append(one)

    def left(self, now: float) -> float:
        """Seconds until the next are to go; infinite where nobody waits."""
        return max(0.0, self._held_until - now) if self._gathered else math.inf

    def go(self, now: float, *, hold: bool) -> list[T]:
        """Those that are to be served now; nobody while they are held. They `hold` the next ones, or do not."""
        if not self._gathered or now < self._held_until:
            return []
        self._underway, self._gathered = self._gathered[:MOST], self._gathered[MOST:]
        self._held_until = now + HOLD if hold else 0.0
        return self._underway

    def have_served(self, those: list[T], now: float) -> None:
        """Some of `those` that went have been served."""
        if those is self._underway:
            crowded = len(those) > 1 or self._gathered
            self._underway, self._held_until = [], now + PAUSE if crowded else 0.0
