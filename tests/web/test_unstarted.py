"""The pages that are programs, where their script is blocked or fails: they say so, and lead on."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]
SHELLS = ["/admin", "/admin/queue"]
SAID = "This page needs JavaScript, and its script has not started."
BLOCKED = lambda route: route.abort()  # noqa: E731
FAILING = lambda route: route.fulfill(content_type="text/javascript", body="throw new Error('planted')")  # noqa: E731


@pytest.mark.parametrize("answer", [BLOCKED, FAILING], ids=["blocked", "failing"])
def test_a_page_whose_script_does_not_start_says_so_and_has_a_link(chromium, app, answer):
    with served(app) as site:
        context = chromium.new_context()
        context.route("**/*.js", answer)
        page = context.new_page()
        for path in SHELLS:
            page.goto(f"{site}{path}")
            expect(page.get_by_text(SAID)).to_be_visible()
            expect(page.get_by_role("link", name="load the page again")).to_be_visible()
            expect(page.locator("main").get_by_role("link", name="search the directory")).to_be_visible()
        page.goto(f"{site}/api/docs")
        expect(page.get_by_text(SAID)).to_be_visible()
        expect(page.get_by_role("link", name="openapi.json")).to_be_visible()
        context.close()


def test_a_script_that_starts_removes_what_says_that_it_has_not(chromium, app, world):
    world.admin("ada")
    with served(app) as site, visitor(chromium, site) as person:
        person.enter("ada")
        for path in SHELLS:
            page = person.open(path).page
            person.settle()
            expect(page.get_by_text(SAID)).to_have_count(0)
            expect(page.locator(".unstarted")).to_have_count(0)
        page.goto(f"{site}/api/docs")
        expect(page.get_by_text("Submissions").first).to_be_attached()
        expect(page.get_by_text(SAID)).to_have_count(0)


def test_a_page_at_a_number_of_this_machine_leads_to_localhost_for_passkeys(chromium, make_app, world):
    world.user("ada")
    with served(make_app(APP_ENV="development")) as site, visitor(chromium, site) as person:
        there = site.replace("127.0.0.1", "localhost")
        page = person.open("/sign-in?next=/mine").page
        expect(page.get_by_role("link", name=there.partition("//")[2])).to_have_attribute(
            "href", f"{there}/sign-in?next=/mine"
        )
        expect(page.get_by_role("button", name="Sign in with a passkey")).not_to_be_visible()
        person.enter("ada")
        page = person.open("/account").page
        link = page.get_by_role("link", name=there.partition("//")[2])
        expect(link).to_have_attribute("href", f"{there}/account")
        link.click()
        page.wait_for_url(f"{there}/**")
        page.goto(f"{there}/sign-in")
        expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_visible()
        person.elsewhere.clear()
