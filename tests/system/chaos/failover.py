"""PostgreSQL's primary fails and its standby takes its place, while people read, vote and decide."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import NullPool, create_engine, text

from tests.support import deliverers
from tests.support.ledger import check, entries
from tests.support.receiver import Receiver
from tests.support.replication import Pair
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody, publisher, watcher
from tests.system.chaos.load import LATE, Load, expect_good, statuses, until_good
from tests.system.chaos.stage import Person, Stage, live_project, stage
from tests.system.chaos.webhooks import QUICK

WITHIN = 5.0  # seconds from the promotion until every request is answered well
UNCONFIRMED = 6.0  # seconds in which commits wait for a standby that hears nothing; more than the deadline of a request


def kill(pair: Pair) -> None:
    pair.primary.kill()


def freeze(pair: Pair) -> None:
    """It holds its connections open and answers nothing."""
    pair.primary.pause()


def cut_off(pair: Pair) -> None:
    """The standby hears nothing for a while, and then the primary dies with all that it has committed alone."""
    assert pair.link is not None
    pair.link.set("mute")
    time.sleep(UNCONFIRMED)
    pair.primary.kill()


def promote(at: Stage) -> None:
    """Have the standby take the primary's place, and look at that from now on."""
    assert at.pair is not None
    at.pair.promote()
    at.url = at.pair.primary.url


FAULTS: dict[str, Callable[[Pair], None]] = {"killed": kill, "frozen": freeze, "cut off and killed": cut_off}


@scenario(
    "The primary of PostgreSQL fails under load, and its synchronous standby is promoted",
    "nothing acknowledged lost, no answer stale, every approval's webhook sent; 0 failed requests from 5 s after the "
    "promotion",
    short={"faults": ["frozen"], "within": 12.0, "after": 1.0},
    long={"faults": [*FAULTS, *FAULTS], "within": WITHIN, "after": 10.0},
)
def synchronous(faults: list[str], within: float, after: float) -> Outcome:
    back: list[float] = []
    with ExitStack() as stack:
        receiver = stack.enter_context(Receiver())
        at = stack.enter_context(
            stage("postgresql", replicated="synchronous", admins=4, WEBHOOK_URL=receiver.url, WEB_CONCURRENCY=2)
        )
        stack.enter_context(deliverers.running(at.settings, *QUICK))
        observer = watcher(at, at.members[6], live_project(at, at.members[5], "watched"))
        approver = publisher(at, at.members[5], at.admins.pop())  # whom no other administrator demotes
        with Load([*everybody(at), observer, approver]) as load:
            for number, fault in enumerate(faults):
                back.append(_failover(at, load, fault, within, after))
                if number + 1 < len(faults):
                    at.pair.follow()  # type: ignore[union-attr]
        at.settle(late=True)
        _require_fresh(at)
        sent = _require_sent(at, receiver)
        return Outcome(
            f"{', '.join(faults)}; {len(load.answers):,} requests, {at.ledger.acknowledged():,} writes acknowledged",
            f"0 lost; the last failed request {max(back):.1f} s after the promotion; {sent} webhooks sent; "
            f"{statuses(load.answers)}",
        )


def _failover(at: Stage, load: Load, fault: str, within: float, after: float) -> float:
    """Break the primary and promote the standby; the seconds from the promotion to the last failure."""
    assert at.pair is not None
    time.sleep(1)
    FAULTS[fault](at.pair)
    time.sleep(0.5)
    promoted = time.monotonic()
    promote(at)
    until_good(lambda: at.ask("GET", "/api/auth/me", at.members[7]))
    time.sleep(max(0.0, promoted + within - time.monotonic()) + after)
    expect_good(load.since(promoted + within))
    failed = [answer.began + answer.seconds for answer in load.answers if not answer.good]
    return max(failed, default=promoted) - promoted


def _require_fresh(at: Stage) -> None:
    """What the public sees of each project is what the new primary holds. AssertionError where it is not."""
    with create_engine(at.url, poolclass=NullPool).connect() as connection:
        votes = dict(map(tuple, connection.execute(text("SELECT id, upvotes FROM projects WHERE status = 'live'"))))
    for project in at.projects:
        for _ in range(4):  # each process has a cache of its own
            shown = at.ask("GET", f"/api/projects/{project}").json["upvotes"]
            assert shown == votes[project], f"project {project} shows {shown} votes and has {votes[project]}"


def _require_sent(at: Stage, receiver: Receiver) -> int:
    """Wait until every notification was accepted by the receiver; how many. TimeoutError where one is not."""
    with create_engine(at.url, poolclass=NullPool).connect() as connection:
        noted = set(connection.scalars(text("SELECT webhook_id FROM deliveries")))
    receiver.wait(lambda _: noted <= receiver.accepted().keys(), 60)
    return len(noted)


@scenario(
    "The primary of PostgreSQL is killed, and a standby promoted that is half a second behind",
    "nothing lost but of that half second, no answer stale; good again within 5 s of the promotion",
    short={"rounds": 1},
    long={"rounds": 4},
)
def asynchronous(rounds: int) -> Outcome:
    back, doubtful, lost = [], 0, 0
    for _ in range(rounds):
        with stage("postgresql", replicated="asynchronous") as at:
            assert at.pair is not None
            assert at.pair.link is not None
            with Load(everybody(at)):
                time.sleep(2)
                behind = time.monotonic()
                at.pair.wait_for_standby()
                at.pair.link.set("mute")
                time.sleep(0.5)
            at.pair.primary.kill()
            promote(at)
            promoted = time.monotonic()
            until_good(lambda at=at: _vote(at, at.members[7]))
            back.append(time.monotonic() - promoted)
            assert back[-1] < WITHIN + LATE, f"{back[-1]:.1f} s"
            _require_fresh(at)
            doubtful += _doubt(at.ledger.path, at.folder / "doubted", behind)
            lost += len(check(at.ledger.path, at.url))
            assert (wrong := check(at.folder / "doubted", at.url)) == [], f"{len(wrong)} wrong: {wrong[:3]}"
    return Outcome(
        f"{rounds} failovers",
        f"{doubtful} writes acknowledged in the half seconds, {lost} differences by them, none by those before; good "
        f"again after {max(back):.1f} s",
    )


def _vote(at: Stage, by: Person) -> object:
    answer = at.ask("PUT", f"/api/projects/{at.projects[0]}/upvote", by)
    at.ledger.note("cast", answer.status, user=by.id, project=at.projects[0])
    return answer


def _doubt(ledger: Path, to: Path, since: float) -> int:
    """Copy a ledger with what was acknowledged since then as unknown; how much that is, without the last line."""
    noted = entries(ledger)
    changed = [{**entry, "reply": "unknown"} if entry["ended"] > since else entry for entry in noted[:-1]]
    to.write_text("".join(json.dumps(entry) + "\n" for entry in [*changed, noted[-1]]))
    return sum(entry != before for entry, before in zip(changed, noted, strict=False))
