"""Rules for every page of the console: its navigation and states, its access, hostile texts, and axe."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.support.axe import inspector
from tests.support.chromium import served
from tests.support.extras import rows
from tests.support.factories import Api
from tests.support.outbox import delivery_thread, quick, send_all
from tests.support.receiver import SECRET, Receiver, status
from tests.support.visitor import visitor
from tests.support.waiting import until
from tests.support.web import AXE, require_pages
from tests.web.test_trouble import HOSTILE

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]

EMPTY = {
    "/admin": "No administrator decided anything in this period.",
    "/admin/queue": "Nothing waits for review",
    "/admin/projects": "No projects yet",
    "/admin/users": "1 shown",
    "/admin/categories": "No categories yet",
    "/admin/rules": re.compile("^New account with a disposable address$|^No rules"),  # a new database has three
    "/admin/deliveries": "No deliveries yet",
    "/admin/audit": "1 shown",
    **rows("console"),
}
PAGES = [*EMPTY, "/admin/users/1"]
READS = re.compile(r"/api/(admin/|review/|categories)")
QUEUE = re.compile("^Review queue")
NOT_YOURS = re.compile("This page is for (reviewers and )?administrators")
WIDTHS = (320, 390, 1280)


def nav(page):
    return page.get_by_role("navigation", name="Console")


def test_visitors_are_asked_to_sign_in_and_members_are_told_why_not(chromium, app, world, grace):
    world.user("ada")
    with served(app) as site, visitor(chromium, site) as person:
        for path in PAGES:
            expect(person.open(path).page.get_by_text("Sign in to see this page")).to_be_visible()
        person.page.locator("main").get_by_role("link", name="Sign in").click()
        person.sign_in("grace")
        expect(nav(person.page)).to_be_visible()
        expect(person.page.locator("h1")).to_have_text("grace")
    with served(app) as site, visitor(chromium, site) as person:
        person.enter("ada")
        for path in PAGES:
            page = person.open(path).page
            expect(page.get_by_text(NOT_YOURS)).to_be_visible()
            expect(nav(page)).to_have_count(0)


def test_one_navigation_leads_to_every_page_and_counts_what_waits(chromium, app, world, grace):
    owner = world.user("ada")
    asked = world.project(owner, title="Oil")
    for number in range(3):
        world.project(title=f"Lamp {number}", status="pending")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin").page
        expect(nav(page).get_by_role("link")).to_have_count(len(EMPTY))
        names = [
            "Dashboard",
            "Projects",
            "Users",
            "Categories",
            "Rules",
            "Replies",
            "Fields",
            "Deliveries",
            "Log",
            QUEUE,
        ]
        for name in names:
            nav(page).get_by_role("link", name=name).click()
            expect(page.locator("h1")).to_have_text(name)
            expect(nav(page).locator("[aria-current=page]")).to_have_text([name])
            expect(nav(page).get_by_label("3 waiting")).to_be_visible()
        expect(page.locator(".q-rows .q-row")).to_have_count(3)
        page.keyboard.press("a")
        expect(nav(page).get_by_label("2 waiting")).to_be_visible()
        nav(page).get_by_role("link", name="Projects").click()  # the decision is sent
        expect(nav(page).get_by_label("2 waiting")).to_be_visible()
        expect(page.locator("table.list tbody tr", has_text="Live")).to_have_count(2)
        page.get_by_role("link", name="Dashboard").click()
        page.locator(".figures").get_by_role("link", name="2").click()
        expect(page.locator(".q-rows .q-row")).to_have_count(2)
        world.caller(owner).post(f"/api/projects/{asked}/messages", {"text": "Ready?"})
        nav(page).get_by_role("link", name="Dashboard").click()
        page.get_by_role("region", name="What needs somebody").get_by_role("link", name="Messages 1").click()
        expect(page.locator(".q-rows .q-row")).to_have_count(1)
        page.set_viewport_size({"width": 390, "height": 800})
        for name in ("Dashboard", "Log", "Users"):
            nav(page).get_by_role("link", name=name).click()
            expect(nav(page).locator("[aria-current=page]")).to_have_text(name)
            expect(nav(page).locator("[aria-current=page]")).to_be_in_viewport(ratio=1)


def test_who_signs_out_or_loses_the_role_sees_nothing_any_more(chromium, app, world, grace):
    world.project(title="Lamp")
    root = world.caller(world.admin("root-1"))
    with served(app) as site, visitor(chromium, site, 403) as person:
        page = person.enter("grace").open("/admin/projects").page
        expect(page.get_by_role("link", name="Lamp", exact=True)).to_be_visible()
        page.get_by_label("Account: grace").click()
        person.button("Sign out").click()
        expect(page.get_by_text("Sign in to see this page")).to_be_visible()
        expect(page.get_by_text("Lamp")).to_have_count(0)
        person.enter("grace").open("/admin/projects")
        expect(page.get_by_role("link", name="Lamp", exact=True)).to_be_visible()
        assert root.put(f"/api/admin/users/{grace.id}", {"role": "member"}).status_code == 200
        nav(page).get_by_role("link", name="Users").click()
        expect(page.get_by_text(NOT_YOURS)).to_be_visible()
        person.open("/admin/queue")
        expect(page.get_by_text(NOT_YOURS)).to_be_visible()


def test_every_page_shows_that_it_loads_and_then_why_there_is_nothing(chromium, app, grace):
    held = []
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").page
        page.route(READS, lambda route: held.append(route))
        for path, text in EMPTY.items():
            person.open(path)
            expect(page.locator("main").get_by_role("status", name="Loading…").first).to_be_visible()
            shown = page.locator("main").get_by_text(text)
            until(lambda shown=shown: release(held) or shown.count())
            expect(page.get_by_role("status", name="Loading…")).to_have_count(0)


def release(held):
    """Let the requests that were held go on."""
    while held:
        held.pop().continue_()


def test_every_page_says_why_it_failed_and_is_tried_again(chromium, app, grace):
    problem = {"title": "A fault", "status": 500, "code": "internal", "detail": "The service failed."}
    answer = {"status": 500, "content_type": "application/problem+json", "headers": {"X-Request-ID": "fault-7"}}
    with served(app) as site, visitor(chromium, site, 500) as person:
        page = person.enter("grace").page
        for path, text in [*EMPTY.items(), (f"/admin/users/{grace.id}", "grace@example.org")]:
            page.route(READS, lambda route: route.fulfill(body=json.dumps(problem), **answer))
            person.open(path)
            alert = page.locator("main").get_by_role("alert").last
            expect(alert).to_contain_text("The service failed.")
            expect(alert).to_contain_text("Request fault-7")
            page.unroute(READS)
            for left in reversed(range(2 if path == "/admin/deliveries" else 1)):
                person.button("Try again").first.click()
                expect(page.locator("main").get_by_role("alert")).to_have_count(left)
            expect(page.locator("main").get_by_text(text)).to_be_visible()


def test_in_read_only_mode_every_page_is_read_and_changes_nothing(chromium, make_app, world, grace):
    lamp = world.project(title="Lamp")
    world.project(title="Grey lamp", status="pending")
    read_only = make_app(READ_ONLY="true")
    disabled = {
        "/admin/queue": ["Approve a", "Reject r"],
        "/admin/projects": ["Take down Lamp"],
        f"/admin/users/{grace.id}": ["Suspend…", "Sign out everywhere…", "Change the role…"],
        "/admin/categories": ["Add a category", "Change Tools", "Delete Tools"],
    }
    with served(make_app()) as writing, served(read_only) as site, visitor(chromium, site) as person:
        person.site = writing  # a session is a write
        page = person.enter("grace").page
        person.site = site
        for path in EMPTY:
            person.open(path)
            expect(page.get_by_text("The directory is read-only at present")).to_be_visible()
            expect(page.locator("h1")).to_be_visible()
        for path, buttons in disabled.items():
            person.open(path)
            for name in buttons:
                expect(person.button(name)).to_be_disabled()
        person.open("/admin/projects")
        page.get_by_label("Select Lamp").check()
        for name in ("Take down 1", "Delete 1"):
            expect(person.button(name)).to_be_disabled()
    assert world.stored(lamp)["status"] == "live"


@pytest.fixture
def hostile(make_app, world, grace):
    """An application whose every text is hostile, and its pages, each with a text that it shows once it is read."""
    with Receiver(status(500, HOSTILE[0].encode())) as receiver:
        endpoint = {
            "name": "chat",
            "url": receiver.url,
            "secret": SECRET,
            "events": ["project.approved", "project.rejected"],
        }
        app = make_app(WEBHOOK_ENDPOINTS=json.dumps([endpoint]))
        mallory = world.user("mallory-" + "m" * 24)
        root = Api(app, world.caller(grace).token)
        owner = Api(app, world.caller(mallory).token)
        long = "\n\n".join([*HOSTILE, "x" * 5000, "> " * 300])
        for number, text in enumerate(HOSTILE):
            body = {"slug": f"c-{number}", "name": text[:60], "description": text}
            assert root.post("/api/admin/categories", body).status_code == 201
            about = {"title": text[:100], "tagline": text[:140], "description": long, "category": f"c-{number}"}
            made = world.project(owner=mallory, status="pending", **about)
            if number % 2:
                assert root.put(f"/api/admin/projects/{made}/approve").status_code == 200
        wide = world.project(owner=mallory, title="W" * 100, tagline="w" * 140, description="w" * 9999, votes=1)
        rows("hostile_texts", root, HOSTILE)
        again = world.project(owner=mallory, status="pending", title=HOSTILE[0], url="https://example.org/again")
        reason = {"reason": "\n".join(HOSTILE)[:1000]}
        assert root.put(f"/api/admin/projects/{again}/reject", reason).status_code == 200
        changes = {"title": HOSTILE[1], "tagline": HOSTILE[2], "description": "w" * 900}
        assert owner.put(f"/api/projects/{again}", changes).status_code == 200
        assert root.put(f"/api/admin/projects/{wide}/unpublish", reason).status_code == 200
        [chat] = app.extensions["webhooks"]
        send_all(delivery_thread(app, chat, quick(delays=())))
        rule = {"name": HOSTILE[0][:60], "on": ["edit"], "then": "hold"}
        rule["when"] = [{"fact": "links", "is": ">=", "value": 3}]
        assert root.post("/api/admin/rules", rule).status_code == 201
        pages = {**dict.fromkeys(EMPTY, HOSTILE[0]), "/admin/users": "mallory-", "/admin": HOSTILE[1]}
        yield (
            app,
            {
                **pages,
                f"/admin/users/{mallory.id}": HOSTILE[0],
                f"/admin/projects/{wide}": "1 shown",
                f"/admin/queue/{again}": HOSTILE[1],
            },
            f"/admin/queue/{wide}",
        )


def opened(page, path):
    """What can be opened on a page after what it shows at first, one after the other; each has its texts too."""
    if "/queue/" in path:
        page.keyboard.press("h")
        expect(page.get_by_label("History", exact=True)).to_be_visible()
        page.keyboard.press("x")
        yield "whole"
        for key in ("r", "?"):
            page.keyboard.press(key)
            yield f"with {key}"
            page.keyboard.press("Escape")
        return
    yield "whole"
    if path == "/admin/projects":
        page.get_by_label("Select all").check()
        page.get_by_role("button", name="Delete ").click()
        yield "the dialog"
    elif path == "/admin/deliveries":
        page.get_by_role("button", name="Details of delivery").first.click()
        yield "the payload"
    elif path == "/admin":
        page.get_by_text("Show as a table").first.click()
        yield "the table"
    elif path == "/admin/audit":
        page.locator("summary", has_text="Changed:").first.click()
        expect(page.locator("details del").first).to_be_visible()
        yield "the edit"
    elif "/users/" in path:
        page.get_by_role("button", name="Suspend…").click()
        yield "the dialog"


def scrolls(page):
    """Whether the page scrolls sideways."""
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_hostile_texts_are_text_on_every_page_and_axe_finds_nothing(chromium, hostile, look):
    require_pages(AXE)
    app, pages, wide = hostile
    wrong, only = [], ("color-contrast",) if look == "dark" else ()  # the look changes nothing but colours
    with served(app) as site, visitor(chromium, site, color_scheme=look, reduced_motion="reduce") as person:
        page = person.enter("grace").page
        page.on("dialog", lambda dialog: (person.said.append(dialog.message), dialog.dismiss()))
        for path, text in pages.items():
            person.open(path)
            expect(page.locator("main")).to_contain_text(text)
            violations = inspector(page)
            for part in opened(page, path):
                for width in WIDTHS if part == "whole" else WIDTHS[:1]:
                    page.set_viewport_size({"width": width, "height": 800})
                    found = violations(*only) if width != 390 else []  # it shows nothing that 320 and 1280 do not
                    if found or scrolls(page):
                        wrong.append((path, part, width, found))
            assert "taken" not in page.title() or "<" in page.title(), path
            assert page.locator("main script, main img, main iframe, main svg[onload], [onerror]").count() == 0
            links = page.eval_on_selector_all("a", "links => links.map(link => link.href)")
            assert all(link.startswith((f"{site}/", "https://", "http://")) for link in links), path
        person.open(wide)  # ten thousand letters without a space
        expect(page.locator(".prose")).to_contain_text("www")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert not scrolls(page)
        assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert wrong == []
