"""Passkeys: adding, listing, renaming and removing them, signing in by one, and what is refused on the way."""

import logging
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import webauthn
from flask import Flask
from sqlalchemy import select, update

import config
from directory.db.transactions import transaction
from directory.errors import LastWayIn
from directory.extensions import db
from directory.extras.passkeys import passkeys
from directory.models import AuditEntry, Passkey, PasskeyChallenge, Session, Token, User, now
from directory.runtime import housekeeping
from directory.services.accounts import sessions
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.identity import Caller
from directory.services.sign_in import ways_in
from tests.conftest import ENVIRONMENT
from tests.support import cpu
from tests.support.authenticator import Authenticator, cbor, raw, text
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all

KEYS = "/api/auth/passkeys"
SUFFIX = "account at Project Directory"
ORIGIN = "http://localhost"


def key(**facts: Any) -> Authenticator:
    return Authenticator(ORIGIN, **facts)


def offer(browser: Browser, path: str = f"{KEYS}/options") -> Any:
    """The options of a registration, or of a sign-in."""
    answer = browser.post(path)
    assert answer.status_code == 200, answer.json
    return answer.json


def add(browser: Browser, one: Authenticator | None = None, **facts: Any) -> Any:
    """Add a passkey, which must succeed."""
    one = one or key()
    answer = browser.post(KEYS, {"credential": one.create(offer(browser)), **facts})
    assert answer.status_code == 201, answer.json
    return answer.json


def sign_in(app: Flask, one: Authenticator, **changed: Any) -> tuple[Browser, Any]:
    """A new browser that tries to sign in by a passkey, and the answer."""
    browser = Browser(app)
    answer = browser.post(f"{KEYS}/login", {"credential": one.sign(offer(browser, f"{KEYS}/login/options"), **changed)})
    return browser, answer


def signed_in(app: Flask, one: Authenticator) -> Browser:
    browser, answer = sign_in(app, one)
    assert answer.status_code == 200, answer.json
    return browser


def change(app: Flask, model: Any, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(update(model).values(values)))


def rows(app: Flask, model: Any) -> list[Any]:
    with app.app_context():
        return list(db.session.scalars(select(model).order_by(model.id)))


def actions(app: Flask) -> list[str]:
    return [entry.action for entry in rows(app, AuditEntry)]


def test_a_member_adds_a_passkey_and_signs_in_by_it_without_a_name(app: Flask, browser: Browser, ada: Caller) -> None:
    one = key()
    options = offer(browser)
    assert options["rp"] == {"name": "Project Directory", "id": "localhost"}
    assert options["user"] == {"id": text(str(ada.id).encode()), "name": "ada", "displayName": "ada"}
    assert options["authenticatorSelection"] == {
        "residentKey": "required", "requireResidentKey": True, "userVerification": "required",
    }  # fmt: skip
    assert (options["attestation"], options["excludeCredentials"], len(raw(options["challenge"]))) == ("none", [], 32)
    made = browser.post(KEYS, {"credential": one.create(options), "name": "Blue key"})
    assert (made.status_code, made.json["name"], made.json["last_used_at"]) == (201, "Blue key", None)
    assert made.json.keys() == {"id", "name", "created_at", "last_used_at"}
    asked = offer(Browser(app), f"{KEYS}/login/options")
    assert (asked["rpId"], asked["allowCredentials"], asked["userVerification"]) == ("localhost", [], "required")
    other, answer = sign_in(app, one)
    assert (answer.status_code, answer.json["username"]) == (200, "ada")
    assert answer.headers["Cache-Control"] == "no-store"
    assert other.signed_in()
    [listed] = other.get(KEYS).json["items"]
    assert (listed["id"], listed["last_used_at"] is not None) == (made.json["id"], True)
    assert [each.by_passkey for each in rows(app, Session)] == [False, True]
    assert actions(app) == ["user.passkey_added"]


def test_a_name_is_given_changed_and_checked(browser: Browser) -> None:
    made = add(browser)
    assert made["name"] == "Passkey"
    assert browser.put(f"{KEYS}/{made['id']}", {"name": " Phone "}).json["name"] == "Phone"
    assert browser.put(f"{KEYS}/{made['id']}", {"name": ""}).status_code == 422
    assert browser.put(f"{KEYS}/999", {"name": "x"}).status_code == 404
    assert browser.post(KEYS, {"credential": "x"}).json["errors"][0]["pointer"] == "#/credential"


