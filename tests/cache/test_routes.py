"""The route of a cacheable read: the lookup by id finds what the URL map does."""

from random import Random
from typing import Any

import pytest
from flask import Flask

from directory.api.schemas.projects import ProjectDetail
from directory.cache.routes import CacheableRoutes
from directory.http.access import public
from directory.http.cache_policy import CachePolicy
from directory.http.endpoint import operation
from directory.models.base import HIGHEST_ID
from tests.support.caching import request_for


def test_a_route_is_found_by_an_id_exactly_where_the_url_map_finds_it(app: Flask) -> None:
    reads, chance = CacheableRoutes(app), Random(1)
    ends = [
        "0",
        "1",
        "01",
        "-1",
        "+1",
        "1.0",
        "x",
        "",
        "1/",
        "1/upvote",
        "x1",
        "1x",
        "\u0661",
        "1\n",
    ]
    numbers = [HIGHEST_ID - 1, HIGHEST_ID, HIGHEST_ID + 1, 10**30, *(chance.randrange(2**64) for _ in range(200))]
    befores = ["/api/projects", "/api/projects/", "/api/categories", "/api/users", "/api", "", "/api/Projects"]
    found = 0
    for before in befores:
        for end in [*ends, *map(str, numbers)]:
            asked = request_for(f"{before}/{end}")
            by_map, by_id = reads.find(asked.path), reads.find_by_id(asked)
            together = by_map is not None and by_map.view.operation.cache.load_many is not None
            assert (by_id is not None) == together, asked
            if by_map is not None and by_id is not None:
                assert (by_map.rule, by_map.view, [*by_map.arguments.values()]) == (by_id.rule, by_id.view, [by_id.id])
                found += 1
    assert found > 50
    assert reads.find_by_id(request_for("/api/projects/1", "page=1")) is None


@pytest.mark.parametrize(
    ("path", "is_covered"),
    [
        ("/", True), ("/p/1/x", True), ("/sign-in", True), ("/admin/queue", True), ("/api/projects", True),
        ("/api/nothing", True), ("/healthz", False), ("/readyz", False), ("/assets/x.js", False), ("/api.html", False),
        ("", False), ("*", False),
    ],
)  # fmt: skip
def test_only_the_api_and_pages_are_looked_up_in_the_cache(app: Flask, path: str, is_covered: bool) -> None:
    assert CacheableRoutes(app).covers(path) is is_covered


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        ("GET", "/api/things"),
        ("GET", "/api/things/<int:number>"),
        ("GET", "/api/things/<id:number>.json"),
        ("GET", "/api/things/<id:number>-<id:other>"),
        ("GET", "/api/<slug:kind>/<id:number>"),
        ("POST", "/api/things/<id:number>"),
    ],
)
def test_only_a_get_of_one_item_by_its_id_can_be_batched(make_app: Any, method: str, rule: str) -> None:
    app = make_app()

    @public
    @operation(answer=ProjectDetail(), tier="read", etag=True, cache=CachePolicy(load_many=lambda asked, quick: []))
    def thing(**_arguments: Any) -> None:
        """Nothing."""

    app.add_url_rule(rule, "thing", thing, methods=[method])
    with pytest.raises(RuntimeError, match="load_many"):
        CacheableRoutes(app)
