"""The review: decisions, their repetition, and what goes with them."""

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.api.schemas.projects import ProjectOutput
from directory.extensions import db
from directory.models import AuditEntry
from directory.services.catalog.fields import IN_WEBHOOKS
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING, decide, decisions, outbox


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    """An application with an endpoint that wants every event."""
    return make_app(**NOTIFYING)  # type: ignore[no-any-return]


@pytest.fixture
def admin(notifying: Flask, world: World) -> Api:
    return Api(notifying, world.caller(world.admin("root")).token)


def test_approval_publishes_notifies_and_is_logged_once(notifying: Flask, world: World, admin: Api) -> None:
    project = world.project(status="pending")
    first = decide(admin, project, "approve")
    assert (first.json["status"], first.json["queue_position"]) == ("live", None)
    assert first.json["published_at"] is not None
    again = decide(admin, project, "approve")
    assert (again.status_code, again.json) == (200, first.json)
    assert decisions(notifying) == ["project.approved"]
    (event,) = outbox(notifying)
    assert event["type"] == "project.approved"
    assert event["data"]["approved_by"]["username"] == "root"
    assert event["data"]["project"]["status"] == "live"


@pytest.mark.parametrize(("decision", "state", "to_state"), [
    ("approve", "pending", "live"), ("reject", "pending", "rejected"), ("unpublish", "live", "pending"),
])  # fmt: skip
def test_the_log_says_where_a_decision_leads_and_how_long_the_project_has_waited(
    notifying: Flask, world: World, admin: Api, decision: str, state: str, to_state: str
) -> None:
    project = world.project(status=state)
    before = world.stored(project)
    decide(admin, project, decision)
    with notifying.app_context():
        entry = db.session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc()).limit(1)).one()
    assert (entry.from_state, entry.to_state) == (state, to_state)
    assert (entry.waited_seconds is None) == (decision == "unpublish")  # what is live waits for nobody
    after = world.stored(project)
    assert after["updated_at"] == entry.at > before["updated_at"]
    # Only what is taken down gets a new place, for the time when its owner gives it back.
    assert (after["submitted_at"] == before["submitted_at"]) == (decision != "unpublish")


def test_a_live_project_whose_changes_were_rejected_may_be_unpublished_and_rejected_again(
    notifying: Flask, world: World, admin: Api
) -> None:
    owner = world.user()
    project = world.project(owner)
    world.revise(project, owner, title="Changed")
    assert decide(admin, project, "reject", "No.").status_code == 200
    version = world.stored(project)["version"]
    again = decide(admin, project, "reject", "Other.")
    assert (again.status_code, again.json["revision"]["reason"]) == (200, "No.")
    assert world.stored(project)["version"] == version
    assert decide(admin, project, "unpublish", "Down.").json["status"] == "pending"
    assert decisions(notifying) == ["project.edit_held", "project.edit_rejected", "project.unpublished"]


def test_the_notification_carries_the_public_fields(notifying: Flask, world: World, api: Api, admin: Api) -> None:
    project = world.project(status="pending", tags=["a"], repository_url="https://r.example")
    decide(admin, project, "approve")
    shown = api.get(f"/api/projects/{project}").json
    private = {"has_upvoted", "rejection_reason", "review", "revision", "version", "repository", "links", "dead_since"}
    assert set(IN_WEBHOOKS) == set(ProjectOutput().fields) - private
    assert outbox(notifying)[0]["data"]["project"] == {n: v for n, v in shown.items() if n not in private}


def test_rejection_keeps_its_first_reason(notifying: Flask, world: World, admin: Api) -> None:
    project = world.project(status="pending")
    assert decide(admin, project, "reject", "Too\r\nshort").json["rejection_reason"] == "Too\nshort"
    assert decide(admin, project, "reject", "Other").json["rejection_reason"] == "Too\nshort"
    assert decisions(notifying) == ["project.rejected"]
    assert [event["data"]["reason"] for event in outbox(notifying)] == ["Too\nshort"]
    without = world.project(status="pending")
    assert decide(admin, without, "reject").json["rejection_reason"] is None
    assert decide(admin, world.project(status="pending"), "reject", "").status_code == 200


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("rejected", "approve"), ("live", "reject"), ("pending", "unpublish"), ("rejected", "unpublish"),
    ],
)  # fmt: skip
def test_what_the_state_does_not_allow_is_a_conflict(
    notifying: Flask, world: World, admin: Api, status: str, word: str
) -> None:
    answer = decide(admin, world.project(status=status), word)
    assert (answer.status_code, answer.json["code"]) == (409, "invalid_transition")
    assert answer.json["current_status"] == status
    assert decisions(notifying) == []
    assert outbox(notifying) == []


@pytest.mark.parametrize("word", ["approve", "reject", "unpublish"])
def test_a_decision_about_nothing_is_not_found(admin: Api, word: str) -> None:
    assert decide(admin, 999, word).status_code == 404


@pytest.mark.parametrize("body", [{"why": "x"}, {"reason": "x" * 1001}, {"reason": 1}, [], "x", {"reason": "\x00"}])
def test_a_bad_reason_is_refused(world: World, admin: Api, body: Any) -> None:
    answer = admin.put(f"/api/admin/projects/{world.project(status='pending')}/reject", body)
    assert answer.status_code == 422
    if isinstance(body, dict) and "why" in body:
        assert answer.json["errors"] == [{"pointer": "#/why", "detail": "Unknown field."}]


