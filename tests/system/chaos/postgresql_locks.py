"""Somebody else holds what the service needs, or its own callers hold it against each other."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.support import servers
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import reader, toggler
from tests.system.chaos.load import Load, expect, expect_within, slowest, statuses, until_good, waited
from tests.system.chaos.postgresql_mute import bounded, siege
from tests.system.chaos.stage import Stage, stage


@contextmanager
def holding(at: Stage, statement: str) -> Iterator[None]:
    """A transaction of another client that has run this statement and does not end."""
    with servers.connect(at.url) as connection, connection.transaction(force_rollback=True):
        connection.execute(statement.encode())
        yield


@scenario(
    "A project's row stays locked",
    "its voters get 503 within 5 s; the voters of other projects notice nothing, readers are answered within 1 s",
    short={"seconds": 5.0, "within": 2.0},
    long={"seconds": 12.0, "within": 1.0},
)
def row_locked(seconds: float, within: float) -> Outcome:
    with stage("postgresql") as at:
        held, free = at.projects[0], at.projects[1:]
        at.projects[:] = [held]
        voters = [toggler(at, person, seed) for seed, person in enumerate(at.members[:3])]
        with holding(at, f"SELECT 1 FROM projects WHERE id = {held} FOR UPDATE"):
            with Load(voters) as load, Load([reader(at), reader(at, at.members[7])]) as reading:
                began = time.monotonic()
                time.sleep(seconds)
            bounded(load.answers)
            assert all(answer.status == 503 for answer in load.answers if answer.began < began + seconds - 5)
            at.projects[:] = free
            assert toggler(at, at.members[6])().status == 200
        expect(reading.answers, 200)
        expect_within(reading.answers, within)
        at.projects[:] = [held]
        back = until_good(toggler(at, at.members[6]))
        at.settle()
        return Outcome(
            f"{seconds:.0f} s, 3 voters and 2 readers",
            f"votes {statuses(load.answers)}, slowest {slowest(load.answers):.1f} s; "
            f"reads {statuses(reading.answers)}, slowest {slowest(reading.answers):.1f} s; a vote after {back:.1f} s",
        )


@scenario(
    "A project's row stays locked while very many vote for it",
    "its voters get 503 within 5 s, most of them at once; each vote for another project 200 within 1 s",
    short={"voters": 60, "seconds": 6.0, "votes": 20, "within": 2.0},
    long={"voters": 60, "seconds": 12.0, "votes": 20, "within": 1.0},
)
def row_besieged(voters: int, seconds: float, votes: int, within: float) -> Outcome:
    with stage("postgresql") as at:
        held, free = at.projects[0], at.projects[1:]
        at.projects[:] = free
        elsewhere = toggler(at, at.members[7])
        besieging = replace(at, projects=[held])
        callers = [toggler(besieging, at.members[n % 7], n) for n in range(voters)]
        with holding(at, f"SELECT 1 FROM projects WHERE id = {held} FOR UPDATE"), Load(callers, pause=0.5) as load:
            ends = time.monotonic() + seconds
            answers = []
            for left in range(votes, 0, -1):
                answers.append(elsewhere())
                time.sleep(max(0.0, ends - time.monotonic()) / left)
        bounded(load.answers)
        refused = [answer for answer in load.answers if answer.began < ends - 5]
        expect(answers, 200)
        expect_within(answers, within)
        assert all(answer.status == 503 for answer in refused), statuses(refused)
        back = until_good(toggler(besieging, at.members[6]))
        at.settle()
        return Outcome(
            f"{seconds:.0f} s, {voters} voters, {votes} votes elsewhere",
            f"elsewhere {statuses(answers)}, slowest {slowest(answers):.2f} s; for the locked one "
            f"{statuses(load.answers)}, half within {waited(load.answers, 0.5):.2f} s, slowest "
            f"{slowest(load.answers):.1f} s; a vote after {back:.1f} s",
        )


@scenario(
    "A table stays locked and all callers wait for it",
    "503 within 5 s for readers and writers, /healthz 200; good at once when it is over",
    short={"seconds": 9.0},
    long={"seconds": 12.0},
)
def pile_up(seconds: float) -> Outcome:
    with stage("postgresql") as at:
        callers = [*(toggler(at, person) for person in at.members), *(reader(at, person) for person in at.members)]
        with siege(at, callers) as held:
            time.sleep(1)
            with holding(at, "LOCK TABLE projects IN ACCESS EXCLUSIVE MODE"):
                time.sleep(seconds)
            back = until_good(toggler(at, at.members[0], 9))
        at.settle()
        return Outcome(f"{seconds:.0f} s, {held.done()}", f"{held}; good again after {back:.1f} s")
