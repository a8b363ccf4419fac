"""The lists: filters, orders, pages and cursors."""

from datetime import datetime
from itertools import chain
from typing import Any

import pytest
from flask import Flask

from directory.db.paging import NEAR
from directory.db.transactions import on_postgresql
from directory.http import pagination
from tests.conftest import Statements
from tests.support.exchanges import handling
from tests.support.factories import Api, World
from tests.support.lists import ORDERS, THIS_YEAR, by_each_filter


def ids(response: Any) -> list[int]:
    assert response.status_code == 200, response.json
    return [item["id"] for item in response.json["items"]]


def walk(api: Api, path: str, cursor: str = "next_cursor") -> list[int]:
    """Every id of a list, by its cursors."""
    seen: list[int] = []
    sep = "&" if "?" in path else "?"
    answer = api.get(path)
    for _ in range(100):
        seen += ids(answer)
        token = answer.json["pagination"][cursor]
        if token is None:
            return seen
        answer = api.get(f"{path}{sep}cursor={token}")
    raise AssertionError("the list has no end")


def test_the_public_list_shows_live_projects_newest_first(world: World, api: Api) -> None:
    live = [world.project() for _ in range(3)]
    world.project(status="pending")
    world.project(status="rejected")
    answer = api.get("/api/projects")
    assert ids(answer) == live[::-1]
    assert answer.json["pagination"] == {
        "page": 1, "limit": 20, "total": 3, "total_capped": False, "pages": 1,
        "next_cursor": None, "prev_cursor": None,
    }  # fmt: skip


def test_sort_upvotes_goes_by_count_and_breaks_ties_by_id(world: World, api: Api) -> None:
    none, one, two, also_one = (world.project(votes=n) for n in (0, 1, 2, 1))
    assert ids(api.get("/api/projects?sort=upvotes")) == [two, also_one, one, none]


def test_sort_popular_weighs_votes_against_age(world: World, api: Api) -> None:
    quiet, loved, new = world.project(), world.project(votes=3), world.project()
    assert ids(api.get("/api/projects?sort=popular")) == [loved, new, quiet]


def test_filters_narrow_and_unknown_ones_find_nothing(world: World, api: Api) -> None:
    bob = world.user("bob")
    a = world.project(bob, category="web", tags=["http", "cli"])
    b = world.project(category="web", tags=["http"])
    c = world.project(bob, category="data")
    assert ids(api.get("/api/projects?category=web")) == [b, a]
    assert ids(api.get("/api/projects?tag=cli")) == [a]
    assert ids(api.get("/api/projects?tag=http&owner=bob")) == [a]
    assert ids(api.get("/api/projects?owner=bob")) == [c, a]
    for nothing in ("category=none", "tag=none", "owner=nobody", "q=none", "q=!!!", "page=9"):
        answer = api.get(f"/api/projects?{nothing}")
        assert ids(answer) == []
        assert answer.json["pagination"]["next_cursor"] is None
    assert api.get("/api/projects?category=web").json["pagination"]["total"] == 2
    assert api.get("/api/projects?tag=http&owner=bob").json["pagination"]["total"] == 1


def test_of_several_tags_all_must_match_in_whatever_order_they_are_given(world: World, api: Api) -> None:
    both = [world.project(tags=["http", "cli", *(["go"] if n else [])]) for n in range(3)][::-1]
    world.project(tags=["http"])
    for tags in ("http,cli", "cli,http", "cli,,http,", "%20http%20,%20cli", "cli,http,cli,http,cli,http", "http%2Ccli"):
        answer = api.get(f"/api/projects?tag={tags}&limit=2")
        assert (ids(answer), answer.json["pagination"]["total"]) == (both[:2], 3), tags
        for other in ("http,cli", "cli,http,"):
            cursor = answer.json["pagination"]["next_cursor"]
            assert ids(api.get(f"/api/projects?tag={other}&limit=2&cursor={cursor}")) == both[2:]
        assert api.get(f"/api/projects?tag=http&limit=2&cursor={cursor}").status_code == 422
    assert ids(api.get("/api/projects?tag=http,cli,go")) == both[:2]
    assert ids(api.get("/api/projects?tag=http,none")) == []
    for blank in ("", "%20", ",", "%20,%20,"):
        assert len(ids(api.get(f"/api/projects?tag={blank}"))) == 4


