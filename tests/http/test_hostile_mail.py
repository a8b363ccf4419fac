"""Hostile input where accounts and mail meet: never a fault of ours, and no mail to another address."""

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import DeliveryAttempt, LinkPurpose, MailLink, User
from directory.services.accounts import mail_links
from directory.services.delivery.mail import link_mails
from directory.services.identity import Caller
from directory.services.text.rules import ascii_address
from tests.http.test_hostile import IDS, JSON, VALUES, complaint, found
from tests.support.factories import PASSWORD, Api, World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all

NEW = "nine blue paper boats"
ADDRESSES = (
    "a@example.org\r\nBcc: b@example.org", "a@example.org\nSubject: x", "a@example.org,b@example.org",
    "a@example.org b@example.org", "<a@example.org>", "A <a@example.org>", '"a b"@example.org', "a@[127.0.0.1]",
    "a@example.org\0", "a@example.org\u2028", "\u00e4@example.org", "a@ex\u00e4mple.org", "a@example.org.", "a@b", "@",
    "a@-b.org", "a@b..org", ".a@b.org", "a..b@b.org", "a@b@c.org", "a" * 65 + "@example.org",
    "a@" + ".".join(["b" * 63] * 5), "a@example.org;b@example.org", "a(comment)@example.org", "a@example.org\u202e",
    # These are addresses, and go into headers as they are.
    "=?utf-8?q?x?=@example.org", "a'--@example.org", "{{7*7}}@example.org", "a%0d%0abcc@example.org", "`$`@example.org",
)  # fmt: skip


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox) -> Flask:
    return make_app(**mailbox.settings)  # type: ignore[no-any-return]


@pytest.fixture
def ada(world: World) -> Caller:
    return world.user("ada")


def link(app: Flask, purpose: LinkPurpose, username: str = "ada") -> str:
    """The token of a new link, as in the mail."""
    with app.app_context():
        [server] = app.extensions["webhooks"]

        def work() -> str:
            user = db.session.scalars(select(User).where(User.username == username)).one()
            link_mails.queue(purpose, user, user.email, server)
            return db.session.scalars(select(MailLink.nonce).order_by(MailLink.id.desc()).limit(1)).one()

        return mail_links.token_of(transaction(work), server.key)


def sent(api: Api, method: str, path: str, body: Any) -> str | None:
    """What is wrong with the answer to a body of any values."""
    return complaint(api.call(method, path, data=json.dumps(body), content_type=JSON))


def test_hostile_values_in_the_fields_of_links_are_never_a_500(app: Flask, ada: Caller, api: Api) -> None:
    wrong = []
    for value in (*VALUES, *ADDRESSES):
        wrong += [
            sent(api, "POST", "/api/auth/password/forgot", {"login": value}),
            sent(api, "POST", "/api/auth/email/verify", {"token": value}),
            sent(api, "POST", "/api/auth/password/reset", {"token": value, "password": NEW}),
        ]
    for value in VALUES:  # with a link that works
        for body in ({"password": value}, {"password": NEW, "revoke_tokens": value}):
            token = link(app, LinkPurpose.RESET)
            wrong.append(sent(api, "POST", "/api/auth/password/reset", {"token": token, **body}))
    wrong += [
        complaint(api.post(f"/api/auth/notifications/{value}")) for value in (*IDS, "1-", "1-%00", "9" * 30 + "-x")
    ]
    assert found(wrong) == []


def test_hostile_values_in_the_fields_of_an_account_are_never_a_500(world: World, ada: Caller) -> None:
    caller, wrong = world.caller(ada), []
    for value in VALUES:
        wrong += [
            sent(caller, "PUT", "/api/auth/me", {"notify": value}),
            sent(caller, "PUT", "/api/auth/me", {"email": "new@example.org", "current_password": value}),
            sent(caller, "PUT", "/api/auth/me", {"password": NEW, "current_password": value}),
            sent(caller, "DELETE", "/api/auth/me", {"current_password": value}),
        ]
    assert found(wrong) == []
    assert caller.get("/api/auth/me").json["email"] == "ada@example.org"


def test_an_address_is_refused_or_is_the_one_recipient_of_its_mail(
    app: Flask, world: World, ada: Caller, mailbox: Mailbox
) -> None:
    caller, taken = world.caller(ada), set()
    for number, address in enumerate(ADDRESSES):
        changed = caller.put("/api/auth/me", {"email": address, "current_password": PASSWORD})
        person = {"username": f"new{number}", "email": f"r{address}", "password": PASSWORD}
        made = Api(app).post("/api/auth/register", person)
        for answer, given in ((changed, address), (made, f"r{address}")):
            assert answer.status_code in {200, 201, 422}, (address, answer.json)
            taken |= {ascii_address(given)} if answer.status_code != 422 else set()
    assert len(taken) == 13
    [server] = app.extensions["webhooks"]
    send_all(delivery_thread(app, server, quick()))
    # The library takes this one for an encoded word, and no message is made: the delivery is given up with that reason.
    taken -= {"=?utf-8?q?x?=@example.org"}
    assert {tuple(mail.to) for mail in mailbox.taken} == {(address,) for address in taken}
    assert all(mail.message["Bcc"] is None for mail in mailbox.taken)
    with app.app_context():
        failed = db.session.scalars(select(DeliveryAttempt.error).where(DeliveryAttempt.status.is_distinct_from(250)))
        assert set(failed) == {"no message can be made of it: InvalidHeaderDefect"}


def test_an_export_gives_hostile_texts_back_as_they_are(app: Flask, world: World, ada: Caller) -> None:
    texts = [v for v in VALUES if isinstance(v, str) and v.strip() and v.isprintable() and len(v) < 100]
    for text in texts:
        world.project(ada, title=text, tagline=text, description=text)
    names = [text for text in texts if world.caller(ada).post("/api/auth/tokens", {"name": text}).status_code == 201]
    agent = "<script>\xff\"'" + "x" * 500
    given = {"login": "ada", "password": PASSWORD}
    assert Api(app).post("/api/auth/login", given, headers={"User-Agent": agent}).status_code == 200
    found = world.caller(ada).get("/api/auth/me/export")
    assert found.status_code == 200
    assert [project["title"] for project in found.json["projects"]] == texts[::-1]
    assert {token["name"] for token in found.json["tokens"]} == {*names, "test"}
    assert found.json["sessions"][0]["user_agent"].startswith("<script>")
