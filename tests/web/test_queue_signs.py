"""What the review queue says of a submission before it is decided, and where it says what was done."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.chromium import served
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]

PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
OVERLAP = """([one, other]) => {
  const [a, b] = [one, other].map(each => document.querySelector(each).getBoundingClientRect());
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}"""
TOPS = "list => list.map(each => Math.round(each.getBoundingClientRect().top))"
LEFTS = "list => [...new Set(list.map(each => Math.round(each.getBoundingClientRect().left)))]"
FILLS = "list => list.map(each => getComputedStyle(each).fill)"


@pytest.fixture
def ada(world):
    """Who submits."""
    return world.user("ada")


@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_warnings_stand_above_the_decision_and_are_asked_about_once(chromium, app, world, grace, ada, size):
    vim = world.project(ada, title="Vim", repository_url="https://github.com/vim/vim")
    eve = world.user("eve")
    false = world.project(eve, "pending", title="V\u0456m", repository_url="https://github.com/vim/vim")
    world.caller(grace).put(f"/api/admin/users/{eve.id}", {"status": "suspended"})
    with served(app) as site, visitor(chromium, site, **size) as person:
        page = person.enter("grace").open(f"/admin/queue/{false}").page
        banner = page.locator(".q-item .q-warnings")
        expect(banner.get_by_role("listitem")).to_have_text(
            [
                "The title has letters that look like those of another alphabet: V\u0456m. Compare: Vim",
                "Another project has the same repository. Compare: Vim",
                re.compile("The owner is suspended"),
            ]
        )
        expect(banner.locator("mark")).to_have_text("\u0456")
        expect(banner.get_by_role("link", name="Vim").first).to_have_attribute("href", f"/admin/queue/{vim}")
        assert banner.bounding_box()["y"] + banner.bounding_box()["height"] < 600
        page.locator(".q-actions").get_by_role("button", name="Approve").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("listitem")).to_have_count(3)
        assert world.stored(false)["status"] == "pending"
        dialog.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("status").filter(has_text="Approved V\u0456m.")).to_be_visible()
        expect(dialog).to_have_count(0)


@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_a_key_is_named_where_there_are_keys(chromium, app, world, grace, size):
    lamp = world.project(status="pending", title="Lamp")
    with served(app) as site, visitor(chromium, site, **size) as person:
        page = person.enter("grace").open(f"/admin/queue/{lamp}").page
        page.locator(".q-actions").get_by_role("button", name="Ask for changes").click()
        expect(page.get_by_role("dialog")).to_contain_text("The owner reads it.")
        expect(page.get_by_text("Ctrl+Enter sends")).to_have_count(0 if size else 1)


def test_on_a_phone_changes_are_asked_for_beside_approve_and_reject(chromium, app, world, grace, ada):
    lamp = world.project(ada, "pending", title="Lamp")
    with served(app) as site, visitor(chromium, site, **PHONE) as person:
        page = person.enter("grace").open(f"/admin/queue/{lamp}").page
        buttons = page.locator(".q-actions button")
        expect(buttons).to_have_text([re.compile(each) for each in ("^Approve", "^Reject", "^Ask for changes")])
        assert len({*buttons.evaluate_all(TOPS)}) == 1
        buttons.last.tap()
        page.get_by_label("A picture").check()
        page.get_by_role("dialog").get_by_role("button", name="Ask for changes").tap()
        page.goto("about:blank")  # a decision that waits is sent when the page is left
        thread = world.caller(ada)
        with served(app) as again:
            person.site = again
            expect(person.open("/admin/queue?waiting_for=owner").page.get_by_role("link", name="Lamp")).to_be_visible()
        [asked] = thread.get(f"/api/projects/{lamp}/messages").json["items"]
        assert (asked["kind"], asked["text"][:36]) == ("changes_requested", "Please add a picture of Lamp, so tha")


def test_the_first_of_two_approvals_is_said_and_its_item_is_below(chromium, make_app, world, grace, ada):
    for title in ("Lamp", "Lantern"):
        world.project(ada, "pending", title=title)
    with served(make_app(APPROVALS_REQUIRED="2")) as site, visitor(chromium, site) as person:
        person.page.clock.install()
        page = person.enter("grace").open("/admin/queue").page
        expect(page.locator(".q-item h2")).to_have_text("Lamp")
        page.keyboard.press("a")
        said = page.locator(".q-bar [role=status]")
        expect(said).to_have_text("Your approval of Lamp (1 of 2).")
        page.clock.fast_forward(5_000)
        rows = page.locator(".q-rows .q-row")
        expect(rows).to_have_text([re.compile("^Lantern"), re.compile(r"^Lamp.*Your approval \(1 of 2\)")])
        page.clock.fast_forward(8_000)
        expect(said).to_have_text("")
        page.keyboard.press("j")
        actions = page.locator(".q-actions")
        expect(actions).to_contain_text("Your approval (1 of 2)")
        expect(actions.get_by_role("button", name="Approve")).to_have_count(0)


def test_what_is_said_never_lies_on_what_has_the_focus(chromium, app, world, grace, ada):
    for title in ("Lamp", "Lantern"):
        world.project(ada, "pending", title=title)
    size = {"viewport": {"width": 900, "height": 500}}
    with served(app) as site, visitor(chromium, site, **size) as person:
        page = person.enter("grace").open("/admin/queue").page
        expect(page.locator(".q-item h2")).to_have_text("Lamp")
        expect(page.locator("#q-write")).to_be_attached()
        page.locator(".q-pane").evaluate("pane => pane.scrollTo(0, pane.scrollHeight)")
        page.keyboard.press("a")
        expect(page.locator(".q-told")).to_be_visible()
        expect(page.locator(".q-item h2")).to_have_text("Lantern")
        expect(page.locator("#q-write")).to_be_attached()
        page.locator(".q-pane").evaluate("pane => pane.scrollTo(0, pane.scrollHeight)")
        below = page.locator(".q-told").bounding_box()
        page.locator("#q-write").evaluate("field => Object.assign(field.style, {position: 'fixed', inset: 'auto 0 0'})")
        assert below["y"] > 380
        page.locator("#q-write").focus()
        expect(page.locator("html")).to_have_class(re.compile("said-above"))
        assert not page.evaluate(OVERLAP, [".q-told", "#q-write"])
        page.locator("#q-write").blur()
        page.locator(".q-rows a").first.focus()
        expect(page.locator("html")).not_to_have_class(re.compile("said-above"))


def test_each_lane_has_its_number_and_messages_of_live_projects_are_one(chromium, app, world, grace, ada):
    world.project(ada, "pending", title="Lamp")
    torch = world.project(ada, title="Torch")
    world.caller(ada).post(f"/api/projects/{torch}/messages", {"text": "Please take it down."})
    asked = world.project(ada, "pending", title="Lantern")
    world.caller(grace).put(f"/api/review/projects/{asked}/request-changes", {"message": "Say more."})
    own = world.project(grace, "pending", title="Mine")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/queue").page
        lanes = page.get_by_role("navigation", name="Parts of the queue").get_by_role("link")
        expect(lanes).to_have_text(["To review2", "Held", "With the owner1", "Messages1"])
        expect(page.locator(f'.q-rows a[href="/admin/queue/{own}"] .badge')).to_have_text("Yours")
        lanes.filter(has_text="Messages").click()
        row = page.locator(".q-rows .q-row")
        expect(row).to_have_count(1)
        expect(row.locator(".badge")).to_have_text(["Live"])
        expect(page.locator(".q-messages .timeline")).to_contain_text("Please take it down.")
        page.get_by_label("Text", exact=True).fill("It is done.")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".q-messages .timeline")).to_contain_text("It is done.")
        lanes.filter(has_text="Held").click()
        expect(page.get_by_text("Nothing is held")).to_be_visible()
        lanes.filter(has_text="Messages").click()
        expect(page.get_by_text("No unanswered messages")).to_be_visible()


def test_how_many_are_selected_stands_in_one_line(chromium, app, world, grace, ada):
    for number in range(38):
        world.project(ada, "pending", title=f"Lamp {number}")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").page
        text = page.get_by_text("2 of 38 selected")
        for width in (1280, 900, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            person.open("/admin/queue")
            for number in (0, 1):
                page.get_by_label(f"Select Lamp {number}", exact=True).check()
            expect(text).to_be_visible()
            assert text.bounding_box()["height"] < 24, width
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_the_tiles_stand_four_and_four_and_states_have_colours_of_their_own(chromium, make_app, world, grace, ada):
    world.project(ada)
    world.project(ada, "rejected")
    with served(make_app(SITE_ACCENT="#a4262c")) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin").page
        tiles = page.locator(".figures > div")
        expect(tiles).to_have_count(8)
        tops = tiles.evaluate_all(TOPS)
        assert [tops.count(top) for top in sorted({*tops})] == [4, 4]
        appeals = tiles.filter(has_text="Open appeals").locator("dd")
        expect(appeals).to_have_text(["0", "0 upheld, 0 reversed"])
        sizes = appeals.evaluate_all("list => list.map(each => getComputedStyle(each).fontSize)")
        assert sizes == ["20px", "13px"]
        [approved, rejected] = page.locator(".legend rect").evaluate_all(FILLS)
        assert (approved, rejected) == ("rgb(28, 107, 52)", "rgb(164, 38, 44)")


def test_categories_of_a_reviewer_stand_in_columns_and_are_named_in_the_log(chromium, app, world, grace, ada):
    for name in ("Databases", "Developer tools", "Games", "Web frameworks"):
        world.category(name.lower().replace(" ", "-"), name)
    admin = world.caller(grace)
    for categories in (None, ["games"]):
        admin.put(f"/api/admin/users/{ada.id}", {"role": "reviewer", "review_categories": categories})
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open(f"/admin/users/{ada.id}").page
        person.button("Change the role…").click()
        boxes = page.locator(".review_categories input")
        expect(boxes).to_have_count(5)
        assert len(boxes.evaluate_all(LEFTS)) == 2
        changes = person.open("/admin/audit").page.locator(".q-changes")
        expect(changes.first).to_contain_text("Review categories")
        expect(changes.first).to_contain_text("All categories")
        expect(page.locator("main")).not_to_contain_text("review_categories")
        page.set_viewport_size({"width": 320, "height": 800})
        for field in page.locator("input[type=date]").all():
            assert field.bounding_box()["width"] >= 150


def test_each_endpoint_is_a_card_of_its_own(chromium, make_app, world, grace):
    named = '[{"name": "chat", "url": "https://a.example", "secret": "%s"}, {"name": "log", "url": "https://b.example"'
    endpoints = f'{named % ("s" * 32)}, "secret": "{"t" * 32}"}}]'
    with served(make_app(WEBHOOK_ENDPOINTS=endpoints)) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/deliveries").page
        cards = page.locator(".endpoints li")
        expect(cards).to_have_count(2)
        assert len(cards.evaluate_all(LEFTS)) == 2
        parts = cards.first.locator("strong, span span")
        assert len({*parts.evaluate_all(TOPS)}) == 3


def test_projects_say_whose_turn_it_is_and_until_when(chromium, make_app, grace, world):
    app, root, ada = make_app(), world.caller(grace), world.user("ada")
    pending, asked, refused = (
        world.project(ada, "pending", title=title) for title in ("Newcomer", "Queried", "Refused")
    )
    live, down = (world.project(ada, title=title) for title in ("Revised", "Sunken"))
    world.revise(live, ada, title="Revised again")
    root.put(f"/api/admin/projects/{down}/unpublish")
    root.put(f"/api/admin/projects/{refused}/reject", {"reason": "No."})
    until = root.put(f"/api/admin/projects/{asked}/request-changes", {"message": "Which licence?"}).json["review"]
    world.appeal(refused, ada)
    states = {
        pending: ["In review"], asked: ["Changes asked for"], refused: ["Rejected", "Appeal"],
        live: ["Live", "In review"], down: ["Taken down"],
    }  # fmt: skip
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open("/admin/projects?sort=oldest").page
        for project, words in states.items():
            title = world.stored(project)["title"]
            row = page.locator("tbody tr").filter(has=page.get_by_role("link", name=title, exact=True))
            expect(row.locator(".badge")).to_have_text(words)
        page.goto(f"{site}/admin/queue/{asked}?waiting_for=owner")
        year = until["closes_at"][:4]
        expect(page.locator(".q-item")).to_contain_text(re.compile(f"It waits for its owner until .* {year}"))
        expect(page.locator(".q-item")).to_contain_text("asked for changes")
        expect(page.get_by_text(re.compile(f"^until .* {year}$"))).to_have_count(2)
        expect(page.get_by_role("button", name="Show the new version")).to_have_count(0)
        root.put(f"/api/admin/projects/{live}/request-changes", {"message": "Why?"})
        page.goto(f"{site}/admin/queue/{live}")
        expect(page.locator(".q-item")).to_contain_text("then the changes are rejected, and the project stays live.")


@pytest.mark.extra("spam_rules")
def test_what_a_rule_rejected_is_put_into_the_queue_where_it_is_shown(chromium, app, world, grace, ada):
    root, owner = world.caller(grace), world.caller(ada)
    rule = {
        "name": "No casinos", "on": ["submission", "edit"], "then": "reject", "reason": "No casinos.", "state": "on",
        "when": [{"fact": "words", "is": "in", "value": ["casino"]}],
    }  # fmt: skip
    old, live = world.project(ada, "rejected", title="Refused"), world.project(ada, title="Live")
    root.post("/api/admin/rules/preview", {"rule": rule, "days": 1})
    assert root.post("/api/admin/rules", rule).status_code == 201
    body = {"title": "Lucky", "tagline": "Wins", "category": "tools", "url": "https://lucky.example"}
    lucky = owner.post("/api/projects", {**body, "description": "The best casino."}).json["id"]
    owner.put(f"/api/projects/{live}", {"description": "The best casino."})
    with served(app) as site, visitor(chromium, site) as person:
        page = person.enter("grace").open(f"/admin/queue/{old}").page
        expect(page.get_by_role("button", name="Show the history")).to_be_visible()
        expect(person.button("Put it into the queue")).to_have_count(0)
        for project in (lucky, live):
            page.goto(f"{site}/admin/queue/{project}")
            expect(page.get_by_text("A rule rejected this.")).to_be_visible()
            person.button("Put it into the queue").click()
            expect(page.get_by_text(re.compile("is in the queue\\."))).to_be_visible()
            expect(page.locator(".q-actions").get_by_role("button", name="Approve")).to_be_visible()
            expect(person.button("Put it into the queue")).to_have_count(0)
            assert root.get(f"/api/review/projects/{project}").json["review"]["waiting_for"] == "review"
