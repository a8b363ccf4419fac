"""The reading pages in a browser: the same without JavaScript, and what it adds."""

import re
from itertools import product

import pytest
from playwright.sync_api import expect

from tests.support.axe import inspector
from tests.support.chromium import served, text_without_ages
from tests.support.factories import PASSWORD
from tests.support.visitor import visitor

pytestmark = [pytest.mark.usefixtures("pages"), pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)]
HINT = re.compile(r"Passkeys work at \S+, not at this address\.\n+")  # a passkey needs a script
# What has moved in the page until now: how far, and the texts that did.
MOVED = """() => new Promise(done => {
    const moved = [];
    const noted = ({value, sources}) => [value, ...sources.map(({node}) => node?.textContent)];
    new PerformanceObserver(list => moved.push(...list.getEntries().map(noted)))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(moved), 300);
})"""
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def paths(world):
    """The pages of a directory with enough projects for two pages."""
    ada = world.user("ada")
    for number in range(22):
        world.project(ada, title=f"Lamp {number}", tags=["blue"], description="**Bright** https://lamp.example.")
    waiting = world.project(ada, "pending", title="Waiting")
    return [
        "/", "/?page=2", "/?q=lamp&sort=upvotes", "/?q=zzz", "/categories/tools", "/tags/blue", "/users/ada", "/best",
        "/p/1/lamp-0",
        f"/p/{waiting}/waiting", "/sign-in", "/sign-up", "/nothing", "/users/nobody",
    ]  # fmt: skip


@pytest.mark.parametrize("login", ["", "ada"])
def test_the_text_of_a_page_is_the_same_with_and_without_javascript(chromium, app, paths, login):
    texts = []
    for enabled in (True, False):
        with served(app) as site, visitor(chromium, site, 404, java_script_enabled=enabled) as person:
            if login:
                person.enter(login)
            texts.append({path: HINT.sub("", text_without_ages(person.open(path).page)) for path in paths})
    assert texts[0] == texts[1]
    assert all(texts[0].values())


