"""Decisions about the version that was reviewed, about one project and about many at once."""

import json
from typing import Any

import pytest
from flask import Flask

from directory.models import Status
from tests.conftest import Statements
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING, decide, decisions, outbox

PATH = "/api/admin/projects/decisions"
STALE = {"status": 412, "code": "precondition_failed"}


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    """An application with an endpoint that wants every event."""
    return make_app(**NOTIFYING)  # type: ignore[no-any-return]


@pytest.fixture
def admin(notifying: Flask, world: World) -> Api:
    return Api(notifying, world.caller(world.admin("root")).token)


def decide_many(admin: Api, decision: str, *wanted: Any, **more: Any) -> list[dict[str, Any]]:
    """The items of the answer. Each of `wanted` is an id, or an id with a version."""
    items = [{"id": one} if isinstance(one, int) else {"id": one[0], "version": one[1]} for one in wanted]
    answer = admin.post(PATH, {"decision": decision, "items": items, **more})
    assert answer.status_code == 200, answer.json
    assert [item["id"] for item in answer.json["items"]] == [item["id"] for item in items]
    return list(answer.json["items"])


def version(admin: Api, project: int) -> int:
    shown = admin.get(f"/api/projects/{project}")
    assert shown.headers["ETag"].startswith(f'"{shown.json["version"]}-')
    return int(shown.json["version"])


def test_each_project_carries_its_version_in_lists_and_alone(world: World, api: Api, admin: Api) -> None:
    bob = world.user("bob")
    project = world.project(bob)
    owner, path = world.caller(bob), f"/api/projects/{project}"
    for expected in (2, 3):
        for caller in (api, owner, admin):
            assert caller.get(path).json["version"] == expected
            assert caller.get("/api/projects").json["items"][0]["version"] == expected
            assert caller.get("/api/projects?q=project").json["items"][0]["version"] == expected
        assert owner.get("/api/projects?owner=me").json["items"][0]["version"] == expected
        assert admin.get("/api/admin/projects").json["items"][0]["version"] == expected
        before = api.get("/api/projects").headers["ETag"]
        if expected == 2:
            assert owner.put(path, {"tagline": "Another"}).json["version"] == 3
            assert api.get("/api/projects", headers={"If-None-Match": before}).status_code == 200
    world.vote(project, world.user())
    assert api.get(path).json["version"] == 3


@pytest.mark.parametrize(("word", "state"), [("approve", "pending"), ("reject", "pending"), ("unpublish", "live")])
def test_a_decision_is_about_the_version_that_was_seen(
    notifying: Flask, world: World, admin: Api, word: str, state: str
) -> None:
    owner = world.user()
    project = world.project(owner, state)
    path = f"/api/projects/{project}"
    seen = admin.get(path)
    assert world.caller(owner).put(path, {"description": "Something else altogether"}).status_code == 200
    bare = f'"{seen.json["version"]}"'
    for stale in ({"If-Match": seen.headers["ETag"]}, {"If-Match": bare}, {"If-None-Match": "*"}):
        answer = admin.put(f"/api/admin/projects/{project}/{word}", headers=stale)
        assert (answer.status_code, answer.json["code"]) == (412, "precondition_failed")
    assert admin.get(path).json["status"] == state
    edited = "project.edit_held" if state == "live" else "project.edited"
    assert (decisions(notifying), outbox(notifying)) == ([edited], [])
    current = {"If-Match": f'"{version(admin, project)}"'}
    assert admin.put(f"/api/admin/projects/{project}/{word}", headers=current).status_code == 200
    assert admin.put(f"/api/admin/projects/999/{word}", headers=current).status_code == 404


def test_the_bare_version_is_an_if_match_of_edits_and_deletions(world: World) -> None:
    bob = world.user()
    owner, path = world.caller(bob), f"/api/projects/{world.project(bob)}"
    assert owner.put(path, {"tagline": "A"}, headers={"If-Match": '"2"'}).json["version"] == 3
    for method, body in (("PUT", {"tagline": "B"}), ("DELETE", None)):
        assert owner.call(method, path, body, headers={"If-Match": '"2"'}).status_code == 412
    assert owner.delete(path, headers={"If-Match": '"3"'}).status_code == 204


def shown(admin: Api, project: int) -> dict[str, Any]:
    """A project as a decision answers it, where one approval is enough."""
    return admin.get(f"/api/projects/{project}").json | {"approvals": None}


