"""Who delivers is killed, over and over, while approvals come in."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask

from directory.extensions import db
from tests import deliverers
from tests.chaos import Outcome, scenario
from tests.chaos.sqlite_trouble import integrity
from tests.chaos.stage import Stage, projects, stage
from tests.conftest import build
from tests.outbox import states
from tests.receiver import Receiver, flaky

QUICK = ("--deadline", 2.5, "--slack", 1, "--delay", 0.2)  # so that what a killed one held is tried again soon


@contextmanager
def watching(at: Stage) -> Iterator[Flask]:
    """An application that looks at the stage's database."""
    app = build(at.url)
    yield app
    with app.app_context():
        db.engine.dispose()


@scenario(
    "kill -9 of webhook deliverers in a loop, a receiver that fails now and then",
    "every approval is told, with a good signature; at most as many told twice as there were kills",
    short={"approvals": 60},
    long={"approvals": 400},
)
def deliverers_killed(approvals: int) -> Outcome:
    seen, kills = [], 0
    for kind in ("sqlite", "postgresql"):
        with Receiver(flaky(0.15, seconds=0.04)) as receiver, stage(kind, WEBHOOK_URL=receiver.url) as at:
            with deliverers.running(at.settings, "--kill-every", 0.2, *QUICK) as fleet, watching(at) as app:
                projects(at, approvals)
                delivered = {"delivered": len(at.projects)}
                receiver.wait(lambda _, app=app, delivered=delivered: states(app) == delivered, 300)
            told = {request.verified()["data"]["project"]["id"] for request in receiver.received}
            accepted = receiver.accepted()
            assert told == set(at.projects), f"{len(set(at.projects) - told)} lost"
            twice = accepted.total() - len(accepted)
            assert twice <= fleet.kills, f"{twice} repeated, {fleet.kills} kills"
            assert at.server is not None or integrity(at) == "ok"
            at.settle()
            kills += fleet.kills
            failures = sum(request.answered == 500 for request in receiver.received)
            seen.append(f"{kind}: 0 of {len(told)} lost, {twice} told twice, {failures} x 500")
    assert kills
    return Outcome(f"{approvals} approvals on each database, {kills} kills", "; ".join(seen))