def test_without_javascript_one_finds_signs_up_votes_and_leaves(chromium, app, world, paths):
    with served(app) as site, visitor(chromium, site, 401, 422, java_script_enabled=False) as person:
        page = person.open("/").page
        page.get_by_label("Search projects").fill("lamp 7")
        page.keyboard.press("Enter")
        expect(page.get_by_text("for “lamp 7”")).to_be_visible()
        page.get_by_role("button", name="Upvote Lamp 7, 0 votes").click()
        expect(page.get_by_text("Sign in to vote.")).to_be_visible()
        person.link("Create an account").click()
        page.get_by_label("Username").fill("Bob")
        page.get_by_label("E-mail").fill("bob@example.org")
        page.get_by_label("Password").fill(PASSWORD)
        person.button("Create the account").click()
        if page.get_by_label("Username").count():  # capitals are refused, with the reason next to the field
            expect(page.get_by_label("Username")).to_have_attribute("aria-invalid", "true")
            page.get_by_label("Username").fill("bob")
            page.get_by_label("Password").fill(PASSWORD)
            person.button("Create the account").click()
        expect(page.get_by_text("Your vote for Lamp 7 is counted.")).to_be_visible()
        person.link("Go back").click()
        expect(page.get_by_label("Search projects")).to_have_value("lamp 7")
        expect(page.get_by_role("button", name="Upvote Lamp 7, 1 vote")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("button", name="Upvote Lamp 7, 1 vote").click()
        expect(page.get_by_role("button", name="Upvote Lamp 7, 0 votes")).to_be_visible()
        page.get_by_label("Account: bob").click()
        person.button("Sign out").click()
        expect(person.link("Sign in")).to_be_visible()
        person.open("/admin")
        said = page.locator("main").inner_text()
        assert said.startswith("Console\n\nThis page needs JavaScript, and its script has not started.")
        expect(page.locator("header").get_by_role("link", name="Sign in")).not_to_be_visible()  # untrue of a member
        expect(page.locator("main a", has_text="sign in")).to_be_visible()


@pytest.mark.parametrize("broken", ["vote", "search", "more", "keys", "theme"])
def test_a_page_works_where_one_module_fails(chromium, app, world, paths, broken):
    """The name of a module's first call is made to throw."""
    stops = {
        "vote": "Intl.NumberFormat = function () { throw new Error('broken'); }",
        "search": "AbortController = function () { throw new Error('broken'); }",
        "more": "XMLHttpRequest = function () { throw new Error('broken'); }",
        "keys": "Document.prototype.addEventListener = () => { throw new Error('broken'); }",
        "theme": "Storage.prototype.getItem = () => { throw new Error('broken'); }",
    }
    with served(app) as site, visitor(chromium, site) as person:
        person.page.add_init_script(stops[broken])
        page = person.enter("ada").open("/").page
        button = page.get_by_role("button", name="Upvote Lamp 21, 0 votes")
        button.click()
        expect(page.get_by_role("button", name="Upvote Lamp 21, 1 vote")).to_be_visible()
        person.said.clear()


def test_on_a_narrow_phone_names_are_cut_with_dots_and_the_chosen_category_is_in_sight(chromium, make_app, world):
    for name in ("audio", "books", "charts", "databases", "editors", "video"):
        world.project(category=name, description="Draws lines.", tags=["cli"])
    app = make_app(SITE_NAME="The Directory of Quite Remarkable Software Projects")
    with served(app) as site, visitor(chromium, site, **PHONE) as person:
        page = person.open("/categories/video").page
        cut = page.locator(".site .name").evaluate(
            "(name) => [name.scrollHeight > name.clientHeight, getComputedStyle(name).webkitLineClamp]"
        )
        assert cut == [True, "2"]
        chosen = page.locator(".categories [aria-current]").bounding_box()
        assert chosen["x"] >= 0
        assert chosen["x"] + chosen["width"] <= 360
        expect(page.locator(".search kbd")).not_to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        parts = ("h1", ".search", ".categories >> nth=0", ".tabs")
        boxes = [page.locator(each).bounding_box() for each in parts]
        heading, search, categories, tabs = (box["y"] for box in boxes)
        assert heading < search < categories < tabs
        page = person.open("/p/1/" + world.stored(1)["slug"]).page
        parts = (".acts", ".story > .grow", "aside.facts")
        first = [page.locator(each).bounding_box()["y"] for each in parts]
        assert first == sorted(first)


LANGUAGES = ("en", "de", "fr", "es", "pt-BR", "ja", "ar")
# The parts of the header, and the chosen tab, that lie outside of the screen or show less than they hold.
CUT = """() => [...document.querySelectorAll(".top *, .tabs [aria-current]")].filter((each) => {
    const { left, right, width } = each.getBoundingClientRect();
    if (!width || each.closest(".sheet, svg")) return false;
    const hides = getComputedStyle(each).overflow !== "visible";
    const holds = each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1;
    return left < -0.5 || right > innerWidth + 0.5 || (hides && holds);
}).map((each) => each.outerHTML.slice(0, 90))"""


def test_on_a_phone_no_language_cuts_the_name_of_the_site_a_button_or_a_tab(chromium, make_app, world):
    world.project(world.user("ada"), title="Lamp")
    with served(make_app(SITE_LANGUAGES=",".join(LANGUAGES))) as site, visitor(chromium, site) as person:
        for login, paths in (("", ["/?q=lamp", "/best?"]), ("ada", ["/?q=lamp", "/mine?"])):
            if login:
                person.enter(login)
            for language, path in product(LANGUAGES, paths):
                page = person.open(f"{path}&lang={language}").page
                for width in (320, 360, 390):
                    page.set_viewport_size({"width": width, "height": 700})
                    assert page.evaluate(CUT) == [], (path, language, width)


@pytest.mark.parametrize("with_script", [True, False])
def test_on_a_phone_a_sheet_has_the_categories_and_tags_within_one_screen(chromium, make_app, world, with_script):
    for number in range(10):
        world.project(category=f"category-{number}", tags=[f"tag-{number}", "cli"])
    phone = {"viewport": {"width": 390, "height": 844}, "java_script_enabled": with_script}
    with served(make_app()) as site, visitor(chromium, site, **phone) as person:
        page = person.open("/").page
        tag = page.get_by_role("navigation", name="Tags").get_by_role("link", name=re.compile("cli"))
        expect(tag).to_be_hidden()
        person.link("Filter").click()
        for each in page.locator(".categories a").all():
            box = each.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
            assert box["y"] + box["height"] <= 844
        if with_script:
            assert inspector(page)() == []
            page.keyboard.press("Escape")
        else:
            person.link("Close the filter").click()
        expect(tag).to_be_hidden()
        expect(page.locator("article.row")).to_have_count(10)
        person.link("Filter").click()
        tag.click()
        expect(page).to_have_url(f"{site}/tags/cli")
        expect(page.get_by_role("heading", name="Projects tagged cli")).to_be_visible()


@pytest.mark.extra("reports")
def test_the_tabs_of_a_phone_are_one_line_that_scrolls(chromium, make_app, world):
    world.user("ada")
    with served(make_app(REPORTS="members")) as site, visitor(chromium, site, **PHONE) as person:
        page = person.enter("ada").open("/mine?reports=1").page
        tabs = page.locator(".tabs a")
        assert len({box["y"] for box in (tab.bounding_box() for tab in tabs.all())}) == 1
        box = page.locator(".tabs [aria-current]").bounding_box()  # the last one
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_picture_opens_over_its_page_with_the_others_and_a_link_without_the_script(chromium, app, world):
    project = world.project(title="Lamp")
    for words in ("Front", "Back", "Inside"):
        world.picture(project, words)
    path = f"/p/{project}/lamp"
    with served(app) as site, visitor(chromium, site) as person:
        page = person.open(path).page
        page.locator(".pictures a").nth(1).click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("img", name="Back")).to_be_visible()
        assert inspector(page)() == []
        person.button("Next picture").click()
        expect(dialog.get_by_role("img", name="Inside")).to_be_visible()
        page.keyboard.press("ArrowRight")
        expect(dialog.get_by_role("img", name="Front")).to_be_visible()
        person.button("Previous picture").click()
        expect(dialog.get_by_role("img", name="Inside")).to_be_visible()
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(page.locator(".pictures a").nth(1)).to_be_focused()
        assert page.url == f"{site}{path}"
        first, column = (page.locator(each).bounding_box() for each in (".pictures img >> nth=0", ".story"))
        assert (first["x"], first["width"]) == (column["x"], column["width"])
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        person.link("Share").click()
        expect(page.locator(".notice")).to_have_text("The address of this page is copied.")
        assert page.evaluate("navigator.clipboard.readText()") == f"{site}{path}"
    with served(app) as site, visitor(chromium, site, java_script_enabled=False) as person:
        page = person.open(path).page
        expect(person.link("Share")).to_have_attribute("href", path)
        page.locator(".pictures a").first.click()
        page.wait_for_url(re.compile(r"/images/\w+\.webp$"))
        person.said.clear()  # of the browser's own page around a picture


