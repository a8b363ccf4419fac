"""The release that is upgraded from: its code, a directory of it with cases of every state, and what they are there."""

import io
import json
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, count, takewhile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, NullPool, create_engine, inspect, text

from bench.copying import WORDS
from tests.support.pictures import RED
from tests.support.processes import ServerMissing
from tests.support.serving import ROOT
from tests.system.chaos.load import Answer
from tests.system.chaos.stage import MAKING, Person, Stage

RELEASE = "v0.2.0"
WHY = "It has no licence."
HELD, REFUSED = "the best casino", "the best lottery"  # what rules hold and reject
# How a case comes to each state, by the acts of `requests`; the fates of `LATER` come last.
STORIES = (
    "submit", "submit claim", "submit edit", "submit logo", "submit once", "hold", "hold claim", "hold once",
    "hold ask", "refuse", "refuse appeal", "refuse appeal upheld", "refuse appeal reversed", "refuse edit",
    "submit ask", "submit ask keep", "submit ask answer", "submit ask edit", "submit ask edit once",
    f"submit {'ask edit ' * 3}ask", f"submit {'ask edit ' * 4}", "submit ask late", "submit ask soon",
    "submit ask late appeal", "submit reject", "submit reject edit", "submit reject appeal",
    "submit reject appeal edit", "submit reject appeal upheld", "submit reject appeal reversed",
    "live", "live down", "live down soon", "live down late", "live down logo", "live down edit", "live down edit ask",
    "live down ask", "live down approve", "live down reject", "live down appeal", "live down appeal upheld",
    "live down appeal reversed", "live down appeal edit", "live change", "live change change", "live change move",
    "live move", "live logo", "live picture", "live change picture", "live change once", "live change withdraw",
    "live change approve", "live change down", "live change claim", "live change ask", "live change ask answer",
    "live change ask change", f"live {'change ask ' * 4}change", "live change ask soon", "live change ask late",
    "live change ask late appeal", "live change reject", "live change reject change", "live change reject withdraw",
    "live change reject appeal", "live change reject appeal upheld", "live change reject appeal reversed",
    "live move reject appeal reversed", "live picture reject", "live change reject down", "live stake",
    "live stake once", "live cheat", "live cheat appeal", "live cheat appeal reversed",
)  # fmt: skip
LATER = {"late": 31, "soon": 25}  # so many days go by
TOLD = 5 * len(STORIES)  # cases that are told by requests; the others are copies
SEEDED, OWNERS = 2_000, 100  # projects that are made up, and users whose they are
BELONGING = ("revisions", "messages", "approvals", "review_claims", "rule_actions")
# The case of each project that has one, read from the columns of the release, as `services/turns.py` there has it.
READING = """
SELECT p.id, CASE p.status WHEN 'live' THEN 'changes' ELSE 'submission' END AS kind,
    CASE WHEN p.appealed_at IS NOT NULL THEN 'appeal'
        WHEN p.status = 'rejected' OR (p.status = 'live' AND r.submitted_at IS NULL) THEN NULL
        WHEN coalesce(r.owner_since, p.owner_since) IS NOT NULL THEN 'owner'
        WHEN coalesce(r.held_until, p.held_until) IS NOT NULL THEN 'rule' ELSE 'reviewers' END AS turn,
    CASE WHEN p.appealed_at IS NOT NULL THEN p.appealed_at
        WHEN p.status = 'rejected' OR (p.status = 'live' AND r.submitted_at IS NULL) THEN NULL
        ELSE coalesce(r.owner_since, p.owner_since, r.submitted_at, p.submitted_at) END AS since,
    coalesce(r.closes_at, p.closes_at, r.held_until, p.held_until) AS until,
    CASE p.status WHEN 'live' THEN coalesce(r.submitted_at, r.waited_since) ELSE p.submitted_at END AS place,
    CASE WHEN p.status = 'pending' AND p.owner_since IS NOT NULL AND p.change_requests = 0 THEN 'unpublished'
        WHEN coalesce(r.owner_since, p.owner_since) IS NOT NULL THEN 'changes_requested' END AS asked,
    CASE p.status WHEN 'live' THEN r.change_requests ELSE p.change_requests END AS requests,
    CASE WHEN p.owner_since IS NULL OR p.appealed_at IS NULL THEN coalesce(r.measured_from, p.measured_from)
        END AS measured_from,
    coalesce(r.reminded_at, p.reminded_at) AS reminded_at, p.decided_at, p.decided_by,
    CASE WHEN p.status = 'live' AND r.submitted_at IS NULL THEN r.rejected ELSE r.changes END AS changes,
    r.category, r.logo, p.category_id,
    CASE WHEN p.status = 'pending' OR r.submitted_at IS NOT NULL THEN NULL
        WHEN EXISTS (SELECT 1 FROM rule_actions a WHERE a.project_id = p.id AND a.version = p.version AND a.acted
            AND a.effect = 'reject') THEN 'rejected_by_rule'
        WHEN p.decided_by IS NULL AND coalesce(r.reason, p.rejection_reason) LIKE 'No answer within %'
            THEN 'rejected_by_time' ELSE 'rejected' END AS outcome,
    CASE p.status WHEN 'live' THEN r.reason ELSE p.rejection_reason END AS reason
FROM projects p LEFT JOIN revisions r ON r.project_id = p.id WHERE p.status <> 'live' OR r.project_id IS NOT NULL
"""
CASES = """
SELECT project_id, kind, turn, CASE WHEN turn IS NOT NULL THEN since END, until, place, asked, requests,
    CASE WHEN turn <> 'appeal' OR outcome IS NOT NULL OR turn IS NULL THEN measured_from END, reminded_at, decided_at,
    decided_by, changes, category, logo, category_id, outcome, reason FROM reviews WHERE is_current
"""
# What the release has of each project with a case, but for the end of a hold that waits behind the owner's turn, and
# since when an owner had what an appeal is about: the new version has neither, and the release does well without.
COLUMNS = """
SELECT p.id, p.status, p.version, p.submitted_at, p.published_at, p.updated_at, p.rejection_reason, p.closes_at,
    p.change_requests, p.reminded_at, p.decided_at, p.decided_by, p.appealed_at,
    CASE WHEN p.owner_since IS NULL THEN p.held_until END, CASE WHEN p.appealed_at IS NULL THEN p.owner_since END,
    CASE WHEN p.appealed_at IS NULL THEN p.measured_from END,
    r.changes, r.category, r.logo, r.submitted_at, r.reason, r.rejected, r.owner_since, r.closes_at, r.change_requests,
    r.held_until, r.measured_from, r.waited_since, r.reminded_at
FROM projects p LEFT JOIN revisions r ON r.project_id = p.id WHERE p.status <> 'live' OR r.project_id IS NOT NULL
"""
AGES = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f000', {0}, '-{1} days')",
    "postgresql": "{0} - interval '{1} days'",
}
_titles = count(1)


