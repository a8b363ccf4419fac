"""Sessions of browsers: their cookie, how they end, and that a copied cookie is worth nothing afterwards."""

import hashlib
import logging
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from directory.db.engine import BUSY_TIMEOUT
from directory.db.transactions import transaction
from directory.errors import Unauthenticated
from directory.extensions import db
from directory.models import LastUse, Session, User, now
from directory.services.accounts import api_tokens, last_uses, sessions
from directory.services.identity import Caller
from directory.services.people import administration
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api

# How each database's write transactions begin.
WRITING = {"sqlite": {BUSY_TIMEOUT: 1000}, "postgresql": {"isolation_level": "READ COMMITTED"}}


@pytest.fixture
def user(ada):
    return ada


def age(app, **columns):
    """Make every session older, by timedeltas."""
    with app.app_context():
        values = {name: now() - by for name, by in columns.items()}
        transaction(lambda: db.session.execute(update(Session).values(values)))


def last_seen(app):
    with app.app_context():
        return db.session.scalar(select(Session.last_seen_at))


def test_the_cookies_secret_is_stored_as_a_hash_alone(app, browser):
    with app.app_context():
        session = db.session.scalar(select(Session))
        stored = [str(getattr(session, column.name)) for column in Session.__table__.columns]
    assert hashlib.sha256(browser.cookie.encode()).hexdigest() in stored
    assert not any(browser.cookie in value for value in stored)
    assert len(browser.cookie) >= 43  # 256 bits in base64


def test_each_login_is_a_session_of_its_own(app, user):
    first, second = Browser(app).sign_in("ada"), Browser(app).sign_in("ada")
    assert first.cookie != second.cookie
    assert first.signed_in()
    assert second.signed_in()


def test_a_login_never_takes_over_a_session_id_that_the_browser_brought(app, user):
    browser = Browser(app, cookie="fixed-by-an-attacker")
    browser.sign_in("ada")
    assert browser.cookie != "fixed-by-an-attacker"
    assert not Browser(app, cookie="fixed-by-an-attacker").signed_in()


def test_after_signing_out_a_copied_cookie_is_dead(app, browser):
    copy = browser.copy(app)
    other = Browser(app).sign_in("ada")
    assert copy.signed_in()
    browser.post("/api/auth/logout")
    assert not copy.signed_in()
    assert other.signed_in()


@pytest.mark.parametrize(
    ("columns", "alive"),
    [
        ({"last_seen_at": timedelta(days=13, hours=23)}, True),
        ({"last_seen_at": timedelta(days=14)}, False),
        ({"created_at": timedelta(days=29, hours=23)}, True),
        ({"created_at": timedelta(days=30)}, False),
    ],
    ids=["idle for less than 14 days", "idle for 14 days", "30 days not yet over", "30 days old"],
)
def test_a_session_ends_by_itself(app, browser, columns, alive):
    age(app, **columns)
    assert browser.signed_in() is alive
    assert len(Browser(app).sign_in("ada").get("/api/auth/sessions").json["items"]) == 1 + alive


@pytest.mark.parametrize("cookie", ["dead", "", "a" * 5000, "\xff\xfe", '"; drop', "%00", "=;,"])
def test_a_dead_cookie_reads_as_anonymous_on_a_public_route_and_is_refused_elsewhere(app, world, cookie):
    world.project()
    browser = Browser(app)
    headers = {"Cookie": f"{COOKIE}={cookie}"}
    answer = browser.get("/api/projects", headers=headers)
    assert (answer.status_code, answer.json["items"][0]["has_upvoted"]) == (200, None)
    assert answer.headers["Cache-Control"] == "public, no-cache"
    assert browser.get("/api/auth/me", headers=headers).json["code"] == "unauthenticated"