def test_print_has_the_content_and_the_addresses_and_no_buttons(chromium, app, world):
    ada = world.user("ada")
    facts = {"url": "https://lamp.example/start", "repository_url": "https://code.example/lamp/lamp"}
    project = world.project(ada, title="Lamp", description="See [the docs](https://docs.example/).", **facts)
    for words in ("Front", "Back", "Inside"):
        world.picture(project, words)
    with served(app) as site, visitor(chromium, site, **PHONE) as person:
        page = person.enter("ada").open(f"/p/{project}/lamp").page
        page.emulate_media(media="print")
        for path in (f"/p/{project}/lamp", "/"):
            person.open(path)
            shown = page.locator("main :is(button, .button, summary, input, .narrower a)").filter(visible=True)
            expect(shown).to_have_count(0)
        person.open(f"/p/{project}/lamp")
        after = "(links) => links.map((link) => getComputedStyle(link, '::after').content)"
        assert page.locator(".outward").evaluate_all(after) == [f'"{address}"' for address in facts.values()]
        assert page.locator(".prose a").evaluate_all(after) == ['" (https://docs.example/)"']
        edges = "(all) => all.map((each) => each.getBoundingClientRect().right)"
        assert max(page.locator(".pictures img").evaluate_all(edges)) <= 360


