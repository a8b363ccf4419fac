"""A team at the console: who sees which page and which projects, and what one does that the others see."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


@pytest.fixture
def linus(world):
    """Who reviews tools, and does not administer."""
    world.category("tools")
    return world.reviewer("tools", username="linus")


def nav(page):
    return page.get_by_role("navigation", name="Console")


def rows(page):
    return page.locator(".q-rows .q-row")


def test_a_reviewer_has_the_queue_and_the_projects_of_their_categories_alone(chromium, app, world, linus):
    ada = world.user("ada")
    lamp, _ = (world.project(ada, "pending", title=title) for title in ("Lamp", "Lantern"))
    chess = world.project(ada, "pending", title="Chess", category="games")
    live = world.project(ada, title="Torch", votes=1)
    with served(app) as site, visitor(chromium, site, 404) as person:
        person.page.clock.install()
        page = person.enter("linus").open("/").page
        page.get_by_label("Account: linus").click()
        page.get_by_role("link", name="Console").click()
        expect(page.locator("h1")).to_have_text("Review queue")
        expect(nav(page).get_by_role("link")).to_have_text([re.compile("Review queue"), "Projects"])
        expect(nav(page).get_by_label("2 waiting")).to_be_visible()
        expect(rows(page)).to_have_count(2)
        expect(page.locator(".q-item").get_by_role("link", name="ada")).to_have_attribute("href", "/users/ada")
        page.keyboard.press("a")
        page.keyboard.press("r")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.clock.fast_forward(5000)
        for outcome in ("LampApproved", "LanternRejected"):
            expect(page.locator(".q-outcomes li", has_text=outcome[:3])).to_have_text(outcome)
        assert world.stored(lamp)["status"] == "live"
        nav(page).get_by_role("link", name="Projects").click()
        expect(page.locator("table.list tbody tr")).to_have_count(3)
        expect(page.get_by_role("link", name="Lantern", exact=True)).to_have_attribute(
            "href", re.compile("/admin/queue/")
        )
        expect(page.get_by_role("link", name=re.compile("Log|votes"))).to_have_count(0)
        page.get_by_label("Select Torch").check()
        expect(page.locator(".selection button")).to_have_text(["Take down 1", "Clear"])
        page.locator(".selection").get_by_role("button", name="Take down 1").click()
        page.get_by_role("dialog").get_by_label("Reason").fill("It is gone.")
        page.get_by_role("dialog").get_by_role("button", name="Take down 1").click()
        expect(page.get_by_text("1 project taken down.")).to_be_visible()
        assert world.row(live).rejection_reason == "It is gone."
        expect(
            person.open(f"/admin/queue/{chess}").page.get_by_text("This submission is not in the queue")
        ).to_be_visible()
        for path in ("/admin/users", "/admin/audit", f"/admin/projects/{live}"):
            expect(person.open(path).page.get_by_text("This page is for administrators")).to_be_visible()


def test_an_administrator_makes_a_reviewer_of_some_categories_or_of_all(chromium, app, world, grace):
    world.category("games")
    ada, tools = world.user("ada"), world.category("tools")
    with served(app) as site, visitor(chromium, site, 422) as person:
        page = person.enter("grace").open(f"/admin/users/{ada.id}").page
        dialog, role = page.get_by_role("dialog"), page.locator(".about > div", has_text="Role").locator("dd")
        person.button("Change the role…").click()
        expect(dialog.get_by_label("All categories")).to_be_hidden()
        dialog.get_by_label("Role").select_option("Reviewer")
        expect(dialog.get_by_label("Tools")).to_be_hidden()
        dialog.get_by_label("All categories").uncheck()
        dialog.get_by_role("button", name="Change the role", exact=True).click()
        expect(dialog.locator(".review_categories .error")).to_be_visible()
        expect(dialog.get_by_label("All categories")).to_be_focused()
        dialog.get_by_label("Tools").check()
        dialog.get_by_role("button", name="Change the role", exact=True).click()
        expect(role).to_have_text("Reviewer of Tools")
        expect(page.locator(".timeline")).to_contain_text("grace made ada a reviewer.")
        root = world.caller(grace)
        assert root.get(f"/api/admin/users/{ada.id}").json["review_categories"] == [tools]
        person.button("Change the role…").click()
        dialog.get_by_label("All categories").check()
        dialog.get_by_role("button", name="Change the role", exact=True).click()
        expect(role).to_have_text("Reviewer of all categories")
        assert root.get(f"/api/admin/users/{ada.id}").json["review_categories"] is None


def test_the_filters_of_the_queue_are_in_its_address_and_stay_with_each_item(chromium, app, world, grace):
    ada, new = world.user("ada"), world.user("new")
    torch = world.project(ada, title="Torch")
    world.project(ada, "pending", title="Lamp")
    lantern = world.project(new, "pending", title="Lantern")
    world.project(new, "pending", title="Chess", category="games")
    world.caller(ada).put(f"/api/projects/{torch}", {"title": "Torch two"})
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/queue").page
        expect(rows(page)).to_have_count(4)
        expect(page.get_by_text("Select all 4")).to_be_visible()
        page.get_by_text("Filters", exact=True).click()
        page.get_by_label("Kind").select_option("Changes of live projects")
        expect(rows(page)).to_have_text([re.compile("Torch")])
        page.get_by_label("Kind").select_option("All")
        page.get_by_label("First submission").select_option("Yes")
        expect(rows(page)).to_have_text([re.compile("Lantern"), re.compile("Chess")])
        page.get_by_label("Search").fill("chess")
        expect(rows(page)).to_have_text([re.compile("Chess")])
        expect(page).to_have_url(re.compile(r"/admin/queue/\d+\?first_time=true&q=chess$"))
        page.get_by_label("Search").fill("")
        page.get_by_label("Category").select_option("Tools")
        expect(rows(page)).to_have_text([re.compile("Lantern")])
        expect(page).to_have_url(re.compile(f"/admin/queue/{lantern}\\?first_time=true&category=tools$"))
        page.reload()
        expect(rows(page)).to_have_text([re.compile("Lantern")])
        expect(page.get_by_label("Category")).to_have_value("tools")
        expect(nav(page).get_by_label("4 waiting")).to_be_visible()
        page.get_by_label("Owner").fill("ada")
        expect(page.get_by_text("Nothing here matches these filters.")).to_be_visible()
        page.get_by_role("link", name="Show all").click()
        expect(rows(page)).to_have_count(4)
        expect(page.get_by_label("Owner")).to_have_value("")
