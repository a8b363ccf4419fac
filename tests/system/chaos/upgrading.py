"""Two machines are upgraded from the release, by the steps of docs/operations.md, while people read and write."""

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from sqlalchemy import text

from tests.support import servers
from tests.support.ledger import Ledger
from tests.support.processes import free_port
from tests.support.serving import ROOT, Serving
from tests.support.variants import ENVIRONMENT
from tests.system.chaos import Outcome, released, scenario
from tests.system.chaos.load import REFUSED, Answer, Load, Step, call, expect, slowest, statuses
from tests.system.chaos.migrating import flask
from tests.system.chaos.released import connected, tell
from tests.system.chaos.stage import MAKING, WEBHOOK, Person, Stage, people

SETTINGS = {
    "APPEALS": "on", "APPROVALS_REQUIRED": "2", "CLAIM_MINUTES": "600", "REVIEW_ON_EDIT": "always",
    "MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "directory@example.org", "SITE_URL": "http://localhost",
}  # fmt: skip
READ_ONLY = {"READ_ONLY": "true", "WEBHOOK_WORKER": "false"}
AUTHORS = 4  # the last members: the projects of the writers are theirs, and no others
POOL = 150  # projects for each kind of decision
# What is found of the writes by their marks.
FOUND = {
    "submit": "SELECT url FROM projects WHERE url LIKE 'https://load%'",
    "vote": "SELECT user_id || ' for ' || project_id FROM upvotes WHERE user_id >= :author",
    "approve": "SELECT project_id FROM audit_entries WHERE action = 'project.approved' AND id > :logged",
    "ask": "SELECT text FROM messages WHERE kind = 'changes_requested' AND id > :written",
    "edit": (
        "SELECT changes -> 'title' ->> 'to' FROM audit_entries "
        "WHERE action IN ('project.edited', 'project.edit_held') AND id > :logged"
    ),
}
TOLD = "SELECT project_id FROM deliveries WHERE event = 'project.approved' AND endpoint <> 'mail' AND id > :queued"


class Machine:
    """A process of the service, at a port of its own, with the code of one version or the other."""

    def __init__(self, at: Stage) -> None:
        self.at, self.port = at, free_port()
        self.service: Serving | None = None

    def restart(self, root: Path, **settings: str) -> None:
        """End it in good order, if it runs, and start it with this code."""
        self.stop()
        given = {**self.at.settings, **settings, "PORT": str(self.port)}
        self.service = Serving(given, self.at.folder / f"{self.port}.log", root=root)
        self.service.wait_until_ready()
        self.expect_ready()

    def expect_ready(self) -> None:
        """AssertionError unless it says that it is."""
        answer = call(self.port, "GET", "/readyz")
        assert answer.status == 200, answer

    def stop(self) -> None:
        if self.service is not None and self.service.process.poll() is None:
            self.service.stop()


class Write(NamedTuple):
    """A write that was asked for, the mark by which it is found, and what was answered."""

    op: str
    mark: str
    answer: Answer

    @property
    def outcome(self) -> str:
        """Done, refused, or unknown if the answer does not say it. AssertionError for any other answer."""
        status, code = self.answer.status, (self.answer.json or {}).get("code")
        if status in {200, 201}:
            return "done"
        if code == "read_only" or self.answer.type == REFUSED:
            return "refused"
        assert status is None or code == "unavailable", self
        return "unknown"


