"""The outcomes that callers got, line by line, and whether the database agrees: a ledger after the manner of Jepsen.

Edits are noted where REVIEW_ON_EDIT is never: there a live project has the title that was sent.
Whoever puts load on the service notes every write with what was answered, `unknown` where nothing or a 5xx came (it
may have been done or not). When the faults are over, `check` names everything that the database has otherwise.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, NullPool, create_engine, text

# From and to, by the action in the audit log; a submission comes from nothing, a deletion leads there.
EDGES = {
    "project.submitted": {(None, "pending")},
    "project.edited": {(s, s) for s in ("pending", "live", "rejected")} | {("rejected", "pending")},
    "project.approved": {("pending", "live")},
    "project.rejected": {("pending", "rejected")},
    "project.unpublished": {("live", "pending")},
    "project.deleted": {(s, None) for s in ("pending", "live", "rejected")},
    "project.edit_held": {("live", "live")},
    "project.edit_approved": {("live", "live")},
}
DECISIONS = {"approve": "project.approved", "reject": "project.rejected", "unpublish": "project.unpublished"}
# What a project is after it; of an edit its caller is told, and one that was not answered may send it to review.
STATES = {"submit": "pending", "approve": "live", "reject": "rejected", "unpublish": "pending", "edit": "pending"}


class Ledger:
    """A file of what was asked and answered; each line is on its way to the disk before the next request is made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a")
        self._turn = Lock()

    def note(self, op: str, status: int | None, *, began: float | None = None, **args: Any) -> None:
        """Add a line: toggle, cast, withdraw (user, project), submit, edit, delete, approve, reject, unpublish.

        The last six are of a project. A submission and an edit have a `title`, an edit also the `state` that its
        caller was told of. `began` is when it was asked, by time.monotonic(); without it nothing else was meanwhile.
        """
        reply = "unknown" if status is None or status >= 500 else status
        with self._turn:
            ended = time.monotonic()
            line = {"op": op, **args, "reply": reply, "began": ended if began is None else began, "ended": ended}
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()

    def acknowledged(self) -> int:
        """How many writes were done, as their callers were told."""
        return sum(_good(entry) for entry in entries(self.path))

    def close(self) -> None:
        self._file.close()


def entries(path: Path) -> list[dict[str, Any]]:
    """The lines of a ledger."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(path: Path, url: str, *, late: bool = False) -> list[str]:
    """What is wrong in the database at `url`, by itself and by the ledger; nothing where all is well.

    `late` where what was unknown may have been done after what was acknowledged next: a frozen server does what it had
    been sent before when it thaws, whoever has given up on it.
    """
    noted = entries(path)
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return [
            *_counts(connection), *_edges(connection), *_outbox(connection), *_admins(connection),
            *_votes(connection, noted, late), *_projects(connection, noted), *_decisions(connection, noted),
            *_states(connection, noted, late), *_titles(connection, noted, late),
        ]  # fmt: skip


def _rows(connection: Connection, query: str) -> list[Any]:
    return [tuple(row) for row in connection.execute(text(query))]


def _counts(connection: Connection) -> Iterator[str]:
    """The count of every project equals its votes."""
    query = "SELECT id, upvotes, (SELECT count(*) FROM upvotes WHERE project_id = projects.id) FROM projects"
    for project, count, rows in _rows(connection, query):
        if count != rows:
            yield f"project {project} counts {count} votes and has {rows}"


def _edges(connection: Connection) -> Iterator[str]:
    """Every change of state is an allowed one, begins where the one before it ended, and the last one holds."""
    query = "SELECT project_id, action, from_state, to_state FROM audit_entries WHERE project_id > 0 ORDER BY id"
    states: dict[int, str | None] = {}
    for project, action, source, target in _rows(connection, query):
        if (source, target) not in EDGES[action] or states.get(project) != source:
            yield f"project {project} was {states.get(project)} and {action} took it from {source} to {target}"
        states[project] = target
    stored = dict(_rows(connection, "SELECT id, status FROM projects"))
    for project, state in states.items():
        if stored.get(project) != state:
            yield f"project {project} is {stored.get(project)}, by the audit log {state}"
    yield from (f"project {project} is not in the audit log" for project in stored.keys() - states.keys())


def _outbox(connection: Connection) -> Iterator[str]:
    """Of every approval there is one notification."""
    one = "SELECT project_id, count(*) FROM {} = 'project.approved' GROUP BY project_id"
    approved = dict(_rows(connection, one.format("audit_entries WHERE action")))
    told = dict(_rows(connection, one.format("deliveries WHERE event")))
    for project in sorted(approved.keys() | told.keys()):
        if approved.get(project) != told.get(project):
            yield f"project {project} has {approved.get(project, 0)} approvals and {told.get(project, 0)} events"


def _admins(connection: Connection) -> Iterator[str]:
    """There is an active administrator, and no account changed another after it was demoted or suspended."""
    query = "SELECT count(*) FROM users WHERE role = 'admin' AND status = 'active'"
    if _rows(connection, query) == [(0,)]:
        yield "there is no active administrator"
    log = "SELECT actor_id, user_id, action, to_state FROM audit_entries WHERE action LIKE 'user.%changed' ORDER BY id"
    lost: dict[int, set[str]] = defaultdict(set)
    for actor, user, action, target in _rows(connection, log):
        if lost[actor] and actor != user:
            yield f"user {actor} made user {user} {target} after having lost that power"
        (lost[user].discard if target in {"admin", "active"} else lost[user].add)(action)


def _votes(connection: Connection, entries: list[dict[str, Any]], late: bool) -> Iterator[str]:
    """A vote is there by the parity of its acknowledged toggles; an unknown one may have changed that or not.

    Setting and clearing settle what was unknown before; no other caller may act for the same user meanwhile.
    """
    possible: dict[tuple[int, int], set[bool]] = defaultdict(lambda: {False})
    doubtful: set[tuple[int, int]] = set()
    after = {"toggle": lambda was: not was, "cast": lambda _: True, "withdraw": lambda _: False}
    for entry in entries:
        if entry["op"] not in after or entry["reply"] not in {200, "unknown"}:
            continue
        pair = (entry["user"], entry["project"])
        now = {after[entry["op"]](was) for was in possible[pair]}
        possible[pair] = now if entry["reply"] == 200 else now | possible[pair]
        if late and entry["reply"] == "unknown":
            doubtful.add(pair)
    votes = set(_rows(connection, "SELECT user_id, project_id FROM upvotes"))
    alive = {row[0] for row in _rows(connection, "SELECT id FROM projects")}
    for (user, project), allowed in possible.items():
        if project in alive and (user, project) not in doubtful and ((user, project) in votes) not in allowed:
            yield f"user {user} was told {'to have' if True in allowed else 'not to have'} a vote for {project}"
    yield from (f"user {user} never voted for {project}" for user, project in sorted(votes - possible.keys()))


def _projects(connection: Connection, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Acknowledged submissions are there, and acknowledged deletions are gone."""
    alive = {row[0] for row in _rows(connection, "SELECT id FROM projects")}
    deletions = [entry for entry in entries if entry["op"] == "delete" and entry["reply"] in {204, "unknown"}]
    perhaps = {entry["project"] for entry in deletions}
    gone = {entry["project"] for entry in deletions if entry["reply"] == 204}
    made = {entry["project"] for entry in entries if entry["op"] == "submit" and entry["reply"] == 201}
    yield from (f"project {project} was acknowledged and is not there" for project in sorted(made - alive - perhaps))
    yield from (f"project {project} was deleted and is there" for project in sorted(gone & alive))


