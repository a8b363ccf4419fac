"""SIGNUP_DOMAINS: who may open an account, and what a new account can do before its address is confirmed."""

import re
import time
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import User, now
from directory.server.vote_batching import Together
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.lying_provider import LyingProvider, walk
from tests.support.routes import Targets, operation, routes, sending

DOMAINS = {"SIGNUP_DOMAINS": "example.org, *.below.example, Bücher.example"}
MAIL = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "a@example.net", "SITE_URL": "https://directory.example"}
# What an account that has to confirm its address may do all the same, of what an anonymous caller may not.
OPEN = {
    "POST /api/auth/logout", "GET /api/auth/me", "PUT /api/auth/me", "DELETE /api/auth/me",
    "POST /api/auth/email/verification", "GET /account", "POST /account/email", "POST /account/verification",
    "POST /account/delete", "POST /verify/again",
}  # fmt: skip


@pytest.fixture
def app(make_app: Any) -> Flask:
    return make_app(**DOMAINS, **MAIL)  # type: ignore[no-any-return]


def register(app: Flask, email: str = "ada@example.org", username: str = "ada") -> Any:
    browser = Browser(app)
    body = {"username": username, "email": email, "password": PASSWORD}
    return browser, browser.post("/api/auth/register", body)


def confirm(app: Flask, username: str = "ada") -> None:
    with app.app_context():
        given = update(User).where(User.username == username).values(email_verified_at=now())
        transaction(lambda: db.session.execute(given))


@pytest.mark.parametrize(
    ("email", "is_admitted"),
    [
        ("a@example.org", True), ("a@EXAMPLE.org", True), ("a@sub.example.org", False), ("a@notexample.org", False),
        ("example.org@evil.example", False), ("a@example.org.evil.example", False),
        ("a@x.below.example", True), ("a@y.x.below.example", True), ("a@below.example", False),
        ("a@xbelow.example", False), ("a@bücher.example", True), ("a@xn--bcher-kva.example", True),
        ("a@bucher.example", False), ("a@evil.example@example.org", False), ('"a@evil.example"@example.org', False),
        ("a@evil.example,b@example.org", False), ("a@[example.org]", False), ("a@example.org.", False),
        ("a@example.org\n", False), ("a@еxample.org", False), ("a+b@example.org", True), ("a@example。org", True),
    ],
)  # fmt: skip
def test_an_address_is_compared_with_exact_domains_and_those_below(app: Flask, email: str, is_admitted: bool) -> None:
    _, answer = register(app, email)
    assert answer.status_code == (201 if is_admitted else 422)
    if not is_admitted:
        assert [each["pointer"] for each in answer.json["errors"]] == ["#/email"]


def test_an_unconfirmed_account_does_what_an_anonymous_caller_may_and_little_else(app: Flask, make_app: Any) -> None:
    """Over the route table: where an anonymous caller is refused so is the account, but for OPEN."""
    world = World(make_app())
    targets, (browser, answer) = Targets(world, world.user("owner")), register(app)
    assert answer.status_code == 201
    asked = 0
    for route in routes(app):
        if route.name in OPEN:
            continue
        path, project_id = targets.path(route.rule, "live")
        given = sending(app, route, project_id)
        anonymous = Api(app).call(route.method, path, **given)
        is_closed = anonymous.status_code == 401 or anonymous.headers.get("Location", "").startswith("/sign-in?next")
        if not is_closed or route.name in {"POST /api/auth/login", "POST /sign-in", "POST /api/auth/passkeys/login"}:
            continue
        asked += 1
        own = Browser(app, browser.cookie).call(route.method, path, **given)
        assert own.status_code == 403, (route.name, own.status_code)
        if not operation(app, route).page:
            assert own.json["code"] == "email_not_verified", route.name
    assert asked > 60
    for query in ("owner=me", "upvoted=me", "status=pending"):
        assert browser.get(f"/api/projects?{query}").json["code"] == "email_not_verified"
    assert browser.get("/api/projects").status_code == 200
    assert browser.get("/api/session").json["user"]["email_verified"] is False


def test_of_a_private_directory_it_reads_nothing_also_after_members_have_read_it(app: Flask, make_app: Any) -> None:
    private = make_app(**DOMAINS, **MAIL, READS="members")
    world = World(app)
    project = world.project(world.user("owner"), title="Planted words")
    member, (browser, _) = Browser(private).sign_in("owner"), register(private)
    for path in ("/api/projects", f"/api/projects/{project}", "/", "/api/categories", "/nothing/here"):
        for _ in range(2):
            member.get(path)
            refused = browser.get(path)
            assert refused.status_code == 403, path
            assert "Planted words" not in refused.text
    assert browser.get("/api/projects").json["code"] == "email_not_verified"
    for path in ("/account", "/verify", "/api/auth/me", "/api/session"):
        assert browser.get(path).status_code == 200, path
    confirm(private)
    assert "Planted words" in browser.get("/api/projects").text


def test_it_reads_and_corrects_its_address_has_the_link_mailed_again_and_deletes_itself(app: Flask) -> None:
    browser, _ = register(app)
    assert browser.get("/api/auth/me").json["email"] == "ada@example.org"
    for changes in ({"notify": False}, {"password": "another good one", "current_password": PASSWORD}):
        assert browser.put("/api/auth/me", changes).json["code"] == "email_not_verified"
    with_password = {"current_password": PASSWORD}
    assert browser.put("/api/auth/me", {"email": "eve@example.org", **with_password}).status_code == 200
    outside = browser.put("/api/auth/me", {"email": "eve@elsewhere.example", **with_password})
    assert [each["pointer"] for each in outside.json["errors"]] == ["#/email"]
    assert browser.post("/api/auth/email/verification").status_code == 202
    page = browser.get("/account").text
    assert "/account/email" in page
    assert "/account/delete" in page
    assert "/account/tokens" not in page
    assert "/account/password" not in page
    assert "Have the link mailed again" in browser.get("/mine").text
    assert browser.post("/account/tokens", data={"name": "x", "days": "30"}).status_code == 403
    assert browser.call("DELETE", "/api/auth/me", with_password).status_code == 204


