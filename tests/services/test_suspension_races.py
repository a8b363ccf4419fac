"""Requests of a user who is being suspended: none commits after the suspension, and none is overlooked."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, text

from directory.extensions import db
from directory.http import endpoint
from directory.http.authentication import viewer
from directory.models import Project, Upvote
from directory.services.data import counter_checks, recount
from directory.services.review import submissions
from directory.services.votes import voting
from directory.services.votes.voting import COUNTS
from tests.conftest import Database
from tests.support import concurrent_calls
from tests.support.factories import World
from tests.support.waiting import until

BODY = {"status": "suspended", "unpublish": True, "reason": "Spam."}
NEW = {"title": "New", "tagline": "New", "url": "https://new.example", "category": "tools"}
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'"
DEEDS: dict[str, tuple[str, str, Any]] = {
    "submits": ("POST", "/api/projects", NEW),
    "edits a live one": ("PUT", "/api/projects/{live}", {"tagline": "Changed"}),
    "edits a rejected one": ("PUT", "/api/projects/{rejected}", {"tags": ["changed"]}),
    "deletes": ("DELETE", "/api/projects/{live}", None),
    "toggles a vote": ("POST", "/api/projects/{other}/upvote", None),
    "votes": ("PUT", "/api/projects/{other}/upvote", None),
    "takes a vote back": ("DELETE", "/api/projects/{voted}/upvote", None),
    "approves": ("PUT", "/api/admin/projects/{waiting}/approve", {}),
    "approves many": ("POST", "/api/admin/projects/decisions", {"decision": "approve", "ids": [5]}),
    "deletes many": ("POST", "/api/admin/projects/decisions", {"decision": "delete", "ids": [5]}),
}


class Pause:
    """Holds a caller up where a function is called, until it may go on."""

    def __init__(self, username: str) -> None:
        self.username, self.arrived, self.go_on = username, Event(), Event()

    def before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def held(*args: Any, **kwargs: Any) -> Any:
            by = viewer()
            if by is not None and by.username == self.username:
                self.arrived.set()
                assert self.go_on.wait(20)
            return work(*args, **kwargs)

        return held


def states(app: Flask) -> tuple[list[Any], list[Any]]:
    """Every project as far as a deed could change it, and every vote."""
    columns = (Project.id, Project.status, Project.version, Project.upvotes)
    with app.app_context():
        rows = [tuple(row) for row in db.session.execute(select(*columns).order_by(Project.id))]
        votes = select(Upvote.user_id, Upvote.project_id).order_by(Upvote.user_id, Upvote.project_id)
        return rows, [tuple(row) for row in db.session.execute(votes)]


@pytest.mark.parametrize("deed", DEEDS)
def test_what_was_authenticated_before_a_suspension_is_not_done_after_it(
    app: Flask, world: World, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, user = (
        world.caller(world.admin()),
        world.user("spammer", role="admin" if "/admin/" in DEEDS[deed][1] else "member"),
    )
    ids = {"live": world.project(user), "rejected": world.project(user, "rejected"), "other": world.project()}
    ids |= {"voted": world.project(), "waiting": world.project(status="pending")}
    assert ids["waiting"] == 5
    world.vote(ids["voted"], user)
    pause = Pause("spammer")
    monkeypatch.setattr(endpoint, "transaction", pause.before(endpoint.transaction))
    monkeypatch.setattr(voting, "_count", pause.before(voting._count))
    method, path, body = DEEDS[deed]
    caller = world.caller(user)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(caller.call, method, path.format(**ids), body)
        assert pause.arrived.wait(20)
        assert root.put(f"/api/admin/users/{user.id}", BODY).status_code == 200
        before = states(app)
        pause.go_on.set()
        assert (answer.result().status_code, answer.result().json["code"]) == (401, "unauthenticated")
    assert states(app) == before
    assert [row[1] for row in before[0]][:2] == ["rejected", "rejected"]


def test_a_submission_under_way_is_waited_for_and_taken_down(
    app: Flask, world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, user = world.caller(world.admin()), world.user("spammer")
    world.category()
    caller, pause = world.caller(user), Pause("spammer")
    monkeypatch.setattr(submissions.outbox, "enqueue", pause.before(submissions.outbox.enqueue))
    with ThreadPoolExecutor(2) as pool, app.app_context(), db.engine.connect() as connection:
        submitted = pool.submit(caller.post, "/api/projects", NEW)
        assert pause.arrived.wait(20)
        suspended = pool.submit(root.put, f"/api/admin/users/{user.id}", BODY)
        if database.backend == "postgresql":
            until(lambda: connection.scalar(text(WAITING)) == 1)
        assert not suspended.done()
        pause.go_on.set()
        assert submitted.result().status_code == 201
        assert suspended.result().json["taken_down"] == {"unpublished": 0, "rejected": 1, "votes": 0}
    assert [row[1] for row in states(app)[0]] == ["rejected"]


def test_whatever_a_spammer_does_during_a_takedown_nothing_stays_open(
    app: Flask, world: World, database: Database
) -> None:
    token, spammer = world.caller(world.admin()).token, world.user("spammer")
    tokens = [world.caller(spammer).token for _ in range(4)]
    mine, others = [world.project(spammer, tags=["a", "b"]) for _ in range(4)], [world.project() for _ in range(3)]
    queued = [world.project(spammer, "pending", tags=["b", "a"]) for _ in range(4)]
    fan = world.caller(world.user()).token
    deeds = [("PUT", f"/api/projects/{p}", {"title": f"Again {p}", "tags": ["c"]}) for p in [*mine, *queued]]
    deeds += [("POST", f"/api/projects/{p}/upvote", None) for p in [*mine, *others]]
    scripts = []
    for n, own in enumerate(tokens):
        new = [("POST", "/api/projects", {**NEW, "url": f"https://{n}.example/{m}"}) for m in range(6)]
        scripts.append(concurrent_calls.shuffled([(own, *deed) for deed in [*deeds, *new]], n))
    looks = [(token, "GET", "/api/projects", None)] * 4
    scripts += [[*looks, (token, "PUT", f"/api/admin/users/{spammer.id}", BODY)]]
    scripts += [[(token, "PUT", f"/api/admin/projects/{p}/approve", None) for p in queued]]
    scripts += [[(fan, "POST", f"/api/projects/{p}/upvote", None) for p in [*mine, *others]]]

    answers = concurrent_calls.run(database.url, scripts, processes=2)

    assert {answer["status"] for answer in answers} <= {200, 201, 401, 404, 409, 503}
    [suspended] = [answer for answer in answers if "/users/" in answer["path"]]
    assert suspended["status"] == 200
    with app.app_context():
        owned = select(Project.status, func.count()).where(Project.owner_id == spammer.id).group_by(Project.status)
        assert [status for status, _ in db.session.execute(owned)] == ["rejected"]
        counted = dict(
            db.session.execute(select(Upvote.project_id, func.count()).where(COUNTS).group_by(Upvote.project_id)).all()
        )
        for project in db.session.scalars(select(Project)):
            assert project.upvotes == counted.get(project.id, 0)
        assert recount.look(lambda number: number > 0).faults == []
        assert counter_checks.look_beside() == []
