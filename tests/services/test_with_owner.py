"""What was taken down waits for its owner, outside of the queue; reviewers see whose owner is suspended."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.extensions import db
from directory.models import AuditEntry, Project
from directory.services.identity import Caller
from tests.support.factories import Api, World

QUEUE = "/api/admin/projects?waiting=true"


def queue(admin: Api, more: str = "") -> list[int]:
    answer = admin.get(f"{QUEUE}{more}").json
    assert answer["pagination"]["total"] == len(answer["items"])
    return [item["id"] for item in answer["items"]]


def position(caller: Api, project: int) -> int | None:
    alone = caller.get(f"/api/projects/{project}").json["queue_position"]
    [listed] = [p for p in caller.get("/api/projects?owner=me").json["items"] if p["id"] == project] or [None]
    assert listed is None or listed["queue_position"] == alone
    return alone  # type: ignore[no-any-return]


def test_what_is_taken_down_is_in_no_number_of_the_queue_until_its_owner_edits_it(
    world: World, admin: Api, ada: Caller
) -> None:
    owner, first = world.caller(ada), world.project(status="pending")
    down = world.project(ada)
    admin.put(f"/api/admin/projects/{down}/unpublish", {"reason": "A dead link."})
    last = world.project(status="pending")
    assert queue(admin) == queue(admin, "&category=tools") == [first, last]
    assert [position(admin, project) for project in (first, down, last)] == [1, None, 2]
    assert position(owner, down) is None
    assert admin.get("/api/admin/projects?status=pending").json["pagination"]["total"] == 3
    since = admin.get(f"/api/projects/{down}").json["submitted_at"]

    assert owner.put(f"/api/projects/{down}", {"tagline": "A thing that does things"}).status_code == 200
    assert position(owner, down) is None  # it changed nothing
    assert admin.put(f"/api/projects/{down}", {"tagline": "By an administrator"}).status_code == 200
    assert position(owner, down) is None
    given = owner.put(f"/api/projects/{down}", {"tagline": "Another"}).json
    assert (given["status"], given["queue_position"], given["rejection_reason"]) == ("pending", 2, None)
    assert given["submitted_at"] == since
    assert queue(admin) == [first, down, last]


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_reviewers_may_decide_about_it_all_the_same(
    app: Flask, world: World, admin: Api, ada: Caller, decision: str
) -> None:
    down = world.project(ada)
    admin.put(f"/api/admin/projects/{down}/unpublish")
    assert admin.put(f"/api/admin/projects/{down}/{decision}").status_code == 200
    with app.app_context():
        stored = db.session.get_one(Project, down)
        assert stored.status == {"approve": "live", "reject": "rejected"}[decision]
        waited = db.session.scalars(select(AuditEntry.waited_seconds).order_by(AuditEntry.id.desc()).limit(1)).one()
    assert waited is None  # it was not the reviewers who kept it waiting
    if decision == "reject":
        world.caller(ada).put(f"/api/projects/{down}", {"tagline": "Another"})
        assert queue(admin) == [down]


def test_the_dashboard_counts_what_waits_for_reviewers_alone(world: World, admin: Api, ada: Caller) -> None:
    down = world.project(ada)
    admin.put(f"/api/admin/projects/{down}/unpublish")
    review = admin.get("/api/admin/analytics").json["review"]
    assert (review["queue_length"], review["oldest_submitted_at"]) == (0, None)


def test_a_suspension_that_takes_down_leaves_nothing_with_its_owner(
    app: Flask, world: World, admin: Api, ada: Caller
) -> None:
    down = world.project(ada)
    admin.put(f"/api/admin/projects/{down}/unpublish")
    admin.put(f"/api/admin/users/{ada.id}", {"status": "suspended", "unpublish": True})
    with app.app_context():
        stored = db.session.get_one(Project, down)
        assert stored.status == "rejected"
    assert world.case(down).turn is None


def test_its_owner_reads_that_it_was_taken_down_why_and_what_to_do(world: World, admin: Api, ada: Caller) -> None:
    down = world.project(ada)
    admin.put(f"/api/admin/projects/{down}/unpublish", {"reason": "A dead link."})
    shown = world.caller(ada).get(f"/p/{down}/-", follow_redirects=True).get_data(as_text=True)
    assert "Taken down" in shown
    assert "A dead link." in shown
    assert "Give it back to the reviewers by" in shown
    assert "In review" not in shown


# --- Suspended owners -------------------------------------------------------------------------------------------------


def test_the_queue_and_a_batch_name_what_is_of_a_suspended_owner(world: World, admin: Api, ada: Caller) -> None:
    of_ada, other, changed = world.project(ada, "pending"), world.project(status="pending"), world.project(ada)
    world.revise(changed, ada, title="Other")
    admin.put(f"/api/admin/users/{ada.id}", {"status": "suspended"})
    warned = {item["id"]: item["warnings"] for item in admin.get(QUEUE).json["items"]}
    assert warned == {of_ada: ["owner_suspended"], other: [], changed: ["owner_suspended"]}
    answer = admin.post("/api/admin/projects/decisions", {"decision": "approve", "ids": [of_ada, other, changed, 999]})
    assert [item.get("warnings") for item in answer.json["items"]] == [
        ["owner_suspended"], None, ["owner_suspended"], None,
    ]  # fmt: skip
    admin.put(f"/api/admin/users/{ada.id}", {"status": "active"})
    again = world.project(ada, "pending")
    assert [item["warnings"] for item in admin.get(QUEUE).json["items"] if item["id"] == again] == [[]]


# --- Rejected changes -------------------------------------------------------------------------------------------------


def rejected(caller: Api, project: int) -> Any:
    return caller.get(f"/api/projects/{project}").json["revision"]


def test_rejected_changes_keep_what_was_written_until_the_next_edit(world: World, admin: Api, ada: Caller) -> None:
    owner, project = world.caller(ada), world.project(ada)
    world.category("web")
    changes = {"title": "Other", "description": "Long.", "category": "web", "tags": ["a"]}
    world.revise(project, ada, **changes)
    assert "rejected" not in rejected(owner, project)
    assert admin.put(f"/api/admin/projects/{project}/reject", {"reason": "No."}).status_code == 200
    note = {"changes": {}, "submitted_at": None, "reason": "No.", "rejected": changes}
    assert rejected(owner, project) == rejected(admin, project) == note
    [listed] = owner.get("/api/projects?owner=me").json["items"]
    assert listed["revision"] == note
    assert owner.get("/api/projects").json["items"][0]["revision"] == note  # over the cached page
    assert "rejected" not in world.caller(world.user()).get(f"/api/projects/{project}").json
    assert admin.delete("/api/admin/categories/web").status_code == 204  # nothing waits for it any more
    assert owner.put(f"/api/projects/{project}", {"title": "Third"}).status_code == 200
    again = rejected(owner, project)
    assert (again["changes"], "rejected" in again) == ({"title": "Third"}, False)
    assert admin.put(f"/api/admin/projects/{project}/reject").json["revision"]["rejected"] == {"title": "Third"}
    assert owner.delete(f"/api/projects/{project}/revision").status_code == 204
    assert rejected(owner, project) is None
