"""Lets threads that need the same work at the same time share one run of it."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from directory.db import deadline

T = TypeVar("T")


class SingleFlight:
    """Runs work by key, for all callers that wait for it.

    A caller needs a run that began after it came, which sees all that was written before. So a caller that comes while
    a run is under way shares the next one. After half of the time until its deadline it runs the work itself.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._flights: dict[Hashable, _Flight] = {}

    def run(self, key: Hashable, work: Callable[[], T]) -> T:
        """The result of the work. Raises what it raises.

        After a run that raised or returned None, the next caller that waited runs the work again.
        """
        with self._guard:
            flight = self._flights.setdefault(key, _Flight())
            flight.callers, begun = flight.callers + 1, flight.begun
        holds_lock = flight.lock.acquire(timeout=deadline.remaining(deadline.SECONDS) / 2)
        try:
            if not holds_lock:
                return work()
            if flight.begun == begun or flight.result is None:
                flight.begun, flight.result = flight.begun + 1, None
                flight.result = work()
            return flight.result  # type: ignore[no-any-return]
        finally:
            if holds_lock:
                flight.lock.release()
            with self._guard:
                flight.callers -= 1
                if not flight.callers:
                    self._flights.pop(key, None)


@dataclass(slots=True)
class _Flight:
    """The runs of the work of one key."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    callers: int = 0
    begun: int = 0
    result: Any = None