def test_each_state_is_listed_for_those_who_may_see_it(world: World, api: Api) -> None:
    bob, eve = world.user("bob"), world.user("eve")
    live, pending, rejected = (world.project(bob, status) for status in ("live", "pending", "rejected"))
    for path in ("status=pending", "status=rejected", "owner=me", "owner=bob&status=pending"):
        assert api.get(f"/api/projects?{path}").status_code == 401
    as_bob, as_eve, as_admin = world.caller(bob), world.caller(eve), world.caller(world.admin())
    assert ids(as_bob.get("/api/projects?status=pending")) == [pending]
    assert ids(as_bob.get("/api/projects?owner=me")) == [rejected, pending, live]
    assert ids(as_bob.get("/api/projects?owner=me&status=rejected")) == [rejected]
    assert ids(as_eve.get("/api/projects?status=pending")) == []
    assert ids(as_eve.get("/api/projects?status=pending&owner=bob")) == []
    assert ids(as_eve.get("/api/projects?owner=bob")) == [live]
    assert ids(as_admin.get("/api/projects?status=rejected")) == [rejected]
    assert ids(as_admin.get("/api/projects?owner=me")) == []
    assert as_bob.get("/api/projects?owner=me").json["pagination"]["total"] == 3


def test_reasons_are_shown_to_owner_and_admin_alone(world: World, api: Api) -> None:
    bob = world.user("bob")
    world.project(bob, "rejected")
    world.project(bob)
    shown = world.caller(bob).get("/api/projects?owner=me").json["items"]
    assert [item["rejection_reason"] for item in shown] == [None, "Not yet."]
    assert "rejection_reason" not in api.get("/api/projects").json["items"][0]
    eve = world.caller(world.user()).get("/api/projects").json["items"][0]
    assert "rejection_reason" not in eve
    assert eve["has_upvoted"] is False
    assert api.get("/api/projects").json["items"][0]["has_upvoted"] is None


NARROWED = by_each_filter(status="live", category="tools", owner="bob", q="thing", tag="x", published=THIS_YEAR)


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("narrowed", ["", *NARROWED])
def test_cursors_walk_every_project_once_in_order_and_back(world: World, api: Api, sort: str, narrowed: str) -> None:
    bob = world.user("bob")
    for n in range(7):
        world.project(bob, votes=n % 3 if narrowed == "" else 0, tags=["x"])
    path = f"/api/projects?limit=2&sort={sort}&{narrowed}"
    whole = ids(api.get(path.replace("limit=2", "limit=100")))
    assert len(whole) == 7
    assert walk(api, path) == whole
    pages = [ids(api.get(f"{path}&page={n}")) for n in range(1, 5)]
    assert [*chain(*pages)] == whole
    last = api.get(f"{path}&page=4")
    back, cursor = [ids(last)], last.json["pagination"]["prev_cursor"]
    while cursor:
        answer = api.get(f"{path}&cursor={cursor}")
        back.insert(0, ids(answer))
        cursor = answer.json["pagination"]["prev_cursor"]
    assert [*chain(*back)] == whole


def test_a_cursor_neither_skips_nor_repeats_while_others_come_and_go(world: World, api: Api) -> None:
    projects = [world.project() for _ in range(6)][::-1]
    first = api.get("/api/projects?limit=2")
    world.project()
    as_admin = world.caller(world.admin())
    as_admin.delete(f"/api/projects/{projects[1]}")
    assert ids(api.get(f"/api/projects?limit=4&cursor={first.json['pagination']['next_cursor']}")) == projects[2:]


def test_a_cursor_is_good_for_its_own_list_alone(world: World, api: Api) -> None:
    for _ in range(3):
        world.project()
    cursor = api.get("/api/projects?limit=1&sort=upvotes").json["pagination"]["next_cursor"]
    assert api.get(f"/api/projects?limit=2&sort=upvotes&cursor={cursor}").status_code == 200
    for other in ("", "&sort=newest", "&sort=upvotes&category=tools", "&sort=upvotes&q=x"):
        answer = api.get(f"/api/projects?cursor={cursor}{other}")
        assert answer.status_code == 422
        assert answer.json["errors"][0]["parameter"] == "cursor"
    tampered = [cursor[:6] + "!" + cursor[6:], cursor[:6] + "%0A." + cursor[6:], cursor + "=", cursor[:6] + "%20"]
    for bad in ("x", "%00", "=", cursor[:-2], cursor + "AA", "ÿ", "A" * 5000, "A" * 4001, *tampered):
        assert api.get(f"/api/projects?sort=upvotes&cursor={bad}").status_code == 422
    assert api.get(f"/api/projects?sort=upvotes&cursor={cursor}&page=1").status_code == 422


