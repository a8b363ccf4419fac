"""The clock is put forward and back."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import create_engine, text

from directory.services.deleting import FEW
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.load import Answer
from tests.system.chaos.stage import Person, Stage, stage

HOUR = 3600
YEARS = 400 * 24 * HOUR
WINDOW = 4  # seconds
ALLOWED = 5


def burst(at: Stage, by: Person) -> Counter[int | None]:
    """More votes than the limit allows, at once."""
    return Counter(_vote(at, by).status for _ in range(ALLOWED + 3))


def _vote(at: Stage, by: Person) -> Answer:
    answer = at.ask("POST", f"/api/projects/{at.projects[0]}/upvote", by)
    at.ledger.note("toggle", answer.status, user=by.id, project=at.projects[0])
    return answer


def jumps(switch: Path, times: int, far: int = HOUR) -> Iterator[int]:
    """So far forward, back, and back again, as often; the clock is right in the end."""
    for _ in range(times):
        for offset in (far, 0, -far, 0):
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


KEPT = ("sessions", "tokens", "audit_entries", "deliveries")


def rows_of(url: str) -> dict[str, int]:
    """How many rows each of the tables has from which housekeeping deletes what is old."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return {table: connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0 for table in KEPT}
    finally:
        engine.dispose()


@scenario(
    "The clock of a host jumps by 400 days while it deletes what is older than 30",
    "nothing is deleted; over PostgreSQL everybody stays signed in",
    short={"databases": ("postgresql",), "rounds": 1},
    long={"databases": ("postgresql", "sqlite"), "rounds": 10},
)
def far_away(databases: tuple[str, ...], rounds: int) -> Outcome:
    seen = []
    for database in databases:
        target = "tests.support.app_with_wrong_clock:app"
        with stage(database, target=target, SHIFT="{folder}/shift", AUDIT_RETENTION="30") as at:
            for state in ("unpublish", "approve") * (FEW // 2 + 1):
                assert at.ask("PUT", f"/api/admin/projects/{at.projects[0]}/{state}", at.admins[0], {}).status == 200
            before = rows_of(at.url)
            assert before["audit_entries"] > FEW, before
            for _ in jumps(at.folder / "shift", rounds, YEARS):
                time.sleep(1.5)  # housekeeping has its turn
                if database == "postgresql":
                    assert at.ask("GET", "/api/auth/me", at.members[7]).status == 200
                assert at.ask("GET", "/api/projects").status == 200
            after = rows_of(at.url)
            assert after == before, f"{database}: {before} before, {after} after"
            seen.append(f"{database}: {sum(after.values())} rows before and after")
    return Outcome(f"{4 * rounds} jumps on each database", "; ".join(seen))
