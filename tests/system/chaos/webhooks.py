"""Who delivers is killed, over and over, while approvals come in; and who receives misbehaves in every way."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
from flask import Flask
from sqlalchemy import select

from directory.extensions import db
from directory.models import Delivery, DeliveryAttempt
from tests.conftest import build
from tests.support import deliverers
from tests.support.outbox import endpoint, put, states
from tests.support.receiver import Answer, Receiver, drip, endless, flaky, hang, raw, reset, status
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.sqlite_trouble import integrity
from tests.system.chaos.stage import Stage, projects, stage

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
    short={"approvals": 30},
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


# What a receiver does, and the status that is noted of it, None where there is none.
WAYS: dict[str, tuple[Answer, int | None]] = {
    "fails": (status(500), 500),
    "hangs": (hang(), None),
    "drips": (drip(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", None), None),
    "resets": (reset(), None),
    "redirects": (status(302, Location="/elsewhere"), 302),
    "gone": (status(410), 410),
    "busy": (status(429, Retry_After="60"), 429),
    "gigabyte": (endless(), 200),
    "mumbles": (raw(b"220 ready\r\n"), None),
}

# In MB, of eight deliverers. The garbage collector and the allocator move some MB of each from turn to turn; deliverers
# that kept the answers would grow by hundreds.
MOST_GROWN = 128


def misbehave(webhook_id: str, _: int) -> Answer:
    """By the way that the id names; the stage's own notifications are taken."""
    return WAYS[webhook_id.partition("-")[0]][0] if "-" in webhook_id else status(200)


def memory() -> int:
    """The memory of all deliverers that no other process shares."""
    taken = 0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            taken += process.memory_full_info().uss if "tests.support.deliverers" in process.cmdline() else 0
    return taken


def tries(app: Flask) -> list[tuple[str, str, int | None, float]]:
    """Of each delivery that was tried: the way of its receiver, its state, the status, for how many seconds."""
    query = select(Delivery.webhook_id, Delivery.state, DeliveryAttempt.status, DeliveryAttempt.milliseconds)
    with app.app_context():
        found = db.session.execute(query.join(DeliveryAttempt).where(Delivery.webhook_id.contains("-"))).all()
    return [(name.partition("-")[0], state, code, milliseconds / 1000) for name, state, code, milliseconds in found]


@scenario(
    "Receivers fail, hang, drip, reset, redirect, are gone, are busy, send a gigabyte, speak no HTTP",
    "each try over within 15 s and noted for what it was, memory flat",
    short={"each": 1, "deadline": 2.0},
    long={"each": 4, "deadline": 15.0},
)
def receivers(each: int, deadline: float) -> Outcome:
    options = ("--count", 8, "--deadline", deadline, "--delay", 3600)
    with Receiver(misbehave) as receiver, stage("sqlite", WEBHOOK_URL=receiver.url) as at, watching(at) as app:
        with deliverers.running(at.settings, *options):
            first, then = (_sent(app, receiver, turn, each) for turn in ("first", "then"))
        found = tries(app)
    for way, state, code, seconds in found:
        expected = {200: "delivered", 410: "dead"}.get(WAYS[way][1] or 0, "pending")
        assert (state, code) == (expected, WAYS[way][1]), f"{way}: {state}, {code}"
        assert seconds < deadline + 1, f"{way}: {seconds:.1f} s"
    grown = (then - first) / 2**20
    assert grown < MOST_GROWN, f"{grown:.0f} MB more"
    longest = max(seconds for *_, seconds in found)
    return Outcome(
        f"twice {each} tries of each way, 8 deliverers",
        f"each as it should be, the longest {longest:.1f} s; {first / 2**20:.0f} MB, the second time {grown:+.0f} MB",
    )


def _sent(app: Flask, receiver: Receiver, turn: str, each: int) -> int:
    """Send so many to each kind of receiver; the most memory that it took."""
    ids = [f"{way}-{turn}-{number}" for number in range(each) for way in WAYS]
    with app.app_context():
        already = len(tries(app))
        for one in ids:
            put(endpoint(receiver.url), webhook_id=one)
    taken: list[int] = []
    receiver.wait(lambda _: taken.append(memory()) or len(tries(app)) == already + len(ids), 300)
    return max(taken)
