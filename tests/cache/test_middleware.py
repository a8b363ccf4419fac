"""The cache middleware gives public responses again, the same as the application's, and leaves it everything else."""

import re
from typing import Any

import pytest
from flask import Flask

from directory.cache.changes import RecentChanges
from directory.cache.response import cacheable_response
from directory.cache.snapshot_source import Snapshot, SnapshotSource
from directory.cache.store import Store
from tests.conftest import Statements
from tests.support.caching import as_made, cache_of, request_for
from tests.support.factories import Api, World

pytestmark = pytest.mark.response_cache


def test_a_response_is_given_again_without_a_statement(
    app: Flask, world: World, api: Api, statements: Statements, monkeypatch: Any
) -> None:
    project = world.project()
    # PostgreSQL's snapshot spans all databases of a server, and other tests write to theirs meanwhile.
    source, snapshot = cache_of(app).snapshots, Snapshot(1, RecentChanges())
    monkeypatch.setattr(source, "snapshot", lambda: snapshot)
    monkeypatch.setattr(source, "latest", snapshot)
    for path in ("/api/projects", f"/api/projects/{project}", "/api/categories", "/api/projects.atom"):
        first = api.get(path)
        statements.clear()
        again = api.get(path, headers={"X-Request-ID": "mine"})
        assert statements == []
        assert (again.status_code, again.data) == (200, first.data)
        expected = {name: value for name, value in first.headers if name != "X-Request-ID"}
        assert {name: value for name, value in again.headers if name != "X-Request-ID"} == expected
        assert again.headers["X-Request-ID"] == "mine"
        assert first.headers["X-Request-ID"] not in ("", "mine")


def test_no_caller_gets_what_was_made_for_another(world: World, api: Api) -> None:
    bob = world.user("bob")
    project = world.project(bob, votes=1)
    caller = world.caller(bob)
    path = f"/api/projects/{project}"
    assert api.get(path).json["has_upvoted"] is None
    assert caller.get(path).json["has_upvoted"] is False
    assert api.get(path).json["has_upvoted"] is None
    assert api.get(path, headers={"Cookie": "directory=dead"}).json["has_upvoted"] is None
    assert api.get(path, headers={"Authorization": "Bearer nonsense"}).status_code == 401
    assert api.get("/api/projects?status=pending").status_code == 401
    assert caller.get("/api/projects?owner=me").json["pagination"]["total"] == 1
    assert api.get("/api/projects?owner=me").status_code == 401


def test_refusals_and_private_answers_are_never_stored(app: Flask, world: World, api: Api) -> None:
    store = cache_of(app).store
    world.project()
    for path in ("/api/projects/999", "/api/projects?page=0", "/api/nothing", "/api/auth/me", "/api/admin/users"):
        api.get(path)
        assert len(store._entries) == 0, path
    api.get("/api/projects")
    assert len(store._entries) == 1


PUBLIC = [("Content-Type", "text/html"), ("ETag", '"1"'), ("Cache-Control", "public, no-cache")]


@pytest.mark.parametrize(
    ("status", "headers", "is_stored"),
    [
        ("200 OK", PUBLIC, True),
        ("200 OK", [*PUBLIC, ("Set-Cookie", "directory=1")], False),
        ("200 OK", PUBLIC[:1] + PUBLIC[2:], False),
        ("200 OK", PUBLIC[:2], False),
        ("200 OK", [*PUBLIC[:2], ("Cache-Control", "private, no-cache")], False),
        ("206 Partial Content", PUBLIC, False),
        ("404 Not Found", PUBLIC, False),
    ],
)
def test_an_answer_of_the_application_is_stored_only_if_it_is_everybodys(
    status: str, headers: list[tuple[str, str]], is_stored: bool
) -> None:
    assert (cacheable_response(status, headers, b"", "/") is not None) is is_stored


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("{}", 304), ("W/{}", 304), ('"x", {}', 304), ('"",{} ,\t"y"', 304), ("*", 304),
        ('"x"', 200), ('"a,*,b"', 200), ('"*"', 200), ("", 200), ('"x", *', 200), ("W/*", 200),
    ],
)  # fmt: skip
def test_a_caller_that_has_the_answer_gets_304(world: World, api: Api, sent: str, status: int) -> None:
    world.project()
    etag = api.get("/api/projects").headers["ETag"]
    answer = api.get("/api/projects", headers={"If-None-Match": sent.format(etag)})
    assert answer.status_code == status
    uncached = api.get("/api/projects", headers={"If-None-Match": sent.format(etag), "Origin": "http://elsewhere"})
    assert uncached.status_code == status
    assert answer.headers["ETag"] == etag
    assert (answer.data == b"") == (status == 304)


