"""Revisions: a live project stays as it was reviewed until a reviewer approves its owner's changes."""

import json
from typing import Any

import pytest
from flask import Flask

from directory.api.schemas.projects import ProjectInput, RevisionChanges
from directory.extensions import db
from directory.models import AuditEntry, Review
from directory.services.catalog import fields
from directory.services.identity import Caller
from tests.conftest import Statements
from tests.support.factories import Api, World
from tests.support.lists import QUEUE_ORDERS
from tests.support.reviewing import NOTIFYING, decide, decisions, outbox

QUEUE = "/api/admin/projects?waiting=true"
ALL: dict[str, Any] = {
    "title": "Another", "tagline": "Of another kind", "author": "Somebody", "description": "More.",
    "url": "https://another.example", "repository_url": None, "logo_url": "https://another.example/logo.png",
    "category": "games", "tags": ["x"],
}  # fmt: skip


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    return make_app(**NOTIFYING)  # type: ignore[no-any-return]


@pytest.fixture
def admin(notifying: Flask, world: World) -> Api:
    return Api(notifying, world.caller(world.admin("root")).token)


@pytest.fixture
def owner(notifying: Flask, world: World, ada: Caller) -> Api:
    return Api(notifying, world.caller(ada).token)


@pytest.fixture
def project(world: World, ada: Caller) -> int:
    world.category("games")
    return world.project(
        ada, title="Tool", tags=["a"], repository_url="https://code.example/tool", url="https://tool.example/home"
    )


def path(project: int) -> str:
    return f"/api/projects/{project}"


def entries(app: Flask, *names: str) -> list[Any]:
    with app.app_context():
        found = db.session.query(AuditEntry).filter(AuditEntry.actor_id.is_not(None)).order_by(AuditEntry.id)
        return [tuple(getattr(entry, name) for name in names) for entry in found if entry.action != "project.submitted"]


def waiting(admin: Api) -> list[int]:
    return [item["id"] for item in admin.get(QUEUE).json["items"]]


def test_the_table_of_fields_has_the_fields_of_a_submission_and_of_a_revision() -> None:
    assert set(fields.NAMES) == {*ProjectInput().fields, "logo", "pictures"} == set(RevisionChanges().fields)


def test_changes_of_material_fields_wait_and_the_others_apply_at_once(
    notifying: Flask, world: World, owner: Api, admin: Api, project: int, api: Api
) -> None:
    before = api.get(path(project)).json
    answer = owner.put(path(project), ALL)
    assert answer.status_code == 200
    held = {name: ALL[name] for name in ALL if name not in {"category", "tags"}}
    after = answer.json
    assert after["revision"] == {"changes": held, "submitted_at": after["revision"]["submitted_at"], "reason": None}
    assert {name: after[name] for name in held} == {name: before[name] for name in held}
    assert (after["category"]["slug"], after["tags"], after["status"]) == ("games", ["x"], "live")
    assert after["version"] == before["version"] + 1
    assert after["queue_position"] == 1
    assert after["submitted_at"] == before["submitted_at"]
    for caller in (owner, admin):
        assert caller.get(path(project)).json["revision"] == after["revision"]
        for query in ("", "?q=tool", "?sort=upvotes", "?owner=ada"):
            assert caller.get(f"/api/projects{query}").json["items"][0]["revision"] == after["revision"]
        assert caller.get("/api/projects?owner=me").status_code == 200
    assert owner.get("/api/projects?owner=me").json["items"][0]["queue_position"] == 1
    assert admin.get(QUEUE).json["items"][0]["revision"] == after["revision"]
    stranger = world.caller(world.user())
    for caller in (api, stranger):
        assert "revision" not in caller.get(path(project)).json
        assert "revision" not in caller.get("/api/projects").json["items"][0]
    live = {name: before["category"]["slug"] if name == "category" else before[name] for name in ALL}
    assert entries(notifying, "action", "from_state", "to_state", "changes") == [
        ("project.edited", "live", "live",
         {name: {"from": live[name], "to": ALL[name]} for name in ("category", "tags")}),
        ("project.edit_held", "live", "live", {name: {"from": live[name], "to": held[name]} for name in held}),
    ]  # fmt: skip
    [event] = outbox(notifying)
    assert (event["type"], event["data"]["edited_by"]["username"]) == ("project.edited", "ada")
    assert event["data"]["changes"] == {
        "category": {"from": "tools", "to": "games"},
        "tags": {"from": ["a"], "to": ["x"]},
    }


