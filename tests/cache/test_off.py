"""With RESPONSE_CACHE=false there is no cache, no snapshot source and no memo, and the service answers the same."""

from typing import Any

import pytest
from flask import Flask

from tests.conftest import SqliteDatabase
from tests.support.caching import as_made
from tests.support.factories import Api, World
from tests.support.serving import serving


@pytest.fixture
def uncached(make_app: Any) -> Flask:
    return make_app(RESPONSE_CACHE="false")  # type: ignore[no-any-return]


def test_neither_middleware_nor_snapshot_source_nor_memo_exists(uncached: Flask) -> None:
    assert {"response_cache", "snapshot_source", "memo"}.isdisjoint(uncached.extensions)


def test_every_public_answer_is_the_same(app: Flask, uncached: Flask, world: World) -> None:
    project = world.project(tags=["x"], votes=1)
    paths = ("/api/projects", "/api/projects?q=thing", f"/api/projects/{project}", "/api/projects/999", "/api/nothing")
    for path in (*paths, "/api/categories", "/api/projects.atom", "/api/projects?page=0"):
        for headers in ({}, {"If-None-Match": "*"}):
            given = {"X-Request-ID": "mine", **headers}
            answers = [Api(each).get(path, headers=given) for each in (app, uncached)]
            assert answers[0].status_code == answers[1].status_code, path
            assert answers[0].data == answers[1].data, path
            assert as_made(answers[0].headers) == as_made(answers[1].headers), path


def test_the_dashboard_is_computed_for_each_request(uncached: Flask, world: World) -> None:
    admin = world.caller(world.admin())
    dashboard = Api(uncached, admin.token)
    assert dashboard.get("/api/admin/analytics").json["totals"]["projects"]["live"] == 0
    world.project()
    assert dashboard.get("/api/admin/analytics").json["totals"]["projects"]["live"] == 1


def test_the_server_works_without_the_cache(tmp_path: Any) -> None:
    database = SqliteDatabase(tmp_path)
    database.reset()
    environment = {"DATABASE_URL": database.url, "SECRET_KEY": "0f1e2d3c4b5a69788796" * 2, "APP_ENV": "production"}
    with serving({**environment, "RESPONSE_CACHE": "false"}, tmp_path / "log") as server:
        for _ in range(2):
            assert server.request("GET", "/api/projects") == 200
            assert server.request("GET", "/api/projects/1") == 404
        assert server.request("POST", "/api/projects/1/upvote") == 401
        assert server.request("GET", "/api/auth/me", token="nonsense") == 401