def test_a_passkey_of_another_member_is_not_there(app: Flask, world: World, browser: Browser) -> None:
    made = add(browser)
    world.user("bob")
    bob = Browser(app).sign_in("bob")
    assert bob.get(KEYS).json["items"] == []
    assert bob.put(f"{KEYS}/{made['id']}", {"name": "x"}).status_code == 404
    assert bob.delete(f"{KEYS}/{made['id']}").status_code == 404
    assert len(rows(app, Passkey)) == 1


def test_a_removed_passkey_signs_nobody_in(app: Flask, browser: Browser) -> None:
    one = key()
    made = add(browser, one)
    assert browser.delete(f"{KEYS}/{made['id']}").status_code == 204
    assert sign_in(app, one)[1].json["code"] == "invalid_credentials"
    assert browser.delete(f"{KEYS}/{made['id']}").status_code == 404
    assert actions(app) == ["user.passkey_added", "user.passkey_removed"]


def test_an_old_session_and_a_token_neither_add_nor_remove(
    app: Flask, world: World, browser: Browser, ada: Caller
) -> None:
    made, options = add(browser), offer(browser)
    change(app, Session, created_at=now() - timedelta(minutes=11))
    for caller in (browser, world.caller(ada)):
        tries = [
            caller.post(f"{KEYS}/options"), caller.post(KEYS, {"credential": key().create(options)}),
            caller.delete(f"{KEYS}/{made['id']}"),
        ]  # fmt: skip
        assert [each.json["code"] for each in tries] == ["sign_in_again"] * 3
    assert browser.put(f"{KEYS}/{made['id']}", {"name": "x"}).status_code == 200


def test_an_account_has_twenty_passkeys_at_most(app: Flask, browser: Browser, ada: Caller) -> None:
    options = offer(browser)
    with app.app_context():
        row = {"user_id": ada.id, "public_key": "x", "name": "x"}
        transaction(lambda: db.session.add_all([Passkey(credential_id=f"id{n}", **row) for n in range(20)]))
    assert browser.post(f"{KEYS}/options").json["code"] == "too_many_passkeys"
    answer = browser.post(KEYS, {"credential": key().create(options)})
    assert (answer.status_code, answer.json["code"]) == (409, "too_many_passkeys")


def test_a_passkey_is_excluded_the_next_time_and_belongs_to_one_account(
    app: Flask, world: World, browser: Browser
) -> None:
    one = key()
    add(browser, one)
    assert offer(browser)["excludeCredentials"] == [{"id": text(one.credential_id), "type": "public-key"}]
    world.user("bob")
    bob = Browser(app).sign_in("bob")
    answer = bob.post(KEYS, {"credential": one.create(offer(bob))})
    assert (answer.status_code, answer.json["errors"][0]["detail"]) == (422, "This passkey was added before.")


def test_an_answer_for_another_site_purpose_or_challenge_is_refused(app: Flask, browser: Browser) -> None:
    wrong = [{"origin": "http://evil.example"}, {"origin": "https://localhost"}, {"challenge": text(b"c" * 32)}]
    for each in [*wrong, {"type": "webauthn.get"}]:
        answer = browser.post(KEYS, {"credential": key().create(offer(browser), **each)})
        assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#/credential")
    one = key()
    add(browser, one)
    for each in [*wrong, {"type": "webauthn.create"}]:
        refused = sign_in(app, one, **each)[1]
        assert (refused.status_code, refused.json["code"]) == (401, "invalid_credentials")
    assert sign_in(app, one)[1].status_code == 200


def test_the_authenticator_has_to_verify_its_user(app: Flask, browser: Browser) -> None:
    careless = key(verifies=False)
    assert browser.post(KEYS, {"credential": careless.create(offer(browser))}).status_code == 422
    one = key()
    add(browser, one)
    one.verifies = False
    assert sign_in(app, one)[1].status_code == 401