@pytest.mark.parametrize("review", ["material", "always", "never"])
def test_the_setting_says_which_fields_are_reviewed(
    make_app: Any, world: World, ada: Caller, project: int, review: str
) -> None:
    owner = Api(make_app(REVIEW_ON_EDIT=review), world.caller(ada).token)
    for name, value in ALL.items():
        answer = owner.put(path(project), {name: value}).json
        held = review == "always" or (review == "material" and name not in {"category", "tags"})
        assert (name in (answer["revision"] or {"changes": {}})["changes"]) == held
        shown = answer["category"]["slug"] if name == "category" else answer[name]
        assert (shown == value) != held


@pytest.mark.parametrize("review", ["material", "always"])
@pytest.mark.parametrize("same", ["http://www.tool.example/home/", "https://TOOL.example:443/home#top"])
def test_a_url_that_counts_as_the_same_needs_no_review(
    make_app: Any, world: World, ada: Caller, project: int, review: str, same: str
) -> None:
    app = make_app(REVIEW_ON_EDIT=review)
    owner = Api(app, world.caller(ada).token)
    assert owner.put(path(project), {"url": "https://other.example"}).json["revision"] is not None
    answer = owner.put(path(project), {"url": same}).json
    assert (answer["url"], answer["revision"]) == (same, None)
    assert [action for (action,) in entries(app, "action")] == [
        "project.edit_held", "project.edited", "project.edit_withdrawn"
    ]  # fmt: skip


@pytest.mark.parametrize("review", ["material", "always"])
@pytest.mark.parametrize(
    "other",
    [
        "https://tool.example/Home", "https://tool.example/home?ref=x", "https://tool.example/x/../home",
        "https://tool.example/home?referrer=https://evil.example", "https://tool.example/home?utm_source=x",
        "https://tool.example/%68ome", "https://tool.example/home?", "https://tool.example/home#/x",
        "https://tool.example/home//", "https://tool.example:8443/home", "https://\uff54ool.example/home",
    ],
)  # fmt: skip
def test_no_other_spelling_of_a_url_becomes_public_without_review(
    make_app: Any, world: World, ada: Caller, project: int, review: str, other: str
) -> None:
    owner = Api(make_app(REVIEW_ON_EDIT=review), world.caller(ada).token)
    answer = owner.put(path(project), {"url": other}).json
    assert (answer["url"], answer["revision"]["changes"]) == ("https://tool.example/home", {"url": other})


@pytest.mark.parametrize(
    ("live", "other"),
    [
        ("https://github.com/a/b", "https://github.com/A/b"), ("https://github.com/a/b", "https://github.com/a/b.git"),
        ("https://b.example/?a=1&b=2", "https://b.example/?b=2&a=1"),
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
        ("https://app.example/#/one", "https://app.example/#/two"),
    ],
)  # fmt: skip
def test_what_may_lead_elsewhere_is_reviewed_although_it_would_be_a_duplicate(
    app: Flask, world: World, ada: Caller, live: str, other: str
) -> None:
    project = world.project(ada, url=live)
    answer = Api(app, world.caller(ada).token).put(path(project), {"url": other}).json
    assert (answer["url"], answer["revision"]["changes"]) == (live, {"url": other})


def test_a_later_edit_is_merged_and_a_field_that_is_set_back_leaves(
    notifying: Flask, owner: Api, admin: Api, project: int
) -> None:
    first = owner.put(path(project), {"title": "One", "tagline": "Two"}).json
    second = owner.put(path(project), {"tagline": "Three", "repository_url": None}).json
    assert second["revision"]["changes"] == {"title": "One", "tagline": "Three", "repository_url": None}
    assert second["revision"]["submitted_at"] == first["revision"]["submitted_at"]
    assert owner.put(path(project), {"title": "One"}).headers["ETag"] == admin_etag(owner, project)
    third = owner.put(path(project), {"title": "Tool", "repository_url": "https://code.example/tool"}).json
    assert third["revision"]["changes"] == {"tagline": "Three"}
    last = owner.put(path(project), {"tagline": first["tagline"]}).json
    assert (last["revision"], last["queue_position"], waiting(admin)) == (None, None, [])
    assert [last["version"], third["version"], second["version"], first["version"]] == [6, 5, 4, 3]
    assert {one["updated_at"] for one in (first, second, third, last)} == {first["updated_at"]}
    log = entries(notifying, "action", "changes")
    assert [action for action, _ in log] == ["project.edit_held"] * 3 + ["project.edit_withdrawn"]
    assert log[1][1] == {
        "tagline": {"from": first["tagline"], "to": "Three"},
        "repository_url": {"from": "https://code.example/tool", "to": None},
    }
    assert log[3][1] is None
    assert outbox(notifying) == []


