"""A forgotten password, verified addresses and switched-off mail, from the request to the mail and back."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from html import unescape
from threading import Barrier
from typing import Any
from unittest.mock import Mock

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.errors import Invalid, WrongPassword
from directory.extensions import db
from directory.http import account_limits, rate_limits
from directory.logs import JsonFormatter
from directory.models import Delivery, Identity, MailLink, Passkey, Session, Token, User, now
from directory.services.accounts import mail_links, sessions
from directory.services.sign_in import recovery
from directory.services.site import Site
from tests.conftest import Statements
from tests.support.browsers import Browser
from tests.support.exchanges import handling
from tests.support.factories import PASSWORD, Api, World
from tests.support.mailbox import Mailbox, Taken
from tests.support.outbox import attempts, delivery_thread, quick, row, send_all

NEW = "nine blue paper boats"
FORGOT, RESET, VERIFY = (f"/api/auth/{path}" for path in ("password/forgot", "password/reset", "email/verify"))
MAIL_OFF = {"POST": (FORGOT, RESET, VERIFY, "/api/auth/email/verification", "/api/auth/notifications/1-x")}
BODIES = {FORGOT: {"login": "ada"}, RESET: {"token": "t" * 43, "password": NEW}, VERIFY: {"token": "t" * 43}}


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox) -> Flask:
    return make_app(**mailbox.settings)  # type: ignore[no-any-return]


@pytest.fixture
def post(app: Flask, mailbox: Mailbox) -> Any:
    """Sends what waits in the outbox, and returns the mails that came."""

    def send() -> list[Taken]:
        before = len(mailbox.taken)
        [server] = app.extensions["webhooks"]
        send_all(delivery_thread(app, server, quick()))
        return mailbox.taken[before:]

    return send


def token_of(mail: Taken) -> str:
    found = re.search(r"https://directory\.example\.net/(?:reset|verify)\?token=(\S+)\n", mail.text)
    assert found
    return found[1]


def user(app: Flask, username: str = "ada") -> User:
    with app.app_context():
        return db.session.scalars(select(User).where(User.username == username)).one()


def count(app: Flask, model: Any) -> int:
    with app.app_context():
        return int(db.session.scalar(select(db.func.count()).select_from(model)))


def login(api: Api, password: str, name: str = "ada") -> int:
    return int(api.post("/api/auth/login", {"login": name, "password": password}).status_code)


@pytest.mark.parametrize("name", ["ada", "ADA", " ada@Example.org "])
def test_a_forgotten_password_is_replaced_by_a_mailed_link(
    app: Flask, world: World, api: Api, post: Any, name: str
) -> None:
    ada = world.user("ada")
    world.caller(ada)
    with app.app_context():
        transaction(lambda: sessions.begin(ada.id, user_agent=""))
    assert api.post(FORGOT, {"login": name}).status_code == 202

    [mail] = post()
    assert mail.to == ["ada@example.org"]
    assert str(mail.message["Subject"]) == "Choose a new password for Project Directory"
    token = token_of(mail)
    assert len(token) == 43
    answer = api.post(RESET, {"token": token, "password": NEW})
    assert (answer.status_code, answer.data) == (204, b"")
    assert (login(api, PASSWORD), login(api, NEW)) == (401, 200)
    assert user(app).email_verified
    # The session of the last login. The address was not confirmed, so the token may be a stranger's.
    assert (count(app, Session), count(app, Token)) == (1, 0)


def test_a_reset_ends_all_sessions_and_if_asked_all_tokens(app: Flask, world: World, api: Api, post: Any) -> None:
    """Of an account whose address was confirmed before; when that was stays as it is."""
    ada, confirmed_at = world.user("ada"), now() - timedelta(days=9)
    world.caller(ada)
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(email_verified_at=confirmed_at)))
        transaction(lambda: sessions.begin(ada.id, user_agent=""))
    for revoke_tokens, tokens in ((False, 1), (True, 0)):
        api.post(FORGOT, {"login": "ada"})
        body = {"token": token_of(post()[-1]), "password": NEW, "revoke_tokens": revoke_tokens}
        assert api.post(RESET, body).status_code == 204
        with app.app_context():
            left = set(db.session.scalars(select(MailLink.purpose)).all())
        assert (count(app, Session), count(app, Token), left) == (0, tokens, {"password_changed"})
    assert user(app).email_verified_at == confirmed_at


def test_a_reset_of_an_unconfirmed_address_removes_the_ways_in_that_were_added_before(
    app: Flask, world: World, api: Api, post: Any
) -> None:
    with app.app_context():
        for name in ("ada", "bob"):
            user = world.user(name)
            world.caller(user)
            passkey = Passkey(user_id=user.id, credential_id=name, public_key="x", name="x")
            identity = Identity(user_id=user.id, issuer="https://id.example", subject=name, email="")
            transaction(lambda rows=(passkey, identity): db.session.add_all(rows))
        transaction(
            lambda: db.session.execute(update(User).where(User.username == "bob").values(email_verified_at=now()))
        )
    for name, left in (("ada", 1), ("bob", 1)):
        api.post(FORGOT, {"login": name})
        assert api.post(RESET, {"token": token_of(post()[-1]), "password": NEW}).status_code == 204
        assert [count(app, model) for model in (Passkey, Identity, Token)] == [left] * 3


def refused(answer: Any) -> bool:
    """Whether it is the refusal of a link."""
    return (answer.status_code, answer.json["errors"]) == (422, [{"pointer": "#/token", "detail": mail_links.REFUSAL}])


def test_a_link_works_once_and_ends_the_others_for_a_password(world: World, api: Api, post: Any) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    api.post(FORGOT, {"login": "ada@example.org"})
    first, second = map(token_of, post())
    assert api.post(RESET, {"token": second, "password": NEW}).status_code == 204
    for token in (first, second, "t" * 43):
        assert refused(api.post(RESET, {"token": token, "password": NEW + "!"}))


def test_a_link_that_another_request_has_used_by_now_is_refused(context: None) -> None:
    with pytest.raises(Invalid):
        transaction(lambda: mail_links.use_up(7))


def test_of_several_who_use_a_link_at_once_one_gets_through(app: Flask, world: World, api: Api, post: Any) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    token = token_of(post()[0])
    together = Barrier(4)

    def use(number: int) -> int:
        together.wait()
        return int(Api(app).post(RESET, {"token": token, "password": f"{NEW} {number}"}).status_code)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(use, range(4)))
    assert sorted(found) == [204, 422, 422, 422]
    assert login(api, f"{NEW} {found.index(204)}") == 200


def test_a_refused_password_leaves_the_link_as_it_is(world: World, api: Api, post: Any) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    token = token_of(post()[0])
    for weak in ("short", "password123", "ada@example.org"):
        answer = api.post(RESET, {"token": token, "password": weak})
        assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "#/password")
    assert api.post(RESET, {"token": token, "password": NEW}).status_code == 204


def test_no_get_of_a_scanner_uses_a_link_up(world: World, api: Api, post: Any) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    token = token_of(post()[0])
    for path in (f"/reset#token={token}", f"/reset?token={token}", RESET, VERIFY):
        api.get(path)
    assert api.post(RESET, {"token": token, "password": NEW}).status_code == 204


def test_a_password_manager_learns_whose_password_is_chosen_from_a_link_that_works(
    world: World, api: Api, post: Any
) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    token = token_of(post()[0])
    field = r'<input[^>]* value="ada" autocomplete="username" hidden readonly>'
    assert re.search(field, api.get(f"/reset?token={token}").text)
    weak = api.call("POST", "/reset", data={"token": token, "password": "short"})
    assert (weak.status_code, bool(re.search(field, weak.text))) == (422, True)
    assert api.call("POST", "/reset", data={"token": token, "password": NEW}).status_code == 303
    for used in (token, "x" * 43):
        page = api.get(f"/reset?token={used}")
        assert (page.status_code, 'autocomplete="username"' in page.text) == (200, False)


def ages(app: Flask) -> None:
    """All links have expired."""
    with app.app_context():
        old = update(MailLink).values(expires_at=now() - timedelta(seconds=1))
        transaction(lambda: db.session.execute(old))


def test_an_expired_link_is_refused_and_not_mailed(app: Flask, world: World, api: Api, post: Any) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    token = token_of(post()[0])
    api.post(FORGOT, {"login": "ada"})
    ages(app)
    assert refused(api.post(RESET, {"token": token, "password": NEW}))
    assert post() == []
    with app.app_context():
        assert (row(2).state, attempts(2)[0].error) == ("dead", "the link has been used, or it has expired")
        assert transaction(lambda: mail_links.purge(500)) == 2


@pytest.mark.parametrize("change", [{"status": "suspended"}, {"email": "other@example.org"}])
def test_a_link_does_not_outlive_a_suspension_or_a_change_of_the_address(
    app: Flask, world: World, api: Api, post: Any, change: dict[str, str]
) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    token = token_of(post()[0])
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(change)))
    assert refused(api.post(RESET, {"token": token, "password": NEW}))


def test_a_link_of_one_purpose_does_not_serve_another(world: World, api: Api, post: Any) -> None:
    world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    assert refused(api.post(VERIFY, {"token": token_of(post()[0])}))


def test_a_new_password_by_its_owner_ends_a_link_that_is_under_way(world: World, api: Api, post: Any) -> None:
    ada = world.user("ada")
    api.post(FORGOT, {"login": "ada"})
    token = token_of(post()[0])
    change = {"password": NEW, "current_password": PASSWORD}
    assert world.caller(ada).put("/api/auth/me", change).status_code == 200
    assert refused(api.post(RESET, {"token": token, "password": NEW + "!"}))


@pytest.mark.parametrize("name", ["nobody", "nobody@example.org", "suspended", "\u0130", "x' OR '1'='1", "a" * 254])
def test_a_login_that_no_active_account_has_gets_the_same_answer_by_the_same_statements_and_no_mail(
    app: Flask, world: World, api: Api, statements: Statements, post: Any, name: str
) -> None:
    world.user("ada")
    world.user("suspended", status="suspended")
    asked = []
    for login_ in ("ada", name):
        statements.clear()
        answer = api.post(FORGOT, {"login": login_})
        headers = {k: v for k, v in answer.headers.items() if k not in {"X-Request-ID", "Date"}}
        asked.append((answer.status_code, answer.data, headers, list(statements)))
    known, unknown = asked
    assert known[:3] == unknown[:3]
    by_name, by_address = ("users.username", "username_1"), ("users.email", "email_1")
    for old, new in zip(by_name, by_address, strict=True):
        known[3][0], unknown[3][0] = (sql[0].replace(old, new) for sql in (known[3], unknown[3]))
    assert known[3] == unknown[3]
    assert len(known[3]) == 4
    assert len(post()) == 1
    with app.app_context():
        assert db.session.scalars(select(MailLink.email).order_by(MailLink.id)).all() == ["ada@example.org", ""]


def test_neither_the_outbox_nor_the_console_nor_a_log_line_holds_a_token(
    app: Flask, world: World, api: Api, mailbox: Mailbox, post: Any, caplog: pytest.LogCaptureFixture
) -> None:
    world.user("ada")
    with caplog.at_level("DEBUG"), caplog.at_level("DEBUG", "directory"):
        api.post(FORGOT, {"login": "ada"})
        with app.app_context():
            stored = json.dumps([db.session.get_one(Delivery, 1).payload, db.session.get_one(MailLink, 1).token_hash])
        token = token_of(post()[0])
        api.post(RESET, {"token": token, "password": "short"})
        api.post(RESET, {"token": token, "password": NEW})
    shown = world.caller(world.admin()).get("/api/admin/webhooks/deliveries").text
    lines = "".join(JsonFormatter().format(record) for record in caplog.records if record.name != "mail.log")
    assert "account.password_reset" in shown
    assert [place for place in (stored, shown, lines) if token in place] == []
    assert "ada@example.org" not in shown + stored


def test_three_links_an_hour_are_mailed_to_an_address_whoever_asks(make_app: Any, mailbox: Mailbox) -> None:
    app = make_app(**mailbox.settings, RATELIMIT_ENABLED="true", TRUSTED_PROXIES="1")
    World(app).user("ada")
    answers = [
        Api(app).post(FORGOT, {"login": login_}, headers={"X-Forwarded-For": f"192.0.2.{number}"})
        for number, login_ in enumerate(("ada", "ada@example.org") * 4)
    ]
    assert {answer.status_code for answer in answers} == {202}
    assert len({str(sorted(set(answer.headers.keys()))) for answer in answers}) == 1
    [server] = app.extensions["webhooks"]
    assert send_all(delivery_thread(app, server, quick())) == 3


@pytest.fixture
def limited(make_app: Any, mailbox: Mailbox) -> Flask:
    """An app with limits, whose callers each have an address of their own."""
    return make_app(  # type: ignore[no-any-return]
        **mailbox.settings, RATELIMIT_ENABLED="true", TRUSTED_PROXIES="1", RATELIMIT_AUTH="1000 per hour"
    )


def as_stranger(app: Flask, number: int, path: str, body: dict[str, str]) -> int:
    return int(Api(app).post(path, body, headers={"X-Forwarded-For": f"192.0.2.{number}"}).status_code)


def spend_by_a_taken_name(app: Flask) -> None:
    body = {"username": "mallory", "email": "ada@example.org", "password": PASSWORD}
    assert {as_stranger(app, number, "/api/auth/register", body) for number in range(4)} == {409}


def spend_by_an_unknown_login(app: Flask) -> None:
    assert {as_stranger(app, number, FORGOT, {"login": "ada@example.org"}) for number in range(4)} == {202}


def spend_by_a_change(app: Flask) -> None:
    mallory = Browser(app).sign_in("mallory")
    World(app).user("bob")
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(may_rename=True)))
    for _ in range(4):
        change = {"email": "ada@example.org", "current_password": PASSWORD, "username": "bob"}
        assert mallory.put("/api/auth/me", change).json["code"] == "duplicate"


def spend_by_a_failing_change(app: Flask) -> None:
    """A change to the address, whose transaction fails when the mail was counted."""
    mallory = Browser(app).sign_in("mallory")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recovery, "propose_email", Mock(side_effect=WrongPassword))
        for _ in range(4):
            change = {"email": "ada@example.org", "current_password": PASSWORD}
            assert mallory.put("/api/auth/me", change).status_code == 422


@pytest.mark.parametrize(
    "spend", [spend_by_a_taken_name, spend_by_an_unknown_login, spend_by_a_change, spend_by_a_failing_change]
)
def test_what_strangers_ask_for_an_address_without_a_mail_does_not_count_against_it(
    limited: Flask, mailbox: Mailbox, spend: Any
) -> None:
    World(limited).user("mallory")
    spend(limited)
    body = {"username": "ada", "email": "ada@example.org", "password": PASSWORD}
    assert as_stranger(limited, 100, "/api/auth/register", body) == 201
    assert as_stranger(limited, 101, FORGOT, {"login": "ada"}) == 202
    [server] = limited.extensions["webhooks"]
    assert send_all(delivery_thread(limited, server, quick())) == 2


def test_a_change_to_a_taken_address_does_not_count_against_it(limited: Flask, mailbox: Mailbox) -> None:
    world = World(limited)
    world.user("ada")
    mallory = world.caller(world.user("mallory"))
    for _ in range(4):
        change = {"email": "ada@example.org", "current_password": PASSWORD}
        assert mallory.put("/api/auth/me", change).json["code"] == "duplicate"
    assert as_stranger(limited, 1, FORGOT, {"login": "ada"}) == 202
    [server] = limited.extensions["webhooks"]
    assert send_all(delivery_thread(limited, server, quick())) == 1


def test_links_asked_for_a_username_do_not_tell_its_address_to_those_who_guess_it(limited: Flask) -> None:
    world = World(limited)
    for name in ("ada", "bob"):
        world.user(name)
    mallory = world.caller(world.user("mallory"))
    for number in range(4):
        as_stranger(limited, number, FORGOT, {"login": "ada"})
    found = []
    for name in ("ada", "bob"):
        change = {"email": f"{name}@example.org", "current_password": PASSWORD}
        answer = mallory.put("/api/auth/me", change)
        found.append((answer.status_code, {**answer.json, "request_id": ""}, sorted(answer.headers.keys())))
    assert found[0] == found[1]
    assert found[0][0] == 409


def test_guesses_do_not_keep_out_an_owner_who_opens_a_mailed_link(
    limited: Flask, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FREE_FAILURES", 1), ("FIRST_PAUSE", 1000.0), ("LONGEST_PAUSE", 1000.0)):
        monkeypatch.setattr(account_limits, name, value)
    World(limited).user("ada")
    for login in ("ada", "ada@example.org"):
        wrong = {"login": login, "password": "not the password"}
        codes = [as_stranger(limited, number, "/api/auth/login", wrong) for number in range(4)]
        assert codes == [401, 401, 429, 429]
    assert as_stranger(limited, 100, FORGOT, {"login": "ada"}) == 202
    [server] = limited.extensions["webhooks"]
    send_all(delivery_thread(limited, server, quick()))
    assert as_stranger(limited, 100, RESET, {"token": token_of(mailbox.taken[0]), "password": NEW}) == 204
    for login in ("ada", " Ada@Example.org"):
        right = {"login": login, "password": NEW}
        assert as_stranger(limited, 101, "/api/auth/login", right) == 429
        assert as_stranger(limited, 100, "/api/auth/login", right) == 200


def test_a_member_tries_ten_new_addresses_an_hour(limited: Flask) -> None:
    world = World(limited)
    world.user("ada")
    mallory = world.caller(world.user("mallory"))
    change = {"email": "ada@example.org", "current_password": PASSWORD}
    assert [mallory.put("/api/auth/me", change).status_code for _ in range(11)] == [409] * 10 + [429]


def test_an_address_asks_twenty_times_an_hour_for_whatever_account(make_app: Any, mailbox: Mailbox) -> None:
    api = Api(make_app(**mailbox.settings, RATELIMIT_ENABLED="true"))
    answers = [api.post(FORGOT, {"login": f"user{number}"}).status_code for number in range(21)]
    assert answers == [202] * 20 + [429]


def test_a_class_confirms_its_addresses_from_one_address(
    make_app: Any, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rate_limits.FIXED, "recovery", "2 per hour")
    app = make_app(**mailbox.settings, RATELIMIT_ENABLED="true")
    [server], api = app.extensions["webhooks"], Api(app)
    for number in range(3):
        person = {"username": f"pupil{number}", "email": f"pupil{number}@example.org", "password": PASSWORD}
        assert api.post("/api/auth/register", person).status_code == 201
    assert api.post(FORGOT, {"login": "pupil0"}).status_code == 202
    with app.app_context():
        links = db.session.execute(select(MailLink.purpose, MailLink.nonce).order_by(MailLink.id)).all()
    tokens = [mail_links.token_of(nonce, server.key) for _purpose, nonce in links]
    assert [api.post(VERIFY, {"token": token}).status_code for token in tokens[:3]] == [204] * 3
    assert api.post(RESET, {"token": tokens[3], "password": NEW}).status_code == 204
    wrong = [api.post(VERIFY, {"token": tokens[0]}).status_code for _ in range(2)]
    assert (wrong[0] != 429, wrong[1]) == (True, 429)


def test_a_registration_mails_a_link_that_verifies_its_address(app: Flask, api: Api, post: Any) -> None:
    person = {"username": "ada", "email": "Ada@Example.org", "password": PASSWORD}
    made = api.post("/api/auth/register", person)
    assert (made.status_code, made.json["email_verified"], made.json["notify"]) == (201, False, True)
    [mail] = post()
    assert mail.to == ["ada@example.org"]
    token = token_of(mail)
    assert api.post(VERIFY, {"token": token}).status_code == 204
    assert user(app).email_verified
    assert refused(api.post(VERIFY, {"token": token}))


@pytest.mark.parametrize("again", [False, True])
def test_the_link_that_confirms_an_address_leads_back_to_what_one_was_doing(app: Flask, post: Any, again: bool) -> None:
    browser = Browser(app)
    fields = {"username": "ada", "email": "ada@example.org", "password": PASSWORD}
    browser.call("POST", "/sign-up?next=/submit%3Fcategory%3Da%2526b", data=fields)
    if again:
        browser.call("POST", "/verify/again?next=/submit%3Fcategory%3Da%2526b")
    link = re.search(r"https://directory\.example\.net(/verify\?token=\S+)\n", post()[-1].text)
    assert link
    for person in (Browser(app), browser):  # in another browser, which is signed out, and in the same
        page = person.get(link[1]).text
        action = re.search(r'action="(/verify[^"]*)"', page)
        token = re.search(r'name="token" value="([^"]+)"', page)
        assert action
        assert token
    done = browser.call("POST", unescape(action[1]), data={"token": token[1]})
    assert done.status_code == 303
    page = browser.get(done.headers["Location"]).text
    assert 'href="/submit?category=a%26b"' in page
    assert 'href="/mine"' in page


@pytest.mark.parametrize("evil", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_the_link_that_confirms_an_address_leads_to_no_other_site(app: Flask, post: Any, evil: str) -> None:
    browser = Browser(app)
    fields = {"username": "ada", "email": "ada@example.org", "password": PASSWORD}
    browser.call("POST", "/sign-up", data=fields, query_string={"next": evil})
    [mail] = post()
    assert "next=" not in mail.text
    token = token_of(mail)
    assert "evil" not in browser.get("/verify", query_string={"token": token, "next": evil}).text
    done = browser.call("POST", "/verify", data={"token": token}, query_string={"next": evil})
    assert "evil" not in done.headers["Location"]
    assert "evil" not in browser.get("/verify", query_string={"done": 1, "next": evil}).text


def test_a_link_that_verifies_is_mailed_again_until_it_is_used(app: Flask, world: World, post: Any) -> None:
    ada = world.caller(world.user("ada"))
    again = "/api/auth/email/verification"
    assert ada.post(again).status_code == 202
    [mail] = post()
    assert ada.post(VERIFY, {"token": token_of(mail)}).status_code == 204
    assert ada.post(again).status_code == 202
    assert post() == []


def test_a_new_address_holds_from_its_verification_on(app: Flask, world: World, api: Api, post: Any) -> None:
    ada = world.caller(world.user("ada"))
    api.post(FORGOT, {"login": "ada"})
    [first] = post()
    changed = ada.put("/api/auth/me", {"email": "new@example.org", "current_password": PASSWORD})
    assert (changed.status_code, changed.json["email"]) == (200, "ada@example.org")
    [mail] = post()
    assert mail.to == ["new@example.org"]
    assert login(api, PASSWORD, "ada@example.org") == 200

    assert api.post(VERIFY, {"token": token_of(mail)}).status_code == 204
    shown = ada.get("/api/auth/me").json
    assert (shown["email"], shown["email_verified"]) == ("new@example.org", True)
    assert login(api, PASSWORD, "ada@example.org") == 401
    assert refused(api.post(RESET, {"token": token_of(first), "password": NEW}))


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"email": "new@example.org"}, "#/current_password"),
        ({"email": "new@example.org", "current_password": "wrong"}, "#/current_password"),
    ],
)
def test_a_new_address_needs_the_present_password(world: World, post: Any, body: dict[str, str], pointer: str) -> None:
    answer = world.caller(world.user("ada")).put("/api/auth/me", body)
    assert (answer.status_code, [error["pointer"] for error in answer.json["errors"]]) == (422, [pointer])
    assert post() == []


def test_an_address_that_is_taken_is_refused_when_it_is_asked_for_and_when_it_is_confirmed(
    app: Flask, world: World, api: Api, post: Any
) -> None:
    ada, bob = world.caller(world.user("ada")), world.user("bob")
    body = {"email": "bob@example.org", "current_password": PASSWORD}
    assert ada.put("/api/auth/me", body).json["code"] == "duplicate"
    assert ada.put("/api/auth/me", body | {"email": "free@example.org"}).status_code == 200
    with app.app_context():
        taken = update(User).where(User.id == bob.id).values(email="free@example.org")
        transaction(lambda: db.session.execute(taken))
    [mail] = post()
    assert api.post(VERIFY, {"token": token_of(mail)}).json["code"] == "duplicate"
    assert not user(app).email_verified


def test_a_password_and_an_address_change_together(app: Flask, world: World, api: Api, post: Any) -> None:
    ada = world.caller(world.user("ada"))
    body = {"email": "new@example.org", "password": NEW, "current_password": PASSWORD}
    assert ada.put("/api/auth/me", body).status_code == 200
    assert (login(api, NEW), user(app).email) == (200, "ada@example.org")
    assert sorted((mail.to, subject(mail)) for mail in post()) == [
        (["ada@example.org"], "Your password for Project Directory was changed"),
        (["new@example.org"], "Confirm your e-mail address for Project Directory"),
    ]


def subject(mail: Taken) -> str:
    return str(mail.message["Subject"])


def test_a_new_address_is_told_to_the_one_before_when_it_is_confirmed(
    app: Flask, world: World, api: Api, post: Any
) -> None:
    ada = world.caller(world.user("ada"))
    ada.put("/api/auth/me", {"email": "new@example.org", "current_password": PASSWORD})
    [link] = post()
    assert api.post(VERIFY, {"token": token_of(link)}).status_code == 204
    [notice] = post()
    assert notice.to == ["ada@example.org"]
    assert subject(notice) == "Your e-mail address for Project Directory was changed"
    assert "Hello ada," in notice.text
    assert "If you did not, someone else uses your account." in notice.text
    assert "https://directory.example.net/account\n" in notice.text
    assert "new@example.org" not in notice.text
    assert "token" not in notice.text.replace("access tokens", "")
    with app.app_context():
        stored = "".join(db.session.scalars(select(Delivery.payload)))
    assert "@" not in stored, "the outbox holds no address"


def test_an_address_that_is_confirmed_and_not_changed_causes_no_notice(world: World, api: Api, post: Any) -> None:
    world.caller(world.user("ada")).post("/api/auth/email/verification")
    assert api.post(VERIFY, {"token": token_of(post()[0])}).status_code == 204
    assert post() == []


def test_a_new_password_is_told_to_the_account_by_whichever_way_it_came(world: World, api: Api, post: Any) -> None:
    ada = world.caller(world.user("ada"))
    assert ada.put("/api/auth/me", {"password": NEW, "current_password": PASSWORD}).status_code == 200
    [notice] = post()
    api.post(FORGOT, {"login": "ada"})
    assert api.post(RESET, {"token": token_of(post()[0]), "password": PASSWORD}).status_code == 204
    [another] = post()
    assert notice.text.splitlines()[0] == another.text.splitlines()[0] == "Hello ada,"
    for mail in (notice, another):
        assert (mail.to, subject(mail)) == (["ada@example.org"], "Your password for Project Directory was changed")
        assert "https://directory.example.net/forgot\n" in mail.text
        assert "token" not in mail.text.replace("access tokens", "")
        assert "has a box that also revokes all access tokens" in mail.text


@pytest.mark.parametrize("by_link", [True, False])
def test_a_new_password_ends_the_links_to_other_addresses(world: World, api: Api, post: Any, by_link: bool) -> None:
    """Else whoever knew the one before had one mailed, and takes the account over after the owner's reset."""
    thief = world.caller(world.user("ada"))
    thief.post("/api/auth/email/verification")
    thief.put("/api/auth/me", {"email": "thief@example.org", "current_password": PASSWORD})
    own, to_thief = post()
    assert (own.to, to_thief.to) == (["ada@example.org"], ["thief@example.org"])
    if by_link:
        api.post(FORGOT, {"login": "ada"})
        assert api.post(RESET, {"token": token_of(post()[0]), "password": NEW}).status_code == 204
    else:
        thief.put("/api/auth/me", {"password": NEW, "current_password": PASSWORD})
    assert refused(api.post(VERIFY, {"token": token_of(to_thief)}))
    assert api.post(VERIFY, {"token": token_of(own)}).status_code == 204
    assert login(api, NEW, "ada@example.org") == 200


