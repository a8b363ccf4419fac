"""X-Expected-User: a write that a page means for another account than the one that is signed in changes nothing."""

import pytest

from tests.support.factories import World
from tests.support.routes import routes


def named(user):
    return {"X-Expected-User": str(user.id)}


def test_a_submission_that_is_meant_for_another_account_is_refused_and_nothing_is_written(world: World, api):
    world.category()
    before, now_signed_in = world.user(), world.user()
    caller = world.caller(now_signed_in)
    body = {"title": "Kept", "tagline": "A thing", "url": "https://kept.example", "category": "tools"}
    refused = caller.post("/api/projects", body, headers=named(before))
    assert (refused.status_code, refused.json["code"]) == (409, "other_user")
    assert caller.get("/api/projects?owner=me").json["items"] == []
    assert caller.post("/api/projects", body, headers=named(now_signed_in)).status_code == 201


def test_every_write_that_needs_a_caller_is_refused_before_its_body_is_read(world: World, app):
    caller = world.caller(world.user(role="admin"))
    other = world.user()
    tried = 0
    for route in routes(app):
        if route.method in {"GET", "HEAD"} or not route.rule.startswith("/api/"):
            continue
        path = "/".join("1" if part.startswith("<") else part for part in route.rule.split("/"))
        answer = caller.call(route.method, path, headers=named(other))
        if answer.status_code != 404:  # a path whose name is of another form than "1"
            assert (answer.status_code, answer.json["code"]) == (409, "other_user"), (route.method, path)
            tried += 1
    assert tried > 30


@pytest.mark.parametrize("given", ["", "x", "-1", "1, 2", "00", "9" * 40])
def test_what_is_not_the_accounts_id_is_another_account(world: World, given):
    world.category()
    caller = world.caller(world.user())
    answer = caller.post("/api/auth/tokens", {"name": "x"}, headers={"X-Expected-User": given})
    assert answer.json["code"] == "other_user"


def test_reads_and_writes_of_who_is_signed_out_are_answered_as_ever(world: World, api):
    other, caller = world.user(), world.caller(world.user())
    assert caller.get("/api/auth/me", headers=named(other)).status_code == 200
    assert api.post("/api/projects", {}, headers=named(other)).status_code == 401
    assert api.post("/api/markdown", {"text": "x"}, headers=named(other)).status_code == 200