def test_a_challenge_is_used_once_and_a_failed_answer_uses_it_up(app: Flask, browser: Browser) -> None:
    one, options = key(), offer(browser)
    assert browser.post(KEYS, {"credential": one.create(options, origin="http://evil.example")}).status_code == 422
    assert browser.post(KEYS, {"credential": one.create(options)}).status_code == 422
    add(browser, one)
    asked = offer(Browser(app), f"{KEYS}/login/options")
    bad = one.sign(asked)
    bad["response"]["signature"] = text(b"x" * 70)
    assert Browser(app).post(f"{KEYS}/login", {"credential": bad}).status_code == 401
    assert Browser(app).post(f"{KEYS}/login", {"credential": one.sign(asked)}).status_code == 401
    again = one.sign(offer(Browser(app), f"{KEYS}/login/options"))
    answers = [Browser(app).post(f"{KEYS}/login", {"credential": again}).status_code for _ in range(2)]
    assert answers == [200, 401]


def test_a_challenge_belongs_to_its_purpose_and_its_session(app: Flask, browser: Browser) -> None:
    one = key()
    asked = offer(Browser(app), f"{KEYS}/login/options")
    made = offer(browser)
    for challenge in (asked["challenge"], offer(Browser(app).sign_in("ada"))["challenge"]):
        answer = browser.post(KEYS, {"credential": one.create({**made, "challenge": challenge})})
        assert answer.status_code == 422
    add(browser, one)
    refused = Browser(app).post(f"{KEYS}/login", {"credential": one.sign({**asked, "challenge": made["challenge"]})})
    assert refused.status_code == 401


def test_a_challenge_ends_after_five_minutes_and_is_deleted(app: Flask, browser: Browser) -> None:
    one = key()
    add(browser, one)
    asked, options = offer(Browser(app), f"{KEYS}/login/options"), offer(browser)
    change(app, PasskeyChallenge, expires_at=now() - timedelta(seconds=1))
    assert Browser(app).post(f"{KEYS}/login", {"credential": one.sign(asked)}).status_code == 401
    assert browser.post(KEYS, {"credential": key().create(options)}).status_code == 422
    offer(browser)
    housekeeping.tidy(app, DeliveryPolicy())
    assert len(rows(app, PasskeyChallenge)) == 1


def test_challenges_end_with_their_session(app: Flask, browser: Browser) -> None:
    offer(browser)
    assert browser.post("/api/auth/logout").status_code == 204
    assert rows(app, PasskeyChallenge) == []


