"""The tables and the dashboard of the console, in a real browser, on both databases."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from directory.events import DELIVERED
from tests.support.chromium import served
from tests.support.outbox import delivery_thread, put, quick, send_all
from tests.support.receiver import SECRET, Receiver, status
from tests.support.visitor import visitor

pytestmark = pytest.mark.usefixtures("pages")


def rows(page):
    return page.locator("table.list tbody tr")


def export(page):
    """The rows of the file that the page gives."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        return download.value.suggested_filename, list(csv.DictReader(io.StringIO(file.read())))


def test_the_address_holds_the_filters_of_a_table_and_back_restores_them(chromium, app, world, grace):
    ada = world.user("ada")
    for number in range(55):
        state = "live" if number % 5 else "pending"
        world.project(owner=ada, title=f"Lantern {number}", status=state, votes=int(number == 7))
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/projects").page
        expect(rows(page)).to_have_count(50)
        expect(page.get_by_text("50 of 55 shown")).to_be_visible()
        page.get_by_role("link", name="Next page").press("Enter")
        expect(rows(page)).to_have_count(5)
        expect(page.locator("#main")).to_be_focused()
        page.get_by_label("State", exact=True).select_option("Pending")
        expect(rows(page)).to_have_count(11)
        assert page.url == f"{site}/admin/projects?status=pending"
        search = page.get_by_label("Search", exact=True)
        search.press_sequentially("lantern 10")
        expect(rows(page)).to_have_count(1)
        expect(search).to_have_value("lantern 10")
        page.get_by_role("link", name="Clear", exact=True).click()
        expect(rows(page)).to_have_count(50)
        page.get_by_role("link", name="Votes", exact=True).click()
        expect(rows(page).first).to_contain_text("Lantern 7")
        expect(page.get_by_role("columnheader", name="Votes")).to_have_attribute("aria-sort", "descending")
        for count, text in ((50, ""), (1, "lantern 10"), (11, ""), (5, ""), (50, "")):
            page.go_back()
            expect(rows(page)).to_have_count(count)
            expect(search).to_have_value(text)
        page.get_by_label("Owner", exact=True).fill("nobody-here")
        expect(page.get_by_text("Nothing here matches these filters.")).to_be_visible()
        page.get_by_label("Owner", exact=True).fill("Ada")  # as a phone's keyboard begins
        expect(rows(page)).to_have_count(50)
        page.get_by_label("Owner", exact=True).fill("nobody-here")
        page.get_by_role("link", name="Show all").click()
        expect(rows(page)).to_have_count(50)


def test_a_project_is_taken_down_with_a_reason_unless_it_was_changed_meanwhile(chromium, app, world, grace):
    ada = world.user("ada")
    project_id = world.project(owner=ada, title="Lantern")
    with served(app) as site, visitor(chromium, site, 412) as person:
        page = person.enter("grace").open("/admin/projects").page
        expect(rows(page)).to_have_count(1)
        assert world.caller(ada).put(f"/api/projects/{project_id}", {"tagline": "Other"}).status_code == 200
        page.get_by_role("button", name="Take down Lantern").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("The link is dead.")
        with page.expect_response(re.compile(r"/api/review/projects\?")):  # for the version that is there now
            dialog.get_by_role("button", name="Take down", exact=True).click()
        expect(dialog.get_by_role("alert")).to_be_focused()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Take down Lantern").click()
        dialog.get_by_label("Reason").fill("The link is dead.")
        dialog.get_by_role("button", name="Take down", exact=True).click()
        expect(page.get_by_text("Lantern is taken down.")).to_be_visible()
        expect(rows(page).get_by_text("Taken down", exact=True)).to_be_visible()
        page.get_by_role("link", name="Log: Lantern").click()
        expect(rows(page).first).to_contain_text("grace took Lantern down.")
        expect(rows(page).first).to_contain_text("The link is dead.")
        expect(rows(page).nth(1)).to_contain_text("ada changed Lantern, which waits for review.")
        expect(rows(page).nth(1).locator("del")).to_contain_text("A thing that does things")
        expect(rows(page).nth(1).locator("ins")).to_contain_text("Other")
    assert world.stored(project_id)["status"] == "pending"


