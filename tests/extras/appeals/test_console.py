"""An appeal in the console: another person than who decided settles it."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.factories import Api
from tests.support.visitor import visitor
from tests.web.test_review_team import nav, rows

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


def test_an_appeal_is_reversed_by_another_person(chromium, make_app, world):
    world.reviewer(world.category("tools"), username="linus")
    ada, grace, app = world.user("ada"), world.admin("grace"), make_app(APPEALS="on")
    lamp = world.project(ada, "pending", title="Lamp")
    world.caller(grace).put(f"/api/admin/projects/{lamp}/reject", {"reason": "A dead link."})
    assert (
        Api(app, world.caller(ada).token).post(f"/api/projects/{lamp}/appeal", {"text": "It works."}).status_code == 201
    )
    with served(app) as site, visitor(chromium, site, 403) as first, visitor(chromium, site) as second:
        one, two = first.page, second.page
        for person, name in ((first, "grace"), (second, "linus")):
            person.enter(name).open("/admin/queue?waiting_for=appeal")
            expect(rows(person.page)).to_have_text([re.compile("^Lamp.*Answered")])
            expect(person.page.locator(".q-messages .timeline")).to_contain_text("It works.")
        first.button("Uphold the decision").click()
        one.get_by_label("Reason").fill("No.")
        one.locator("dialog").get_by_role("button", name="Uphold the decision").click()
        expect(one.get_by_role("alert")).to_contain_text("The appeal is against a decision of yours")
        second.button("Reverse the decision").click()
        two.locator("dialog").get_by_label("Reason").fill("We had overlooked it.")
        two.locator("dialog").get_by_role("button", name="Reverse the decision").click()
        expect(two.get_by_text("The decision about Lamp is reversed.")).to_be_visible()
        expect(rows(two)).to_have_count(0)
        expect(nav(two).get_by_label("1 waiting")).to_be_visible()
    assert world.stored(lamp)["status"] == "pending"
