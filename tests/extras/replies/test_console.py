"""Saved replies in the console: administrators write them, and reviewers choose one for a decision."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor
from tests.web.test_review_team import nav, rows

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


def test_administrators_write_the_saved_replies_and_reviewers_choose_them(chromium, app, world, grace):
    ada, eve = world.user("ada"), world.user("eve")
    ids = [world.project(owner, "pending", title=title) for owner, title in ((ada, "Lamp"), (eve, "{owner} <b>"))]
    live = world.project(ada, title="Torch")
    with served(app) as site, visitor(chromium, site, 409) as person:
        person.page.clock.install()
        page = person.enter("grace").open("/admin/replies").page
        rows_of_table, dialog = page.locator("table.list tbody tr"), page.get_by_role("dialog")
        expect(rows_of_table).to_have_count(8)  # they come with the service
        for decision, text in (
            ("Ask for changes", "Dear {owner}, {title} at {site} needs more."),
            ("Take down", "Gone: {title}"),
        ):
            person.button("New reply").click()
            dialog.get_by_label("Name").fill("Advertisement" if decision == "Take down" else "More")
            dialog.get_by_label("Decision").select_option(decision)
            dialog.get_by_label("Text").fill(text)
            dialog.get_by_role("button", name="Save").click()
            if decision == "Take down":
                expect(dialog.get_by_text("This name is taken.")).to_be_visible()
                dialog.get_by_label("Name").fill("Link")
                dialog.get_by_role("button", name="Save").click()
            expect(dialog).to_have_count(0)
        page.get_by_role("button", name="Change Link").click()
        dialog.get_by_label("Name").fill("Dead link")
        dialog.get_by_role("button", name="Save").click()
        expect(rows_of_table.filter(has_text="Dead link")).to_have_text(re.compile("Take downGone: {title}"))
        page.get_by_role("button", name="Delete Advertisement").click()
        dialog.get_by_role("button", name="Delete").click()
        expect(rows_of_table).to_have_count(9)

        nav(page).get_by_role("link", name="Review queue").click()
        expect(rows(page)).to_have_count(2)
        page.keyboard.press("e")
        choices = dialog.locator("label", has=page.get_by_role("radio"))
        expect(choices).to_have_text(["1A longer description", "2A picture", "3Another address", "4More"])
        page.keyboard.press("4")
        expect(dialog.get_by_label("What has to be changed")).to_have_value(
            "Dear ada, Lamp at Project Directory needs more."
        )
        page.keyboard.press("Escape")
        page.locator(".q-rows a").first.focus()
        for key in ("x", "j", "x", "e"):
            page.keyboard.press(key)
        for key in ("4", "Enter"):
            page.keyboard.press(key)
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes li")).to_have_count(2)
        expect(page.locator(".q-outcomes li.bad")).to_have_count(0)

        page = person.open("/admin/projects").page
        page.get_by_role("button", name="Take down Torch").click()
        dialog.get_by_label("Saved replies").select_option("Dead link")
        dialog.get_by_role("button", name="Take down").click()
        expect(page.get_by_text("Torch is taken down")).to_be_visible()
    asked = [
        world.caller(owner).get(f"/api/projects/{each}/messages") for owner, each in ((ada, ids[0]), (eve, ids[1]))
    ]
    assert [each.json["items"][0]["text"] for each in asked] == [
        "Dear ada, Lamp at Project Directory needs more.",
        "Dear eve, {owner} <b> at Project Directory needs more.",
    ]
    assert world.reason(live) == "Gone: Torch"
