"""The order of the best matches, what finds what, and where more match than are counted."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from directory.services.catalog import search
from tests.support import titles
from tests.support.factories import Api, World
from tests.support.lists import ORDERS

REAL = Path(__file__).with_name("real_projects.jsonl")
ALL = Path(__file__).parents[3] / "shared" / "data" / "projects.jsonl"  # more of them, where there are


def found(api: Api, query: str, **more: str) -> list[str]:
    return [item["title"] for item in page(api, query, **more)["items"]]


def page(api: Api, query: str, **more: str) -> dict[str, Any]:
    # The cookie has each request reach the database.
    answer = api.get("/api/projects", query_string={"q": query, **more}, headers={"Cookie": "no=cache"})
    assert answer.status_code == 200, answer.json
    return answer.json  # type: ignore[no-any-return]


def test_each_step_of_the_rank_comes_before_any_number_of_votes(world: World, api: Api) -> None:
    given: list[dict[str, Any]] = [
        {"title": "Web Server"},
        {"title": "A server of web pages"},
        {"title": "Server", "tags": ["web"]},
        {"title": "Tool", "tagline": "a server of the web"},
        {"title": "php-http-webdav-server"},
        {"title": "Serverless", "tagline": "for websites"},
        {"title": "Described", "description": "A web server"},
    ]
    for votes, fields in enumerate(given):
        world.project(votes=votes, **fields)
    assert found(api, "web server") == [
        "Web Server", "A server of web pages", "Tool", "Server", "php-http-webdav-server", "Serverless", "Described",
    ]  # fmt: skip


SPELLINGS = {
    "c": {"C"}, "c++": {"C++"}, "c#": {"C#"}, "f#": {"F#"}, ".net": {".NET"}, "net": {"Net"},
    "node.js": {"Node.js", "NodeJS"}, "nodejs": {"Node.js", "NodeJS"}, "node-js": {"Node.js", "NodeJS"},
    "e-mail": {"E-mail", "Email"}, "email": {"E-mail", "Email"}, "EMAILS": {"E-mail", "Email"},
    "games": {"Game", "Games"}, "game": {"Game", "Games", "Gamepad"},
    "libraries": {"Library"}, "ga": {"Game", "Games", "Gamepad"}, "g": set(), "管": {"管理"},
    "프": {"프로젝트"}, "python3foo": {"python3-foo"}, "+++": set(), "#": set(),
}  # fmt: skip


def test_a_query_finds_the_spellings_of_its_words(world: World, api: Api) -> None:
    some = ["C", "C++", "C#", "F#", ".NET", "Net", "Node.js", "NodeJS", "E-mail", "Email", "Game", "Games", "Gamepad"]
    owner = world.user()
    for title in [*some, "Library", "管理", "프로젝트", "python3-foo"]:
        world.project(owner, title=title, tagline="?")
    assert {query: set(found(api, query)) for query in SPELLINGS} == SPELLINGS


@pytest.mark.parametrize(("file", "every"), [(REAL, 1), pytest.param(ALL, 9, marks=pytest.mark.slow)])
def test_a_real_title_comes_first_or_after_equals(app: Flask, api: Api, file: Path, every: int) -> None:
    """Each title of the sample, and every ninth of the larger file; tests/support/titles.py tries all of that."""
    if not file.exists():
        assert file is ALL  # the sample stands in the repository
        pytest.skip("the larger file of real projects is not next to this checkout; the sample is tested")
    names = titles.imported(app, file)
    assert len(names) >= 300
    assert titles.misplaced(api, names[::every]) == []


def walk(api: Api, query: str, cursor: str = "next_cursor", **more: str) -> list[str]:
    """The titles page by page, by cursor."""
    shown = [page(api, query, **more)]
    while token := shown[-1]["pagination"][cursor]:
        shown.append(page(api, query, **more, cursor=token))
    return [item["title"] for item in chain.from_iterable(one["items"] for one in shown)]


@pytest.fixture
def capped(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ten projects that a query finds, of which five are counted; the titles, the most voted first."""
    monkeypatch.setattr(search, "MOST", 5)
    owner = world.user()
    voters = [world.user() for _ in range(10)]
    for n in range(10):
        one = world.project(owner, title=f"Lamp {n}" if n % 2 else f"Bulb {n}", tagline="lamp", tags=["light"])
        for voter in voters[:n]:
            world.vote(one, voter)
    world.project(owner, status="pending", title="Lamp")
    return [f"Lamp {n}" if n % 2 else f"Bulb {n}" for n in range(9, -1, -1)]


