"""PgBouncer, in transaction mode between the service and PostgreSQL, ends and comes back."""

import signal
import time

from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody, watcher
from tests.system.chaos.load import Load, statuses, until_good
from tests.system.chaos.stage import live_project, stage


@scenario(
    "PgBouncer restarts under load, by SIGTERM and by SIGKILL",
    "0 failed requests once one was answered after it, nothing acknowledged lost, no answer stale",
    short={"restarts": 1},
    long={"restarts": 12},
)
def restarted(restarts: int) -> Outcome:
    with stage("postgresql", pooled=True) as at:
        assert at.pooler is not None
        watched = live_project(at, at.members[6], "watched")
        observer = watcher(at, at.members[7], watched)
        failed, back = 0, []
        with Load([*everybody(at), observer]) as load:
            for number in range(restarts):
                time.sleep(0.7)
                at.pooler.stop(signal.SIGKILL if number % 2 else signal.SIGTERM)
                at.pooler.start()
                back.append(until_good(lambda: at.ask("GET", "/api/auth/me", at.members[0])))
                good = time.monotonic()
                time.sleep(1)
                failed += sum(not answer.good for answer in load.since(good))
        assert failed == 0, f"{failed} requests failed after it was up: {statuses(load.answers)}"
        at.settle(late=True)  # a statement that PostgreSQL had when PgBouncer ended may be done after that
        return Outcome(
            f"{restarts} restarts, {len(load.answers):,} requests, {at.ledger.acknowledged():,} writes acknowledged",
            f"0 failed after; good again after {max(back) * 1000:.0f} ms; {statuses(load.answers)}",
        )
