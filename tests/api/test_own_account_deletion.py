"""Leaving over HTTP: the export of one's data, the password that a deletion needs, and names that are reserved."""

import json
import re
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.api import account_deletion
from directory.extensions import db
from directory.models import Session, Token, User
from directory.services.accounts import usernames
from directory.services.identity import Caller
from directory.services.people import account_export
from tests.conftest import Statements
from tests.support.account_deletion import leave
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World

PATH, EXPORT = "/api/auth/me", "/api/auth/me/export"


def test_the_export_holds_all_of_ones_own(app: Flask, world: World, ada: Caller, browser: Browser) -> None:
    rejected, live = world.project(ada, "rejected"), world.project(ada, description="**Mine**", tags=["a"])
    others, hidden = world.project(title="Theirs"), world.project(title="Hidden")
    for project in (live, others, hidden):
        world.vote(project, ada)
    admin = world.caller(world.admin("root"))
    admin.put(f"/api/admin/projects/{hidden}/unpublish", {"reason": "Secret."})
    token = world.caller(ada)

    answer = browser.get(EXPORT)

    assert (answer.status_code, answer.content_type) == (200, "application/json")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="project-directory-ada.json"'
    assert answer.headers["Cache-Control"] == "private, no-store"
    found = answer.json
    assert found["complete"] is True
    assert found["account"] | {"permissions": []} == browser.get(PATH).json
    assert [project["id"] for project in found["projects"]] == [live, rejected]
    assert found["projects"][0]["description"] == "**Mine**"
    assert (found["projects"][0]["upvotes"], found["projects"][0]["has_upvoted"]) == (1, True)
    assert found["projects"][1]["rejection_reason"] == "Not yet."
    for project in found["projects"]:
        timeline = browser.get(f"/api/projects/{project['id']}/timeline").json["items"]
        assert project["history"] == timeline
        assert len(timeline) == 2
    votes = [(vote["project_id"], vote["title"]) for vote in found["votes"]]
    assert votes == [(hidden, None), (others, "Theirs"), (live, found["projects"][0]["title"])]
    assert found["sessions"] == browser.get("/api/auth/sessions").json["items"]
    assert [each["name"] for each in found["tokens"]] == ["test"]
    assert token.get(EXPORT).json["projects"] == found["projects"]


def test_the_export_has_no_secret_no_hash_and_nobody_else(
    app: Flask, world: World, ada: Caller, browser: Browser
) -> None:
    project = world.project(ada, "pending")
    admin = world.caller(world.admin("grace"))
    admin.put(f"/api/admin/projects/{project}/reject", {"reason": "Not yet."})
    given = browser.get(EXPORT).text
    with app.app_context():
        secrets = [*db.session.scalars(select(User.password_hash)), *db.session.scalars(select(Session.token_hash))]
        secrets += db.session.scalars(select(Token.token_hash))
    assert secrets
    for secret in (*secrets, str(browser.cookie), "grace", "argon2", "hash"):
        assert secret not in given


def test_an_export_is_bounded_and_says_where_it_ends(
    world: World, ada: Caller, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = [world.project(ada) for _ in range(3)]
    monkeypatch.setattr(account_export, "AT_ONCE", 2)
    assert [each["id"] for each in browser.get(EXPORT).json["projects"]] == projects[::-1]
    monkeypatch.setattr(account_export, "PROJECTS_MAX", 2)
    cut = browser.get(EXPORT).json
    assert (cut["complete"], [each["id"] for each in cut["projects"]]) == (False, projects[:0:-1])
    monkeypatch.undo()
    for project in projects:
        world.vote(project, ada)
    monkeypatch.setattr(account_export, "VOTES_MAX", 2)
    cut = browser.get(EXPORT).json
    assert (cut["complete"], [each["project_id"] for each in cut["votes"]]) == (False, projects[:0:-1])
    assert len(cut["projects"]) == 3


@pytest.mark.parametrize("size", [0, 1, 12])
def test_an_export_costs_the_same_statements_for_each_hundred_projects(
    world: World, ada: Caller, browser: Browser, statements: Statements, size: int
) -> None:
    for _ in range(size):
        world.vote(world.project(ada), ada)
    browser.get(PATH)
    statements.clear()
    assert len(browser.get(EXPORT).json["projects"]) == size
    # who calls, the page and its total, the histories, the messages, the votes, the reports, the account; and the ways
    # in: the sessions, the tokens, the identities, the passkeys
    assert len(statements) == 12


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/current_password"),
        ({"current_password": "wrong"}, "#/current_password"),
        ({"current_password": ""}, "#/current_password"),
        ({"current_password": None}, "#/current_password"),
        ({"current_password": PASSWORD, "force": True}, "#/force"),
    ],
)
def test_without_the_right_password_nothing_is_deleted(browser: Browser, body: Any, pointer: str) -> None:
    answer = browser.call("DELETE", PATH, body)
    assert (answer.status_code, answer.json["code"]) == (422, "validation_failed")
    assert [error["pointer"] for error in answer.json["errors"]] == [pointer]
    assert "Set-Cookie" not in answer.headers
    assert browser.signed_in()


def test_a_body_is_needed_and_another_site_is_refused(browser: Browser) -> None:
    assert browser.call("DELETE", PATH).status_code == 415
    evil = browser.call("DELETE", PATH, {"current_password": PASSWORD}, headers={"Sec-Fetch-Site": "cross-site"})
    assert (evil.status_code, evil.json["code"]) == (403, "cross_site_request")
    assert browser.signed_in()


