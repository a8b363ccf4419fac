"""Stories of people at the pages, in a real browser, on both databases."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import User
from directory.services.catalog import fields
from tests.support.chromium import served
from tests.support.factories import PASSWORD
from tests.support.pictures import RED
from tests.support.visitor import visitor

pytestmark = pytest.mark.usefixtures("pages")


def fill(page, **fields):
    for label, text in fields.items():
        page.get_by_label(label.replace("_", " ").capitalize(), exact=True).fill(text)


def test_a_newcomer_submits_a_reviewer_decides_and_a_third_finds_it(chromium, app, world):
    world.category("tools", "Tools")
    world.user("third")
    admin = world.caller(world.admin())
    with served(app) as site, visitor(chromium, site, 404, 422) as ada, visitor(chromium, site, 401) as third:
        page = ada.open("/submit").page
        page.get_by_role("link", name="Create an account").click()
        page.get_by_label("Username").fill("ada")
        page.get_by_label("E-mail").fill("ada@example.org")
        page.get_by_label("Password").fill("short")
        ada.button("Create the account").click()
        expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("E-mail")).to_have_value("ada@example.org")
        page.get_by_label("Password").fill(PASSWORD)
        ada.button("Create the account").click()
        fill(page, website="https://lantern.example", title="Lanternfish", tagline="Charts in the terminal")
        page.get_by_label("Category", exact=True).select_option("Tools")
        page.get_by_label("Logo").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": RED})
        expect(page.get_by_alt_text("The chosen logo")).to_have_attribute("src", re.compile("^data:image/png;"))
        ada.button("Send for review").click()
        page.wait_for_url(re.compile("done=submitted"))
        project_id = int(re.search(r"/(\d+)", page.url.removeprefix(site))[1])
        page.goto(f"{site}/p/{project_id}/lanternfish")
        expect(page.locator(".banner.pending")).to_contain_text("number 1 in the queue")

        assert admin.put(f"/api/admin/projects/{project_id}/reject", {"reason": "Say more."}).status_code == 200
        page.reload()
        expect(page.locator(".banner.rejected")).to_contain_text("Say more.")
        page.get_by_role("link", name="Edit and send again").click()
        page.get_by_label("Description").fill("Draws **bars** from any file.")
        ada.button("Save and send again").click()
        page.wait_for_url(re.compile("done=review"))
        assert admin.put(f"/api/admin/projects/{project_id}/approve").status_code == 200

        page = third.open("/").page
        page.get_by_role("button", name=re.compile("^Upvote Lanternfish")).click()
        third.sign_in("third")
        expect(page.get_by_text("Your vote for Lanternfish is counted.")).to_be_visible()
        third.link("Go back").click()
        expect(page.get_by_role("button", name="Upvote Lanternfish, 1 vote")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("link", name="Lanternfish").click()
        expect(page.locator(".prose strong")).to_have_text("bars")
        page.get_by_role("button", name="Voted 1").click()
        expect(page.get_by_role("button", name="Upvote 0")).to_be_visible()
    assert world.stored(project_id)["upvotes"] == 0


def test_the_address_holds_the_filters_and_back_restores_them(chromium, app, world):
    for number in range(25):
        world.project(title=f"Lantern {number}", category="tools" if number % 2 else "games", tags=["light"])
    with served(app) as site, visitor(chromium, site) as ada:
        page = ada.open("/").page
        rows = page.locator("article.row")
        expect(rows).to_have_count(20)
        more = ada.link("Show more")
        more.focus()
        page.keyboard.press("Enter")
        expect(rows).to_have_count(25)
        expect(more).to_have_count(0)
        expect(rows.nth(20).get_by_role("link").first).to_be_focused()
        assert page.url == f"{site}/?page=2"
        page.get_by_role("link", name="Lantern 3", exact=True).click()
        expect(page.get_by_role("heading", name="Lantern 3", exact=True)).to_be_visible()
        page.go_back()
        expect(page.get_by_role("link", name="Lantern 3", exact=True)).to_be_visible()
        page.get_by_role("navigation", name="Categories").get_by_role("link", name=re.compile("games", re.I)).click()
        expect(page.get_by_text("13 projects")).to_be_visible()
        page.get_by_role("link", name="Top", exact=True).click()
        assert page.url == f"{site}/categories/games?sort=upvotes"
        expect(rows).to_have_count(13)
        page.get_by_label("Search projects").fill("lantern 7")
        expect(page.get_by_text("Nothing found")).to_be_visible()
        page.get_by_role("link", name="Show all projects").click()
        assert page.url == f"{site}/"
        page.go_back()
        page.go_back()
        expect(rows).to_have_count(13)
        with visitor(chromium, site) as bob:
            bob.open("/categories/games?sort=upvotes")
            expect(bob.page.locator("article.row")).to_have_count(13)
            expect(bob.page.get_by_role("link", name="Top", exact=True)).to_have_attribute("aria-current", "true")


def test_what_is_here_already_is_said_before_it_is_sent(chromium, app, world):
    ada = world.user("ada")
    blue = world.project(title="Blue Lantern", url="https://www.lantern.example/")
    assert world.caller(ada).put(f"/api/projects/{blue}/upvote").status_code == 200
    world.project(owner=ada, title="Red Lamp", url="https://lamp.example", status="rejected")
    with served(app) as site, visitor(chromium, site, 409) as person:
        page = person.enter("ada").open("/submit").page
        fill(page, website="http://lantern.example")
        expect(page.locator(".similar")).to_contain_text("It is here already")
        expect(page.locator(".similar")).to_contain_text("Blue Lantern")
        voted = page.get_by_role("button", name="Upvote Blue Lantern, 1 vote")
        expect(voted).to_have_attribute("aria-pressed", "true")
        fill(page, website="https://lamp.example/", title="Blue Lantern Two", tagline="Another")
        expect(page.locator(".similar")).to_contain_text("Red Lamp")
        page.get_by_label("Category", exact=True).select_option(index=1)
        page.reload()  # the draft is there again
        expect(page.get_by_label("Title", exact=True)).to_have_value("Blue Lantern Two")
        person.button("Send for review").click()
        expect(page.get_by_label("Website")).to_be_focused()
        expect(page.get_by_label("Website")).to_have_attribute("aria-invalid", "true")
        page.locator("form").get_by_role("link", name="open it").click()
        expect(page.get_by_role("heading", name="Red Lamp")).to_be_visible()


def test_of_two_who_edit_the_second_sees_that_it_was_changed(chromium, app, world):
    ada = world.user("ada")
    project_id = world.project(owner=ada, status="pending", title="Before")
    with served(app) as site, visitor(chromium, site, 412) as person:
        page = person.enter("ada").open(f"/mine/{project_id}/edit").page
        page.get_by_label("Title", exact=True).fill("Mine")
        world.caller(ada).put(f"/api/projects/{project_id}", {"tagline": "Saved elsewhere"})
        person.button("Save").click()
        expect(page.get_by_role("alert")).to_contain_text("was changed meanwhile")
        refusal = page.locator(".both")
        expect(refusal).to_be_focused()
        header = page.locator("header.top").bounding_box()
        assert refusal.bounding_box()["y"] >= header["y"] + header["height"]
        person.button("Use the saved tagline").click()
        expect(page.get_by_label("Tagline")).to_have_value("Saved elsewhere")
        person.button("Save").click()
        page.wait_for_url(re.compile("done="))
    assert world.stored(project_id)["title"] == "Mine"


def test_a_page_of_an_account_that_was_signed_out_in_another_tab_sends_nothing(chromium, app, world):
    world.user("ada")
    bea = world.user("bea")
    world.category("tools", "Tools")
    with served(app) as site, visitor(chromium, site, 409) as person:
        page = person.enter("ada").open("/submit").page
        fill(page, website="lantern.example", title="Lanternfish", tagline="Charts in the terminal")
        page.get_by_label("Category", exact=True).select_option("Tools")
        person.enter("bea")
        person.button("Send for review").click()
        expect(page.locator(".banner.bad")).to_be_focused()
        expect(page.get_by_role("alert")).to_contain_text("the page was made for another account")
        expect(page.get_by_label("Tagline")).to_have_value("Charts in the terminal")
    assert world.caller(bea).get("/api/projects?owner=me").json["items"] == []


def test_the_form_has_a_place_for_each_field_that_its_owner_writes(chromium, app, world):
    world.user("ada")
    world.category("tools", "Tools")
    with served(app) as site, visitor(chromium, site) as person:
        form = person.enter("ada").open("/submit").page.locator("form[data-project]")
        # A logo is uploaded, and pictures are added to a project that is there.
        for name in {field.name for field in fields.OWNED} - {"logo_url", "pictures", "fields"}:
            expect(form.locator(f"[name={name}]")).to_be_visible()


def test_a_directory_without_categories_says_that_nothing_can_be_submitted(chromium, app, world):
    world.user("ada")
    world.admin("root")
    with served(app) as site, visitor(chromium, site) as member, visitor(chromium, site) as admin:
        member.enter("ada").open("/submit")
        expect(member.page.get_by_text("Nothing can be submitted yet")).to_be_visible()
        expect(member.button("Send for review")).to_have_count(0)
        admin.enter("root").open("/admin")
        admin.page.get_by_role("link", name="Add a category").click()
        expect(admin.page.get_by_role("heading", name="Categories", exact=True)).to_be_visible()


def test_what_a_member_voted_for_leads_to_no_page_of_a_suspended_owner(chromium, app, world):
    ada, owner = world.user("ada"), world.user("gone")
    project_id = world.project(owner=owner, title="Lanternfish")
    assert world.caller(ada).put(f"/api/projects/{project_id}/upvote").status_code == 200
    admin = world.caller(world.admin())
    assert admin.put(f"/api/admin/users/{owner.id}", {"status": "suspended"}).status_code == 200
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/mine?upvoted=1").page
        expect(page.get_by_role("link", name="Lanternfish")).to_be_visible()
        expect(page.locator(".row .meta")).to_contain_text("gone")
        expect(page.locator("a[href='/users/gone']")).to_have_count(0)


def test_a_username_that_a_provider_gave_is_chosen_once(chromium, app, world):
    ada = world.user("ada-2")
    world.user("taken")
    with app.app_context():
        may = update(User).where(User.id == ada.id).values(may_rename=True)
        transaction(lambda: db.session.execute(may))
    with served(app) as site, visitor(chromium, site, 409, 422) as person:
        page = person.enter("ada-2").open("/account").page
        name = page.get_by_label("Username", exact=True)
        name.fill("taken")
        person.button("Choose this username").click()
        expect(name).to_be_focused()
        expect(name).to_have_attribute("aria-invalid", "true")
        name.fill("ada")
        person.button("Choose this username").click()
        expect(page.locator(".card").first.get_by_role("link", name="ada", exact=True)).to_be_visible()
        expect(name).to_have_count(0)


def test_an_account_is_looked_after(chromium, app, world):
    world.user("ada")
    with served(app) as site, visitor(chromium, site) as other, visitor(chromium, site, 422, 401) as person:
        other.enter("ada")
        page = person.enter("ada").open("/account").page
        page.get_by_label("E-mail").fill("new@example.org")
        page.get_by_label("Current password, for a new address").fill(PASSWORD)
        person.button("Save the address").click()
        expect(page.get_by_text("Your e-mail address is saved.")).to_be_visible()
        page.get_by_label("Name", exact=True).fill("laptop")
        person.button("Create a token").press("Enter")
        expect(page.locator(".secret")).to_have_text(re.compile("^pds_"))
        page.get_by_role("button", name="Revoke laptop").click()
        expect(page.get_by_text("You have no tokens.")).to_be_visible()
        expect(page.locator(".secret")).to_have_count(0)
        person.button("Sign out all others").click()
        expect(page.get_by_text("You are signed in nowhere else.")).to_be_visible()
        assert other.call("GET", "/api/auth/me") == 401
        page.get_by_label("Current password", exact=True).fill("wrong horse")
        page.get_by_label("New password").fill("another fine password")
        person.button("Change the password").click()
        expect(page.get_by_label("Current password", exact=True)).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Current password", exact=True).fill(PASSWORD)
        page.get_by_label("New password").fill("another fine password")
        person.button("Change the password").click()
        expect(page.get_by_text("Your password is changed.")).to_be_visible()
        page.get_by_label("Account: ada").click()
        person.button("Sign out").click()
        expect(person.link("Sign in")).to_be_visible()
        assert page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})") == "{}"


def test_a_password_change_may_revoke_the_tokens(chromium, app, world):
    ada = world.user("ada")
    token = world.caller(ada)
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/account").page
        expect(page.get_by_role("button", name="Revoke test")).to_be_visible()
        page.get_by_label("Current password", exact=True).fill(PASSWORD)
        page.get_by_label("New password").fill("another fine password")
        page.get_by_label("Also revoke all access tokens").check()
        person.button("Change the password").click()
        expect(page.get_by_text("and your tokens are revoked.")).to_be_visible()
        expect(page.get_by_text("You have no tokens.")).to_be_visible()
    assert token.get("/api/auth/me").status_code == 401


def test_a_member_takes_the_data_along_and_leaves(chromium, app, world):
    ada = world.user("ada")
    live = world.project(owner=ada, title="Lamp")
    world.project(owner=ada, status="pending", title="Grey lamp")
    with served(app) as site, visitor(chromium, site, 422) as person:
        page = person.enter("ada").open("/account").page
        with page.expect_download() as download:
            page.get_by_role("link", name="Export my data").click()
        assert download.value.suggested_filename == "project-directory-ada.json"
        exported = json.loads(Path(download.value.path()).read_text())
        assert {project["title"] for project in exported["projects"]} == {"Lamp", "Grey lamp"}
        page.get_by_label("Your password").fill(PASSWORD)
        person.button("Delete my account").click()
        expect(page.get_by_text("Please confirm this.")).to_be_visible()
        page.get_by_label("Delete the account ada for good").check()
        page.get_by_label("Your password").fill("wrong horse")
        person.button("Delete my account").click()
        expect(page.get_by_label("Your password")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Your password").fill(PASSWORD)
        person.button("Delete my account").click()
        expect(page.get_by_role("heading", name="Your account is deleted")).to_be_visible()
        expect(page).to_have_url(f"{site}/account/deleted")
        assert page.context.cookies() == []
        page.goto(f"{site}/p/{live}/lamp")
        expect(page.get_by_text(f"deleted-{ada.id}")).to_be_visible()
        expect(page.get_by_role("link", name=f"deleted-{ada.id}")).to_have_count(0)


def test_what_is_ones_own_with_its_state_and_history(chromium, app, world):
    ada = world.user("ada")
    world.project(owner=ada, status="rejected", title="Red Lamp")
    world.project(owner=ada, status="pending", title="Grey Lamp")
    liked = world.project(title="Loved", votes=1)
    world.vote(liked, ada)
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/mine").page
        expect(page.locator("article.row")).to_have_count(2)
        expect(page.locator("article", has_text="Grey Lamp")).to_contain_text("Number 1 in the queue")
        rejected = page.locator("article", has_text="Red Lamp")
        expect(rejected).to_contain_text("Not yet.")
        rejected.get_by_role("link", name="State and history of Red Lamp").click()
        expect(page.locator(".thread li")).to_have_count(2)
        page.get_by_role("main").get_by_role("link", name="Your projects").click()
        page.get_by_role("link", name="Voted for").click()
        expect(page.get_by_role("button", name="Upvote Loved, 2 votes")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("link", name="Live").click()
        expect(page.get_by_text("None of your projects is live")).to_be_visible()
        page.goto(f"{site}/users/ada")
        expect(page.get_by_text("No live projects yet")).to_be_visible()


def test_a_vote_pressed_in_a_session_that_has_ended_is_counted_after_signing_in_again(chromium, app, world):
    world.user("ada")
    project = world.project(title="Lamp")
    with served(app) as site, visitor(chromium, site, 401) as person:
        page = person.enter("ada").open("/").page
        page.request.post(f"{site}/api/auth/logout", headers={"Origin": site})
        page.locator("[data-vote]").first.click()
        page.get_by_label("Username or e-mail").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", name="Counted")).to_be_visible()
        assert world.stored(project)["upvotes"] == 1
        person.link("Go back").click()
        expect(page.locator("[data-vote]").first).to_have_attribute("aria-pressed", "true")
