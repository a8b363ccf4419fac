"""The lists of projects as pages: what they show, where they are, and what their head says."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from sqlalchemy import update

from directory.extensions import db
from directory.models import Project
from directory.pages.reading import _heading
from tests.pages.conftest import head_of, text_of, titles
from tests.support.factories import Api, World

HTML = "text/html; charset=utf-8"


def test_a_list_is_complete_html(api, world):
    world.project(title="Lanternfish", tagline="Charts in the terminal", tags=["csv"], votes=2)
    answer = api.get("/")
    assert (answer.status_code, answer.content_type, answer.headers["Cache-Control"]) == (200, HTML, "public, no-cache")
    assert titles(answer) == ["Lanternfish"]
    assert "Charts in the terminal Tools Tag csv" in text_of(answer)
    assert '<a href="/categories/tools">Tools</a>' in answer.text
    assert '<a class="tag" href="/tags/csv"><span class="unseen">Tag </span>csv</a>' in answer.text


def test_an_empty_directory_says_so_and_where_to_submit(api, world):
    world.category("web", "Web")
    assert "No projects yet Be the first to submit one. Submit a project" in text_of(api.get("/"))
    assert "No projects in Web yet Be the first to submit one." in text_of(api.get("/categories/web"))


def test_a_directory_without_categories_asks_nobody_to_submit_and_leads_administrators_to_the_console(api, world):
    admin = world.caller(world.admin())
    for caller in (api, world.caller(world.user("ada"))):
        text = text_of(caller.get("/"))
        assert "This directory opens soon" in text
        assert "submit one" not in text
    assert "There are no categories yet" in text_of(admin.get("/"))
    assert '<a class="button primary" href="/admin/categories">' in admin.get("/").text
    assert admin.post("/api/admin/categories", {"slug": "web", "name": "Web"}).status_code == 201
    assert "Be the first to submit one." in text_of(api.get("/"))


def test_a_refused_search_says_why_and_not_that_there_are_no_projects(api, world):
    world.project()
    text = text_of(api.get(f"/?q={'x' * 201}"))
    assert "Must be at most 200 characters long." in text
    assert "No projects" not in text
    assert "0 projects" not in text


def facets_of(answer: Any) -> dict[str, dict[str, tuple[str, str, str]]]:
    """Of each kind of facet of a list's page the names, with their address, their number, and "true" if chosen."""
    link = re.compile(
        r'<a href="([^"]*)"(?: rel="nofollow")?(?: aria-current="(true)")?><span[^>]*>(.*?)</span>'
        r'(?: <span class="count">(.*?)</span>)?</a>'
    )
    parts = re.findall(r'<nav class="categories" aria-label="(\w+)">(.*?)</nav>', answer.text, re.DOTALL)
    return {
        kind: {name: (address, number, chosen) for address, chosen, name, number in link.findall(links)}
        for kind, links in parts
    }


def test_a_list_has_the_numbers_of_what_it_can_be_narrowed_to_and_a_click_brings_as_many(api, world):
    world.category("web", "Web")
    world.category("none", "None")
    for tags in (["blue"], ["blue", "red"], ["red"]):
        world.project(title="Lamp", tags=tags)
    world.project(title="Lantern", tags=["blue"], category="web")
    seen = set()
    waiting = ["/", "/?q=lamp", "/tags/blue", "/categories/tools?tag=red", "/?tag=blue,red&q=lamp&sort=upvotes"]
    while waiting:
        path = waiting.pop()
        for kind, links in facets_of(api.get(path)).items():
            for name, (address, number, chosen) in links.items():
                address = unescape(address)
                shown = path if chosen else address
                if number:
                    total = f'<p role="status">{number} project{"" if number == "1" else "s"}</p>'
                    assert total in api.get(shown).text, (path, kind, name)
                if address not in seen:
                    seen.add(address)
                    waiting.append(address)
    assert {"/", "/tags/red", "/?tag=blue,red", "/categories/tools?q=lamp&tag=blue"} <= seen
    found = facets_of(api.get("/tags/blue"))
    assert found == {
        "Categories": {
            "All": ("/tags/blue", "", "true"),
            "Tools": ("/categories/tools?tag=blue", "2", ""),
            "Web": ("/categories/web?tag=blue", "1", ""),
        },
        "Tags": {"blue": ("/", "3", "true"), "red": ("/?tag=blue,red", "1", "")},
    }
    assert facets_of(api.get("/categories/web"))["Categories"]["Web"] == ("/", "1", "true")
    assert "None" not in facets_of(api.get("/"))["Categories"]
    assert 'href="/?q=zzz">Search all categories</a>' in api.get("/categories/tools?q=zzz").text


