"""How an account becomes a reviewer, of which categories, and what is said of it."""

from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.extensions import db
from directory.models import AuditEntry, User
from tests.conftest import Statements
from tests.support.factories import Api, World


@pytest.fixture
def admin(world: World) -> Api:
    for category in ("art", "games", "tools"):
        world.category(category)
    return world.caller(world.admin())


def change(admin: Api, user: Any, **body: Any) -> Any:
    return admin.put(f"/api/admin/users/{user.id}", body)


def log(app: Flask) -> list[tuple[str, str | None, str | None, Any]]:
    with app.app_context():
        entries = db.session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(each.action, each.from_state, each.to_state, each.changes) for each in entries]


def between(before: list[str] | None, after: list[str] | None) -> tuple[str, None, None, Any]:
    return ("user.categories_changed", None, None, {"review_categories": {"from": before, "to": after}})


def test_an_administrator_makes_reviewers_of_all_or_some_categories(app: Flask, world: World, admin: Api) -> None:
    ada = world.user("ada")
    made = change(admin, ada, role="reviewer").json
    assert (made["role"], made["is_admin"], made["review_categories"]) == ("reviewer", False, None)
    assert change(admin, ada, review_categories=["tools", "art"]).json["review_categories"] == ["art", "tools"]
    assert change(admin, ada, review_categories=["art", "tools"]).status_code == 200
    assert change(admin, ada, role="reviewer", status="active").json["review_categories"] == ["art", "tools"]
    assert change(admin, ada, review_categories=None).json["review_categories"] is None
    assert change(admin, ada, role="reviewer", review_categories=["games"]).json["review_categories"] == ["games"]
    assert change(admin, ada, role="member").json["review_categories"] is None
    assert change(admin, ada, role="reviewer", review_categories=["art"]).json["review_categories"] == ["art"]
    assert log(app) == [
        ("user.role_changed", "member", "reviewer", None),
        between(None, ["art", "tools"]),
        between(["art", "tools"], None),
        between(None, ["games"]),
        ("user.role_changed", "reviewer", "member", None),
        ("user.role_changed", "member", "reviewer", None),
        between(None, ["art"]),
    ]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"role": "member", "review_categories": ["art"]}, "#/review_categories"),
        ({"role": "admin", "review_categories": None}, "#/review_categories"),
        ({"review_categories": ["art"]}, "#/review_categories"),
        ({"role": "reviewer", "review_categories": []}, "#/review_categories"),
        ({"role": "reviewer", "review_categories": [f"c{n}" for n in range(51)]}, "#/review_categories"),
        ({"role": "reviewer", "review_categories": ["art", "nowhere"]}, "#/review_categories/1"),
        ({"role": "reviewer", "review_categories": ["art", "art"]}, "#/review_categories"),
        ({"role": "reviewer", "review_categories": "art"}, "#/review_categories"),
    ],
)
def test_what_no_reviewer_can_have_is_refused(
    app: Flask, world: World, admin: Api, body: dict[str, Any], pointer: str
) -> None:
    answer = change(admin, world.user("ada"), **body)
    assert (answer.status_code, [each["pointer"] for each in answer.json["errors"]]) == (422, [pointer])
    assert log(app) == []


def test_a_renamed_category_stays_and_a_deleted_one_leaves_an_empty_list_that_means_none(
    world: World, admin: Api
) -> None:
    ada = world.user("ada")
    change(admin, ada, role="reviewer", review_categories=["art", "games"])
    project = world.project(status="pending", category="games")
    assert admin.put("/api/admin/categories/games", {"slug": "play"}).status_code == 200
    assert admin.delete("/api/admin/categories/art").status_code == 204
    assert admin.get(f"/api/admin/users/{ada.id}").json["review_categories"] == ["play"]
    by = world.caller(ada)
    assert by.get(f"/api/review/projects/{project}").status_code == 200
    assert change(admin, ada, review_categories=["games"]).json["review_categories"] == ["play"]  # its former slug
    assert admin.delete(f"/api/projects/{project}").status_code == 204
    assert admin.delete("/api/admin/categories/play").status_code == 204
    world.project(status="pending", category="tools")
    assert admin.get(f"/api/admin/users/{ada.id}").json["review_categories"] == []
    assert by.get("/api/review/projects").json["items"] == []
    assert by.get("/api/review/summary").json["queue_length"] == 0


def test_the_list_of_users_is_narrowed_to_reviewers_and_reads_all_categories_at_once(
    world: World, admin: Api, statements: Statements
) -> None:
    world.reviewer("tools", "art", username="ada")
    admin.get("/api/admin/users")  # records the token's use
    statements.clear()
    one = admin.get("/api/admin/users?role=reviewer").json
    number = len(statements)
    assert [(each["username"], each["review_categories"]) for each in one["items"]] == [("ada", ["art", "tools"])]
    for n in range(3):
        world.reviewer("games", username=f"bob{n}")
    world.user("eve")
    statements.clear()
    found = admin.get("/api/admin/users?role=reviewer").json
    assert (len(found["items"]), found["pagination"]["total"], len(statements)) == (4, 4, number)


def test_a_decision_about_many_accounts_takes_reviewers_too(world: World, admin: Api) -> None:
    ada = world.reviewer("tools")
    assert admin.post("/api/admin/users/decisions", {"decision": "suspend", "ids": [ada.id]}).json["changed"] == 1


def test_a_deleted_reviewer_is_a_member_without_categories(app: Flask, world: World, admin: Api) -> None:
    ada = world.reviewer("tools")
    assert admin.delete(f"/api/admin/users/{ada.id}").status_code == 204
    with app.app_context():
        found = db.session.execute(select(User.role, User.review_categories).where(User.id == ada.id)).one()
    assert tuple(found) == ("member", None)


@pytest.mark.extra("passkeys")
def test_a_session_says_what_its_caller_may_do(make_app: Any) -> None:
    world = World(make_app(REQUIRE_PASSKEY="reviewers", SITE_URL="https://directory.example"))
    world.category("tools")
    for user, expected in (
        (world.user(), []), (world.reviewer("tools"), ["review"]), (world.admin(), ["review", "administer"]),
    ):  # fmt: skip
        plain = world.caller(user)
        assert plain.get("/api/session").json["user"]["permissions"] == []
        with_passkey = world.caller(replace(user, by_passkey=True))
        assert with_passkey.get("/api/session").json["user"]["permissions"] == expected
        assert with_passkey.get("/api/auth/me").json["permissions"] == expected
        assert with_passkey.put("/api/auth/me", {"notify": False}).json["permissions"] == expected
        assert plain.get("/api/session").json.get("passkey_required", False) == bool(expected)


def test_the_command_makes_a_reviewer_and_a_member_again(app: Flask, world: World, admin: Api) -> None:
    ada, runner = world.user("ada"), app.test_cli_runner()

    def run(*arguments: str) -> str:
        return str(runner.invoke(args=["users", *arguments]).output)

    assert run("review", "ada", "--category", "tools", "--category", "art") == "ada may review tools, art now.\n"
    assert admin.get(f"/api/admin/users/{ada.id}").json["review_categories"] == ["art", "tools"]
    assert run("review", "ada") == "ada may review all categories now.\n"
    assert "no such category" in run("review", "ada", "--category", "nowhere")
    assert "ada" in run("list", "--role", "reviewer")
    assert run("demote", "ada") == "ada is a member now.\n"
    of_categories = ["user.categories_changed"] * 2
    assert [entry[0] for entry in log(app)] == ["user.role_changed", *of_categories, "user.role_changed"]
