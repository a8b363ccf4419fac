"""Signing in by a provider, walked by a person: pages, database and the certified provider are real."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, expect

from tests.support.chromium import served
from tests.support.factories import World
from tests.support.openid_provider import openid_provider, settings
from tests.support.visitor import Visitor, visitor

NEW = "nine blue paper boats"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with openid_provider() as one:
        yield one


@pytest.fixture
def app(make_app: Any, issuer: str) -> Flask:
    return make_app(**settings(issuer))  # type: ignore[no-any-return]


def leave(person: Visitor) -> None:
    """Go to the provider by the button. Its pages ask for a font of another site, which no test waits for."""
    person.page.route("https://**", lambda route: route.abort())
    person.link("Sign in").click()
    person.page.get_by_role("link", name="Continue with Example Inc.").click()


def forget(person: Visitor) -> None:
    """Leave out what was said and asked for by the provider's own pages."""
    person.elsewhere.clear()
    person.said.clear()


def at_provider(person: Visitor, issuer: str, name: str) -> None:
    """Sign in at the provider, which asks for any name and any password, and let it tell who that is."""
    page = person.page
    expect(page.get_by_placeholder("Enter any login")).to_be_visible()
    assert page.url.startswith(f"{issuer}/")
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("x")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{person.site}/**")
    forget(person)


def test_a_stranger_signs_in_from_the_button_to_the_page_and_sets_a_password(
    chromium: Browser, app: Flask, issuer: str
) -> None:
    with served(app) as site, visitor(chromium, site, 409) as person:
        page = person.open("/?sort=upvotes").page
        leave(person)
        at_provider(person, issuer, "ada")
        expect(page.get_by_label("Account: ada")).to_be_visible()
        assert page.url == f"{site}/?sort=upvotes"

        person.open("/account")
        expect(page.get_by_text("You have no password")).to_be_visible()
        card = page.get_by_role("listitem").filter(has_text="Example Inc.")
        expect(card).to_contain_text("ada@example.org")
        person.button("Remove Example Inc.").click()
        expect(page.get_by_role("alert")).to_contain_text("could not sign in any more")
        expect(page.get_by_label("Current password")).to_have_count(0)
        page.get_by_label("New password").fill(NEW)
        person.button("Change the password").click()
        expect(page.get_by_text("as well as with your password")).to_be_visible()
        person.button("Remove Example Inc.").click()
        expect(page.get_by_text("The provider is removed.")).to_be_visible()
        expect(card).to_have_count(0)


def test_an_account_with_the_same_address_is_joined_by_its_user_alone(
    chromium: Browser, app: Flask, world: World, issuer: str
) -> None:
    world.user("eve")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.open("/").page
        leave(person)
        at_provider(person, issuer, "eve")
        expect(page.get_by_role("alert")).to_contain_text("has your e-mail address already")
        person.sign_in("eve")
        person.open("/account")
        expect(page.get_by_role("heading", name="Ways to sign in")).to_be_visible()
        person.button("Join Example Inc.").click()
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(f"{site}/account")
        expect(page.get_by_role("listitem").filter(has_text="Example Inc.")).to_contain_text("eve@example.org")
        forget(person)

        assert person.call("POST", "/api/auth/logout") == 204
        person.open("/")
        leave(person)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_label("Account: eve")).to_be_visible()
        forget(person)


def test_whoever_cancels_at_the_provider_is_told_that_nothing_was_changed(
    chromium: Browser, app: Flask, issuer: str
) -> None:
    with served(app) as site, visitor(chromium, site) as person:
        page = person.open("/").page
        leave(person)
        page.get_by_role("link", name="[ Cancel ]").click()
        expect(page.get_by_role("alert")).to_contain_text("You cancelled signing in.")
        forget(person)


def test_where_no_provider_is_configured_nothing_of_it_is_shown(chromium: Browser, make_app: Any) -> None:
    app = make_app()
    World(app).user("ada")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.open("/").page
        person.link("Sign in").click()
        expect(page.get_by_label("Password")).to_be_visible()
        expect(page.get_by_text("Continue with")).to_have_count(0)
        person.enter("ada").open("/account")
        expect(page.get_by_role("heading", name="Password")).to_be_visible()
        expect(page.get_by_role("heading", name="Ways to sign in")).to_have_count(0)