class Traffic:
    """People who read and write by both machines, and what came of their writes."""

    def __init__(self, at: Stage, machines: list[Machine]) -> None:
        self.at, self.machines = at, machines
        self.writes: list[Write] = []
        self._numbers, self._turn = count(1), Lock()
        self.owner, author = at.members[-AUTHORS:][0], at.members[-AUTHORS].id
        self.live = [tell(at, self.owner, "live") for _ in range(3)]
        self.due = {"approve": "submit once", "ask": "submit"}
        self.pools = {op: [tell(at, self.owner, story) for _ in range(POOL)] for op, story in self.due.items()}
        newest = {"logged": "audit_entries", "written": "messages", "queued": "deliveries"}
        with connected(at) as connection:
            since = {name: connection.scalar(text(f"SELECT max(id) FROM {table}")) for name, table in newest.items()}
        self.since = {"author": author, **since}

    def ask(self, first: Machine, method: str, path: str, by: Person | None = None, body: Any = None) -> Answer:
        """A request through a proxy: what a machine does not take goes to the other, and a read that it ends too."""
        answer = call(first.port, method, path, by and by.token, body)
        if answer.type == REFUSED or (answer.status is None and method == "GET"):
            (other,) = (machine for machine in self.machines if machine is not first)
            return call(other.port, method, path, by and by.token, body)
        return answer

    def readers(self, theirs: range) -> list[Step]:
        """Two people at each machine, who read what everybody sees, what a member sees, and what reviewers see."""
        member, judge = self.at.members[0], self.at.admins[2]
        paths: list[tuple[str, Person | None]] = [
            ("/", None), ("/api/projects", None), ("/api/projects?q=thing", None), ("/api/projects?sort=upvotes", None),
            ("/api/projects?owner=me", member), ("/api/projects/counts?owner=me", member),
            ("/api/review/projects?waiting=true", judge), ("/api/review/projects?waiting_for=owner", judge),
            ("/api/review/summary", judge), ("/api/admin/analytics", judge),
            *((f"/api/review/projects/{project}", judge) for project in theirs),
        ]  # fmt: skip
        chance = random.Random(1)
        return [lambda on=machine: self.ask(on, "GET", *chance.choice(paths)) for machine in self.machines * 2]

    def writer(self, op: str) -> Step:
        """Writes by both machines in turns."""
        chance = random.Random(op)

        def step() -> Answer:
            with self._turn:
                number = next(self._numbers)
            chosen = chance.choice(self.pools.get(op, self.live))
            write = self._write(op, number, chosen)
            if op in self.pools and write.outcome != "refused":
                self.pools[op].remove(chosen)
            self.writes.append(write)
            return write.answer

        return step

    def _write(self, op: str, number: int, project: int) -> Write:
        machine, author = self.machines[number % 2], self.at.members[-1 - number % AUTHORS]
        path, judge = f"/api/projects/{project}", self.at.admins[1]
        decision = f"/api/admin/projects/{project}"
        url, words = f"https://load{number}.example.org/", f"Number {number}"
        mark, method, path, by, body = {
            "submit": (url, "POST", "/api/projects", author, {**MAKING, "url": url}),
            "vote": (f"{author.id} for {project}", "PUT", f"{path}/upvote", author, None),
            "approve": (str(project), "PUT", f"{decision}/approve", judge, None),
            "ask": (words, "PUT", f"{decision}/request-changes", judge, {"message": words}),
            "edit": (words, "PUT", path, self.owner, {"title": words}),
        }[op]
        return Write(op, mark, self.ask(machine, method, path, by, body))

    def settle(self) -> str:
        """Compare what was written with what callers were told, in words. AssertionError where that differs.

        What was done is there once, what was refused is not there.
        """
        outcomes: dict[tuple[str, str], set[str]] = {}
        for write in self.writes:
            outcomes.setdefault((write.op, write.mark), set()).add(write.outcome)
        with connected(self.at) as connection:
            found = {op: list(connection.scalars(text(query), self.since)) for op, query in FOUND.items()}
            told = list(connection.scalars(text(TOLD), self.since))
        assert sorted(told) == sorted(found["approve"]), "approvals and their notifications differ"
        times = Counter((op, str(mark)) for op, marks in found.items() for mark in marks)
        wrong = [
            f"{key} was {outcomes.get(key, 'not asked for')} and is there {times[key]} times"
            for key in outcomes.keys() | times.keys()
            if times[key] != ("done" in outcomes.get(key, ()))
            and not (times[key] == 1 and "unknown" in outcomes.get(key, ()))
        ]
        assert not wrong, f"{len(wrong)} wrong: {'; '.join(wrong[:3])}"
        counted = Counter(write.outcome for write in self.writes)
        return ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(counted.items()))

    def longest_pause(self, since: float = 0.0) -> float:
        """For how many seconds, at the longest, no write was done."""
        ends = (write.answer.began + write.answer.seconds for write in self.writes if write.outcome == "done")
        return max(later - earlier for earlier, later in pairwise(sorted(end for end in ends if end >= since)))


# Members of a project that the release does not have. Nothing is in them before somebody uses what they are for.
ADDED = {"repository", "dead_since", "picked", "links", "fields"}


class Seen(NamedTuple):
    """What is said of each project and of each list of the review, and each case; without those of the writers."""

    answers: dict[int, Any]
    queues: dict[str, list[int]]
    cases: dict[int, tuple[Any, ...]]

    def expect_in(self, after: "Seen") -> None:
        """AssertionError where something differs afterwards."""
        for name in self._fields:
            expect_same(getattr(self, name), getattr(after, name), name)


def expect_same(before: dict[Any, Any], after: dict[Any, Any], what: str) -> None:
    """AssertionError with the first entries that differ."""
    assert before, f"no {what}"
    wrong = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    shown = "; ".join(f"{key}: {before.get(key)} -> {after.get(key)}" for key in wrong[:2])
    assert not wrong, f"{len(wrong)} {what} differ: {shown}"


