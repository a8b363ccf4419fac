"""A forgotten password and a confirmed address, walked by a person: pages, mail server and database are real."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, expect

from tests.support.chromium import served
from tests.support.factories import World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all
from tests.support.visitor import visitor

NEW = "nine blue paper boats"


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox) -> Flask:
    return make_app(**{**mailbox.settings, "SITE_URL": ""})  # type: ignore[no-any-return]


@pytest.fixture
def link(app: Flask, mailbox: Mailbox) -> Callable[[str], str]:
    """Sends what waits, and returns the path of the link in the one mail, which is to this address."""

    def found(to: str) -> str:
        before = len(mailbox.taken)
        send_all(delivery_thread(app, app.extensions["webhooks"][0], quick()))
        [mail] = mailbox.taken[before:]
        assert mail.to == [to]
        path = re.search(r"http://127\.0\.0\.1:8000(/(?:reset|verify)\?token=\S+)\n", mail.text)
        assert path
        return path[1]

    return found


def test_a_forgotten_password_is_replaced_by_a_link_from_the_mail(
    chromium: Browser, app: Flask, world: World, link: Callable[[str], str]
) -> None:
    world.user("ada")
    with served(app) as site, visitor(chromium, site, 422) as person:
        page = person.open("/").page
        person.link("Sign in").click()
        page.get_by_role("link", name="Forgot your password?").click()
        page.get_by_label("Username or e-mail").fill("ada")
        person.button("Mail a link").click()
        expect(page.get_by_text("a link is on its way")).to_be_visible()

        path = link("ada@example.org")
        page.goto("about:blank")
        person.open(path)
        expect(page.get_by_label("New password")).to_be_visible()
        page.get_by_label("New password").fill("short")
        person.button("Save the password").click()
        expect(page.get_by_label("New password")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("New password").fill(NEW)
        person.button("Save the password").click()
        expect(page.get_by_text("Your password is changed")).to_be_visible()
        page.get_by_role("main").get_by_role("link", name="Sign in").click()
        person.sign_in("ada", NEW)

        page.goto("about:blank")
        person.open(path)
        page.get_by_label("New password").fill(NEW)
        person.button("Save the password").click()
        expect(page.get_by_role("alert")).to_contain_text("has been used")


def test_an_address_is_confirmed_and_changed_by_links_and_mail_is_switched_off(
    chromium: Browser, app: Flask, world: World, link: Callable[[str], str]
) -> None:
    world.user("ada")
    with served(app) as site, visitor(chromium, site, 0, 422) as person:
        page = person.enter("ada").open("/account").page
        expect(page.get_by_text("ada@example.org is not confirmed yet.")).to_be_visible()
        person.button("Mail the link again").click()
        expect(page.get_by_text("The link is on its way.")).to_be_visible()
        person.open(link("ada@example.org"))
        person.button("Confirm the address").click()
        expect(page.get_by_text("Your e-mail address is confirmed.")).to_be_visible()

        person.open("/account")
        expect(page.get_by_text("ada@example.org is confirmed.")).to_be_visible()
        page.get_by_label("E-mail", exact=True).fill("new@example.org")
        page.get_by_label("Current password, for a new address").fill("wrong horse")
        person.button("Save the address").click()
        expect(page.get_by_label("Current password, for a new address")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("Current password, for a new address")).to_be_focused()
        expect(page.get_by_label("E-mail", exact=True)).to_have_value("new@example.org")
        page.get_by_label("Current password, for a new address").fill("correct horse battery")
        person.button("Save the address").click()
        expect(page.get_by_text("A link is on its way to the new address.")).to_be_visible()
        person.open(link("new@example.org"))
        person.button("Confirm the address").click()
        expect(page.get_by_text("Your e-mail address is confirmed.")).to_be_visible()

        person.open("/account")
        expect(page.get_by_text("new@example.org is confirmed.")).to_be_visible()
        page.get_by_label("Mail me decisions about my projects").uncheck()
        person.button("Save this choice").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        page.reload()
        expect(page.get_by_label("Mail me decisions about my projects")).not_to_be_checked()


def test_where_no_mail_is_sent_nothing_of_it_is_shown(chromium: Browser, make_app: Any) -> None:
    app = make_app()
    World(app).user("ada")
    with served(app) as site, visitor(chromium, site, 404) as person:
        page = person.open("/").page
        person.link("Sign in").click()
        expect(page.get_by_label("Password")).to_be_visible()
        expect(page.get_by_text("Forgot your password?")).to_have_count(0)
        person.open("/forgot")
        expect(page.get_by_label("Username or e-mail")).to_have_count(0)
        person.enter("ada").open("/account")
        expect(page.get_by_role("heading", name="Password")).to_be_visible()
        expect(page.get_by_role("heading", name="Mail")).to_have_count(0)