@pytest.mark.parametrize(("word", "state"), [("approve", "live"), ("reject", "rejected")])
def test_a_decision_that_holds_stays_so_whatever_version_was_seen(
    notifying: Flask, world: World, admin: Api, word: str, state: str
) -> None:
    project = world.project(status=state)
    before = shown(admin, project)
    for asked in ({"If-Match": '"1"'}, {"If-Match": '"99"'}):
        answer = admin.put(f"/api/admin/projects/{project}/{word}", {"reason": "Again"}, headers=asked)
        assert (answer.status_code, answer.json) == (200, before)
    assert decide_many(admin, word, (project, 1)) == [{"id": project, "status": 200, "project": before}]
    assert (decisions(notifying), outbox(notifying)) == ([], [])


def test_to_unpublish_what_is_pending_is_stale_or_a_conflict(world: World, admin: Api) -> None:
    project = world.project()
    stale, current = ({"If-Match": f'"{number}"'} for number in (2, 3))
    path = f"/api/admin/projects/{project}/unpublish"
    assert [admin.put(path, headers=stale).status_code for _ in range(2)] == [200, 412]
    assert admin.put(path, headers=current).status_code == 409
    assert [item["status"] for item in decide_many(admin, "unpublish", (project, 2))] == [412]
    assert [item["status"] for item in decide_many(admin, "unpublish", (project, 3))] == [409]


def test_an_edited_project_is_left_as_it_is_and_shown(notifying: Flask, world: World, admin: Api) -> None:
    bob = world.user()
    projects = [world.project(bob, "pending") for _ in range(3)]
    world.caller(bob).put(f"/api/projects/{projects[1]}", {"title": "Something else"})
    items = decide_many(admin, "approve", *((project, 1) for project in projects), 999)
    assert [item["status"] for item in items] == [200, 412, 200, 404]
    now = shown(admin, projects[1])
    assert items[1] == {"id": projects[1], **STALE, "project": now}
    assert (now["title"], now["version"], now["status"]) == ("Something else", 2, "pending")
    assert decisions(notifying) == ["project.edited", "project.approved", "project.approved"]
    assert len(outbox(notifying)) == 2
    assert [item["status"] for item in decide_many(admin, "approve", (projects[1], 2))] == [200]


@pytest.mark.parametrize("decision", ["approve", "reject", "unpublish", "delete"])
@pytest.mark.parametrize("state", Status)
def test_another_version_comes_before_every_other_outcome(world: World, admin: Api, decision: str, state: str) -> None:
    project = world.project(status=state)
    before = shown(admin, project)
    [item] = decide_many(admin, decision, (project, 77))
    holds = (decision, state) in {("approve", "live"), ("reject", "rejected")}
    assert item == {"id": project, **({"status": 200} if holds else STALE), "project": before}
    assert shown(admin, project) == before


def test_many_are_decided_each_by_its_own_state(notifying: Flask, world: World, admin: Api) -> None:
    pending, live, rejected = (world.project(status=s) for s in ("pending", "live", "rejected"))
    body = {"decision": "approve", "ids": [rejected, 999, live, pending]}
    items = admin.post(PATH, body).json["items"]
    assert [item["id"] for item in items] == body["ids"]
    assert [item["status"] for item in items] == [409, 404, 200, 200]
    assert items[0] == {"id": rejected, "status": 409, "code": "invalid_transition"}
    assert items[3]["project"]["status"] == "live"
    assert decisions(notifying) == ["project.approved"]
    more = world.project(status="pending")
    [item] = decide_many(admin, "reject", more, reason="Spam")
    assert item["project"]["rejection_reason"] == "Spam"
    items = decide_many(admin, "unpublish", pending, more, reason="Not any more")
    assert [item["status"] for item in items] == [200, 409]
    assert items[0]["project"]["rejection_reason"] == "Not any more"


