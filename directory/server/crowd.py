"""Who is served together: those who come while the ones before are being served.

Nobody waits where nobody else is there. Under load those who wait share what costs each of them most when alone: a
thread that sleeps and wakes, a look at who calls, a transaction (ADR 13).
"""

import math
import sys
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
        self._enough = MOST  # to go before that
        self._holds = False

    def add(self, one: T) -> None:
        """One more has come."""
        self._gathered.append(one)

    def left(self, now: float) -> float:
        """Seconds until the next are to go; infinite where nobody waits."""
        if not self._gathered:
            return math.inf
        return 0.0 if len(self._gathered) >= self._enough else max(0.0, self._held_until - now)

    def go(self, now: float, *, hold: bool) -> list[T]:
        """Those that are to be served now; nobody while they are held. They `hold` the next ones, or do not."""
        if self.left(now) > 0:
            return []
        self._underway, self._gathered = self._gathered[:MOST], self._gathered[MOST:]
        self._holds, self._held_until, self._enough = hold, now + HOLD if hold else 0.0, sys.maxsize
        return self._underway

    def disperse(self) -> None:
        """Those that went last are served each for himself: nobody waits for them."""
        self._underway, self._held_until = [], 0.0

    def have_served(self, those: list[T], now: float) -> None:
        """Those that went have been served. When as many are there again as were before, nobody else is waited for."""
        if those is self._underway:
            self._enough = min(MOST, len(those) + len(self._gathered))
            self._held_until = now + PAUSE if self._holds and self._enough > 1 else 0.0
            self._underway = []