def test_reads_that_are_rate_limited_go_to_the_application(make_app: Any) -> None:
    app = make_app(RATELIMIT_ENABLED=True, RATELIMIT_READ="2 per minute")
    assert "response_cache" not in app.extensions
    assert [Api(app).get("/api/projects").status_code for _ in range(3)] == [200, 200, 429]


def test_without_a_snapshot_the_application_answers(world: World, api: Api, monkeypatch: Any) -> None:
    world.project()
    monkeypatch.setattr(SnapshotSource, "snapshot", lambda _self: None)
    assert [api.get("/api/projects").status_code for _ in range(2)] == [200, 200]


def test_what_another_thread_stores_after_a_caller_found_nothing_is_not_given_to_that_caller(
    app: Flask, world: World, api: Api
) -> None:
    path = f"/api/projects/{world.project()}"
    cache = cache_of(app)
    voter = world.caller(world.user())
    api.get("/api/projects")  # so that there is a snapshot, from before the vote

    class RacingStore(Store[Any]):
        """Another thread stores a response from before the vote, just after this one has looked for it."""

        def peek(self, key: Any, snapshot: Any) -> Any:
            found = super().peek(key, snapshot)
            self.put(key, begun, old, 1)
            return found

    begun: Any = cache.snapshots.snapshot()
    old = cache.make(request_for(path), begun)
    voter.post(f"{path}/upvote")
    cache.store = RacingStore(1000)
    assert api.get(path).json["upvotes"] == 1


def test_the_size_of_a_stored_response_includes_its_address(app: Flask, world: World, api: Api) -> None:
    world.project()
    store = cache_of(app).store
    query = "q=" + "%F0%9F%A6%80" * 200
    assert api.get(f"/api/projects?{query}").status_code == 200
    [(key, entry)] = store._entries.items()
    headers = sum(len(value) for _, value in entry.value.headers)
    assert headers > len(query)  # the links repeat it
    assert store._size >= len(entry.value.body) + headers + len("".join(key))  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{}, {"CORS_ORIGINS": "https://app.example"}])
@pytest.mark.parametrize("secure", [False, True])
def test_the_middleware_makes_what_the_application_makes(
    make_app: Any, world: World, settings: dict[str, str], secure: bool
) -> None:
    for _ in range(3):
        project = world.project(tags=["x"], votes=1)
    api = Api(make_app(**settings))
    queries = ("", "?page=2&limit=1", "?q=thing&tag=x", "?category=tools&sort=popular", "?owner=none", "?page=9")
    base = "https://localhost" if secure else "http://localhost"
    for path in (*(f"/api/projects{query}" for query in queries), f"/api/projects/{project}", "/api/categories"):
        by_cache = api.get(path, base_url=base)
        by_flask = api.get(path, base_url=base, headers={"Cookie": "no=cache"})
        assert (by_cache.status_code, by_cache.data) == (by_flask.status_code, by_flask.data)
        headers = [[each for each in as_made(one.headers) if each[0] != "X-Request-ID"] for one in (by_cache, by_flask)]
        assert headers[0] == headers[1]


