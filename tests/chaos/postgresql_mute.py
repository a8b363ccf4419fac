"""PostgreSQL says nothing, or little by little: connections stay open, and only time tells."""

import time

from tests.chaos import Outcome, scenario
from tests.chaos.actors import everybody, reader, toggler
from tests.chaos.load import Answer, Load, Step, slowest, statuses, until_good
from tests.chaos.stage import Stage, stage

BOUND = 5.0  # seconds within which a request is answered, whatever the database does
LATE = 1.0  # seconds that a busy machine may add to that


def crowd(at: Stage) -> list[Step]:
    """More callers than the service has threads: writers, and readers with and without an account."""
    readers = [reader(at) for _ in range(4)]
    return [*everybody(at), *readers, *(toggler(at, person) for person in at.members[5:]), reader(at, at.members[0])]


def alive(at: Stage) -> Step:
    return lambda: at.ask("GET", "/healthz")


def ready(at: Stage) -> Step:
    return lambda: at.ask("GET", "/readyz")


def bounded(answers: list[Answer]) -> None:
    """Every caller had an answer of the service in time."""
    assert {answer.status for answer in answers} <= {200, 201, 204, 403, 404, 409, 503}, statuses(answers)
    assert slowest(answers) < BOUND + LATE, f"{slowest(answers):.1f} s for an answer"
    refused = [answer for answer in answers if answer.status == 503]
    assert {answer.type for answer in refused} <= {"application/problem+json"}


@scenario(
    "PostgreSQL falls mute under load",
    "503 within 5 s for readers and writers, /healthz 200, recovery by itself, nothing acknowledged lost",
    short={"times": 1, "seconds": 6.0},
    long={"times": 4, "seconds": 15.0},
)
def mute(times: int, seconds: float) -> Outcome:
    with stage("postgresql", proxied=True) as at:
        assert at.proxy is not None
        back = []
        with Load(crowd(at)) as load, Load([alive(at)], pause=0.1) as living:
            for _ in range(times):
                time.sleep(1)
                at.proxy.set("mute")
                time.sleep(seconds)
                assert ready(at)().status == 503
                at.proxy.set("pass")
                back.append(until_good(reader(at)))
        bounded(load.answers)
        assert {answer.status for answer in living.answers} == {200}
        at.settle()
        return Outcome(
            f"mute {times} x {seconds:.0f} s, {len(load.answers):,} requests of 17 callers",
            f"{statuses(load.answers)}; slowest {slowest(load.answers):.1f} s; "
            f"/healthz {len(living.answers)} x 200, slowest {slowest(living.answers):.1f} s; "
            f"good again after {max(back):.1f} s",
        )
