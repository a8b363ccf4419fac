"""The facts next to each project in administrators' list: its owner's record, and other submissions of its URL."""

from typing import Any

import pytest
from flask import Flask

from directory.services.catalog import additions
from tests.conftest import Statements
from tests.support.extras import rows
from tests.support.factories import Api, World


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin())


def shown(admin: Api, query: str = "limit=100") -> dict[int, tuple[Any, int]]:
    items = admin.get(f"/api/admin/projects?{query}").json["items"]
    return {item["id"]: (tuple(item["owner_stats"].values()), item["earlier"]) for item in items}


def test_each_item_counts_its_owners_projects_by_state(world: World, admin: Api) -> None:
    bob, eve = world.user("bob"), world.user("eve")
    owned = [world.project(bob, status) for status in ("live", "live", "pending", "rejected", "rejected", "rejected")]
    other = world.project(eve, "pending")
    item = admin.get("/api/admin/projects?owner=bob&limit=1").json["items"][0]
    assert item["owner_stats"] == {"live": 2, "pending": 1, "rejected": 3}
    assert shown(admin) == {**dict.fromkeys(owned, ((2, 1, 3), 0)), other: ((0, 1, 0), 0)}
    admin.put(f"/api/admin/projects/{owned[2]}/approve")
    admin.delete(f"/api/projects/{owned[0]}")
    assert shown(admin, "owner=bob&status=live") == dict.fromkeys(owned[1:3], ((2, 0, 3), 0))


def test_earlier_counts_all_other_submissions_of_the_url_that_exist(world: World, admin: Api) -> None:
    urls = ("https://same.example", "http://www.same.example/", "https://SAME.example:443/#top")
    states = ("live", "pending", "rejected")
    same = [world.project(status=state, url=url) for state, url in zip(states, urls, strict=True)]
    lone = world.project(url="https://same.example/other")
    found = shown(admin)
    assert [found[project][1] for project in same] == [2, 2, 2]
    assert found[lone][1] == 0
    assert {project: earlier for project, (_, earlier) in shown(admin, "status=pending").items()} == {same[1]: 2}
    admin.delete(f"/api/projects/{same[0]}")
    assert [earlier for _, earlier in shown(admin).values()].count(1) == 2


def test_the_public_list_has_neither(world: World, api: Api, admin: Api) -> None:
    world.project()
    for caller in (api, admin):
        assert not {"owner_stats", "earlier", "warnings"} & caller.get("/api/projects").json["items"][0].keys()


@pytest.mark.parametrize("size", [1, 20])
def test_a_page_costs_as_many_statements_whatever_its_size(
    world: World, admin: Api, statements: Statements, size: int
) -> None:
    owners = [world.user() for _ in range(3)]
    for number in range(20):
        world.project(owners[number % 3], "pending", url=f"https://{number % 7}-{number % 3}.example")
    for query in ("status=pending", "", "status=pending&owner=me"):
        admin.get(f"/api/admin/projects?{query}&limit={size}")
        statements.clear()
        items = admin.get(f"/api/admin/projects?{query}&limit={size}").json["items"]
        # who calls, the page, the owners' records, the other submissions, what extras add; of an empty page its total
        assert (len(items), len(statements)) == ((0, 3) if "owner" in query else (size, 4 + len(rows("queued"))))


def test_what_is_deleted_meanwhile_has_no_record(app: Flask, world: World) -> None:
    gone = {"id": 4711, "owner": {"id": 4711}, "title": "Gone", "description": "", "owner_has_page": True}
    with app.app_context():
        additions.add_background([gone], by=world.admin())
    assert (gone["owner_stats"], gone["earlier"]) == ({"live": 0, "pending": 0, "rejected": 0}, 0)