def test_once_confirmed_or_without_the_setting_it_is_a_member_as_others(app: Flask, make_app: Any) -> None:
    browser, _ = register(app)
    assert browser.get("/api/auth/tokens").status_code == 403
    assert Browser(make_app(), browser.cookie).get("/api/auth/tokens").status_code == 200
    confirm(app)
    assert browser.get("/api/auth/tokens").status_code == 200


def test_its_votes_are_refused_alone_and_in_a_batch(app: Flask, world: World) -> None:
    browser, _ = register(app)
    project = world.project(world.user())
    assert browser.put(f"/api/projects/{project}/upvote").json["code"] == "email_not_verified"
    together = Together(app)
    environ = {
        "REQUEST_METHOD": "PUT", "PATH_INFO": f"/api/projects/{project}/upvote", "SERVER_NAME": "localhost",
        "HTTP_HOST": "localhost", "wsgi.url_scheme": "https", "HTTP_SEC_FETCH_SITE": "same-origin",
        "HTTP_COOKIE": f"{app.config['COOKIE_NAME']}={browser.cookie}", "REMOTE_ADDR": "127.0.0.1",
    }  # fmt: skip
    batched = together.routes.find(environ, time.perf_counter())
    assert batched is not None
    [answer] = together.answer([batched])
    assert b"email_not_verified" in getattr(answer, "body", b"")
    assert world.stored(project)["upvotes"] == 0


def test_accounts_that_exist_or_that_a_command_made_are_not_asked(app: Flask, make_app: Any) -> None:
    before, _ = register(make_app(), "old@elsewhere.example", "old")
    assert Browser(app, before.cookie).get("/api/auth/tokens").status_code == 200
    options = ("--username", "boss", "--email", "boss@elsewhere.example", "--password", PASSWORD)
    runner = app.test_cli_runner()
    assert runner.invoke(args=["users", "create-admin", *options]).exit_code == 0
    assert Browser(app).sign_in("boss").get("/api/admin/users").status_code == 200
    register(app)
    listed = runner.invoke(args=["users", "list", "--outside-domains"]).output
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["boss", "old"]
    without = make_app().test_cli_runner().invoke(args=["users", "list", "--outside-domains"])
    assert without.exit_code == 2
    assert "SIGNUP_DOMAINS" in without.output


def said_by(answer: Any) -> str:
    return re.sub("</?bdi[^>]*>", "", answer.text)


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_the_pages_that_sign_in_and_up_say_whom_the_site_is_for(make_app: Any) -> None:
    private, members = {"READS": "members"}, "This site is for members: only they can read it."
    domains = {
        "SIGNUP_DOMAINS": "example.org,*.example.org",
        "MAIL_URL": "smtp://localhost",
        "MAIL_FROM": "a@b.example",
    }
    addresses = "New accounts need an e-mail address that ends with @example.org, .example.org."
    for settings, said in (
        ({}, set()),
        (private, {members}),
        (domains, {addresses}),
        ({**private, **domains}, {members, addresses}),
        ({**private, **domains, "REGISTRATION_OPEN": "false"}, {members}),
    ):
        browser = Browser(make_app(**settings))
        for path in ("/sign-in", "/sign-up", "/submit") if "READS" in settings else ("/sign-in", "/sign-up"):
            page = said_by(browser.call("GET", path))
            assert {each for each in (members, addresses) if each in page} == said, (settings, path)
        refused = said_by(browser.call("POST", "/sign-up", data={"username": "!"}))
        assert {each for each in (members, addresses) if each in refused} == said


@pytest.mark.extra("providers")
def test_a_provider_opens_accounts_with_an_address_in_the_domains_alone(
    make_app: Any, provider: LyingProvider, caplog: Any
) -> None:
    """Without mail: a password opens none, and an address is confirmed by what the provider says."""
    app = make_app(**DOMAINS, **provider.environment)
    assert register(app)[1].json["code"] == "registration_closed"
    assert Api(app).get("/api/session").json["registration_open"] is False
    provider.person |= {"email": "ada@elsewhere.example"}
    refused = walk(Browser(app), provider)
    assert "reason=not_admitted" in refused.headers["Location"]
    [line] = [each for each in caplog.records if each.message == "not admitted"]
    assert (line.provider, line.reason) == ("company", "domain")
    with app.app_context():
        assert db.session.scalars(select(User)).all() == []

    provider.person |= {"email": "ada@example.org", "email_verified": False}
    browser = Browser(app)
    walk(browser, provider)
    assert browser.get("/api/auth/tokens").json["code"] == "email_not_verified"
    elsewhere = browser.put("/api/auth/me", {"email": "eve@example.org"})
    assert [each["pointer"] for each in elsewhere.json["errors"]] == ["#/email"]
    for path in ("/mine", "/account"):
        page = browser.get(path).text
        assert "have the provider by which you sign in confirm the address" in page
        assert not re.search("mailed|/verify|/verification", page), path
    provider.person["email_verified"] = True
    walk(browser, provider)
    assert browser.get("/api/auth/tokens").status_code == 200