def admin_etag(caller: Api, project: int) -> str:
    return str(caller.get(path(project)).headers["ETag"])


def test_if_match_guards_the_project_and_its_revision(owner: Api, project: int) -> None:
    seen = owner.get(path(project)).json["version"]
    assert owner.put(path(project), {"title": "A"}, headers={"If-Match": f'"{seen}"'}).status_code == 200
    for method, where in (("PUT", ""), ("DELETE", "/revision"), ("DELETE", "")):
        body = {"title": "B"} if method == "PUT" else None
        stale = owner.call(method, path(project) + where, body, headers={"If-Match": f'"{seen}"'})
        assert (stale.status_code, stale.json["code"]) == (412, "precondition_failed")
    current = {"If-Match": f'"{seen + 1}"'}
    assert owner.delete(path(project) + "/revision", headers=current).status_code == 204
    assert owner.get(path(project)).json["version"] == seen + 2


def test_a_withdrawal_deletes_the_revision(
    notifying: Flask, world: World, owner: Api, admin: Api, project: int, api: Api
) -> None:
    where = path(project) + "/revision"
    assert owner.delete(where).status_code == 404
    for caller in (owner, admin):
        owner.put(path(project), {"title": "A"})
        assert world.caller(world.user()).delete(where).status_code == 403
        assert api.delete(where).status_code == 401
        assert caller.delete(where).status_code == 204
        assert owner.get(path(project)).json["revision"] is None
        assert caller.delete(where).status_code == 404
    assert decisions(notifying) == ["project.edit_held", "project.edit_withdrawn"] * 2
    assert outbox(notifying) == []


def test_an_approval_applies_the_changes(make_app: Any, world: World, ada: Caller, project: int, api: Api) -> None:
    app = make_app(REVIEW_ON_EDIT="always", **NOTIFYING)
    owner, admin = Api(app, world.caller(ada).token), Api(app, world.caller(world.admin("root")).token)
    world.vote(project, world.user())
    before = api.get(path(project)).json
    row = world.row(project)
    owner.put(path(project), ALL)
    assert waiting(admin) == [project]
    assert api.get("/api/projects?q=another").json["items"] == []
    answer = decide(admin, project, "approve", "Fine.")
    assert answer.status_code == 200
    after = api.get(path(project)).json
    assert {name: after[name] for name in ALL} == {**ALL, "category": {"slug": "games", "name": "Games"}}
    assert after["slug"] == "another"
    assert {name: after[name] for name in ("published_at", "upvotes", "created_at", "submitted_at", "status")} == {
        name: before[name] for name in ("published_at", "upvotes", "created_at", "submitted_at", "status")
    }
    changed = world.row(project)
    assert row is not None
    assert changed is not None
    assert (changed.hot, changed.listed_at) == (row.hot, row.listed_at)
    assert after["updated_at"] > before["updated_at"]
    assert (answer.json["revision"], answer.json["queue_position"], waiting(admin)) == (None, None, [])
    assert [item["id"] for item in api.get("/api/projects?q=another").json["items"]] == [project]
    assert api.get("/api/projects?q=tool").json["items"] == []
    assert {tag["tag"]: tag["live_projects"] for tag in api.get("/api/tags").json["items"]} == {"x": 1}
    live = {each["slug"]: each["live_projects"] for each in api.get("/api/categories").json["items"]}
    assert live == {"games": 1, "tools": 0}
    again = decide(admin, project, "approve")
    assert (again.status_code, again.json) == (200, answer.json)
    was = {name: before["category"]["slug"] if name == "category" else before[name] for name in ALL}
    changes = {name: {"from": was[name], "to": ALL[name]} for name in ALL}
    assert entries(app, "action", "from_state", "to_state", "reason", "changes")[1:] == [
        ("project.edit_approved", "live", "live", "Fine.", changes)
    ]
    [event] = outbox(app)
    assert (event["type"], event["data"]["edited_by"]["username"]) == ("project.edited", "root")
    assert event["data"]["changes"] == changes
    not_sent = {"has_upvoted", "version", "repository", "dead_since"}
    assert event["data"]["project"] == {n: v for n, v in after.items() if n not in not_sent}
    assert "reason" not in event["data"]
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