def test_titles_with_letters_that_look_like_others_are_marked(world: World) -> None:
    for title in ("Gооgle", "Google", "Хор и лес"):  # the first one with letters of Cyrillic
        world.project(status="pending", title=title)
    items = world.caller(world.admin()).get("/api/admin/projects?status=pending").json["items"]
    assert [item["warnings"] for item in items] == [["lookalike_title"], [], []]


def test_a_warning_names_the_live_project_whose_title_reads_the_same(world: World) -> None:
    vim = world.project(title="Vim")
    world.project(status="rejected", title="Google")
    for title in ("V\u0456m", "G\u043e\u043egle"):  # with letters of Cyrillic
        world.project(status="pending", title=title)
    admin = world.caller(world.admin())
    items = admin.get("/api/admin/projects?status=pending").json["items"]
    named = {"lookalike_title": {"id": vim, "title": "Vim"}, "same_repository": None}
    assert [item["resembles"] for item in items] == [named, {"lookalike_title": None, "same_repository": None}]
    assert admin.get(f"/api/review/projects/{items[0]['id']}").json["resembles"] == named


def test_the_title_that_a_revision_would_give_is_looked_at(world: World) -> None:
    ada, vim = world.user(), world.project(title="Vim")
    changed = world.project(ada, title="Lamp")
    world.revise(changed, ada, title="V\u0456m")
    item = world.caller(world.admin()).get("/api/review/projects?waiting=true").json["items"][0]
    assert (item["title"], item["warnings"]) == ("Lamp", ["lookalike_title"])
    assert item["resembles"]["lookalike_title"] == {"id": vim, "title": "Vim"}


def test_a_warning_names_no_project_that_the_reviewer_may_not_see(world: World) -> None:
    shared = {"repository_url": "https://github.com/ada/lamp"}
    hidden = world.project(status="rejected", title="Torch", category="games", **shared)
    here = world.project(status="pending", title="Lamp", **shared)
    seen = {}
    for name, person in (("tools", world.reviewer("tools")), ("all", world.reviewer()), ("admin", world.admin())):
        seen[name] = world.caller(person).get(f"/api/review/projects/{here}").json
    assert [each["warnings"] for each in seen.values()] == [["same_repository"]] * 3
    other = {"id": hidden, "title": "Torch"}
    found = {name: each["resembles"]["same_repository"] for name, each in seen.items()}
    assert found == {"tools": None, "all": other, "admin": other}


@pytest.mark.parametrize("number", [2, 30])
def test_the_projects_of_all_warnings_of_a_page_take_two_statements(
    world: World, statements: Statements, number: int
) -> None:
    admin, shared = world.caller(world.admin()), {"repository_url": "https://github.com/ada/lamp"}
    owner = world.user()
    counts = []
    for fields in ({}, shared):
        for place in range(number):
            title = f"V\u0456m {place}" if fields else f"Vim {place}"
            world.project(owner, "pending", title=title, url=f"https://{place}-{bool(fields)}.example", **fields)
        admin.get("/api/admin/projects?status=pending&limit=100")
        statements.clear()
        items = admin.get("/api/admin/projects?status=pending&limit=100").json["items"]
        counts.append((sum("lookalike_title" in item["warnings"] for item in items), len(statements)))
    (none, before), (all_of_them, after) = counts
    assert (none, all_of_them, after - before) == (0, number, 2)


def test_a_title_is_stored_and_compared_as_it_is_seen(world: World) -> None:
    owner, google = world.user(), world.project(title="Google")
    world.category("tools")
    body = {"title": "Goo\u200bgle\u00ad", "tagline": "S\u2060earch", "tags": ["se\u200barch"], "category": "tools"}
    made = world.caller(owner).post("/api/projects", {**body, "url": "https://example.org/second"})
    assert made.status_code == 201, made.json
    assert [made.json[name] for name in ("title", "tagline", "tags")] == ["Google", "Search", ["search"]]
    similar = world.caller(owner).get("/api/projects/check", query_string={"title": "Goo\u00adgle"}).json["similar"]
    assert [project["id"] for project in similar] == [google]
