"""Turns: costly work of which a process does one piece at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from directory.errors import Unavailable

WAIT = 4.0  # seconds


class Turns:
    """One piece of work is done and at most `waiting` others wait. Whoever waits holds a thread that serves others."""

    def __init__(self, waiting: int) -> None:
        self._present, self._one = threading.BoundedSemaphore(1 + waiting), threading.Lock()

    @contextmanager
    def turn(self, refusal: str) -> Iterator[None]:
        """Do the work of the block in its turn. Raises Unavailable at once where too many wait, or after WAIT."""
        if not self._present.acquire(blocking=False):
            raise Unavailable(refusal)
        try:
            if not self._one.acquire(timeout=WAIT):
                raise Unavailable(refusal)
            try:
                yield
            finally:
                self._one.release()
        finally:
            self._present.release()