def test_a_new_address_that_comes_with_a_new_password_gets_a_link_that_works(
    app: Flask, world: World, api: Api, post: Any
) -> None:
    ada, body = world.caller(world.user("ada")), {"email": "new@example.org", "password": NEW}
    assert ada.put("/api/auth/me", {**body, "current_password": PASSWORD}).status_code == 200
    _notice, mail = sorted(post(), key=lambda one: one.to)
    assert mail.to == ["new@example.org"]
    assert api.post(VERIFY, {"token": token_of(mail)}).status_code == 204
    assert user(app).email == "new@example.org"


def test_a_change_that_fails_causes_no_notice(world: World, api: Api, post: Any) -> None:
    ada, bob = world.caller(world.user("ada")), world.caller(world.user("bob"))
    ada.put("/api/auth/me", {"password": NEW, "current_password": "wrong"})
    ada.put("/api/auth/me", {"password": "short", "current_password": PASSWORD})
    ada.put("/api/auth/me", {"email": "free@example.org", "current_password": PASSWORD})
    bob.put("/api/auth/me", {"email": "free@example.org", "current_password": PASSWORD})
    first, second = map(token_of, post())
    assert api.post(VERIFY, {"token": first}).status_code == 204
    assert api.post(VERIFY, {"token": second}).json["code"] == "duplicate"
    assert [mail.to for mail in post()] == [["ada@example.org"]]


