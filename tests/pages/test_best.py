"""The pages of the best of a period, and the shelf of the first page: what they list, and how long that is stored."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, update

from directory import models
from directory.cache import snapshot_source
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from directory.pages import best as best_page
from directory.pages import paged_lists, reading
from directory.services.catalog import front, sitemap
from directory.services.catalog.orders import hot
from directory.services.catalog.periods import parse
from tests.conftest import Statements
from tests.support.extras import ON
from tests.support.factories import Api, World

NOW = datetime(2026, 11, 26, 15, tzinfo=UTC)  # a Thursday


class Clock:
    """The service's clock, to be set."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (best_page, front, sitemap, snapshot_source):
        assert module.now is models.now  # type: ignore[attr-defined]
        monkeypatch.setattr(module, "now", made)
    return made


def published(world: World, votes: dict[int, str], **fields: Any) -> list[int]:
    """Projects with so many votes, published at these times."""
    made = []
    for number, at in votes.items():
        made.append(world.project(votes=number, title=f"Votes {number}", **fields))
        world.published(made[-1], datetime.fromisoformat(f"{at}+00:00"))
    return made


def titles(api: Api, path: str) -> list[str]:
    answer = api.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return re.findall(r'class="cover" href="[^"]*">([^<]*)', answer.text)


def links(api: Api, path: str, label: str) -> list[str]:
    nav = re.search(rf'<nav [^>]*aria-label="{label}">(.*?)</nav>', api.get(path).text, re.DOTALL)
    return re.findall(r'href="([^"]*)"', nav[1]) if nav else []


def test_a_period_has_its_projects_by_votes_with_numbers_and_links_to_periods_with_projects(
    world: World, api: Api, clock: Clock
) -> None:
    published(world, {1: "2026-11-23T00:00:00", 3: "2026-11-29T23:59:59", 2: "2026-11-26T10:00:00"})
    published(world, {5: "2026-11-05T10:00:00", 4: "2025-12-30T10:00:00"})
    week = ["Votes 3", "Votes 2", "Votes 1"]
    assert titles(api, "/best") == titles(api, "/best/2026-W48") == week
    assert titles(api, "/best/2026-11") == titles(api, "/best/2026") == ["Votes 5", *week]
    assert titles(api, "/best/2026-11-26") == ["Votes 2"]
    assert titles(api, "/best/2026-W01") == ["Votes 4"]
    page = api.get("/best").text
    assert "<h1>Best of the week, 23–29 November</h1>" in page
    assert re.findall(r'class="rank(?: best)?">(\d+)', page) == ["1", "2", "3"]
    assert '<link rel="canonical" href="/best/2026-W48">' in page
    assert "<h1>Best of the week, 29 December – 4 January</h1>" in api.get("/best/2026-W01").text
    assert best_page._title(parse("2025-W45"), clock.at.date()) == "Best of the week, 3–9 November 2025"
    assert links(api, "/best", "Other periods") == ["/best/2026-W45"]
    assert links(api, "/best/2026-W45", "Other periods") == ["/best/2026-W01", "/best/2026-W48"]
    assert links(api, "/best/2026-11", "Other periods") == ["/best/2025-12"]
    assert links(api, "/best/2026", "Other periods") == ["/best/2025"]
    assert links(api, "/best/2026-11-05", "Other periods") == ["/best/2025-12-30", "/best/2026-11-23"]
    assert links(api, "/best/2026-W01", "Periods") == [
        "/best/2025-12-30", "/best/2026-W01", "/best/2025-12", "/best/2025",
    ]  # fmt: skip
    assert api.get("/best/2026-w48?page=2").headers["Location"] == "/best/2026-W48?page=2"