def test_a_rejection_keeps_the_project_and_leaves_a_note(
    notifying: Flask, world: World, owner: Api, admin: Api, project: int, api: Api
) -> None:
    owner.put(path(project), {"title": "A", "url": "https://spam.example"})
    before = api.get(path(project)).json
    answer = decide(admin, project, "reject", "Spam.")
    assert answer.status_code == 200
    written = {"title": "A", "url": "https://spam.example"}
    note = {"changes": {}, "submitted_at": None, "reason": "Spam.", "rejected": written}
    assert (answer.json["revision"], answer.json["status"], answer.json["queue_position"]) == (note, "live", None)
    assert answer.json["rejection_reason"] is None
    assert owner.get(path(project)).json["revision"] == note
    assert {**api.get(path(project)).json, "version": 0} == {**before, "version": 0}
    assert waiting(admin) == []
    for reason in ("Spam.", "Another"):
        again = decide(admin, project, "reject", reason)
        assert (again.status_code, again.json) == (200, answer.json)
    refused = decide(admin, project, "approve")
    assert (refused.status_code, refused.json["code"], refused.json["current_status"]) == (
        409, "invalid_transition", "live"
    )  # fmt: skip
    assert entries(notifying, "action", "reason")[1:] == [("project.edit_rejected", "Spam.")]
    assert outbox(notifying) == []
    admin.put(path(project), {"tagline": "By an administrator"})
    assert owner.get(path(project)).json["revision"] == note
    assert owner.put(path(project), {"tags": ["new"]}).json["revision"] is None
    assert decide(admin, project, "reject").status_code == 409


def test_the_note_of_a_rejection_ends_with_the_next_changes_or_a_withdrawal(
    owner: Api, admin: Api, project: int
) -> None:
    owner.put(path(project), {"title": "A"})
    decide(admin, project, "reject")
    note = {"changes": {}, "submitted_at": None, "reason": None, "rejected": {"title": "A"}}
    assert owner.get(path(project)).json["revision"] == note
    assert owner.put(path(project), {"title": "Tool"}).json["revision"] is not None  # which changes nothing
    again = owner.put(path(project), {"title": "B"}).json["revision"]
    assert (again["changes"], again["reason"]) == ({"title": "B"}, None)
    assert again["submitted_at"] is not None
    decide(admin, project, "reject", "No.")
    assert owner.delete(path(project) + "/revision").status_code == 204
    assert owner.get(path(project)).json["revision"] is None


def test_without_a_revision_decisions_answer_as_ever(owner: Api, admin: Api, project: int) -> None:
    before = admin.get(path(project)).json
    assert decide(admin, project, "approve").json == before | {"approvals": None}
    assert decide(admin, project, "reject").json["current_status"] == "live"


def test_decisions_are_about_the_version_that_was_seen(owner: Api, admin: Api, project: int) -> None:
    owner.put(path(project), {"title": "A"})
    seen = {"If-Match": f'"{admin.get(path(project)).json["version"]}"'}
    owner.put(path(project), {"title": "B"})
    for word in ("approve", "reject"):
        answer = admin.put(f"/api/admin/projects/{project}/{word}", headers=seen)
        assert (answer.status_code, answer.json["code"]) == (412, "precondition_failed")
    current = {"If-Match": f'"{admin.get(path(project)).json["version"]}"'}
    decided = admin.put(f"/api/admin/projects/{project}/approve", headers=current)
    assert decided.json["title"] == "B"
    for headers in (current, seen):  # the answer was lost, and is asked for again
        assert admin.put(f"/api/admin/projects/{project}/approve", headers=headers).json == decided.json


def test_many_revisions_and_submissions_are_decided_together(
    notifying: Flask, world: World, ada: Caller, owner: Api, admin: Api, project: int
) -> None:
    others = [world.project(ada) for _ in range(3)]
    pending = world.project(ada, "pending")
    for each in (project, *others[:2]):
        owner.put(path(each), {"title": f"New {each}"})
    versions = {each: admin.get(path(each)).json["version"] for each in (project, *others, pending)}
    owner.put(path(others[1]), {"title": "Changed meanwhile"})
    items = [{"id": each, "version": version} for each, version in versions.items()]
    answer = admin.post("/api/admin/projects/decisions", {"decision": "approve", "items": items}).json["items"]
    assert [item["status"] for item in answer] == [200, 200, 412, 200, 200]
    assert answer[0]["project"]["title"] == f"New {project}"
    assert answer[2]["project"]["revision"]["changes"] == {"title": "Changed meanwhile"}
    rejected = admin.post("/api/admin/projects/decisions", {"decision": "reject", "ids": [others[1], project]})
    assert [item["status"] for item in rejected.json["items"]] == [200, 409]
    assert sorted(decisions(notifying)) == sorted(
        ["project.edit_held"] * 4 + ["project.edit_approved"] * 2 + ["project.approved", "project.edit_rejected"]
    )


