"""Registering, signing in and out, and changing one's account, over HTTP."""

import io
import re

import pytest

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import User
from directory.services.accounts import accounts, passwords, sessions
from directory.services.accounts.passwords import hash_password
from directory.services.people import administration
from tests.support.browsers import Browser
from tests.support.concurrent_calls import threads
from tests.support.factories import PASSWORD, Api

NEW = {"username": "ada", "email": "ada@example.org", "password": "analytical engine"}


@pytest.fixture
def browser(app):
    return Browser(app)


def stored_hash(app, user_id):
    with app.app_context():
        return db.session.get(User, user_id).password_hash


def code(answer):
    assert answer.content_type == "application/problem+json"
    return answer.status_code, answer.json["code"]


def test_registering_signs_in_and_tells_the_account_without_its_secrets(browser):
    answer = browser.post("/api/auth/register", NEW)
    assert answer.status_code == 201
    members = {"id", "username", "email", "role", "is_admin", "status", "created_at", "email_verified", "notify"}
    assert answer.json.keys() == members | {"may_rename"}
    assert answer.json["may_rename"] is False
    assert (answer.json["username"], answer.json["email"]) == ("ada", "ada@example.org")
    assert (answer.json["role"], answer.json["is_admin"], answer.json["status"]) == ("member", False, "active")
    assert answer.json["created_at"].endswith("Z")
    assert browser.get("/api/auth/me").json == answer.json | {"permissions": [], "language": None}


def test_an_email_is_kept_in_lower_case_so_that_it_is_one_however_it_is_typed(browser, api):
    assert browser.post("/api/auth/register", NEW | {"email": "Ada@Example.ORG"}).json["email"] == "ada@example.org"
    again = NEW | {"username": "other", "email": "ADA@example.org"}
    assert code(api.post("/api/auth/register", again)) == (409, "duplicate")


@pytest.mark.parametrize("taken", [["username"], ["email"], ["username", "email"]])
def test_a_refusal_points_to_each_name_that_is_taken(browser, api, taken):
    browser.post("/api/auth/register", NEW)
    other = {"username": "bob", "email": "bob@example.org", "password": NEW["password"]}
    answer = api.post("/api/auth/register", other | {name: NEW[name] for name in taken})
    assert code(answer) == (409, "duplicate")
    assert answer.json["detail"] == accounts.TAKEN
    assert answer.json["errors"] == [{"pointer": f"#/{name}", "detail": f"This {name} is taken."} for name in taken]
    assert "Set-Cookie" not in answer.headers
    assert api.post("/api/auth/register", other).status_code == 201


def test_a_refusal_points_to_names_of_two_accounts(browser, api):
    assert browser.post("/api/auth/register", NEW).status_code == 201
    assert api.post("/api/auth/register", NEW | {"username": "bob", "email": "bob@example.org"}).status_code == 201
    answer = api.post("/api/auth/register", NEW | {"username": "bob"})
    assert [error["pointer"] for error in answer.json["errors"]] == ["#/username", "#/email"]
    changed = browser.put("/api/auth/me", {"email": "bob@example.org", "current_password": NEW["password"]})
    assert (code(changed), changed.json["errors"][0]["pointer"]) == ((409, "duplicate"), "#/email")


def test_one_answer_reports_all_that_is_wrong_with_an_account(browser, api):
    def wrong(answer):
        assert code(answer) == (422, "validation_failed")
        return {error["pointer"]: error["detail"] for error in answer.json["errors"]}

    bad = {"username": "Ada!", "email": "ada", "password": "password1", "role": "x"}
    assert wrong(api.post("/api/auth/register", bad)).keys() == {"#/email", "#/password", "#/role", "#/username"}
    named = wrong(api.post("/api/auth/register", {**NEW, "username": "Ada!", "password": NEW["email"]}))
    assert named.keys() == {"#/password", "#/username"}
    browser.post("/api/auth/register", NEW)
    assert wrong(browser.put("/api/auth/me", {"email": "none", "password": "ada", "unknown": 1})) == {
        "#/current_password": "Give both password and current_password.",
        "#/email": "Not an e-mail address.",
        "#/password": "Use at least 8 characters.",
        "#/unknown": "Unknown field.",
    }
    assert wrong(browser.put("/api/auth/me", {"current_password": "x"})).keys() == {"#/password"}


