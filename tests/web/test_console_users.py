"""An administrator suspends and deletes many users in the console, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


def test_all_that_the_filters_find_are_suspended_and_those_selected_deleted(chromium, app, world, grace):
    for name in ("spam-one", "spam-two", "ada"):
        world.user(name)
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/users").page
        expect(page.get_by_role("button", name="Suspend all")).to_have_count(0)
        page = person.open("/admin/users?q=spam-&live=false").page
        person.button("Suspend all 2 accounts found…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading", name="Suspend 2 accounts?")).to_be_visible()
        dialog.get_by_role("button", name="Suspend 2 accounts").click()
        expect(page.get_by_text("2 accounts suspended.")).to_be_visible()
        expect(page.locator("tbody .badge.suspended")).to_have_count(2)
        page.get_by_role("checkbox", name="spam-one").check()
        person.button("Delete 1 account").click()
        dialog.get_by_role("button", name="Delete 1 account").click()
        expect(page.get_by_text("1 account deleted.")).to_be_visible()
    with app.app_context():
        from directory.services.accounts import accounts

        assert accounts.find("spam-one") is None
        assert accounts.find("spam-two").status == "suspended"
        assert accounts.find("ada").status == "active"