def test_the_reason_of_an_approval_is_for_the_log_alone(notifying: Flask, world: World, admin: Api) -> None:
    one, other = (world.project(status="pending") for _ in range(2))
    assert admin.put(f"/api/admin/projects/{one}/approve", {"reason": "Fine"}).json["rejection_reason"] is None
    body = {"decision": "approve", "items": [{"id": other}], "reason": "Fine"}
    assert admin.post("/api/admin/projects/decisions", body).json["items"][0]["project"]["rejection_reason"] is None
    for project in (one, other):
        newest = admin.get(f"/api/admin/projects/{project}/history").json["items"][0]
        assert (newest["action"], newest["reason"]) == ("project.approved", "Fine")
    assert len(outbox(notifying)) == 2
    assert "Fine" not in json.dumps(outbox(notifying))


def test_unpublishing_takes_a_project_out_of_the_queue_and_keeps_votes(
    notifying: Flask, world: World, admin: Api
) -> None:
    project = world.project(votes=2)
    world.project(status="pending")
    published = world.stored(project)["published_at"]
    taken_down = decide(admin, project, "unpublish", "Broken link").json
    assert (taken_down["status"], taken_down["queue_position"], taken_down["upvotes"]) == ("pending", None, 2)
    assert world.stored(project)["published_at"] == published
    back = decide(admin, project, "approve")
    assert world.stored(project)["published_at"] == published
    assert back.json["upvotes"] == 2
    assert [event["type"] for event in outbox(notifying)] == ["project.unpublished", "project.approved"]
    history = admin.get(f"/api/admin/projects/{project}/history").json["items"]
    assert [entry["reason"] for entry in history][:2] == [None, "Broken link"]


def test_the_reason_stays_until_an_approval_or_an_edit_that_sends_the_project_back(
    notifying: Flask, world: World, admin: Api
) -> None:
    bob = world.user()
    project = world.project(bob)
    owner, path = world.caller(bob), f"/api/projects/{project}"

    def reason() -> Any:
        told = [caller.get(path).json["rejection_reason"] for caller in (owner, admin)]
        told += [owner.get("/api/projects?owner=me").json["items"][0]["rejection_reason"]]
        assert len(set(told)) == 1
        return told[0]

    assert decide(admin, project, "unpublish", "Broken link").json["rejection_reason"] == "Broken link"
    assert reason() == "Broken link"
    assert owner.put(path, {"title": "Mended"}).json["queue_position"] == 1  # an edit gives it back
    assert reason() is None
    decide(admin, project, "approve", "Fine")
    assert reason() is None
    decide(admin, project, "unpublish", "Broken again")
    decide(admin, project, "approve")
    assert reason() is None
    decide(admin, project, "unpublish")
    assert reason() is None
    decide(admin, project, "reject", "Not yet")
    assert admin.put(path, {"tagline": "By an administrator"}).json["status"] == "rejected"
    assert reason() == "Not yet"
    assert owner.put(path, {"tagline": "Better"}).json["status"] == "pending"
    assert reason() is None
    decide(admin, project, "approve")
    decide(admin, project, "unpublish", "Spam")
    decide(admin, project, "reject")
    assert reason() is None
    assert "rejection_reason" not in Api(notifying).get(f"/api/projects/{world.project()}").json


def test_every_event_is_queued_on_request(notifying: Flask, world: World, admin: Api) -> None:
    world.category()
    body = {"title": "T", "tagline": "T", "url": "https://t.example", "category": "tools"}
    project = admin.post("/api/projects", body).json["id"]
    decide(admin, project, "reject", "no")
    admin.delete(f"/api/projects/{project}")
    assert [event["type"] for event in outbox(notifying)] == [
        "project.submitted", "project.rejected", "project.deleted",
    ]  # fmt: skip
    assert outbox(notifying)[-1]["data"]["deleted_by"]["username"] == "root"


def test_the_queue_is_oldest_first_and_its_lists_go_by_every_filter(world: World, admin: Api) -> None:
    owner = world.user("bob")
    first = world.project(owner, "pending", title="First thing")
    second = world.project(status="pending", category="web")
    live = world.project(title="Live thing")
    caller = world.caller(owner)

    def ids(query: str) -> list[int]:
        return [item["id"] for item in admin.get(f"/api/admin/projects?{query}").json["items"]]

    assert ids("status=pending") == [first, second]
    assert ids("status=pending&sort=newest") == [second, first]
    assert ids("") == [live, second, first]
    assert ids("sort=oldest") == [first, second, live]
    assert ids("category=web") == [second]
    assert ids("owner=bob") == [first]
    assert ids("q=first&status=pending") == [first]
    assert ids("q=thing&status=pending") == ids("q=thing&status=pending&sort=oldest")
    assert ids("owner=me") == []
    mentioned = world.project(status="pending", tagline="Of a zebra")
    named = world.project(status="pending", title="Zebra")
    assert ids("q=zebra") == [named, mentioned]
    assert ids("q=zebra&status=pending") == [mentioned, named]
    for project in (mentioned, named):
        admin.delete(f"/api/projects/{project}")
    page = admin.get("/api/admin/projects?status=pending&limit=1").json["pagination"]
    assert ids(f"status=pending&limit=1&cursor={page['next_cursor']}") == [second]
    assert page["total"] == 2
    assert caller.get("/api/admin/projects").status_code == 403
