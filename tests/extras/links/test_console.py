"""Links in a real browser: in the console, and in the form of a submission."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from directory.extras.links import hosts
from tests.extras.links.test_preview import PAGE, html
from tests.support.axe import inspector
from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


def test_beside_an_item_stands_what_was_seen_and_a_press_takes_a_moved_address_over(chromium, directory, site):
    world, ada = directory.world, directory.world.user("ada")
    world.admin("grace")
    moved = world.project(ada, "pending", title="Lamp", url=site.url("/permanent"), repository_url=site.url("/2"))
    dead = world.project(ada, title="Jar", url=site.url("/404"))
    for project in (moved, dead, dead, dead):
        directory.look_again(project)
    with served(directory.app) as address, visitor(chromium, address) as grace:
        page = grace.page
        grace.enter("grace").open(f"/admin/queue/{moved}")
        links = page.get_by_role("region", name="Links")
        expect(links).to_contain_text(f"Moved (200) to {site.url('/new')}")
        expect(links).to_contain_text("Answers (200)")
        assert inspector(page)() == []
        grace.button("Look again").click()
        expect(page.get_by_text("It is looked at within a minute.")).to_be_visible()
        assert directory.look() == 1
        grace.button("Use the new address").click()
        expect(links).to_contain_text("Not looked at yet")
        assert world.row(moved).url == site.url("/new")
        page.get_by_role("link", name="Dead links").click()
        expect(page.get_by_role("row")).to_have_count(2)
        expect(page.get_by_role("row").last).to_contain_text("Jar Dead link")
        page.get_by_label("Select all").check()
        grace.button("Take down 1").click()
        page.get_by_role("dialog").get_by_label("Reason").fill("Its website is gone.")
        page.get_by_role("dialog").get_by_role("button", name="Take down 1").click()
        expect(page.get_by_text("1 project taken down.")).to_be_visible()
        assert world.row(dead).status == "pending"


def test_the_form_is_filled_in_and_what_is_typed_stays(chromium, directory, site, monkeypatch):
    monkeypatch.setattr(hosts, "BETWEEN", timedelta(0))
    site.pages["/lamp"] = html(PAGE)
    directory.world.category("tools", "Tools")
    directory.world.user("ada")
    with served(directory.app) as address, visitor(chromium, address, 422) as ada:
        page = ada.page
        ada.enter("ada").open("/submit")
        page.get_by_label("Website", exact=True).fill(site.url("/lamp"))
        page.get_by_label("Tagline").fill("Mine")
        ada.button("Fill in from the website").click()
        expect(page.get_by_text("Filled in. Look at each field.")).to_be_visible()
        assert inspector(page)() == []
        expect(page.get_by_label("Title", exact=True)).to_have_value("Lamp & Desk | the site")
        expect(page.get_by_label("Tagline")).to_have_value("Mine")
        expect(page.get_by_label("Source code")).to_have_value("https://github.com/ada/lamp")
        page.get_by_label("Website", exact=True).fill(site.url("/404"))
        ada.button("Fill in from the website").click()
        expect(page.get_by_text("This address could not be read.")).to_be_visible(timeout=15_000)
        expect(page.get_by_label("Tagline")).to_have_value("Mine")