def test_no_decision_of_many_is_about_a_version_that_was_not_seen(owner: Api, admin: Api, project: int) -> None:
    seen = admin.get(path(project)).json["version"]
    owner.put(path(project), {"title": "A"})
    for decision in ("approve", "reject", "unpublish", "delete"):
        body = {"decision": decision, "items": [{"id": project, "version": seen}]}
        [item] = admin.post("/api/admin/projects/decisions", body).json["items"]
        assert (item["status"], item["code"]) == (412, "precondition_failed")
        assert item["project"]["revision"]["changes"] == {"title": "A"}


def test_a_url_that_is_only_held_reserves_nothing_and_is_refused_at_its_approval(
    notifying: Flask, world: World, ada: Caller, owner: Api, admin: Api, project: int
) -> None:
    owner.put(path(project), {"url": "https://new.example", "title": "New"})
    other = owner.post(
        "/api/projects", {"title": "O", "tagline": "O", "url": "http://www.new.example/", "category": "tools"}
    )
    assert other.status_code == 201
    taken = decide(admin, project, "approve")
    assert (taken.status_code, taken.json["code"]) == (409, "duplicate")
    assert taken.json["errors"][0]["pointer"] == "#/url"
    bystander = world.project(ada, "pending")
    items = admin.post("/api/admin/projects/decisions", {"decision": "approve", "ids": [project, bystander]}).json[
        "items"
    ]
    assert items[0] == {"id": project, "status": 409, "code": "duplicate"}
    assert items[1]["project"]["status"] == "live"
    kept = owner.get(path(project)).json
    assert (kept["title"], kept["revision"]["changes"]) == ("Tool", {"title": "New", "url": "https://new.example"})
    assert waiting(admin)[0] == project
    assert "project.edit_approved" not in decisions(notifying)
    refused = owner.put(path(project), {"url": "https://new.example/#again"})
    assert (refused.status_code, refused.json["existing"]["id"]) == (409, other.json["id"])
    owner.delete(other.headers["Location"])
    assert decide(admin, project, "approve").json["url"] == "https://new.example"


def test_a_url_that_another_user_publishes_meanwhile_can_still_be_approved(
    world: World, owner: Api, admin: Api, project: int
) -> None:
    owner.put(path(project), {"url": "https://new.example"})
    other = world.project(world.user("bob"), url="https://new.example")
    assert decide(admin, project, "approve").json["url"] == "https://new.example"
    assert admin.get(path(other)).json["status"] == "live"


def test_an_owner_who_is_an_administrator_now_edits_at_once_and_a_member_again_does_not(
    ada: Caller, owner: Api, admin: Api, project: int
) -> None:
    owner.put(path(project), {"title": "A", "tagline": "B"})
    admin.put(f"/api/admin/users/{ada.id}", {"role": "admin"})
    edited = owner.put(path(project), {"title": "C", "tagline": "B"}).json
    assert (edited["title"], edited["tagline"], edited["revision"]["changes"]) == ("C", "B", {"title": "A"})
    assert decide(owner, project, "approve").json["title"] == "A"
    admin.put(f"/api/admin/users/{ada.id}", {"role": "member"})
    held = owner.put(path(project), {"title": "D"}).json
    assert (held["title"], held["revision"]["changes"]) == ("A", {"title": "D"})


