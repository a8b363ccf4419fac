"""Lists, facets and the feed narrowed by own fields."""

from typing import Any

import pytest
from flask import Flask

from tests.extras.fields.test_fields import FIELDS, LICENSE, OTHERS, PLATFORMS, PROJECT, define
from tests.support.factories import Api, World

NUMBER = {"name": "price", "label": "Price", "kind": "number", "facet": True}
SINCE, FREE = ({**each, "facet": True} for each in OTHERS[2:])
FILLED: list[dict[str, Any]] = [
    {"license": "mit", "platforms": ["linux", "mac"], "price": 0, "since": "2026-01-01", "free": True},
    {"license": "mit", "platforms": ["mac"], "price": 9.5, "since": "2026-06-30", "free": False},
    {"license": "gpl", "platforms": ["windows"], "price": -1, "free": True},
    {"platforms": ["linux"]},
    {},
]


@pytest.fixture
def site(app: Flask, world: World) -> tuple[Api, Api]:
    """An administrator, and a visitor of a directory with five live projects and one pending."""
    world.category("tools")
    world.category("games")
    admin, ada = world.caller(world.admin("root")), world.caller(world.user("ada"))
    define(admin, LICENSE, {**PLATFORMS, "facet": True}, NUMBER, SINCE, FREE)
    for number, values in enumerate([*FILLED, FILLED[0]]):
        given = {**PROJECT, "title": f"Lamp {number}", "url": f"https://{number}.example/", "fields": values}
        made = ada.post("/api/projects", given).json
        if number < len(FILLED):
            assert admin.put(f"/api/admin/projects/{made['id']}/approve").status_code == 200
    return admin, Api(app)


def titles(caller: Api, query: str) -> str:
    """The numbers of the projects that a list has, in their order; its total agrees."""
    answer = caller.get(f"/api/projects?{query}")
    assert answer.status_code == 200, answer.json
    assert answer.json["pagination"]["total"] == len(answer.json["items"])
    return "".join(each["title"].removeprefix("Lamp ") for each in answer.json["items"])


def test_lists_are_narrowed_by_own_fields(site: tuple[Api, Api], statements: Any) -> None:
    admin, visitor = site
    for query, found in {
        "field.license=mit": "10",
        "field.license=mit,gpl": "210",
        "field.license=gpl,gpl,": "2",
        "field.license=bsd": "",
        "field.license=mit&field.platforms=linux": "0",
        "field.platforms=linux": "30",
        "field.platforms=linux,mac": "310",
        "field.free=true": "20",
        "field.free=false": "1",
        "field.price=0": "0",
        "field.price=0..": "10",
        "field.price=..0": "20",
        "field.price=-1..9.5": "210",
        "field.price=9.50": "1",
        "field.price=5..1": "",
        "field.price=1..5": "",
        "field.since=2026-01-01": "0",
        "field.since=2026-01-02..": "1",
        "field.since=..2026-06-30": "10",
        "field.license=mit&category=tools": "10",
        "field.license=mit&category=games": "",
        "field.license=mit&tag=x": "",
        "field.license=mit&q=lamp": "10",
        "field.license=mit&q=lamp&sort=newest": "10",
        "field.license=mit&sort=upvotes": "10",
        "field.license=mit&sort=popular": "10",
        "field.license=mit&published=2020": "",
        "field.license=mit&owner=ada": "10",
    }.items():
        assert titles(visitor, query) == found, query
    own = admin.get("/api/projects?status=pending&field.license=mit").json
    assert [each["title"] for each in own["items"]] == ["Lamp 5"]
    first = visitor.get("/api/projects?field.license=mit&limit=1")
    assert "field.license=mit" in first.headers["Link"]
    cursor = first.json["pagination"]["next_cursor"]
    second = visitor.get(f"/api/projects?field.license=mit&limit=1&cursor={cursor}").json
    assert [each["title"] for each in second["items"]] == ["Lamp 0"]
    assert visitor.get(f"/api/projects?field.license=gpl&limit=1&cursor={cursor}").status_code == 422
    statements.clear()
    visitor.get("/api/projects?limit=3")
    assert not any("project_fields" in each or "field_definitions.name" in each for each in statements)


