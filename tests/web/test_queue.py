"""The review queue in a real browser: the keyboard, the undo, several reviewers, and a phone."""

import re

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from directory.extensions import db
from directory.models import Message, Project, Review
from directory.services.turns import CURRENT
from tests.support.chromium import served
from tests.support.visitor import visitor
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("pages")

ON_SQLITE = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
AT_ONCE = """keys => keys.forEach(key => (document.activeElement ?? document.body).dispatchEvent(
  new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true})))"""


@pytest.fixture
def ada(world):
    """Who submits."""
    return world.user("ada")


@pytest.fixture
def waiting(world, ada):
    """Puts so many submissions into the queue, the oldest first, and gives their ids."""

    def submit(count, **fields):
        titles = [f"Lamp {each}" for each in range(1, count + 1)]
        return [world.project(owner=ada, status="pending", title=title, **fields) for title in titles]

    return submit


def at_queue(person):
    """The page of the queue, for who reviews."""
    page = person.enter("grace").open("/admin/queue").page
    expect(page.get_by_role("heading", name="Review queue")).to_be_visible()
    return page


def rows(page):
    return page.locator(".q-rows .q-row")


def shown(page, title):
    expect(page.locator(".q-item h2")).to_have_text(title)


def stored(app, query):
    with app.app_context():
        return [tuple(row) for row in db.session.execute(query)]


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.extra("replies")
def test_the_keyboard_alone_clears_the_queue(chromium, app, world, grace, waiting):
    ids = waiting(6)
    with served(app) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = person.enter("grace").open("/admin").page
        press(page, "g", "q")
        expect(rows(page)).to_have_count(6)
        shown(page, "Lamp 1")
        press(page, "a")
        expect(page.get_by_role("status").filter(has_text="Approved Lamp 1. 5 left.")).to_be_visible()
        expect(page.locator(".q-rows a:focus")).to_contain_text("Lamp 2")
        press(page, "r", "3", "Enter")
        shown(page, "Lamp 3")
        expect(page.locator(".q-rows a:focus")).to_contain_text("Lamp 3")
        press(page, "r")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("radio").first).to_be_focused()
        dialog.get_by_label("Reason", exact=True).focus()
        page.keyboard.type("a reason with r, x and u")
        press(page, "Control+Enter")
        press(page, "x", "j", "j", "Shift+X", "a")
        page.clock.fast_forward(5000)
        expect(page.get_by_text("Nothing waits for review")).to_be_visible()
        expect(page.locator(".q-outcomes li")).to_have_count(6)
        expect(page.locator(".q-outcomes li.bad")).to_have_count(0)
    stored = [world.stored(each) for each in ids]
    assert [each["status"] for each in stored] == ["live", "rejected", "rejected", "live", "live", "live"]
    reasons = [world.reason(each) for each in ids[1:3]]
    assert reasons == ["This project is in the directory already.", "a reason with r, x and u"]


@ON_SQLITE
@pytest.mark.extra("replies")
def test_two_hundred_submissions_are_decided_by_the_keyboard_alone(chromium, app, world, grace, waiting):
    ids = waiting(200)
    decide_five = ["a", "r", "3", "Enter", "x", "j", "x", "e", "4", "Enter", "a", "u", "r", "4", "Enter", "c"]
    wanted = [
        ("live", None), ("rejected", "This project is in the directory already."), ("pending", None), ("pending", None),
        ("rejected", "The website does not answer. Please send it again when it does."),
    ]  # fmt: skip
    ask = {"name": "More", "decision": "request_changes", "text": "{title} needs more."}
    assert world.caller(grace).post("/api/review/replies", ask).status_code == 201
    with served(app) as site, visitor(chromium, site) as person:
        page = at_queue(person)
        expect(rows(page)).to_have_count(50)
        for turn in range(1, 41):
            if turn % 4:
                page.evaluate(AT_ONCE, decide_five)
            else:
                press(page, *decide_five)
            if turn < 40:
                expect(page.locator(".q-rows a:focus")).to_contain_text(f"Lamp {5 * turn + 1}")
        expect(page.get_by_text("Nothing waits for review")).to_be_visible()
        press(page, "g", "d")
        states = select(Project.status, Review.reason).outerjoin(Review, CURRENT).order_by(Project.id)
        until(lambda: stored(app, states) == wanted * 40)
        asked = select(Message.project_id, Message.text).where(Message.kind == "changes_requested")
        texts = {each: f"Lamp {place} needs more." for place, each in enumerate(ids, 1) if place % 5 in (3, 4)}
        until(lambda: dict(stored(app, asked)) == texts)


