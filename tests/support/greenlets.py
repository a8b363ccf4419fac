"""Pieces of work done by one thread, as the server has it do several requests."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from flask import Flask

from directory.db import deadline
from directory.server.greenlet_batch import GreenletBatch
from directory.server.thread_pool import ThreadPool


@cache
def shared_pool() -> ThreadPool:
    """The threads that other work runs in, for tests that do not count them."""
    return ThreadPool(8)


def gather(
    app: Flask, *works: Callable[[], Any], seconds: list[float] | None = None, pool: ThreadPool | None = None
) -> list[Any]:
    """What each of them returns or raises, each asked in an application context of its own, in its `seconds`."""
    told: list[Any] = [None] * len(works)

    def piece(place: int) -> None:
        with app.app_context(), deadline.within(seconds[place] if seconds else 60):
            try:
                told[place] = works[place]()
            except BaseException as error:
                told[place] = error

    pieces = [partial(piece, place) for place in range(len(works))]
    for _ in GreenletBatch(pool or shared_pool()).run(pieces):
        pass
    return told