def test_a_counter_that_goes_back_is_refused_and_logged(
    app: Flask, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    one = key(counts=7)
    add(browser, one)
    signed_in(app, one)
    one.counts = 3
    with caplog.at_level(logging.WARNING):
        assert sign_in(app, one)[1].status_code == 401
    assert [each.counter for each in caplog.records if "went back" in each.message] == [4]
    one.counts = 8
    assert rows(app, Passkey)[0].sign_count == 9
    assert sign_in(app, one)[1].status_code == 401, "the same counter twice"
    one.counts = None
    assert sign_in(app, one)[1].status_code == 401
    one.counts = 20
    signed_in(app, one)
    assert rows(app, Passkey)[0].sign_count == 21


def test_a_counter_that_is_always_zero_passes(app: Flask, browser: Browser) -> None:
    one = key(counts=None)
    add(browser, one)
    for _ in range(2):
        signed_in(app, one)


def test_a_passkey_with_the_handle_of_another_account_is_refused(app: Flask, browser: Browser) -> None:
    one = key()
    add(browser, one)
    one.handle = text(b"999")
    assert sign_in(app, one)[1].status_code == 401


def test_a_suspended_member_learns_it_by_the_right_passkey_alone(app: Flask, browser: Browser) -> None:
    one = key()
    add(browser, one)
    change(app, User, status="suspended")
    assert sign_in(app, one)[1].json["code"] == "account_suspended"
    assert sign_in(app, one, origin="http://evil.example")[1].json["code"] == "invalid_credentials"


HOSTILE: list[Any] = [
    {}, {"id": 1}, {"id": "x"}, {"id": "\x00"}, {"id": "x", "response": 1}, {"response": {"clientDataJSON": 5}},
    {"id": "x", "rawId": "x", "type": "public-key", "response": {"clientDataJSON": "e30", "signature": "x"}},
]  # fmt: skip


def test_a_credential_of_any_shape_is_refused(app: Flask, browser: Browser) -> None:
    for hostile in HOSTILE:
        answer = browser.post(KEYS, {"credential": hostile})
        assert (answer.status_code, answer.json["code"]) == (422, "validation_failed")
        answer = Browser(app).post(f"{KEYS}/login", {"credential": hostile})
        assert (answer.status_code, answer.json["code"]) == (401, "invalid_credentials")


def test_a_challenge_with_an_unreadable_rest_is_refused(app: Flask, browser: Browser) -> None:
    one = key()
    add(browser, one)
    for spoilt in ({"id": "\x00x"}, {"id": 5}, {"response": None}, {"rawId": "other"}):
        signed = one.sign(offer(Browser(app), f"{KEYS}/login/options"))
        client = signed["response"]["clientDataJSON"]
        credential = {**signed, **spoilt}
        credential["response"] = {"clientDataJSON": client, **(credential["response"] or {"userHandle": 5})}
        assert Browser(app).post(f"{KEYS}/login", {"credential": credential}).status_code == 401


def test_a_key_too_long_to_store_is_refused(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passkeys, "KEY_MAX", 10)
    assert browser.post(KEYS, {"credential": key().create(offer(browser))}).status_code == 422


def test_of_two_sign_ins_with_one_answer_one_succeeds(app: Flask, browser: Browser) -> None:
    one = key()
    add(browser, one)
    signed = one.sign(offer(Browser(app), f"{KEYS}/login/options"))
    answers: list[int] = []

    def send() -> None:
        answers.append(Browser(app).post(f"{KEYS}/login", {"credential": signed}).status_code)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(answers) == [200, 401, 401, 401]


def test_a_passkey_removed_or_an_account_suspended_in_between_wins(app: Flask, ada: Caller) -> None:
    browser = Browser(app).sign_in("ada")
    one = key()
    add(browser, one)
    credential = one.sign(offer(Browser(app), f"{KEYS}/login/options"))
    locked = passkeys.accounts.locked

    def removed_meanwhile(user_id: int) -> Any:
        ways_in.end_passkeys(user_id)
        return locked(user_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passkeys.accounts, "locked", removed_meanwhile)
        assert Browser(app).post(f"{KEYS}/login", {"credential": credential}).status_code == 401
    created = one.create(offer(browser))

    def suspended_meanwhile(user_id: int) -> Any:
        user = locked(user_id)
        user.status = "suspended"
        return user

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passkeys.accounts, "locked", suspended_meanwhile)
        assert browser.post(KEYS, {"credential": created}).json["code"] == "unauthenticated"


def test_sign_ins_are_limited_by_address(make_app: Any, world: World) -> None:
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_WRITE="1000 per minute")
    world.user("ada")
    add(Browser(app).sign_in("ada"), one := key())
    for _ in range(16):  # a class behind one address
        signed_in(app, one)
    answers = [Browser(app).post(f"{KEYS}/login/options").status_code for _ in range(31)]
    assert answers == [200] * 30 + [429]


def test_passkeys_are_bound_to_the_address_of_the_site(make_app: Any, world: World) -> None:
    app = make_app(SITE_URL="https://directory.example.org:8443")
    world.user("ada")
    browser = Browser(app).sign_in("ada")
    one = Authenticator("https://directory.example.org:8443")
    add(browser, one)
    assert one.host == "directory.example.org"
    signed_in(app, one)
    one.origin = ORIGIN
    assert sign_in(app, one)[1].status_code == 401


def test_in_production_there_are_none_without_an_address(make_app: Any, world: World) -> None:
    production = {"APP_ENV": "production", "SECRET_KEY": ENVIRONMENT["SECRET_KEY"]}
    app = make_app(**production)
    assert Api(app).get("/api/session").json["passkeys"] is False
    assert Api(app).post(f"{KEYS}/login/options").status_code == 404
    assert Api(make_app(**production, SITE_URL="https://example.org")).get("/api/session").json["passkeys"] is True
    with pytest.raises(SystemExit, match=r"SITE_URL.*REQUIRE_PASSKEY"):
        make_app(**production, REQUIRE_PASSKEY="admins")


