"""Feed keys: the address by which a feed reader, which cannot sign in, reads the feed as a member."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.errors import Unauthenticated
from directory.extensions import db
from directory.extras.feed_keys import feed_keys
from directory.models import AuditEntry, User
from directory.services.accounts import sessions
from directory.services.people import administration
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.members import by_loop
from tests.support.reading import fast_path

PATH, FEED = "/api/auth/feed-key", "/api/projects.atom"


def key_of(caller: Any) -> str:
    answer = caller.post(PATH)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    key: str = answer.json["key"]
    return key


def status(app: Flask, key: str) -> int:
    """The status of the feed with a key."""
    found: int = Api(app).get(f"{FEED}?key={key}").status_code
    return found


def test_a_key_reads_the_feed_as_its_member_and_nothing_else(make_app: Any, world: World) -> None:
    """In a public and in a private directory, with and without the cache; it never makes what others are given."""
    world.project(title="Quagga")
    caller = world.caller(world.user("ada"))
    apps = [
        make_app(READS=reads, RESPONSE_CACHE=cache) for reads in ("public", "members") for cache in ("true", "false")
    ]
    key = key_of(caller)
    for app in apps:
        anyone, is_closed = Api(app), app.config["READS"] == "members"
        for _ in range(2):
            answer = anyone.get(f"{FEED}?key={key}&category=tools")
            assert (answer.status_code, "Quagga" in answer.text, key in answer.text) == (200, True, False)
            assert answer.headers["Cache-Control"] == "private, no-cache"
            assert anyone.call("HEAD", f"{FEED}?key={key}").status_code == 200
            again = anyone.get(f"{FEED}?key={key}&category=tools", headers={"If-None-Match": answer.headers["ETag"]})
            assert (again.status_code, again.headers["Cache-Control"]) == (304, "private, no-cache")
            assert anyone.get(FEED).status_code == (401 if is_closed else 200)
        for path in ("/api/projects", "/", "/api/auth/me", "/feed", f"{FEED}/x"):
            assert not is_closed or anyone.get(f"{path}?key={key}").status_code == 401, path
        for bad in ("", "none", f"{key}x", f"{key[:-1]}%00"):
            assert status(app, bad) == 401, bad
        assert anyone.post(f"{FEED}?key=none").status_code == (401 if is_closed else 405)
        for odd in (f"key={key}&key={key}", "\x80"):
            answer = anyone.get(FEED, environ_overrides={"QUERY_STRING": odd})
            assert answer.status_code == (401 if is_closed else 422), odd
        assert anyone.get(f"{FEED}?key={key}", headers={"Authorization": "Bearer none"}).status_code == 401


def test_it_is_stored_as_its_hash_and_its_changes_are_in_the_log(app: Flask, world: World) -> None:
    caller = world.caller(ada := world.user("ada"))
    first, second = key_of(caller), key_of(caller)
    assert (len(first), status(app, first), status(app, second)) == (43, 401, 200)
    with app.app_context():
        assert db.session.scalar(select(User.feed_key_hash).where(User.id == ada.id)) == sessions.digest(second)
    assert [caller.delete(PATH).status_code for _ in range(2)] == [204, 204]
    assert status(app, second) == 401
    with app.app_context():
        log = db.session.execute(
            select(AuditEntry.action, AuditEntry.actor_id, AuditEntry.user_id).order_by(AuditEntry.id)
        )
        made, deleted = "user.feed_key_made", "user.feed_key_deleted"
        assert [tuple(row) for row in log if "feed" in row.action] == [
            (each, ada.id, ada.id) for each in (made, made, deleted)
        ]


def suspend_and_activate(admin: Api, user: Any) -> None:
    for state in ("suspended", "active"):
        assert admin.put(f"/api/admin/users/{user.id}", {"status": state}).status_code == 200


def delete(admin: Api, user: Any) -> None:
    answer = Browser(admin.app).sign_in(user.username).call("DELETE", "/api/auth/me", {"current_password": PASSWORD})
    assert answer.status_code == 204


def revoke_all(admin: Api, user: Any) -> None:
    given = {"current_password": PASSWORD, "password": f"{PASSWORD} 2", "revoke_tokens": True}
    assert Browser(admin.app).sign_in(user.username).put("/api/auth/me", given).status_code == 200


def test_all_keys_end_with_all_tokens_of_all_users(app: Flask, world: World) -> None:
    keys = [key_of(world.caller(world.user())) for _ in range(3)]
    assert Browser(app).sign_in(world.admin().username).delete("/api/admin/tokens").status_code == 204
    assert [status(app, key) for key in keys] == [401] * 3


@pytest.mark.parametrize("end", [suspend_and_activate, delete, revoke_all])
def test_it_ends_with_the_account_and_with_all_tokens(app: Flask, world: World, end: Any) -> None:
    ada, admin = world.user("ada"), world.caller(world.admin())
    key, other = key_of(world.caller(ada)), key_of(world.caller(world.user()))
    end(admin, ada)
    assert (status(app, key), status(app, other)) == (401, 200)


def test_a_key_that_is_made_while_the_account_is_suspended_does_not_outlive_that(app: Flask, world: World) -> None:
    """Whichever is first: an account that is suspended has no key."""
    for _ in range(5):
        user = world.user()
        caller = world.caller(user)

        def suspend(user_id: int = user.id) -> None:
            with app.app_context():
                transaction(lambda: administration.administer(user_id, role=None, status="suspended", by=None))

        with ThreadPoolExecutor(2) as pool:
            making, suspending = pool.submit(caller.post, PATH), pool.submit(suspend)
            assert making.result().status_code in (201, 401)
            suspending.result()
        with app.app_context():
            assert db.session.scalar(select(User.feed_key_hash).where(User.id == user.id)) is None


@pytest.mark.parametrize("end", ["suspend", "sign out"])
def test_no_key_is_made_by_what_ended_after_the_caller_was_found(app: Flask, world: World, end: str) -> None:
    """As the requests above can meet, in that order each time."""
    ada = world.user("ada")
    with app.app_context():
        cookie = transaction(lambda: sessions.begin(ada.id, user_agent="Firefox"))
        found = sessions.caller_of(sessions.of_cookie(cookie))
        assert found is not None
        caller = found[0]
        if end == "suspend":
            transaction(lambda: administration.administer(ada.id, role=None, status="suspended", by=None))
        else:
            transaction(lambda: sessions.end(caller.session_id or 0, by=caller))
        with pytest.raises(Unauthenticated):
            transaction(lambda: feed_keys.make(caller))
        assert db.session.scalar(select(User.feed_key_hash).where(User.id == ada.id)) is None
        assert "user.feed_key_made" not in db.session.scalars(select(AuditEntry.action)).all()


@pytest.mark.response_cache
def test_a_read_by_key_is_never_stored_nor_answered_by_the_loop(app: Flask, world: World) -> None:
    world.project()
    key, fast = key_of(world.caller(world.user())), fast_path(app)
    assert status(app, key) == 200
    assert by_loop(fast, f"{FEED}?key={key}", {}) is None
    assert not [each for each in app.extensions["response_cache"].store._entries if "key=" in str(each)]
