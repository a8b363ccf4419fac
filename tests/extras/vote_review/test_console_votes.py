"""The votes for a project in the console: a vote ring is found, discounted, and counted again."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, User, now
from tests.support.axe import inspector
from tests.support.chromium import served
from tests.support.visitor import visitor
from tests.support.web import AXE, require_pages

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]


@pytest.fixture
def ring(app, world):
    """A project that three accounts of its owner's push, who vote for that owner alone, and two honest votes."""
    owner = world.user("olga")
    pushed, second = world.project(owner, title="Pushed"), world.project(owner, title="Second")
    other = world.project(title="Other")
    for n in range(3):
        sock = world.user(f"sock-{n}")
        world.vote(second, sock)
        world.vote(pushed, sock)
    for n in range(2):
        fan = world.user(f"fan-{n}")
        world.vote(other, fan)
        world.vote(pushed, fan)
    long_ago = {"created_at": now() - timedelta(days=90), "email_verified_at": now()}
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(long_ago)))
    return pushed


def rows(page):
    return page.locator("table.list tbody tr")


def figure(page, name):
    return page.locator(".figures > div", has=page.get_by_text(name, exact=True)).locator("dd").first


def test_a_vote_ring_is_found_discounted_and_counted_again(chromium, app, world, grace, ring):
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/projects").page
        page.get_by_role("link", name="5 votes for Pushed: who voted").click()
        expect(page.locator("h1")).to_have_text("Votes for Pushed")
        expect(rows(page)).to_have_count(5)
        expect(rows(page).filter(has_text="Votes only for this owner")).to_have_count(3)
        expect(figure(page, "Votes only for this owner")).to_have_text("3")
        # By the rule, with a reason.
        person.button("Discount all: Votes only for this owner").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("Three accounts of one hour.")
        dialog.get_by_role("button", name="Discount", exact=True).click()
        expect(rows(page).filter(has_text="Discounted")).to_have_count(3)
        expect(figure(page, "Count")).to_have_text("2")
        expect(figure(page, "Discounted")).to_have_text("3")
        assert world.stored(ring)["upvotes"] == 2
        page.get_by_label("Votes", exact=True).select_option("true")
        expect(rows(page)).to_have_count(2)
        page.go_back()
        expect(rows(page)).to_have_count(5)
        # Undone.
        last = page.get_by_role("group", name="Last decision about votes")
        expect(last).to_contain_text("3 votes discounted.")
        last.get_by_role("button", name="Undo").click()
        expect(rows(page).filter(has_text="Discounted")).to_have_count(0)
        expect(last).to_have_count(0)
        assert world.stored(ring)["upvotes"] == 5
        # By name, and counted again by name.
        for name in ("sock-0", "sock-1"):
            page.get_by_label(f"Select {name}").check()
        person.button("Discount 2").click()
        dialog.get_by_role("button", name="Discount", exact=True).click()
        expect(rows(page).filter(has_text="Discounted")).to_have_count(2)
        page.get_by_label("Select sock-0").check()
        page.get_by_label("Select fan-0").check()
        expect(person.button("Discount 1")).to_be_visible()
        person.button("Count 1 again").click()
        dialog.get_by_role("button", name="Count again", exact=True).click()
        expect(rows(page).filter(has_text="Discounted")).to_have_count(1)
        assert world.stored(ring)["upvotes"] == 4
        person.open("/admin/audit")
        expect(page.locator("main")).to_contain_text("grace discounted 3 votes of Pushed.")
        expect(page.locator("main")).to_contain_text("Three accounts of one hour.")
        expect(page.locator("main")).to_contain_text("grace counted 1 vote of Pushed again.")
    with app.app_context():
        of_votes = select(AuditEntry.votes).where(AuditEntry.votes.is_not(None)).order_by(AuditEntry.id)
        changed = db.session.scalars(of_votes).all()
    assert [each["number"] for each in changed] == [3, 3, 2, 1]


def test_a_suspended_voter_is_shown_as_such_and_the_dialog_says_how_many_votes_go(chromium, app, world, grace, ring):
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open(f"/admin/projects/{ring}").page
        page.get_by_role("link", name="sock-1").click()
        person.button("Suspend…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("2 votes of the user do not count until then.")
        dialog.get_by_role("button", name="Suspend", exact=True).click()
        expect(page.locator(".about .badge")).to_have_text("Suspended")
        page.go_back()
        expect(rows(page).filter(has_text="Voter suspended")).to_have_count(1)
        expect(figure(page, "Of suspended users")).to_have_text("1")
        assert world.stored(ring)["upvotes"] == 4


def test_a_project_that_is_not_there_and_one_without_votes_are_said(chromium, app, world, grace):
    empty = world.project(title="Empty")
    with served(app) as site, visitor(chromium, site, 404) as person:
        page = person.enter("grace").open("/admin/projects/999").page
        expect(page.get_by_text("No such project")).to_be_visible()
        person.open(f"/admin/projects/{empty}")
        expect(page.get_by_text("No votes yet")).to_be_visible()


@pytest.mark.parametrize("look", [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(chromium, app, world, grace, ring, look):
    scheme, width = look
    require_pages(AXE)
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    with served(app) as site, visitor(chromium, site, **options) as person:
        page = person.enter("grace").open(f"/admin/projects/{ring}").page
        expect(rows(page)).to_have_count(5)
        page.get_by_label("Select sock-0").check()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert inspector(page)() == []


def test_the_dashboard_names_the_projects_with_more_doubtful_votes_than_all_have(chromium, app, world, grace):
    lantern, other, known = world.project(title="Lantern", votes=3), world.project(), world.user()
    world.change(known, created_at=now() - timedelta(days=9))
    world.vote(other, known)
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin").page
        # Three voters registered in this test, so each vote of theirs has the sign of a new account.
        doubtful = page.locator("section", has_text="Doubtful recent votes")
        expect(doubtful.locator("tbody tr td")).to_have_text(["3"])
        expect(doubtful.get_by_role("link", name="Lantern")).to_have_attribute("href", f"/admin/projects/{lantern}")


def test_the_console_does_without_where_the_extra_is_off(chromium, make_app, world, grace):
    project = world.project(title="Lantern", votes=1)
    with served(make_app(EXTRAS="-vote_review")) as site, visitor(chromium, site, 404) as person:
        page = person.enter("grace").open("/admin/projects").page
        expect(rows(page)).to_have_count(1)
        expect(page.get_by_role("link", name="who voted")).to_have_count(0)
        page.goto(f"{site}/admin/projects/{project}")
        expect(page.locator("h1")).to_have_text("Page not found")
        page.goto(f"{site}/admin")
        expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