def test_an_error_of_the_middleware_is_answered_as_one_of_the_application_and_the_rule_runs_once(
    world: World, api: Api, statements: Statements, monkeypatch: Any
) -> None:
    refused = api.get("/api/projects/999", headers={"X-Request-ID": "mine"})
    assert (refused.status_code, refused.json["code"], refused.json["request_id"]) == (404, "not_found", "mine")
    assert len(statements) == 1
    by_flask = api.get("/api/projects/999", headers={"X-Request-ID": "mine", "Cookie": "no=cache"})
    assert (sorted(refused.headers), refused.json) == (sorted(by_flask.headers), by_flask.json)
    assert api.get("/api/projects?page=0").json["errors"][0]["parameter"] == "page"
    calls: list[int] = []

    def fail(*_args: Any, **_named: Any) -> None:
        calls.append(1)
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("directory.services.catalog.catalog.page", fail)
    broken = api.get("/api/projects")
    assert (broken.status_code, broken.json["code"]) == (500, "internal")
    assert len(calls) == 1


def test_an_error_while_an_error_is_answered_is_500(app: Flask, api: Api, monkeypatch: Any) -> None:
    api.get("/api/categories")
    failures = iter([RuntimeError("a hook failed")])

    def fail_once(response: Any) -> Any:
        if (failure := next(failures, None)) is not None:
            raise failure
        return response

    app.after_request_funcs[None].insert(0, fail_once)  # among the hooks it runs last
    answer = api.get("/api/projects/999")
    assert (answer.status_code, answer.json["code"]) == (500, "internal")


def test_an_error_before_the_route_is_known_is_500(app: Flask, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.get("/api/categories")  # so that there is a snapshot

    def fail(*_: Any) -> None:
        raise OSError("no session")

    monkeypatch.setattr(app.session_interface, "open_session", fail)
    answer = api.get("/api/nothing")
    assert (answer.status_code, answer.json["code"]) == (500, "internal")
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-ID"])
    assert answer.headers["Cache-Control"] == "no-store"


PAGES = ("/?", "/?q=a&", "/best?", "/tags?", "/categories?", "/users/ada?", "/help?", "/p/1/{slug}?")
PASSED_OVER = ("utm_source={}", "lang={}", "%ff{}", "fbclid={0}&gclid={0}", "={}", "{}", "&&{}=1")


@pytest.mark.parametrize("path", PAGES)
def test_parameters_that_a_page_passes_over_make_no_other_response(
    app: Flask, world: World, api: Api, path: str
) -> None:
    project = world.project(world.user("ada"), title="A", tags=["a"])
    path = path.format(slug=world.stored(project)["slug"])
    store, first = cache_of(app).store, api.get(path.rstrip("?&"))
    assert (first.status_code, len(store._entries)) == (200, 1)
    for number, given in enumerate(PASSED_OVER * 2):
        answer = api.get(path + given.format(f"x{number}"))
        assert (answer.status_code, answer.data, len(store._entries)) == (200, first.data, 1), given


def test_what_a_page_knows_makes_another_response(world: World, api: Api) -> None:
    ada = world.user("ada")
    for title in ("First", "Second"):
        world.project(ada, title=title)
    found = {path: api.get(path).data for path in ("/", "/?q=First", "/?utm_source=x&q=Second", "/?sort=upvotes")}
    assert len(set(found.values())) == 4
    assert b"Second</a>" in found["/?utm_source=x&q=Second"]
    for path, data in found.items():
        assert api.get(path).data == data


def test_a_redirect_keeps_what_its_page_passes_over(world: World, api: Api) -> None:
    world.project(category="tools", tags=["a"])
    for _ in range(2):
        for query in ("category=tools&utm_source=x", "category=tools&utm_source=y"):
            answer = api.get(f"/?{query}")
            assert answer.status_code in (301, 308)
            assert answer.headers["Location"].endswith(f"/categories/tools?{query.partition('&')[2]}")