def test_a_text_browser_that_knows_no_attribute_form_votes_and_searches(api, world):
    project = world.project(title="Lamp")
    found = re.search(r'<form class="voting" method="post" action="([^"]+)">\s*<button class="vote"', api.get("/").text)
    assert found[1] == f"/votes/{project}?next=%2F"
    assert re.search(
        '<form class="search"[^>]*>.*<button type="submit" hidden>.*?</form>', api.get("/").text, re.DOTALL
    )


def test_a_list_is_narrowed_sorted_and_searched_by_its_address(api, world):
    world.category("web", "Web")
    world.project(title="Old charts", votes=3, tags=["csv"])
    world.project(title="New charts", votes=1, category="web", tags=["csv"])
    world.project(title="Notes", category="web")
    expected = {
        "/": ["Notes", "New charts", "Old charts"],
        "/?sort=upvotes": ["Old charts", "New charts", "Notes"],
        "/?q=charts": ["Old charts", "New charts"],
        "/categories/web": ["Notes", "New charts"],
        "/categories/web?q=charts": ["New charts"],
        "/categories/web?tag=csv": ["New charts"],
        "/tags/csv?sort=newest": ["New charts", "Old charts"],
        "/?utm_source=x&utm_source=y&%ff": ["Notes", "New charts", "Old charts"],
    }
    assert {path: titles(api.get(path)) for path in expected} == expected


def test_an_order_that_is_a_rank_is_numbered_over_all_pages_and_the_newest_have_headings(api, world):
    for votes in (*[0] * 20, 1):
        world.project(votes=votes)
    for sort in ("upvotes", "popular"):
        pages = [api.get(f"/?sort={sort}&page={n}").text for n in (1, 2)]
        ranks = [re.findall('<span class="rank(?: best)?">(.*?)</span>', page) for page in pages]
        assert ranks == [[str(n) for n in range(1, 21)], ["21"]]
    with world.app.app_context():
        early = update(Project).where(Project.id <= 3)
        db.session.execute(early.values(published_at=datetime(2024, 3, 9, 23, 59, tzinfo=UTC)))
        db.session.execute(update(Project).where(Project.id == 1).values(published_at=datetime(2023, 3, 8, tzinfo=UTC)))
        db.session.commit()
    today = datetime.now(UTC).date()
    for page, days in ((1, [today.isoformat(), "2024"]), (2, ["2023"])):
        text = api.get(f"/?page={page}").text
        assert re.findall('<h2 class="day"><time datetime="(.*?)">', text) == days
        assert 'class="rank' not in text
    assert 'class="rank' not in api.get("/?q=project").text


@pytest.mark.parametrize(
    ("today", "headings"),
    [
        (date(2026, 11, 29), ["Today", "Yesterday", "This week", "November", "2026", "2026", "2025"]),  # a Sunday
        (date(2026, 11, 30), ["Today", "Yesterday", "November", "November", "2026", "2026", "2025"]),  # a Monday
        (date(2027, 1, 1), ["Today", "Yesterday", "This week", "2026", "2026", "2026", "2025"]),  # a Friday
    ],
)
def test_the_newest_stand_below_their_day_their_week_their_month_or_their_year(today, headings):
    days = [0, 1, 3, 9, 40, 150, 400]
    found = [_heading(today - timedelta(days=ago), today) for ago in days]
    assert [name for _, name in found] == headings
    assert [at for at, _ in found[:2]] == [today.isoformat(), (today - timedelta(days=1)).isoformat()]
    assert all(at == today.strftime("%G-W%V") for at, name in found if name == "This week")


def test_below_a_heading_no_row_has_its_date_again(api, world):
    ids = [world.project() for _ in range(3)]
    with world.app.app_context():
        old = update(Project).where(Project.id == ids[0])
        db.session.execute(old.values(published_at=datetime(2024, 3, 9, tzinfo=UTC)))
        db.session.commit()
    recent, _, old = api.get("/").text.partition('<h2 class="day"><time datetime="2024">2024</time></h2>')
    assert recent.count("<article") == 2
    assert "<time" not in recent.partition("<article")[2]
    assert (old.count("<article"), old.count("<time")) == (1, 0)
    assert api.get("/?sort=upvotes").text.count("<time") == 3


