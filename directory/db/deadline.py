"""The deadline of the current request: no wait for the database goes beyond it.

The deadline is an instant by time.monotonic(), held in a ContextVar. Code that has no deadline, such as a command,
may wait as long as it takes.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout

SECONDS = 4.4  # for the waits of one request; its response is promised within 5

_expires_at: ContextVar[float] = ContextVar("directory.deadline", default=math.inf)


def expires_at() -> float:
    """The current deadline; infinite where there is none."""
    return _expires_at.get()


def remaining(at_most: float) -> float:
    """The seconds until the current deadline, never negative and never more than `at_most`."""
    return min(at_most, max(0.0, _expires_at.get() - time.monotonic()))


def check() -> None:
    """Raise sqlalchemy.exc.TimeoutError where the deadline has passed.

    It is called before a statement is sent: the database could still execute a statement that its caller already
    takes for failed.
    """
    if time.monotonic() > _expires_at.get():
        raise PoolTimeout("the request has no time left")


def extend(seconds: float) -> None:
    """Give the current request so many seconds from now, for work that has to be one transaction and takes longer."""
    _expires_at.set(max(time.monotonic() + seconds, _expires_at.get()))


@contextmanager
def expiring_at(instant: float) -> Iterator[None]:
    """Set a deadline for the block. An earlier deadline that is already set stays."""
    token = _expires_at.set(min(instant, _expires_at.get()))
    try:
        yield
    finally:
        _expires_at.reset(token)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Set a deadline for the block, `seconds` from now. An earlier deadline that is already set stays."""
    with expiring_at(time.monotonic() + seconds):
        yield


@contextmanager
def for_request(waited: float = 0.0) -> Iterator[None]:
    """Set the deadline of a request that has already waited for so many seconds until a thread took it."""
    with within(SECONDS - waited):
        yield


class DeadlineMiddleware:
    """Gives each request of a WSGI application its deadline, unless the server has set an earlier one."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request. The application returns a complete body, and reads nothing from the database later."""
        with for_request():
            return self.app(environ, start_response)
