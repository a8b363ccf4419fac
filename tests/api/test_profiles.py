"""A member as everybody sees them."""

from flask import Flask

from directory.services.accounts import users
from tests.conftest import Statements
from tests.support.factories import Api, World


def test_live_projects_and_the_votes_for_them_are_counted(world: World, api: Api) -> None:
    ada = world.user("ada")
    world.project(ada, votes=2)
    down = world.project(ada, votes=3)
    for status in ("pending", "rejected"):
        world.project(ada, status)
    world.caller(world.admin()).put(f"/api/admin/projects/{down}/unpublish")
    answer = api.get("/api/users/ada")
    created_at = world.caller(ada).get("/api/auth/me").json["created_at"]
    assert answer.json == {"username": "ada", "created_at": created_at, "live_projects": 1, "upvotes_received": 2}
    assert answer.headers["Cache-Control"] == "public, no-cache"
    assert api.get("/api/users/ada", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304


def test_a_vote_shows_in_the_next_answer(world: World, api: Api) -> None:
    ada = world.user("ada")
    project = world.project(ada)
    assert api.get("/api/users/ada").json["upvotes_received"] == 0
    world.vote(project, ada)
    assert api.get("/api/users/ada").json["upvotes_received"] == 1


def test_a_member_without_projects_has_none(world: World, api: Api) -> None:
    world.user("ada")
    found = api.get("/api/users/ada").json
    assert (found["live_projects"], found["upvotes_received"]) == (0, 0)


def test_a_suspended_one_and_what_no_username_can_be_are_not_found(world: World, api: Api) -> None:
    eve = world.user("eve")
    admin = world.caller(world.admin())
    assert api.get("/api/users/eve").status_code == 200
    admin.put(f"/api/admin/users/{eve.id}", {"status": "suspended"})
    missing = ("eve", "nobody", "EVE", "ev", "a" * 33, "%00ab", "%C3%A9ve", "eve@example.org", "me%20")
    for caller in (api, admin):
        for name in missing:
            answer = caller.get(f"/api/users/{name}")
            assert (answer.status_code, answer.json["code"]) == (404, "not_found"), name
    assert api.get("/api/users/eve?x=1").status_code == 422


def test_it_takes_one_statement(app: Flask, world: World, statements: Statements) -> None:
    ada = world.user("ada")
    world.project(ada, votes=1)
    statements.clear()
    with app.app_context():  # not through the cache, which tries to make a member's answer itself once a second
        assert users.public("ada")["upvotes_received"] == 1
    assert len(statements) == 1