def test_a_notice_outlives_later_changes_and_its_address_goes_with_the_account(
    app: Flask, world: World, api: Api, post: Any
) -> None:
    ada = world.caller(world.user("ada"))
    ada.put("/api/auth/me", {"email": "new@example.org", "current_password": PASSWORD})
    api.post(VERIFY, {"token": token_of(post()[0])})
    ada.put("/api/auth/me", {"email": "newer@example.org", "current_password": PASSWORD})
    with app.app_context():
        nonce = db.session.scalar(select(MailLink.nonce).where(MailLink.email == "newer@example.org"))
        [server] = app.extensions["webhooks"]
    assert api.post(VERIFY, {"token": mail_links.token_of(nonce, server.key)}).status_code == 204
    assert [mail.to for mail in post()] == [["ada@example.org"], ["new@example.org"]]

    ada.put("/api/auth/me", {"password": NEW, "current_password": PASSWORD})
    assert ada.delete("/api/auth/me", json={"current_password": NEW}).status_code == 204
    assert post() == []
    assert count(app, MailLink) == 0
    with app.app_context():
        last = db.session.scalar(select(db.func.max(Delivery.id)))
        assert attempts(last)[0].error == "the account is suspended or deleted, or the notice is too old"


def test_an_unconfirmed_address_gets_few_notices_of_passwords_and_a_confirmed_one_gets_all(
    make_app: Any, mailbox: Mailbox
) -> None:
    app = make_app(**mailbox.settings, RATELIMIT_ENABLED="true", RATELIMIT_AUTH="1000 per hour")
    world = World(app)
    ada, bob = (world.caller(world.user(name)) for name in ("ada", "bob"))
    with app.app_context():
        confirmed = update(User).where(User.username == "bob").values(email_verified_at=now())
        transaction(lambda: db.session.execute(confirmed))
    for caller in (ada, bob):
        for current, new in [(PASSWORD, NEW), (NEW, PASSWORD)] * 2:
            body = {"password": new, "current_password": current}
            assert caller.put("/api/auth/me", body).status_code == 200
    [server] = app.extensions["webhooks"]
    send_all(delivery_thread(app, server, quick()))
    assert [mail.to for mail in mailbox.taken].count(["ada@example.org"]) == 3
    assert [mail.to for mail in mailbox.taken].count(["bob@example.org"]) == 4