def test_the_number_of_a_narrowed_list_is_counted_again_only_after_changes(
    site: tuple[Api, Api], statements: Any
) -> None:
    admin, visitor = site
    first = visitor.get("/api/projects?field.license=gpl").json["items"][0]["id"]

    def total(limit: int, query: str = "field.license=mit,bsd&field.price=-1..") -> tuple[int, bool]:
        statements.clear()
        found = visitor.get(f"/api/projects?{query}&limit={limit}").json["pagination"]["total"]
        return found, any("count(*)" in each for each in statements)

    assert [total(limit) for limit in (2, 3, 4)] == [(2, True), (2, False), (2, False)]
    assert admin.put(f"/api/projects/{first}", {"fields": {"license": "mit"}}).status_code == 200
    assert [total(limit) for limit in (2, 3)] == [(3, True), (3, False)]
    assert admin.put(f"{FIELDS}/license", {"categories": ["games"]}).status_code == 200
    assert [total(limit) for limit in (2, 3)] == [(0, True), (0, False)]
    assert admin.put(f"/api/projects/{first}", {"category": "games"}).status_code == 200
    assert [total(limit) for limit in (2, 3)] == [(1, True), (1, False)]
    pending = admin.get("/api/projects?status=pending").json["items"][0]["id"]
    assert admin.put(f"{FIELDS}/license", {"categories": None}).status_code == 200
    assert admin.put(f"/api/admin/projects/{pending}/approve").status_code == 200
    assert [total(limit) for limit in (2, 3)] == [(4, True), (4, False)]
    # What counters have is not counted, and what else may change is counted each time.
    known = "field.license=mit", "field.license=mit,bsd", "field.license=mit&category=games"
    assert [total(2, query) for query in known] == [(4, False), (4, False), (1, False)]
    assert [total(limit, "field.platforms=linux,mac") for limit in (2, 3)] == [(4, True), (4, False)]
    assert [total(limit, "field.license=mit&owner=ada") for limit in (2, 3)] == [(4, True), (4, True)]


def test_what_narrows_nothing_is_refused_at_the_parameter(site: tuple[Api, Api]) -> None:
    admin, visitor = site
    define(admin, OTHERS[0], {**LICENSE, "name": "hidden", "audience": "reviewers"})
    admin.put(f"{FIELDS}/free", {"retired": True})
    wrong = {
        "field.license=": "license", "field.license=,": "license", "field.license=+": "license",
        "field.price=..": "price", "field.price=x": "price", "field.price=1...2": "price", "field.price=1e3": "price",
        "field.price=0.1234567": "price", "field.price=1..2..3": "price", "field.since=2026-02-30": "since",
        "field.since=2026..": "since", "field.free=true": "free", "field.team=Core": "team",
        "field.hidden=mit": "hidden", "field.=x": "", "field.nothing=x": "nothing",
    }  # fmt: skip
    for query, name in wrong.items():
        for path in ("/api/projects", "/api/projects/facets", "/api/projects.atom"):
            answer = visitor.get(f"{path}?{query}")
            assert answer.status_code == 422, query
            assert [error["parameter"] for error in answer.json["errors"]] == [f"field.{name}"], query
    admin.put(f"{FIELDS}/free", {"retired": False})
    both = visitor.get("/api/projects?field.free=yes&sort=oldest&own=1").json["errors"]
    assert [error["parameter"] for error in both] == ["sort", "field.free", "own"]


