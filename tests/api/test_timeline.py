"""A project's timeline: what its owner learns of what happened to it."""

from typing import Any

import pytest
from flask import Flask

from tests.support.factories import Api, World


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("root"))


def story(admin: Api, owner: Api, project: int) -> None:
    """All that can happen to a pending project."""
    steps: list[tuple[str, Any]] = [
        ("reject", {"reason": "Not yet."}), ("edit", {"tagline": "Better"}), ("approve", {"reason": "Fine"}),
        ("unpublish", {"reason": "Broken."}), ("reject", None),
    ]  # fmt: skip
    for word, body in steps:
        if word == "edit":
            answer = owner.put(f"/api/projects/{project}", body)
        else:
            answer = admin.put(f"/api/admin/projects/{project}/{word}", body)
        assert answer.status_code == 200
    assert admin.put(f"/api/projects/{project}", {"tagline": "By the administrator"}).status_code == 200


def test_it_tells_what_happened_oldest_first_and_not_who_reviewed(world: World, admin: Api) -> None:
    bob = world.user("bob")
    project, other = (world.project(bob, "pending") for _ in range(2))
    owner, path = world.caller(bob), f"/api/projects/{project}/timeline"
    story(admin, owner, project)
    admin.put(f"/api/admin/projects/{other}/approve")
    answer = owner.get(path)
    items = answer.json["items"]
    assert [(item["event"], item.get("reason")) for item in items] == [
        ("submitted", None), ("rejected", "Not yet."), ("edited", None), ("approved", None),
        ("unpublished", "Broken."), ("rejected", None), ("edited", None),
    ]  # fmt: skip
    assert [item["at"] for item in items] == sorted(item["at"] for item in items)
    assert items[0]["at"] == owner.get(f"/api/projects/{project}").json["created_at"]
    allowed = {"at", "event", "reason"}
    assert all(item.keys() <= allowed and ("reason" not in item or item["reason"]) for item in items)
    assert "root" not in answer.text
    assert admin.get(path).json == answer.json
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_it_is_of_this_project_alone(world: World, admin: Api) -> None:
    body = {"title": "T", "tagline": "T", "url": "https://same.example", "category": world.category()}
    first, second = (world.caller(world.user()) for _ in range(2))
    gone = first.post("/api/projects", body).headers["Location"]
    admin.put(f"/api/admin{gone.removeprefix('/api')}/reject", {"reason": "Spam."})
    first.delete(gone)
    path = second.post("/api/projects", body).headers["Location"]
    assert [item["event"] for item in second.get(f"{path}/timeline").json["items"]] == ["submitted"]
    assert first.get(f"{gone}/timeline").status_code == 404


@pytest.mark.parametrize("state", ["live", "pending", "rejected"])
def test_none_but_the_owner_and_administrators_see_it(world: World, api: Api, admin: Api, state: str) -> None:
    bob = world.user()
    path = f"/api/projects/{world.project(bob, state)}/timeline"
    stranger = world.caller(world.user()).get(path)
    expected = (403, "not_owner") if state == "live" else (404, "not_found")
    assert (stranger.status_code, stranger.json["code"]) == expected
    assert api.get(path).status_code == 401
    assert {caller.get(path).status_code for caller in (world.caller(bob), admin)} == {200}
    assert admin.get("/api/projects/999/timeline").status_code == 404


def test_a_long_one_goes_on_by_cursor(app: Flask, world: World) -> None:
    bob = world.user()
    owner, project = world.caller(bob), world.project(bob, "pending")
    for number in range(4):
        owner.put(f"/api/projects/{project}", {"tagline": f"Tagline {number}"})
    path = f"/api/projects/{project}/timeline"
    whole = owner.get(path).json
    assert whole["pagination"] == {"limit": 100, "next_cursor": None, "prev_cursor": None}
    found: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = owner.get(f"{path}?limit=2{cursor and f'&cursor={cursor}'}").json
        found += page["items"]
        cursor = page["pagination"]["next_cursor"]
    assert found == whole["items"]
    assert len(found) == 5
    for bad in ("limit=0", "limit=101", "page=1", "sort=newest", "cursor=x"):
        assert owner.get(f"{path}?{bad}").status_code == 422