def test_arrows_to_other_periods_point_where_the_reader_comes_from_and_goes(make_app: Any, clock: Clock) -> None:
    app = make_app(SITE_LANGUAGES="en,ar")
    published(World(app), {1: "2024-11-23T00:00:00", 2: "2025-11-23T00:00:00", 3: "2026-11-23T00:00:00"})
    english, arabic = (Api(app).get(f"/best/2025?lang={tag}").text for tag in ("en", "ar"))
    assert (">← 2024<" in english, ">2026 →<" in english) == (True, True)
    assert (">→ 2024<" in arabic, ">2026 ←<" in arabic) == (True, True)


def test_what_is_no_period_and_one_without_projects_is_404_but_the_present_one(
    world: World, api: Api, clock: Clock
) -> None:
    published(world, {1: "2026-11-05T10:00:00"})
    for present in ("", "/2026-W48", "/2026-11-26"):
        answer = api.get(f"/best{present}")
        assert (answer.status_code, "No projects yet" in answer.text) == (200, True), present
        assert links(api, f"/best{present}", "Periods") == [
            "/best/2026-11-26" , "/best/2026-W48", "/best/2026-11", "/best/2026",
        ]  # fmt: skip
    for path in (
        "2026-W47",
        "2026-W49",
        "2026-11-25",
        "2026-11-27",
        "2026-12",
        "2027",
        "2025",
        "now",
        "2026-W54",
        "26",
    ):
        assert api.get(f"/best/{path}").status_code == 404, path
    assert api.get("/best/2026-11?page=1").status_code == 200
    for page in ("2", "501", "0", "x"):
        assert api.get(f"/best/2026-11?page={page}").status_code == 404, page


def test_a_list_of_many_has_pages_and_goes_on_with_its_numbers(
    world: World, api: Api, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paged_lists, "SIZE", 2)
    published(world, dict.fromkeys(range(5), "2026-11-26T10:00:00"))
    second = api.get("/best/2026-W48?page=2").text
    assert re.findall(r'class="rank(?: best)?">(\d+)', second) == ["3", "4"]
    assert 'rel="prev" href="/best/2026-W48"' in second
    assert 'rel="next" href="/best/2026-W48?page=3"' in second
    assert titles(api, "/best/2026-W48?page=3") == ["Votes 0"]


def test_a_stored_answer_of_the_present_week_ends_with_the_day_and_changes_with_votes(
    world: World, api: Api, clock: Clock
) -> None:
    first, second = published(world, {1: "2026-11-26T10:00:00", 2: "2026-11-26T11:00:00"})
    assert titles(api, "/best") == ["Votes 2", "Votes 1"]
    for _ in range(2):
        world.vote(first, world.user())
    assert titles(api, "/best") == ["Votes 1", "Votes 2"]
    clock.at = NOW.replace(day=29, hour=23, minute=59, second=59)
    assert titles(api, "/best") == ["Votes 1", "Votes 2"]
    clock.at += timedelta(seconds=1)
    assert titles(api, "/best") == []
    clock.at += timedelta(days=7)
    assert api.get("/best/2026-W49").status_code == 404
    assert second


def test_the_sitemap_has_the_periods_that_are_over(make_app: Any, clock: Clock) -> None:
    app: Flask = make_app(SITE_URL="https://site.example")
    published(World(app), {1: "2026-11-26T10:00:00", 2: "2026-11-25T23:59:59", 3: "2025-12-31T00:00:00"})
    World(app).project(status="pending")
    found = re.findall(r"/best/([^<]*)", Api(app).get("/sitemap-lists.xml").text)
    assert found == ["2026-11-25", "2026-W01", "2025-12-31", "2025-12", "2025"]
    clock.at = datetime(2026, 12, 1, tzinfo=UTC)
    found = re.findall(r"/best/([^<]*)", Api(app).get("/sitemap-lists.xml").text)
    assert {*found} >= {"2026-11", "2026-W48", "2026-11-26", "2026-11-25"}
    assert "2026" not in found