def _decisions(connection: Connection, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Acknowledged decisions are in the audit log, each unpublishing by a line of its own.

    To approve (or reject) what is approved already is acknowledged too, and changes nothing.
    """
    log = Counter(_rows(connection, "SELECT action, project_id FROM audit_entries"))
    told = Counter((entry["op"], entry["project"]) for entry in entries if entry["op"] in DECISIONS and _good(entry))
    for (op, project), times in told.items():
        happened = log[DECISIONS[op], project]
        if not happened:
            yield f"project {project}: {op} was acknowledged and never happened"
        elif op == "unpublish" and happened < times:
            yield f"project {project}: {op} was acknowledged {times} times and happened {happened} times"


def _states(connection: Connection, entries: list[dict[str, Any]], late: bool) -> Iterator[str]:
    """A project is what the last of the decisions about it (or edits of it) has made of it."""
    stored = dict(_rows(connection, "SELECT id, status FROM projects"))
    for project, noted in _by_project(entries, STATES).items():
        allowed = {entry.get("state") or STATES[entry["op"]] for entry in _last(noted, late)}
        if project in stored and stored[project] not in allowed:
            told = " or ".join(sorted(allowed))
            yield f"project {project} is {stored[project]}, by what was acknowledged {told}"


def _titles(connection: Connection, entries: list[dict[str, Any]], late: bool) -> Iterator[str]:
    """A project has the title that it was given last."""
    stored = dict(_rows(connection, "SELECT id, title FROM projects"))
    titled = [entry for entry in entries if "title" in entry]
    for project, noted in _by_project(titled, {"submit", "edit"}).items():
        allowed = {entry["title"] for entry in _last(noted, late)}
        if project in stored and stored[project] not in allowed:
            told = " or ".join(sorted(allowed))
            yield f"project {project} is called {stored[project]}, by what was acknowledged {told}"


def _by_project(entries: list[dict[str, Any]], ops: Container[str]) -> dict[int, list[dict[str, Any]]]:
    """What was done, or may have been, to each project of which something was acknowledged."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for entry in entries:
        if entry["op"] in ops and entry["reply"] in {200, 201, "unknown"} and entry["project"] is not None:
            found[entry["project"]].append(entry)
    return {project: noted for project, noted in found.items() if any(_good(entry) for entry in noted)}


def _last(noted: list[dict[str, Any]], late: bool) -> list[dict[str, Any]]:
    """Those that may have been done last: no other was acknowledged that was asked only after their answer."""
    settled = max(entry["began"] for entry in noted if _good(entry))
    return [entry for entry in noted if entry["ended"] >= settled or (late and not _good(entry))]


def _good(entry: dict[str, Any]) -> bool:
    """Whether its success was acknowledged to its caller."""
    return entry["reply"] in {200, 201, 204}