def test_an_unconfirmed_address_that_is_replaced_gets_few_notices_too(make_app: Any, mailbox: Mailbox) -> None:
    app = make_app(**mailbox.settings, RATELIMIT_ENABLED="true")
    caller = World(app).caller(World(app).user("ada"))
    [server] = app.extensions["webhooks"]
    for allowed in (True, True, True, False):
        with handling(app), account_limits.mailing("ada@example.org", None) as may_mail:
            assert may_mail == allowed
    caller.put("/api/auth/me", {"email": "new@example.org", "current_password": PASSWORD})
    with app.app_context():
        token = mail_links.token_of(db.session.scalar(select(MailLink.nonce)), server.key)
    right = caller.post(VERIFY, {"token": token})
    assert (right.status_code, right.headers["RateLimit"].split(";t")[0]) == (204, '"recovery-3600s";r=20')  # no guess
    send_all(delivery_thread(app, server, quick()))
    assert [mail.to for mail in mailbox.taken] == []
    assert user(app).email == "new@example.org"


def test_the_mails_of_an_account_are_found_by_their_event(world: World, api: Api, post: Any) -> None:
    ada = world.caller(world.user("ada"))
    api.post(FORGOT, {"login": "ada"})
    ada.put("/api/auth/me", {"email": "new@example.org", "current_password": PASSWORD})
    _, link = post()
    api.post(VERIFY, {"token": token_of(link)})
    ada.put("/api/auth/me", {"password": NEW, "current_password": PASSWORD})
    admin = world.caller(world.admin())
    for event in ("password_reset", "email_verification", "email_changed", "password_changed"):
        found = admin.get(f"/api/admin/webhooks/deliveries?event=account.{event}").json["items"]
        assert [one["event"] for one in found] == [f"account.{event}"]


