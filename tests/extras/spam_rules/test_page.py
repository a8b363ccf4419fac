"""The rules in the console: from the first line of one to the undoing of what it did."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]
LINKS = "Look at https://one.example and at https://two.example for more."


def submit(api, title):
    body = {"title": title, "tagline": "Draws", "category": "tools", "url": f"https://{title}.example".lower()}
    answer = api.post("/api/projects", {**body, "description": LINKS})
    assert answer.status_code == 201
    return answer.json["id"]


def fill_in(page, state, effect="Hold"):
    page.get_by_label("Then").select_option(effect)
    page.get_by_label("State").select_option(state)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The rule Full of links is saved.").first).to_be_visible()


def test_a_rule_is_tried_on_the_past_counts_holds_and_is_undone(chromium, app, world, grace):
    world.category("tools")
    ada = world.caller(world.user("ada"))
    world.approve(submit(ada, "Lamp"), grace, required=1)
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/rules").page
        person.link("New rule").click()
        page.get_by_label("Name").fill("Full of links")
        page.get_by_label("Fact 1").select_option("Links in the description")
        page.get_by_label("Comparison 1").select_option("is at least")
        page.get_by_label("Value 1").fill("2")
        person.button("Show what it would have done").click()
        expect(page.get_by_text("It would have matched 1 of 1.")).to_be_visible()
        approved = page.get_by_role("row", name=re.compile("^Approved"))
        approved.get_by_text("1 example").click()
        expect(approved.get_by_role("link", name="Lamp")).to_have_attribute("href", re.compile("^/p/"))
        fill_in(page, "Only counts")
        submit(ada, "Torch")
        page = person.open("/admin/rules").page
        rule = page.get_by_role("row", name=re.compile("^Full of links"))
        expect(rule).to_contain_text("Only counts")
        expect(rule).to_contain_text("1 match")
        person.link("Change Full of links").click()
        fill_in(page, "On")
        lantern = submit(ada, "Lantern")
        titles = person.open("/admin/queue").page.locator(".q-rows .q-row")
        expect(titles).to_have_count(1)
        person.link("Held1").click()
        expect(titles).to_have_count(1)
        expect(titles).to_contain_text("Lantern")
        expect(page.get_by_text("Full of links").first).to_be_visible()
        page = person.open("/admin/rules").page
        person.button("Undo… Full of links").click()
        page.get_by_role("dialog").get_by_role("button", name="Put it back into the queue").click()
        expect(page.get_by_text("1 submission put back into the queue.").first).to_be_visible()
        assert world.stored(lantern)["status"] == "pending"
        expect(person.open("/admin/queue").page.locator(".q-rows .q-row")).to_have_count(2)