def test_the_next_submission_appears_in_the_empty_queue(chromium, app, grace, waiting):
    with served(app) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = at_queue(person)
        expect(page.get_by_text("Nothing waits for review")).to_be_visible()
        waiting(1)
        page.clock.fast_forward(9_000)
        shown(page, "Lamp 1")


def test_the_address_of_a_submission_beyond_the_first_page_is_counted_too(chromium, app, grace, waiting):
    *_, last = waiting(52)
    with served(app) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = person.enter("grace").open(f"/admin/queue/{last}").page
        shown(page, "Lamp 52")
        person.button("Show more").focus()
        press(page, "Enter")
        expect(page.locator(".q-rows a").nth(50)).to_be_focused()
        press(page, "a")
        expect(page.get_by_role("status").filter(has_text="Approved Lamp 52. 51 left.")).to_be_visible()
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes li")).to_have_text(["Lamp 52Approved"])
        press(page, "j", "a")
        expect(page.get_by_role("status").filter(has_text="50 left.")).to_be_visible()


def test_a_decision_that_is_undone_is_never_sent(chromium, app, world, grace, waiting):
    ids = waiting(3)
    with served(app) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = at_queue(person)
        expect(rows(page)).to_have_count(3)
        press(page, "a", "a")
        expect(rows(page)).to_have_count(1)
        press(page, "u")
        expect(rows(page)).to_have_count(2)
        expect(page.locator(".q-rows a:focus")).to_contain_text("Lamp 2")
        person.button("Undo u").click()
        expect(rows(page)).to_have_count(3)
        press(page, "j", "a")
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes li")).to_have_text(["Lamp 2Approved"])
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert [world.stored(each)["status"] for each in ids] == ["pending", "live", "pending"]


def test_of_two_reviewers_the_second_sees_who_was_first(chromium, app, world, grace, waiting):
    ids = waiting(3)
    linus = world.caller(world.admin("linus"))
    with served(app) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = at_queue(person)
        expect(rows(page)).to_have_count(3)
        assert linus.put(f"/api/admin/projects/{ids[0]}/approve").status_code == 200
        assert linus.put(f"/api/admin/projects/{ids[1]}/reject").status_code == 200
        press(page, "a", "a")
        page.clock.fast_forward(5000)
        outcomes = page.locator(".q-outcomes")
        expect(outcomes).to_contain_text("linus approved it first")
        expect(outcomes).to_contain_text("linus rejected it first")
        expect(rows(page)).to_have_count(1)
        shown(page, "Lamp 3")
        assert linus.put(f"/api/admin/projects/{ids[2]}/approve").status_code == 200
        page.reload()
        expect(page.get_by_text("This project is not in the queue. Its state: Live.")).to_be_visible()
        expect(page.get_by_text("Nothing waits for review")).to_be_visible()
    assert [world.stored(each)["status"] for each in ids] == ["live", "rejected", "live"]


def test_an_edit_between_the_look_and_the_key_is_shown_and_not_decided(chromium, app, world, grace, waiting, ada):
    ids = waiting(2, description="One lamp.")
    owner = world.caller(ada)
    with served(app) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = at_queue(person)
        shown(page, "Lamp 1")
        assert (
            owner.put(f"/api/projects/{ids[0]}", {"title": "Casino 1", "description": "Two lamps."}).status_code == 200
        )
        press(page, "a")
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes li")).to_have_text([re.compile("Not decided: it changed after you looked")])
        assert world.stored(ids[0])["status"] == "pending"
        press(page, "k")
        shown(page, "Casino 1")
        since = page.locator(".since")
        expect(since).to_contain_text("It changed after you looked. This is what it is now.")
        expect(since.locator("del")).to_contain_text(["Lamp", "One lamp"])
        expect(since.locator("ins")).to_contain_text(["Casino", "Two lamps"])
        expect(page.locator(".q-rows .q-row").first).to_contain_text("Changed")
        expect(page.locator(".q-item")).to_contain_text("Two lamps.")
        press(page, "a")
        page.clock.fast_forward(5000)
        expect(page.locator(".q-outcomes")).to_contain_text("Approved")
    assert [world.stored(each)["status"] for each in ids] == ["live", "pending"]


