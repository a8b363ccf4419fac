"""Waiting for what other threads and processes bring about."""

import time
from collections.abc import Callable


def until(there: Callable[[], object], within: float = 30.0) -> None:
    """Wait until it is there. AssertionError where it is not `within` as many seconds."""
    give_up = time.monotonic() + within
    while not there():
        assert time.monotonic() < give_up
        time.sleep(0.005)
