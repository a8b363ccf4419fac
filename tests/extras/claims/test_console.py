"""A claim in the console: who looks at an item, and what the others of a team see of that."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor
from tests.web.test_review_team import rows

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


def test_two_people_see_who_looks_at_an_item(chromium, make_app, world, grace):
    world.reviewer(world.category("tools"), username="linus")
    lamp = world.project(owner := world.user("ada"), "pending", title="Lamp")
    asked = world.project(owner, "pending", title="Lantern")
    world.caller(grace).put(f"/api/admin/projects/{asked}/request-changes", {"message": "Why?"})
    team = make_app(APPROVALS_REQUIRED="2")
    with served(team) as site, visitor(chromium, site, 409) as first, visitor(chromium, site) as second:
        for person, name in ((first, "grace"), (second, "linus")):
            person.page.clock.install()
            person.enter(name).open("/admin/queue")
            expect(person.button("Claim c")).to_be_visible()
        one, two = first.page, second.page
        two.keyboard.press("c")
        expect(second.button("Release c")).to_be_visible()
        one.keyboard.press("c")  # before its list is read again
        dialog = one.get_by_role("dialog")
        expect(dialog.get_by_role("heading")).to_have_text("Take over from linus?")
        expect(one.get_by_text("linus looks at this.")).to_be_visible()
        dialog.get_by_role("button", name="Take over").click()
        expect(first.button("Release c")).to_be_visible()
        two.clock.fast_forward(9_000)
        expect(two.get_by_text("grace looks at this.")).to_be_visible()
        expect(rows(two)).to_contain_text("grace looks at it")
        two.get_by_text("Filters", exact=True).click()
        two.get_by_label("Claimed").select_option("By nobody")
        expect(rows(two)).to_have_count(0)
        two.get_by_label("Claimed").select_option("By others")
        expect(rows(two)).to_have_count(1)
        one.keyboard.press("?")
        expect(one.get_by_text("Claim it, so that the others see who looks at it, or release it")).to_be_visible()
        one.keyboard.press("Escape")
        expect(one.locator("dialog")).to_have_count(0)  # while it has the focus, no key of the queue does anything
        one.keyboard.press("a")  # which ends the claim
        expect(one.locator(".q-bar [role=status]")).to_have_text("Your approval of Lamp (1 of 2).")
        one.clock.fast_forward(5_000)
        first.button("Take back my approval").click()
        expect(first.button("Claim c")).to_be_visible()
        one.goto(f"{site}/admin/queue/{asked}")
        expect(one.locator("#q-title")).to_have_text("Lantern")
        expect(first.button("Claim c")).to_have_count(0)
    assert world.stored(lamp)["status"] == "pending"


def test_without_claims_the_queue_has_no_button_filter_or_key_of_them(chromium, make_app, world, grace):
    world.project(title="Lamp", status="pending")
    with served(make_app(EXTRAS="-claims")) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/queue").page
        expect(page.locator("#q-title")).to_have_text("Lamp")
        page.keyboard.press("c")
        page.get_by_text("Filters", exact=True).click()
        expect(page.get_by_label("Kind")).to_be_visible()
        expect(page.get_by_label("Claimed")).to_have_count(0)
        expect(page.get_by_role("button", name="Claim")).to_have_count(0)
