"""The reports in the console: how reviewers settle them, and what the reporters see of it."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.factories import Api
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


@pytest.fixture
def linus(world):
    """Who reviews tools, and does not administer."""
    world.category("tools")
    return world.reviewer("tools", username="linus")


def nav(page):
    return page.get_by_role("navigation", name="Console")


def test_reports_are_settled_with_a_reply_or_by_taking_the_project_down(chromium, make_app, world, grace, linus):
    ada, app = world.user("ada"), make_app(REPORTS="members")
    by_ada = Api(app, world.caller(ada).token)
    lamp, torch = (world.project(title=title) for title in ("Lamp", "Torch"))
    for project, kind in ((lamp, "broken_link"), (torch, "spam")):
        body = {"kind": kind, "text": "Look at it."}
        assert by_ada.post(f"/api/projects/{project}/reports", body).status_code == 202
    with served(app) as site, visitor(chromium, site) as person, visitor(chromium, site) as reporter:
        page = person.enter("linus").open("/admin/queue").page
        nav(page).get_by_role("link", name="Reports").click()
        expect(nav(page).get_by_label("2 waiting")).to_be_visible()
        listed, dialog = page.locator("table.list tbody tr"), page.get_by_role("dialog")
        expect(listed).to_have_count(2)
        expect(listed.first).to_contain_text("Broken link: 1")
        expect(listed.first).to_contain_text("Look at it.")
        expect(listed.get_by_role("link", name="ada", exact=True)).to_have_count(0)
        person.button("Settle as unfounded: Lamp").click()
        dialog.get_by_label("Reply").fill("It answers again.")
        dialog.get_by_role("button", name="Settle as unfounded").click()
        expect(listed).to_have_count(1)
        person.button("Take down: Torch").click()
        dialog.get_by_label("Reason").fill("Advertising.")
        dialog.get_by_role("button", name="Take down").click()
        expect(page.get_by_text("No open reports")).to_be_visible()
        expect(nav(page).get_by_role("link", name="Reports").locator(".count")).to_have_count(0)
        page.get_by_label("State").select_option("Settled")
        expect(listed).to_have_count(2)
        expect(listed.filter(has_text="Lamp")).to_contain_text("Unfounded: It answers again.")
        expect(listed.filter(has_text="Torch")).to_contain_text("Acted on")
        own = reporter.enter("ada").open("/mine?reports=1").page.locator("article")
        expect(own.filter(has_text="Lamp")).to_contain_text("It answers again.")
        expect(own.filter(has_text="Torch")).to_contain_text("Acted on")
        expect(reporter.page.locator("main")).not_to_contain_text("linus")
    assert world.stored(torch)["status"] != "live"