def test_a_wrong_password_is_answered_as_by_a_password_change_and_counts_as_one(
    make_app: Any, world: World, ada: Caller
) -> None:
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="6 per 5 minutes")
    caller = Api(app, world.caller(ada).token)
    guess = {"current_password": "wrong"}
    changed = caller.put(PATH, {**guess, "password": "an entirely new one"})
    refused = [caller.call("DELETE", PATH, guess) for _ in range(3)]
    assert [each.status_code for each in refused] == [422, 422, 429]
    assert {**refused[0].json, "request_id": ""} == {**changed.json, "request_id": ""}
    assert caller.call("DELETE", PATH, {"current_password": PASSWORD}).status_code == 429
    assert Api(app).post("/api/auth/login", {"login": "ada", "password": PASSWORD}).status_code == 429


def test_by_a_token_the_cookie_beside_it_stays(app: Flask, world: World, ada: Caller) -> None:
    other = world.user("bob")
    browser = Browser(app).sign_in("bob")
    token = {"Authorization": f"Bearer {world.caller(ada).token}"}
    answer = browser.call("DELETE", PATH, {"current_password": PASSWORD}, headers=token)
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (204, False)
    assert browser.get(PATH).json["id"] == other.id


def test_after_it_every_session_is_over_and_a_second_deletion_is_refused(app: Flask, browser: Browser) -> None:
    other, copy = Browser(app).sign_in("ada"), browser.copy(app)
    body = {"current_password": PASSWORD}
    gone = browser.call("DELETE", PATH, body)
    assert re.search(r"directory=;.* Max-Age=0", gone.headers["Set-Cookie"])
    assert gone.headers["Cache-Control"] == "no-store"
    for each in (other, copy):
        assert not each.signed_in()
        assert each.call("DELETE", PATH, body).status_code == 401


def test_a_deletion_that_was_authenticated_before_another_one_is_refused(
    app: Flask, ada: Caller, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def after_the_account_is_gone(*_: Any) -> Any:
        leave(app, ada)
        return []

    monkeypatch.setattr(account_deletion, "missing_password", after_the_account_is_gone)
    answer = browser.call("DELETE", PATH, {"current_password": PASSWORD})
    assert (answer.status_code, answer.json["code"]) == (401, "unauthenticated")


NAMES = ["admin", "root", "support", "system", "moderator", "null", "deleted-1", "deleted-", "administrator", "_admin_"]


@pytest.mark.parametrize("name", [*NAMES, "no-reply", "deleted-ada", "deleted", "admin2"])
def test_a_reserved_name_is_refused_with_all_else_that_is_wrong(app: Flask, api: Api, name: str) -> None:
    answer = api.post("/api/auth/register", {"username": name, "email": "x@example.org", "password": "short"})
    assert (answer.status_code, answer.json["code"]) == (422, "validation_failed")
    assert {"pointer": "#/username", "detail": usernames.REFUSAL} in answer.json["errors"]
    assert [error["pointer"] for error in answer.json["errors"]] == ["#/username", "#/password"]
    with app.app_context():
        assert db.session.scalar(select(User.id)) is None


@pytest.mark.parametrize("name", ["ADMIN", "Root", "Deleted-7", "deleted_7", "M-E", "me", "_me_"])
def test_case_does_not_matter(name: str) -> None:
    assert usernames.is_reserved(name)


@pytest.mark.parametrize("name", ["ada", "undeleted-1", "administer", "rooty", "systems"])
def test_other_names_are_free(api: Api, name: str) -> None:
    answer = api.post("/api/auth/register", {"username": name, "email": "x@example.org", "password": PASSWORD})
    assert answer.status_code == 201, answer.json


def test_operators_may_use_a_reserved_name_and_who_has_one_stays(app: Flask, world: World) -> None:
    given = ["--username", "admin", "--email", "a@example.org", "--password", PASSWORD]
    assert app.test_cli_runner().invoke(args=["users", "create-admin", *given]).exit_code == 0
    world.user("support")
    for name in ("admin", "support"):
        browser = Browser(app).sign_in(name)
        assert browser.put(PATH, {"email": f"new-{name}@example.org", "current_password": PASSWORD}).status_code == 200


@pytest.mark.parametrize("revoke", [True, False, None])
def test_tokens_are_revoked_with_a_password_if_asked(
    app: Flask, world: World, ada: Caller, browser: Browser, revoke: bool | None
) -> None:
    token, other, stranger = world.caller(ada), Browser(app).sign_in("ada"), world.caller(world.user())
    body = {"current_password": PASSWORD, "password": "an entirely new one"}
    answer = browser.put(PATH, body if revoke is None else {**body, "revoke_tokens": revoke})
    assert (answer.status_code, answer.json) == (200, browser.get(PATH).json)
    assert [browser.signed_in(), other.signed_in()] == [True, False]
    assert token.get(PATH).status_code == (401 if revoke else 200)
    assert stranger.get(PATH).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"revoke_tokens": True},
        {"revoke_tokens": False, "email": "new@example.org", "current_password": PASSWORD},
        {"revoke_tokens": "true"},
    ],
)
def test_tokens_are_revoked_with_a_password_alone(world: World, ada: Caller, body: Any) -> None:
    token = world.caller(ada)
    answer = token.put(PATH, body)
    assert (answer.status_code, {error["pointer"] for error in answer.json["errors"]}) == (422, {"#/revoke_tokens"})
    assert token.get(PATH).json["email"] == "ada@example.org"
    assert json.loads(token.get("/api/auth/tokens").text)["items"]
