"""Pieces of work done by one thread, as the server has it do several requests."""

from collections.abc import Callable
from typing import Any

from flask import Flask

from directory.db import deadline
from directory.server import greenlets


def gather(app: Flask, *works: Callable[[], Any], seconds: list[float] | None = None) -> list[Any]:
    """What each of them returns or raises, each asked in an application context of its own, in its `seconds`."""
    told: list[Any] = [None] * len(works)

    def piece(place: int) -> None:
        with app.app_context(), deadline.within(seconds[place] if seconds else 60):
            try:
                told[place] = works[place]()
            except BaseException as error:
                told[place] = error

    for _ in greenlets.run([lambda place=place: piece(place) for place in range(len(works))]):  # type: ignore[misc]
        pass
    return told