def test_no_token_opens_a_notice(app: Flask, world: World, api: Api) -> None:
    world.caller(world.user("ada")).put("/api/auth/me", {"password": NEW, "current_password": PASSWORD})
    with app.app_context():
        [server] = app.extensions["webhooks"]
        token = mail_links.token_of(db.session.scalar(select(MailLink.nonce)), server.key)
    assert refused(api.post(RESET, {"token": token, "password": NEW + "!"}))
    assert refused(api.post(VERIFY, {"token": token}))


@pytest.mark.parametrize(
    ("decision", "status", "says"),
    [
        ("approve", "pending", "Your project is live"),
        ("reject", "pending", "Your project was not accepted"),
        ("unpublish", "live", "Your project is no longer live"),
    ],
)
def test_the_owner_gets_a_mail_about_a_decision_with_its_reason(
    world: World, post: Any, decision: str, status: str, says: str
) -> None:
    project = world.project(world.user("ada"), status, title="Grüße — a title")
    post()
    admin = world.caller(world.admin())
    reason = None if decision == "approve" else {"reason": "The link\nis dead."}
    assert admin.put(f"/api/admin/projects/{project}/{decision}", reason).status_code == 200
    [mail] = post()
    assert mail.to == ["ada@example.org"]
    assert str(mail.message["Subject"]) == f"{says}: “Grüße — a title”"
    assert ("The reason: The link\nis dead." in mail.text) == (reason is not None)
    assert (f"https://directory.example.net/p/{project}/grusse-a-title\n" in mail.text) == (decision == "approve")


