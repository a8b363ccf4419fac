"""Claims over HTTP: who looks at a project, the lists by claims, and what switches them off."""

from typing import Any

import pytest
from flask import Flask

from tests.api.test_public_walk import Filled
from tests.api.test_revisions_public import addresses, shown
from tests.support.factories import Api, World


@pytest.fixture
def rev(world: World) -> Api:
    return world.caller(world.reviewer(username="rev"))


@pytest.fixture
def some(world: World) -> Api:
    world.category("tools")
    return world.caller(world.reviewer("tools", username="some"))


def claim(caller: Api, project: int, **body: Any) -> Any:
    return caller.put(f"/api/review/projects/{project}/claim", body or None)


def listed(caller: Api, query: str, under: str = "review") -> list[int]:
    answer = caller.get(f"/api/{under}/projects?{query}").json
    assert answer["pagination"]["total"] == len(answer["items"])
    return [item["id"] for item in answer["items"]]


def test_a_claim_is_shown_to_those_who_review_and_taken_over(app: Flask, world: World, rev: Api, some: Api) -> None:
    project = world.project(ada := world.user(), "pending")
    own = claim(rev, project)
    assert (own.status_code, own.json["user"]["username"]) == (200, "rev")
    refused = claim(some, project)
    assert (refused.status_code, refused.json["code"], refused.json["claim"]) == (409, "claimed", own.json)
    assert claim(some, project, take_over=False).status_code == 409
    assert claim(some, project, take_over=1).json["errors"][0]["pointer"] == "#/take_over"
    taken = claim(some, project, take_over=True)
    assert (taken.status_code, taken.json["user"]["username"]) == (200, "some")
    for under in ("review", "admin"):
        [item] = world.caller(world.admin()).get(f"/api/{under}/projects?waiting=true").json["items"]
        assert item["claim"] == taken.json
    assert rev.get(f"/api/review/projects/{project}").json["claim"] == taken.json
    assert "claim" not in world.caller(ada).get(f"/api/projects/{project}").json
    assert rev.delete(f"/api/review/projects/{project}/claim").status_code == 204
    assert rev.get(f"/api/review/projects/{project}").json["claim"] == taken.json
    assert some.delete(f"/api/review/projects/{project}/claim").status_code == 204
    assert rev.get(f"/api/review/projects/{project}").json["claim"] is None


@pytest.mark.parametrize("under", ["review", "admin"])
def test_lists_by_claims(world: World, rev: Api, some: Api, under: str) -> None:
    mine, others, none = (world.project(status="pending", title=f"Zebra {n}") for n in range(3))
    revised = world.project(owner := world.user(), title="Zebra")
    world.revise(revised, owner, tagline="Later", title="Zebra later")
    caller = rev if under == "review" else world.caller(world.admin())
    assert claim(caller, mine).status_code == claim(some, others).status_code == 200
    assert claim(caller, revised).status_code == 200
    found = {"me": {mine, revised}, "others": {others}, "none": {none}}
    for claimed, expected in found.items():
        for query in ("waiting=true", "waiting=true&q=zebra", "sort=newest", "sort=upvotes", "category=tools"):
            assert {*listed(caller, f"claimed={claimed}&{query}", under)} == expected, (claimed, query)
        pending = expected - {revised}
        assert {*listed(caller, f"claimed={claimed}&status=pending", under)} == pending, claimed
    assert caller.get(f"/api/{under}/projects?claimed=all").status_code == 422


def test_a_list_by_claims_goes_on_by_cursor(world: World, rev: Api) -> None:
    projects = [world.project(status="pending") for _ in range(3)]
    for project in projects:
        claim(rev, project)
    found, query = [], "claimed=me&waiting=true&limit=2"
    while query:
        page = rev.get(f"/api/review/projects?{query}").json
        found += [item["id"] for item in page["items"]]
        cursor = page["pagination"]["next_cursor"]
        query = f"claimed=me&waiting=true&limit=2&cursor={cursor}" if cursor else ""
    assert found == projects


def test_the_summary_counts_ones_own(world: World, rev: Api, some: Api) -> None:
    tools, games = (world.project(status="pending", category=category) for category in ("tools", "games"))
    claim(rev, tools)
    claim(rev, games)
    claim(some, tools, take_over=True)
    assert (rev.get("/api/review/summary").json["mine"], some.get("/api/review/summary").json["mine"]) == (1, 1)
    assert claim(some, games).status_code == 404
    assert some.delete(f"/api/review/projects/{games}/claim").status_code == 404


