"""API tokens: their text is shown once, and they end by revocation, expiry or suspension."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.errors import Unauthenticated
from directory.extensions import db
from directory.models import Token, User, now
from directory.services.accounts import api_tokens, sessions
from tests.support.concurrent_calls import threads
from tests.support.factories import PASSWORD, Api

SHOWN = {"id", "name", "created_at", "expires_at", "last_used_at"}


@pytest.fixture
def user(world):
    return world.user("ada")


@pytest.fixture
def caller(world, user):
    return world.caller(user)


def soon(**delta):
    return (datetime.now(UTC) + timedelta(**delta)).isoformat()


def set_all(app, **values):
    with app.app_context():
        transaction(lambda: db.session.execute(update(Token).values(values)))


def test_a_tokens_text_is_shown_once_and_stored_as_a_hash_alone(app, caller):
    made = caller.post("/api/auth/tokens", {"name": "ci"})
    assert made.status_code == 201
    assert made.json.keys() == SHOWN | {"token"}
    assert (made.json["name"], made.json["expires_at"], made.json["last_used_at"]) == ("ci", None, None)
    secret = made.json["token"]
    assert len(secret.removeprefix("pds_")) >= 43  # 256 bits in base64
    listed = caller.get("/api/auth/tokens")
    assert listed.json["items"][0] == {name: value for name, value in made.json.items() if name != "token"}
    assert secret not in listed.text
    with app.app_context():
        token = db.session.scalar(select(Token).where(Token.name == "ci"))
        stored = {str(getattr(token, column.name)) for column in Token.__table__.columns}
    assert hashlib.sha256(secret.encode()).hexdigest() in stored
    assert secret not in stored
    assert Api(app, secret).get("/api/auth/me").json["username"] == "ada"


def test_a_token_is_listed_newest_first_and_to_its_user_alone(world, caller):
    caller.post("/api/auth/tokens", {"name": "newer"})
    assert [each["name"] for each in caller.get("/api/auth/tokens").json["items"]] == ["newer", "test"]
    assert [each["name"] for each in world.caller(world.user()).get("/api/auth/tokens").json["items"]] == ["test"]


def test_a_revoked_token_is_dead_at_once_and_only_its_user_can_revoke_it(app, world, caller):
    made = caller.post("/api/auth/tokens", {"name": "ci"}).json
    path = f"/api/auth/tokens/{made['id']}"
    for other in (world.caller(world.user()), world.caller(world.admin())):
        assert (other.delete(path).status_code, other.delete(path).json["code"]) == (404, "not_found")
    assert Api(app, made["token"]).get("/api/auth/me").status_code == 200
    assert caller.delete(path).status_code == 204
    assert caller.delete(path).status_code == 404
    assert Api(app, made["token"]).get("/api/projects").json["code"] == "unauthenticated"


def test_a_token_can_revoke_itself(caller):
    number = caller.get("/api/auth/tokens").json["items"][0]["id"]
    assert caller.delete(f"/api/auth/tokens/{number}").status_code == 204
    assert caller.get("/api/auth/me").status_code == 401


def test_a_token_holds_until_it_expires(app, caller):
    given = soon(hours=1)
    made = caller.post("/api/auth/tokens", {"name": "short", "expires_at": given}).json
    assert datetime.fromisoformat(made["expires_at"]) == datetime.fromisoformat(given)
    assert Api(app, made["token"]).get("/api/auth/me").status_code == 200
    set_all(app, expires_at=now())
    assert Api(app, made["token"]).get("/api/auth/me").status_code == 401


def test_an_expiry_may_be_given_in_any_zone_and_null_is_never(caller):
    given = {"name": "x", "expires_at": "2099-01-01T00:00:00.5+05:30"}
    assert caller.post("/api/auth/tokens", given).json["expires_at"] == "2098-12-31T18:30:00.500000Z"
    assert caller.post("/api/auth/tokens", given | {"expires_at": None}).json["expires_at"] is None


@pytest.mark.parametrize(
    "given",
    [
        "2020-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "2099-01-01",
        "2099-01-01T00:00:00",
        "2099-13-01T00:00:00Z",
        "9999-12-31T23:59:59-12:00",
        "2099-01-01T00:00:00+05:60",
        "2099-01-01T00:00:00+24:00",
        "٢٠٩٩-01-01T00:00:00Z",
        4102444800,
        "",
        True,
    ],
)
def test_an_expiry_that_is_past_or_no_instant_is_refused(caller, given):
    answer = caller.post("/api/auth/tokens", {"name": "x", "expires_at": given})
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#/expires_at")


def test_one_answer_reports_a_bad_name_and_a_past_expiry(caller):
    answer = caller.post("/api/auth/tokens", {"name": " ", "expires_at": "2020-01-01T00:00:00Z"})
    assert [error["pointer"] for error in answer.json["errors"]] == ["#/name", "#/expires_at"]


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\nb", "\u202e", None, 5])
def test_a_token_needs_a_name_that_can_be_read(caller, name):
    answer = caller.post("/api/auth/tokens", {"name": name})
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#/name")


def test_a_user_has_a_hundred_tokens_at_most(caller, world, monkeypatch):
    monkeypatch.setattr(api_tokens, "MAX_TOKENS", 2)
    assert caller.post("/api/auth/tokens", {"name": "second"}).status_code == 201
    answer = caller.post("/api/auth/tokens", {"name": "third"})
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#/name")
    assert world.caller(world.user()).post("/api/auth/tokens", {"name": "second"}).status_code == 201


def test_a_hundred_are_the_most_also_of_tokens_that_are_made_at_once(app, caller, monkeypatch):
    monkeypatch.setattr(api_tokens, "MAX_TOKENS", 3)
    scripts = [[(caller.token, "POST", "/api/auth/tokens", {"name": "x"})] for _ in range(8)]
    assert sorted(answer["status"] for answer in threads(app, scripts)) == [201] * 2 + [422] * 6


def test_the_token_of_a_suspended_user_is_dead_even_where_its_row_was_left(app, world):
    suspended = world.user(status="suspended")
    with app.app_context():
        row = Token(user_id=suspended.id, name="left", token_hash=sessions.digest("pds_left"))
        transaction(lambda: db.session.add(row))
    assert Api(app, "pds_left").get("/api/projects").status_code == 401


def test_use_is_recorded_at_most_every_five_minutes(app, caller, statements):
    def used():
        return caller.get("/api/auth/tokens").json["items"][0]["last_used_at"]

    first = used()
    assert first is not None
    statements.clear()
    assert used() == first
    assert not [s for s in statements if s.startswith("UPDATE")]
    set_all(app, last_used_at=now() - timedelta(minutes=6))
    assert used() > first


def test_a_password_change_leaves_tokens_alone(caller, world):
    answer = caller.put("/api/auth/me", {"password": "a new and longer one", "current_password": PASSWORD})
    assert answer.status_code == 200
    assert caller.get("/api/auth/me").status_code == 200


def test_a_token_that_a_token_makes_expires_no_later(caller, world, user, app):
    short = Api(app, caller.post("/api/auth/tokens", {"name": "short", "expires_at": soon(hours=1)}).json["token"])
    expiry = datetime.fromisoformat(caller.get("/api/auth/tokens").json["items"][0]["expires_at"])
    for asked, later in ((None, True), (soon(hours=2), True), (soon(minutes=1), False)):
        made = short.post("/api/auth/tokens", {"name": "child", "expires_at": asked})
        assert made.status_code == 201
        assert (datetime.fromisoformat(made.json["expires_at"]) == expiry) == later
    by_session = caller.post("/api/auth/tokens", {"name": "made by one without expiry"})
    assert by_session.json["expires_at"] is None


def test_a_token_ends_with_the_one_that_made_it_and_so_do_those_that_it_made(caller, app):
    made = [caller]
    for name in ("first", "second", "third"):
        made.append(Api(app, made[-1].post("/api/auth/tokens", {"name": name}).json["token"]))
    ids = {each["name"]: each["id"] for each in caller.get("/api/auth/tokens").json["items"]}
    assert caller.delete(f"/api/auth/tokens/{ids['first']}").status_code == 204
    assert [each.get("/api/auth/me").status_code for each in made] == [200, 401, 401, 401]
    assert [each["name"] for each in caller.get("/api/auth/tokens").json["items"]] == ["test"]


def test_a_token_that_is_revoked_meanwhile_makes_none(app, user):
    with app.app_context():
        made = transaction(lambda: api_tokens.issue("gone", None, by=user))
        by = replace(user, token_id=made["id"])
        transaction(lambda: api_tokens.revoke(made["id"], by=user))
        with pytest.raises(Unauthenticated):
            transaction(lambda: api_tokens.issue("child", None, by=by))


def test_a_session_that_ended_meanwhile_makes_no_token(app, user):
    with app.app_context():
        secret = transaction(lambda: sessions.begin(user.id, user_agent=""))
        by, _ = sessions.caller_of(sessions.of_cookie(secret))
        transaction(lambda: sessions.end_all(user.id))
        with pytest.raises(Unauthenticated):
            transaction(lambda: api_tokens.issue("late", None, by=by))


def test_an_account_that_was_suspended_meanwhile_makes_no_token(app, world):
    _before, user, _after = world.user(), world.user(), world.user()
    suspend = update(User).where(User.id == user.id).values(status="suspended")
    with app.app_context():
        transaction(lambda: db.session.execute(suspend))
        with pytest.raises(Unauthenticated):
            transaction(lambda: api_tokens.issue("late", None, by=user))


def test_tokens_made_while_their_maker_is_revoked_all_end(app, world, user):
    for _ in range(5):
        maker = world.caller(user)
        newest = maker.get("/api/auth/tokens").json["items"][0]["id"]
        with ThreadPoolExecutor(8) as pool:
            made = [pool.submit(maker.post, "/api/auth/tokens", {"name": f"child {n}"}) for n in range(7)]
            gone = pool.submit(maker.delete, f"/api/auth/tokens/{newest}")
        assert gone.result().status_code == 204
        assert {each.result().status_code for each in made} <= {201, 401}
    with app.app_context():
        assert db.session.scalar(select(db.func.count()).select_from(Token)) == 0