@pytest.mark.parametrize(
    ("decision", "subject", "says", "path"),
    [
        ("approve", "Your changes to “New” are live", "have been approved and are live", "/p/{}/new"),
        (
            "reject",
            "Your changes to “Old” were not accepted",
            "were reviewed and not accepted. The project stays live as it was.\n\nThe reason: No.",
            "/mine/{}",
        ),
    ],
)
def test_the_owner_gets_one_mail_about_a_decision_on_changes_that_waited(
    world: World, post: Any, decision: str, subject: str, says: str, path: str
) -> None:
    ada = world.user("ada")
    project, admin = world.project(ada, title="Old"), world.caller(world.admin())
    assert world.caller(ada).put(f"/api/projects/{project}", {"title": "New"}).json["revision"] is not None
    assert post() == []
    for _ in range(2):  # a repetition mails nothing
        assert admin.put(f"/api/admin/projects/{project}/{decision}", {"reason": "No."}).status_code == 200
    [mail] = post()
    assert (mail.to, str(mail.message["Subject"])) == (["ada@example.org"], subject)
    assert says in mail.text
    assert f"https://directory.example.net{path.format(project)}\n" in mail.text
    assert ("No." in mail.text) == (decision == "reject")


def test_one_click_switches_mail_off_without_signing_in(app: Flask, world: World, api: Api, post: Any) -> None:
    ada = world.user("ada")
    first, second = (world.project(ada, "pending") for _ in range(2))
    admin = world.caller(world.admin())
    admin.put(f"/api/admin/projects/{first}/approve")
    [mail] = post()
    assert str(mail.message["List-Unsubscribe-Post"]) == "List-Unsubscribe=One-Click"
    address = str(mail.message["List-Unsubscribe"]).strip("<>")
    assert f"Switch such mail off here: {address}\n" in mail.text
    path = address.removeprefix("https://directory.example.net")
    assert '<form class="card form" method="post" action="/mail-off">' in api.get(path).text
    assert user(app).notify
    form = {"data": "List-Unsubscribe=One-Click", "content_type": "application/x-www-form-urlencoded"}
    assert api.post(path, **form).status_code == 204
    assert not user(app).notify
    admin.put(f"/api/admin/projects/{second}/approve")
    assert post() == []
    for other in (
        "x",
        "0-x",
        f"{ada.id}-{'x' * 43}",
        path.rpartition("/")[2].replace(f"{ada.id}-", f"{ada.id + 1}-", 1),
    ):
        assert api.post(f"/api/auth/notifications/{other}", **form).status_code == 404


