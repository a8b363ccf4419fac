"""Submitting and editing a project in a real browser: with JavaScript, without it, and with the script blocked."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.axe import inspector
from tests.support.chromium import served
from tests.support.factories import PASSWORD
from tests.support.pictures import RED
from tests.support.visitor import visitor
from tests.support.web import AXE, require_pages

pytestmark = pytest.mark.usefixtures("pages")
LOGO = {"name": "logo.png", "mimeType": "image/png", "buffer": RED}


def fill(page, **fields):
    labels = {"url": "Website", "repository_url": "Source code"}
    for name, text in fields.items():
        page.get_by_label(labels.get(name, name.capitalize()), exact=True).fill(text)


def submitted(world, user):
    return world.caller(user).get("/api/projects?owner=me").json["items"]


@pytest.mark.parametrize("way", ["off", "blocked"])
def test_without_its_script_a_project_is_submitted_refused_signed_in_for_and_edited(chromium, app, world, way):
    world.category("tools", "Tools")
    ada = world.user("ada")
    with (
        served(app) as site,
        visitor(chromium, site, 0, 401, 404, 409, 422, java_script_enabled=way != "off") as person,
    ):
        if way == "blocked":
            person.page.route("**/assets/*.js", lambda route: route.abort())
        page = person.page
        page.goto(f"{site}/submit")
        person.sign_in("ada")
        page.wait_for_url(f"{site}/submit")
        fill(page, url="vim.org", title="Vim", tagline="Edits text", tags="C++, Überschrift, x_y, a, b, c")
        page.get_by_label("Category", exact=True).select_option("Tools")
        fill(page, description="# Vim\n\nIt *edits*.")
        person.button("Send for review").click()
        expect(page.get_by_label("Tags")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("Tags")).to_be_focused()
        expect(page.get_by_label("Description")).to_have_value("# Vim\n\nIt *edits*.")
        fill(page, tags="C++, Node.js")
        page.context.clear_cookies()
        person.button("Send for review").click()
        expect(page.get_by_text("what you wrote is kept")).to_be_visible()
        page.get_by_label("Username or e-mail").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        person.button("Sign in").click()
        expect(page.get_by_label("Title", exact=True)).to_have_value("Vim")
        page.get_by_label("Logo").set_input_files(LOGO)
        person.button("Send for review").click()
        page.wait_for_url(re.compile("done=submitted"))
        [project] = submitted(world, ada)
        assert (project["url"], project["tags"]) == ("https://vim.org", ["cpp", "nodejs"])
        assert project["logo"] is not None
        page.goto(f"{site}/mine/{project['id']}/edit")
        fill(page, tagline="Edits any text")
        person.button("Save").click()
        page.wait_for_url(re.compile("done="))
    assert world.stored(project["id"])["tagline"] == "Edits any text"


def test_a_draft_survives_a_closed_tab_is_of_its_account_and_gone_once_sent(chromium, app, world):
    world.category("tools", "Tools")
    ada = world.user("ada")
    world.user("bob")
    with served(app) as site, visitor(chromium, site, 404) as person:
        page = person.enter("ada").open("/submit").page
        fill(page, url="vim.org", title="Vim", tagline="Edits text")
        page.get_by_label("Category", exact=True).select_option("Tools")
        expect(page.get_by_label("Website")).to_have_value("https://vim.org")
        expect(page.get_by_text("Your draft is stored in this browser.")).to_be_visible()
        page = person.page = page.context.new_page()
        person.open("/submit")
        expect(page.get_by_label("Title", exact=True)).to_have_value("Vim")
        expect(page.get_by_label("Category", exact=True)).to_have_value("tools")
        person.enter("bob").open("/submit")
        expect(page.get_by_label("Title", exact=True)).to_have_value("")
        person.enter("ada").open("/submit")
        expect(page.locator(".preview h3")).to_have_text("Vim")
        person.button("Send for review").click()
        page.wait_for_url(re.compile("done=submitted"))
        person.open("/submit")
        expect(page.get_by_label("Title", exact=True)).to_have_value("")
        assert page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('draft'))") == []
        [project] = submitted(world, ada)
        person.open(f"/mine/{project['id']}").page.get_by_label("Write to the reviewers").fill("It is maintained.")
        page.context.clear_cookies()
        person.enter("bob").enter("ada").open(f"/mine/{project['id']}")
        expect(page.get_by_label("Write to the reviewers")).to_have_value("It is maintained.")
        person.button("Send").click()
        page.wait_for_url(re.compile("done=answered"))
        expect(page.get_by_text("It is maintained.")).to_be_visible()
        expect(page.get_by_label("Write to the reviewers")).to_have_value("")
        assert page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('draft'))") == []


def test_a_chosen_logo_survives_a_refusal_and_a_sign_in(chromium, app, world):
    world.category("tools", "Tools")
    ada = world.user("ada")
    with served(app) as site, visitor(chromium, site, 401, 404, 409, 422) as person:
        page = person.enter("ada").open("/submit").page
        fill(page, url="https://vim.org", title="Vim", tagline="Edits text", tags="编辑器")
        page.get_by_label("Category", exact=True).select_option("Tools")
        page.get_by_label("Logo").set_input_files({"name": "a.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>"})
        expect(page.get_by_text("Save this one as a PNG.")).to_be_visible()
        page.get_by_label("Logo").set_input_files(LOGO)
        expect(page.get_by_alt_text("The chosen logo")).to_be_visible()
        person.button("Send for review").click()
        expect(page.get_by_label("Tags")).to_be_focused()
        expect(page.get_by_alt_text("The chosen logo")).to_be_visible()
        expect(page.get_by_text("choose the file again")).to_have_count(0)
        fill(page, tags="c++")
        expect(page.get_by_text("Stored as: cpp")).to_be_visible()
        page.context.clear_cookies()
        person.button("Send for review").click()
        page.get_by_label("Username or e-mail").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        person.button("Sign in").click()
        expect(page.get_by_alt_text("The chosen logo")).to_be_visible()
        page.get_by_role("button", name="Send for review").dblclick()
        page.wait_for_url(re.compile("done=submitted"))
    [project] = submitted(world, ada)
    assert project["logo"] is not None


def test_the_preview_shows_the_logo_that_the_project_will_have_and_no_letters_without_a_title(chromium, app, world):
    world.category("tools", "Tools")
    ada = world.user("ada")
    project = world.project(ada, "pending", title="Vim")
    world.caller(ada).call("PUT", f"/api/projects/{project}/logo", data=RED, content_type="image/png")
    with served(app) as site, visitor(chromium, site, viewport={"width": 1280, "height": 860}) as person:
        page = person.enter("ada").open("/submit").page
        letters, logo = page.locator(".preview span.monogram"), page.locator(".preview img.monogram")
        expect(letters).to_be_visible()
        expect(letters).to_have_text("")
        fill(page, title="Blue Lantern")
        expect(letters).to_have_text("BL")
        page.get_by_label("Logo").set_input_files(LOGO)
        expect(logo).to_have_attribute("src", re.compile("^data:image/png"))
        expect(letters).to_be_hidden()
        person.open(f"/mine/{project}/edit")
        stored = page.get_by_alt_text("The present logo").get_attribute("src")
        expect(logo).to_have_attribute("src", re.compile(f"{re.escape(stored)}$"))
        page.get_by_label("Remove the logo").check()
        expect(logo).to_be_hidden()
        expect(letters).to_have_text("VM")
        fill(page, tagline="An editor that is found on almost every machine, and is small enough to stay on it")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")  # a long line is cut in the preview


def test_ones_own_project_is_said_with_its_day_and_a_link_while_one_writes(chromium, app, world):
    ada = world.user("ada")
    own = world.project(ada, "pending", url="https://lantern.example/")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/submit").page
        fill(page, url="lantern.example")
        similar = page.locator("[data-similar]")
        expect(similar).to_contain_text(re.compile(r"You sent this on \w+ \d+, \d{4}: open it\."))
        expect(similar).not_to_contain_text("You can vote for it instead")
        similar.get_by_role("link", name="open it").click()
        page.wait_for_url(f"{site}/mine/{own}")


def test_what_is_here_already_is_shown_while_one_writes_and_the_description_is_previewed(chromium, app, world):
    world.user("ada")
    blue = world.project(title="Blue Lantern", url="https://www.lantern.example/")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/submit").page
        fill(page, url="lantern.example")
        similar = page.locator("[data-similar]")
        expect(similar).to_contain_text("It is here already")
        similar.get_by_role("button", name="Upvote Blue Lantern, 0 votes").click()
        expect(similar.get_by_role("button", name="Upvote Blue Lantern, 1 vote")).to_be_visible()
        fill(page, description="It **lights**.\n\n<script>alert(1)</script>\n\n- ع\n\n```\nع\n```")
        person.button("Preview").click()
        expect(page.locator(".box strong")).to_have_text("lights")
        for block, direction in (("p", "ltr"), ("ul", "rtl"), ("li", "rtl"), ("pre", "ltr")):
            expect(page.locator(f".box {block}").first).to_have_css("direction", direction)
        person.button("Write").click()
        expect(page.get_by_label("Description", exact=True)).to_be_visible()
        fill(page, title="x" * 90)
        expect(page.locator(".field", has=page.get_by_label("Title", exact=True))).to_contain_text("90 / 100")
    assert world.stored(blue)["upvotes"] == 1


@pytest.mark.parametrize("with_script", [True, False])
def test_after_similar_projects_were_shown_enter_checks_again_and_a_button_submits(chromium, app, world, with_script):
    ada = world.user("ada")
    world.project(title="Blue Lantern", url="https://lantern.example")
    with served(app) as site, visitor(chromium, site, 409, java_script_enabled=with_script) as person:
        page = person.page
        page.goto(f"{site}/submit")
        person.sign_in("ada")
        fill(page, url="lantern.example", title="Blue Lantern", tagline="Lights")
        page.get_by_label("Category", exact=True).select_option(index=1)
        if with_script:
            expect(page.locator("[data-similar]")).to_contain_text("It is here already")
        for _ in range(2):
            page.get_by_label("Tagline").press("Enter")
            expect(page.get_by_text("Nothing is sent yet.")).to_be_visible()
            expect(page.locator("article.row.short")).to_have_count(1)
        assert submitted(world, ada) == []
        person.button("It is another project: submit").click()
        page.wait_for_url(re.compile("done=submitted"))
    assert len(submitted(world, ada)) == 1


def test_axe_finds_nothing_and_nothing_scrolls_sideways(chromium, app, world):
    require_pages(AXE)
    ada = world.user("ada")
    world.project(title="Vim", url="https://vim.org")
    project = world.project(ada, title="Lamp", tagline="Live text")
    world.caller(ada).put(f"/api/projects/{project}", {"tagline": "New text", "description": "x" * 200})
    wrong = []
    with served(app) as site, visitor(chromium, site, 409, 422, reduced_motion="reduce") as person:
        page = person.enter("ada").open("/submit").page

        def look(what):
            person.settle()
            violations = inspector(page)
            for width in (320, 390, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                wide = page.evaluate("document.documentElement.scrollWidth")
                if (found := violations()) or wide > width:
                    wrong.append((what, width, wide, found))

        look("new")
        fill(page, url="https://vim.org", title="Vim " + "x" * 60, tagline="Edits", tags="编辑器")
        page.get_by_label("Category", exact=True).select_option(index=1)
        person.button("Send for review").click()
        expect(page.get_by_label("Tags")).to_be_focused()
        look("refused")
        person.open(f"/mine/{project}/edit")
        page.get_by_text("Withdraw the changes").click()
        look("edit")
        person.button("Withdraw them").click()
        expect(page.get_by_text("Your changes are withdrawn.")).to_be_visible()
        look("withdrawn")
        person.button("Take my text back").click()
        expect(page.get_by_label("Tagline")).to_have_value("New text")
    assert wrong == []
