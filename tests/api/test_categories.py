"""Categories, and the audit log's lists."""

from typing import Any

import pytest

from tests.support.factories import Api, World


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("root"))


def test_categories_are_listed_by_name_with_live_counts(world: World, api: Api, admin: Api) -> None:
    for slug, name in (("b", "Alpha"), ("a", "Beta")):
        assert admin.post("/api/admin/categories", {"slug": slug, "name": name}).status_code == 201
    world.project(category="a")
    world.project(category="a", status="pending")
    answer = api.get("/api/categories")
    assert answer.json == {
        "items": [
            {"slug": "b", "name": "Alpha", "description": "", "live_projects": 0},
            {"slug": "a", "name": "Beta", "description": "", "live_projects": 1},
        ]
    }
    again = api.get("/api/categories", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert api.get("/api/categories?x=1").status_code == 422


def test_a_category_is_changed_and_its_projects_follow(world: World, api: Api, admin: Api) -> None:
    project = world.project(category="old")
    etag = api.get(f"/api/projects/{project}").headers["ETag"]
    changed = admin.put("/api/admin/categories/old", {"slug": "new", "name": "New", "description": "D\nE"})
    assert changed.json == {"slug": "new", "name": "New", "description": "D\nE", "live_projects": 1}
    again = api.get(f"/api/projects/{project}", headers={"If-None-Match": etag})
    assert again.json["category"] == {"slug": "new", "name": "New"}
    assert admin.put("/api/admin/categories/old", {"name": "X"}).status_code == 404
    world.category("other")
    for taken in (
        admin.put("/api/admin/categories/other", {"slug": "new"}),
        admin.post("/api/admin/categories", {"slug": "new", "name": "New"}),
    ):
        assert (taken.status_code, taken.json["code"]) == (409, "duplicate")
        assert [error["pointer"] for error in taken.json["errors"]] == ["#/slug"]


def test_only_an_unused_category_is_deleted(world: World, admin: Api) -> None:
    project = world.project(category="used", status="rejected")
    refused = admin.delete("/api/admin/categories/used")
    assert (refused.status_code, refused.json["code"]) == (409, "category_in_use")
    admin.delete(f"/api/projects/{project}")
    assert admin.delete("/api/admin/categories/used").status_code == 204
    assert admin.delete("/api/admin/categories/used").status_code == 404
    assert admin.delete("/api/admin/categories/%00").status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"slug": "A", "name": "A"}, {"slug": "a"}, {"slug": "a", "name": " "}, {"slug": "a" * 51, "name": "A"}]
)
def test_a_bad_category_is_refused(admin: Api, body: Any) -> None:
    assert admin.post("/api/admin/categories", body).status_code == 422


def test_the_log_is_filtered_and_paged_by_cursor(world: World, admin: Api) -> None:
    bob = world.user("bob")
    projects = [world.project(bob) for _ in range(3)]
    admin.put(f"/api/admin/users/{bob.id}", {"status": "suspended"})
    whole = admin.get("/api/admin/audit").json["items"]
    assert [entry["id"] for entry in whole] == list(range(7, 0, -1))
    assert whole[0] == {
        "id": 7, "action": "user.status_changed", "at": whole[0]["at"], "actor": {"id": 1, "username": "root"},
        "project_id": None, "user_id": bob.id, "from": "active", "to": "suspended", "reason": None,
        "project": None, "user": {"id": bob.id, "username": "bob"}, "changes": None, "votes": None, "rule_id": None,
    }  # fmt: skip
    assert whole[1]["actor"] is None

    def ids(query: str) -> list[int]:
        return [entry["id"] for entry in admin.get(f"/api/admin/audit?{query}").json["items"]]

    assert ids("action=project.approved") == [6, 4, 2]
    assert ids(f"project_id={projects[0]}") == [2, 1]
    assert ids(f"user_id={bob.id}") == [7]
    assert ids(f"actor_id={bob.id}&action=project.submitted") == [5, 3, 1]
    seen, cursor = [], ""
    while cursor is not None:
        answer = admin.get(f"/api/admin/audit?limit=3{cursor and f'&cursor={cursor}'}").json
        seen += [entry["id"] for entry in answer["items"]]
        cursor = answer["pagination"]["next_cursor"]
    assert seen == list(range(7, 0, -1))
    back = admin.get("/api/admin/audit?limit=3&cursor=" + answer["pagination"]["prev_cursor"]).json
    assert [entry["id"] for entry in back["items"]] == [4, 3, 2]
    for bad in ("action=x", "project_id=0", "actor_id=x", "page=1", "user_id=99999999999999999999"):
        assert admin.get(f"/api/admin/audit?{bad}").status_code == 422
