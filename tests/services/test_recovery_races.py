"""Changes between the first read of an account or a link and the lock of the account are seen under the lock."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.errors import AccountDeleted, Invalid, WrongPassword
from directory.extensions import db
from directory.models import LinkPurpose, MailLink, User
from directory.services.accounts import mail_links
from directory.services.delivery.mail import link_mails
from directory.services.identity import Caller
from directory.services.sign_in import recovery
from tests.support.factories import PASSWORD, World
from tests.support.mailbox import server

SERVER = server(9)


def propose(app: Flask, by: Caller) -> None:
    with app.app_context():
        transaction(lambda: recovery.propose_email(by, "new@example.org", known_hash="another", server=SERVER))


def links(app: Flask) -> int:
    with app.app_context():
        return int(db.session.scalar(db.select(db.func.count()).select_from(MailLink)))


def test_no_link_is_mailed_to_a_new_address_once_the_password_is_another(app: Flask, ada: Caller) -> None:
    with pytest.raises(WrongPassword):
        propose(app, ada)
    assert links(app) == 0


def test_no_link_is_mailed_to_a_new_address_of_a_deleted_account(app: Flask, world: World, ada: Caller) -> None:
    gone = world.caller(ada).call("DELETE", "/api/auth/me", {"current_password": PASSWORD})
    assert gone.status_code == 204
    with pytest.raises(AccountDeleted):
        propose(app, ada)


def test_a_link_opens_no_account_that_was_suspended_just_before(
    app: Flask, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with app.app_context():
        user = db.session.get(User, ada.id)
        transaction(lambda: link_mails.queue(LinkPurpose.VERIFY, user, "ada@example.org", SERVER))
        nonce = db.session.scalar(db.select(MailLink.nonce))
    find = mail_links.find

    def find_and_suspend(purpose: LinkPurpose, token: str) -> Any:
        link = find(purpose, token)
        db.session.execute(update(User).where(User.id == ada.id).values(status="suspended"))
        return link

    monkeypatch.setattr(mail_links, "find", find_and_suspend)
    with app.app_context(), pytest.raises(Invalid):
        transaction(lambda: recovery.verify(mail_links.token_of(nonce, SERVER.key), SERVER))
    assert links(app) == 1, "a refusal uses no link up"


def test_a_link_that_another_request_uses_up_in_between_changes_nothing(
    app: Flask, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    with app.app_context():
        user = db.session.get_one(User, ada.id)
        transaction(lambda: link_mails.queue(LinkPurpose.RESET, user, user.email, SERVER))
        token = mail_links.token_of(db.session.scalar(db.select(MailLink.nonce)), SERVER.key)
        before = user.password_hash
    find = mail_links.find

    def find_and_use_up(purpose: LinkPurpose, token: str) -> Any:
        link = find(purpose, token)
        mail_links.use_up(link.id)
        return link

    monkeypatch.setattr(mail_links, "find", find_and_use_up)
    with app.app_context(), pytest.raises(Invalid):
        transaction(lambda: recovery.reset(token, "another", revoke_tokens=False, server=SERVER))
    with app.app_context():
        assert db.session.get_one(User, ada.id).password_hash == before