def test_keys_without_a_pause_act_on_the_right_rows_ten_times_of_ten(chromium, app, world, grace, waiting):
    ids = waiting(40)
    keys = ["a", "j", "r", "3", "Enter", "u", "r", "1", "Enter", "k", "x", "j", "x", "a"]
    expected = {each: "rejected" if place % 4 == 2 else "live" for place, each in enumerate(ids)}
    with served(app) as site, visitor(chromium, site) as person:
        page = at_queue(person)
        expect(rows(page)).to_have_count(40)
        for turn in range(10):
            if turn % 2:
                page.evaluate(AT_ONCE, keys)  # nothing is drawn between two of them
            else:
                press(page, *keys)
        expect(page.get_by_text("Nothing waits for review")).to_be_visible()
        press(page, "g", "d")
        until(lambda: {each: world.stored(each)["status"] for each in ids} == expected)


def test_what_waits_is_sent_when_the_page_is_left(chromium, app, world, grace, waiting):
    ids = waiting(3)
    with served(app) as site, visitor(chromium, site) as person:
        page = at_queue(person)
        expect(rows(page)).to_have_count(3)
        press(page, "a")
        page.goto("about:blank")
        until(lambda: world.stored(ids[0])["status"] == "live")
        page = at_queue(person)
        expect(rows(page)).to_have_count(2)
        press(page, "a", "g", "d")
        until(lambda: world.stored(ids[1])["status"] == "live")
    assert world.stored(ids[2])["status"] == "pending"


def test_what_changed_since_the_last_review_is_marked_by_words(chromium, app, world, grace, waiting, ada):
    [lamp] = waiting(1, url="https://lamp.example", description="It draws **one** line.")
    again = world.project(owner=world.user("eve"), status="rejected", title="Lamp copy", url="https://lamp.example/")
    admin, owner = world.caller(grace), world.caller(ada)
    assert admin.put(f"/api/admin/projects/{lamp}/reject", {"reason": "Say more."}).status_code == 200
    changes = {"description": "It draws **two** lines.", "tags": ["light"]}
    assert owner.put(f"/api/projects/{lamp}", changes).status_code == 200
    with served(app) as site, visitor(chromium, site) as person:
        page = at_queue(person)
        changes = page.locator(".q-changes")
        expect(changes.locator("del")).to_contain_text(["one", "line"])
        expect(changes.locator("ins")).to_contain_text(["two", "lines", "light"])
        item = page.locator(".q-item")
        expect(item).to_contain_text("Say more.")
        expect(item).to_contain_text("0 live, 1 in review, 0 rejected")
        expect(item.get_by_role("link", name="Lamp copy")).to_have_attribute("href", f"/admin/queue/{again}")
        press(page, "h")
        expect(page.get_by_label("History").locator("li")).to_have_count(3)
        page.get_by_role("link", name="Lamp copy").click()
        expect(page.get_by_text("Its state: Rejected.")).to_be_visible()


def test_many_are_decided_at_once_by_the_mouse_with_an_outcome_for_each(chromium, app, world, grace, waiting, ada):
    ids = waiting(5)
    owner = world.caller(ada)
    with served(app) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = at_queue(person)
        page.get_by_label("Select Lamp 1").check()
        page.get_by_label("Select Lamp 4").click(modifiers=["Shift"])
        expect(page.get_by_text(re.compile("^4 of \\d+ selected"))).to_be_visible()
        assert owner.put(f"/api/projects/{ids[1]}", {"tagline": "Changed"}).status_code == 200
        assert owner.delete(f"/api/projects/{ids[2]}").status_code == 204
        person.button("Reject 4 r").click()
        reason = page.get_by_role("textbox", name="Reason")
        reason.fill("This is an advert")
        box = reason.bounding_box()
        page.mouse.move(box["x"] + 50, box["y"] + 15)
        page.mouse.down()
        page.mouse.move(5, 5)  # a text is selected beyond the edge of the dialog
        page.mouse.up()
        expect(reason).to_have_value("This is an advert")
        page.get_by_label("Advertisement").check()
        page.get_by_role("dialog").get_by_role("button", name="Reject 4").click()
        page.clock.fast_forward(5000)
        outcome = page.locator(".q-outcomes li")
        changed, gone = re.compile("^Lamp 2Not decided: it changed"), "Lamp 3Not decided: it was deleted"
        expect(outcome).to_have_text(["Lamp 1Rejected", changed, gone, "Lamp 4Rejected"])
        expect(rows(page)).to_have_count(2)
        person.button("Approve a").dblclick()  # the second click is none
        expect(rows(page)).to_have_count(1)


