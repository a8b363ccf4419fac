"""SELF_REVIEW=refuse: nobody decides about a project of their own."""

from typing import Any

import pytest
from flask import Flask

from directory.services.identity import Caller
from tests.support.browsers import Browser
from tests.support.factories import Api, World

DECISIONS = ("approve", "reject", "unpublish")


@pytest.fixture
def app(make_app: Any) -> Flask:
    refusing: Flask = make_app(SELF_REVIEW="refuse")
    return refusing


@pytest.fixture(params=["reviewer", "admin"])
def ada(world: World, request: pytest.FixtureRequest) -> Caller:
    world.category("tools")
    return world.reviewer("tools") if request.param == "reviewer" else world.admin()


def test_no_decision_about_ones_own_whatever_the_state_the_version_and_the_body(world: World, ada: Caller) -> None:
    caller, other = world.caller(ada), world.caller(world.reviewer("tools"))
    for status in ("pending", "live", "rejected"):
        project = world.project(ada, status)
        for decision in DECISIONS:
            path = f"/api/review/projects/{project}/{decision}"
            for sent in ({}, {"json": {"nonsense": 1}}, {"headers": {"If-Match": '"99"'}}, {"data": b"{"}):
                answer = caller.call("PUT", path, **sent)
                assert (answer.status_code, answer.json["code"]) == (403, "own_submission")
        assert world.stored(project)["status"] == status
    assert other.put(f"/api/review/projects/{world.project(ada, 'pending')}/approve").status_code == 200
    assert caller.put(f"/api/review/projects/{world.project(status='pending')}/approve").status_code == 200


def test_what_one_may_not_review_is_not_found_first(world: World) -> None:
    world.category("games")
    ada = world.reviewer("games")
    project = world.project(ada, "pending", category="tools")
    for project_id in (project, 4711):
        answer = world.caller(ada).put(f"/api/review/projects/{project_id}/approve", {"nonsense": 1})
        assert answer.status_code == 404


def test_in_bulk_each_of_ones_own_has_the_code_and_only_deleting_is_allowed(world: World, ada: Caller) -> None:
    caller, own, others = world.caller(ada), world.project(ada, "pending"), world.project(status="pending")
    under = "admin" if ada.role == "admin" else "review"
    path = f"/api/{under}/projects/decisions"
    items = [{"id": own, "version": 99}, {"id": others}]
    for decision in DECISIONS[:2]:
        first, _ = caller.post(path, {"decision": decision, "items": items}).json["items"]
        assert (first["status"], first["code"]) == (403, "own_submission")
        assert "project" not in first
    assert (world.stored(own)["status"], world.stored(others)["status"]) == ("pending", "live")
    if ada.role == "admin":
        [deleted] = caller.post(path, {"decision": "delete", "ids": [own]}).json["items"]
        assert deleted["status"] == 200
    assert caller.delete(f"/api/projects/{world.project(ada)}").status_code == 204


def test_an_administrators_edit_of_their_own_live_project_is_held(world: World) -> None:
    root = world.admin()
    caller, other = world.caller(root), world.caller(world.admin())
    own, others = world.project(root), world.project()
    held = caller.put(f"/api/projects/{own}", {"title": "Held"}).json
    assert (held["title"] == "Held", held["revision"]["changes"]) == (False, {"title": "Held"})
    assert caller.put(f"/api/projects/{others}", {"title": "Applied"}).json["title"] == "Applied"
    assert caller.put(f"/api/admin/projects/{own}/approve").json["code"] == "own_submission"
    assert other.put(f"/api/admin/projects/{own}/approve").json["title"] == "Held"
    assert caller.get("/api/session").json["reviewed_fields"] != []


def test_the_form_of_ones_own_project_says_what_waits_for_review(app: Flask, world: World) -> None:
    root = world.admin()
    own, others = world.project(root), world.project()
    world.caller(root).put(f"/api/projects/{own}", {"title": "Held"})
    page = Browser(app).sign_in(root.username)
    assert "Held" in page.get(f"/mine/{own}/edit").text
    shown = [page.get(f"/mine/{project}/edit").text for project in (own, others)]
    assert ["after a reviewer has approved them" in text for text in shown] == [True, False]


def test_by_default_everybody_decides_about_their_own(make_app: Any) -> None:
    world = World(make_app())
    for user in (world.reviewer(), world.admin()):
        caller: Api = world.caller(user)
        assert caller.put(f"/api/review/projects/{world.project(user, 'pending')}/approve").status_code == 200