def test_letters_and_colour_of_a_project_follow_from_its_name_alone(api, world):
    names = ["Vim", "Vite", "go", "IO", "Visual Studio", "日本", "x", "Ä-b", *(f"Lamp {n}" for n in range(12))]
    for name in names:
        world.project(title=name)
    found = re.findall(r'monogram tint-(\d)" aria-hidden="true">(.*?)<', api.get("/?sort=newest").text)
    letters = ["VM", "VT", "GO", "IO", "VS", "日本", "X", "ÄB", *(f"L{str(n)[0]}" for n in range(12))]
    assert [each for _, each in found] == letters[::-1]
    [*by_title] = re.findall(r'monogram tint-(\d)" aria-hidden="true">(.*?)<', api.get("/?sort=newest&q=lamp").text)
    assert set(by_title) <= set(found)
    cards = re.findall(r'<li class="tint-(\d)" data-letters="(.*?)">', api.get("/").text)
    assert cards
    assert set(cards) <= set(found)


def test_a_card_writes_out_no_zero_and_tells_it_to_those_who_hear_the_page(api, world):
    for votes in (0, 0, 0, 1):
        world.project(votes=votes)
    shelf = api.get("/").text.partition("</ol>")[0]
    assert (shelf.count('<p class="votes unseen">'), shelf.count('<p class="votes">')) == (3, 1)


def test_the_first_page_has_the_headline_the_tagline_or_the_name(make_app):
    tagline = "Charts & more"
    for settings, shown in (
        ({}, ['<h1 dir="auto">Project Directory</h1>', "browse, search, vote"]),
        ({"SITE_TAGLINE": tagline}, ['<h1 dir="auto">Charts &amp; more</h1>']),
        ({"SITE_TAGLINE": tagline, "SITE_HEADLINE": "<We>"}, [">&lt;We&gt;</h1>", ">Charts &amp; more</p>"]),
    ):
        main = Api(make_app(**settings)).get("/").text.partition("<main")[2]
        assert all(each in main for each in shown), settings


def test_a_search_shows_its_words_in_place_of_what_the_directory_and_a_category_say_of_themselves(make_app):
    app = make_app(SITE_TAGLINE="Charts", SITE_HEADLINE="We")
    world, api = World(app), Api(app)
    described = {"slug": "web", "name": "web", "description": "Of the web."}
    assert world.caller(world.admin()).post("/api/admin/categories", described).status_code == 201
    world.project(title="Lamp", category="web")
    about = re.compile('<div id="about">(.*?)</div>', re.DOTALL)
    expected = {
        "/": ["We", "Charts"],
        "/?q=lamp": ["“lamp”"],
        "/categories/web": ["web", "Of the web."],
        "/categories/web?q=lamp": ["“lamp” in web"],
    }
    found = {path: re.findall('auto">(.*?)<', about.search(api.get(path).text)[1]) for path in expected}
    assert found == expected
    nothing = api.get("/?q=nothing").text
    # The categories, and projects to go on with, lead away from a search that finds nothing.
    for shown in ('<a href="/categories/web">', 'id="trending"', ">Lamp</a></h3>"):
        assert shown in nothing, shown
    gone = api.get("/nothing", headers={"Accept": "text/html"})
    assert (gone.status_code, gone.text.count("</h3>")) == (404, 1)
    tiles = text_of(api.get("/categories"))
    assert re.search("web.*1 project.*Of the web.*Newest: .?Lamp", tiles)


