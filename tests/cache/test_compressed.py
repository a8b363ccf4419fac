"""Compressed answers: the same content for who accepts gzip, made once, to anonymous callers alone."""

import gzip
from typing import Any

import pytest
from flask import Flask

from directory.cache import responder, snapshot_source
from directory.cache.response import CachedResponse
from tests.support.caching import cache_of, request_for
from tests.support.factories import Api, World
from tests.support.reading import FastPath, by_application, in_loop, parsed

GZIP = {"Accept-Encoding": "br;q=0.9, gzip"}
PATHS = ("/api/projects", "/api/projects?q=thing", "/api/projects.atom", "/", "/?q=thing", "/tags/web", "/help")
pytestmark = pytest.mark.response_cache


@pytest.fixture
def listed(world: World) -> None:
    for number in range(5):
        world.project(title=f"A thing {number}", description="What it is for. " * 20, tags=["web"])


def varies(answer: Any) -> bool:
    return "Accept-Encoding" in answer.headers["Vary"].split(", ")


@pytest.mark.parametrize("path", PATHS)
def test_who_accepts_gzip_gets_the_same_content_under_an_etag_of_its_own(listed: None, api: Api, path: str) -> None:
    packed, plain = api.get(path, headers=GZIP), api.get(path)
    assert (packed.status_code, packed.headers["Content-Encoding"], "Content-Encoding" in plain.headers) == (
        200, "gzip", False,
    )  # fmt: skip
    assert gzip.decompress(packed.data) == plain.data
    assert int(packed.headers["Content-Length"]) == len(packed.data) < len(plain.data)
    assert varies(packed)
    assert varies(plain)
    own, other = packed.headers["ETag"], plain.headers["ETag"]
    assert own != other
    for accepted, has, status, etag in (
        (GZIP, own, 304, own), (GZIP, other, 304, other), (GZIP, "*", 304, own), (GZIP, f'"x", W/{own}', 304, own),
        (GZIP, '"x"', 200, own), ({}, other, 304, other), ({}, own, 200, other),
    ):  # fmt: skip
        answer = api.get(path, headers={**accepted, "If-None-Match": has})
        assert (answer.status_code, answer.headers["ETag"], varies(answer)) == (status, etag, True)
        assert status == 200 or "Content-Encoding" not in answer.headers
    for accepted, same in ((GZIP, packed), ({}, plain)):
        head = api.call("HEAD", path, headers=accepted)
        assert (head.status_code, head.data) == (200, b"")
        ids = {"X-Request-ID"}
        assert [each for each in head.headers if each[0] not in ids] == [
            each for each in same.headers if each[0] not in ids
        ]


def test_the_loop_gives_what_the_application_gives_once_a_thread_has_compressed_it(
    listed: None, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_source, "LOOP_TIMEOUT", 0.9)  # so that the loop answers on a busy machine too
    path = FastPath(app)
    for target in PATHS:
        for method in ("GET", "HEAD"):
            plain = parsed(target, method, X_Request_ID="mine")
            packed = parsed(target, method, X_Request_ID="mine", Accept_Encoding="gzip")
            if method == "GET":
                by_application(app, plain)
                assert in_loop(path, packed) is None  # compressing would keep the others waiting
            for request in (plain, packed):
                theirs, mine = by_application(app, request), in_loop(path, request)
                assert mine is not None
                assert (mine.status, sorted(mine.headers.split(b"\r\n")), mine.body) == (
                    theirs.status, sorted(theirs.headers.split(b"\r\n")), theirs.body,
                )  # fmt: skip
                assert (b"Content-Encoding: gzip" in mine.headers) == (request is packed)


def test_an_answer_is_compressed_once_and_both_forms_count_in_the_memory_of_the_cache(
    listed: None, app: Flask, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[CachedResponse] = []
    compress = CachedResponse.compress
    monkeypatch.setattr(CachedResponse, "compress", lambda each: made.append(compress(each)) or made[-1])  # type: ignore[func-returns-value]
    store = cache_of(app).store
    api.get("/api/projects")
    before = store._size
    assert made == []
    for _ in range(3):
        api.get("/api/projects", headers=GZIP)
    (packed,) = made
    assert store._size == before + len(packed.body) + responder.OVERHEAD
    monkeypatch.setattr(store, "_capacity", store._size)
    api.get("/help", headers=GZIP)
    assert store._size <= store._capacity
    assert request_for("/api/projects").key not in store


def test_a_write_makes_both_forms_invalid(listed: None, app: Flask, api: Api, world: World) -> None:
    before = [api.get("/api/projects", headers=headers).headers["ETag"] for headers in (GZIP, {})]
    world.project(title="Another thing")
    packed, plain = (api.get("/api/projects", headers=headers) for headers in (GZIP, {}))
    assert gzip.decompress(packed.data) == plain.data
    assert b"Another thing" in plain.data
    assert {packed.headers["ETag"], plain.headers["ETag"]}.isdisjoint(before)


def test_answers_to_members_short_ones_and_single_projects_are_not_compressed(
    listed: None, api: Api, world: World
) -> None:
    member = world.caller(world.user())
    found = [member.get(path, headers=GZIP) for path in PATHS]
    found += [api.get(path, headers=GZIP) for path in ("/api/categories", "/api/projects/1", "/api/nothing")]
    found += [member.call("HEAD", "/api/projects", headers=GZIP)]
    for answer in found:
        assert not varies(answer)
        assert "Content-Encoding" not in answer.headers


def test_without_the_cache_an_answer_is_plain(listed: None, make_app: Any) -> None:
    app = make_app(RESPONSE_CACHE="false")
    for path in PATHS:
        answer = Api(app).get(path, headers=GZIP)
        assert not varies(answer)
        assert "Content-Encoding" not in answer.headers
