"""Signing in by a provider where the service sends mail."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.errors import Unavailable
from directory.extensions import db
from directory.models import Delivery, Identity, LinkPurpose, MailLink, User
from directory.services.accounts import mail_links
from directory.services.delivery.mail import link_mails
from directory.services.sign_in import recovery
from tests.support.browsers import Browser
from tests.support.factories import Api
from tests.support.lying_provider import LyingProvider, walk
from tests.support.mailbox import Mailbox

NEW = "nine blue paper boats"


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox, provider: LyingProvider) -> Flask:
    return make_app(**{**mailbox.settings, **provider.environment, "SITE_URL": ""})  # type: ignore[no-any-return]


def events(app: Flask) -> list[str]:
    with app.app_context():
        return list(db.session.scalars(select(Delivery.event).order_by(Delivery.id)))


def reset(app: Flask, password: str) -> int:
    """Choose a new password by a link that was mailed to the one account."""
    with app.app_context():
        [server] = app.extensions["webhooks"]
        user = db.session.scalars(select(User)).one()
        transaction(lambda: link_mails.queue(LinkPurpose.RESET, user, user.email, server))
        nonce = db.session.scalars(select(MailLink.nonce).where(MailLink.purpose == LinkPurpose.RESET)).one()
        token = mail_links.token_of(nonce, server.key)
    return int(Api(app).post("/api/auth/password/reset", {"token": token, "password": password}).status_code)


@pytest.mark.parametrize("verified", [True, False])
def test_an_address_that_the_provider_has_not_confirmed_gets_a_link(
    app: Flask, provider: LyingProvider, verified: bool
) -> None:
    provider.person["email_verified"] = verified
    for _ in range(2):
        assert walk(Browser(app), provider).headers["Location"] == "/"
    assert events(app) == ([] if verified else ["account.email_verification"])


def test_an_account_is_opened_with_the_mail_that_confirms_its_address_or_not_at_all(
    app: Flask, provider: LyingProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **_named: Any) -> None:
        raise Unavailable

    monkeypatch.setattr(recovery, "ask_to_verify", fail)
    provider.person["email_verified"] = False
    assert "reason=unavailable" in walk(Browser(app), provider).headers["Location"]
    with app.app_context():
        assert db.session.scalar(select(User.id)) is None


def test_a_reset_of_an_address_that_was_never_confirmed_removes_the_providers(
    app: Flask, provider: LyingProvider
) -> None:
    provider.person["email_verified"] = False
    browser = Browser(app)
    walk(browser, provider)
    assert reset(app, NEW) == 204
    assert not browser.signed_in()
    with app.app_context():
        assert db.session.scalar(select(Identity.id)) is None
    assert "reason=address_taken" in walk(browser, provider).headers["Location"]
    assert Browser(app).sign_in("ada", NEW).signed_in()


def test_a_reset_of_a_confirmed_address_leaves_them(app: Flask, provider: LyingProvider) -> None:
    walk(Browser(app), provider)
    assert reset(app, NEW) == 204
    assert walk(Browser(app), provider).headers["Location"] == "/"


def test_a_new_address_of_an_account_without_a_password_needs_a_fresh_session(
    app: Flask, provider: LyingProvider
) -> None:
    browser = Browser(app)
    walk(browser, provider)
    assert browser.put("/api/auth/me", {"email": "new@example.org"}).status_code == 200
    token = Api(app, browser.post("/api/auth/tokens", {"name": "x"}).json["token"])
    assert token.put("/api/auth/me", {"email": "new@example.org"}).json["code"] == "sign_in_again"