def test_facets_have_the_values_of_a_list_by_all_filters_but_the_own_one(site: tuple[Api, Api]) -> None:
    admin, visitor = site

    def counted(query: str = "") -> dict[str, list[tuple[str, int]]]:
        answer = visitor.get(f"/api/projects/facets?{query}").json
        assert not answer["capped"]
        return {
            name: [(value["value"], value["live_projects"]) for value in values]
            for name, values in answer["fields"].items()
        }

    platforms = [("linux", 2), ("mac", 2), ("windows", 1)]
    everything = {"license": [("mit", 2), ("gpl", 1)], "platforms": platforms, "free": [("true", 2), ("false", 1)]}
    for _ in range(2):  # the second time from what is stored
        assert counted() == everything
    narrowed = {**everything, "platforms": [("mac", 2), ("linux", 1)], "free": [("true", 1), ("false", 1)]}
    assert counted("field.license=mit") == narrowed
    assert counted("field.price=0..") == {**narrowed, "license": [("mit", 2)]}
    assert counted("field.license=mit&category=tools") == narrowed
    assert counted("q=lamp") == counted("category=tools") == counted("owner=ada") == everything
    assert counted("category=games") == {"license": [], "platforms": [], "free": []}
    labels = visitor.get("/api/projects/facets").json["fields"]
    assert [labels[name][0]["label"] for name in ("license", "platforms", "free")] == ["MIT", "Linux", "Yes"]
    assert visitor.get("/api/projects/facets?field.license=mit").json["categories"][0]["live_projects"] == 2
    first = visitor.get("/api/projects?field.license=gpl").json["items"][0]
    admin.put(f"/api/projects/{first['id']}", {"fields": {"license": "mit"}})
    assert counted()["license"] == [("mit", 3)]
    admin.put(f"{FIELDS}/license", {"audience": "reviewers"})
    admin.put(f"{FIELDS}/platforms", {"categories": ["games"]})
    assert counted() == {"platforms": [], "free": [("true", 2), ("false", 1)]}
    assert titles(visitor, "field.platforms=mac") == ""
    admin.put(f"/api/projects/{first['id']}", {"category": "games"})
    assert titles(visitor, "field.platforms=windows,mac") == "2"
    assert counted()["platforms"] == [("windows", 1)]


def test_twenty_values_at_most_are_among_the_facets_the_chosen_ones_too(app: Flask, world: World) -> None:
    world.category("tools")
    admin, visitor = world.caller(world.admin("root")), Api(app)
    values = [f"v{number:02}" for number in range(25)]
    define(admin, {**LICENSE, "choices": [{"value": each, "label": each} for each in values]})
    for number, value in enumerate([*values, values[0]]):
        given = {**PROJECT, "url": f"https://{number}.example/", "fields": {"license": value}}
        admin.put(f"/api/admin/projects/{admin.post('/api/projects', given).json['id']}/approve")
    shown = visitor.get("/api/projects/facets").json["fields"]["license"]
    assert [each["value"] for each in shown] == values[:20]
    shown = visitor.get("/api/projects/facets?field.license=v24").json["fields"]["license"]
    assert [each["value"] for each in shown] == [*values[:19], "v24"]


def test_labels_of_facets_are_in_the_language_of_the_answer(make_app: Any, world: World) -> None:
    app = make_app(SITE_LANGUAGES="en,de")
    world.category("tools")
    admin = world.caller(world.admin("root"))
    admin, visitor = Api(app, admin.token), Api(app)
    free = {"en": "Free software", "de": "Freie Software"}
    define(admin, {**LICENSE, "choices": [{"value": "mit", "label": free}]})
    given = {**PROJECT, "fields": {"license": "mit"}}
    admin.put(f"/api/admin/projects/{admin.post('/api/projects', given).json['id']}/approve")
    for tag in ("en", "de", "en"):
        answer = visitor.get("/api/projects/facets", headers={"Accept-Language": tag})
        assert answer.json["fields"]["license"][0]["label"] == free[tag]
        assert answer.headers["Content-Language"] == tag
        assert "Accept-Language" in answer.headers["Vary"]


def test_the_feed_is_narrowed_and_names_the_choices(site: tuple[Api, Api]) -> None:
    _admin, visitor = site
    feed = visitor.get("/api/projects.atom?field.license=mit&field.price=0..1").text
    assert feed.count("<entry>") == 1
    assert "MIT, 0..1</title>" in feed
    assert "projects.atom?field.license=mit&amp;field.price=0..1" in feed
    assert '<category term="mit" label="MIT" scheme=' in feed
    assert "/api/fields#platforms" in feed
    assert visitor.get("/api/projects.atom?field.free=false").text.count("<entry>") == 1