def test_the_owner_gets_a_mail_about_each_change(make_app: Any, mailbox: Mailbox, world: World) -> None:
    app = make_app(**{**mailbox.settings, "SITE_URL": ""})
    ada = world.user("ada")
    browser = Browser(app).sign_in("ada")
    made = add(browser)
    assert browser.delete(f"{KEYS}/{made['id']}").status_code == 204
    add(browser)
    assert app.test_cli_runner().invoke(args=["users", "reset-passkeys", "ada"]).exit_code == 0
    [server] = app.extensions["webhooks"]
    send_all(delivery_thread(app, server, quick()))
    subjects = [each.message["Subject"] for each in mailbox.taken]
    added, removed = (
        f"A passkey was {what} your account at Project Directory" for what in ("added to", "removed from")
    )
    assert sorted(subjects) == sorted([added, removed] * 2)
    assert {each.message["To"] for each in mailbox.taken} == {f"{ada.username}@example.org"}


def test_a_lost_key_is_reset_from_the_command_line(app: Flask, browser: Browser, world: World) -> None:
    other = world.caller(replace(world.user(), by_passkey=True))
    one = key()
    add(browser, one)
    by_key = signed_in(app, one)
    for each in (browser, by_key):
        assert each.post("/api/auth/tokens", {"name": "x"}).status_code == 201
    run = app.test_cli_runner()
    answer = run.invoke(args=["users", "reset-passkeys", "ada"])
    assert answer.output.endswith("1 passkey of ada removed; all sessions are ended.\n")
    assert (browser.signed_in(), by_key.signed_in()) == (False, False)
    assert [each.by_passkey for each in rows(app, Token)] == [True, False]
    assert other.get("/api/auth/me").status_code == 200
    assert sign_in(app, one)[1].status_code == 401
    assert run.invoke(args=["users", "reset-passkeys", "ada"]).output.endswith("ada has no passkeys.\n")
    assert run.invoke(args=["users", "reset-passkeys", "nobody"]).exit_code == 1
    noted = [action for action in actions(app) if "passkey" in action]
    assert noted == ["user.passkey_added", "user.passkeys_reset"]


def test_the_export_lists_passkeys_and_the_deletion_of_the_account_removes_them(app: Flask, browser: Browser) -> None:
    one = key()
    made = add(browser, one)
    assert browser.get("/api/auth/me/export").json["passkeys"] == [made]
    assert browser.delete("/api/auth/me", json={"current_password": PASSWORD}).status_code == 204
    assert rows(app, Passkey) == []
    assert sign_in(app, one)[1].status_code == 401


class Strictly:
    """An application whose administrators need a passkey, and one of them."""

    def __init__(self, app: Flask, world: World) -> None:
        self.app, self.world, self.admin = app, world, world.admin("root")
        self.browser = Browser(app).sign_in("root")
        self.key = key()


@pytest.fixture
def strict(make_app: Any) -> Strictly:
    app = make_app(REQUIRE_PASSKEY="admins")
    return Strictly(app, World(app))


def test_an_administrator_without_a_passkey_is_a_member_everywhere(strict: Strictly) -> None:
    project = strict.world.project(status="pending")
    asked = strict.browser.get("/api/admin/users")
    assert (asked.status_code, asked.json["code"]) == (403, "passkey_required")
    assert strict.browser.post("/api/admin/categories", {"nonsense": 1}).json["code"] == "passkey_required"
    assert strict.browser.get("/api/admin/nothing").json["code"] == "passkey_required"
    assert strict.browser.get(f"/api/projects/{project}").status_code == 404
    assert strict.browser.put(f"/api/projects/{strict.world.project()}", {"title": "x"}).json["code"] == "not_owner"
    assert strict.browser.delete("/api/auth/me", json={"current_password": PASSWORD}).json["code"] == "passkey_required"
    state = strict.browser.get("/api/session").json
    assert (state["user"]["is_admin"], state["passkey_required"], "service" in state) == (True, True, False)
    token = strict.browser.post("/api/auth/tokens", {"name": "x"}).json["token"]
    assert Api(strict.app, token).get("/api/admin/users").json["code"] == "passkey_required"