def test_without_the_pages_of_the_site_a_person_can_follow_the_links_of_mail(
    make_app: Any, mailbox: Mailbox, world: World
) -> None:
    app = make_app(**mailbox.settings, WEB_ENABLED="false")
    ada, api, [server] = world.user("ada"), Api(app), app.extensions["webhooks"]
    world.caller(world.admin()).put(f"/api/admin/projects/{world.project(ada, 'pending')}/approve")
    world.caller(ada).post("/api/auth/email/verification")
    api.post(FORGOT, {"login": "ada"})
    send_all(delivery_thread(app, server, quick()))
    text = "".join(f"{letter.message['List-Unsubscribe']}\n{letter.text}" for letter in mailbox.taken)
    for link, typed, says in (
        (r"/verify\?token=\S+", {}, "Your e-mail address is confirmed."),
        (r"/api/auth/notifications/[^>\s]+", {}, "Decisions about your projects are no longer mailed to you."),
        (r"/reset\?token=\S+", {"password": NEW}, "Your password is changed"),
    ):
        found = re.search(link, text)
        assert found is not None
        page = api.get(found[0], headers={"Accept": "text/html"})
        assert (page.status_code, page.mimetype, page.headers["Cache-Control"]) == (200, "text/html", "no-store")
        assert "form-action 'self'" in page.headers["Content-Security-Policy"]
        assert "<script" not in page.text
        [(action, token)] = re.findall(r'action="([^"]+)".*?name="token" value="([^"]+)"', page.text, re.DOTALL)
        assert api.call("POST", action, data={"token": "x" * 43, **typed}).status_code in {404, 422}
        done = api.call("POST", action, data={"token": token, **typed})
        assert done.status_code == 303, done.text
        end = api.get(done.headers["Location"])
        assert says in end.text
        paths = re.findall(r'(?:href|src)="([^"]+)"', page.text + end.text)
        assert {path: api.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)
    changed = user(app)
    assert (changed.email_verified, changed.notify, login(api, NEW)) == (True, False, 200)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_log_line_holds_the_token_that_switches_mail_off(
    app: Flask, world: World, api: Api, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    with app.app_context():
        [server] = app.extensions["webhooks"]
    token = mail_links.unsubscribe_token(world.user("ada").id, server.key)
    with caplog.at_level("INFO", "directory.access"):
        api.call(method, f"/api/auth/notifications/{token}")
    [line] = [record.__dict__ for record in caplog.records if record.name == "directory.access"]
    assert line["path"] == "/api/auth/notifications/"


def test_members_switch_mail_off_and_on_in_their_account(world: World, post: Any) -> None:
    owner = world.user("ada")
    ada, project = world.caller(owner), world.project(owner, "pending")
    admin = world.caller(world.admin())
    assert ada.put("/api/auth/me", {"notify": False}).json["notify"] is False
    admin.put(f"/api/admin/projects/{project}/approve")
    assert post() == []
    assert ada.put("/api/auth/me", {"notify": True}).json["notify"] is True
    admin.put(f"/api/admin/projects/{project}/unpublish", {"reason": "Later."})
    assert len(post()) == 1


def test_mail_that_is_switched_off_meanwhile_is_not_sent(app: Flask, world: World, post: Any) -> None:
    owner = world.user("ada")
    project = world.project(owner, "pending")
    world.caller(world.admin()).put(f"/api/admin/projects/{project}/approve")
    [server] = app.extensions["webhooks"]
    with app.app_context():
        transaction(lambda: mail_links.unsubscribe(mail_links.unsubscribe_token(owner.id, server.key), server.keys))
    assert post() == []


def test_decisions_about_many_projects_mail_each_owner_who_wants_it(world: World, post: Any) -> None:
    owners = [world.user(name) for name in ("ada", "bob", "eve")]
    world.caller(owners[1]).put("/api/auth/me", {"notify": False})
    items = [{"id": world.project(owner, "pending")} for owner in owners]
    answer = world.caller(world.admin()).post("/api/admin/projects/decisions", {"decision": "approve", "items": items})
    assert answer.status_code == 200
    assert sorted(mail.to[0] for mail in post()) == ["ada@example.org", "eve@example.org"]


def test_a_takedown_with_a_suspension_mails_nothing(app: Flask, world: World, post: Any) -> None:
    ada = world.user("ada")
    world.project(ada)
    body = {"status": "suspended", "unpublish": True, "reason": "Spam."}
    assert world.caller(world.admin()).put(f"/api/admin/users/{ada.id}", body).status_code == 200
    assert post() == []
    with app.app_context():
        assert db.session.scalars(select(Delivery.state)).all() == []


def test_an_account_that_is_deleted_takes_its_links_along(app: Flask, world: World, api: Api, post: Any) -> None:
    ada = world.caller(world.user("ada"))
    api.post(FORGOT, {"login": "ada"})
    assert ada.call("DELETE", "/api/auth/me", {"current_password": PASSWORD}).status_code == 204
    assert count(app, MailLink) == 0
    assert post() == []


def test_the_session_says_whether_mail_is_sent(make_app: Any, api: Api) -> None:
    assert api.get("/api/session").json["password_reset"] is True
    assert Api(make_app()).get("/api/session").json["password_reset"] is False


@pytest.mark.parametrize("path", MAIL_OFF["POST"])
def test_without_a_mail_server_all_of_it_is_absent(make_app: Any, path: str) -> None:
    world = World(make_app())
    answer = world.caller(world.user("ada")).post(path, BODIES.get(path))
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")


def test_without_a_mail_server_an_address_changes_at_once_by_the_password(make_app: Any) -> None:
    world = World(make_app())
    caller, new = world.caller(world.user("ada")), {"email": "new@example.org"}
    refused = caller.put("/api/auth/me", new)
    assert (refused.status_code, refused.json["errors"][0]["pointer"]) == (422, "#/current_password")
    wrong = caller.put("/api/auth/me", {**new, "current_password": "not the password"})
    assert (wrong.status_code, wrong.json["errors"][0]["pointer"]) == (422, "#/current_password")
    assert caller.get("/api/auth/me").json["email"] == "ada@example.org"
    answer = caller.put("/api/auth/me", {**new, "current_password": PASSWORD})
    assert (answer.status_code, answer.json["email"], answer.json["email_verified"]) == (200, "new@example.org", False)
    assert caller.put("/api/auth/me", new).status_code == 200, "the address that the account has is not new"


def test_without_a_mail_server_an_account_without_a_password_changes_its_address_in_a_fresh_session(
    make_app: Any,
) -> None:
    app = make_app()
    ada = World(app).user("ada")
    browser, token = Browser(app).sign_in("ada"), World(app).caller(ada)
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(password_hash="")))
    assert token.put("/api/auth/me", {"email": "new@example.org"}).json["code"] == "sign_in_again"
    assert browser.put("/api/auth/me", {"email": "new@example.org"}).json["email"] == "new@example.org"
    with app.app_context():
        transaction(lambda: db.session.execute(update(Session).values(created_at=now() - timedelta(minutes=11))))
    assert browser.put("/api/auth/me", {"email": "newer@example.org"}).json["code"] == "sign_in_again"


