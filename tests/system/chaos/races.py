"""Callers of the service against each other, at full speed."""

import time
from itertools import cycle, islice

from tests.support import servers
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import author, moderator, reader, toggler
from tests.system.chaos.load import Answer, Load, expect, expect_good, slowest, statuses
from tests.system.chaos.stage import Stage, stage

BOTH = ("sqlite", "postgresql")


def deadlocks(at: Stage) -> int:
    """How many the database has had to break."""
    if at.server is None:
        return 0
    with servers.connect(at.url) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'").fetchone()
        return int(row[0]) if row else 0


def done(per_database: dict[str, list[Answer]]) -> str:
    return ", ".join(f"{len(answers):,} requests on {kind}" for kind, answers in per_database.items())


def seen(per_database: dict[str, list[Answer]]) -> str:
    return "; ".join(f"{k}: {statuses(a)}, slowest {slowest(a):.1f} s" for k, a in per_database.items())


@scenario(
    "32 togglers on 8 accounts and 3 projects",
    "count = rows, votes = parity of the acknowledged toggles, 0 x 5xx",
    short={"seconds": 2.0},
    long={"seconds": 60.0},
)
def togglers(seconds: float) -> Outcome:
    answers = {}
    for kind in BOTH:
        with stage(kind) as at:
            at.projects[:] = at.projects[:3]
            people = islice(cycle(at.members), 32)
            with Load([toggler(at, person, seed) for seed, person in enumerate(people)], pause=0) as load:
                time.sleep(seconds)
            answers[kind] = load.answers
            expect(load.answers, 200)
            at.settle()
    return Outcome(f"{seconds:.0f} s each, {done(answers)}", f"drift 0, parity 0; {seen(answers)}")


@scenario(
    "16 togglers, 4 authors who delete, 3 moderators on the same projects",
    "no deadlock reaches a caller: 0 x 5xx; count = rows, no state skipped, one event per approval",
    short={"sqlite": 2.0, "postgresql": 2.0},
    long={"sqlite": 15.0, "postgresql": 60.0},  # with a single writer there is nothing to lock in two orders
)
def everything_at_once(**seconds: float) -> Outcome:
    answers, broken = {}, 0
    for kind in BOTH:
        with stage(kind) as at:
            made = at.projects  # what is submitted is voted for, decided about and deleted, all at once
            steps = [toggler(at, person, seed) for seed, person in enumerate(islice(cycle(at.members), 16))]
            steps += [author(at, person, made, 50 + seed) for seed, person in enumerate(at.members[:4])]
            steps += [moderator(at, person, made, 60 + seed) for seed, person in enumerate(at.admins)]
            with Load([*steps, reader(at)], pause=0) as load:
                time.sleep(seconds[kind])
            answers[kind] = load.answers
            broken += deadlocks(at)
            expect_good(load.answers)
            at.settle()
    times = ", ".join(f"{seconds[kind]:.0f} s on {kind}" for kind in BOTH)
    return Outcome(f"{times}, {done(answers)}", f"{broken} deadlocks in the database; {seen(answers)}")
