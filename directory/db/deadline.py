"""The deadline of the current request: no wait for the database continues after it.

The deadline is a time of time.monotonic() in a ContextVar. Code without a deadline, such as a command, may wait
forever.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout

SECONDS = 4.4  # for the waits of one request; we promise its response within 5

_expires_at: ContextVar[float] = ContextVar("directory.deadline", default=math.inf)


def expires_at() -> float:
    """The current deadline; infinite without one."""
    return _expires_at.get()


def remaining(at_most: float) -> float:
    """The seconds until the current deadline, never negative and never more than `at_most`."""
    return min(at_most, max(0.0, _expires_at.get() - time.monotonic()))


def check() -> None:
    """Raise sqlalchemy.exc.TimeoutError if the deadline has passed.

    Call it before a statement is sent: otherwise the database could execute a statement after its caller has reported
    a failure.
    """
    if time.monotonic() > _expires_at.get():
        raise PoolTimeout("the request has no time left")


def extend(seconds: float) -> None:
    """Extend the current request's deadline to `seconds` from now, for a transaction that takes longer."""
    _expires_at.set(max(time.monotonic() + seconds, _expires_at.get()))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Set a deadline for the block, `seconds` from now. An earlier deadline that is already set stays."""
    token = _expires_at.set(min(time.monotonic() + seconds, _expires_at.get()))
    try:
        yield
    finally:
        _expires_at.reset(token)


class DeadlineMiddleware:
    """Gives each request of a WSGI application its deadline, unless the server has set an earlier one."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request. The application returns a complete body, and reads nothing from the database later."""
        with within(SECONDS):
            return self.app(environ, start_response)
