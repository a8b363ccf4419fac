"""PASSWORDS=off: nobody signs in by a password, and what asked for it asks for a session of the last minutes."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.errors import DirectoryError, SignInExpired
from directory.extensions import db
from directory.models import AuditEntry, Identity, Session, SignInAttempt, now
from directory.services.sign_in import links
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.lying_provider import LyingProvider, walk

MAIL = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "a@example.net", "SITE_URL": "https://directory.example"}
NEW = "nine blue paper boats"

# Without passkeys and without a provider a directory has passwords, or does not start.
pytestmark = pytest.mark.extra("passkeys")


@pytest.fixture
def app(make_app: Any) -> Flask:
    return make_app(PASSWORDS="off", **MAIL)  # type: ignore[no-any-return]


def link(app: Flask, username: str = "ada") -> str:
    """The path of a link that signs in."""
    result = app.test_cli_runner(catch_exceptions=False).invoke(args=["users", "sign-in-link", username])
    assert result.exit_code == 0, result.output
    [path] = re.findall(r"^https://directory\.example(/\S+)$", result.stdout, re.MULTILINE)
    return path


def follow(app: Flask, path: str) -> tuple[Browser, Any]:
    browser = Browser(app)
    assert browser.get(path).status_code == 200
    return browser, browser.post("/sign-in/link", data={"token": path.partition("=")[2]})


def grow_old(app: Flask) -> None:
    with app.app_context():
        aged = update(Session).values(created_at=now() - timedelta(minutes=11))
        transaction(lambda: db.session.execute(aged))


@pytest.mark.parametrize(
    "path",
    ["/api/auth/register", "/api/auth/login", "/api/auth/password/forgot", "/api/auth/password/reset"],
)
def test_routes_of_passwords_are_refused_before_their_bodies_are_looked_at(app: Flask, path: str) -> None:
    for given in ({"json": {}}, {"data": b"{"}, {"json": {"login": "ada", "password": PASSWORD}}):
        answer = Api(app).post(path, **given)
        assert (answer.status_code, answer.json["code"]) == (403, "passwords_off")


def test_pages_show_and_take_no_passwords(app: Flask, world: World) -> None:
    world.user("ada")
    for method, path in (
        ("GET", "/forgot"), ("GET", "/reset"), ("POST", "/forgot"), ("POST", "/reset"), ("POST", "/sign-in"),
        ("POST", "/sign-up"),
    ):  # fmt: skip
        shown = Browser(app).call(method, path)
        assert (shown.status_code, shown.mimetype) == (403, "text/html"), path
    for path in ("/sign-in", "/sign-up"):
        page = Browser(app).get(path)
        assert page.status_code == 200
        assert 'type="password"' not in page.text
    browser, _ = follow(app, link(app))
    page = browser.get("/account").text
    assert 'type="password"' not in page
    assert "/account/password" not in page
    session = Api(app).get("/api/session").json
    assert (session["registration_open"], session["password_reset"], session["passkeys"]) == (False, False, True)


def test_a_new_address_and_the_deletion_ask_for_a_fresh_session_in_place_of_the_password(
    app: Flask, world: World
) -> None:
    world.user("ada")
    browser, _ = follow(app, link(app))
    assert browser.put("/api/auth/me", {"password": NEW}).json["code"] == "passwords_off"
    needless = {"email": "new@example.org", "current_password": PASSWORD}
    assert browser.put("/api/auth/me", needless).json["errors"][0]["pointer"] == "#/current_password"
    assert browser.put("/api/auth/me", {"email": "new@example.org"}).status_code == 200
    grow_old(app)
    for method, body in (("PUT", {"email": "other@example.org"}), ("DELETE", {})):
        refused = browser.call(method, "/api/auth/me", body)
        assert (refused.status_code, refused.json["code"]) == (403, "sign_in_again")
    again, _ = follow(app, link(app))
    assert again.call("DELETE", "/api/auth/me", {}).status_code == 204


@pytest.mark.extra("providers")
def test_the_last_provider_stays_although_there_is_a_password(
    make_app: Any, provider: LyingProvider, world: World
) -> None:
    app = make_app(PASSWORDS="off", **MAIL, **provider.environment)
    ada = world.user("ada")
    with app.app_context():
        transaction(lambda: db.session.add(Identity(user_id=ada.id, issuer=provider.issuer, subject="1")))
    browser, _ = follow(app, link(app))
    [own] = browser.get("/api/auth/identities").json["items"]
    assert browser.get("/api/auth/identities").json["has_password"] is False
    assert browser.delete(f"/api/auth/identities/{own['id']}").json["code"] == "last_way_in"


@pytest.mark.extra("providers")
def test_providers_still_open_accounts(make_app: Any, provider: LyingProvider) -> None:
    app = make_app(PASSWORDS="off", **provider.environment)
    browser = Browser(app)
    walk(browser, provider)
    assert browser.get("/api/auth/me").json["username"] == "ada"
    assert "Continue with Example Inc." in Browser(app).get("/sign-in").text
    assert "when you sign in for the first time" in Browser(app).get("/sign-up").text


def test_a_link_signs_in_once_and_opening_it_does_not_use_it_up(app: Flask, world: World) -> None:
    ada, path = world.user("ada"), link(app)
    assert "as ada" in Browser(app).get(path).text
    browser, answer = follow(app, path)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    assert browser.get("/api/auth/me").json["username"] == "ada"
    other = Browser(app).post("/sign-in/link", data={"token": path.partition("=")[2]})
    assert (other.status_code, "has been used" in other.text) == (403, True)
    assert "has been used" in Browser(app).get(path).text
    with app.app_context():
        entries = [(each.action, each.actor_id, each.user_id) for each in db.session.scalars(select(AuditEntry))]
        assert entries == [("user.signed_in_by_link", ada.id, ada.id)]
        assert path.partition("=")[2] not in str(db.session.execute(select(SignInAttempt.__table__)).all())


def test_a_link_ends_after_ten_minutes_and_with_its_account(app: Flask, world: World) -> None:
    ada = world.user("ada")
    late, suspended = link(app), link(app)
    with app.app_context():
        aged = update(SignInAttempt).where(SignInAttempt.id == 1).values(expires_at=now())
        transaction(lambda: db.session.execute(aged))
    world.change(ada, status="suspended")
    for path, code in ((late, 403), (suspended, 403)):
        refused = Browser(app).post("/sign-in/link", data={"token": path.partition("=")[2]})
        assert (refused.status_code, refused.headers.get("Set-Cookie")) == (code, None)
    command = app.test_cli_runner().invoke(args=["users", "sign-in-link", "ada"])
    assert (command.exit_code, command.stderr.splitlines()[-1]) == (1, "Error: This account is suspended.")
    world.change(ada, deleted_at=now())
    command = app.test_cli_runner().invoke(args=["users", "sign-in-link", "ada"])
    assert "deleted" in command.stderr


def test_of_many_who_use_a_link_at_once_one_signs_in(app: Flask, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = world.user("ada")
    token = link(app).partition("=")[2]

    def use(_: int) -> bool:
        with app.app_context():
            try:
                transaction(lambda: links.sign_in(token, user_agent=""))
            except DirectoryError:
                return False
            return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(use, range(4))) == 1
    monkeypatch.setattr(links, "_account_of", lambda _: ada.id)  # the second has looked before the first committed
    with app.app_context(), pytest.raises(SignInExpired):
        transaction(lambda: links.sign_in(token, user_agent=""))