def test_a_period_narrows_the_list_and_the_feed_and_a_cursor_is_good_for_its_own_period(world: World, api: Api) -> None:
    at = [datetime.fromisoformat(f"2026-{day}T23:59:59.999999+00:00") for day in ("11-22", "11-23", "11-29")]
    projects = [world.project() for _ in at]
    for project, published in zip(projects, at, strict=True):
        world.published(project, published)
    found = {
        period: ids(api.get(f"/api/projects?published={period}"))
        for period in ("2026", "2026-11", "2026-W48", "2026-11-23", "2026-11-24", "2025")
    }
    assert found == {
        "2026": projects[::-1], "2026-11": projects[::-1], "2026-W48": projects[:0:-1], "2026-11-23": [projects[1]],
        "2026-11-24": [], "2025": [],
    }  # fmt: skip
    for sort in ORDERS:
        for far in ("0001", "0001-W01", "9999-12-31", "9999-W52"):
            assert ids(api.get(f"/api/projects?published={far}&sort={sort}")) == []
    feed = api.get("/api/projects.atom?published=2026-W48").text
    assert [f"/p/{project}/" in feed for project in projects] == [False, True, True]
    for path in ("/api/projects", "/api/projects.atom"):
        for bad in ("", "2026-W54", "2026-11-31", "26", "this", "2026-W48&published=2026"):
            answer = api.get(f"{path}?published={bad}")
            assert (answer.status_code, answer.json["errors"][0]["parameter"]) == (422, "published"), (path, bad)
    first = api.get("/api/projects?published=2026-W48&limit=1").json["pagination"]
    following = f"limit=1&cursor={first['next_cursor']}"
    assert first["total"] == 2
    assert ids(api.get(f"/api/projects?published=2026-W48&{following}")) == [projects[1]]
    for other in ("", "published=2026-11&", "published=2026-W48&category=tools&"):
        answer = api.get(f"/api/projects?{other}{following}")
        assert (answer.status_code, answer.json["errors"][0]["parameter"]) == (422, "cursor"), other


def test_a_cursor_is_as_good_where_the_defaults_are_spelt_out(world: World, api: Api) -> None:
    for _ in range(3):
        world.project(title="One")
    for short, long in (("limit=1", "limit=1&sort=newest&status=live"), ("limit=1&q=one", "limit=2&q=%20one%20")):
        for one, other in ((short, long), (long, short)):
            cursor = api.get(f"/api/projects?{one}").json["pagination"]["next_cursor"]
            assert api.get(f"/api/projects?{other}&cursor={cursor}").status_code == 200


def test_a_page_past_the_end_leads_back_to_the_last(world: World, api: Api) -> None:
    for _ in range(3):
        world.project()
    assert '</api/projects?limit=2&page=2>; rel="prev"' in api.get("/api/projects?limit=2&page=9").headers["Link"]
    assert '</api/projects?q=none&page=1>; rel="prev"' in api.get("/api/projects?q=none&page=2").headers["Link"]


def test_under_a_cursor_there_is_no_page_number_and_no_last(world: World, api: Api) -> None:
    for _ in range(3):
        world.project()
    first = api.get("/api/projects?limit=1&category=tools")
    links = first.headers["Link"]
    assert '</api/projects?limit=1&category=tools&page=3>; rel="last"' in links
    assert 'rel="prev"' not in links
    second = api.get(f"/api/projects?limit=1&category=tools&cursor={first.json['pagination']['next_cursor']}")
    assert second.json["pagination"]["page"] is None
    assert second.json["pagination"]["total"] == 3
    assert 'rel="last"' not in second.headers["Link"]
    for rel in ("first", "prev", "next"):
        assert f'rel="{rel}"' in second.headers["Link"]


def test_the_way_back_leads_on_again(world: World, api: Api) -> None:
    whole = [world.project() for _ in range(4)][::-1]

    def page(cursor: str | None) -> tuple[list[int], str | None, str | None]:
        answer = api.get(f"/api/projects?limit=2{f'&cursor={cursor}' if cursor else ''}")
        return ids(answer), *(answer.json["pagination"][f"{name}_cursor"] for name in ("prev", "next"))

    _, _, further = page(None)
    second, back, _ = page(further)
    first, before, again = page(back)
    assert (first, before, second) == (whole[:2], None, whole[2:])
    assert page(again)[0] == second