@ON_SQLITE
def test_on_a_phone_an_item_is_a_page_of_its_own(chromium, app, grace, waiting):
    ids = waiting(3)
    with served(app) as site, visitor(chromium, site, **PHONE) as person:
        page = at_queue(person)
        expect(page.locator(".q-item")).to_be_hidden()
        page.get_by_role("link", name=re.compile("Lamp 2")).tap()
        shown(page, "Lamp 2")
        assert page.url == f"{site}/admin/queue/{ids[1]}"
        expect(page.locator(".q-rows")).to_be_hidden()
        person.button("Approve").tap()
        shown(page, "Lamp 3")
        assert page.url == f"{site}/admin/queue/{ids[2]}"
        person.button("Undo").tap()
        shown(page, "Lamp 2")
        person.button("Approve").tap()
        page.go_back()
        expect(rows(page)).to_have_count(2)
        page.get_by_role("link", name=re.compile("Lamp 1")).tap()
        person.button("Reject").tap()
        send = page.get_by_role("dialog").get_by_role("button", name="Reject", exact=True)
        send.tap()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The owner gets no reason.")
        send.tap()
        shown(page, "Lamp 3")
        page.get_by_role("link", name="Back to the queue").tap()
        expect(rows(page)).to_have_count(1)


@ON_SQLITE
def test_the_queue_says_why_it_shows_nothing(chromium, app, grace):
    with served(app) as site, visitor(chromium, site, 404, 0) as person:
        page = at_queue(person)
        expect(page.get_by_text("Nothing waits for review")).to_be_visible()
        page.goto(f"{site}/admin/queue/999")
        expect(page.get_by_text("This submission is not in the queue")).to_be_visible()
        page.route("**/api/review/projects?*", lambda route: route.abort())
        page.goto(f"{site}/admin/queue")
        expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
        page.unroute("**/api/review/projects?*")
        person.button("Try again").click()
        expect(page.get_by_text("Nothing waits for review")).to_be_visible()


@ON_SQLITE
def test_in_read_only_mode_one_reads_and_decides_nothing(chromium, make_app, app, grace, waiting):
    waiting(2)
    with served(app) as writing, served(make_app(READ_ONLY="true")) as site, visitor(chromium, site) as person:
        person.site = writing  # a session is a write
        person.enter("grace")
        person.site = site
        page = person.open("/admin/queue").page
        shown(page, "Lamp 1")
        expect(person.button("Approve a")).to_be_disabled()
        press(page, "a")
        expect(page.locator(".q-bar")).to_contain_text("read-only")
        expect(rows(page)).to_have_count(2)


@ON_SQLITE
def test_rows_have_two_lines_and_are_52_pixels_high(chromium, app, grace, waiting):
    waiting(3)
    with served(app) as site, visitor(chromium, site) as person:
        page = at_queue(person)
        expect(rows(page)).to_have_count(3)
        measure = "rows => rows.map(row => row.getBoundingClientRect().height)"
        heights = page.eval_on_selector_all(".q-rows .q-row > a", measure)
        assert heights == [52, 52, 52]


def test_a_host_in_letters_that_look_like_latin_ones_is_shown_in_ascii_too(chromium, app, grace, waiting):
    waiting(1, url="https://www.\u0430\u0440\u0440\u04cf\u0435.com/store")
    with served(app) as site, visitor(chromium, site) as person:
        facts = at_queue(person).locator(".q-facts")
        expect(facts).to_contain_text("www.\u0430\u0440\u0440\u04cf\u0435.com/store (www.xn--80ak6aa92e.com)")