def seen(at: Stage, query: str, first: int) -> Seen:
    """What the service says now of projects with a case, and of all from an id on, and the cases by a query."""
    others = {member.id for member in at.members[-AUTHORS:]}
    answers = {
        number: {name: value for name, value in item.items() if value or name not in ADDED}
        for number, item in released.answers(at, first).items()
        if item["owner"]["id"] not in others
    }
    queues = {name: [each for each in ids if each in answers] for name, ids in released.queues(at).items()}
    return Seen(answers, queues, stored(at, query, answers))


def stored(at: Stage, query: str, among: dict[int, Any]) -> dict[int, tuple[Any, ...]]:
    """The rows of some projects."""
    with connected(at) as connection:
        return {number: row for number, row in released.rows(connection, query).items() if number in among}


def timed(work: Callable[[], None]) -> float:
    """For how many seconds it works."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


@contextmanager
def house(kind: str) -> Iterator[Stage]:
    """A stage without tables and without a service."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="directory-chaos-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        ledger = Ledger(folder / "ledger")
        stack.callback(ledger.close)
        at = Stage(folder, f"sqlite:///{folder / 'test.db'}", {}, ledger)
        if kind == "postgresql":
            at.url = stack.enter_context(servers.postgresql(synchronous_commit="on")).url
        at.settings = {**ENVIRONMENT, **WEBHOOK, **SETTINGS, "LOG_LEVEL": "ERROR", "DATABASE_URL": at.url}
        yield at


def furnish(at: Stage, machines: list[Machine], old: Path, projects: int, cases: int) -> range:
    """A directory of the release on both machines; the projects whose cases were told."""
    run = partial(flask, at, root=old)
    run("db", "upgrade")
    released.seed(at, run, projects, cases)
    people(at, 8 + AUTHORS, admins=3)
    for machine in machines:
        machine.restart(old)
    at.service = machines[0].service
    return released.fill(at, at.members[:-AUTHORS], cases, lambda: run("tidy", "--all"))


def play(at: Stage, machines: list[Machine], old: Path, told: range) -> str:
    """Upgrade, compare, go back and compare; what was seen, in words."""
    traffic, took = Traffic(at, machines), {}
    before = seen(at, released.READING, told[0])
    columns = stored(at, released.COLUMNS, before.answers)
    with Load(traffic.readers(told), pause=0.1) as reads, Load([traffic.writer(op) for op in FOUND], pause=0.25):
        time.sleep(1)
        for machine in machines:
            machine.restart(old, **READ_ONLY)
        took["head-1"] = timed(lambda: flask(at, "db", "upgrade", "head-1"))
        for machine in machines:
            machine.expect_ready()
        for machine in machines:
            machine.restart(ROOT)
            time.sleep(1)
        refused, dropping = traffic.longest_pause(), time.monotonic()
        took["head"] = timed(lambda: flask(at, "db", "upgrade"))
        time.sleep(1)
    expect(reads.answers, 200)
    writes, waited = traffic.settle(), traffic.longest_pause(dropping)
    flask(at, "recount", "--check")
    after = seen(at, released.CASES, told[0])
    before.expect_in(after)
    for machine in machines:
        machine.stop()
    took["downgrade"] = timed(lambda: flask(at, "db", "downgrade", "0065"))
    machines[0].restart(old)
    after._replace(cases=columns).expect_in(seen(at, released.COLUMNS, told[0]))
    flask(at, "recount", "--check", root=old)
    steps = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in took.items())
    return (
        f"{len(before.cases):,} cases, with {len(told):,} projects in {len(released.STORIES)} ways; {steps}; no write "
        f"done for {refused:.1f} s, and for {waited:.1f} s at the last migration; "
        f"reads {statuses(reads.answers)}, slowest {slowest(reads.answers):.1f} s; writes {writes}"
    )


@scenario(
    "Two machines are upgraded from 0.2.0 under load, by the steps of docs/operations.md, and go back",
    "0 failed reads; a write is done, or refused and left out; every case is as it was, before and after",
    short={"projects": 200, "cases": len(released.STORIES), "kinds": ("postgresql",)},
    long={"projects": 100_000, "cases": 5_000, "kinds": ("sqlite", "postgresql")},
    in_suite=False,
)
def upgraded(projects: int, cases: int, kinds: tuple[str, ...]) -> Outcome:
    found = []
    for kind in kinds:
        with house(kind) as at:
            old, machines = released.unpacked(at.folder), [Machine(at), Machine(at)]
            try:
                told = furnish(at, machines, old, projects, cases)
                found.append(f"{kind}: {play(at, machines, old, told)}")
            finally:
                for machine in machines:
                    machine.stop()
    return Outcome(f"{projects:,} projects and {cases:,} cases on each database", "; ".join(found))
