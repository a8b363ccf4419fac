"""The pages of members in a browser: all of them works where no script runs, and by the keyboard alone."""

import gzip
import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.factories import PASSWORD
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]
KB = 1024
SCRIPTS = {
    "runs": None,
    "off": None,
    "blocked": lambda route: route.abort(),
    "failing": lambda route: route.fulfill(content_type="text/javascript", body="throw new Error('planted')"),
}


@pytest.fixture
def ada(world):
    return world.user("ada")


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("width", [320, 1280])
def test_a_member_looks_after_the_account_and_the_projects_whether_the_script_runs_or_not(
    chromium, app, world, ada, script, width
):
    lamp = world.project(ada, title="Lamp")
    world.revise(lamp, ada, title="Brighter lamp")
    look = {"viewport": {"width": width, "height": 800}, "java_script_enabled": script != "off"}
    with served(app) as site, visitor(chromium, site, 401, 422, **look) as person:
        page = person.page
        if SCRIPTS[script]:
            page.route("**/*.js", SCRIPTS[script])
        person.open("/account")
        person.sign_in("ada")
        page.get_by_label("E-mail", exact=True).fill("new@example.org")
        page.get_by_label("Current password, for a new address").fill("wrong horse")
        person.button("Save the address").click()
        expect(page.locator("#email-current_password-about")).to_be_in_viewport()
        expect(page.get_by_label("E-mail", exact=True)).to_have_value("new@example.org")
        page.get_by_label("Current password, for a new address").fill(PASSWORD)
        person.button("Save the address").click()
        expect(page.get_by_text("Your e-mail address is saved.")).to_be_in_viewport()
        page.get_by_label("Name", exact=True).fill("laptop")
        person.button("Create a token").click()
        expect(page.locator(".secret")).to_have_text(re.compile("^pds_"))
        person.button("Revoke laptop").click()
        expect(page.get_by_text("The token is revoked.")).to_be_in_viewport()
        person.open("/mine")
        page.get_by_role("link", name="Lamp", exact=True).click()
        page.get_by_text("Withdraw", exact=True).click()
        person.button("Withdraw the changes").click()
        expect(page.get_by_text("Your changes are withdrawn.")).to_be_visible()
        person.open("/mine")
        page.get_by_role("link", name="Lamp", exact=True).click()
        expect(page.get_by_text("Changes withdrawn")).to_be_visible()
        page.get_by_text("Delete", exact=True).click()
        person.button("Delete Lamp").click()
        expect(page.get_by_text("The project is deleted.")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width if script != "off" else True
        person.said[:] = [line for line in person.said if "planted" not in line and "ERR_FAILED" not in line]


def test_by_the_keyboard_alone_one_changes_the_address_and_deletes_a_project(chromium, app, world, ada):
    lamp = world.project(ada, title="Lamp")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/account").page
        tab_to(page, page.get_by_label("E-mail", exact=True))
        page.keyboard.press("Control+a")
        page.keyboard.type("new@example.org")
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_text("Your e-mail address is saved.")).to_be_visible()
        person.open(f"/mine/{lamp}")
        tab_to(page, page.locator(".sure summary"))
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(person.button("Delete Lamp")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_text("The project is deleted.")).to_be_visible()


def tab_to(page, wanted):
    for _ in range(40):
        page.keyboard.press("Tab")
        if wanted.evaluate("(one) => one === document.activeElement"):
            return
    raise AssertionError("no Tab leads there")


def test_back_shows_the_page_and_not_the_answer_to_a_form(chromium, app, ada):
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/mine").open("/account").page
        page.get_by_label("Current password, for a new address").fill(PASSWORD)
        page.get_by_label("E-mail", exact=True).fill("new@example.org")
        person.button("Save the address").click()
        expect(page.get_by_text("Your e-mail address is saved.")).to_be_visible()
        page.go_back()
        expect(page).to_have_url(f"{site}/account")
        expect(page.get_by_label("E-mail", exact=True)).to_have_value("new@example.org")
        expect(page.get_by_text("Your e-mail address is saved.")).to_have_count(0)


def test_a_tab_whose_account_was_changed_says_so_and_changes_nothing(chromium, app, world, ada):
    bob = world.user("bob")
    with served(app) as site, visitor(chromium, site, 409) as person:
        page = person.enter("ada").open("/account").page
        person.enter("bob")
        page.get_by_label("Name", exact=True).fill("laptop")
        person.button("Create a token").click()
        expect(page.get_by_role("heading", name="Another account is signed in")).to_be_visible()
    assert [token["name"] for token in world.caller(bob).get("/api/auth/tokens").json["items"]] == ["test"]


def test_after_an_ended_session_what_was_typed_is_there_again(chromium, app, ada):
    with served(app) as site, visitor(chromium, site, 401) as person:
        page = person.enter("ada").open("/account").page
        page.request.post(f"{site}/api/auth/logout", headers={"Origin": site})
        page.get_by_label("Name", exact=True).fill("laptop of mine")
        person.button("Create a token").click()
        expect(page.get_by_text("Your session has ended.")).to_be_visible()
        person.sign_in("ada")
        expect(page.get_by_label("Name", exact=True)).to_have_value("laptop of mine")
        person.button("Create a token").click()
        expect(page.locator(".secret")).to_have_text(re.compile("^pds_"))


def test_a_token_is_copied_by_a_button(chromium, app, ada):
    with served(app) as site, visitor(chromium, site) as person:
        person.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site)
        page = person.enter("ada").open("/account").page
        page.get_by_label("Name", exact=True).fill("laptop")
        person.button("Create a token").click()
        person.button("Copy").click()
        expect(page.locator(".notice")).to_have_text("Copied.")
        assert page.evaluate("navigator.clipboard.readText()") == page.locator(".secret").inner_text()


@pytest.mark.parametrize("path", ["/account", "/mine"])
def test_the_scripts_of_a_members_page_weigh_at_most_14_kb(chromium, app, ada, path):
    weights = []
    with served(app) as site, visitor(chromium, site) as person:
        person.enter("ada")
        person.page.on(
            "response",
            lambda answer: weights.append(len(gzip.compress(answer.body()))) if answer.url.endswith(".js") else None,
        )
        person.open(path).settle()
    assert weights
    assert sum(weights) <= 14 * KB
