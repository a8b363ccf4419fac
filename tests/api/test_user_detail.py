"""One user as administrators see it, when users were last seen, the orders of their list, and signing one out."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import NEVER, AuditEntry, LastUse, Session, Token, now
from directory.services import audit
from directory.services.data import counter_checks
from tests.conftest import Statements
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("root"))


def shown(admin: Api, user_id: int) -> Any:
    answer = admin.get(f"/api/admin/users/{user_id}")
    assert answer.status_code == 200, answer.json
    return answer.json


def names(admin: Api, query: str) -> list[str]:
    return [item["username"] for item in admin.get(f"/api/admin/users?{query}").json["items"]]


def set_all(app: Flask, model: Any, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(update(model).values(values)))


def test_a_user_is_shown_as_in_the_list_with_the_latest_entries(world: World, admin: Api) -> None:
    bob = world.user("bob")
    world.project(bob, votes=1)
    admin.put(f"/api/admin/users/{bob.id}", {"role": "admin"})
    detail = shown(admin, bob.id)
    [listed] = [item for item in admin.get("/api/admin/users").json["items"] if item["username"] == "bob"]
    entries, stored = detail.pop("audit"), detail.pop("stored_today")
    assert detail == listed
    assert stored == {"bytes": 0, "most": 50_000_000}
    assert [(entry["action"], entry["actor"]["username"]) for entry in entries] == [
        ("user.role_changed", "root"), ("project.submitted", "bob"),
    ]  # fmt: skip
    whole = admin.get("/api/admin/audit").json["items"]
    assert [entry for entry in whole if entry["id"] in {each["id"] for each in entries}] == entries
    assert admin.get("/api/admin/users/999").status_code == 404


def test_the_entries_are_the_latest_twenty_by_or_about_the_user(app: Flask, world: World, admin: Api) -> None:
    bob, eve = world.user("bob"), world.user("eve")
    with app.app_context():
        for n in range(60):
            by, about = [(bob, None), (None, bob), (bob, bob), (eve, None)][n % 4]
            facts = {"user_id": about.id if about else None}
            transaction(lambda by=by, facts=facts: audit.record("user.status_changed", by=by, **facts))
        ids = list(db.session.scalars(select(AuditEntry.id).order_by(AuditEntry.id)))
    entries = shown(admin, bob.id)["audit"]
    assert [entry["id"] for entry in entries] == [number for n, number in enumerate(ids) if n % 4 != 3][:-21:-1]
    assert shown(admin, world.user().id)["audit"] == []


@pytest.mark.parametrize("entries", [1, 40])
def test_a_user_costs_the_same_statements_whatever_there_is_to_tell(
    app: Flask, world: World, admin: Api, statements: Statements, entries: int
) -> None:
    bob = world.user("bob")
    with app.app_context():
        transaction(lambda: [audit.record("user.status_changed", by=bob, user_id=bob.id) for _ in range(entries)])
    shown(admin, bob.id)
    statements.clear()
    shown(admin, bob.id)
    assert len(statements) == 5  # who calls, the user, the statistics, the entries, what was stored today


def test_who_never_signed_in_was_never_seen_and_a_sign_out_is_not_forgotten(
    app: Flask, world: World, admin: Api
) -> None:
    bob = world.user("bob")
    assert shown(admin, bob.id)["last_seen_at"] is None
    began = now()
    browser = Browser(app).sign_in("bob")
    seen = shown(admin, bob.id)["last_seen_at"]
    assert began <= datetime.fromisoformat(seen) <= now()
    assert browser.post("/api/auth/logout").status_code == 204
    assert shown(admin, bob.id)["last_seen_at"] == seen
    assert Api(app).post(
        "/api/auth/register", {"username": "amy", "email": "a@example.org", "password": PASSWORD}
    ).json.keys() >= {"id"}
    told = {item["username"]: item["last_seen_at"] for item in admin.get("/api/admin/users").json["items"]}
    assert told["bob"] == seen
    assert told["amy"] >= seen
    assert told["root"] is not None  # by the token


@pytest.mark.parametrize("proof", ["cookie", "token"])
def test_a_use_is_seen_when_that_of_the_session_or_token_is_written_and_else_costs_nothing(
    app: Flask, world: World, admin: Api, statements: Statements, proof: str
) -> None:
    bob = world.user("bob")
    caller: Any = Browser(app).sign_in("bob") if proof == "cookie" else world.caller(bob)
    assert caller.get("/api/auth/me").status_code == 200
    set_all(app, LastUse, seen_at=NEVER)
    statements.clear()
    assert caller.get("/api/auth/me").status_code == 200
    assert not [s for s in statements if not s.startswith(("SELECT", "WITH"))]
    assert shown(admin, bob.id)["last_seen_at"] is None
    set_all(app, Session, last_seen_at=now() - timedelta(minutes=6))
    set_all(app, Token, last_used_at=now() - timedelta(minutes=6))
    began = now()
    assert caller.get("/api/auth/me").status_code == 200
    assert datetime.fromisoformat(shown(admin, bob.id)["last_seen_at"]) >= began


def test_users_sort_by_submissions_and_by_when_they_were_seen_by_page_and_cursor(
    app: Flask, world: World, admin: Api
) -> None:
    users = [world.user(f"user-{n}") for n in range(5)]
    for n, user in enumerate(users):
        for _ in range((n * 2) % 5):  # 0, 2, 4, 1, 3
            world.project(user, "pending")
        if n % 2:
            seen = update(LastUse).where(LastUse.user_id == user.id).values(seen_at=now() - timedelta(days=n))
            with app.app_context():
                transaction(lambda seen=seen: db.session.execute(seen))
    by_size = ["user-2", "user-4", "user-1", "user-3", "user-0", "root"]
    by_seen = ["root", "user-1", "user-3", "user-4", "user-2", "user-0"]
    for sort, order in (("submissions", by_size), ("last_seen", by_seen)):
        listed = names(admin, f"sort={sort}&limit=100")
        assert sorted(listed) == sorted(order)
        assert listed[:4] == order[:4]
        by_page = [name for page in (1, 2, 3) for name in names(admin, f"sort={sort}&limit=2&page={page}")]
        assert by_page == listed
        by_cursor, query = [], f"sort={sort}&limit=2"
        while query:
            page = admin.get(f"/api/admin/users?{query}").json
            by_cursor += [item["username"] for item in page["items"]]
            cursor = page["pagination"]["next_cursor"]
            query = f"sort={sort}&limit=2&cursor={cursor}" if cursor else ""
        assert by_cursor == listed
        assert names(admin, f"sort={sort}&role=member")[0] == next(name for name in order if name != "root")
    assert admin.get("/api/admin/users?sort=email").status_code == 422


def test_submissions_are_counted_as_they_come_and_go(app: Flask, world: World, admin: Api) -> None:
    bob, eve = world.user("bob"), world.user("eve")
    projects = [world.project(bob, status) for status in ("live", "pending", "rejected")] + [world.project(eve)]
    assert names(admin, "sort=submissions")[:2] == ["bob", "eve"]
    for project in projects[:3]:
        assert admin.delete(f"/api/projects/{project}").status_code == 204
    assert names(admin, "sort=submissions")[0] == "eve"
    with app.app_context():
        assert counter_checks.USERS.look() == []


def test_a_blank_query_is_no_query(world: World, admin: Api) -> None:
    world.project(title="Blank")
    for path in ("/api/admin/users", "/api/admin/projects", "/api/projects"):
        every = admin.get(path).json["items"]
        assert every
        for blank in ("", "%20%20", "%E2%80%8B", "+%C2%A0"):
            assert admin.get(f"{path}?q={blank}").json["items"] == every
        cursor = admin.get(f"{path}?limit=1&q=%20").json["pagination"]["next_cursor"]
        if cursor:  # a list without a query gave it out
            assert admin.get(f"{path}?limit=1&cursor={cursor}").status_code == 200
        assert admin.get(f"{path}?q=%00").status_code == 422
    first = admin.get("/api/projects?q=%20&sort=newest")
    assert first.status_code == 200


def test_signing_a_user_out_ends_cookies_and_not_tokens(app: Flask, world: World, admin: Api) -> None:
    bob = world.user("bob")
    here, there = Browser(app).sign_in("bob"), Browser(app).sign_in("bob")
    program = world.caller(bob)
    eve = Browser(app).sign_in(world.user("eve").username)
    answer = admin.delete(f"/api/admin/users/{bob.id}/sessions")
    assert (answer.status_code, answer.data) == (204, b"")
    assert [caller.get("/api/auth/me").status_code for caller in (here, there, program, eve)] == [401, 401, 200, 200]
    [entry] = admin.get(f"/api/admin/audit?user_id={bob.id}").json["items"]
    assert (entry["action"], entry["actor"]["username"]) == ("user.signed_out", "root")
    assert admin.get("/api/admin/audit?action=user.signed_out").json["items"] == [entry]
    # Nothing is left to end, so there is nothing to log.
    assert admin.delete(f"/api/admin/users/{bob.id}/sessions").status_code == 204
    assert len(admin.get(f"/api/admin/audit?user_id={bob.id}").json["items"]) == 1
    assert admin.delete("/api/admin/users/999/sessions").status_code == 404
    assert Browser(app).sign_in("bob").get("/api/auth/me").status_code == 200