def test_the_cookie_of_a_suspended_user_is_dead_even_where_its_row_was_left(app, world, browser, user):
    with app.app_context():
        transaction(lambda: administration.administer(user.id, role=None, status="suspended", by=None))
        transaction(lambda: sessions.begin(user.id, user_agent=""))
        db.session.execute(update(Session).values(token_hash=sessions.digest(browser.cookie)))
        db.session.commit()
    assert browser.get("/api/projects").headers["Cache-Control"] == "public, no-cache"
    assert not browser.signed_in()


def test_a_suspension_ends_all_sessions_and_tokens_at_once_and_for_good(app, world, browser, user):
    token, admin = world.caller(user), world.caller(world.admin())
    for status in ("suspended", "active"):
        assert admin.put(f"/api/admin/users/{user.id}", {"status": status}).status_code == 200
        assert not browser.signed_in()
        assert token.get("/api/auth/me").status_code == 401
    assert Browser(app).sign_in("ada").signed_in()


def test_a_token_cannot_be_made_while_its_account_is_being_suspended(app, world, user):
    with app.app_context():
        transaction(lambda: administration.administer(user.id, role=None, status="suspended", by=None))
        with pytest.raises(Unauthenticated):
            api_tokens.issue("late", None, by=user)


def test_a_role_change_holds_from_the_next_request_on(app, world):
    first, second = world.admin("first"), world.caller(world.admin("second"))
    browser = Browser(app).sign_in("first")
    assert browser.get("/api/admin/audit").status_code == 200
    assert second.put(f"/api/admin/users/{first.id}", {"role": "member"}).status_code == 200
    answer = browser.get("/api/admin/audit")
    assert (answer.status_code, answer.json["code"]) == (403, "admin_required")
    second.put(f"/api/admin/users/{first.id}", {"role": "admin"})
    assert browser.get("/api/admin/audit").status_code == 200


def test_a_new_secret_key_signs_nobody_out_and_makes_old_cursors_worthless(app, make_app, world, browser, user):
    for _ in range(2):
        world.project()
    token, rotated = world.caller(user).token, make_app(SECRET_KEY="y" * 40)
    first = browser.get("/api/projects?limit=1").json["pagination"]["next_cursor"]
    assert browser.copy(rotated).signed_in()
    assert Api(rotated, token).get("/api/auth/me").status_code == 200
    for known, status in ((app, 200), (rotated, 422)):
        assert Api(known).get(f"/api/projects?limit=1&cursor={first}").status_code == status


def test_nobody_can_sign_in_to_a_fresh_service_and_who_registers_is_no_admin(app, api):
    for name in ("admin", "root", "administrator", "admin@example.org"):
        for password in ("admin", "password", "changeme", "adminadmin", ""):
            assert api.post("/api/auth/login", {"login": name, "password": password}).status_code in {401, 422}
    new = {"username": "admin", "email": "admin@example.org", "password": PASSWORD}
    assert api.post("/api/auth/register", new).status_code == 422
    assert api.post("/api/auth/register", {**new, "username": "first"}).json["is_admin"] is False


def test_the_list_shows_ones_own_sessions_newest_first_and_which_is_this_one(app, world, browser, user):
    other = Browser(app)
    login = {"login": "ada", "password": PASSWORD}
    other.post("/api/auth/login", login, headers={"User-Agent": "Lynx\t2.9\x85" + "x" * 400})
    world.user("bob")
    Browser(app).sign_in("bob")
    items = browser.get("/api/auth/sessions").json["items"]
    assert [each["current"] for each in items] == [False, True]
    assert items[0].keys() == {"id", "created_at", "last_seen_at", "user_agent", "current"}
    assert items[0]["user_agent"] == ("Lynx2.9" + "x" * 400)[:300]
    assert [each["current"] for each in other.get("/api/auth/sessions").json["items"]] == [True, False]
    assert [each["current"] for each in world.caller(user).get("/api/auth/sessions").json["items"]] == [False, False]