def test_many_are_deleted_in_every_state_and_the_reason_stands_in_the_log(
    notifying: Flask, world: World, admin: Api
) -> None:
    projects = [world.project(status=state, votes=int(state == "live"), tags=["a"]) for state in Status]
    gone = world.project()
    admin.delete(f"/api/projects/{gone}")
    items = decide_many(admin, "delete", *projects, gone, (world.project(), 77), reason="Spam")
    assert items[:4] == [
        *({"id": project, "status": 200} for project in projects),
        {"id": gone, "status": 404, "code": "not_found"},
    ]
    assert items[4]["status"] == 412
    for project in projects:
        assert admin.get(f"/api/projects/{project}").status_code == 404
        [entry] = admin.get(f"/api/admin/audit?action=project.deleted&project_id={project}").json["items"]
        assert (entry["reason"], entry["to"]) == ("Spam", None)
    assert decisions(notifying) == ["project.deleted"] * 4
    assert [event["type"] for event in outbox(notifying)] == ["project.deleted"] * 4
    assert "Spam" not in json.dumps(outbox(notifying))
    assert notifying.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0
    assert [item["status"] for item in decide_many(admin, "delete", *projects)] == [404] * 3


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"decision": "approve"}, ["items"]),
        ({"decision": "approve", "ids": [1], "items": [{"id": 1}]}, ["items"]),
        ({"decision": "approve", "ids": None}, ["ids"]), ({"decision": "approve", "items": None}, ["items"]),
        ({}, ["decision", "items"]), ({"ids": [1], "items": []}, ["decision", "items", "items"]),
        ({"decision": "publish", "ids": [1]}, ["decision"]),
        ({"decision": "approve", "ids": []}, ["ids"]), ({"decision": "approve", "ids": [1, 1]}, ["ids"]),
        ({"decision": "approve", "ids": list(range(1, 102))}, ["ids"]), ({"decision": "approve", "ids": [0]}, ["ids"]),
        ({"decision": "approve", "ids": [2**63]}, ["ids"]), ({"decision": "approve", "ids": [1.5]}, ["ids/0"]),
        ({"ids": [1]}, ["decision"]), ({"decision": "approve", "ids": ["1", True]}, ["ids/0", "ids/1"]),
        ({"decision": "approve", "items": []}, ["items"]), ({"decision": "approve", "items": {}}, ["items"]),
        ({"decision": "approve", "items": [7]}, ["items/0"]), ({"decision": "approve", "items": [{}]}, ["items/0/id"]),
        ({"decision": "approve", "items": [{"id": 1}] * 2}, ["items"]),
        ({"decision": "approve", "items": [{"id": 1, "version": 1}, {"id": 1, "version": 2}]}, ["items"]),
        ({"decision": "approve", "items": [{"id": n} for n in range(1, 102)]}, ["items"]),
        ({"decision": "approve", "items": [{"id": 1}, {"id": 0, "version": 0}]}, ["items/1/id", "items/1/version"]),
        ({"decision": "approve", "items": [{"id": 1, "version": None}]}, ["items/0/version"]),
        ({"decision": "approve", "items": [{"id": 1, "version": "1"}]}, ["items/0/version"]),
        ({"decision": "approve", "items": [{"id": 1, "status": "live"}]}, ["items/0/status"]),
    ],
)  # fmt: skip
def test_a_bad_batch_is_refused_whole(admin: Api, body: dict[str, Any], pointers: list[str]) -> None:
    answer = admin.post(PATH, body)
    assert (answer.status_code, answer.json["code"]) == (422, "validation_failed")
    assert sorted(error["pointer"] for error in answer.json["errors"]) == [f"#/{each}" for each in pointers]


@pytest.mark.parametrize("size", [1, 5])
def test_the_versions_of_a_batch_cost_no_statement(app: Flask, world: World, statements: Statements, size: int) -> None:
    admin = world.caller(world.admin())
    admin.get("/api/auth/me")
    costs = []
    for versions in ({}, {"version": 1}):
        items = [{"id": world.project(status="pending"), **versions} for _ in range(size)]
        statements.clear()
        assert admin.post(PATH, {"decision": "approve", "items": items}).status_code == 200
        costs.append(len(statements))
    assert costs[0] == costs[1]
    statements.clear()
    stale = [{"id": item["id"], "version": 77} for item in items]
    assert admin.post(PATH, {"decision": "unpublish", "items": stale}).status_code == 200
    # Who calls, their account locked, the cases with their projects, the projects without a case, which they may have
    # got meanwhile, the projects as they are now, the role.
    assert len(statements) == 7


def test_of_two_decisions_about_one_version_the_second_is_stale(world: World, admin: Api) -> None:
    project = world.project()
    seen = version(admin, project)
    assert decide(admin, project, "unpublish").status_code == 200
    [item] = decide_many(admin, "delete", (project, seen))
    assert (item["status"], item["project"]["status"]) == (412, "pending")
