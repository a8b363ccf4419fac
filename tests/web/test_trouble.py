"""The pages when something fails, and with hostile texts, which must have no effect."""

import re
import threading
from functools import partial

import pytest
from playwright.sync_api import Route, expect
from werkzeug.serving import make_server

from tests.support.chromium import served
from tests.support.factories import Api
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]

HOSTILE = [
    "<script>document.title='taken'</script>",
    "<img src=https://evil.example/x.png onerror=\"document.title='taken'\">",
    '"><svg onload=alert(1)>',
    "[press](javascript:alert(1)) ![x](https://evil.example/y.png) [ok](data:text/html,x)",
    "</title></head><body><h1>taken</h1>",
    "{{ 7*7 }} ${7*7} &lt;b&gt; &amp;",
    "\u05e9\u05dc\u05d5\u05dd abc \u0645\u0631\u062d\u0628\u0627",
    "**bold _and `never ~~closed [a](b",
]


@pytest.mark.parametrize("width", [320])
def test_hostile_texts_are_text_on_every_page(chromium, app, world, width):
    ada = world.user("ada")
    description = "\n\n".join([*HOSTILE, "x" * 5000, "> " * 300])
    for number, text in enumerate(HOSTILE):
        world.project(owner=ada, title=text[:100], tagline=text[:140], description=description, votes=number)
    long = world.project(owner=ada, title="W" * 100, tagline="w" * 140, description="w" * 9999)
    own = world.project(owner=ada, status="pending", title=HOSTILE[0], tagline=HOSTILE[1], description=description)
    reason = "\n".join(HOSTILE)
    assert world.caller(world.admin()).put(f"/api/admin/projects/{own}/reject", {"reason": reason}).status_code == 200
    paths = ["/", "/?q=script", f"/p/{long}/x", "/users/ada", "/mine", f"/mine/{own}", f"/mine/{own}/edit"]
    for project_id in (long - 1, long - 3, own):
        paths.append(f"/p/{project_id}/{world.stored(project_id)['slug']}")
    with served(app) as site, visitor(chromium, site, 404, viewport={"width": width, "height": 700}) as person:
        person.page.on("dialog", lambda dialog: (person.said.append(dialog.message), dialog.dismiss()))
        person.enter("ada")
        for path in paths:
            page = person.open(path).page
            person.settle()
            assert "taken" not in page.title() or "<" in page.title(), path
            assert page.locator("main script, main img, main iframe, main svg[onload], [onerror]").count() == 0
            links = page.eval_on_selector_all("a", "links => links.map(link => link.href)")
            assert all(link.startswith((f"{site}/", "https://", "http://")) for link in links), path
            for rel in page.eval_on_selector_all(".prose a", "links => links.map(link => link.rel)"):
                assert rel == "nofollow ugc noopener"
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            shown = page.locator("main").inner_text()
            assert ("<script>" in shown) == (path != f"/p/{long}/x"), path


def test_in_read_only_mode_it_says_so_and_a_vote_is_taken_back(chromium, make_app, world):
    world.user("ada")
    world.project(title="Lamp")
    writing, app = make_app(), make_app(READ_ONLY="true")
    with served(writing) as site, visitor(chromium, site, 503) as person:
        page = person.enter("ada").open("/").page
        page.route("**/upvote", lambda route: route.fulfill(
            status=503, content_type="application/problem+json",
            body='{"code": "read_only", "title": "Read-only", "detail": "No writes at present.", "status": 503}',
        ))  # fmt: skip
        page.get_by_role("button", name="Upvote Lamp, 0 votes").click()
        expect(page.get_by_text("No writes at present.")).to_be_visible()
        expect(page.get_by_role("button", name="Upvote Lamp, 0 votes")).to_have_attribute("aria-pressed", "false")
    with served(app) as site, visitor(chromium, site, 503) as person:
        page = person.open("/").page
        expect(page.get_by_text("The directory is read-only at present")).to_be_visible()
        expect(page.get_by_text("Lamp")).to_be_visible()
        person.link("Sign in").click()
        page.get_by_label("Username or e-mail").fill("ada")
        page.get_by_label("Password").fill("whatever it is")
        person.button("Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("Nothing can be changed at the moment")
        expect(page.get_by_label("Username or e-mail")).to_have_value("ada")


def test_over_the_limit_the_vote_is_taken_back_with_the_time_to_wait(chromium, make_app, world):
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_VOTING="1 per hour")
    world.user("ada")
    world.project(title="Lamp")
    with served(app) as site, visitor(chromium, site, 429) as person:
        page = person.enter("ada").open("/").page
        page.get_by_role("button", name="Upvote Lamp, 0 votes").click()
        pressed = page.get_by_role("button", name="Upvote Lamp, 1 vote")
        expect(pressed).to_have_attribute("aria-pressed", "true")
        person.settle()
        pressed.click()
        expect(page.locator(".notice")).to_have_text(
            "Your vote was not withdrawn. Too many requests. Try again in 60 minutes."
        )
        expect(pressed).to_have_attribute("aria-pressed", "true")