@pytest.mark.parametrize("away", ["unpublish", "takedown", "delete", "bulk"])
def test_what_takes_a_project_away_deletes_its_revision(
    notifying: Flask, ada: Caller, owner: Api, admin: Api, project: int, away: str
) -> None:
    owner.put(path(project), {"title": "A"})
    if away == "unpublish":
        assert decide(admin, project, "unpublish", "Why.").json["revision"] is None
    elif away == "takedown":
        suspended = {"status": "suspended", "unpublish": True}
        assert admin.put(f"/api/admin/users/{ada.id}", suspended).status_code == 200
    elif away == "delete":
        assert owner.delete(path(project)).status_code == 204
    else:
        admin.post("/api/admin/projects/decisions", {"decision": "unpublish", "ids": [project]})
    with notifying.app_context():
        assert db.session.query(Review).filter(Review.changes.is_not(None)).all() == []
    if away in {"unpublish", "bulk"}:
        assert decide(admin, project, "approve").json["title"] == "Tool"


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_an_edit_of_what_is_not_live_is_no_event(
    notifying: Flask, world: World, owner: Api, admin: Api, ada: Caller, status: str
) -> None:
    made = path(world.project(ada, status, title="Hidden"))
    for caller in (admin, owner):
        assert caller.put(made, {"tagline": f"By {caller is owner}", "tags": []}).status_code == 200
    assert decisions(notifying) == ["project.edited", "project.edited"]
    assert outbox(notifying) == []


def test_the_deletion_of_the_owner_deletes_the_revision(notifying: Flask, owner: Api, admin: Api, project: int) -> None:
    before = owner.put(path(project), {"title": "A"}).json
    assert owner.delete("/api/auth/me", json={"current_password": "correct horse battery"}).status_code == 204
    after = admin.get(path(project)).json
    assert (after["revision"], after["version"], after["status"]) == (None, before["version"] + 1, "live")
    assert waiting(admin) == []


@pytest.mark.parametrize("end", ["approve", "reject", "unpublish", "takedown", "deletion"])
def test_what_ends_one_revision_leaves_those_of_others_alone(
    world: World, ada: Caller, owner: Api, admin: Api, project: int, end: str
) -> None:
    bob = world.user("bob")
    other = world.project(bob)
    world.caller(bob).put(path(other), {"title": "B"})
    before = admin.get(path(other)).json
    assert (before["revision"]["changes"], before["queue_position"]) == ({"title": "B"}, 1)
    owner.put(path(project), {"title": "A"})
    if end == "takedown":
        admin.put(f"/api/admin/users/{ada.id}", {"status": "suspended", "unpublish": True})
    elif end == "deletion":
        assert owner.delete("/api/auth/me", json={"current_password": "correct horse battery"}).status_code == 204
    else:
        assert decide(admin, project, end).status_code == 200
    assert waiting(admin) == [other]
    assert admin.get(path(other)).json == before


def test_an_administrators_edit_applies_and_the_revision_keeps_what_still_differs(
    notifying: Flask, owner: Api, admin: Api, project: int
) -> None:
    owner.put(path(project), {"title": "A", "tagline": "B"})
    edited = admin.put(path(project), {"title": "A", "description": "C"}).json
    assert (edited["title"], edited["description"]) == ("A", "C")
    assert edited["revision"]["changes"] == {"tagline": "B"}
    last = admin.put(path(project), {"tagline": "B"}).json
    assert (last["tagline"], last["revision"], waiting(admin)) == ("B", None, [])
    assert decisions(notifying) == ["project.edit_held", "project.edited", "project.edited"]
    assert [event["type"] for event in outbox(notifying)] == ["project.edited"] * 2
    assert outbox(notifying)[0]["data"]["edited_by"]["username"] == "root"


def test_the_queue_has_submissions_and_revisions_by_how_long_they_wait(
    world: World, ada: Caller, owner: Api, admin: Api, project: int
) -> None:
    first = world.project(ada, "pending")
    owner.put(path(project), {"title": "A"})
    last = world.project(world.user(), "pending", category="games")
    calm = world.project(ada)
    assert waiting(admin) == [first, project, last]
    for place, each in enumerate((first, project, last), 1):
        assert admin.get(path(each)).json["queue_position"] == place
    assert admin.get(path(calm)).json["queue_position"] is None
    own = {item["id"]: item["queue_position"] for item in owner.get("/api/projects?owner=me").json["items"]}
    assert own == {first: 1, project: 2, calm: None}
    assert [item["id"] for item in admin.get("/api/admin/projects?status=pending").json["items"]] == [first, last]
    for query, ids in {
        "status=live": [project], "status=pending": [first, last], "status=rejected": [], "category=games": [last],
        "category=tools": [first, project], "owner=ada": [first, project], "q=tool": [project],
        "q=tool&status=pending": [], "sort=newest": [last, first, project], "sort=oldest": [first, project, last],
        "q=things&owner=ada": [project, first], "sort=upvotes": [last, first, project],
        "q=things&sort=oldest": [first, project, last],
    }.items():  # fmt: skip
        found = admin.get(f"{QUEUE}&{query}").json
        assert sorted(item["id"] for item in found["items"]) == sorted(ids), query
        if "sort" in query or "q" not in query:
            assert [item["id"] for item in found["items"]] == ids, query
        assert found["pagination"]["total"] == len(ids), query
    owner.put(path(project), {"title": "B"})
    assert waiting(admin) == [first, project, last]
    refused = admin.get("/api/admin/projects?waiting=false")
    assert (refused.status_code, refused.json["errors"][0]["parameter"]) == (422, "waiting")


