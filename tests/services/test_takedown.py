"""Taking down all projects of a user with the suspension: all or nothing, logged, notified, and in nobody's way."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, func, select

from directory.extensions import db
from directory.models import AuditEntry, Delivery, Project, Upvote
from directory.services.data import counter_checks, recount
from directory.services.identity import Caller
from directory.services.review import takedown
from tests.conftest import Database, Statements
from tests.support import concurrent_calls
from tests.support.factories import Api, World

EVENTS = ["project.unpublished", "project.rejected"]
HOOKS = [
    {"url": f"https://hook.example/{n}", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "events": events}
    for n, events in enumerate([EVENTS, EVENTS[1:], ["project.approved"]])
]
BODY = {"status": "suspended", "unpublish": True, "reason": "Spam."}


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    """An application with endpoints that want the events of a takedown, one of them, and neither."""
    return make_app(WEBHOOK_ENDPOINTS=json.dumps(HOOKS))  # type: ignore[no-any-return]


@pytest.fixture
def admin(notifying: Flask, world: World) -> Api:
    return Api(notifying, world.caller(world.admin("root")).token)


@pytest.fixture
def spammer(world: World) -> Caller:
    return world.user("spammer")


def take_down(admin: Api, user: Caller, **body: Any) -> Any:
    return admin.put(f"/api/admin/users/{user.id}", {**BODY, **body})


def log(app: Flask, user: Caller) -> list[tuple[Any, ...]]:
    """The entries by administrators, but for their order among projects."""
    columns = (AuditEntry.project_id, AuditEntry.action, AuditEntry.from_state, AuditEntry.to_state, AuditEntry.reason)
    with app.app_context():
        query = select(*columns).where(AuditEntry.actor_id != user.id).order_by(AuditEntry.id)
        return [tuple(row) for row in db.session.execute(query)]


def payloads(app: Flask, project: int) -> list[tuple[str, Any]]:
    """The notifications about a project, without what differs from one project to the next."""
    with app.app_context():
        query = select(Delivery).where(Delivery.project_id == project).order_by(Delivery.endpoint, Delivery.id)
        rows = [(row.endpoint, json.loads(row.payload)) for row in db.session.scalars(query)]
    for _, payload in rows:
        del payload["timestamp"]
        told = payload["data"]["project"]
        for name in ("id", "slug", "title", "url", "created_at", "published_at"):
            del told[name]
        told["times"] = told.pop("submitted_at") == told.pop("updated_at")
    return rows


def faults(app: Flask) -> list[Any]:
    with app.app_context():
        found = recount.look(lambda number: number > 0).faults
        return found + counter_checks.look_beside()


def test_live_projects_are_unpublished_and_rejected_and_pending_ones_rejected(
    notifying: Flask, world: World, admin: Api, spammer: Caller
) -> None:
    live, other = world.project(spammer, votes=2), world.project(spammer, category="web")
    pending, rejected = world.project(spammer, "pending"), world.project(spammer, "rejected")
    innocent = world.project()
    before = {project: world.row(project) for project in (live, pending, rejected)}

    answer = take_down(admin, spammer)

    assert (answer.status_code, answer.json["status"]) == (200, "suspended")
    assert answer.json["taken_down"] == {"unpublished": 2, "rejected": 3, "votes": 0}
    assert answer.json["stats"]["projects"] == {"live": 0, "pending": 0, "rejected": 4, "total": 4}
    for project in (live, other, pending):
        shown = admin.get(f"/api/projects/{project}").json
        assert (shown["status"], shown["rejection_reason"]) == ("rejected", "Spam.")
    assert admin.get(f"/api/projects/{rejected}").json["rejection_reason"] == "Not yet."
    assert world.stored(innocent)["status"] == "live"
    after = {project: world.row(project) for project in before}
    assert [after[p].version - before[p].version for p in before] == [2, 1, 0]
    assert after[live].published_at == before[live].published_at
    assert after[live].submitted_at == after[live].updated_at > before[live].submitted_at
    assert after[pending].submitted_at == before[pending].submitted_at
    assert after[live].upvotes == 2
    unpublished, refused = ("project.unpublished", "live", "pending"), ("project.rejected", "pending", "rejected")
    assert log(notifying, spammer)[-6:] == [
        (None, "user.status_changed", "active", "suspended", "Spam."),
        (live, *unpublished, "Spam."), (live, *refused, "Spam."),
        (other, *unpublished, "Spam."), (other, *refused, "Spam."),
        (pending, *refused, "Spam."),
    ]  # fmt: skip
    assert faults(notifying) == []


def test_its_log_and_notifications_are_those_of_single_decisions(
    notifying: Flask, world: World, admin: Api, spammer: Caller
) -> None:
    fields = {"description": "Grüße <b>", "tags": ["a", "b"], "repository_url": "https://r.example"}
    live, alone = (world.project(spammer, **fields) for _ in range(2))
    pending, waiting = (world.project(spammer, "pending", **fields) for _ in range(2))
    for project, words in ((alone, ("unpublish", "reject")), (waiting, ("reject",))):
        for word in words:
            admin.put(f"/api/admin/projects/{project}/{word}", {"reason": "Spam."})
    assert take_down(admin, spammer).json["taken_down"] == {"unpublished": 1, "rejected": 2, "votes": 0}
    assert len(payloads(notifying, live)) == 3
    assert len(payloads(notifying, pending)) == 2
    singly, together = payloads(notifying, alone), payloads(notifying, live)
    singly[1][1]["data"]["project"]["times"] = True  # there the second decision has a later time
    singly[2][1]["data"]["project"]["times"] = True
    assert together == singly
    assert payloads(notifying, pending) == payloads(notifying, waiting)
    with notifying.app_context():
        query = select(AuditEntry).where(AuditEntry.action.in_(EVENTS)).order_by(AuditEntry.id)
        columns = [c.key for c in AuditEntry.__table__.c if c.key not in {"id", "at", "url_key", "project_title"}]
        entries: dict[int, list[Any]] = {}
        for entry in db.session.scalars(query):
            facts = {name: getattr(entry, name) for name in columns}
            decided, waited = facts.pop("project_id"), facts.pop("waited_seconds")
            entries.setdefault(decided, []).append((facts, decided in (pending, waiting) and waited > 0))
    assert entries[live] == entries[alone]
    assert entries[pending] == entries[waiting]
    with notifying.app_context():  # what was not reviewed has no part in how long decisions take
        waits = select(AuditEntry.waited_seconds).where(AuditEntry.project_id == live)
        assert db.session.scalar(waits.where(AuditEntry.action == "project.rejected")) is None


def test_of_a_user_suspended_already_it_takes_down_what_is_left(
    notifying: Flask, world: World, admin: Api, spammer: Caller
) -> None:
    project = world.project(spammer)
    first = take_down(admin, spammer, unpublish=False)
    assert (first.json["status"], "taken_down" in first.json) == ("suspended", False)
    assert world.stored(project)["status"] == "live"
    assert take_down(admin, spammer).json["taken_down"] == {"unpublished": 1, "rejected": 1, "votes": 0}
    assert take_down(admin, spammer).json["taken_down"] == {"unpublished": 0, "rejected": 0, "votes": 0}
    actions = [entry[1] for entry in log(notifying, spammer)]
    assert actions.count("user.status_changed") == 1
    assert actions.count("project.rejected") == 1


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"unpublish": True}, ["#/unpublish"]),
        ({"reason": "Spam."}, ["#/reason"]),
        ({"status": "active", "unpublish": False, "reason": None}, ["#/reason", "#/unpublish"]),
        ({"status": "suspended", "unpublish": "true"}, ["#/unpublish"]),
        ({"status": "suspended", "unpublish": 1}, ["#/unpublish"]),
        ({"status": "suspended", "unpublish": None}, ["#/unpublish"]),
        ({"status": "suspended", "reason": "x" * 1001}, ["#/reason"]),
        ({"role": "admin", "unpublish": True}, ["#/unpublish"]),
    ],
)
def test_what_goes_with_a_suspension_goes_with_nothing_else(
    world: World, admin: Api, spammer: Caller, body: Any, pointers: list[str]
) -> None:
    project = world.project(spammer)
    answer = admin.put(f"/api/admin/users/{spammer.id}", body)
    assert answer.status_code == 422
    assert sorted(error["pointer"] for error in answer.json["errors"]) == pointers
    assert world.stored(project)["status"] == "live"


def test_more_than_one_request_takes_down_are_refused_and_nothing_changes(
    notifying: Flask, world: World, admin: Api, spammer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takedown, "AT_ONCE", 2)
    projects = [world.project(spammer) for _ in range(2)] + [world.project(spammer, "pending")]
    before = log(notifying, spammer)
    answer = take_down(admin, spammer)
    assert (answer.status_code, answer.json["code"]) == (409, "too_many_projects")
    assert "bulk decisions" in answer.json["detail"]
    assert [world.stored(project)["status"] for project in projects] == ["live", "live", "pending"]
    assert log(notifying, spammer) == before
    assert admin.get(f"/api/admin/users/{spammer.id}").json["status"] == "active"
    with notifying.app_context():
        assert db.session.scalar(select(func.count(Delivery.id))) == 0
    admin.put(f"/api/admin/projects/{projects[2]}/reject")
    assert take_down(admin, spammer).json["taken_down"] == {"unpublished": 2, "rejected": 2, "votes": 0}


def test_the_last_administrator_keeps_the_projects_too(world: World, admin: Api) -> None:
    root = Caller(1, "root", "admin")
    project = world.project(root)
    assert take_down(admin, root).json["code"] == "last_admin"
    assert world.stored(project)["status"] == "live"
    assert admin.put("/api/admin/users/999", BODY).status_code == 404


@pytest.mark.parametrize("size", [1, 12])
def test_it_costs_the_same_statements_whatever_the_number_of_projects(
    notifying: Flask, world: World, admin: Api, spammer: Caller, size: int
) -> None:
    for n in range(size):
        world.project(spammer, category=f"c{n % 3}")
        world.project(spammer, "pending")
    admin.get("/api/auth/me")  # the token's first use is written
    with notifying.app_context():
        engine = db.engine
    ran = Statements()
    event.listen(engine, "before_cursor_execute", ran.note)
    assert take_down(admin, spammer).status_code == 200
    event.remove(engine, "before_cursor_execute", ran.note)
    # Who calls (2); the account, its entry, its votes (on SQLite two) and its change, sessions, tokens, the key of its
    # feed; the projects, their entries, the threads (2), what the events tell, the deliveries of both events, the
    # change; the answer (2). On PostgreSQL entries, threads, deliveries and new cases are COPY, which are not recorded,
    # but where there is one; for deliveries of several projects it is asked for its time, and the account, the projects
    # voted for and the counters of categories and tags are locked.
    few = {1: 24, 12: 22}[size]
    assert len(ran) == (few if engine.dialect.name == "postgresql" else 23), ran


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
@pytest.mark.parametrize("role", ["member", "admin"])
def test_votes_for_other_projects_do_not_wait_for_it(
    notifying: Flask, world: World, admin: Api, spammer: Caller, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, waiting, other = world.project(spammer), world.project(spammer, "pending"), world.project()
    voter = Api(notifying, world.caller(world.user(role=role)).token)
    done, go_on = Event(), Event()
    reject = takedown._reject

    def held(*args: Any, **kwargs: Any) -> None:
        reject(*args, **kwargs)
        done.set()
        assert go_on.wait(20)

    monkeypatch.setattr(takedown, "_reject", held)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(take_down, admin, spammer)
        assert done.wait(20)
        voted = voter.post(f"/api/projects/{other}/upvote")  # of the same category, whose counters are locked
        assert (voted.status_code, voted.json["upvotes"]) == (200, 1)
        assert not answer.done()
        assert voter.get(f"/api/projects/{taken}").json["status"] == "live"
        go_on.set()
        assert answer.result(20).json["taken_down"] == {"unpublished": 1, "rejected": 2, "votes": 0}
    for project in (taken, waiting):
        assert voter.post(f"/api/projects/{project}/upvote").status_code == (404 if role == "member" else 409)
    assert faults(notifying) == []


def test_votes_are_exact_whatever_runs_beside_it(app: Flask, world: World, database: Database, spammer: Caller) -> None:
    token = world.caller(world.admin()).token
    other = world.user("other")
    tags = ["x", "y", "z"]
    mine = [
        world.project(owner, category=f"c{n % 3}", tags=tags[n % 3 :]) for n, owner in enumerate([spammer, other] * 6)
    ]
    queued = [world.project(spammer, "pending", category=f"c{2 - n % 3}", tags=tags[2 - n % 3 :]) for n in range(6)]
    innocent = [world.project(category=f"c{n % 3}") for n in range(3)]
    voters = [world.caller(world.user()).token for _ in range(4)]
    votes = [(voter, "POST", f"/api/projects/{p}/upvote", None) for voter in voters for p in [*mine, *innocent]]
    scripts = [concurrent_calls.shuffled(votes, seed) for seed in range(6)]
    # Both users share categories and tags; meanwhile the queue is decided and projects are submitted.
    scripts += [[(token, "PUT", f"/api/admin/users/{user.id}", BODY)] * 2 for user in (spammer, other)]
    scripts += [
        [(token, "PUT", f"/api/admin/projects/{p}/approve", None) for p in concurrent_calls.shuffled(queued, 1)]
    ]
    new = {"title": "New", "tagline": "New", "category": "c0"}
    author = world.caller(world.user()).token
    scripts += [[(author, "POST", "/api/projects", {**new, "url": f"https://n.example/{n}"}) for n in range(6)]]

    answers = concurrent_calls.run(database.url, scripts, processes=2)

    for answer in answers:
        assert answer["status"] in {200, 201, 404, 409, 503}, answer
        if answer["method"] == "PUT" and "users" in answer["path"]:
            assert answer["status"] == 200, answer
        if answer["path"] in {f"/api/projects/{p}/upvote" for p in innocent}:
            assert answer["status"] in {200, 503}
    with app.app_context():
        counted = dict(db.session.execute(select(Upvote.project_id, func.count()).group_by(Upvote.project_id)).all())
        for project in db.session.scalars(select(Project)):
            assert project.upvotes == counted.get(project.id, 0)
            taken = project.owner_id in (spammer.id, other.id)
            assert not taken or project.status == "rejected", project.id
        edges = select(AuditEntry.action, func.count()).group_by(AuditEntry.project_id, AuditEntry.action)
        assert {n for action, n in db.session.execute(edges) if action == "project.rejected"} == {1}
    assert faults(app) == []
