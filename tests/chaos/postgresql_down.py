"""PostgreSQL goes away and comes back."""

import time

from tests.chaos import Outcome, scenario
from tests.chaos.actors import everybody
from tests.chaos.load import Load, statuses
from tests.chaos.stage import stage


@scenario(
    "PostgreSQL restarts under load",
    "0 failed requests once it is up, nothing acknowledged lost",
    short={"restarts": 2},
    long={"restarts": 12},
)
def restarted(restarts: int) -> Outcome:
    with stage("postgresql") as at:
        assert at.server is not None
        failed = 0
        with Load(everybody(at)) as load:
            for _ in range(restarts):
                time.sleep(0.5)
                at.server.stop()
                at.server.start()
                up = time.monotonic()
                time.sleep(1)
                failed += sum(not answer.good for answer in load.since(up))
        assert failed == 0, f"{failed} requests failed after it was up: {statuses(load.answers)}"
        assert at.wrong() == []
        return Outcome(
            f"{restarts} restarts, {len(load.answers):,} requests", f"0 failed after; {statuses(load.answers)}"
        )