def test_projects_are_decided_in_bulk_each_in_the_version_that_is_shown(chromium, app, world, grace):
    ada = world.user("ada")
    states = ("pending", "pending", "pending", "live", "live")
    ids = [world.project(owner=ada, title=f"Lamp {n}", status=state) for n, state in enumerate(states)]
    owner, linus = world.caller(ada), world.caller(world.admin("linus"))
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/projects").page
        expect(rows(page)).to_have_count(5)
        page.get_by_label("Select all").check()
        expect(page.get_by_role("group", name="Selection")).to_contain_text("5 selected")
        names = ["Approve 3", "Reject 3", "Take down 2", "Delete 5", "Clear"]
        expect(page.get_by_role("group", name="Selection").get_by_role("button")).to_have_text(names)
        assert owner.put(f"/api/projects/{ids[1]}", {"tagline": "Other"}).status_code == 200
        assert linus.put(f"/api/admin/projects/{ids[2]}/reject").status_code == 200
        person.button("Approve 3").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Approve 3").click()
        expect(page.get_by_text("1 project approved.")).to_be_visible()
        changed = "Not done: it changed after the table was read, and is"
        outcomes = ["Lamp 2{} rejected now", "Lamp 1{} pending now", "Lamp 0Approved"]
        expect(page.locator(".q-outcomes li")).to_have_text([each.format(changed) for each in outcomes])
        expect(page.get_by_role("group", name="Selection")).to_have_count(0)
        page.get_by_label("Select Lamp 3").check()
        page.get_by_label("Select Lamp 4").check()
        person.button("Take down 2").click()
        dialog.get_by_label("Reason").fill("The links are dead.")
        dialog.get_by_role("button", name="Take down 2").click()
        expect(page.get_by_text("2 projects taken down.")).to_be_visible()
        expect(page.locator(".q-outcomes li")).to_have_count(0)
        page.get_by_label("Select Lamp 4").check()
        person.button("Delete 1").click()
        expect(dialog.get_by_label("Reason")).to_be_focused()
        dialog.get_by_role("button", name="Delete 1").click()
        expect(rows(page)).to_have_count(4)
    assert [world.stored(each)["status"] for each in ids[:4]] == ["live", "pending", "rejected", "pending"]
    assert world.reason(ids[3]) == "The links are dead."
    assert world.row(ids[4]) is None


def test_a_user_is_suspended_taken_down_signed_out_and_restored(chromium, app, world, grace):
    mallory = world.user("mallory")
    world.user("ada")
    states = ("live", "live", "pending", "rejected")
    projects = [world.project(owner=mallory, title=f"Spam {state}", status=state) for state in states]
    with served(app) as site, visitor(chromium, site, 401, 409) as person, visitor(chromium, site) as other:
        other.enter("mallory")
        page = person.enter("grace").open("/admin/users").page
        page.get_by_label("Search", exact=True).fill("mall")
        expect(rows(page)).to_have_count(1)
        page.get_by_role("link", name="mallory").click()
        expect(page.get_by_role("heading", name="mallory")).to_be_visible()
        person.button("Sign out everywhere…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Sign out", exact=True).click()
        expect(page.get_by_text("mallory is signed out everywhere.")).to_be_visible()
        assert other.call("GET", "/api/auth/me") == 401
        person.button("Suspend…").click()
        dialog.get_by_label("Also take down 2 live projects and reject 1 pending project").check()
        dialog.get_by_label("Reason").fill("Advertising.")
        dialog.get_by_role("button", name="Suspend", exact=True).click()
        done = "mallory is suspended. 2 live projects taken down; 3 projects rejected in all."
        expect(page.get_by_text(done)).to_be_visible()
        expect(page.locator(".about .badge")).to_have_text("Suspended")
        expect(page.locator(".timeline")).to_contain_text("grace suspended mallory.")
        expect(page.locator(".timeline")).to_contain_text("grace signed mallory out everywhere.")
        assert [world.stored(each)["status"] for each in projects] == ["rejected"] * 4
        person.button("Restore…").click()
        dialog.get_by_role("button", name="Restore", exact=True).click()
        expect(page.get_by_text("mallory can sign in again.")).to_be_visible()
        for role in ("administrator", "member"):
            person.button("Change the role…").click()
            dialog.get_by_label("Role").select_option(role.title())
            dialog.get_by_role("button", name="Change the role", exact=True).click()
            expect(page.get_by_text(f"mallory has the role {role} now.")).to_be_visible()
        # The last administrator stays one; the dialog says why.
        person.open(f"/admin/users/{grace.id}")
        person.button("Change the role…").click()
        dialog.get_by_label("Role").select_option("Member")
        dialog.get_by_role("button", name="Change the role", exact=True).click()
        expect(dialog.get_by_role("alert")).to_be_visible()


