"""Signing in by a provider: accounts that are opened, found and joined, and what is refused on the way."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.errors import Invalid
from directory.extensions import db
from directory.extras.providers import attempts, identities
from directory.models import AuditEntry, Identity, Session, SignInAttempt, User, now
from directory.services.accounts import accounts, sessions
from directory.services.identity import Caller
from directory.services.sign_in import ways_in
from tests.conftest import Statements
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.lying_provider import LyingProvider, back, walk

JSON = {"Accept": "application/json"}
NEW = "nine blue paper boats"


@pytest.fixture
def app(make_app: Any, provider: LyingProvider) -> Flask:
    return make_app(**provider.environment)  # type: ignore[no-any-return]


@pytest.fixture
def browser(app: Flask) -> Browser:
    return Browser(app)


def reason(answer: Any) -> str:
    """Why a person is sent to the page of the account after a sign-in that failed."""
    assert answer.status_code == 302, answer.data
    parts = urlsplit(answer.headers["Location"])
    assert (parts.scheme, parts.netloc, parts.path) == ("", "", "/sign-in")
    query = parse_qs(parts.query)
    assert {"sign-in", "reason"} <= query.keys() <= {"sign-in", "reason", "next"}
    return query["reason"][0]


def change(app: Flask, username: str, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.username == username).values(values)))


def rows(app: Flask, model: Any) -> list[Any]:
    with app.app_context():
        return list(db.session.scalars(select(model).order_by(model.id)))


def test_the_browser_goes_to_the_provider_with_state_nonce_and_pkce(browser: Browser, provider: LyingProvider) -> None:
    answer = browser.get("/api/auth/providers/company?next=/p/1/x%3Fa%3Db")
    place, _, query = answer.headers["Location"].partition("?")
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    assert (answer.status_code, place) == (302, f"{provider.issuer}/authorize")
    assert asked.pop("redirect_uri") == "http://localhost/api/auth/providers/company/callback"
    assert len({asked.pop(name) for name in ("state", "nonce", "code_challenge")}) == 3
    assert asked == {
        "response_type": "code", "client_id": "directory", "scope": "openid profile email",
        "code_challenge_method": "S256",
    }  # fmt: skip
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-directory-sign-in=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax", "Max-Age=600"} <= set(cookie.split("; "))
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_provider_is_asked_for_the_scope_of_its_settings_too_and_for_no_word_twice(
    make_app: Any, provider: LyingProvider
) -> None:
    asking = {"OIDC_PROVIDERS": json.dumps([provider.settings(scope="groups email")])}
    location = Browser(make_app(**asking)).get("/api/auth/providers/company").headers["Location"]
    assert parse_qs(urlsplit(location).query)["scope"] == ["openid profile email groups"]


def test_a_new_person_gets_an_account_without_a_password(app: Flask, browser: Browser, provider: LyingProvider) -> None:
    answer = walk(browser, provider, next="/mine")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/mine")
    me = browser.get("/api/auth/me").json
    assert (me["username"], me["email"], me["email_verified"]) == ("ada", "ada@example.org", True)
    assert [user.password_hash for user in rows(app, User)] == [""]
    for password in (PASSWORD, "", " "):
        assert Api(app).post("/api/auth/login", {"login": "ada", "password": password or "x"}).status_code == 401

    provider.person |= {"email": "other@example.org", "preferred_username": "eve"}
    again = Browser(app)
    assert walk(again, provider).headers["Location"] == "/"
    assert again.get("/api/auth/me").json == me
    [identity] = rows(app, Identity)
    assert (identity.issuer, identity.subject, identity.email) == (
        provider.issuer, "248289761001", "other@example.org"
    )  # fmt: skip
    assert identity.last_used_at > identity.created_at
    assert rows(app, SignInAttempt) == []


@pytest.mark.parametrize(
    ("person", "username", "verified"),
    [
        ({"preferred_username": "Ada Lovelace"}, "ada-lovelace", True),
        ({"preferred_username": "Zoë_1", "email_verified": False}, "zoe_1", False),
        ({"preferred_username": "ada@example.org", "nickname": "ada-l"}, "ada-l", True),
        ({"preferred_username": ["x"], "nickname": "taken"}, "taken-2", True),
        ({"preferred_username": "x" * 40}, "x" * 32, True),
        ({"preferred_username": "u.p@firm.example", "name": "Ursula Petersen"}, "ursula-petersen", True),
        ({"preferred_username": "Łukasz_Jørgen Strauß"}, "lukasz_jorgen-strauss", True),
        ({"preferred_username": "u.p@firm.example", "email": "ursula.petersen@firm.example"}, "ursula-petersen", True),
    ],
)
def test_a_username_is_made_valid_and_free(
    world: World, browser: Browser, provider: LyingProvider, person: dict[str, Any], username: str, verified: bool
) -> None:
    world.user("taken")
    provider.person |= person
    assert walk(browser, provider).headers["Location"] == "/"
    me = browser.get("/api/auth/me").json
    assert (me["username"], me["email_verified"]) == (username, verified)


@pytest.mark.parametrize("name", ["", "字", "a", "ada@example.org", "deleted-7"])
def test_a_name_that_cannot_be_one_becomes_a_random_one(browser: Browser, provider: LyingProvider, name: str) -> None:
    provider.person |= {"preferred_username": name, "email": "a@example.org"}
    walk(browser, provider)
    assert browser.get("/api/auth/me").json["username"].startswith("member-")


def test_a_reserved_name_gets_an_end_with_which_it_reads_otherwise(browser: Browser, provider: LyingProvider) -> None:
    provider.person["preferred_username"] = "admin"
    walk(browser, provider)
    assert re.fullmatch("admin-(?=.*[a-f])[0-9a-f]+", browser.get("/api/auth/me").json["username"])


def test_a_member_whom_a_provider_named_chooses_a_username_once(
    app: Flask, world: World, browser: Browser, provider: LyingProvider
) -> None:
    world.admin("grace")
    world.user("taken")
    walk(browser, provider)
    assert browser.get("/api/auth/me").json["may_rename"] is True
    for username, status in (("admin", 422), ("grace-1", 422), ("Capital", 422), ("taken", 409)):
        answer = browser.put("/api/auth/me", {"username": username})
        assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (status, "#/username")
    answer = browser.put("/api/auth/me", {"username": " ursula "})
    assert (answer.status_code, answer.json["username"], answer.json["may_rename"]) == (200, "ursula", False)
    assert browser.put("/api/auth/me", {"username": "another"}).status_code == 422
    assert browser.put("/api/auth/me", {"username": "ursula"}).status_code == 422
    assert [entry.action for entry in rows(app, AuditEntry)].count("user.renamed") == 1


def test_to_choose_the_same_username_keeps_it_for_good(browser: Browser, provider: LyingProvider) -> None:
    walk(browser, provider)
    kept = browser.get("/api/auth/me").json["username"]
    assert browser.put("/api/auth/me", {"username": kept}).json["may_rename"] is False
    assert browser.put("/api/auth/me", {"username": "another"}).status_code == 422


def test_a_member_who_registered_cannot_choose_another_username(world: World) -> None:
    ada = world.caller(world.user("ada"))
    assert ada.put("/api/auth/me", {"username": "other"}).status_code == 422


def test_of_two_usernames_chosen_one_after_the_other_by_old_knowledge_the_first_holds(
    app: Flask, browser: Browser, provider: LyingProvider
) -> None:
    walk(browser, provider)
    with app.app_context():
        user = db.session.scalars(select(User)).one()
        by = Caller(user.id, user.username, user.role)
        transaction(lambda: accounts.choose_username("first", by=by))
        with pytest.raises(Invalid):
            transaction(lambda: accounts.choose_username("second", by=by))
        assert db.session.scalar(select(User.username)) == "first"


def test_the_more_people_want_a_name_the_longer_its_suffix(world: World, app: Flask, provider: LyingProvider) -> None:
    for name in ("ada", *(f"ada-{n}" for n in range(2, 10))):
        world.user(name)
    provider.person["email"] = "new@example.org"
    browser = Browser(app)
    walk(browser, provider)
    assert len(browser.get("/api/auth/me").json["username"]) == len("ada-") + 4


def test_an_account_is_found_by_an_address_that_both_sides_have_confirmed(
    app: Flask, world: World, browser: Browser, provider: LyingProvider
) -> None:
    user = world.user("ada")
    change(app, "ada", email_verified_at=now())
    assert walk(browser, provider).headers["Location"] == "/"
    assert browser.get("/api/auth/me").json["id"] == user.id
    assert [(each.action, each.actor_id, each.user_id, each.to_state) for each in rows(app, AuditEntry)] == [
        ("user.identity_added", user.id, user.id, "company")
    ]


@pytest.mark.parametrize(("ours", "theirs"), [(False, True), (True, False), (False, False)])
def test_an_address_that_one_side_has_not_confirmed_is_refused(
    app: Flask, world: World, browser: Browser, provider: LyingProvider, ours: bool, theirs: bool
) -> None:
    world.user("ada")
    change(app, "ada", email_verified_at=now() if ours else None)
    provider.person["email_verified"] = theirs
    answer = walk(browser, provider)
    assert reason(answer) == "address_taken"
    assert b"ada" not in answer.data
    assert not browser.signed_in()
    assert rows(app, Identity) == []


def test_a_suspended_account_is_refused_and_a_deleted_one_forgotten(
    app: Flask, browser: Browser, provider: LyingProvider
) -> None:
    walk(browser, provider)
    change(app, "ada", status="suspended")
    assert reason(walk(Browser(app), provider)) == "account_suspended"
    change(app, "ada", status="active")
    walk(browser, provider)
    assert browser.call("DELETE", "/api/auth/me", {}).status_code == 204
    assert rows(app, Identity) == []
    assert walk(browser, provider).headers["Location"] == "/"
    assert browser.get("/api/auth/me").json["username"] == "ada"


def test_closed_registration_lets_in_those_alone_who_have_an_account(make_app: Any, provider: LyingProvider) -> None:
    closed, opened = make_app(**provider.environment, REGISTRATION_OPEN=False), make_app(**provider.environment)
    assert reason(walk(Browser(closed), provider)) == "registration_closed"
    walk(Browser(opened), provider)
    assert walk(Browser(closed), provider).headers["Location"] == "/"


def test_without_an_address_no_account_is_opened(app: Flask, browser: Browser, provider: LyingProvider) -> None:
    for email in (None, "nonsense", 5, "a@b", "\u212aelvin@example.org"):
        provider.person["email"] = email
        went = provider.authorize(browser.get("/api/auth/providers/company").headers["Location"])
        answer = back(browser, went, headers=JSON)
        assert (answer.status_code, answer.json["code"], answer.json["reason"]) == (
            403, "sign_in_refused", "no_address"
        )  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "verified"),
    [(True, True), ("true", True), ("True", True), (False, False), ("false", False), (1, False), ("1", False)],
)
@pytest.mark.parametrize("by_userinfo", [False, True])
def test_a_provider_may_write_as_text_that_an_address_is_verified(
    browser: Browser, provider: LyingProvider, claim: Any, verified: bool, by_userinfo: bool
) -> None:
    provider.person["email_verified"] = claim
    if by_userinfo:
        provider.claims, provider.userinfo = {"email": None, "email_verified": None}, dict(provider.person)
    assert walk(browser, provider).headers["Location"] == "/"
    assert browser.get("/api/auth/me").json["email_verified"] is verified


MAILBOXLESS = {"email": None, "email_verified": True, "preferred_username": "Ada.L@Firm.example"}


@pytest.mark.parametrize("by_userinfo", [False, True])
@pytest.mark.parametrize("trusted", [False, True])
def test_a_setting_names_the_claim_of_the_address_and_whether_the_provider_vouches_for_it(
    make_app: Any, provider: LyingProvider, trusted: bool, by_userinfo: bool
) -> None:
    settings = {**provider.settings(), "email_claim": "preferred_username", "trusts_email": trusted}
    browser = Browser(make_app(OIDC_PROVIDERS=json.dumps([settings])))
    provider.claims = MAILBOXLESS
    if by_userinfo:
        provider.claims = {"email": None, "preferred_username": None}
        provider.userinfo = {**MAILBOXLESS, "sub": "248289761001"}
    assert walk(browser, provider).headers["Location"] == "/"
    me = browser.get("/api/auth/me").json
    assert (me["email"], me["email_verified"], me["username"]) == ("ada.l@firm.example", trusted, "ada-l")


@pytest.mark.parametrize("trusted", [False, True])
def test_a_provider_that_vouches_for_addresses_signs_in_to_the_account_that_confirmed_the_same(
    make_app: Any, provider: LyingProvider, trusted: bool
) -> None:
    app = make_app(OIDC_PROVIDERS=json.dumps([{**provider.settings(), "trusts_email": trusted}]))
    World(app).user("ada")
    change(app, "ada", email_verified_at=now())
    provider.person["email_verified"] = None
    browser = Browser(app)
    answer = walk(browser, provider)
    assert browser.signed_in() is trusted
    assert trusted or reason(answer) == "address_taken"


def test_the_page_says_that_the_address_was_missing(make_app: Any, provider: LyingProvider) -> None:
    browser = Browser(make_app(**provider.environment))
    provider.claims = MAILBOXLESS
    assert reason(walk(browser, provider)) == "no_address"
    page = browser.get("/sign-in?sign-in=failed&reason=no_address").text
    assert "did not tell an e-mail address" in page
    assert "email_claim" in page
    assert "Please type it again." not in page
    typed = browser.post("/sign-in", data={"login": "ada", "password": "none of hers"}).text
    assert "Please type it again." in typed


def test_a_sign_in_that_fails_keeps_what_the_person_wanted_and_its_language(
    make_app: Any, provider: LyingProvider
) -> None:
    app = make_app(**provider.environment, SITE_LANGUAGES="en,de", REGISTRATION_OPEN="false")

    def refused(wanted: str) -> str:
        return str(walk(Browser(app), provider, next=wanted).headers["Location"])

    closed = "/sign-in?sign-in=failed&reason=registration_closed"
    assert refused("/") == closed
    assert refused("/?q=a%20b&x=") == f"{closed}&next=%2F%3Fq%3Da%2520b%26x%3D"
    assert refused("/submit?x=1&lang=de") == f"{closed}&next=%2Fsubmit%3Fx%3D1&lang=de"
    assert refused("/?lang=de") == f"{closed}&lang=de"
    page = Browser(app).get(refused("/submit?x=1&lang=de")).text
    assert '<html lang="de"' in page
    assert 'action="/sign-in?next=%2Fsubmit%3Fx%3D1&amp;lang=de"' in page
    assert 'href="/api/auth/providers/company?next=%2Fsubmit%3Fx%3D1%26lang%3Dde"' in page


def test_an_address_with_a_domain_outside_of_ascii_is_stored_in_ascii(
    browser: Browser, provider: LyingProvider
) -> None:
    provider.person["email"] = "Ada@Exämple.DE"
    assert walk(browser, provider).headers["Location"] == "/"
    assert browser.get("/api/auth/me").json["email"] == "ada@xn--exmple-cua.de"


def test_joining_needs_the_same_browser_and_the_same_user(
    app: Flask, world: World, browser: Browser, provider: LyingProvider
) -> None:
    ada, _eve = world.user("ada"), world.user("eve")
    browser.sign_in("ada")
    provider.person["email"] = "elsewhere@example.org"

    def begin() -> dict[str, str]:
        answer = browser.post("/api/auth/identities", {"provider": "company"})
        assert answer.status_code == 200
        return provider.authorize(answer.json["location"])

    assert reason(back(Browser(app).sign_in("ada"), begin())) == "sign_in_expired"
    went = begin()
    browser.sign_in("eve")
    assert reason(back(browser, went)) == "sign_in_expired"
    browser.sign_in("ada")
    went = begin()
    browser.post("/api/auth/logout")
    assert reason(back(browser, went)) == "sign_in_expired"
    assert rows(app, Identity) == []

    browser.sign_in("ada")
    for _ in range(2):
        assert back(browser, begin()).headers["Location"] == "/account"
    [identity] = rows(app, Identity)
    assert identity.user_id == ada.id
    browser.sign_in("eve")
    assert reason(back(browser, begin())) == "identity_taken"
    evil = browser.post("/api/auth/identities", {"provider": "company"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert evil.json["code"] == "cross_site_request"


def test_of_two_accounts_that_join_one_identity_at_once_one_gets_it(
    app: Flask, world: World, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    went = []
    for name in ("ada", "eve"):
        world.user(name)
        browser = Browser(app).sign_in(name)
        location = browser.post("/api/auth/identities", {"provider": "company"}).json["location"]
        went.append((browser, provider.authorize(location)))
    assert back(*went[0]).headers["Location"] == "/account"
    # The second has looked before the first has committed.
    monkeypatch.setattr(identities, "_is", lambda _: (Identity.id == -1, Identity.id == -1))
    assert reason(back(*went[1])) == "identity_taken"
    assert len(rows(app, Identity)) == 1


def test_a_user_who_is_suspended_meanwhile_joins_nothing(
    app: Flask, world: World, browser: Browser, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.user("ada")
    browser.sign_in("ada")
    went = provider.authorize(browser.post("/api/auth/identities", {"provider": "company"}).json["location"])
    take = attempts.take

    def take_and_suspend(*given: Any) -> Any:
        found = take(*given)
        db.session.execute(update(User).values(status="suspended"))
        return found

    monkeypatch.setattr(attempts, "take", take_and_suspend)
    assert reason(back(browser, went)) == "unauthenticated"
    assert rows(app, Identity) == []


def test_ones_own_identities_are_listed_and_the_last_way_in_stays(
    make_app: Any, database: Any, provider: LyingProvider
) -> None:
    with LyingProvider() as second:
        listed = json.dumps([provider.settings(), second.settings("second", label="Second")])
        app = make_app(OIDC_PROVIDERS=listed)
        browser = Browser(app)
        walk(browser, provider)
        [first] = browser.get("/api/auth/identities").json["items"]
        assert (first["provider"], first["label"], first["email"]) == ("company", "Example Inc.", "ada@example.org")
        path = f"/api/auth/identities/{first['id']}"
        refused = browser.delete(path)
        assert (refused.status_code, refused.json["code"]) == (409, "last_way_in")

        location = browser.post("/api/auth/identities", {"provider": "second"}).json["location"]
        assert back(browser, second.authorize(location), "second").headers["Location"] == "/account"
        other = Browser(make_app(**provider.environment), browser.cookie)
        shown = other.get("/api/auth/identities").json
        assert [(each["provider"], each["label"]) for each in shown["items"]] == [
            (None, second.issuer), ("company", "Example Inc.")
        ]  # fmt: skip
        assert shown["has_password"] is False
        assert other.delete(path).json["code"] == "last_way_in", "a provider that is not configured is no way in"
        stranger = Browser(app)
        provider.person |= {"sub": "2", "email": "eve@example.org"}
        walk(stranger, provider)
        assert stranger.delete(path).status_code == 404
        assert browser.delete(path).status_code == 204
        assert browser.delete(path).status_code == 404
        assert [each["provider"] for each in browser.get("/api/auth/identities").json["items"]] == ["second"]
        actions = [each.action for each in rows(app, AuditEntry) if each.user_id == each.actor_id]
        assert actions.count("user.identity_removed") == 1
        exported = browser.get("/api/auth/me/export").json["identities"]
        assert [each["issuer"] for each in exported] == [second.issuer]


def test_of_two_requests_that_remove_the_last_two_ways_in_one_is_refused(
    make_app: Any, provider: LyingProvider
) -> None:
    with LyingProvider() as second:
        app = make_app(OIDC_PROVIDERS=json.dumps([provider.settings(), second.settings("second")]))
        browser = Browser(app)
        walk(browser, provider)
        back(
            browser,
            second.authorize(browser.post("/api/auth/identities", {"provider": "second"}).json["location"]),
            "second",
        )
        ids = [each["id"] for each in browser.get("/api/auth/identities").json["items"]]
        barrier = threading.Barrier(2)

        def remove(identity_id: int) -> int:
            one = browser.copy(app)
            barrier.wait(10)
            return int(one.delete(f"/api/auth/identities/{identity_id}").status_code)

        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(remove, ids)) == [204, 409]


@pytest.mark.parametrize("same", [True, False])
def test_of_two_who_come_back_at_once_each_gets_what_is_right(app: Flask, provider: LyingProvider, same: bool) -> None:
    """One new identity makes one account; two that want one username make two."""
    went = []
    for number in range(2):
        browser = Browser(app)
        if not same:
            provider.person = {**provider.person, "sub": str(number), "email": f"ada{number}@example.org"}
        location = browser.get("/api/auth/providers/company").headers["Location"]
        went.append((browser, provider.authorize(location)))
    barrier = threading.Barrier(2)

    def come(way: tuple[Browser, dict[str, str]]) -> str:
        barrier.wait(10)
        return str(back(*way).headers["Location"])

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(come, went)) == ["/", "/"]
    names = sorted(user.username for user in rows(app, User))
    assert names == (["ada"] if same else ["ada", "ada-2"])
    assert len(rows(app, Identity)) == (1 if same else 2)
    assert len(rows(app, Session)) == 2


def test_what_others_take_again_and_again_is_refused_in_the_end(
    app: Flask, browser: Browser, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    world.user("taken")
    monkeypatch.setattr("directory.extras.providers.free_names.free", lambda _: "taken")
    assert reason(walk(browser, provider)) == "duplicate"
    assert len(rows(app, User)) == 1


def test_an_identity_that_is_removed_meanwhile_signs_in_to_a_new_account_or_none(
    app: Flask, browser: Browser, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from directory.services.accounts import accounts

    walk(browser, provider)
    locked = accounts.locked

    def locked_too_late(user_id: int) -> Any:
        found = locked(user_id)
        db.session.execute(db.delete(Identity))
        return found

    monkeypatch.setattr(accounts, "locked", locked_too_late)
    assert reason(walk(Browser(app), provider)) == "duplicate"
    assert len(rows(app, User)) == 1


def test_without_a_password_a_fresh_session_confirms_what_a_password_would(
    app: Flask, browser: Browser, provider: LyingProvider, world: World
) -> None:
    walk(browser, provider)
    [user] = rows(app, User)
    with app.app_context():
        old = update(Session).values(created_at=now() - attempts.LIFETIME)
        transaction(lambda: db.session.execute(old))
    token = Api(app, browser.post("/api/auth/tokens", {"name": "x"}).json["token"])
    for caller in (browser, token):
        for method, body in (("PUT", {"password": NEW}), ("DELETE", {})):
            answer = caller.call(method, "/api/auth/me", body)
            assert (answer.status_code, answer.json["code"]) == (403, "sign_in_again")
    wrong = browser.put("/api/auth/me", {"password": NEW, "current_password": "guess"})
    assert (wrong.status_code, wrong.json["errors"][0]["pointer"]) == (422, "#/current_password")

    walk(browser, provider)
    assert browser.put("/api/auth/me", {"password": NEW}).status_code == 200
    assert Browser(app).sign_in("ada", NEW).signed_in()
    without = browser.put("/api/auth/me", {"password": PASSWORD})
    assert (without.status_code, without.json["errors"][0]["pointer"]) == (422, "#/current_password")
    assert browser.delete(f"/api/auth/identities/{rows(app, Identity)[0].id}").status_code == 204
    assert user.password_hash == ""


def aged(app: Flask, by: timedelta) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(update(Session).values(created_at=now() - by)))


def test_an_old_session_joins_no_provider_by_which_it_would_get_a_fresh_one(
    app: Flask, browser: Browser, provider: LyingProvider
) -> None:
    walk(browser, provider)
    provider.person = {"sub": "thief", "email": "thief@example.org"}
    went = provider.authorize(browser.post("/api/auth/identities", {"provider": "company"}).json["location"])
    aged(app, sessions.FRESH)
    refused = browser.post("/api/auth/identities", {"provider": "company"})
    assert (refused.status_code, refused.json["code"]) == (403, "sign_in_again")
    aged(app, sessions.FRESH + attempts.LIFETIME)
    assert reason(back(browser, went)) == "sign_in_again"
    assert len(rows(app, Identity)) == 1


def test_a_token_joins_no_provider(app: Flask, browser: Browser, provider: LyingProvider) -> None:
    walk(browser, provider)
    bearer = {"Authorization": f"Bearer {browser.post('/api/auth/tokens', {'name': 'x'}).json['token']}"}
    provider.person = {"sub": "thief", "email": "thief@example.org"}
    program = Browser(app)
    begun = program.post("/api/auth/identities", {"provider": "company"}, headers=bearer)
    went = provider.authorize(begun.json["location"])
    assert back(program, went, headers={**bearer, **JSON}).json["code"] == "sign_in_again"
    assert len(rows(app, Identity)) == 1


def test_a_session_at_a_provider_is_of_no_use_to_an_account_with_a_password(
    app: Flask, browser: Browser, provider: LyingProvider, world: World
) -> None:
    world.user("ada")
    change(app, "ada", email_verified_at=now())
    walk(browser, provider)
    answer = browser.call("DELETE", "/api/auth/me", {})
    assert [error["pointer"] for error in answer.json["errors"]] == ["#/current_password"]


def test_a_state_works_once_in_its_browser_at_its_provider_and_for_ten_minutes(
    make_app: Any, provider: LyingProvider
) -> None:
    with LyingProvider() as second:
        app = make_app(OIDC_PROVIDERS=json.dumps([provider.settings(), second.settings("second")]))
        browser = Browser(app)

        def begun() -> dict[str, str]:
            return provider.authorize(browser.get("/api/auth/providers/company").headers["Location"])

        went = begun()
        assert reason(back(Browser(app), went)) == "sign_in_expired"
        assert reason(back(browser, went, "second")) == "sign_in_expired"
        assert back(browser, went).headers["Location"] == "/"
        assert reason(back(browser, went)) == "sign_in_expired"
        assert reason(back(browser, {"code": "x"})) == "sign_in_expired"
        with app.app_context():
            went = begun()
            transaction(lambda: db.session.execute(update(SignInAttempt).values(expires_at=now())))
        assert reason(back(browser, went)) == "sign_in_expired"
        with app.app_context():
            begun()
            assert transaction(lambda: ways_in.purge_sign_ins(5)) == 1
        assert second.asked == []


def test_of_two_requests_with_one_state_one_signs_in(app: Flask, browser: Browser, provider: LyingProvider) -> None:
    went = provider.authorize(browser.get("/api/auth/providers/company").headers["Location"])
    secret = browser.client.get_cookie("__Host-directory-sign-in")
    assert secret
    barrier = threading.Barrier(2)

    def come(_: int) -> str:
        one = Browser(app)
        one.client.set_cookie("__Host-directory-sign-in", secret.value)
        barrier.wait(10)
        return str(back(one, went).headers["Location"])

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(come, range(2))) == ["/", "/sign-in?sign-in=failed&reason=sign_in_expired"]


def test_sign_ins_in_two_tabs_do_not_disturb_each_other(browser: Browser, provider: LyingProvider) -> None:
    first, second = (browser.get("/api/auth/providers/company").headers["Location"] for _ in range(2))
    assert back(browser, provider.authorize(first)).headers["Location"] == "/"
    assert back(browser, provider.authorize(second)).headers["Location"] == "/"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example", "/\\evil.example", "https://evil.example", "evil", "", "/\t/evil.example", "/a b", "/\n",
        "/" + "a" * 1000, "/é", "/#x", '/"><script>',
    ],
)  # fmt: skip
def test_afterwards_a_browser_goes_to_no_other_site(browser: Browser, path: str) -> None:
    answer = browser.client.get("/api/auth/providers/company", query_string={"next": path}, headers=JSON)
    assert (answer.status_code, answer.json["errors"][0]["parameter"]) == (422, "next")


def test_a_program_gets_the_problem_and_without_pages_so_does_everybody(make_app: Any, provider: LyingProvider) -> None:
    person, program = Browser(make_app(**provider.environment)), Browser(make_app(**provider.environment))
    assert reason(back(person, {"state": "<script>"})) == "sign_in_expired"
    answer = back(program, {"state": "x"}, headers=JSON)
    assert (answer.status_code, answer.json["code"]) == (403, "sign_in_expired")
    api_alone = Browser(make_app(**provider.environment, WEB_ENABLED=False))
    assert back(api_alone, {"state": "x"}).json["code"] == "sign_in_expired"
    assert walk(api_alone, provider).headers["Location"] == "/"
    assert api_alone.signed_in()


def test_a_parameter_that_comes_twice_is_refused_and_one_that_is_not_known_is_passed_over(
    browser: Browser, provider: LyingProvider
) -> None:
    twice = browser.get("/api/auth/providers/company/callback?state=x&state=x", headers=JSON)
    assert (twice.status_code, twice.json["errors"][0]["parameter"]) == (422, "state")
    location = browser.get("/api/auth/providers/company").headers["Location"]
    went = {**provider.authorize(location), "session_state": "x", "scope": "openid", "authuser": "0"}
    assert back(browser, went).headers["Location"] == "/"


def test_where_no_provider_is_configured_nothing_of_it_is_there(make_app: Any, provider: LyingProvider) -> None:
    app = make_app()
    world = World(app)
    caller = world.caller(world.user())
    assert caller.get("/api/session").json["providers"] == []
    for method, path in (
        ("GET", "/api/auth/providers/company"), ("GET", "/api/auth/providers/company/callback"),
        ("GET", "/api/auth/identities"), ("DELETE", "/api/auth/identities/1"),
    ):  # fmt: skip
        assert caller.call(method, path).status_code == 404
    assert caller.post("/api/auth/identities", {"provider": "company"}).status_code == 404
    configured = Api(make_app(**provider.environment))
    assert configured.get("/api/session").json["providers"] == [{"name": "company", "label": "Example Inc."}]
    assert configured.get("/api/auth/providers/other").status_code == 404


def test_read_only_mode_begins_no_sign_in(make_app: Any, provider: LyingProvider) -> None:
    assert reason(Browser(make_app(**provider.environment, READ_ONLY=True)).get("/api/auth/providers/company")) == (
        "read_only"
    )


def test_starts_and_ends_are_limited_by_address_but_for_those_that_succeed(
    make_app: Any, provider: LyingProvider
) -> None:
    browser = Browser(make_app(**provider.environment, RATELIMIT_ENABLED=True, RATELIMIT_WRITE="1000 per hour"))
    for _ in range(16):  # a class behind one address
        assert walk(browser, provider).headers["Location"] == "/"
    for _ in range(30):
        assert browser.get("/api/auth/providers/company").headers["Location"].startswith(provider.issuer)
    assert reason(browser.get("/api/auth/providers/company")) == "rate_limited"
    refused = back(browser, {"state": "x"}, headers=JSON)
    assert (refused.status_code, refused.headers["Retry-After"].isdigit()) == (429, True)
    assert browser.post("/api/auth/identities", {"provider": "company"}).status_code == 429


def test_a_sign_in_takes_few_statements(
    app: Flask, browser: Browser, provider: LyingProvider, statements: Statements
) -> None:
    walk(browser, provider)
    statements.clear()
    went = browser.get("/api/auth/providers/company")
    # who calls; the attempt
    assert len(statements) == 2
    statements.clear()
    assert back(browser, provider.authorize(went.headers["Location"])).headers["Location"] == "/"
    # who calls; the attempt, taken; the identity, its user, its use; the new session, the visit
    assert len(statements) == 7
    statements.clear()
    browser.get("/api/auth/identities")
    assert len(statements) == 3