def test_the_next_page_past_the_depth_of_page_numbers_is_linked_by_cursor(app: Flask) -> None:
    at = {"limit": 100, "pages": 102, "total_capped": False, "prev_cursor": "before", "next_cursor": "after"}
    with handling(app, "/api/projects") as exchange:
        exchange.parameters = {"limit": "100"}
        for page, target in ((99, "page=100"), (100, "cursor=after"), (102, "cursor=after")):
            links = pagination.links({**at, "page": page, "next_cursor": "after"})
            assert f'</api/projects?limit=100&{target}>; rel="next"' in links
            assert 'rel="last"' not in links
        within = pagination.links({**at, "page": 1, "pages": 100})
        assert '</api/projects?limit=100&page=100>; rel="last"' in within


def test_every_link_leads_where_it_says(world: World, api: Api) -> None:
    whole = [world.project() for _ in range(5)][::-1]
    links = {}
    for part in api.get("/api/projects?limit=2&page=2").headers["Link"].split(", "):
        target, _, rel = part.partition("; rel=")
        links[rel.strip('"')] = ids(api.get(target.strip("<>")))
    assert links == {"first": whole[:2], "prev": whole[:2], "next": whole[4:], "last": whole[4:]}


def test_pages_reach_ten_thousand_items_deep(world: World, api: Api) -> None:
    assert api.get("/api/projects?limit=100&page=100").status_code == 200
    for path in ("limit=100&page=101", "page=501", "page=999999999", "limit=1&page=10001"):
        answer = api.get(f"/api/projects?{path}")
        assert answer.status_code == 422
        assert "cursor" in answer.json["errors"][0]["detail"]


@pytest.mark.parametrize("sort", ORDERS)
def test_pages_near_the_top_and_far_from_it_make_the_list_that_cursors_do(app: Flask, api: Api, sort: str) -> None:
    sizes = ["--projects", "1500", "--users", "50", "--votes", "3000"]
    assert app.test_cli_runner().invoke(args=["seed", *sizes]).exit_code == 0
    path = f"/api/projects?sort={sort}&limit=100"
    paging = api.get(path).json["pagination"]
    assert paging["total"] > NEAR + 300
    numbered = [each for n in range(paging["pages"]) for each in ids(api.get(f"{path}&page={n + 1}"))]
    assert numbered == walk(api, path)
    assert len(numbered) == paging["total"]


@pytest.mark.parametrize(
    "query",
    [
        "page=0", "page=-1", "page=abc", "page=1.5", "page=１２", "page=1_0", "page=%2B1", "page=", "page=01",
        "page=99999999999999999999", "limit=0", "limit=101", "limit=1000000000", "status=gone", "status=",
        "sort=oldest", "sort=", "category=No%20Slug", "tag=-", "tag=a,b,c,d,e,f", "tag=a,-", "tag=a,B",
        f"tag=a,{'b' * 33}", "owner=B%C3%96B", "q=%00", "q=%ff",
        "q=a%E2%80%AEb", "nope=1", "page=1&page=1", f"q={'x' * 201}", "category=tools&category=web",
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_by_name(world: World, api: Api, query: str) -> None:
    answer = api.get(f"/api/projects?{query}")
    assert answer.status_code == 422
    assert answer.json["code"] == "validation_failed"
    assert answer.json["errors"][0]["parameter"] == query.partition("=")[0]


@pytest.mark.parametrize("size", [1, 20])
@pytest.mark.parametrize(
    ("query", "cost"), [("", 1), ("?category=tools", 1), ("?owner=bob&tag=x&q=thing&sort=popular", 2), ("?limit=1", 1)]
)
def test_a_page_costs_the_same_statements_whatever_its_size(
    world: World, api: Api, statements: Statements, size: int, query: str, cost: int
) -> None:
    bob = world.user("bob")
    for _ in range(size):
        world.project(bob, tags=["x"])
    signed_in = world.caller(world.user())
    signed_in.get("/api/auth/me")  # records the token's first use
    statements.clear()
    api.get(f"/api/projects{query}")
    with world.app.app_context():
        settings = int(on_postgresql() and "q=" in query)  # SET LOCAL, so that the planner takes the index
    assert len(statements) == cost + settings
    statements.clear()
    signed_in.get(f"/api/projects{query}", headers={"Origin": "http://localhost"})  # not from the cache
    assert len(statements) == cost + settings + 1


def test_a_list_is_not_sent_again_to_who_has_it(world: World, api: Api) -> None:
    project = world.project()
    first = api.get("/api/projects")
    again = api.get("/api/projects", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304
    assert again.data == b""
    assert again.headers["Link"] == first.headers["Link"] != ""
    world.vote(project, world.user())
    assert api.get("/api/projects", headers={"If-None-Match": first.headers["ETag"]}).status_code == 200