def test_a_category_is_added_changed_and_deleted_unless_it_is_used(chromium, app, world, grace):
    world.project(title="Lantern", category="tools")
    with served(app) as site, visitor(chromium, site, 409, 422) as person:
        page = person.enter("grace").open("/admin/categories").page
        person.button("Add a category").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill("Board games")
        dialog.get_by_label("Slug").fill("Board Games")
        dialog.get_by_role("button", name="Add", exact=True).click()
        expect(dialog.get_by_label("Slug")).to_be_focused()
        expect(dialog.get_by_label("Slug")).to_have_attribute("aria-invalid", "true")
        dialog.get_by_label("Slug").fill("board-games")
        dialog.get_by_role("button", name="Add", exact=True).click()
        expect(rows(page)).to_have_count(2)
        person.button("Change Board games").click()
        dialog.get_by_label("Description").fill("With dice.")
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(rows(page).filter(has_text="With dice.")).to_have_count(1)
        page.get_by_role("link", name="Live", exact=True).click()
        expect(rows(page).first).to_contain_text("Tools")
        person.button("Delete Tools").click()
        dialog.get_by_role("button", name="Delete", exact=True).click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        page.keyboard.press("Escape")
        person.button("Delete Board games").click()
        dialog.get_by_role("button", name="Delete", exact=True).click()
        expect(rows(page)).to_have_count(1)


def test_a_delivery_is_looked_at_and_sent_again_and_an_endpoint_tested(chromium, make_app, world, grace):
    with Receiver(status(500, b"<b>broken</b>")) as receiver:
        settings = [{"name": "chat", "url": receiver.url, "secret": SECRET}]
        app = make_app(WEBHOOK_ENDPOINTS=json.dumps(settings))
        [chat] = app.extensions["webhooks"]
        with app.app_context():
            [first] = put(chat)
        send_all(delivery_thread(app, chat, quick(delays=())))
        receiver.script = status(200)
        with served(app) as site, visitor(chromium, site) as person:
            page = person.enter("grace").open("/admin/deliveries?state=dead").page
            expect(rows(page)).to_have_count(1)
            expect(rows(page)).to_contain_text("HTTP 500")
            person.button(f"Details of delivery {first}").click()
            details = page.locator(".details")
            expect(details).to_contain_text("<b>broken</b>")
            expect(details).to_contain_text('"title": "Grüße & <b>bold</b>"')
            person.button(f"Send again: delivery {first}").click()
            expect(page.get_by_text(f"Delivery {first} is sent again.")).to_be_visible()
            expect(page.get_by_text("Nothing here matches these filters.")).to_be_visible()
            send_all(delivery_thread(app, chat, quick()))
            page.get_by_label("State", exact=True).select_option("Delivered")
            expect(rows(page)).to_contain_text("HTTP 200")
            page.get_by_role("link", name="Clear", exact=True).click()
            person.button("Send a test to chat").click()
            expect(rows(page)).to_have_count(2)
            expect(rows(page).first).to_contain_text("Test")
            send_all(delivery_thread(app, chat, quick()))
            person.button("Refresh").click()
            expect(page.locator(".endpoints")).to_contain_text("0 pending, 2 delivered, 0 given up")
            expect(rows(page).first).to_contain_text("Delivered")
            event = page.get_by_label("Event", exact=True)
            offered = event.locator("option").evaluate_all("all => all.map(({ value, text }) => [value, text])")
            assert [value for value, _ in offered if value] == list(DELIVERED)
            assert [text for _, text in offered if "." in text] == [], "each has a name"
            event.select_option("Notice of a new address")
            expect(page.get_by_text("Nothing here matches these filters.")).to_be_visible()
            assert page.url.endswith("event=account.email_changed")
        first_id, again_id, test_id = (one.id for one in receiver.received)
        assert first_id == again_id != test_id


def test_what_is_shown_is_exported_and_a_formula_is_text(chromium, app, world, grace):
    world.project(title="=1+1", url="https://example.org/formula")
    world.project(title="Lantern", status="pending")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/projects?status=live").page
        expect(rows(page)).to_have_count(1)
        name, found = export(page)
        assert re.fullmatch(r"projects-\d{4}-\d\d-\d\d\.csv", name)
        assert [(each["Title"], each["State"], each["Votes"]) for each in found] == [("'=1+1", "Live", "0")]
        assert found[0]["Website"] == "https://example.org/formula"
        person.open("/admin/audit?action=project.approved")
        expect(rows(page)).to_have_count(1)
        name, found = export(page)
        assert re.fullmatch(r"log-\d{4}-\d\d-\d\d\.csv", name)
        assert [(each["action"], each["project"]) for each in found] == [("project.approved", "'=1+1")]
        assert page.evaluate("Object.keys(localStorage).length") == 0


