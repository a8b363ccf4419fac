"""SQLite: another process holds the lock, and the disk is full."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count

from tests.support.serving import ROOT
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody, reader, toggler
from tests.system.chaos.load import Answer, Load, Step, expect, expect_within, slowest, statuses, until_good
from tests.system.chaos.postgresql_mute import alive, bounded
from tests.system.chaos.stage import MAKING, Person, Stage, stage

HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def file(at: Stage) -> str:
    return at.url.removeprefix("sqlite:///")


@contextmanager
def holding(at: Stage) -> Iterator[None]:
    """Another process that has begun to write and does not end."""
    command = [sys.executable, "-c", HOLDER, file(at)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        assert process.stdin is not None
        process.stdin.close()


def integrity(at: Stage) -> str:
    """What SQLite says of its file: `ok`."""
    with closing(sqlite3.connect(file(at))) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def writer(at: Stage, by: Person) -> Step:
    """Submits rows that need more pages than are free in the file."""
    numbers = count(time.monotonic_ns())

    def step() -> Answer:
        body = {**MAKING, "url": f"https://example.org/full/{next(numbers)}", "description": "words " * 1600}
        answer = at.ask("POST", "/api/projects", by, body)
        at.ledger.note("submit", answer.status, project=answer.json["id"] if answer.status == 201 else None)
        return answer

    return step


@scenario(
    "Another process holds SQLite's lock for 3 s and for 10 s",
    "writers wait through the first, and get 503 within 5 s in the second; readers are answered within 1 s",
    short={"times": 1, "within": 2.0},
    long={"times": 2, "within": 1.0},
)
def locked(times: int, within: float) -> Outcome:
    with stage("sqlite") as at:
        waited, refused, reads = [], [], []
        for _ in range(times):
            with Load([reader(at), reader(at, at.members[7])]) as reading:
                with Load([toggler(at, at.members[0], 1)]) as short, holding(at):
                    time.sleep(3)
                time.sleep(0.5)
                with Load([toggler(at, one, seed) for seed, one in enumerate(at.members[:3])]) as long, holding(at):
                    time.sleep(10)
                assert until_good(toggler(at, at.members[0], 2)) < 5
            waited, refused, reads = waited + short.answers, refused + long.answers, reads + reading.answers
        expect(waited, 200)
        bounded(refused)
        assert sum(answer.status == 503 for answer in refused) >= 3 * times, statuses(refused)
        expect(reads, 200)
        expect_within(reads, within)  # a writer waits 3 s for the lock
        at.settle()
        return Outcome(
            f"{times} x 3 s and 10 s, 3 writers and 2 readers",
            f"3 s: {statuses(waited)}, slowest {slowest(waited):.1f} s; 10 s: {statuses(refused)}, slowest "
            f"{slowest(refused):.1f} s; reads {statuses(reads)}, slowest {slowest(reads):.2f} s",
        )


@scenario(
    "The disk is full",
    "writes that need space 503, reads 200 within 1 s, the file intact; with space again, writes without a restart",
    short={"times": 1, "seconds": 2.0, "within": 2.0},
    long={"times": 4, "seconds": 4.0, "within": 1.0},
)
def full(times: int, seconds: float, within: float) -> Outcome:
    with stage("sqlite", target="tests.support.filling:app", PAGES="{folder}/full") as at:
        switch, refused, reads = at.folder / "full", 0, []
        for _ in range(times):
            switch.touch()
            readers = [reader(at), reader(at, at.members[7]), alive(at)]
            with Load(readers) as reading, Load([*everybody(at), writer(at, at.members[6])]) as load:
                time.sleep(seconds)
            assert writer(at, at.members[6])().status == 503
            expect(reading.answers, 200)
            bounded(load.answers)
            refused, reads = refused + sum(a.status == 503 for a in load.answers), reads + reading.answers
            assert integrity(at) == "ok"
            switch.unlink()
            assert writer(at, at.members[6])().status == 201
        expect_within(reads, within)
        at.settle()
        return Outcome(
            f"{times} x {seconds:.0f} s",
            f"{refused} writes 503, {len(reads)} reads 200, slowest {slowest(reads):.2f} s, integrity ok, then 201",
        )