@pytest.mark.parametrize("sort", QUEUE_ORDERS)
def test_the_queue_goes_on_by_page_and_by_cursor(world: World, ada: Caller, owner: Api, admin: Api, sort: str) -> None:
    projects = [world.project(ada, "pending" if n % 2 else "live") for n in range(6)]
    for each in projects[::2]:
        owner.put(path(each), {"title": f"Changed {each}"})
    whole = [item["id"] for item in admin.get(f"{QUEUE}&sort={sort}").json["items"]]
    assert sorted(whole) == sorted(projects)
    for start in ("", "&page=1"):
        seen, query = [], f"{QUEUE}&sort={sort}&limit=2{start}"
        while query:
            answer = admin.get(query).json
            seen += [item["id"] for item in answer["items"]]
            following = answer["pagination"]["next_cursor"]
            query = f"{QUEUE}&sort={sort}&limit=2&cursor={following}" if following else ""
        assert seen == whole
    pages = [admin.get(f"{QUEUE}&sort={sort}&limit=2&page={n}").json["items"] for n in (1, 2, 3)]
    assert [item["id"] for page in pages for item in page] == whole
    assert admin.get(f"/api/admin/projects?sort={sort}&cursor={following or 'x'}").status_code == 422


def test_the_queue_costs_the_statements_of_the_pending_ones(
    world: World, ada: Caller, owner: Api, admin: Api, project: int, statements: Statements
) -> None:
    owner.put(path(project), {"title": "A"})
    world.project(ada, "pending")
    costs = []
    for query in ("status=pending", "waiting=true", "waiting=true&category=tools"):
        admin.get(f"/api/admin/projects?{query}")
        statements.clear()
        assert admin.get(f"/api/admin/projects?{query}").status_code == 200
        costs.append(len(statements))
    assert costs[0] == costs[1] == costs[2]


def test_public_statements_do_not_read_cases(
    app: Flask, world: World, ada: Caller, project: int, statements: Statements
) -> None:
    world.revise(project, ada, title="A")
    statements.clear()
    for query in ("", "?q=tool", "?category=tools&sort=upvotes", "?tag=a", f"/{project}"):
        assert Api(app).get(f"/api/projects{query}").status_code == 200
    assert statements
    assert not any("reviews" in statement for statement in statements)


def test_the_timeline_tells_its_owner_of_the_revision(notifying: Flask, owner: Api, admin: Api, project: int) -> None:
    owner.put(path(project), {"title": "A"})
    decide(admin, project, "reject", "No.")
    owner.put(path(project), {"title": "B"})
    owner.delete(path(project) + "/revision")
    owner.put(path(project), {"title": "C"})
    decide(admin, project, "approve", "For the log.")
    events = owner.get(path(project) + "/timeline").json["items"]
    assert [(event["event"], event.get("reason")) for event in events[2:]] == [
        ("edit_held", None), ("edit_rejected", "No."), ("edit_held", None), ("edit_withdrawn", None),
        ("edit_held", None), ("edit_approved", None),
    ]  # fmt: skip
    assert set(entries(notifying, "from_state", "to_state")) == {("live", "live")}


def test_the_dashboard_counts_revisions_in_the_queue_and_their_decisions_in_times_and_rates(
    world: World, ada: Caller, owner: Api, admin: Api, project: int, make_app: Any
) -> None:
    other = world.project(ada)
    for each in (project, other):
        owner.put(path(each), {"title": f"Changed {each}"})
    pending = world.project(ada, "pending")
    review = admin.get("/api/admin/analytics").json["review"]
    submitted = admin.get(path(project)).json["revision"]["submitted_at"]
    assert (review["queue_length"], review["oldest_submitted_at"]) == (3, submitted)
    before = {each["username"]: each for each in admin.get("/api/admin/analytics?days=2").json["reviewers"]}
    assert before == {}
    decide(admin, project, "approve")
    decide(admin, other, "reject")
    fresh = Api(make_app(), admin.token)
    after = fresh.get("/api/admin/analytics").json
    assert after["review"]["queue_length"] == 1
    assert after["review"]["oldest_submitted_at"] == admin.get(path(pending)).json["submitted_at"]
    assert after["review"]["approval_rate"] == 1 / 2  # the fixture, which is nobody, approved two others
    [root] = after["reviewers"]
    assert (root["username"], root["approved"], root["rejected"]) == ("root", 1, 1)
    assert root["median_seconds"] > 0
    assert after["series"][-1]["approvals"] == 2
    assert after["series"][-1]["rejections"] == 0