def unpacked(folder: Path) -> Path:
    """The code of the release, by its tag. Raises ServerMissing where there is no tag, as in a shallow clone."""
    tree = folder / "released"
    packed = subprocess.run(["git", "archive", RELEASE], cwd=ROOT, capture_output=True)
    if packed.returncode:
        raise ServerMissing(f"an upgrade needs the tag {RELEASE} (git fetch --tags): {packed.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(tree, filter="data")
    return tree


def requests(act: str) -> list[tuple[int | None, str, str, Any]]:
    """What is asked for an act: by which administrator, or by the owner; the method, the end of the path, the body."""
    title = f"Title {next(_titles)}"
    judged = {"outcome": act, "reason": "We looked again."}
    asked: dict[str, list[tuple[int | None, str, str, Any]]] = {
        "once": [(0, "PUT", "approve", None)],
        "approve": [(0, "PUT", "approve", None), (1, "PUT", "approve", None)],
        "reject": [(0, "PUT", "reject", {"reason": WHY})],
        "down": [(0, "PUT", "unpublish", {"reason": WHY})],
        "ask": [(0, "PUT", "request-changes", {"message": f"Which licence has {title}?"})],
        "claim": [(1, "PUT", "claim", {})],
        "upheld": [(2, "PUT", "appeal", judged)],
        "reversed": [(2, "PUT", "appeal", judged)],
        "edit": [(None, "PUT", "", {"title": title, "description": ""})],
        "change": [(None, "PUT", "", {"title": title})],
        "move": [(None, "PUT", "", {"category": "games", "tags": ["moved"]})],
        "keep": [(None, "PUT", "", {"description": HELD, "give_back": False})],
        "stake": [(None, "PUT", "", {"description": HELD})],
        "cheat": [(None, "PUT", "", {"description": REFUSED})],
        "logo": [(None, "PUT", "logo", RED)],
        "picture": [(None, "POST", "pictures?alt=A+square", RED)],
        "answer": [(None, "POST", "messages", {"text": "It is in COPYING.", "resubmit": True})],
        "appeal": [(None, "POST", "appeal", {"text": "Look again."})],
        "withdraw": [(None, "DELETE", "revision", None)],
    }
    return asked[act]


def tell(at: Stage, owner: Person, story: str) -> int:
    """Have a project come to a state; its id. AssertionError where a request is refused."""
    first, *acts = story.split()
    texts = {"hold": HELD, "refuse": REFUSED}
    made = {**MAKING, "url": f"https://{next(_titles)}.example.org/", "description": texts.get(first, "")}
    answer = _good(at.ask("POST", "/api/projects", owner, made), story)
    project = int(answer.json["id"])
    for act in ["approve", *acts] if first == "live" else acts:
        for judge, method, end, body in requests(act) if act not in LATER else ():
            place = "projects" if judge is None else "review/projects"
            path = f"/api/{place}/{project}/{end}".rstrip("/")
            _good(at.ask(method, path, owner if judge is None else at.admins[judge], body), f"{story}: {act}")
    return project


def _good(answer: Answer, what: str) -> Answer:
    assert answer.status in {200, 201, 204}, (what, answer)
    return answer


def prepare(at: Stage) -> None:
    """A category to move to, a rule that holds, and one that rejects."""
    _good(at.ask("POST", "/api/admin/categories", at.admins[0], {"slug": "games", "name": "Games"}), "games")
    for then, words, reason in (("hold", HELD, None), ("reject", REFUSED, "Not here.")):
        when = [{"fact": "words", "is": "in", "value": [words]}]
        rule = {"name": then, "on": ["submission", "edit"], "when": when, "then": then, "reason": reason, "state": "on"}
        _good(at.ask("POST", "/api/admin/rules/preview", at.admins[0], {"rule": rule, "days": 1}), then)
        _good(at.ask("POST", "/api/admin/rules", at.admins[0], rule), then)


def fill(at: Stage, members: list[Person], cases: int, tidy: Callable[[], None]) -> range:
    """So many projects or some more, each at the end of a story; their ids. `tidy` is housekeeping.

    The first ones are of members, and are told by requests. The others are copies of them, of the users before.
    """
    prepare(at)
    stories = [STORIES[number % len(STORIES)] for number in range(min(cases, TOLD))]
    early = [story.partition(" late")[0] for story in stories]
    with ThreadPoolExecutor(6) as pool:
        owners = [members[number % len(members)] for number in range(len(stories))]
        ids = list(pool.map(lambda owner, story: tell(at, owner, story), owners, early))
        told = dict(zip(ids, stories, strict=True))
        _pass_time(at, told)
        tidy()
        late = [(owner, each) for owner, each in zip(owners, ids, strict=True) if told[each].endswith("late appeal")]
        body = {"text": "I was ill."}
        list(pool.map(lambda one: _good(at.ask("POST", f"/api/projects/{one[1]}/appeal", one[0], body), "late"), late))
    people, nobody = len(at.members), at.members[0].id - 1
    told_ids = range(min(ids), max(ids) + 1)
    return _multiply(at, told_ids, -(-cases // len(ids)), lambda copy: copy * people - nobody)


def seed(at: Stage, flask: Callable[..., None], projects: int, users: int) -> None:
    """So many made-up projects, of which most are copies, and at least so many users."""
    made = min(projects, SEEDED)
    flask("seed", "--projects", str(made), "--users", str(OWNERS), "--votes", "0")
    flask("seed", "--force", "--projects", "0", "--users", str(max(users, projects // made * OWNERS)), "--votes", "0")
    with connected(at) as connection:
        first, last = connection.execute(text("SELECT min(id), max(id) FROM projects")).one()
    _multiply(at, range(first, last + 1), projects // made, lambda copy: copy * OWNERS)


def _multiply(at: Stage, projects: range, times: int, owner: Callable[[int], int]) -> range:
    """Have projects, with their cases and what belongs to them, be there so many times; all ids.

    `owner` says how far the owner's id of each copy is from the first one.
    """
    with connected(at) as connection:
        words = WORDS[connection.dialect.name]
        for copy in range(1, times):
            new = {name: f"{name} + {copy * len(projects)}" for name in ("id", "project_id", "rowid")}
            new["owner_id"] = f"owner_id + {owner(copy)}"
            for table in ("projects", *BELONGING, *words):
                names = words.get(table) or _columns(connection, table)
                key = "id" if table == "projects" else next(name for name in names if name in {"project_id", "rowid"})
                values = ", ".join(new.get(name, name) for name in names)
                copied = f"SELECT {values} FROM {table} WHERE {key} BETWEEN {projects[0]} AND {projects[-1]}"
                connection.execute(text(f"INSERT INTO {table} ({', '.join(names)}) {copied}"))
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT setval('projects_id_seq', max(id)) FROM projects"))
    return range(projects[0], projects[0] + times * len(projects))


def _columns(connection: Connection, table: str) -> list[str]:
    """The columns of a table that a copy of a row is given: not its own id, but for a project."""
    columns = inspect(connection).get_columns(table)
    return [
        each["name"] for each in columns if not each.get("computed") and (table == "projects" or each["name"] != "id")
    ]


def _pass_time(at: Stage, told: dict[int, str]) -> None:
    """Have the owners of some projects been asked some days earlier."""
    with connected(at) as connection:
        age = AGES[connection.dialect.name]
        for word, days in LATER.items():
            earlier = ", ".join(f"{name} = {age.format(name, days)}" for name in ("owner_since", "closes_at"))
            for project in (project for project, story in told.items() if word in story.split()):
                connection.execute(text(f"UPDATE projects SET {earlier} WHERE id = {project} AND status <> 'live'"))
                connection.execute(text(f"UPDATE revisions SET {earlier} WHERE project_id = {project}"))


def connected(at: Stage) -> Any:
    """A connection to the stage's database for a block, which is a transaction."""
    return create_engine(at.url, poolclass=NullPool).begin()


def rows(connection: Connection, query: str) -> dict[int, tuple[Any, ...]]:
    """The rows of a query by their first columns, JSON as objects on both databases."""
    found = connection.execute(text(query))
    return {row[0]: tuple(_value(each) for each in row) for row in found}


def _value(stored: Any) -> Any:
    return json.loads(stored) if isinstance(stored, str) and stored.startswith("{") else stored


def answers(at: Stage, first: int) -> dict[int, Any]:
    """What a reviewer is told of each project that waits or was rejected, and of the live ones from an id on."""
    live = takewhile(lambda item: item["id"] >= first, _listed(at, "status=live&sort=newest"))
    others = (item for status in ("pending", "rejected") for item in _listed(at, f"status={status}"))
    return {item["id"]: item for item in chain(live, others)}


def queues(at: Stage) -> dict[str, list[int]]:
    """The projects of each list of the review, in their order."""
    lists = ("waiting=true", "waiting_for=owner", "waiting_for=appeal", "held=true", "kind=revision", "kind=submission")
    return {query: [item["id"] for item in _listed(at, query)] for query in lists}


def _listed(at: Stage, query: str) -> Iterator[Any]:
    cursor = ""
    while cursor is not None:
        page = _good(at.ask("GET", f"/api/review/projects?{query}&limit=100{cursor}", at.admins[2]), query)
        yield from page.json["items"]
        following = page.json["pagination"]["next_cursor"]
        cursor = following and f"&cursor={following}"