def test_members_and_anonymous_callers_get_what_they_got(strict: Strictly) -> None:
    strict.world.user("ada")
    member = Browser(strict.app).sign_in("ada")
    assert member.get("/api/admin/users").json["code"] == "admin_required"
    assert member.get("/api/session").json.get("passkey_required") is None
    assert Api(strict.app).get("/api/admin/users").status_code == 401


def test_an_administrator_adds_the_first_passkey_and_is_one_again(strict: Strictly) -> None:
    add(strict.browser, strict.key)
    assert strict.browser.get("/api/admin/users").json["code"] == "passkey_required"
    by_key = signed_in(strict.app, strict.key)
    assert by_key.get("/api/admin/users").status_code == 200
    assert "service" in by_key.get("/api/session").json
    token = Api(strict.app, by_key.post("/api/auth/tokens", {"name": "x"}).json["token"])
    assert token.get("/api/admin/users").status_code == 200
    child = Api(strict.app, token.post("/api/auth/tokens", {"name": "y"}).json["token"])
    assert child.get("/api/admin/users").status_code == 200


def test_a_stolen_password_neither_adds_nor_removes_a_passkey_of_an_administrator(strict: Strictly) -> None:
    options = offer(strict.browser)
    made = add(strict.browser, strict.key)
    thief = Browser(strict.app).sign_in("root")
    tries = [
        thief.post(f"{KEYS}/options"), strict.browser.post(KEYS, {"credential": key().create(options)}),
        thief.delete(f"{KEYS}/{made['id']}"),
    ]  # fmt: skip
    assert [each.json["code"] for each in tries] == ["passkey_required"] * 3
    by_key = signed_in(strict.app, strict.key)
    add(by_key)
    assert by_key.delete(f"{KEYS}/{made['id']}").status_code == 204


def test_a_vote_of_an_administrator_without_a_passkey_is_that_of_a_member(strict: Strictly) -> None:
    project = strict.world.project(status="pending")
    assert strict.browser.post(f"/api/projects/{project}/upvote").status_code == 404


def test_no_answer_from_the_cache_shows_more_to_an_administrator_without_a_passkey(strict: Strictly) -> None:
    project = strict.world.project()
    add(strict.browser, strict.key)
    by_key = signed_in(strict.app, strict.key)
    for path in (f"/api/projects/{project}", "/api/projects"):
        for _ in range(2):
            seen = [strict.browser.get(path).json, by_key.get(path).json]
        shown = [each["items"][0] if "items" in each else each for each in seen]
        assert ["rejection_reason" in each for each in shown] == [False, True], path


COSTLY = b"\xd8\x23" + cbor("(?i)" + "[\u0100-\U0010ffff]" * 800)  # a tag that asks for a regular expression


def with_member(credential: dict[str, Any], item: bytes) -> dict[str, Any]:
    """A registration whose attestation has one more member."""
    whole = raw(credential["response"]["attestationObject"])
    assert whole[0] == 0xA3
    response = {**credential["response"], "attestationObject": text(b"\xa4" + whole[1:] + b"\x61x" + item)}
    return {**credential, "response": response}


def with_extensions(credential: dict[str, Any], item: bytes) -> dict[str, Any]:
    """A registration with extensions of the authenticator: the last member of its attestation is its data."""
    whole = raw(credential["response"]["attestationObject"])
    before, name, rest = whole.partition(b"authData")
    data = bytearray(rest[2:] if rest[0] == 0x58 else rest[3:])
    data[32] |= 0x80
    made = before + name + cbor(bytes(data) + item)
    return {**credential, "response": {**credential["response"], "attestationObject": text(made)}}


