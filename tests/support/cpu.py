"""Bounds of CPU time, which depend neither on what else runs on the machine nor on how fast the machine is."""

import gc
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

REFERENCE = 0.012  # seconds of CPU that the work of `slowness` takes where the bounds were measured, on a quiet machine
ZEROS = zlib.compress(bytes(2**22), 1)
BYTES = bytes(number * 7919 % 251 for number in range(2**16)) * 4


def slowness() -> float:
    """How many times `REFERENCE` a piece of work takes now, at least 1: of memory, of compression and of Python.

    The quicker of two tries counts, so that one slow moment does not widen a bound.
    """
    return max(1, min(_worked(), _worked()) / REFERENCE)


def _worked() -> float:
    before = time.process_time()
    zlib.decompress(ZEROS)
    zlib.compress(BYTES, 6)
    sum(number % 7 for number in range(60_000))
    return time.process_time() - before


@contextmanager
def at_most(seconds: float, what: str = "") -> Iterator[None]:
    """AssertionError where the block takes as many seconds of this process's CPU time or more.

    Where the machine is slow before or after the block, so many times the bound is allowed. No garbage is collected
    meanwhile: after thousands of tests that alone may take a second.
    """
    gc.disable()
    slow = slowness()
    before = time.process_time()
    try:
        yield
        spent = time.process_time() - before
        slow = max(slow, slowness())
        assert spent < seconds * slow, f"{what} {spent:.2f} s on a machine that is {slow:.1f} times as slow"
    finally:
        gc.enable()