def test_no_line_begins_or_ends_with_a_dot_and_a_project_without_a_text_has_its_buttons_next_to_its_name(
    chromium, app, world
):
    project = world.project(title="Lamp", owner=world.user("a-name-of-thirty-two-characters1"), tags=["oil"])
    with served(app) as site, visitor(chromium, site, **PHONE) as person:
        page = person.open("/?sort=upvotes").page
        # Where each part of a row's last line begins and whether its dot shows: the one of a line's first is cut off.
        parts = page.locator(".row .meta").evaluate(
            """(line) => [...line.children].filter((part) => part.offsetWidth).map((part) => {
              const dot = getComputedStyle(part, "::before");
              const at = part.getBoundingClientRect().left - line.getBoundingClientRect().left;
              return [at, at + parseFloat(dot.left) + parseFloat(dot.width) > 0, dot.content];
            })"""
        )
        first = min(at for at, *_ in parts)
        assert len([at for at, *_ in parts if at == first]) > 1, "more than one line"
        assert [shown for _, shown, _ in parts] == [at > first for at, *_ in parts]
        assert {content for *_, content in parts} == {'"·"'}
        page.set_viewport_size({"width": 1280, "height": 800})
        person.open(f"/p/{project}/lamp")
        name, buttons = (page.locator(each).bounding_box() for each in (".shown header", ".acts"))
        assert name["y"] == buttons["y"]
        assert name["x"] + name["width"] < buttons["x"]
        assert buttons["width"] < 300


def test_show_more_keeps_the_focus_and_takes_over_the_address(chromium, app, world):
    for number in range(45):
        world.project(title=f"Lamp {number}")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.open("/").page
        more = person.link("Show more")
        more.focus()
        page.keyboard.press("Enter")
        expect(page.locator("article.row")).to_have_count(40)
        expect(more).to_be_focused()
        assert page.url == f"{site}/?page=2"
        expect(page.locator(".pager")).to_contain_text("Page 2 of 3")
        expect(page.locator(".notice")).to_have_text("Page 2 of 3")  # which a screen reader reads out
        page.keyboard.press("Enter")
        expect(page.locator("article.row")).to_have_count(45)
        expect(page.locator("article.row").nth(40).get_by_role("link").first).to_be_focused()
        ids = page.eval_on_selector_all("article.row", "rows => rows.map(row => row.id)")
        assert len({*ids}) == 45
        page = person.open("/best").page
        person.link("Show more").click()
        expect(page.locator("article.row")).to_have_count(40)
        expect(page.get_by_role("heading", name="No votes yet")).to_have_count(1)


def test_a_screen_has_nine_rows_of_a_list(chromium, app, world):
    of_tools = {"slug": "tools", "name": "Tools", "description": "What one has at hand all day, and what makes it."}
    world.caller(world.admin()).post("/api/admin/categories", of_tools)
    for number in range(30):
        world.project(title=f"Lamp {number}")
    with served(app) as site, visitor(chromium, site) as person:
        person.page.set_viewport_size({"width": 1280, "height": 800})
        for path in ("/?sort=newest", "/?sort=upvotes&page=2", "/categories/tools?sort=popular&page=2", "/?q=lamp"):
            rows = person.open(path).page.eval_on_selector_all(
                "article.row", "rows => rows.map(row => row.getBoundingClientRect()).map(at => [at.height, at.bottom])"
            )
            assert {height for height, _ in rows} == {72}, path
            assert sum(bottom <= 800 for _, bottom in rows) >= 9, (path, rows)
        person.page.set_viewport_size({"width": 320, "height": 800})
        ranks = person.open("/?sort=popular&page=2").page.locator(".rank")
        assert ranks.all_text_contents() == [str(n) for n in range(21, 31)]
        assert all(ranks.evaluate_all("ranks => ranks.map(each => each.offsetHeight < 30)"))  # on one line


def test_the_first_screen_of_the_demo_has_eight_pictures_or_logos_and_its_lists_nine_rows(chromium, app):
    assert app.test_cli_runner().invoke(args=["seed"]).exit_code == 0
    in_sight = """all => all.map(each => each.getBoundingClientRect())
        .filter(at => at.right > 0 && at.left < innerWidth && at.bottom <= innerHeight).length"""
    with served(app) as site, visitor(chromium, site) as person:
        person.page.set_viewport_size({"width": 1280, "height": 800})
        page = person.open("/").page
        assert page.eval_on_selector_all(".shelf img", in_sight) >= 8
        page = person.open("/?sort=newest").page
        assert page.locator(".day").count() > 1
        assert page.eval_on_selector_all("article.row", in_sight) >= 9


