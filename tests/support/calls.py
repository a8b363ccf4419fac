"""Counts the calls of our own functions, for the test of docs/core.md and for bench/house.py."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.factories import Api, World

DIRECTORY = Path(__file__).parents[2] / "directory"
COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>"}


def called(work: Callable[[], Any]) -> Counter[str]:
    """The calls of our own functions in some work and its new threads, by file and name, without comprehensions."""
    counted: Counter[str] = Counter()
    own = f"{DIRECTORY}/"

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(own) and code.co_name not in COMPREHENSIONS:
            counted[f"{code.co_filename.removeprefix(own)}:{code.co_firstlineno} {code.co_qualname}"] += 1

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return counted


def of_request(caller: Api, method: str, path: str, body: Any = None) -> Counter[str]:
    """The calls in a request, which is not refused."""
    answers = list[Any]()
    counted = called(lambda: answers.append(caller.call(method, path, body)))
    assert answers[0].status_code < 300, answers[0].text
    return counted


def submission(world: World, number: int) -> dict[str, Any]:
    """The body of a submission."""
    given = {"title": f"Path {number}", "url": f"https://example.com/{number}", "description": "Short."}
    return given | {"tagline": "A way through the house", "category": world.category(), "tags": ["walk"]}
