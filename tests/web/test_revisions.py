"""Changes of a live project in a real browser: what the owner sends, what visitors see, and what reviewers decide."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = pytest.mark.usefixtures("pages")


@pytest.fixture
def ada(world):
    return world.user("ada")


@pytest.fixture
def lamp(world, ada):
    """A live project of Ada."""
    return world.project(ada, title="Lamp", tagline="A green lamp", description="It glows.")


def at_queue(person):
    page = person.enter("grace").open("/admin/queue").page
    page.clock.install()
    page.reload()
    return page


def test_changes_wait_until_a_reviewer_approves_them_and_visitors_see_them_then(chromium, app, world, grace, ada, lamp):
    with served(app) as site, visitor(chromium, site) as owner, visitor(chromium, site) as guest:
        page = owner.enter("ada").open(f"/mine/{lamp}/edit").page
        expect(page.get_by_text("are shown after a reviewer has approved them")).to_be_visible()
        page.get_by_label("Tagline").fill("A blue lamp")
        owner.button("Save").click()
        page.wait_for_url(re.compile("done=review"))
        owner.open(f"/p/{lamp}/lamp")
        banner = page.locator(".banner.pending")
        expect(banner).to_contain_text("The changes to tagline are waiting for review")
        expect(banner).to_contain_text("number 1 in the queue")
        expect(page.locator(".project .lead")).to_have_text("A green lamp")
        owner.open("/mine")
        expect(page.get_by_text("Changes wait for review, number 1 in the queue")).to_be_visible()
        owner.open(f"/mine/{lamp}/edit")
        expect(page.get_by_label("Tagline")).to_have_value("A blue lamp")
        guest.open(f"/p/{lamp}/lamp")
        expect(guest.page.locator(".project .lead")).to_have_text("A green lamp")
        with visitor(chromium, site) as reviewer:
            console = at_queue(reviewer)
            expect(console.locator(".q-rows .q-row")).to_contain_text(["Live: changes"])
            held = console.locator(".held")
            expect(held.locator("del")).to_contain_text(["green"])
            expect(held.locator("ins")).to_contain_text(["blue"])
            console.keyboard.press("a")
            console.keyboard.press("u")
            expect(console.locator(".q-rows .q-row")).to_have_count(1)
            console.keyboard.press("a")
            console.clock.fast_forward(5000)
            expect(console.locator(".q-outcomes li")).to_have_text(["LampApproved"])
        guest.page.reload()
        expect(guest.page.locator(".project .lead")).to_have_text("A blue lamp")
    assert world.stored(lamp)["tagline"] == "A blue lamp"


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_an_administrator_who_edits_does_not_approve_what_waits(chromium, app, world, grace, ada, lamp):
    world.revise(lamp, ada, title="Casino")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open(f"/mine/{lamp}/edit").page
        expect(page.get_by_text("The changes that wait are in the review queue.")).to_be_visible()
        expect(page.get_by_label("Title")).to_have_value("Lamp")
        page.get_by_label("Tags").fill("green")
        person.button("Save").click()
        page.wait_for_url(re.compile("done=saved"))
    after = world.caller(grace).get(f"/api/projects/{lamp}").json
    assert (after["title"], after["tags"], after["revision"]["changes"]) == ("Lamp", ["green"], {"title": "Casino"})


def test_the_owner_reads_why_changes_were_refused_and_withdraws_others(chromium, app, world, grace, ada, lamp):
    world.revise(lamp, ada, title="Casino")
    admin = world.caller(grace)
    assert admin.put(f"/api/admin/projects/{lamp}/reject", {"reason": "No casinos."}).status_code == 200
    with served(app) as site, visitor(chromium, site) as owner:
        page = owner.enter("ada").open("/mine").page
        expect(page.get_by_text("The last changes were not accepted")).to_be_visible()
        expect(page.get_by_text("No casinos.")).to_be_visible()
        owner.open(f"/p/{lamp}/lamp")
        expect(page.locator(".banner.rejected")).to_contain_text("No casinos.")
        owner.button("Dismiss").click()
        expect(page.locator(".banner")).to_have_count(0)
        world.revise(lamp, ada, title="Better lamp")
        page.reload()
        page.get_by_text("Withdraw", exact=True).click()
        owner.button("Withdraw the changes").click()
        expect(page.locator(".banner.good")).to_contain_text("Your changes are withdrawn.")
        expect(page.locator(".banner")).to_have_count(1)
    assert admin.get(f"/api/projects/{lamp}").json["revision"] is None


def test_of_two_reviewers_of_changes_the_second_sees_who_was_first(chromium, app, world, grace, ada, lamp):
    world.revise(lamp, ada, title="Another lamp")
    linus = world.caller(world.admin("linus"))
    with served(app) as site, visitor(chromium, site) as person:
        page = at_queue(person)
        expect(page.locator(".q-item h2")).to_have_text("Lamp")
        assert linus.put(f"/api/admin/projects/{lamp}/approve").status_code == 200
        page.keyboard.press("a")
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes")).to_contain_text("linus approved it first")


def test_changes_that_grow_while_the_reviewer_looks_are_shown_and_not_decided(chromium, app, world, grace, ada, lamp):
    world.revise(lamp, ada, title="Another lamp")
    with served(app) as site, visitor(chromium, site) as person:
        page = at_queue(person)
        expect(page.locator(".held ins")).to_contain_text(["Another"])
        world.revise(lamp, ada, title="Casino lamp", description="It pays.")
        page.keyboard.press("a")
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes li")).to_have_text([re.compile("Not decided: it changed after you looked")])
        since = page.locator(".since")
        expect(since.locator("del")).to_contain_text(["Another", "glows"])
        expect(since.locator("ins")).to_contain_text(["Casino", "pays"])
        assert world.stored(lamp)["title"] == "Lamp"
        page.keyboard.press("a")
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes")).to_contain_text("Approved")
    assert world.stored(lamp)["title"] == "Casino lamp"