def test_the_export_has_the_revision(owner: Api, project: int) -> None:
    owner.put(path(project), {"title": "A"})
    [exported] = owner.get("/api/auth/me/export").json["projects"]
    assert exported["revision"]["changes"] == {"title": "A"}
    assert exported["history"][-1]["event"] == "edit_held"


def test_a_category_that_waits_follows_its_name_and_is_not_deleted(
    make_app: Any, world: World, ada: Caller, project: int
) -> None:
    app = make_app(REVIEW_ON_EDIT="always")
    owner, admin = Api(app, world.caller(ada).token), Api(app, world.caller(world.admin()).token)
    assert owner.put(path(project), {"category": "games"}).json["revision"]["changes"] == {"category": "games"}
    used = admin.delete("/api/admin/categories/games")
    assert (used.status_code, used.json["code"]) == (409, "category_in_use")
    assert admin.put("/api/admin/categories/games", {"slug": "play"}).status_code == 200
    assert owner.get(path(project)).json["revision"]["changes"] == {"category": "play"}
    assert decide(admin, project, "approve").json["category"]["slug"] == "play"
    assert admin.delete("/api/admin/categories/tools").status_code == 204


@pytest.mark.parametrize("cache", ["true", "false"])
def test_an_owner_gets_another_answer_once_the_queue_moves_or_a_category_that_waits_is_renamed(
    make_app: Any, world: World, ada: Caller, project: int, cache: str
) -> None:
    app = make_app(REVIEW_ON_EDIT="always", RESPONSE_CACHE=cache)
    owner, admin = Api(app, world.caller(ada).token), Api(app, world.caller(world.admin()).token)
    first = world.project(status="pending")
    owner.put(path(project), {"category": "games"})
    addresses = (path(project), "/api/projects?owner=me")

    def tags() -> list[str]:
        return [owner.get(address).headers["ETag"] for address in addresses]

    def shown(before: list[str]) -> list[Any]:
        answers = [owner.get(each, headers={"If-None-Match": tag}) for each, tag in zip(addresses, before, strict=True)]
        found = [one.json.get("items", [one.json])[0] if one.status_code == 200 else None for one in answers]
        return [each and (each["queue_position"], each["revision"]["changes"]["category"]) for each in found]

    before = tags()
    assert shown(before) == [None, None]
    decide(admin, first, "approve")
    assert shown(before) == [(1, "games")] * 2
    before = tags()
    admin.put("/api/admin/categories/games", {"slug": "play"})
    assert shown(before) == [(1, "play")] * 2


def test_edits_of_what_is_not_live_hold_nothing(owner: Api, world: World, ada: Caller) -> None:
    for status, after in (("pending", "pending"), ("rejected", "pending")):
        each = world.project(ada, status)
        edited = owner.put(path(each), {"title": "Edited"}).json
        assert (edited["title"], edited["status"], edited["revision"]) == ("Edited", after, None)
        assert owner.delete(path(each) + "/revision").status_code == 404


def test_an_upgrade_of_the_setting_lets_an_edit_at_once_replace_what_waited(
    make_app: Any, world: World, ada: Caller, project: int
) -> None:
    token = world.caller(ada).token
    always, never = (Api(make_app(REVIEW_ON_EDIT=each), token) for each in ("always", "never"))
    always.put(path(project), {"tags": ["x"], "title": "A"})
    after = never.put(path(project), {"tags": ["y"]}).json
    assert (after["tags"], after["revision"]["changes"]) == (["y"], {"title": "A"})


def test_what_waits_is_text_of_the_owner_and_stays_as_it_was_written(owner: Api, project: int) -> None:
    text = '<script>alert("1")</script> \u2603 \U0001f600 \\u0000'
    answer = owner.put(path(project), {"description": text, "title": "null"}).json
    assert json.loads(json.dumps(answer["revision"]["changes"])) == {"title": "null", "description": text}
