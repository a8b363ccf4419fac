"""Managed blocking: a request that waits for anything but the database lets another request work meanwhile.

A server lets as many requests work at a time as there are database connections: each of them holds a slot. Without a
server there are no slots, and nothing here waits.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Slots(Protocol):
    """A provider of slots: the server's thread pool."""

    def acquire(self) -> None:
        """Wait for a slot, behind the requests that wait already."""

    def release(self) -> bool:
        """Give a slot back, where that is possible: whether it is."""


current: ContextVar[Slots | None] = ContextVar("directory.slots", default=None)


@contextmanager
def given_back() -> Iterator[None]:
    """Give the slot back for the block, while it hashes or waits for another server, and take one again afterwards.

    The caller holds no database connection then, or another request could lack one. Where the slot cannot be given
    back, the block keeps it.
    """
    slots = current.get()
    if slots is None or not slots.release():
        yield
        return
    token = current.set(None)
    try:
        yield
    finally:
        current.reset(token)
        slots.acquire()
