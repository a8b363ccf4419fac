"""Changing one's own account, and what administrators and operators change of others."""

import pytest
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.errors import AdminRequired, Invalid, LastAdmin, NotFound
from directory.extensions import db
from directory.models import AuditEntry, Role, User, now
from directory.services.accounts import accounts
from directory.services.accounts.passwords import hash_password, verify_password
from directory.services.identity import Caller
from directory.services.people import administration
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD

NEW_PASSWORD = "an entirely new one"
BOTH = {"password": NEW_PASSWORD, "current_password": PASSWORD}


@pytest.fixture
def user(ada):
    return ada


def audited(app):
    with app.app_context():
        entries = db.session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(e.action, e.actor_id, e.user_id, e.from_state, e.to_state) for e in entries]


def test_a_new_email_is_kept_in_lower_case_and_is_good_for_the_next_login(app, browser):
    answer = browser.put("/api/auth/me", {"email": "Ada@New.example.ORG", "current_password": PASSWORD})
    assert (answer.status_code, answer.json["email"]) == (200, "ada@new.example.org")
    assert browser.get("/api/auth/me").json == answer.json
    assert Browser(app).sign_in("ada@new.example.org").signed_in()


def test_a_new_email_is_not_confirmed_and_the_same_one_stays_confirmed(app, user, browser):
    with app.app_context():
        confirmed = update(User).where(User.id == user.id).values(email_verified_at=now())
        transaction(lambda: db.session.execute(confirmed))
    for email, is_confirmed in (("Ada@Example.org", True), ("ada@new.example.org", False)):
        answer = browser.put("/api/auth/me", {"email": email, "current_password": PASSWORD})
        assert (answer.status_code, answer.json["email"]) == (200, email.lower())
        assert answer.json["email_verified"] is is_confirmed


def test_an_address_with_a_domain_outside_of_ascii_is_one_account_however_it_is_typed(app, world, api):
    typed = ("ada@exämple.de", "ADA@EXÄMPLE.DE", "ada@exa\u0308mple.de", "ada@xn--exmple-cua.de")
    made = api.post("/api/auth/register", {"username": "ada2", "email": typed[1], "password": PASSWORD})
    assert (made.status_code, made.json["email"]) == (201, typed[-1])
    for email in typed:
        taken = api.post("/api/auth/register", {"username": "ada3", "email": email, "password": PASSWORD})
        assert (taken.status_code, taken.json["errors"][0]["pointer"]) == (409, "#/email")
        assert Browser(app).sign_in(email).signed_in()
        found = world.caller(world.admin()).get("/api/admin/users", query_string={"q": email}).json["items"]
        assert [one["username"] for one in found] == ["ada2"]


def test_an_email_that_somebody_has_is_refused_and_nothing_of_the_request_is_kept(app, world, browser):
    world.user("bob")
    answer = browser.put("/api/auth/me", {"email": "BOB@example.org", **BOTH})
    assert (answer.status_code, answer.json["code"]) == (409, "duplicate")
    assert browser.get("/api/auth/me").json["email"] == "ada@example.org"
    assert Browser(app).sign_in("ada", PASSWORD).signed_in()


def test_ones_own_email_once_more_and_an_empty_change_are_fine(browser):
    before = browser.get("/api/auth/me").json
    for given in ({}, {"email": before["email"]}):
        answer = browser.put("/api/auth/me", given)
        assert (answer.status_code, answer.json) == (200, before)


def test_a_password_change_ends_all_other_sessions_and_no_other_users(app, world, browser):
    world.user("bob")
    other, bob = Browser(app).sign_in("ada"), Browser(app).sign_in("bob")
    assert browser.put("/api/auth/me", BOTH).status_code == 200
    assert [each.signed_in() for each in (browser, other, bob)] == [True, False, True]
    old = Browser(app).post("/api/auth/login", {"login": "ada", "password": PASSWORD})
    assert (old.status_code, old.json["code"]) == (401, "invalid_credentials")
    assert Browser(app).sign_in("ada", NEW_PASSWORD).signed_in()