def test_best_match_looks_at_the_most_voted_where_more_match_than_are_counted(api: Api, capped: list[str]) -> None:
    best = ["Lamp 9", "Lamp 7", "Lamp 5", "Bulb 8", "Bulb 6"]
    assert found(api, "lamp") == found(api, "lamp", tag="light") == best
    assert walk(api, "lamp", limit="2") == best
    assert [found(api, "lamp", limit="2", page=n) for n in "1234"] == [best[:2], best[2:4], best[4:], []]
    assert found(api, "lamp 9") == ["Lamp 9"]


@pytest.mark.parametrize("sort", ORDERS)
def test_the_other_orders_are_complete_where_more_match_than_are_counted(
    api: Api, capped: list[str], sort: str
) -> None:
    assert walk(api, "lamp", sort=sort, limit="3") == capped


@pytest.mark.parametrize("sort", ["", *ORDERS])
def test_a_capped_total_says_so_and_has_no_last_page(world: World, api: Api, capped: list[str], sort: str) -> None:
    order = {"sort": sort} if sort else {}
    for caller, path in ((api, "/api/projects"), (world.caller(world.admin()), "/api/admin/projects")):
        answer = caller.get(path, query_string={"q": "lamp", "limit": "2", **order})
        paging = answer.json["pagination"]
        assert (paging["total"], paging["total_capped"], paging["pages"]) == (5, True, 3)
        assert 'rel="last"' not in answer.headers["Link"]
        assert 'rel="next"' in answer.headers["Link"]
        beyond = caller.get(path, query_string={"q": "lamp", "limit": "2", "page": "9", **order}).json["pagination"]
        assert (beyond["total"], beyond["total_capped"]) == (5, True)
    for exact in ("q=lamp+9", "", "tag=light", "q=none", "q=!"):
        paging = api.get(f"/api/projects?{exact}").json["pagination"]
        assert paging["total_capped"] is False
        assert paging["total"] == {"": 10, "tag=light": 10, "q=lamp+9": 1}.get(exact, 0)


def test_as_many_matches_as_are_counted_are_no_cap(api: Api, capped: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(search, "MOST", 10)
    paging = page(api, "lamp")["pagination"]
    assert (paging["total"], paging["total_capped"]) == (10, False)


def test_behind_the_last_counted_page_a_list_goes_on_by_cursor(api: Api, capped: list[str]) -> None:
    answer = api.get("/api/projects?q=lamp&sort=newest&limit=5")
    assert answer.json["pagination"]["pages"] == 1
    target = answer.headers["Link"].split('>; rel="next"')[0].rpartition("<")[2]
    assert "cursor=" in target
    assert [item["title"] for item in api.get(target).json["items"]] == capped[5:]


@pytest.mark.parametrize(("sort", "most", "size"), [("newest", 5, 2), ("newest", 100, 2), ("", 100, 2), ("", 5, 8)])
def test_a_search_costs_a_bounded_number_of_statements(
    world: World, api: Api, capped: list[str], monkeypatch: Any, statements: list[str], sort: str, most: int, size: int
) -> None:
    """Two, and of best matches among many at most eight: what leads is looked for twice."""
    monkeypatch.setattr(search, "MOST", most)
    statements.clear()
    found(api, "lamp", **({"sort": sort} if sort else {}))
    assert len(statements) <= size
    assert len(statements) >= 2


def test_the_best_of_many_matches_cost_four_statements(
    world: World, api: Api, capped: list[str], statements: list[str]
) -> None:
    """How many match, the most voted projects, what matches better than these, and the projects of the page."""
    statements.clear()
    first = page(api, "lamp", limit="1")
    assert len(statements) == 4
    statements.clear()
    page(api, "lamp", limit="1", cursor=first["pagination"]["next_cursor"])
    assert len(statements) == 4
