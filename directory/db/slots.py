"""Slots: a request that waits for something other than the database lets another request work in the meantime.

A server lets as many requests work at a time as it has database connections; each of them holds a slot. Outside the
server there are no slots, and nothing here waits.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Slots(Protocol):
    """A provider of slots: the server's thread pool."""

    def acquire(self) -> None:
        """Wait for a slot, after the requests that already wait."""

    def release(self) -> bool:
        """Release a slot if possible, and return whether it was released."""


current: ContextVar[Slots | None] = ContextVar("directory.slots", default=None)


@contextmanager
def given_back() -> Iterator[None]:
    """Release the slot for the block, which hashes or waits for another server, and acquire one again afterwards.

    The caller must hold no database connection, or another request could lack one. If the slot cannot be released, the
    block keeps it.
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