def test_a_service_that_is_down_leaves_what_is_shown_and_is_tried_again(chromium, app, world):
    for number in range(21):
        world.project(title=f"Lamp {number}")
    server = make_server("127.0.0.1", 0, app, threaded=True)
    site, port = f"http://127.0.0.1:{server.server_port}", server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with visitor(chromium, site, 0) as person:
        page = person.open("/").page
        rows, notice = page.locator("article.row"), page.locator(".notice p")
        server.shutdown()
        server.server_close()
        person.link("Show more").click()
        expect(notice).to_contain_text("You are offline")
        with page.expect_request(lambda request: "q=nothing" in request.url):  # it begins a moment after the last key
            page.get_by_label("Search projects").fill("nothing")
        expect(page.locator("#results")).not_to_have_attribute("aria-busy", "true")
        expect(rows).to_have_count(20)
        assert page.url == f"{site}/"
        server = make_server("127.0.0.1", port, app, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        person.link("Show more").click()
        expect(rows).to_have_count(21)
        page.get_by_label("Search projects").fill("nothing at all")
        expect(page.get_by_text("Nothing found")).to_be_visible()
        server.shutdown()
        server.server_close()


def test_a_list_that_cannot_be_read_is_not_that_of_another_tab_or_filter(chromium, app, world):
    grace = world.admin("grace")
    for number in range(21):
        world.project(owner=grace, title=f"Lamp {number}")
    with served(app) as site, visitor(chromium, site, 0) as person:
        page = person.enter("grace").open("/mine").page
        rows = page.locator("article.row")
        expect(rows).to_have_count(20)
        page.context.set_offline(True)
        person.link("Show more").click()
        expect(page.locator(".notice")).to_contain_text("You are offline")
        expect(rows).to_have_count(20)
        page.context.set_offline(False)
        person.link("Show more").press("Enter")
        expect(rows.nth(20).get_by_role("link").first).to_be_focused()
        person.open("/admin/projects")
        expect(page.locator("tbody tr")).to_have_count(21)
        page.context.set_offline(True)
        page.get_by_label("State").select_option("pending")
        expect(page.get_by_role("alert")).to_contain_text("You are offline")
        expect(page.locator("tbody tr")).to_have_count(0)
        page.context.set_offline(False)


def test_what_a_proxy_or_the_service_refuses_leaves_the_page_and_is_said_in_words(chromium, app, world):
    world.user("ada")
    for number in range(21):
        world.project(title=f"Lamp {number}")
    ours = "<title>No</title><div class=state><h1>Not now</h1><p>Try again in a minute.</p></div>"
    with served(app) as site, visitor(chromium, site, 413, 429, 502) as person:
        page = person.enter("ada").open("/").page
        notice = page.locator(".notice")
        for status, body, said in [
            (502, "<html>nginx</html>", "The service answered with status 502."),
            (413, "", "The service answered with status 413."),
        ]:
            page.route("**/upvote", partial(Route.fulfill, status=status, body=body))
            page.get_by_role("button", name="Upvote Lamp 7, 0 votes").click()
            expect(notice).to_have_text(f"Your vote was not counted. {said}")
        page.route("**/?*", lambda route: route.fulfill(status=429, content_type="text/html", body=ours))
        person.link("Show more").click()
        expect(notice).to_have_text("Try again in a minute.")
        page.get_by_label("Search projects").fill("lamp")
        expect(page.locator("#results")).not_to_have_attribute("aria-busy", "true")
        expect(person.link("Show more")).to_be_visible()
        assert (page.url, page.title()) == (f"{site}/", "Project Directory")


def test_signing_out_on_a_page_that_people_read_drops_what_was_written(chromium, app, world):
    world.user("ada")
    world.category("tools", "Tools")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/submit").page
        page.get_by_label("Title", exact=True).fill("Not for the next one")
        person.open("/")
        page.get_by_label("Account: ada").click()
        person.button("Sign out").click()
        expect(person.link("Sign in")).to_be_visible()
        assert page.evaluate("JSON.stringify({...localStorage})") == "{}"


def test_a_vote_is_refused_where_another_tab_signed_in_as_somebody_else(chromium, app, world):
    world.user("ada")
    world.user("bob")
    project = world.project(title="Lamp")
    with served(app) as site, visitor(chromium, site, 409) as person:
        page = person.enter("ada").open("/").page
        person.enter("bob")  # as in another tab, which has the same cookies
        page.get_by_role("button", name="Upvote Lamp").click()
        expect(page.locator(".notice")).to_contain_text("Your vote was not counted.")
        assert world.stored(project)["upvotes"] == 0


def test_a_fault_shows_the_id_of_the_request(chromium, app, monkeypatch):
    from directory.services.catalog import catalog

    monkeypatch.setattr(catalog, "page", lambda *_args, **_options: 1 / 0)
    with served(app) as site, visitor(chromium, site, 500) as person:
        expect(person.open("/").page.get_by_text("Request ", exact=False).last).to_be_visible()


def test_the_empty_directory_invites_and_pages_of_members_ask_to_sign_in(chromium, app, world):
    world.category("tools")
    with served(app) as site, visitor(chromium, site, 404) as person:
        expect(person.open("/").page.get_by_text("No projects yet")).to_be_visible()
        for path in ("/mine", "/account"):
            expect(person.open(path).page.get_by_label("Username or e-mail")).to_be_visible()
        for path in ("/admin", "/admin/queue"):
            expect(person.open(path).page.get_by_text("Sign in to see this page")).to_be_visible()
        for path in ("/p/99/nothing", "/users/nobody"):
            expect(person.open(path).page.get_by_role("link", name="To the directory")).to_be_visible()


def test_typing_fast_loses_no_letter_and_a_slash_right_after_the_page_is_not_lost(chromium, app, world):
    world.project(title="Phosphorescent lanternfish")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.page
        page.goto(f"{site}/", wait_until="domcontentloaded")
        page.keyboard.press("/")
        field = page.get_by_label("Search projects")
        expect(field).to_be_focused()
        expect(page.get_by_text("came in the last seven days")).to_be_visible()
        page.keyboard.type("phosphorescent lanternfish", delay=0)
        expect(field).to_have_value("phosphorescent lanternfish")
        expect(page.locator("#results").get_by_text("1 project", exact=True)).to_be_visible()
        expect(page.locator(".notice")).to_have_text("1 project")  # which a screen reader reads out
        expect(page.locator("h1")).to_have_text("“phosphorescent lanternfish”")
        expect(page.get_by_text("came in the last seven days")).to_have_count(0)
        page.keyboard.type(" nothing", delay=20)
        expect(field).to_have_value("phosphorescent lanternfish nothing")
        expect(page.get_by_text("Nothing found")).to_be_visible()
        page.go_back()
        expect(field).to_have_value("")


def test_nothing_but_the_api_decides_who_sees_the_console(chromium, app, world):
    world.user("ada")
    world.user("grace", role="admin")
    assert Api(app).get("/api/admin/analytics").status_code == 401
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("ada").open("/admin").page
        expect(page.get_by_text(re.compile("This page is for .*administrators"))).to_be_visible()
        expect(person.enter("grace").open("/admin").page.get_by_text("Waiting for review")).to_be_visible()