def test_the_title_says_what_is_shown(api, world):
    world.category("web", "Web & more")
    for number in range(21):
        world.project(title=f"Chart {number}", category="web", tags=["csv"])
    expected = {
        "/": "Project Directory",
        "/?page=2": "Page 2 · Project Directory",
        "/?q=chart": "“chart” · Project Directory",
        "/?q=chart&page=2": "“chart” · Page 2 · Project Directory",
        "/categories/web": "Web &amp; more · Project Directory",
        "/categories/web?q=chart": "“chart” in Web &amp; more · Project Directory",
        "/tags/csv": "Projects tagged csv · Project Directory",
        "/categories/web?tag=csv&page=2": "Web &amp; more, tagged csv · Page 2 · Project Directory",
    }
    found = {path: re.search("<title>(.*)</title>", api.get(path).text)[1] for path in expected}
    assert found == expected


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/?category=tools", "/categories/tools"),
        ("/?category=Tools", "/categories/tools"),
        ("/?category=tools&q=a+b&sort=upvotes&utm_source=x", "/categories/tools?q=a%20b&sort=upvotes&utm_source=x"),
        ("/?tag=csv&q=a", "/tags/csv?q=a"),
        ("/?tag=csv&category=tools", "/categories/tools?tag=csv"),
        ("/tags/csv?category=tools", "/categories/tools?tag=csv"),
        ("/?tag=b,a&category=tools", "/categories/tools?tag=b,a"),
        ("/?tag=csv,,csv&q=a", "/tags/csv?q=a"),
        ("/tags/csv?tag=b&q=a%2Cb", "/?tag=b,csv&q=a,b"),
        ("/tags/csv?tag=b&category=tools", "/categories/tools?tag=b,csv"),
        ("/categories/Tools?q=a", "/categories/tools?q=a"),
        ("/tags/CSV", "/tags/csv"),
        ("/categories/tools/", "/categories/tools"),
        ("/categories/tools/?q=a", "/categories/tools?q=a"),
    ],
)  # fmt: skip
def test_other_addresses_of_a_list_are_redirected_for_good(api, world, path, location):
    world.project(tags=["csv"])
    answer = api.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (308, location)


@pytest.mark.parametrize(
    "path",
    [
        "/categories/nothing", "/categories/%00", "/categories/a.b", "/tags/nothing", "/tags/..", "/?sort=nonsense",
        "/?category=no/such", "/?category=..", "/?tag=a%20b", "/?tag=thing,nothing", "/?tag=a,..",
        "/?tag=a,b,c,d,e,f", "/?page=2", "/?page=0", "/?page=x", "/?page=-1",
        "/?page=01",
        "/?page=501", "/?page=99999999999999999999", "/categories/tools?page=2", "/?q=thing&page=2",
        "/categories/tools?tag=nothing", f"/categories/{'a' * 51}",
    ],
)  # fmt: skip
def test_what_is_not_there_is_404_with_a_page(api, world, path):
    world.project()
    answer = api.get(path, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.content_type) == (404, HTML)
    assert "Page not found" in text_of(answer)
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_tag_or_category_that_finds_nothing_of_a_search_is_there_all_the_same(api, world):
    world.category("empty")
    world.project(tags=["csv"])
    for path in ("/tags/csv?q=zzz", "/categories/empty?q=zzz", "/categories/empty?tag=csv", "/?q=zzz"):
        answer = api.get(path)
        assert answer.status_code == 200
        assert "Nothing found" in text_of(answer)


def test_a_list_with_several_filters_is_for_people_and_each_filter_can_be_removed(api, world):
    world.project(title="Both", tags=["csv", "cli"])
    world.project(title="One", tags=["csv"])
    expected = {
        "/?tag=csv,cli": ("Projects tagged cli and csv", ["/tags/csv", "/tags/cli"]),
        "/categories/tools?tag=csv,cli": (
            "Tools, tagged cli and csv", ["/?tag=cli,csv", "/categories/tools?tag=csv", "/categories/tools?tag=cli"]
        ),
        "/?tag=csv,cli&q=both": ("“both” in Projects tagged cli and csv", ["/?tag=cli,csv", "/tags/csv?q=both"]),
    }  # fmt: skip
    for path, (title, wider) in expected.items():
        answer = api.get(path)
        assert titles(answer) == ["Both"]
        assert f"<title>{title} ·" in answer.text
        assert '<meta name="robots" content="noindex">' in head_of(answer)
        assert '<a rel="nofollow" ' not in answer.text
        chips = re.findall(r'<a class="chip" href="(.*?)"( rel="nofollow")?', answer.text)
        assert [address for address, _ in chips][: len(wider)] == wider
        assert all(bool(hidden) == ("?" in address) for address, hidden in chips)
        tabs = answer.text.partition('aria-label="Order"')[2].partition("</nav>")[0]
        assert tabs.count("<a ") == tabs.count(' rel="nofollow"') > 2
    assert '<link rel="canonical" href="/?tag=cli,csv">' in head_of(api.get("/?sort=newest&tag=csv,cli"))
    assert 'name="tag" value="cli,csv"' in api.get("/?tag=csv,cli").text
    assert 'href="/api/projects.atom?tag=cli,csv"' in head_of(api.get("/?tag=csv,cli"))
    for path in ("/tags/csv", "/categories/tools"):
        assert "noindex" not in api.get(path).text
    assert "nofollow" not in api.get("/?q=both").text.partition('id="results"')[2].partition('class="rows"')[0]
    assert "noindex" in api.get("/categories/tools?tag=csv").text