def test_what_no_authenticator_sends_costs_next_to_nothing(app: Flask, browser: Browser) -> None:
    add(browser, one := key())  # the library is loaded
    signed_in(app, one)
    with cpu.at_most(2):  # some seconds for each where a decoder reads them
        for spoilt in (with_member, with_extensions):
            answer = browser.post(KEYS, {"credential": spoilt(key().create(offer(browser)), COSTLY)})
            assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#/credential")
        signed = one.sign(offer(Browser(app), f"{KEYS}/login/options"))
        data = bytearray(raw(signed["response"]["authenticatorData"]))
        data[32] |= 0x80
        signed["response"]["authenticatorData"] = text(bytes(data) + COSTLY)
        assert Browser(app).post(f"{KEYS}/login", {"credential": signed}).status_code == 401


def test_members_and_extensions_that_authenticators_send_are_taken(browser: Browser) -> None:
    plain = b"\xa1\x6bcredProtect\x02"
    for changed in (with_member, with_extensions):
        answer = browser.post(KEYS, {"credential": changed(key().create(offer(browser)), plain)})
        assert answer.status_code == 201, answer.json


def test_a_credential_with_a_long_id_or_long_client_data_is_refused(app: Flask, browser: Browser) -> None:
    assert browser.post(KEYS, {"credential": key(credential_id=b"x" * 1100).create(offer(browser))}).status_code == 422
    long = key().create(offer(browser), more="x" * 9000)
    assert browser.post(KEYS, {"credential": long}).status_code == 422
    one = key(credential_id=b"x" * 1023)
    add(browser, one)
    signed_in(app, one)
    assert sign_in(app, key(credential_id=b"x" * 1100))[1].status_code == 401


def test_no_transaction_is_open_while_an_answer_is_read(
    app: Flask, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bool] = []

    def noting(function: Any) -> Any:
        def noted(*args: Any, **facts: Any) -> Any:
            read.append(db.session.registry.has() and db.session().in_transaction())
            return function(*args, **facts)

        return noted

    for name in ("verify_registration_response", "verify_authentication_response"):
        monkeypatch.setattr(webauthn, name, noting(getattr(webauthn, name)))
    add(browser, one := key())
    signed_in(app, one)
    assert read == [False, False]


def test_the_last_passkey_stays_where_there_are_no_passwords(app: Flask, world: World) -> None:
    ada = world.user("ada")

    def begin() -> int:
        db.session.add(Passkey(user_id=ada.id, credential_id="c", public_key="k", name="Key"))
        sessions.begin(ada.id, user_agent="")
        return int(db.session.scalars(select(Session.id).where(Session.user_id == ada.id)).one())

    with app.app_context():
        by = replace(ada, session_id=transaction(begin))
        passkey_id = db.session.scalars(select(Passkey.id)).one()
        with pytest.raises(LastWayIn):
            transaction(lambda: passkeys.remove(passkey_id, by=by, server=None, passwords=False))
        transaction(lambda: passkeys.remove(passkey_id, by=by, server=None))


def test_without_the_extra_the_account_and_the_sign_in_offer_none(make_app: Any, world: World) -> None:
    app, _ada = make_app(EXTRAS="-passkeys"), world.user("ada")
    browser = Browser(app).sign_in("ada")
    assert browser.get("/api/session").json["passkeys"] is False
    assert "passkey" not in browser.get("/account").text
    assert "passkey" not in Api(app).get("/sign-in").text
    assert browser.get(KEYS).status_code == 404
    assert "reset-passkeys" not in app.test_cli_runner().invoke(args=["users", "--help"]).stdout


def test_the_button_that_signs_in_leads_on_in_the_language_of_the_page(make_app: Any) -> None:
    page = Api(make_app(SITE_LANGUAGES="en,de")).get("/sign-in?lang=de&next=/mine").text
    assert 'data-passkey="/mine?lang=de"' in page


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"REQUIRE_PASSKEY": "admins"}, "EXTRAS: leave passkeys on, as REQUIRE_PASSKEY is set"),
        (
            {"PASSWORDS": "off"},
            "PASSWORDS: set a provider, or leave passkeys on: without either nobody can sign in",
        ),
    ],
)
def test_nobody_is_locked_out_by_leaving_passkeys_out(given: dict[str, str], line: str) -> None:
    for value in ("none", "-passkeys", "previews"):
        with pytest.raises(config.ConfigError) as caught:
            config.load({**ENVIRONMENT, **given, "EXTRAS": value})
        assert str(caught.value.code) == line
