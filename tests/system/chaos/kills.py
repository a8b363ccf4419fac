"""The service, or its database, ends by SIGKILL in the middle of what it does."""

import json
import random
import signal
import time
from collections.abc import Callable
from itertools import count

from sqlalchemy import create_engine, text

from tests.support.receiver import SECRET
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody, reader
from tests.system.chaos.load import REFUSED, Load, until_good
from tests.system.chaos.sqlite_trouble import integrity
from tests.system.chaos.stage import Stage, live_project, stage, submit


def done(at: Stage, kills: int, load: Load) -> str:
    """What was done, in words for the table."""
    return f"{kills} kills, {at.ledger.acknowledged():,} writes acknowledged, {cut_off(load):,} requests cut off"


def cut_off(load: Load) -> int:
    """How many requests the service had taken and did not answer."""
    return sum(answer.status is None and answer.type != REFUSED for answer in load.answers)


def killed_over_and_over(at: Stage, kills: int) -> Load:
    """Kill the service repeatedly while all members write, and compare the database with the ledger now and then."""
    chance = random.Random(kills)
    with Load(everybody(at), pause=0.002) as load:
        for number in range(kills):
            time.sleep(chance.uniform(0.05, 0.4))
            at.kill()
            at.start()
            if at.server is None and number % 10 == 0:
                assert integrity(at) == "ok"
    assert cut_off(load) >= kills, f"only {cut_off(load)} were under way at {kills} kills"
    at.settle()
    return load


@scenario(
    "kill -9 of the whole service in mid-write, on SQLite",
    "acknowledged writes present, integrity ok, count = rows, outbox complete",
    short={"kills": 3},
    long={"kills": 200},
)
def service_on_sqlite(kills: int) -> Outcome:
    with stage("sqlite") as at:
        load = killed_over_and_over(at, kills)
        at.kill()
        assert integrity(at) == "ok"
        at.settle()
        return Outcome(done(at, kills + 1, load), "integrity ok; nothing wrong by the ledger")


@scenario(
    "kill -9 of the whole service in mid-write, on PostgreSQL",
    "acknowledged writes present, count = rows, outbox complete",
    short={"kills": 2},
    long={"kills": 20},
)
def service_on_postgresql(kills: int) -> Outcome:
    with stage("postgresql") as at:
        load = killed_over_and_over(at, kills)
        return Outcome(done(at, kills, load), "nothing wrong by the ledger")


@scenario(
    "kill -9 of PostgreSQL in mid-write",
    "acknowledged writes present, count = rows, outbox complete; good again within 1 s of its recovery",
    short={"kills": 2},
    long={"kills": 15},
)
def postgresql(kills: int) -> Outcome:
    with stage("postgresql") as at:
        assert at.server is not None
        back = []
        with Load(everybody(at), pause=0.002) as load:
            for _ in range(kills):
                time.sleep(0.7)
                at.server.stop(signal.SIGKILL)
                at.server.start()
                back.append(until_good(reader(at, at.members[7])))
        at.settle()
        assert max(back) < 1, f"{max(back):.1f} s until it was good again"
        return Outcome(
            done(at, kills, load),
            f"nothing wrong by the ledger; good again after {max(back) * 1000:.0f} ms",
        )


EDITED = {
    "REVIEW_ON_EDIT": "material",
    "WEBHOOK_ENDPOINTS": json.dumps(
        [{"url": "http://127.0.0.1:9/hook", "secret": SECRET, "events": ["project.approved", "project.edited"]}]
    ),
}


@scenario(
    "kill -9 of the whole service between two statements of the approval of changes that wait",
    "the project is wholly as before or wholly changed; with an entry of the log and a notification, or without both",
    short={"step": 12},
    long={"step": 1},
)
def approval(step: int) -> Outcome:
    seen = []
    for kind in ("sqlite", "postgresql"):
        with stage(kind, target="tests.support.app_that_is_killed:app", DIES="{folder}/dies", **EDITED) as at:
            found = approved_until_no_kill(at, step, revised, is_changed)
            assert at.server is not None or integrity(at) == "ok"
            at.settle()
            assert set(found) == {False, True}
            seen.append(f"{kind}: {found.count(False)} as before, {found.count(True)} changed")
    return Outcome("killed at each moment of an approval" if step == 1 else "killed now and then", "; ".join(seen))