def test_a_search_that_is_refused_shows_the_form_again_with_the_reason(api):
    answer = api.get(f"/?q={'a' * 201}")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (422, "no-store")
    assert f'value="{"a" * 201}"' in answer.text
    assert 'aria-describedby="search-about"' in answer.text
    assert "200" in text_of(answer)


def test_pages_have_addresses_and_know_their_neighbours(api, world):
    for number in range(41):
        world.project(title=f"Chart {number:02}", votes=0)
    pages = [api.get(path) for path in ("/", "/?page=2", "/?page=3")]
    assert [len(titles(page)) for page in pages] == [20, 20, 1]
    assert len({title for page in pages for title in titles(page)}) == 41
    assert [re.findall('<link rel="(prev|next)" href="([^"]*)">', page.text) for page in pages] == [
        [("next", "/?page=2")],
        [("prev", "/"), ("next", "/?page=3")],
        [("prev", "/?page=2")],
    ]
    assert "Previous page Page 2 of 3 Show more" in text_of(pages[1])
    searched = api.get("/?q=chart&sort=upvotes&utm_source=x")
    assert '<link rel="next" href="/?q=chart&amp;sort=upvotes&amp;page=2">' in searched.text


def test_the_head_names_one_address_the_feeds_and_what_search_engines_may_list(make_app, world):
    world.category("web", "Web")
    world.project(category="web", tags=["csv"], title="Charts")
    api = Api(make_app(SITE_URL="https://projects.example", SITE_NAME="Ours & theirs"))
    text = head_of(api.get("/categories/web?utm_source=x&sort=newest"))
    assert '<link rel="canonical" href="https://projects.example/categories/web">' in text
    assert '<meta property="og:url" content="https://projects.example/categories/web">' in text
    assert '<meta property="og:site_name" content="Ours &amp; theirs">' in text
    assert '<meta name="twitter:card" content="summary">' in text
    assert '<meta property="og:image" content="https://projects.example/favicon.svg">' in text
    assert 'title="New projects: Web" href="/api/projects.atom?category=web">' in text
    assert "noindex" not in text
    assert '<meta name="robots" content="noindex">' in head_of(api.get("/?q=charts"))
    assert 'href="/api/projects.atom?tag=csv"' in head_of(api.get("/tags/csv"))


def test_without_an_address_of_the_site_the_canonical_one_is_relative(api):
    text = head_of(api.get("/"))
    assert '<link rel="canonical" href="/">' in text
    assert "og:url" not in text


def data_of(answer: Any) -> list[dict[str, Any]]:
    """The JSON-LD of a page."""
    found = re.search('<script type="application/ld[+]json">(.*?)</script>', answer.text, re.DOTALL)
    return json.loads(found[1])


def test_a_list_says_for_machines_which_projects_it_has(make_app, world):
    first, second = world.project(title="One"), world.project(title="Two </script><script>alert(1)</script>")
    api = Api(make_app(SITE_URL="https://projects.example"))
    [listed] = data_of(api.get("/"))
    assert (listed["@context"], listed["@type"]) == ("https://schema.org", "ItemList")
    assert [(each["position"], each["url"]) for each in listed["itemListElement"]] == [
        (1, f"https://projects.example/p/{second}/two-script-script-alert-1-script"),
        (2, f"https://projects.example/p/{first}/one"),
    ]
    assert listed["itemListElement"][0]["name"] == "Two </script><script>alert(1)</script>"
    kinds = [each["@type"] for each in data_of(api.get("/categories/tools"))]
    assert kinds == ["ItemList", "BreadcrumbList"]


def test_who_asks_for_json_gets_links_also_after_the_page_was_cached(api):
    for _ in range(2):
        assert api.get("/", headers={"Accept": "text/html,*/*;q=0.8"}).content_type == HTML
        for accept in ("application/json", "Application/JSON", "application/*"):
            assert api.get("/", headers={"Accept": accept}).content_type == "application/json"