def shelf(api: Api, path: str = "/") -> tuple[str, list[str]] | None:
    """The heading of the shelf, and the names and votes on it; None without it."""
    found = re.search(r'<section class="shelf".*?</section>', api.get(path).text, re.DOTALL)
    if found is None:
        return None
    [heading] = re.findall(r"<h2[^>]*>(?:<a[^>]*>)?([^<]*)", found[0])
    votes = re.findall(r"data-votes[^>]*>([^<]*)", found[0])
    names = re.findall(r'<h3 dir="auto"><a href="[^"]*">([^<]*)', found[0])
    assert names == [f"Votes {number}" for number in votes]
    return heading, names


def test_the_first_page_shows_the_best_of_the_week_else_what_is_new_else_the_best_of_thirty_days_if_there_are_three(
    world: World, api: Api, clock: Clock
) -> None:
    assert shelf(api) is None
    published(world, {9: "2026-10-27T23:59:59", 1: "2026-10-28T00:00:00", 2: "2026-11-22T23:59:59"})
    assert shelf(api) is None  # of the thirty days there are two
    published(world, {3: "2026-11-23T00:00:00"})
    assert shelf(api) == ("Best of the last thirty days", ["Votes 3", "Votes 2", "Votes 1"])
    published(world, {4: "2026-11-24T00:00:00"})
    assert shelf(api) == ("New this week", ["Votes 4", "Votes 3", "Votes 2"])  # the first of seven days is the 20th
    published(world, {8: "2026-11-25T00:00:00"})
    assert shelf(api) == ("Best of this week", ["Votes 8", "Votes 4", "Votes 3"])
    published(world, {5: "2026-11-26T00:00:00", 6: "2026-11-26T01:00:00", 7: "2026-11-26T02:00:00"})
    assert shelf(api) == ("Best of this week", ["Votes 8", "Votes 7", "Votes 6", "Votes 5", "Votes 4"])
    assert shelf(world.caller(world.user())) == shelf(api) == shelf(api, "/?utm_source=x")
    for path in ("/?sort=upvotes", "/?sort=newest", "/?q=votes", "/categories/tools", "/best"):
        assert shelf(api, path) is None
    text = api.get("/").text
    places = [
        text.index(part) for part in ("<h1", 'class="search"', 'class="shelf"', 'aria-label="Order"', 'class="rows"')
    ]
    assert places == sorted(places)