@scenario(
    "kill -9 of the whole service between two statements of an approval that is the last of two",
    "the project is pending with one approval and nothing else, or live with an entry of the log and one notification",
    short={"step": 12},
    long={"step": 1},
)
def last_of_two(step: int) -> Outcome:
    seen, settings = [], {**EDITED, "APPROVALS_REQUIRED": "2"}
    for kind in ("sqlite", "postgresql"):
        with stage(kind, target="tests.support.app_that_is_killed:app", DIES="{folder}/dies", **settings) as at:
            found = approved_until_no_kill(at, step, approved_once, is_published)
            assert at.server is not None or integrity(at) == "ok"
            assert set(found) == {False, True}
            seen.append(f"{kind}: {found.count(False)} as before, {found.count(True)} live")
    return Outcome("killed at each moment of an approval" if step == 1 else "killed now and then", "; ".join(seen))


def approved_once(at: Stage, number: int) -> int:
    """A pending project that one person has approved."""
    project = submit(at, at.members[0], f"approved/{number}")
    given = at.ask("PUT", f"/api/admin/projects/{project}/approve", at.admins[1])
    assert (given.status, given.json["status"]) == (200, "pending")
    return project


def is_published(at: Stage, project: int) -> bool:
    """Whether the last approval was made. AssertionError where some of it was done and some was not."""
    shown = at.ask("GET", f"/api/review/projects/{project}", at.admins[0]).json
    is_live = shown["status"] == "live"
    assert shown["approvals"] is None if is_live else len(shown["approvals"]["given"]) == 1
    for query, number in (
        ("SELECT count(*) FROM audit_entries WHERE project_id = :id AND action = 'project.approval_given'", 1),
        ("SELECT count(*) FROM audit_entries WHERE project_id = :id AND action = 'project.approved'", is_live),
        ("SELECT count(*) FROM deliveries WHERE project_id = :id AND event = 'project.approved'", is_live),
    ):
        assert counted(at, query, project) == number, query
    return is_live


def revised(at: Stage, number: int) -> int:
    """A live project whose changes wait."""
    project = live_project(at, at.members[0], f"revised/{number}")
    held = at.ask("PUT", f"/api/projects/{project}", at.members[0], {"title": "Changed"})
    assert held.json["revision"]["changes"] == {"title": "Changed"}
    return project


def approved_until_no_kill(
    at: Stage, step: int, make: Callable[[Stage, int], int], is_done: Callable[[Stage, int], bool]
) -> list[bool]:
    """Approve one project after the other, with a later kill each time; whether each approval was made."""
    found, switch = [], at.folder / "dies"
    for number in count(1, step):
        project = make(at, number)
        switch.write_text(str(number))
        answer = at.ask("PUT", f"/api/admin/projects/{project}/approve", at.admins[0])
        switch.unlink()
        if answer.status is None:
            at.kill()
            at.start()
        found.append(is_done(at, project))
        if answer.status is not None:
            assert answer.status == 200
            return found
    raise AssertionError("unreachable")


def is_changed(at: Stage, project: int) -> bool:
    """Whether the changes of a project were applied. AssertionError where some of it was done and some was not."""
    shown = at.ask("GET", f"/api/projects/{project}", at.members[0]).json
    is_new = shown["title"] == "Changed"
    assert shown["revision"] == (None if is_new else {**shown["revision"], "changes": {"title": "Changed"}})
    for query in (
        "SELECT count(*) FROM audit_entries WHERE project_id = :id AND action = 'project.edit_approved'",
        "SELECT count(*) FROM deliveries WHERE project_id = :id AND event = 'project.edited'",
    ):
        assert counted(at, query, project) == is_new, query
    return is_new


def counted(at: Stage, query: str, project: int) -> int:
    """A number that the database has about a project, past the service."""
    engine = create_engine(at.url)
    with engine.connect() as connection:
        number = connection.scalar(text(query), {"id": project})
    engine.dispose()
    return int(number or 0)
