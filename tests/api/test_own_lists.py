"""The lists of what is one's own: what one has voted for, and one's projects with their places and their counts."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Review, now
from directory.services.catalog import search
from tests.api.test_listing import ids, walk
from tests.conftest import Statements
from tests.support.factories import Api, World
from tests.support.lists import ORDERS, THIS_YEAR, by_each_filter


def test_what_one_has_voted_for_is_listed_live_ones_unless_a_status_is_given(world: World, api: Api) -> None:
    ada, eve = world.user("ada"), world.user("eve")
    admin = world.caller(world.admin())
    liked, down, mine = world.project(), world.project(), world.project(ada)
    world.project(votes=1)
    for project in (liked, down, mine):
        world.vote(project, ada)
    for project in (down, mine):
        admin.put(f"/api/admin/projects/{project}/unpublish")
    as_ada = world.caller(ada)
    answer = as_ada.get("/api/projects?upvoted=me")
    assert ids(answer) == [liked]
    assert answer.json["items"][0]["has_upvoted"] is True
    assert answer.json["pagination"]["total"] == 1
    assert "upvoted=me" in answer.headers["Link"]
    assert ids(as_ada.get("/api/projects?upvoted=me&status=pending")) == [mine]  # what is not live is for its owner
    assert ids(as_ada.get("/api/projects?upvoted=me&owner=me")) == []
    assert ids(as_ada.get("/api/projects?upvoted=me&owner=me&status=pending")) == [mine]
    assert ids(world.caller(eve).get("/api/projects?upvoted=me")) == []
    assert api.get("/api/projects?upvoted=me").status_code == 401
    for bad in ("ada", "", "ME", "me&upvoted=me"):
        assert as_ada.get(f"/api/projects?upvoted={bad}").status_code == 422
    as_ada.delete(f"/api/projects/{liked}/upvote")
    assert ids(as_ada.get("/api/projects?upvoted=me")) == []


NARROWED = by_each_filter(status="live", category="web", tag="x", owner="ada", q="thing", published=THIS_YEAR)


@pytest.mark.parametrize("narrowed", ["", *NARROWED, "q=thing&tag=x"])
@pytest.mark.parametrize("most", [search.MOST, 1])  # with one match more the query is common
def test_it_combines_with_filters_orders_pages_and_cursors(
    world: World, narrowed: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST", most)
    ada = world.user("ada")
    given = {"category": "web", "tags": ["x"], "title": "Some thing"}
    liked = [world.project(ada, **given) for _ in range(5)]
    other = world.project(category="data", title="Other", tagline="Another")
    world.project(ada, **given)
    for project in (*liked, other):
        world.vote(project, ada)
    caller = world.caller(ada)
    for sort in ("", *(f"&sort={each}" for each in ORDERS)):
        path = f"/api/projects?upvoted=me&limit=2{sort}&{narrowed}"
        whole = ids(caller.get(path.replace("limit=2", "limit=100")))
        assert whole == ([other] if narrowed in {"", "status=live", f"published={THIS_YEAR}"} else []) + liked[::-1]
        assert walk(caller, path) == whole
        assert [*ids(caller.get(f"{path}&page=2")), *ids(caller.get(f"{path}&page=3"))] == whole[2:]
        total = caller.get(path).json["pagination"]
        if most > 1:
            assert (total["total"], total["total_capped"]) == (len(whole), False)
        assert ids(caller.get(f"{path}&page=9")) == []


def test_a_cursor_of_it_is_good_for_the_voter_alone(world: World) -> None:
    ada, eve = world.user(), world.user()
    for project in [world.project() for _ in range(3)]:
        world.vote(project, ada)
        world.vote(project, eve)
    cursor = world.caller(ada).get("/api/projects?upvoted=me&limit=1").json["pagination"]["next_cursor"]
    assert world.caller(eve).get(f"/api/projects?upvoted=me&limit=1&cursor={cursor}").status_code == 422


def queued(answer: Any) -> dict[int, Any]:
    return {item["id"]: item["queue_position"] for item in answer.json["items"]}


def test_ones_own_projects_carry_their_place_in_the_queue(app: Flask, world: World) -> None:
    ada = world.user("ada")
    live, rejected = world.project(ada), world.project(ada, "rejected")
    first = world.project(ada, "pending")
    world.project(status="pending")
    third, fourth = world.project(ada, "pending"), world.project(ada, "pending")
    yesterday = now() - timedelta(days=1)
    together = update(Review).where(Review.project_id.in_([third, fourth])).values(place=now(), since=now())
    earliest = update(Review).where(Review.project_id == fourth).values(place=yesterday, since=yesterday)
    caller = world.caller(ada)
    with app.app_context():
        transaction(lambda: db.session.execute(together))
    expected = {live: None, rejected: None, first: 1, third: 3, fourth: 4}
    assert queued(caller.get("/api/projects?owner=me")) == expected
    with app.app_context():
        transaction(lambda: db.session.execute(earliest))
    expected |= {first: 2, third: 4, fourth: 1}
    assert queued(caller.get("/api/projects?owner=me")) == expected
    for project, place in expected.items():
        assert caller.get(f"/api/projects/{project}").json["queue_position"] == place
    assert queued(caller.get("/api/projects?owner=me&status=pending&limit=1")) == {fourth: 1}
    for others in ("owner=ada", "status=pending", ""):
        assert all("queue_position" not in item for item in caller.get(f"/api/projects?{others}").json["items"])


def test_the_places_of_a_page_take_one_statement_and_none_where_nothing_is_pending(
    world: World, statements: Statements
) -> None:
    ada = world.user()
    caller = world.caller(ada)
    world.project(ada)
    caller.get("/api/projects?owner=me")
    statements.clear()
    caller.get("/api/projects?owner=me")
    without = len(statements)
    for _ in range(4):
        world.project(ada, "pending")
    statements.clear()
    assert [*queued(caller.get("/api/projects?owner=me")).values()] == [4, 3, 2, 1, None]
    assert len(statements) == without + 1


def test_ones_own_are_counted_by_state(world: World, api: Api) -> None:
    ada = world.user("ada")
    for status, number in (("live", 2), ("pending", 1)):
        for _ in range(number):
            world.project(ada, status)
    world.project()
    caller = world.caller(ada)
    answer = caller.get("/api/projects/counts?owner=me")
    assert answer.json == {"live": 2, "pending": 1, "rejected": 0}
    assert answer.headers["Cache-Control"] == "private, no-cache"
    nothing = {"live": 0, "pending": 0, "rejected": 0}
    assert world.caller(world.admin()).get("/api/projects/counts?owner=me").json == nothing
    assert api.get("/api/projects/counts?owner=me").status_code == 401
    assert api.get("/api/projects/counts").status_code == 401
    for query in ("", "?owner=ada", "?owner=", "?owner=me&x=1", "?status=live"):
        assert caller.get(f"/api/projects/counts{query}").status_code == 422