def test_of_many_who_register_one_name_at_once_one_gets_it(app):
    scripts = [[(None, "POST", "/api/auth/register", NEW | {"email": f"ada{n}@example.org"})] for n in range(8)]
    assert sorted(answer["status"] for answer in threads(app, scripts)) == [201] + [409] * 7


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("username", "ab"),
        ("username", "a" * 33),
        ("username", "Ada"),
        ("username", "ada lovelace"),
        ("username", "ada\n"),
        ("username", "ａｄａ"),
        ("username", ["ada"]),
        ("email", "ada"),
        ("email", "ada@localhost"),
        ("email", "ada@example.org\n"),
        ("email", "a@b.c, d@e.f"),
        ("email", "a" * 65 + "@example.org"),
        ("email", None),
        ("password", "1234567"),
        ("password", "x" * 129),
        ("password", "password1"),
        ("password", "ada@example.org"),
        ("password", ""),
        ("password", "y" * 5000),
        ("password", 12345678),
    ],
)
def test_a_bad_value_is_refused_by_name_and_makes_no_account(api, field, value):
    answer = api.post("/api/auth/register", NEW | {field: value})
    assert code(answer) == (422, "validation_failed")
    assert [each["pointer"] for each in answer.json["errors"]] == [f"#/{field}"]
    assert code(api.post("/api/auth/login", {"login": "ada", "password": NEW["password"]}))[0] == 401


@pytest.mark.parametrize("password", ["8 chars.", "x1" * 64, "pässwörd żółć 🔑", "    spaces    "])
def test_a_password_of_any_composition_is_taken_as_it_is(app, api, password):
    assert api.post("/api/auth/register", NEW | {"password": password}).status_code == 201
    assert Browser(app).sign_in("ada", password).signed_in()
    for wrong in (password[:-1], password + " ", password.upper()):
        assert api.post("/api/auth/login", {"login": "ada", "password": wrong}).status_code == 401


def test_registration_can_be_closed(make_app):
    closed = Api(make_app(REGISTRATION_OPEN="false"))
    assert code(closed.post("/api/auth/register", NEW)) == (403, "registration_closed")
    assert code(closed.post("/api/auth/login", {"login": "ada", "password": NEW["password"]}))[0] == 401


@pytest.mark.parametrize("login", ["ada", "ADA", " ada ", "ada@example.org", "Ada@Example.org"])
def test_one_signs_in_by_username_or_email_in_any_case(world, browser, login):
    user = world.user("ada")
    answer = browser.post("/api/auth/login", {"login": login, "password": PASSWORD})
    assert (answer.status_code, answer.json["id"]) == (200, user.id)
    assert browser.signed_in()


def test_a_wrong_login_gets_one_answer_whether_or_not_the_account_exists(world, api):
    world.user("ada")
    world.user("eve", status="suspended")
    answers = [
        api.post("/api/auth/login", {"login": login, "password": "not the password"})
        for login in ("ada", "ada@example.org", "eve", "nobody", "nobody@example.org", "ада")
    ]
    assert {code(answer) for answer in answers} == {(401, "invalid_credentials")}
    assert all(answer.headers["WWW-Authenticate"] for answer in answers)
    assert all("Set-Cookie" not in answer.headers for answer in answers)
    assert len({str({**answer.json, "request_id": None}) for answer in answers}) == 1


def test_a_wrong_login_costs_one_hash_whether_or_not_the_account_exists(world, api, monkeypatch):
    world.user("ada")
    world.user("eve", status="suspended")
    verified = []
    matches = passwords._matches
    monkeypatch.setattr(passwords, "_matches", lambda *args: verified.append(args[1]) or matches(*args))
    logins = ("ada", "nobody", "eve", "nobody@example.org", "ada@example.org")
    for login in logins:
        api.post("/api/auth/login", {"login": login, "password": "not the password"})
    assert len(verified) == len(logins)
    assert {stored.rpartition("$")[0].rpartition("$")[0] for stored in verified} == {"$argon2id$v=19$m=8,t=1,p=1"}


def test_what_is_left_for_guesses_does_not_tell_whose_an_address_is(make_app, world):
    api = Api(make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="8 per hour"))
    world.user("ada")

    def states(login, password="a wrong password"):
        answer = api.post("/api/auth/login", {"login": login, "password": password})
        assert answer.headers["RateLimit-Policy"].count("q=") == answer.headers["RateLimit"].count("r=")
        return answer.status_code, dict(re.findall(r'"(\w+)-3600s";r=(\d+)', answer.headers["RateLimit"]))

    assert [states(login) for login in ("ada", " ada", "ada@example.org", "nobody@example.org")] == [
        (401, {"auth": str(left)}) for left in (7, 6, 5, 4)
    ]
    assert states("ada", PASSWORD) == (200, {"auth": "4"})
    assert states("ada@example.org") == (401, {"auth": "3"})
    assert [states("ada") for _ in range(2)] == [(401, {"auth": "2"}), (401, {"auth": "1"})]
    # The caller has to know how long to wait.
    assert states("ada", PASSWORD) == (429, {"auth": "0", "account": "0"})


def test_a_suspension_is_told_only_after_the_right_password(world, api):
    world.user("eve", status="suspended")
    answer = api.post("/api/auth/login", {"login": "eve", "password": PASSWORD})
    assert code(answer) == (403, "account_suspended")
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("missing", ["login", "password"])
def test_a_login_needs_both(api, missing):
    given = {"login": "ada", "password": PASSWORD}
    del given[missing]
    answer = api.post("/api/auth/login", given)
    assert (code(answer), answer.json["errors"][0]["pointer"]) == ((422, "validation_failed"), f"#/{missing}")


