"""The providers of an account on its page."""

import re
from typing import Any

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Identity
from directory.services.identity import Caller
from tests.support.browsers import Browser
from tests.support.factories import World
from tests.support.lying_provider import LyingProvider


@pytest.fixture
def app(make_app: Any, provider: LyingProvider) -> Flask:
    return make_app(**provider.environment)  # type: ignore[no-any-return]


@pytest.fixture
def ada(world: World) -> Caller:
    return world.user("ada")


@pytest.fixture
def browser(app: Flask, ada: Caller) -> Browser:
    return Browser(app).sign_in("ada")


def test_a_page_leads_on_to_the_provider_that_is_joined(browser: Browser, provider: LyingProvider) -> None:
    assert "Join Example Inc." in browser.get("/account").text
    page = browser.post("/account/providers", data={"provider": "company"})
    assert (page.status_code, page.headers["Cache-Control"]) == (200, "no-store")
    assert re.search(f'href="{re.escape(provider.issuer)}/[^"]*state=', page.text)
    assert "-sign-in=" in page.headers["Set-Cookie"]


def test_a_provider_is_removed_and_the_section_says_so(
    app: Flask, browser: Browser, ada: Caller, provider: LyingProvider
) -> None:
    with app.app_context():
        transaction(lambda: db.session.add(Identity(user_id=ada.id, issuer=provider.issuer, subject="1")))
    page = browser.get("/account").text
    assert "Join Example Inc." not in page
    [path] = re.findall('action="(/account/providers/[0-9]+/remove)"', page)
    answer = browser.post(path, data={"nothing": ""})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/account?done=provider-removed#ways")
    assert "The provider is removed." in browser.get("/account?done=provider-removed").text
    assert browser.post(path, data={"nothing": ""}).status_code == 404
