"""Promises about faults, each with the scenario that tries to break it.

A scenario is a function of its size that injects a fault into the real service and returns what it did and saw; it
raises AssertionError where the promise is broken. The suite runs them short (`tests/system/test_chaos.py`), but for one
that needs the code of a release, and `make chaos` runs all of them long and prints the table (`python -m
tests.system.chaos`). A module of this package is found, and so is `chaos.py` among the tests of an extra.

What the suite proves at full size is not repeated here: a Redis that is not there at the start
(`test_rate_limits_redis`), the schedule of tries by a clock that is set (`test_webhooks_leases`,
`test_webhooks_deliverer`), certificates and what is read of an answer (`test_webhooks_sending`), stories of callers who
click twice (`test_stateful`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

from tests.support import extras


class Outcome(NamedTuple):
    """What was done (kills, seconds, requests) and what was seen, in words for the table."""

    done: str
    seen: str


Play = Callable[..., Outcome]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A fault, what is promised for it, and the sizes that it is played in: arguments of `play`.

    One that needs more than a clone has, or minutes, is not `in_suite`.
    """

    name: str
    promise: str
    play: Play
    short: dict[str, Any]
    long: dict[str, Any]
    in_suite: bool = True


SCENARIOS: list[Scenario] = []


def scenario(
    name: str, promise: str, *, short: dict[str, Any], long: dict[str, Any], in_suite: bool = True
) -> Callable[[Play], Play]:
    """Add a function to the scenarios."""

    def register(play: Play) -> Play:
        SCENARIOS.append(Scenario(name, promise, play, short, long, in_suite))
        return play

    return register


def scenarios() -> list[Scenario]:
    """All of them, in the order of the modules' names and of their places there."""
    for module in iter_modules(__path__, f"{__name__}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in extras.ON:
        if (extras.FOLDER / name / "chaos.py").exists():
            import_module(f"tests.extras.{name}.chaos")
    return sorted(SCENARIOS, key=lambda one: one.play.__module__)