def test_a_hash_of_old_parameters_is_renewed_at_the_next_login_and_not_before(app, world, api):
    user = world.user("ada")
    old = stored_hash(app, user.id)
    try:
        passwords.configure(16, 1, 1)
        api.post("/api/auth/login", {"login": "ada", "password": "not the password"})
        assert stored_hash(app, user.id) == old
        Browser(app).sign_in("ada")
        renewed = stored_hash(app, user.id)
        assert "m=16," in renewed
        Browser(app).sign_in("ada")
        assert stored_hash(app, user.id) == renewed
    finally:
        passwords.configure(8, 1, 1)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (
            lambda user: administration.administer(user, role=None, status="suspended", by=None),
            (403, "account_suspended"),
        ),
        (lambda user: new_password(user), (401, "invalid_credentials")),
    ],
    ids=["suspension", "password change"],
)
def test_a_login_loses_against_what_happens_while_the_password_is_hashed(app, world, api, monkeypatch, change, outcome):
    user = world.user("ada")

    def upgraded_hash(_user, _password):
        with app.app_context():
            transaction(lambda: change(user.id))

    monkeypatch.setattr(accounts, "upgraded_hash", upgraded_hash)
    answer = api.post("/api/auth/login", {"login": "ada", "password": PASSWORD})
    assert code(answer) == outcome
    assert "Set-Cookie" not in answer.headers


def new_password(user_id):
    db.session.get(User, user_id).password_hash = hash_password("another one")


def test_signing_out_forgets_the_cookie_and_needs_a_caller(app, world, browser, api):
    world.user("ada")
    browser.sign_in("ada")
    answer = browser.post("/api/auth/logout")
    assert (answer.status_code, answer.data, answer.content_type) == (204, b"", None)
    assert browser.cookie is None
    assert code(api.post("/api/auth/logout")) == (401, "unauthenticated")


def test_who_signs_out_twice_at_once_is_signed_out(world, browser, monkeypatch):
    world.user("ada")
    browser.sign_in("ada")
    end = sessions.end

    def end_again(session_id, *, by):
        end(session_id, by=by)
        end(session_id, by=by)

    monkeypatch.setattr(sessions, "end", end_again)
    assert browser.post("/api/auth/logout").status_code == 204
    assert browser.cookie is None


def test_signing_out_by_token_ends_nothing(world, browser):
    caller = world.caller(world.user("ada"))
    assert caller.post("/api/auth/logout").status_code == 204
    assert caller.get("/api/auth/me").status_code == 200
    cookie = browser.sign_in("ada").cookie
    assert browser.post("/api/auth/logout", headers={"Authorization": f"Bearer {caller.token}"}).status_code == 204
    assert browser.cookie == cookie
    assert browser.signed_in()


@pytest.mark.parametrize("path", ["/api/auth/login", "/api/auth/register"])
def test_nobody_waits_for_the_body_of_who_is_over_the_limit(make_app, path):
    api = Api(make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="1 per hour"))

    class Withheld(io.RawIOBase):
        waited = 0

        def readable(self):
            return True

        def readinto(self, _buffer):
            self.waited += 1
            return 0

    outcomes = []
    for _ in range(2):
        body = Withheld()
        given = {"wsgi.input": body, "CONTENT_LENGTH": "40", "CONTENT_TYPE": "application/json"}
        outcomes.append((api.post(path, environ_overrides=given).status_code, body.waited))
    assert outcomes == [(400, 1), (429, 0)]


@pytest.mark.parametrize(
    "username", ["---", "___", "admin1", "ad-min_", "Admin2", "grace-", "g_race", "grace-2", "grace77", "mod007", "123"]
)
def test_a_name_that_reads_as_a_reserved_one_or_an_administrators_is_refused(api, world, username):
    world.admin("grace")
    answer = api.post(
        "/api/auth/register", {"username": username.lower(), "email": "eve@example.org", "password": PASSWORD}
    )
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json["errors"]] == ["#/username"]


@pytest.mark.parametrize("username", ["gracey", "agrace", "grace-hopper", "2grace", "ada-"])
def test_other_names_are_free(api, world, username):
    world.admin("grace")
    world.user("ada")
    answer = api.post("/api/auth/register", {"username": username, "email": "eve@example.org", "password": PASSWORD})
    assert answer.status_code == 201


def test_spaces_around_a_name_and_an_address_are_removed(api):
    body = {"username": " carol\u00a0", "email": " Carol@example.org \t", "password": PASSWORD}
    answer = api.post("/api/auth/register", body)
    assert (answer.status_code, answer.json["username"], answer.json["email"]) == (201, "carol", "carol@example.org")
    assert api.post("/api/auth/login", {"login": " carol ", "password": PASSWORD}).status_code == 200


def test_capitals_in_a_name_are_named(api):
    answer = api.post("/api/auth/register", {"username": "Carol", "email": "c@example.org", "password": PASSWORD})
    assert answer.status_code == 422
    [error] = answer.json["errors"]
    assert "no capitals" in error["detail"]