def test_a_list_is_rendered_for_the_member_who_reads_it(api, world):
    mine, other = world.project(title="Voted"), world.project(title="Not voted")
    ada = world.caller(world.user("ada"))
    assert ada.put(f"/api/projects/{mine}/upvote").status_code == 200
    answer = ada.get("/")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert re.findall('data-vote="(.*?)" aria-pressed="(.*?)"', answer.text) == [
        (str(other), "false"),
        (str(mine), "true"),
    ]
    assert ">ada</span>" in answer.text
    assert "/sign-in" not in answer.text
    anonymous = api.get("/")
    assert ">ada<" not in anonymous.text
    assert 'aria-pressed="true"' not in anonymous.text


def test_a_member_without_a_page_is_not_linked(app, world, api):
    owner = world.user("ada")
    world.project(owner, title="Charts")
    admin = world.caller(world.admin())
    assert '<a href="/users/ada">ada</a>' in api.get("/").text
    assert admin.put(f"/api/admin/users/{owner.id}", {"status": "suspended"}).status_code == 200
    assert "<span>ada</span>" in api.get("/").text
    assert '"/users/ada"' not in api.get("/").text


def test_a_search_that_finds_nothing_offers_the_nearest_spellings(api, world):
    world.project(title="Python Editor")
    answer = api.get("/?q=pyhton&sort=popular")
    assert "Did you mean python ?" in " ".join(text_of(answer).split())
    assert 'href="/?q=python' in answer.text
    assert "Did you mean" not in text_of(api.get("/?q=python"))


def test_a_search_shows_what_has_most_of_its_words(api, world):
    world.project(title="Blue lamp")
    for path in ("/?q=blue+lamp+zero", "/?q=blue+lamp+zero&page=1"):
        assert re.search("Nothing found.*These have most of it.*Blue lamp", text_of(api.get(path)))
    world.project(title="Zero blue lamps")
    text = text_of(api.get("/?q=blue+lamp+zero"))
    assert re.search("1 project .*Zero blue lamps.*These have most of it.* Blue lamp", text)
    for path in ("/?q=blue", "/?q=blue+lamp+zero&sort=newest", "/?q=none+zero+nothing"):
        assert "These have most of it" not in text_of(api.get(path)), path


def test_a_search_that_names_a_category_or_a_tag_links_to_it(api, world):
    world.category("web-frameworks", "Web Främeworks")
    world.project(title="Lamp", tags=["command-line", "cpp", "tools"], category="tools")
    world.project(tags=["waiting"], status="pending")
    expected = {
        "web  FRAMEWORKS": [("/categories/web-frameworks", "Web Främeworks")],
        "web-frameworks": [("/categories/web-frameworks", "Web Främeworks")],
        "Tools": [("/categories/tools", "Tools"), ("/tags/tools", "tools")],
        "Command Line": [("/tags/command-line", "command-line")],
        "C++": [("/tags/cpp", "cpp")],
        **{query: [] for query in ("web", "tools lamp", "waiting", "lamp", "!!!", "x" * 200)},
    }
    for query, links in expected.items():
        for more in ({}, {"sort": "upvotes"}):
            text = api.get("/", query_string={"q": query, **more}).text
            above = text.partition('id="results"')[2].partition("<article")[0]
            named = above.partition("See also")[2].partition("</p>")[0]
            assert re.findall('<a href="(.*?)"><bdi>(.*?)</bdi></a>', named) == links, query
    assert "See also" not in api.get("/").text


def test_a_search_with_operators_of_others_says_that_they_are_words(api, world):
    world.project(title="Django <rest>", tags=["csv"])
    said = "Not taken as operators: -django , OR . Quotes around words make a phrase."
    for path in ("/?q=rest+-django+OR+x", "/categories/tools?q=rest+-django+OR+x", "/tags/csv?q=rest+-django+OR+x"):
        answer = api.get(path)
        assert said in " ".join(text_of(answer).split())
        results = answer.text.partition('<div id="results">')[2]  # what a search replaces while one types
        assert "Not taken as operators" in results
    assert "Not taken as operators" in text_of(api.get("/?q=rest+-django"))
    assert titles(api.get("/?q=rest+-django")) == ["Django <rest>"]
    assert "<bdi>tag:a&lt;b&gt;</bdi>" in api.get("/?q=tag:a<b>").text
    for query in (
        "rest",
        "C-like",
        "e-mail",
        "-",
        "OR",
        "Go:+The+Language",
        "std::vector",
        '"rest+-django"',
        "x" * 201,
    ):
        assert "Not taken as operators" not in text_of(api.get(f"/?q={query}"))