def test_the_shelf_has_what_has_a_vote_and_the_first_vote_of_a_project_brings_it_there(
    world: World, api: Api, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SIZE", 1)  # so that no other project is in the list below
    published(world, {4: "2026-11-10T00:00:00", 3: "2026-11-11T00:00:00"}, category="games")  # no category has a shelf
    voters = [world.user() for _ in range(6)]  # a new account changes any page
    first, second, third = (published(world, {0: f"2026-11-{day}T00:00:00"})[0] for day in ("01", "25", "26"))
    assert shelf(api) is None
    votes = re.compile(r'data-votes="\d+">(\d+)')

    def expect(project: int, heading: str, shown: list[str]) -> None:
        world.vote(project, voters.pop())
        page = api.get("/").text
        assert (heading in page, votes.findall(page)) == (True, shown)

    expect(first, "Best of the last thirty days", ["4", "3", "1"])
    expect(first, "Best of the last thirty days", ["4", "3", "2"])
    expect(second, "Best of the last thirty days", ["4", "3", "2", "1"])
    expect(published(world, {0: "2026-11-26T10:00:00"}, category="games")[0], "New this week", ["1", "0", "1"])
    expect(third, "Best of this week", ["1", "1", "1"])


def test_the_projects_of_a_period_without_votes_have_a_heading_and_no_numbers(
    world: World, api: Api, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = re.compile(
        r'class="rank(?: best)?">(\d+)|<h2 class="day" id="unvoted">([^<]*)|class="cover" href="[^"]*">([^<]*)'
    )

    def shown(path: str) -> list[str]:
        return ["".join(found) for found in parts.findall(api.get(path).text)]

    monkeypatch.setattr(paged_lists, "SIZE", 3)
    published(world, {2: "2026-11-26T10:00:00", 1: "2026-11-25T10:00:00"})
    published(world, dict.fromkeys([0], "2026-11-24T10:00:00"))
    published(world, dict.fromkeys([0], "2026-11-23T10:00:00"))
    unvoted = ["No votes yet", "Votes 0"]
    assert shown("/best") == ["1", "Votes 2", "2", "Votes 1", *unvoted]
    assert shown("/best?page=2") == unvoted
    assert shown("/best/2026-11-23") == unvoted


def test_the_shelf_counts_what_counts_and_changes_with_votes_and_with_the_day(
    world: World, api: Api, clock: Clock
) -> None:
    low, *_ = published(world, {1: "2026-11-24T00:00:00", 3: "2026-11-25T00:00:00", 4: "2026-11-26T00:00:00"})
    voters = [world.user() for _ in range(4)]
    for voter in voters:
        world.vote(low, voter)
    text = api.get("/").text
    assert re.findall(r'data-votes="\d+">(\d+)', text) == ["5", "4", "3"]
    for voter in voters[:3]:
        world.discount(low, voter)
    assert re.findall(r'data-votes="\d+">(\d+)', api.get("/").text) == ["4", "3", "2"]
    clock.at = datetime(2026, 11, 30, tzinfo=UTC)
    assert "New this week" in api.get("/").text
    clock.at = datetime(2026, 12, 2, tzinfo=UTC)
    assert "Best of the last thirty days" in api.get("/").text
    clock.at = datetime(2026, 12, 24, tzinfo=UTC)
    assert 'class="shelf"' not in api.get("/").text


def test_a_card_of_the_shelf_shows_the_first_picture_of_its_project_and_two_are_loaded_immediately(
    world: World, api: Api, clock: Clock
) -> None:
    card = re.compile(
        r'<h3.*?>Votes (\d).*?<img class="picture" src="(.*?)" width="160" height="100" alt="(.*?)"( .*?)?>', re.DOTALL
    )
    third, second, first = published(world, {n: f"2026-11-2{n}T00:00:00" for n in (3, 4, 5)})
    assert card.findall(api.get("/").text) == []
    made = [world.picture(project, alt) for project, alt in ((first, "A & B"), (first, "C"), (second, "D"))]
    expected = [("5", made[0]["640"], "A &amp; B", ' fetchpriority="high"'), ("4", made[2]["640"], "D", "")]
    assert card.findall(api.get("/").text) == expected
    lazy = ("3", world.picture(third, "E")["640"], "E", ' loading="lazy" fetchpriority="low"')
    assert card.findall(api.get("/").text) == [*expected, lazy]


def test_the_shelves_and_how_many_came_take_few_statements(make_app: Any, world: World, clock: Clock) -> None:
    first, *_ = published(world, {1: "2026-11-24T00:00:00", 3: "2026-11-25T00:00:00", 4: "2026-11-26T00:00:00"})
    world.picture(first)
    app, statements, taken = make_app(RESPONSE_CACHE="false"), Statements(), {}
    api = Api(app)
    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", statements.note)
    for path in ("/", "/?sort=popular"):
        api.get(path)
        statements.clear()
        api.get(path)
        taken[path] = len(statements)
    assert taken["/"] == taken["/?sort=popular"] + 3 + ("picks" in ON) > 5  # ids, projects, and how many came


def shelves(api: Api, path: str = "/") -> dict[str, list[str]]:
    """The names on each shelf of the first page, by its heading."""
    sections = re.findall(r'<section class="shelf".*?</section>', api.get(path).text, re.DOTALL)
    return {
        re.findall(r"<h2[^>]*>(?:<a[^>]*>)?([^<]*)", each)[0]: re.findall(r'<h3 dir="auto"><a[^>]*>([^<]*)', each)
        for each in sections
    }


def ranked(world: World, project: int, at: datetime) -> None:
    """Have a live project without votes first approved at an instant, with the rank of that time."""
    one = update(Project).where(Project.id == project).values(published_at=at, hot=hot(0, at))
    with world.app.app_context():
        transaction(lambda: db.session.execute(one))


def test_the_largest_categories_have_shelves_of_what_no_earlier_one_shows_and_each_vote_counts(
    world: World, api: Api, clock: Clock
) -> None:
    made: dict[str, list[int]] = {}
    for category, number in {"tools": 6, "games": 5, "music": 4, "art": 4, "maps": 3}.items():
        titles_of = [f"{category} {n}" for n in range(number)]
        made[category] = [world.project(title=title, category=category) for title in titles_of]
        for n, project in enumerate(made[category]):
            ranked(world, project, datetime(2026, 9, 1 + n, tzinfo=UTC))
    voters = [world.user() for _ in range(8)]
    expected = {name.title(): [f"{name} {n}" for n in ns] for name, ns in {
        "tools": (5, 4, 3, 2), "games": (4, 3, 2, 1), "art": (3, 2, 1, 0),
    }.items()}  # fmt: skip
    assert [*shelves(api)][:2] == ["Tools", "Games"]
    found = shelves(api)
    assert {name: found[name] for name in ("Tools", "Games")} == {name: expected[name] for name in ("Tools", "Games")}
    assert len(found) == 3
    for voter in voters:  # ten times the votes are worth a week
        world.vote(made["tools"][0], voter)
    assert shelves(api)["Tools"][0] == "tools 0"
    # What is new stands on its own shelf; games then has too few left, and no fourth category takes its place.
    for project in made["games"][:3]:
        ranked(world, project, clock.at)
    assert [*shelves(api)] == ["New this week", "Tools", *[*found][2:]]
    assert {*shelves(api)["New this week"]} == {"games 0", "games 1", "games 2"}
    assert shelves(world.caller(world.user())) == shelves(api)


def test_pictures_come_first_among_what_is_new(world: World, api: Api, clock: Clock) -> None:
    times = {f"Lamp {n}": f"2026-11-26T0{n}:00:00" for n in range(8)}
    made = [world.project(title=title) for title in times]
    for project, at in zip(made, times.values(), strict=True):
        world.published(project, datetime.fromisoformat(f"{at}+00:00"))
    world.picture(made[1])
    world.picture(made[3])
    assert shelves(api)["New this week"] == [f"Lamp {n}" for n in (3, 1, 7, 6, 5, 4)]


def test_without_words_of_the_operator_the_headline_counts_and_an_empty_site_says_its_name(
    make_app: Any, world: World, clock: Clock
) -> None:
    api = Api(make_app())

    def head(api: Api) -> list[str]:
        return re.findall(r"<h1[^>]*>([^<]*)</h1>\s*(?:<p class=\"lead\"[^>]*>([^<]*))?", api.get("/").text)[0]

    world.category("tools")
    world.category("empty")
    assert head(api)[0] == "Project Directory"
    published(world, {0: "2026-11-19T23:59:59"})
    assert [*head(api)] == ["1 project in 1 category", ""]
    published(world, {1: "2026-11-20T00:00:00", 2: "2026-11-26T14:00:00"}, category="games")
    assert [*head(api)] == ["3 projects in 2 categories", "2 came in the last seven days"]
    for settings, expected in (
        ({"SITE_TAGLINE": "Good things"}, ["Good things", ""]),
        ({"SITE_HEADLINE": "Find it", "SITE_TAGLINE": "Good things"}, ["Find it", "Good things"]),
        ({"SITE_HEADLINE": "Find it"}, ["Find it", ""]),
    ):
        assert [*head(Api(make_app(**settings)))] == expected
