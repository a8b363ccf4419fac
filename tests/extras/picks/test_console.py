"""Picks in the console: `p` asks why the live project that is shown is picked."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


def test_p_picks_the_live_project_that_is_shown_with_words(chromium, app, world, api):
    world.admin("grace")
    lamp, jar = world.project(title="Lamp"), world.project(status="pending", title="Jar")
    with served(app) as site, visitor(chromium, site) as grace:
        page = grace.page
        grace.enter("grace").open(f"/admin/queue/{jar}")
        expect(page.locator(".q-item")).to_contain_text("Jar")
        page.keyboard.press("p")
        expect(page.locator("dialog[open]")).to_have_count(0)
        grace.open(f"/admin/queue/{lamp}")
        expect(page.locator(".q-item")).to_contain_text("Lamp")
        page.keyboard.press("p")
        page.get_by_label("Why it is picked").fill("It shines.")
        page.get_by_label("Why it is picked").press("Enter")
        expect(page.locator(".q-item")).to_contain_text("It shines.")
        assert api.get(f"/api/projects/{lamp}").json["picked"]["words"] == "It shines."
        page.keyboard.press("p")
        expect(page.get_by_label("Why it is picked")).to_have_value("It shines.")
        page.get_by_label("Why it is picked").fill("")
        page.get_by_label("Why it is picked").press("Enter")
        expect(page.locator(".q-item")).not_to_contain_text("It shines.")
        assert api.get(f"/api/projects/{lamp}").json["picked"] is None
        page.keyboard.press("?")
        expect(page.get_by_text("Pick the live project that is shown")).to_be_visible()