def test_an_edit_by_an_administrator_that_moves_a_project_takes_the_claim_of_who_may_not_follow(
    world: World, rev: Api, some: Api
) -> None:
    root = world.caller(world.admin())
    world.category("games")
    kept, lost = world.project(status="pending"), world.project(status="pending")
    claim(rev, kept)
    claim(some, lost)
    for project in (kept, lost):
        assert root.put(f"/api/projects/{project}", {"category": "games"}).status_code == 200
    found = {item["id"]: item["claim"] for item in root.get("/api/admin/projects").json["items"]}
    assert (found[kept]["user"]["username"], found[lost]) == ("rev", None)
    assert some.get("/api/review/summary").json["mine"] == 0


def test_claims_outside_of_ones_new_categories_end(world: World) -> None:
    rev = world.caller(user := world.reviewer())
    tools, games = (world.project(status="pending", category=category) for category in ("tools", "games"))
    for project in (tools, games):
        assert claim(rev, project).status_code == 200
    world.make_reviewer(user, "tools")
    found = {item["id"]: item["claim"] for item in world.caller(world.admin()).get("/api/admin/projects").json["items"]}
    assert [found[project] is None for project in (tools, games)] == [False, True]


def test_a_claim_does_not_stand_in_the_way(world: World, rev: Api, some: Api) -> None:
    approved, rejected = world.project(status="pending"), world.project(status="pending")
    for project in (approved, rejected):
        claim(rev, project)
    assert some.put(f"/api/review/projects/{approved}/approve").json["status"] == "live"
    body = {"decision": "reject", "items": [{"id": rejected, "version": 1}]}
    assert some.post("/api/review/projects/decisions", body).json["items"][0]["status"] == 200
    assert listed(rev, "claimed=me") == []


def test_where_claims_are_off_the_routes_are_absent_for_those_who_could_use_them(
    make_app: Any, app: Flask, world: World, rev: Api
) -> None:
    project, off = world.project(status="pending"), make_app(CLAIM_MINUTES="0")
    claim(rev, project)
    member = world.caller(world.user())
    for token, status in ((None, 401), (member.token, 403), (rev.token, 404)):
        caller = Api(off, token)
        for method, body in (("PUT", None), ("PUT", {"bad": 1}), ("DELETE", None)):
            for target in (project, 10**9):
                answer = caller.call(method, f"/api/review/projects/{target}/claim", body)
                assert answer.status_code == status, (method, body, answer.json)
    [item] = Api(off, rev.token).get("/api/review/projects?waiting=true").json["items"]
    assert item["claim"] is None
    assert Api(off, rev.token).get("/api/review/summary").json["mine"] == 0
    assert "/api/review/projects/{project_id}/claim" in Api(off).get("/api/openapi.json").json["paths"]


def test_without_the_extra_the_queue_goes_on_without_claims(make_app: Any, world: World, rev: Api) -> None:
    project, off = world.project(status="pending"), Api(make_app(EXTRAS="-claims"), rev.token)
    claim(rev, project)
    for method in ("PUT", "DELETE"):
        assert off.call(method, f"/api/review/projects/{project}/claim").status_code == 404
    assert not {"mine", "claims"} & off.get("/api/review/summary").json.keys()
    [item] = off.get("/api/review/projects?waiting=true").json["items"]
    assert "claim" not in item
    refused = off.get("/api/review/projects?claimed=me")
    assert (refused.status_code, refused.json["errors"][0]["parameter"]) == (422, "claimed")
    assert "claimed" not in {each["name"] for each in _parameters(off)}
    assert "claimed" in {each["name"] for each in _parameters(rev)}
    assert rev.get(f"/api/review/projects/{project}").json["claim"]["user"]["username"] == "rev"  # the data stay


def _parameters(api: Api) -> list[dict[str, Any]]:
    operation = api.get("/api/openapi.json").json["paths"]["/api/review/projects"]["get"]
    parameters: list[dict[str, Any]] = operation["parameters"]
    return parameters


def test_a_claim_lasts_as_long_as_the_setting_says(make_app: Any, world: World, rev: Api) -> None:
    project = world.project(status="pending")
    short, usual = (Api(make_app(CLAIM_MINUTES=minutes), rev.token) for minutes in ("1", "15"))
    first, second = claim(short, project).json["until"], claim(usual, project).json["until"]
    assert first < second


def test_a_claim_changes_no_public_answer(app: Flask, world: World, rev: Api) -> None:
    filled = Filled(world, 1)
    [project] = filled.projects
    world.revise(project, filled.ada, title="Later")

    def look() -> dict[str, Any]:
        return {path: shown(Api(app), path) for path in addresses(app, project)}

    before = look()
    assert claim(rev, project).status_code == 200
    assert look() == before
