"""Users with their statistics, and what administrators change of them."""

from typing import Any

import pytest
from flask import Flask

from directory.extensions import db
from directory.models import AuditEntry
from tests.conftest import Statements
from tests.support.factories import PASSWORD, Api, World


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("root"))


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.json
    return [item["username"] for item in answer.json["items"]]


def test_statistics_count_real_rows(world: World, admin: Api) -> None:
    bob, eve = world.user("bob"), world.user("eve")
    live = world.project(bob, votes=2)
    world.project(bob, "pending")
    world.project(bob, "rejected")
    world.vote(live, eve)
    world.vote(live, bob)
    users = {item["username"]: item for item in admin.get("/api/admin/users").json["items"]}
    assert users["bob"]["stats"]["projects"] == {"live": 1, "pending": 1, "rejected": 1, "total": 3}
    assert users["bob"]["stats"]["upvotes_received"] == 4
    assert users["bob"]["stats"]["upvotes_given"] == 1
    assert users["bob"]["stats"]["last_submission_at"] is not None
    assert users["eve"]["stats"] == {
        "projects": {"live": 0, "pending": 0, "rejected": 0, "total": 0},
        "upvotes_given": 1, "upvotes_received": 0, "last_submission_at": None,
    }  # fmt: skip
    assert users["eve"]["email"] == "eve@example.org"
    assert "password_hash" not in users["eve"]


def test_users_are_found_filtered_sorted_and_paged(world: World, admin: Api) -> None:
    world.user("bob")
    world.user("amy", status="suspended")
    world.user("b_b")
    assert names(admin.get("/api/admin/users")) == ["b_b", "amy", "bob", "root"]
    assert names(admin.get("/api/admin/users?sort=username")) == ["amy", "b_b", "bob", "root"]
    assert names(admin.get("/api/admin/users?role=admin")) == ["root"]
    assert names(admin.get("/api/admin/users?status=suspended")) == ["amy"]
    assert names(admin.get("/api/admin/users?q=BOB@")) == ["bob"]
    assert names(admin.get("/api/admin/users?q=_")) == ["b_b"]
    assert names(admin.get("/api/admin/users?q=%25")) == []
    page = admin.get("/api/admin/users?limit=3&sort=username")
    assert page.json["pagination"]["pages"] == 2
    cursor = page.json["pagination"]["next_cursor"]
    assert names(admin.get(f"/api/admin/users?limit=3&sort=username&cursor={cursor}")) == ["root"]
    assert names(admin.get("/api/admin/users?page=9")) == []


def test_the_total_is_of_the_users_that_match(world: World, admin: Api) -> None:
    bob = world.user("bob").id
    world.user("amy", status="suspended")
    kinds = ("", "?role=admin", "?role=member", "?status=active", "?status=suspended", "?role=admin&status=suspended")

    def totals() -> list[int]:
        return [admin.get(f"/api/admin/users{kind}").json["pagination"]["total"] for kind in kinds]

    assert totals() == [3, 1, 2, 2, 1, 0]
    assert admin.put(f"/api/admin/users/{bob}", {"role": "admin", "status": "suspended"}).status_code == 200
    assert totals() == [3, 2, 1, 1, 2, 1]
    assert admin.get("/api/admin/users?q=b&role=admin").json["pagination"]["total"] == 1


@pytest.mark.parametrize("size", [1, 15])
def test_a_page_of_users_costs_the_same_statements_whatever_its_size(
    world: World, admin: Api, statements: Statements, size: int
) -> None:
    for _ in range(size):
        world.project(votes=1)
    admin.get("/api/admin/users")
    statements.clear()
    admin.get("/api/admin/users")
    assert len(statements) == 4  # who calls, the page, all statistics, the total


def test_a_role_change_holds_from_the_next_request_on(app: Flask, world: World, admin: Api) -> None:
    bob = world.user("bob")
    as_bob = world.caller(bob)
    assert as_bob.get("/api/admin/users").status_code == 403
    changed = admin.put(f"/api/admin/users/{bob.id}", {"role": "admin"})
    assert (changed.json["role"], changed.json["is_admin"]) == ("admin", True)
    assert changed.json["stats"]["upvotes_given"] == 0
    assert as_bob.get("/api/admin/users").status_code == 200
    admin.put(f"/api/admin/users/{bob.id}", {"role": "member"})
    assert as_bob.get("/api/admin/users").status_code == 403
    with app.app_context():
        log = [
            (e.action, e.from_state, e.to_state, e.user_id)
            for e in db.session.query(AuditEntry).order_by(AuditEntry.id)
        ]
    assert log == [
        ("user.role_changed", "member", "admin", bob.id), ("user.role_changed", "admin", "member", bob.id),
    ]  # fmt: skip


def test_a_suspension_ends_every_session_and_token_at_once(app: Flask, world: World, admin: Api) -> None:
    bob = world.user("bob")
    as_bob = world.caller(bob)
    client = app.test_client()
    signed_in = client.post("/api/auth/login", json={"login": "bob", "password": PASSWORD})
    assert signed_in.status_code == 200
    answer = admin.put(f"/api/admin/users/{bob.id}", {"status": "suspended", "role": "admin"})
    assert (answer.json["status"], answer.json["role"]) == ("suspended", "admin")
    assert as_bob.get("/api/auth/me").status_code == 401
    assert client.get("/api/auth/me").status_code == 401
    refused = Api(app).post("/api/auth/login", json={"login": "bob", "password": PASSWORD})
    assert refused.json["code"] == "account_suspended"
    wrong = Api(app).post("/api/auth/login", json={"login": "bob", "password": "wrong"})
    assert wrong.json["code"] == "invalid_credentials"
    with app.app_context():
        assert {e.action for e in db.session.query(AuditEntry)} == {"user.role_changed", "user.status_changed"}
    assert admin.put(f"/api/admin/users/{bob.id}", {"status": "active"}).json["status"] == "active"
    assert as_bob.get("/api/auth/me").status_code == 401


@pytest.mark.parametrize("change", [{"role": "member"}, {"status": "suspended"}])
def test_the_last_active_administrator_stays(world: World, admin: Api, change: dict[str, str]) -> None:
    world.user("gone", role="admin", status="suspended")
    answer = admin.put("/api/admin/users/1", change)
    assert (answer.status_code, answer.json["code"]) == (409, "last_admin")
    assert admin.put("/api/admin/users/1", {"role": "admin", "status": "active"}).status_code == 200
    other = world.admin()
    assert admin.put("/api/admin/users/1", change).status_code == 200
    assert world.caller(other).get("/api/admin/users").status_code == 200


def test_a_change_of_nothing_is_logged_as_nothing(app: Flask, world: World, admin: Api) -> None:
    bob = world.user()
    assert admin.put(f"/api/admin/users/{bob.id}", {}).status_code == 200
    assert admin.put(f"/api/admin/users/{bob.id}", {"role": "member"}).status_code == 200
    with app.app_context():
        assert db.session.query(AuditEntry).count() == 0
    assert admin.put("/api/admin/users/999", {"role": "member"}).status_code == 404
    assert admin.put(f"/api/admin/users/{bob.id}", {"role": "owner"}).status_code == 422
    assert admin.put(f"/api/admin/users/{bob.id}", {"is_admin": True}).status_code == 422
