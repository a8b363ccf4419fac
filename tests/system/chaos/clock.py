"""The clock is put forward and back."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.system.chaos import Outcome, scenario
from tests.system.chaos.load import Answer
from tests.system.chaos.stage import Person, Stage, stage

HOUR = 3600
WINDOW = 4  # seconds
ALLOWED = 5


def burst(at: Stage, by: Person) -> Counter[int | None]:
    """More votes than the limit allows, at once."""
    return Counter(_vote(at, by).status for _ in range(ALLOWED + 3))


def _vote(at: Stage, by: Person) -> Answer:
    answer = at.ask("POST", f"/api/projects/{at.projects[0]}/upvote", by)
    at.ledger.note("toggle", answer.status, user=by.id, project=at.projects[0])
    return answer


def jumps(switch: Path, times: int) -> Iterator[int]:
    """An hour forward, back, and back again, as often; the clock is right in the end."""
    for _ in range(times):
        for offset in (HOUR, 0, -HOUR, 0):
            switch.write_text(str(offset))
            yield offset


@scenario(
    "The clock jumps by an hour, forward and back",
    "sessions live on, limits hold and are free again after their window, lists and votes go on",
    short={"times": 1},
    long={"times": 2},
)
def jumping(times: int) -> Outcome:
    limits = {"RATELIMIT_ENABLED": "true", "RATELIMIT_WRITE": "", "RATELIMIT_SUBMISSION": "", "RATELIMIT_AUTH": ""}
    voting = {"RATELIMIT_VOTING": f"{ALLOWED} per {WINDOW} seconds"}
    with stage(
        "sqlite", target="tests.support.app_with_wrong_clock:app", SHIFT="{folder}/shift", **limits, **voting
    ) as at:
        switch = at.folder / "shift"
        jumped = bursts = 0
        for _ in jumps(switch, times):
            assert [burst(at, person)[429] > 0 for person in at.members[:3]] == [True] * 3
            time.sleep(WINDOW + 0.3)  # what the jump left behind may hold for one window, and no longer
            for person in at.members[:3]:
                counted = burst(at, person)
                assert counted == {200: ALLOWED, 429: 3}, f"after {jumped} jumps: {dict(counted)}"
                bursts += 1
            assert at.ask("GET", "/api/auth/me", at.members[7]).status == 200
            assert at.ask("GET", "/api/projects").status == 200
            jumped += 1
        at.settle()
        return Outcome(f"{jumped} jumps", f"{bursts} bursts: {ALLOWED} votes each and then 429; sessions alive")
