"""A team at the console: who sees which page and which projects, and what one does that the others see."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.reviewing import NOTIFYING, outbox
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
        assert world.reason(live) == "It is gone."
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
        world.change(ada, role_source="corp")
        page.reload()
        expect(role).to_have_text("Reviewer of all categories, by a group of the provider corp")


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


def test_two_people_see_who_has_approved_an_item(chromium, make_app, world, grace, linus):
    lamp = world.project(world.user("ada"), "pending", title="Lamp")
    world.category("games")
    team = make_app(APPROVALS_REQUIRED="2")
    with served(team) as site, visitor(chromium, site) as first, visitor(chromium, site) as second:
        for person, name in ((first, "grace"), (second, "linus")):
            person.page.clock.install()
            person.enter(name).open("/admin/queue")
            expect(rows(person.page)).to_contain_text("Lamp")
        one, two = first.page, second.page
        expect(one.get_by_text("Nothing can be approved in: Games.")).to_be_visible()
        expect(two.get_by_text("Nothing can be approved in")).to_have_count(0)
        one.keyboard.press("a")
        one.clock.fast_forward(5_000)
        expect(one.locator(".q-outcomes li")).to_have_text("Lamp1 of 2 approvals")
        expect(rows(one)).to_contain_text("1 of 2")
        first.button("Take back my approval").click()
        expect(one.get_by_text("0 of 2 approvals")).to_be_visible()
        one.keyboard.press("a")
        one.clock.fast_forward(5_000)
        expect(one.get_by_text("1 of 2 approvals: grace")).to_be_visible()
        two.clock.fast_forward(9_000)
        expect(two.get_by_text("1 of 2 approvals: grace")).to_be_visible()
        assert world.stored(lamp)["status"] == "pending"
        two.keyboard.press("a")
        two.clock.fast_forward(5_000)
        expect(two.locator(".q-outcomes li")).to_have_text("LampApproved")
    assert world.stored(lamp)["status"] == "live"


def test_a_reviewer_asks_for_changes_and_sees_the_answer_and_the_notes_of_others(chromium, app, world, grace, linus):
    ada = world.user("ada")
    lamp, _ = (world.project(ada, "pending", title=title) for title in ("Lamp", "Lantern"))
    with served(app) as site, visitor(chromium, site) as first, visitor(chromium, site) as second:
        for person, name in ((first, "grace"), (second, "linus")):
            person.page.clock.install()
            person.enter(name).open("/admin/queue")
            expect(person.page.get_by_label("Text", exact=True)).to_be_visible()
        one, two = first.page, second.page
        one.get_by_label("What you write").select_option("Note for reviewers")
        one.get_by_label("Text", exact=True).fill("I know the owner.")
        one.keyboard.press("Control+Enter")
        expect(one.locator(".q-messages li.note")).to_contain_text("I know the owner.")
        two.clock.fast_forward(9_000)
        expect(two.locator(".q-messages li.note")).to_contain_text("grace Note")
        second.button("Ask for changes e").click()
        asked = two.get_by_role("dialog").get_by_label("What has to be changed")
        asked.fill("Say how to try it.")
        two.reload()
        expect(two.locator(".q-item h2")).to_have_text("Lamp")
        two.keyboard.press("e")
        expect(asked).to_have_value("Say how to try it.")
        two.get_by_role("dialog").get_by_role("button", name="Ask for changes").click()
        expect(rows(two)).to_have_count(1)
        two.get_by_role("button", name="Undo").click()
        two.keyboard.press("e")
        expect(asked).to_have_value("Say how to try it.")
        two.keyboard.press("Control+Enter")
        two.clock.fast_forward(5_000)
        expect(two.locator(".q-outcomes li")).to_have_text("LampAsked for changes")
        two.get_by_text("Filters", exact=True).click()
        two.get_by_label("Waits for").select_option("The owner")
        expect(rows(two)).to_have_text([re.compile("^Lamp")])
        expect(rows(two).locator(".badge")).to_have_count(0)  # all of this part wait for their owners
        body = {"text": "It is in the description now.", "resubmit": True}
        assert world.caller(ada).post(f"/api/projects/{lamp}/messages", body).status_code == 201
        second.open("/admin/queue")
        expect(rows(two).first).to_contain_text("Answered")
        expect(two.locator(".q-messages .timeline")).to_contain_text("It is in the description now.")
        expect(two.get_by_label("Text", exact=True)).to_have_value("")


def test_the_owner_answers_without_javascript_and_the_second_approval_notifies_once(
    chromium, make_app, world, grace, linus
):
    lamp = world.project(world.user("ada"), "pending", title="Lamp")
    team = make_app(APPROVALS_REQUIRED="2", **NOTIFYING)
    with (
        served(team) as site,
        visitor(chromium, site, 409) as first,
        visitor(chromium, site) as second,
        visitor(chromium, site, java_script_enabled=False) as owner,
    ):
        for person, name in ((first, "grace"), (second, "linus")):
            person.page.clock.install()
            person.enter(name).open("/admin/queue")
            expect(person.page.get_by_label("Text", exact=True)).to_be_visible()
        second.page.keyboard.press("e")
        second.page.get_by_role("dialog").get_by_label("What has to be changed").fill("Say how to try it.")
        second.page.keyboard.press("Control+Enter")
        second.page.clock.fast_forward(5_000)
        expect(second.page.locator(".q-outcomes li")).to_have_text("LampAsked for changes")
        owner.open(f"/mine/{lamp}").sign_in("ada")
        expect(owner.page.locator(".thread")).to_contain_text("Say how to try it.")
        owner.page.get_by_label("Write to the reviewers").fill("It is in the description.")
        owner.page.get_by_label("Ready: review it again").check()
        owner.button("Send").click()
        expect(owner.page.locator(".thread")).to_contain_text("It is in the description.")
        for person, outcome in ((first, "Lamp1 of 2 approvals"), (second, "LampApproved")):
            person.open("/admin/queue")
            expect(person.page.locator(".q-messages .timeline")).to_contain_text("It is in the description.")
            person.page.keyboard.press("a")
            person.page.clock.fast_forward(5_000)
            expect(person.page.locator(".q-outcomes li")).to_have_text(outcome)
    assert world.stored(lamp)["status"] == "live"
    assert [payload["type"] for payload in outbox(team)].count("project.approved") == 1
