"""A new SECRET_KEY: with the previous one in SECRET_KEY_FALLBACKS, what it signed stays good; without it, not."""

import re
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import LinkPurpose, User
from directory.services.accounts import mail_links
from directory.services.delivery.mail import link_mails
from tests.support.browsers import Browser
from tests.support.factories import Api, World
from tests.support.lying_provider import LyingProvider, back
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all

OLD, NEW = "o" * 39 + "1", "n" * 39 + "1"
KEPT, LOST = {"SECRET_KEY": NEW, "SECRET_KEY_FALLBACKS": OLD}, {"SECRET_KEY": NEW}


@pytest.fixture
def settings(mailbox: Mailbox, provider: LyingProvider) -> dict[str, str]:
    return {**mailbox.settings, **provider.environment, "SITE_URL": ""}


@pytest.fixture
def app(make_app: Any, settings: dict[str, str]) -> Flask:
    """The application before the rotation."""
    return make_app(**settings, SECRET_KEY=OLD)  # type: ignore[no-any-return]


@pytest.fixture
def rotated(make_app: Any, settings: dict[str, str]) -> Any:
    """Builds the application after it."""
    return lambda keys: make_app(**settings, **keys)


@pytest.mark.parametrize(("keys", "status"), [(KEPT, 200), (LOST, 422)])
def test_a_cursor(app: Flask, rotated: Any, world: World, keys: dict[str, str], status: int) -> None:
    for _ in range(2):
        world.project()
    cursor = Api(app).get("/api/projects?limit=1").json["pagination"]["next_cursor"]
    assert Api(rotated(keys)).get(f"/api/projects?limit=1&cursor={cursor}").status_code == status


@pytest.mark.parametrize(("keys", "status"), [(KEPT, 204), (LOST, 404)])
def test_the_link_that_switches_mail_off(
    app: Flask, rotated: Any, world: World, keys: dict[str, str], status: int
) -> None:
    [server] = app.extensions["webhooks"]
    token = mail_links.unsubscribe_token(world.user().id, server.key)
    assert Api(rotated(keys)).post(f"/api/auth/notifications/{token}").status_code == status


@pytest.mark.parametrize(("keys", "mails"), [(KEPT, 1), (LOST, 0)])
def test_a_link_that_was_made_before_and_is_mailed_after(
    app: Flask, rotated: Any, world: World, mailbox: Mailbox, keys: dict[str, str], mails: int
) -> None:
    ada = world.user("ada")
    with app.app_context():
        [server] = app.extensions["webhooks"]
        user = db.session.scalars(select(User).where(User.id == ada.id)).one()
        transaction(lambda: link_mails.queue(LinkPurpose.VERIFY, user, user.email, server))
    after = rotated(keys)
    [server] = after.extensions["webhooks"]
    send_all(delivery_thread(after, server, quick()))
    tokens = [re.search(r"\?token=(\S+)", mail.text)[1] for mail in mailbox.taken]  # type: ignore[index]
    assert len(tokens) == mails
    for token in tokens:
        assert Api(after).post("/api/auth/email/verify", {"token": token}).status_code == 204


@pytest.mark.extra("providers")
@pytest.mark.parametrize(("keys", "location"), [(KEPT, "/"), (LOST, "/sign-in?sign-in=failed&reason=sign_in_refused")])
def test_a_sign_in_that_is_under_way_at_a_provider(
    app: Flask, rotated: Any, provider: LyingProvider, keys: dict[str, str], location: str
) -> None:
    browser = Browser(app)
    went = browser.get("/api/auth/providers/company")
    after = Browser(rotated(keys))
    name, _, value = went.headers["Set-Cookie"].partition(";")[0].partition("=")
    after.client.set_cookie(name, value)
    answer = back(after, provider.authorize(went.headers["Location"]))
    assert answer.headers["Location"] == location