def test_a_password_change_by_token_ends_every_session(world, user, browser):
    assert world.caller(user).put("/api/auth/me", BOTH).status_code == 200
    assert not browser.signed_in()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"password": NEW_PASSWORD}, "current_password"),
        ({"current_password": PASSWORD}, "password"),
        ({"password": NEW_PASSWORD, "current_password": "wrong"}, "current_password"),
        ({"password": "short", "current_password": PASSWORD}, "password"),
        ({"password": "password1", "current_password": PASSWORD}, "password"),
        ({"password": "new@example.org", "current_password": PASSWORD, "email": "new@example.org"}, "password"),
        ({"password": None, "current_password": PASSWORD}, "password"),
        ({"email": "nonsense"}, "email"),
        ({"email": None}, "email"),
        ({"username": "eve"}, "username"),
    ],
)
def test_a_bad_change_is_refused_by_name_and_changes_nothing(app, browser, given, field):
    other = Browser(app).sign_in("ada")
    answer = browser.put("/api/auth/me", given)
    assert (answer.status_code, answer.json["code"]) == (422, "validation_failed")
    assert [each["pointer"] for each in answer.json["errors"]] == [f"#/{field}"]
    assert other.signed_in()
    assert Browser(app).sign_in("ada").get("/api/auth/me").json["email"] == "ada@example.org"


def test_of_two_password_changes_at_once_the_one_that_knew_the_older_password_loses(app, user):
    with app.app_context():
        known = db.session.get(User, user.id).password_hash
        first, second = hash_password("the first one"), hash_password("the second one")
        transaction(lambda: accounts.change(user, email=None, known_hash=known, new_hash=first))
        with pytest.raises(Invalid) as caught:
            transaction(lambda: accounts.change(user, email=None, known_hash=known, new_hash=second))
        assert caught.value.errors[0]["pointer"] == "#/current_password"
        assert verify_password(db.session.get(User, user.id).password_hash, "the first one")


def test_who_is_not_there_cannot_be_found_or_changed(app, world):
    nobody = Caller(4711, "nobody", Role.MEMBER)
    admin = world.admin()
    with app.app_context():
        for work in (
            lambda: accounts.get(nobody.id),
            lambda: accounts.change(nobody, email="x@example.org", known_hash="", new_hash=None),
            lambda: administration.administer(nobody.id, role=Role.ADMIN, status=None, by=admin),
        ):
            with pytest.raises(NotFound):
                transaction(work)


def test_each_change_of_role_and_status_is_audited_once_and_no_other(app, world, user):
    admin = world.admin()
    caller = world.caller(admin)
    path = f"/api/admin/users/{user.id}"
    for given in (
        {"role": "admin", "status": "active"},
        {"role": "admin"},
        {},
        {"role": "member", "status": "suspended"},
    ):
        assert caller.put(path, given).status_code == 200
    assert audited(app) == [
        ("user.role_changed", admin.id, user.id, "member", "admin"),
        ("user.role_changed", admin.id, user.id, "admin", "member"),
        ("user.status_changed", admin.id, user.id, "active", "suspended"),
    ]


@pytest.mark.parametrize(
    "given", [{"role": "member"}, {"status": "suspended"}, {"role": "member", "status": "suspended"}]
)
def test_the_last_active_admin_stays_one(app, world, given):
    admin = world.admin()
    world.user(role=Role.ADMIN, status="suspended")
    caller = world.caller(admin)
    answer = caller.put(f"/api/admin/users/{admin.id}", given)
    assert (answer.status_code, answer.json["code"]) == (409, "last_admin")
    assert audited(app) == []
    assert caller.get("/api/auth/me").json["is_admin"]
    world.admin()
    assert caller.put(f"/api/admin/users/{admin.id}", given).status_code == 200


def test_an_operator_without_account_may_administer_but_not_remove_the_last_admin(app, world, user):
    admin = world.admin()
    with app.app_context():
        transaction(lambda: administration.administer(user.id, role=Role.ADMIN, status=None, by=None))
        transaction(lambda: administration.administer(admin.id, role=Role.MEMBER, status=None, by=None))
        with pytest.raises(LastAdmin):
            transaction(lambda: administration.administer(user.id, role=None, status="suspended", by=None))
    assert [entry[1:3] for entry in audited(app)] == [(None, user.id), (None, admin.id)]


def test_who_was_demoted_a_moment_ago_demotes_nobody(app, world, user):
    first, second = world.admin(), world.admin()
    with app.app_context():
        transaction(lambda: administration.administer(first.id, role=Role.MEMBER, status=None, by=second))
        with pytest.raises(AdminRequired):
            transaction(lambda: administration.administer(second.id, role=Role.MEMBER, status=None, by=first))