@pytest.mark.parametrize(("required", "statuses"), [("none", (201, 200)), ("submit", (403, 200)), ("vote", (403, 403))])
def test_members_without_a_confirmed_address_do_what_the_setting_allows(
    make_app: Any, mailbox: Mailbox, required: str, statuses: tuple[int, int]
) -> None:
    app = make_app(**mailbox.settings, REQUIRE_VERIFIED_EMAIL=required)
    world = World(app)
    project, ada = world.project(), world.caller(world.user("ada"))
    given = {"title": "A", "tagline": "B", "url": "https://example.org/ada", "category": "tools"}
    found = [ada.post("/api/projects", given), ada.put(f"/api/projects/{project}/upvote")]
    assert tuple(answer.status_code for answer in found) == statuses
    assert {answer.json["code"] for answer in found if answer.status_code == 403} <= {"email_not_verified"}
    toggled = ada.post(f"/api/projects/{project}/upvote")
    assert toggled.status_code == statuses[1]
    assert ada.delete(f"/api/projects/{project}/upvote").status_code == 200

    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(email_verified_at=now())))
    assert ada.put(f"/api/projects/{project}/upvote").status_code == 200
    assert ada.post("/api/projects", given).status_code in {201, 409}


@pytest.mark.parametrize("path", ["", "/a-path-of-the-site" * 9])
def test_the_address_that_switches_mail_off_is_one_plain_header_whatever_its_length(
    make_app: Any, mailbox: Mailbox, path: str
) -> None:
    app = make_app(**mailbox.settings)
    world = World(app)
    project = world.project(world.user("ada"), "pending")
    [server] = app.extensions["webhooks"]
    server = replace(server, site=Site(server.site.name, f"https://directory.example.net{path}"))
    world.caller(world.admin()).put(f"/api/admin/projects/{project}/approve")
    send_all(delivery_thread(app, server, quick()))
    [mail] = mailbox.taken
    [line] = [line for line in mail.raw.split(b"\r\n") if line.startswith(b"List-Unsubscribe:")]
    assert re.fullmatch(
        rb"List-Unsubscribe: <https://directory\.example\.net%b/api/auth/notifications/[0-9A-Za-z_-]+>" % path.encode(),
        line,
    )


def test_an_unconfirmed_address_gets_three_decisions_an_hour_and_a_confirmed_one_all(
    app: Flask, world: World, post: Any
) -> None:
    ada, bob = world.user("ada"), world.user("bob")
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == ada.id).values(email_verified_at=None)))
        transaction(lambda: db.session.execute(update(User).where(User.id == bob.id).values(email_verified_at=now())))
    admin = world.caller(world.admin())
    for number in range(5):
        for owner in (ada, bob):
            project = world.project(owner, "pending", title=f"Buy this {number}")
            assert admin.put(f"/api/admin/projects/{project}/reject").status_code == 200
    mails = post()
    assert [sum(mail.to == [f"{name}@example.org"] for mail in mails) for name in ("ada", "bob")] == [3, 5]
    assert not any(str(mail.message["Subject"]).startswith(("“", "Buy")) for mail in mails)
    with app.app_context():
        hour_ago = now() - timedelta(hours=1, seconds=1)
        transaction(lambda: db.session.execute(update(Delivery).values(created_at=hour_ago)))
    ids = [world.project(ada, "pending") for _ in range(5)]
    body = {"decision": "reject", "items": [{"id": project} for project in ids]}
    assert admin.post("/api/admin/projects/decisions", body).status_code == 200
    assert len(post()) == 3


def test_two_reviewers_at_once_do_not_mail_more_to_an_unconfirmed_address(
    app: Flask, world: World, database: Any
) -> None:
    ada = world.user("ada")
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == ada.id).values(email_verified_at=None)))
    admin = world.caller(world.admin())
    ids = [world.project(ada, "pending") for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda p: admin.put(f"/api/admin/projects/{p}/reject").status_code, ids))
    assert set(codes) == {200}
    assert count(app, Delivery) in range(1, 4)