def test_one_session_can_be_ended_by_its_user_alone(app, world, browser):
    world.user("bob")
    bob, other = Browser(app).sign_in("bob"), Browser(app).sign_in("ada")
    target = other.get("/api/auth/sessions").json["items"][0]["id"]
    admin = world.caller(world.admin())
    assert [each.delete(f"/api/auth/sessions/{target}").status_code for each in (bob, admin)] == [404, 404]
    assert other.signed_in()
    assert browser.delete(f"/api/auth/sessions/{target}").status_code == 204
    assert browser.delete(f"/api/auth/sessions/{target}").status_code == 404
    assert (browser.signed_in(), other.signed_in()) == (True, False)


def test_all_others_can_be_ended_at_once(app, world, browser, user):
    others = [Browser(app).sign_in("ada") for _ in range(2)]
    world.user("bob")
    bob = Browser(app).sign_in("bob")
    answer = browser.delete("/api/auth/sessions")
    assert (answer.status_code, answer.data) == (204, b"")
    assert [each.signed_in() for each in (browser, *others, bob)] == [True, False, False, True]
    assert world.caller(user).delete("/api/auth/sessions").status_code == 204
    assert not browser.signed_in()


def test_use_is_recorded_at_most_every_five_minutes(app, browser, statements):
    statements.clear()
    browser.get("/api/auth/me")
    assert not [s for s in statements if s.startswith(("UPDATE", "INSERT", "DELETE"))]
    age(app, last_seen_at=timedelta(minutes=6))
    before = last_seen(app)
    assert browser.signed_in()
    assert last_seen(app) - before > timedelta(minutes=5)


def test_one_of_several_requests_at_once_records_the_use(app, user, browser):
    age(app, last_seen_at=timedelta(minutes=6))
    seen = set()
    with app.app_context():
        caller = Caller(user.id, "ada", "member", session_id=db.session.scalar(select(Session.id)))
        for _ in range(3):  # all of them had found it due
            transaction(lambda: last_uses.record([caller, caller]))
            times = select(Session.last_seen_at, LastUse.seen_at).join(LastUse, LastUse.user_id == Session.user_id)
            seen |= {*db.session.execute(times).one()}
    assert [each > now() - timedelta(minutes=1) for each in seen] == [True]


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_use_that_another_request_records_is_not_waited_for(app, browser, caplog):
    age(app, last_seen_at=timedelta(minutes=6))
    with app.app_context(), db.engine.connect().execution_options(**WRITING["postgresql"]) as other:
        other.execute(update(Session).values(last_seen_at=now()))
        with caplog.at_level(logging.INFO, "directory.http.authentication"):
            assert browser.signed_in()
    assert "last use not recorded" not in caplog.text  # as it would be after a wait


def test_a_busy_database_keeps_nobody_from_reading(app, browser, user):
    age(app, last_seen_at=timedelta(minutes=6))
    before = last_seen(app)
    with app.app_context():
        engine = db.engine
    with engine.connect().execution_options(**WRITING[engine.dialect.name]) as other:
        other.execute(select(User).with_for_update())
        assert browser.signed_in()
    assert last_seen(app) == before


def test_a_bearer_token_counts_alone_and_the_cookie_beside_it_not_at_all(app, world, browser):
    bob = world.user("bob")
    token = {"Authorization": f"Bearer {world.caller(bob).token}"}
    assert browser.get("/api/auth/me", headers=token).json["username"] == "bob"
    for bad in ("Bearer nonsense", "Bearer", "bearer  ", "BEARER \xff", "Basic eg==,Bearer nonsense"):
        answer = browser.get("/api/projects", headers={"Authorization": bad})
        assert (answer.status_code, answer.json["code"]) == (401, "unauthenticated")
        assert "WWW-Authenticate" in answer.headers
    assert browser.get("/api/auth/me", headers={"Authorization": "Basic YWRhOng="}).json["username"] == "ada"
    assert Api(app).get("/api/auth/me").status_code == 401