def test_nothing_moves_while_a_page_appears_or_is_scrolled(chromium, make_app, world):
    for number in range(24):
        world.project(title=f"Lamp {number}", tagline="It lights up", votes=number % 3)
    with served(make_app(SITE_LANGUAGES="en,de")) as site, visitor(chromium, site) as person:
        for size, path in product(
            ({"width": 412, "height": 823}, {"width": 1280, "height": 800}),
            ("/", "/best", "/?sort=upvotes", "/categories", "/tags", "/p/1/lamp-0"),
        ):
            person.page.set_viewport_size(size)
            page = person.open(path).page
            page.wait_for_load_state("networkidle")
            page.mouse.wheel(0, 2000)
            moved = page.evaluate(MOVED)
            assert moved == [], (path, size)


def test_a_script_shows_ages_and_names_of_days_and_more_rows_of_a_day_need_no_second_heading(chromium, make_app, world):
    for number in range(22):
        world.project(title=f"Lamp {number}", tags=["blue"])
    with served(make_app(SITE_LANGUAGES="en,de")) as site, visitor(chromium, site) as person:
        page = person.open("/").page
        expect(page.locator(".day")).to_have_text(re.compile("Today|Yesterday"))  # it may be midnight
        expect(page.locator(".row time")).to_have_count(0)
        person.link("Show more").click()
        expect(page.locator("article.row")).to_have_count(22)
        expect(page.locator(".day")).to_have_count(1)
        page = person.open("/?sort=upvotes").page
        person.link("Show more").click()
        expect(page.locator(".row time").last).to_have_text(re.compile("now|minutes? ago"))
        # What is copied has no words that are not seen.
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.row'))")
        assert "Tag " not in page.evaluate("getSelection().toString()")
        page = person.open("/?lang=de").page
        expect(page.locator(".day")).to_have_text(re.compile("Heute|Gestern"))
        page = person.open("/?lang=de&sort=upvotes").page
        expect(page.locator(".row time").first).to_have_text(re.compile("jetzt|vor .* Minuten?"))


def test_one_skips_the_header_the_search_and_the_categories_by_keyboard(chromium, app, world):
    world.project(title="Lamp")
    with served(app) as site, visitor(chromium, site) as person:
        page = person.open("/").page
        page.keyboard.press("Tab")
        expect(person.link("Skip to content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#projects")).to_be_focused()  # the browser has gone there
        page.keyboard.press("Tab")
        expect(page.locator(".tabs a").first).to_be_focused()


def test_the_theme_and_the_size_of_letters_are_the_readers(chromium, app, world):
    world.project()
    with served(app) as site, visitor(chromium, site, color_scheme="light") as person:
        page = person.open("/").page
        for theme in ("light", "dark"):
            page.get_by_role("button", name=re.compile("^Theme")).click()
            assert page.evaluate("document.documentElement.dataset.theme") == theme
        page.reload()
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
        size = "parseFloat(getComputedStyle(document.querySelector('.row h3 a')).fontSize)"
        before = page.evaluate(size)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert page.evaluate(size) == 2 * before


@pytest.mark.parametrize("path", ["/", "/categories/tools"])
def test_forced_colours_show_what_is_chosen(chromium, app, world, path):
    world.project()
    with served(app) as site, visitor(chromium, site, forced_colors="active") as person:
        page = person.open(path).page
        edge = "(link) => getComputedStyle(link).borderBottomWidth"
        tabs = [tab.evaluate(edge) for tab in page.locator(".tabs a").all()]
        assert len({*tabs[1:]}) == 1
        assert tabs[0] != tabs[1]
        chips = {
            chip.get_attribute("aria-current"): chip.evaluate(edge) for chip in page.locator(".categories a").all()
        }
        assert chips["true"] != chips[None]


# The numbers that take more than one line: as the browser lays out their text.
BROKEN = """() => [...document.querySelectorAll(".count")].filter((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
}).map((each) => each.parentElement.innerText)"""


@pytest.mark.parametrize(
    "name", ["Applications for the desktop and the terminal", "W" * 50, "データベースとそのための道具"]
)
def test_a_number_is_on_one_line_however_long_the_name_beside_it(chromium, app, world, name):
    world.category("long", name)
    for _ in range(12):
        world.project(category="long")
    with served(app) as site, visitor(chromium, site) as person:
        for path in ("/", "/categories/long"):
            page = person.open(path).page
            for width in (320, 390, 600, 768, 900, 1024, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.locator(".categories .count").filter(has_text="12").count() == 1
                assert page.evaluate(BROKEN) == [], (path, width)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
