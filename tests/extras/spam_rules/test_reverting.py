"""Putting back what a rule held or rejected: what goes back, what stays, and who learns of it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.spam_rules import editing
from directory.models import Delivery, now
from directory.services import service_words
from directory.services.clock import timestamp
from directory.services.delivery.channels import MAIL
from directory.services.identity import Caller
from tests.conftest import Statements
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING, last_wait, put_back

QUEUE = "/api/review/projects?waiting=true"
SENDING = {"MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "a@example.org", "SITE_URL": "http://localhost"}
WHEN = [{"fact": "has_repository", "is": "=", "value": False}]


@pytest.fixture
def ada(world: World) -> Caller:
    world.category("tools")
    return world.user("ada")


def rule(admin: Api, then: str, **given: Any) -> int:
    """A rule that is on and matches what has no repository."""
    whole = {"name": f"Rule {then}", "on": ["submission", "edit"], "when": WHEN, "then": then, "state": "on", **given}
    whole |= {"reason": "It looks generated."} if then == "reject" else {}
    assert admin.post("/api/admin/rules/preview", {"rule": whole, "days": 1}).status_code == 200
    added = admin.post("/api/admin/rules", whole)
    assert added.status_code == 201, added.json
    return int(added.json["id"])


def submit(owner: Api, number: int = 0, **given: Any) -> int:
    project = {"title": f"Thing {number}", "tagline": "A thing", "url": f"https://t{number}.example/"}
    return int(owner.post("/api/projects", {**project, "category": "tools", **given}).json["id"])


def revert(admin: Api, rule_id: int, since: Any = None) -> Any:
    since = since or timestamp(now() - timedelta(hours=1))
    return admin.post(f"/api/admin/rules/{rule_id}/revert", {"since": since})


def queue(admin: Api) -> list[int]:
    return [each["id"] for each in admin.get(QUEUE).json["items"]]


def shown(caller: Api, project: int) -> Any:
    return caller.get(f"/api/projects/{project}").json


@pytest.mark.parametrize("then", ["hold", "reject"])
def test_what_a_rule_did_goes_back_to_its_place_and_the_owner_learns_of_it(
    make_app: Callable[..., Flask], then: str
) -> None:
    app = make_app(**NOTIFYING, **SENDING)
    world = World(app)
    world.category("tools")
    ada, root = world.user("ada"), world.admin("root")
    owner, admin = world.caller(ada), world.caller(root)
    world.change(ada, email_verified_at=now())
    rule_id = rule(admin, then)
    first, second = submit(owner, 1), submit(owner, 2)
    changed = world.project(ada, url="https://live.example/")
    owner.put(f"/api/projects/{changed}", {"title": "Other"})
    other = submit(owner, 3, repository_url="https://github.com/a/b")
    assert queue(admin) == [other]
    before = shown(owner, second)
    answer = revert(admin, rule_id)
    assert (answer.status_code, answer.json) == (200, {"number": 3})
    assert queue(admin) == [first, second, changed, other]
    after = shown(owner, second)
    assert (after["status"], after["rejection_reason"], after["review"]["held"]) == ("pending", None, False)
    assert after["submitted_at"] == before["submitted_at"]
    assert shown(owner, changed)["revision"]["changes"] == {"title": "Other"}
    for project, states in ((second, (before["status"], "pending")), (changed, ("live", "live"))):
        [entry, *_] = admin.get(f"/api/admin/audit?project_id={project}").json["items"]
        assert (entry["action"], entry["rule_id"], entry["actor"]["id"]) == ("project.returned", rule_id, root.id)
        assert (entry["from"], entry["to"]) == states
        last = owner.get(f"/api/projects/{project}/messages").json["items"][-1]
        assert (last["from"], last["kind"], last["text"]) == ("service", "message", service_words.RETURNED)
    assert owner.get("/api/session").json["user"]["unread"] > 0
    with app.app_context():
        told = select(Delivery.endpoint, func.count()).where(Delivery.event == "project.returned")
        assert db.session.execute(told.group_by(Delivery.endpoint)).all() == [(MAIL, 3)]
    assert revert(admin, rule_id).json == {"number": 0}


@pytest.mark.parametrize("then", ["hold", "reject"])
def test_what_was_edited_decided_or_appealed_since_stays(
    app: Flask, world: World, admin: Api, ada: Caller, then: str
) -> None:
    owner, rule_id = world.caller(ada), rule(admin, then)
    edited, decided, appealed, kept = (submit(owner, n) for n in range(4))
    owner.put(f"/api/projects/{edited}", {"repository_url": "https://github.com/a/b"})
    if then == "hold":
        admin.put(f"/api/review/projects/{decided}/reject")
        admin.put(f"/api/review/projects/{appealed}/release")  # nothing to appeal against
    else:
        world.appeal(appealed, ada)
        admin.delete(f"/api/projects/{decided}")
    stays = [(shown(admin, each)["version"], shown(admin, each)["review"]) for each in (edited, appealed)]
    assert revert(admin, rule_id).json == {"number": 1}
    assert [(shown(admin, each)["version"], shown(admin, each)["review"]) for each in (edited, appealed)] == stays
    assert shown(admin, kept)["status"] == "pending"


@pytest.mark.parametrize("is_appealed", [False, True])
def test_a_reviewer_releases_one_thing_that_a_rule_rejected_and_the_others_stay(
    make_app: Callable[..., Flask], is_appealed: bool
) -> None:
    app = make_app(**NOTIFYING, **SENDING)
    world = World(app)
    world.category("tools")
    ada, root = world.user("ada"), world.admin("root")
    owner, admin, reviewer = world.caller(ada), world.caller(root), world.caller(world.reviewer("tools"))
    world.change(ada, email_verified_at=now())
    rule_id = rule(admin, "reject")
    first, other = submit(owner, 1), submit(owner, 2)
    changed = world.project(ada, url="https://live.example/")
    owner.put(f"/api/projects/{changed}", {"title": "Other"})
    before = shown(owner, first)
    if is_appealed:
        world.appeal(first, ada)
    for project, states in ((first, ("rejected", "pending")), (changed, ("live", "live"))):
        answer = reviewer.put(f"/api/review/projects/{project}/release")
        assert (answer.status_code, answer.json["review"]["waiting_for"]) == (200, "review")
        [entry, *_] = admin.get(f"/api/admin/audit?project_id={project}").json["items"]
        assert (entry["action"], entry["rule_id"]) == ("project.returned", rule_id)
        assert (entry["from"], entry["to"]) == states
        last = owner.get(f"/api/projects/{project}/messages").json["items"][-1]
        assert (last["from"], last["kind"], last["text"]) == ("service", "message", service_words.RETURNED)
        again = reviewer.put(f"/api/review/projects/{project}/release")
        assert again.json == answer.json  # unchanged
    assert queue(admin) == [first, changed]
    assert shown(owner, first)["submitted_at"] == before["submitted_at"]
    assert shown(owner, changed)["revision"]["changes"] == {"title": "Other"}
    assert shown(owner, other)["status"] == "rejected"
    with app.app_context():
        told = select(Delivery.endpoint, func.count()).where(Delivery.event == "project.returned")
        assert db.session.execute(told.group_by(Delivery.endpoint)).all() == [(MAIL, 2)]


@pytest.mark.extra("appeals")
def test_a_release_leaves_what_a_person_rejected_or_settled_after_a_rule(make_app: Callable[..., Flask]) -> None:
    app = make_app(APPEALS="on")
    world = World(app)
    world.category("tools")
    ada, admin = world.user("ada"), world.caller(world.admin("root"))
    owner = world.caller(ada)
    rule(admin, "reject")
    upheld, again, plain = submit(owner, 1), submit(owner, 2), world.project(ada, "rejected")
    owner.post(f"/api/projects/{upheld}/appeal", {"text": "Look again."})
    admin.put(f"/api/review/projects/{upheld}/appeal", {"outcome": "upheld", "reason": "Spam."})
    admin.put(f"/api/review/projects/{again}/release")
    admin.put(f"/api/review/projects/{again}/reject", {"reason": "Spam."})
    for project in (upheld, again, plain):
        before = shown(owner, project)
        answer = admin.put(f"/api/review/projects/{project}/release")
        assert (answer.status_code, answer.json["status"]) == (200, "rejected")
        assert shown(owner, project) == before


def test_since_and_the_rule_narrow_what_goes_back(world: World, admin: Api, ada: Caller) -> None:
    owner = world.caller(ada)
    first, held = rule(admin, "hold"), submit(owner, 1)
    second = rule(admin, "reject", name="Stronger")
    rejected = submit(owner, 2)
    assert revert(admin, first, timestamp(now())).json == {"number": 0}
    assert revert(admin, first).json == {"number": 1}
    assert (queue(admin), shown(owner, rejected)["status"]) == ([held], "rejected")
    assert revert(admin, second, now().date().isoformat()).json == {"number": 1}
    assert queue(admin) == [held, rejected]
    assert revert(admin, 999).status_code == 404
    assert admin.post(f"/api/admin/rules/{first}/revert", {}).status_code == 422
    assert owner.post(f"/api/admin/rules/{first}/revert", {}).status_code == 403


def test_a_call_puts_back_a_portion_by_a_bounded_number_of_statements(
    app: Flask, world: World, admin: Api, ada: Caller, monkeypatch: pytest.MonkeyPatch, statements: Statements
) -> None:
    owner, rule_id = world.caller(ada), rule(admin, "reject")
    projects, counts = [submit(owner, number) for number in range(8)], []
    root = world.admin("second")
    for size in (1, 4, 4):
        monkeypatch.setattr(editing, "AT_ONCE", size)
        since = now() - timedelta(hours=1)
        statements.clear()
        with app.app_context():
            transaction(lambda since=since: editing.revert(rule_id, since, by=root, notify=[]))
        counts.append(len(statements))
    assert max(counts) - min(counts) <= 2, counts
    assert queue(admin) == projects


def test_nobody_puts_back_their_own_where_that_is_refused(
    app: Flask, make_app: Callable[..., Flask], world: World, admin: Api, ada: Caller
) -> None:
    rule_id, mine = rule(admin, "hold"), submit(world.caller(ada))
    world.change(ada, role="admin")
    refusing = Api(make_app(SELF_REVIEW="refuse"), world.caller(ada).token)
    assert revert(refusing, rule_id).json == {"number": 0}
    assert revert(admin, rule_id).json == {"number": 1}
    assert queue(admin) == [mine]


@pytest.mark.parametrize("of_live", [False, True])
def test_what_goes_back_is_measured_from_then(app: Flask, world: World, admin: Api, ada: Caller, of_live: bool) -> None:
    rule_id, owner = rule(admin, "reject"), world.caller(ada)
    if not of_live:
        project = submit(owner)
    else:
        project = world.project(ada)
        owner.put(f"/api/projects/{project}", {"title": "Other"})
    put_back(app, project, place=100)
    assert revert(admin, rule_id).json == {"number": 1}
    admin.put(f"/api/admin/projects/{project}/approve")
    assert round(last_wait(app)) == 0
