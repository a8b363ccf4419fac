"""Nothing that a request says of itself changes what the cache gives to the next one, nor what it gives to this one."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask

from directory.cache.snapshot_source import SnapshotSource
from tests.support.browsers import COOKIE, Browser
from tests.support.caching import as_made, cache_of
from tests.support.factories import Api, World

pytestmark = pytest.mark.response_cache
TRUSTED = "https://app.example.com"
PATHS = (
    "/api/projects", "/api/projects?sort=upvotes&limit=1", "/api/projects?q=thing", "/api/projects/1",
    "/api/categories",
    "/api/projects.atom", "/api/openapi.json", "/api/docs", "/api/problems", "/api/problems/not_found",
    "/api/projects/2", "/api/projects?owner=me", "/api/projects?status=pending", "/api/projects?limit=0",
    "/api/nothing",
)  # fmt: skip
HEADERS = (
    {"Host": "evil.example"},
    {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/evil"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-For": "6.6.6.6", "Forwarded": "for=6.6.6.6;host=evil.example"},
    {"Accept": "text/html"},
    {"Accept": "application/xml;q=1, */*;q=0", "Accept-Language": "de", "Accept-Charset": "utf-16"},
    {"Accept-Encoding": "gzip, br"},
    {"Accept-Encoding": "identity;q=0"},
    {"X-Request-ID": "evil"},
    {"X-Request-ID": "<script>"},
    {"Cookie": f"{COOKIE}=dead"},
    {"Cookie": "a=b"},
    {"Authorization": "Bearer nonsense"},
    {"Authorization": "Basic YWRhOng="},
    {"Origin": TRUSTED},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Range": "bytes=0-1", "If-Range": '"x"'},
    {"If-Match": '"x"'},
    {"If-None-Match": "*"},
    {"If-None-Match": '"x", W/"y"'},
    {"If-Modified-Since": "Thu, 01 Jan 2037 00:00:00 GMT", "If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"},
    {"Cache-Control": "no-cache, only-if-cached", "Pragma": "no-cache"},
    {"X-HTTP-Method-Override": "DELETE", "X-Original-URL": "/api/admin/users"},
    {"Content-Type": "application/json", "Content-Length": "2"},
    {"User-Agent": "\xff", "Referer": "https://evil.example"},
)


@pytest.fixture(params=[{}, {"TRUSTED_PROXIES": 1, "CORS_ORIGINS": TRUSTED}], ids=["alone", "behind a proxy"])
def app(request: pytest.FixtureRequest, make_app: Any) -> Flask:
    return make_app(**request.param)  # type: ignore[no-any-return]


@contextmanager
def closed() -> Iterator[None]:
    """The cache closed: the application answers everything."""
    with patch.object(SnapshotSource, "snapshot", lambda _self: None):
        yield


def told(api: Api, path: str, headers: dict[str, str], method: str = "GET") -> tuple[Any, ...]:
    """An answer without its request's id; as the application gives it, which compresses nothing."""
    answer = api.call(method, path, headers=headers)
    body = b"" if answer.status_code >= 400 else answer.data  # a refusal repeats the id of its request
    own = answer.headers
    if own.pop("Content-Encoding", None) is not None:
        body = gzip.decompress(body)
        own["Content-Length"] = str(len(body))
    if "ETag" in own:
        own["ETag"] = own["ETag"].replace('-gz"', '"')
    return answer.status_code, as_made(each for each in own if each[0] != "X-Request-ID"), body


def forget(app: Flask) -> None:
    """Have the cache keep nothing."""
    cache = cache_of(app)
    cache.store._entries.clear()


@pytest.fixture
def people(app: Flask, world: World) -> tuple[dict[str, str], ...]:
    """What the owner of a live, a pending and a rejected project sends by token and by cookie; and an administrator."""
    owner = world.user("ada")
    for status in ("live", "pending", "rejected"):
        world.project(owner, status)
    browser = Browser(app).sign_in("ada")
    tokens = [world.caller(who).token for who in (owner, world.admin())]
    return {"Cookie": f"{COOKIE}={browser.cookie}"}, *({"Authorization": f"Bearer {token}"} for token in tokens)


def test_what_one_caller_sends_changes_no_answer_to_another(
    app: Flask, people: tuple[dict[str, str], ...], api: Api
) -> None:
    wrong = []
    for headers in (*people, *HEADERS):
        for path in PATHS:
            with closed():
                anonymous, own = told(api, path, {}), told(api, path, headers)
            forget(app)
            found = [told(api, path, given) for given in (headers, {}, headers, {})]
            if found != [own, anonymous, own, anonymous]:
                wrong.append((headers, path))
    assert wrong == []


def test_a_cached_response_has_every_header_of_a_fresh_one_as_200_as_304_and_to_head(
    app: Flask, people: Any, api: Api
) -> None:
    for path in PATHS[:10]:
        etag = api.get(path).headers["ETag"]
        for headers in ({}, {"If-None-Match": etag}):
            with closed():
                first = told(api, path, headers)
            assert told(api, path, headers) == first
            assert "X-Content-Type-Options" in dict(first[1])
            head = told(api, path, headers, "HEAD")
            assert head == (first[0], first[1], b"")


def test_a_cached_response_echoes_no_invalid_request_id(people: Any, api: Api) -> None:
    for given in ("<script>", "a\tb", "x" * 65, ""):
        for _again in range(2):
            assert len(api.get("/api/projects", headers={"X-Request-ID": given}).headers["X-Request-ID"]) == 32
