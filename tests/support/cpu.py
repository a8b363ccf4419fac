"""Bounds of CPU time, which does not depend on what else runs on the machine."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """AssertionError where the block takes as many seconds of this process's CPU time or more.

    No garbage is collected meanwhile: after thousands of tests that alone may take a second.
    """
    gc.disable()
    before = time.process_time()
    try:
        yield
        assert time.process_time() - before < seconds
    finally:
        gc.enable()
