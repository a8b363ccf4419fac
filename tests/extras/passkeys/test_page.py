"""Passkeys in a real browser, with its virtual authenticator: added in the account, used on the page that signs in."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, expect

from tests.support.chromium import served
from tests.support.factories import World
from tests.support.visitor import Visitor, visitor

pytestmark = pytest.mark.usefixtures("pages")


@contextmanager
def person(chromium: Browser, site: str, *refused: int) -> Iterator[Visitor]:
    """A person whose device has a passkey, at a host that has a name: addresses of numbers have no passkeys."""
    with visitor(chromium, site.replace("127.0.0.1", "localhost"), *refused) as one:
        devtools = one.page.context.new_cdp_session(one.page)
        devtools.send("WebAuthn.enable")
        device = {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True,
        }  # fmt: skip
        devtools.send("WebAuthn.addVirtualAuthenticator", {"options": device})
        yield one


def add(one: Visitor, name: str = "") -> None:
    page = one.open("/account").page
    page.get_by_label("Name of the passkey", exact=True).fill(name)
    one.button("Add a passkey").click()
    expect(page.get_by_text("The passkey is added.")).to_be_visible()


def sign_out(one: Visitor) -> None:
    one.page.request.post(f"{one.site}/api/auth/logout", headers={"Origin": one.site})


def test_a_member_adds_names_uses_and_removes_a_passkey(chromium: Browser, app: Flask, world: World) -> None:
    world.user("ada")
    with served(app) as site, person(chromium, site) as one:
        add(one.enter("ada"), "Laptop")
        field = one.page.get_by_label("Name of the passkey Laptop")
        field.fill("Old laptop")
        field.press("Enter")
        expect(one.page.get_by_text("The passkey has another name.")).to_be_visible()
        sign_out(one)
        one.open("/sign-in?next=/account")
        one.button("Sign in with a passkey").click()
        expect(one.page.get_by_label("Name of the passkey Old laptop")).to_be_visible()
        one.button("Remove Old laptop").click()
        expect(one.page.get_by_text("The passkey is removed.")).to_be_visible()


def test_an_administrator_gets_into_the_console_by_a_passkey(chromium: Browser, make_app: Any) -> None:
    app = make_app(REQUIRE_PASSKEY="admins")
    World(app).admin("root")
    with served(app) as site, person(chromium, site) as one:
        page = one.enter("root").open("/admin").page
        expect(page.get_by_role("heading", name="Sign in with a passkey")).to_be_visible()
        one.link("Add a passkey").click()
        expect(page.get_by_text("Administrators sign in by a passkey here.")).to_be_visible()
        add(one)
        one.open("/admin")
        one.button("Sign in with a passkey").click()
        expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()


def test_a_person_who_cancels_is_told_so_and_can_try_again(chromium: Browser, app: Flask, world: World) -> None:
    with served(app) as site, person(chromium, site) as one:
        one.page.add_init_script(
            "navigator.credentials.get = () => Promise.reject(new DOMException('', 'NotAllowedError'))"
        )
        one.open("/sign-in")
        one.button("Sign in with a passkey").click()
        expect(one.page.get_by_text("No passkey was used.")).to_be_visible()
        expect(one.button("Sign in with a passkey")).to_be_enabled()


def test_the_button_is_hidden_where_the_address_has_no_passkeys(chromium: Browser, app: Flask) -> None:
    with served(app) as site, visitor(chromium, site) as one:
        one.open("/sign-in").settle()
        expect(one.button("Sign in with a passkey")).to_be_hidden()


WITHOUT_CONVERSION = """
  delete PublicKeyCredential.parseCreationOptionsFromJSON;
  delete PublicKeyCredential.parseRequestOptionsFromJSON;
"""
WITHOUT_JSON = "delete PublicKeyCredential.prototype.toJSON;"
THROWING_JSON = "PublicKeyCredential.prototype.toJSON = () => { throw new TypeError('Illegal invocation'); };"
# As password managers replace it: an object with the members of a credential, on which the methods throw.
REPLACED = """
  for (const name of ['create', 'get']) {
    const own = navigator.credentials[name].bind(navigator.credentials);
    navigator.credentials[name] = async (options) => {
      const { id, rawId, type, response } = await own(options);
      const copy = {};
      for (const member of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'])
        if (response[member] !== undefined) copy[member] = response[member];
      return Object.setPrototypeOf({}, { __proto__: PublicKeyCredential.prototype, id, rawId, type, response: copy });
    };
  }
"""


@pytest.mark.parametrize("script", [WITHOUT_CONVERSION, WITHOUT_JSON, THROWING_JSON, REPLACED + WITHOUT_CONVERSION])
def test_passkeys_need_neither_the_conversions_of_new_browsers_nor_those_of_a_credential(
    chromium: Browser, make_app: Any, script: str
) -> None:
    app = make_app(REQUIRE_PASSKEY="admins")
    World(app).admin("root")
    with served(app) as site, person(chromium, site) as one:
        one.page.add_init_script(script)
        add(one.enter("root"), "First")  # in the pages of members
        one.open("/admin")  # in the console
        one.button("Sign in with a passkey").click()
        expect(one.page.get_by_role("heading", name="Dashboard")).to_be_visible()
        one.open("/account")
        one.button("Add a passkey").click()  # the options exclude the one that the device has
        expect(one.page.get_by_text("This device has a passkey for your account already.")).to_be_visible()
        sign_out(one)
        one.open("/sign-in?next=/account")  # on the page that signs in
        one.button("Sign in with a passkey").click()
        expect(one.page.get_by_label("Name of the passkey First")).to_be_visible()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("Promise.resolve(null)", "made no passkey that can be used"),
        ("Promise.resolve({ rawId: new ArrayBuffer(4), response: {} })", "a member of it is missing"),
        ("Promise.reject(new TypeError('Illegal invocation'))", "Illegal invocation"),
        ("Promise.reject(new DOMException('The relying party is wrong.', 'SecurityError'))", "party is wrong."),
        ("Promise.reject(new DOMException('', 'InvalidStateError'))", "has a passkey for your account already."),
    ],
)
def test_each_page_says_why_no_passkey_came(chromium: Browser, make_app: Any, answer: str, says: str) -> None:
    app = make_app(REQUIRE_PASSKEY="admins")
    World(app).admin("root")
    with served(app) as site, person(chromium, site) as one:
        one.page.add_init_script(f"navigator.credentials.get = navigator.credentials.create = () => {answer}")
        one.open("/sign-in")
        one.button("Sign in with a passkey").click()
        expect(one.page.get_by_text(says)).to_be_visible()
        expect(one.button("Sign in with a passkey")).to_be_enabled()
        one.enter("root").open("/account")
        one.button("Add a passkey").click()
        expect(one.page.get_by_text(says)).to_be_visible()
        one.open("/admin")
        one.button("Sign in with a passkey").click()
        expect(one.page.get_by_text(says)).to_be_visible()


def test_an_address_of_numbers_points_to_localhost_only_where_passkeys_work_there(
    chromium: Browser, make_app: Any
) -> None:
    for settings, is_local in (({}, True), ({"SITE_URL": "https://directory.example"}, False)):
        with served(make_app(**settings)) as site, visitor(chromium, site) as one:
            page = one.open("/sign-in").page
            page.wait_for_load_state("networkidle")
            expect(page.get_by_text("Passkeys work at")).to_have_count(int(is_local))