def test_the_log_is_searched_by_text_name_and_day_and_exported_whole(chromium, app, world, grace):
    ada = world.user("ada")
    for number in range(60):
        world.project(owner=ada, title=f"Lantern {number}", status="pending")
    world.project(title="Other", status="pending")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/audit").page
        expect(rows(page)).to_have_count(50)
        assert page.get_by_label("Project number").count() == 0
        page.get_by_label("Search", exact=True).fill("LANTERN 7")
        expect(rows(page)).to_have_count(1)
        page.get_by_label("Search", exact=True).fill("")
        page.get_by_label("By user").fill("ada")
        expect(page.get_by_role("status").filter(has_text="50")).to_be_visible()
        expect(page).to_have_url(re.compile("actor=ada"))
        _, found = export(page)
        assert [each["project"] for each in found] == [f"Lantern {number}" for number in reversed(range(60))]
        today = page.evaluate("new Date().toLocaleDateString('sv')")
        page.get_by_label("To", exact=True).fill(today)
        expect(page).to_have_url(re.compile(f"until={today}"))
        expect(rows(page)).to_have_count(50)
        page.get_by_label("To", exact=True).fill("2020-01-01")
        expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()


def test_the_dashboard_shows_periods_charts_and_their_tables(chromium, app, world, grace, tmp_path):
    ada = world.user("ada")
    world.project(owner=ada, title="Lantern", votes=3)
    waiting = world.project(owner=ada, title="Waiting", status="pending")
    assert world.caller(grace).put(f"/api/admin/projects/{waiting}/approve").status_code == 200
    world.project(owner=ada, title="Later", status="pending")
    imports = [
        {"title": "I", "tagline": "T", "category": "tools", "url": f"https://example.org/i{n}"} for n in range(30)
    ]
    file = tmp_path / "projects.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in imports))
    assert app.test_cli_runner().invoke(args=["import", str(file)]).exit_code == 0
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin").page
        expect(page.locator(".figures div", has_text="Waiting for review")).to_contain_text("31")
        chart = page.locator("figure", has_text="Submissions")
        expect(chart).to_contain_text("30 projects imported on")
        expect(chart).to_contain_text("A bar with a break is cut off.")
        expect(chart.locator("path.cut")).to_have_count(1)
        summary = re.compile("^Submissions a day: 3 in all, at most 3 on")
        expect(chart.get_by_role("img", name=summary)).to_be_visible()
        page.get_by_text("Show as a table").first.click()
        expect(page.locator(".days tbody tr").nth(29).locator("td")).to_have_text(["3", "30", "2", "0"])
        expect(page.locator(".top-list").first).to_contain_text("Lantern")
        expect(page.locator("table", has_text="Median time").get_by_role("link", name="grace")).to_be_visible()
        page.get_by_role("link", name="7 days").click()
        expect(page.locator("figure").first).to_contain_text("0 in the 7 days before")
        assert page.url == f"{site}/admin?days=7"
        page.go_back()
        expect(page.locator("figure").first).to_contain_text("0 in the 30 days before")


def test_every_table_says_why_it_is_empty_and_why_it_failed(chromium, app, grace):
    with served(app) as site, visitor(chromium, site, 404, 500, 422) as person:
        page = person.enter("grace").open("/admin/projects").page
        expect(page.get_by_text("No projects yet")).to_be_visible()
        expect(person.button("Export as CSV")).to_be_disabled()
        expect(person.open("/admin/deliveries").page.get_by_text("No deliveries yet")).to_be_visible()
        expect(page.get_by_text("No endpoint is configured.")).to_be_visible()
        expect(person.open("/admin/categories").page.get_by_text("No categories yet")).to_be_visible()
        expect(person.open("/admin/users/999").page.get_by_text("No such user")).to_be_visible()
        person.open("/admin/users?cursor=no-such-cursor")
        expect(page.locator("main .state")).to_contain_text("This cursor belongs to another list")
        page.get_by_role("link", name="Show all").click()
        expect(rows(page)).to_have_count(1)
        page.route(re.compile("/api/(admin|review)/"), lambda route: route.fulfill(status=500, body="{}"))
        page.get_by_label("Role", exact=True).select_option("Member")
        expect(page.get_by_role("alert")).to_contain_text("Something went wrong")
        expect(rows(page)).to_have_count(0)
        page.unroute(re.compile("/api/(admin|review)/"))
        person.button("Try again").click()
        expect(page.get_by_text("Nothing here matches these filters.")).to_be_visible()


def test_a_new_directory_has_five_boxes_to_tick_until_something_is_live(chromium, make_app, world, grace):
    app = make_app(SITE_NAME="Makers")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin").page
        boxes = page.locator(".first-start input")
        expect(boxes).to_have_count(5)
        assert [boxes.nth(n).is_checked() for n in range(5)] == [False, True, False, False, False]
        world.category("tools")
        world.reviewer("tools")
        page.reload()
        expect(page.locator(".first-start :checked")).to_have_count(3)
        world.project()
        page.reload()
        expect(page.locator(".figures.of-site")).to_be_visible()
        expect(boxes).to_have_count(0)
