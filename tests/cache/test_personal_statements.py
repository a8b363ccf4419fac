"""Personal responses take one statement for many members, and the application answers where that gives none."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask

from directory.api.schemas.projects import UserRef
from directory.cache import personal
from directory.cache import validator as validator_module
from directory.cache.cacheable_request import CacheableRequest
from directory.cache.routes import CacheableRoutes
from directory.cache.validator import SnapshotValidator
from directory.http import endpoint
from directory.http.access import public
from directory.http.authentication import viewer
from directory.services.accounts import sessions
from tests.conftest import Database, Statements
from tests.support.caching import cache_of, validator_of
from tests.support.factories import Api, World
from tests.support.members import MEMBERS, Directory, Personal, bearer, by_loop, by_wsgi
from tests.support.reading import FastPath, fast_path
from tests.support.waiting import until

pytestmark = pytest.mark.response_cache


@pytest.fixture
def uncached(make_app: Any) -> Flask:
    return make_app(RESPONSE_CACHE="false")  # type: ignore[no-any-return]


def test_one_statement_answers_several_members(
    app: Flask, world: World, statements: Statements, database: Database
) -> None:
    directory, fast = Directory(app, world), fast_path(app)
    path = "/api/projects"
    by_wsgi(app, path, directory.callers["member by token"])
    cache = cache_of(app)
    requests = []
    for number, name in enumerate(MEMBERS[:4]):
        for address in (path, f"/api/projects/{directory.projects[number % 3]}"):
            public = CacheableRequest("http", address, "", f"{number}", None)
            environ = {f"HTTP_{key.upper()}": value for key, value in directory.callers[name].items()}
            request = cache.personal_reads.recognise(public, environ)
            assert request is not None
            requests.append(request)
    statements.clear()
    responses, snapshot = cache.personal_reads.find_many(requests, math.inf)
    assert snapshot == cache.validator.latest
    assert len(statements) == (2 if database.backend == "postgresql" else 8)  # one for the pages, one for the projects
    for request, response in zip(requests, responses, strict=True):
        assert response is not None
        assert by_loop(fast, request.public.path, {}) is not None
        assert response == cache.personal_reads.find(request)
    statements.clear()
    responses, _ = cache.personal_reads.find_many(requests, 0.0)
    assert [each is not None for each in responses] == [True, False] * 4, "it is late for a second statement"
    assert len(statements) == (1 if database.backend == "postgresql" else 4)


def test_a_member_who_asks_for_what_is_not_there_is_still_answered_by_the_loop(
    app: Flask, uncached: Flask, world: World, database: Database
) -> None:
    headers, owner = bearer(world, world.user()), world.user()
    pending, own = world.project(owner, status="pending"), bearer(world, owner)
    live, fast = world.project(owner), fast_path(app)
    for each in (headers, own):
        by_wsgi(app, "/api/auth/me", each)
    for path, caller in ((f"/api/projects/{pending}", headers), ("/api/projects/99", headers)):
        assert by_loop(fast, path, caller) is None
        assert by_wsgi(app, path, caller) == by_wsgi(uncached, path, caller)
        assert by_loop(fast, f"/api/projects/{live}", caller) is not None
    assert by_loop(fast, f"/api/projects/{live}", own) is None
    assert by_wsgi(app, f"/api/projects/{live}", own) == by_wsgi(uncached, f"/api/projects/{live}", own)


def test_a_refused_caller_costs_no_second_statement_for_a_second(
    app: Flask, world: World, statements: Statements
) -> None:
    world.project()
    admin = bearer(world, world.admin())
    by_wsgi(app, "/api/auth/me", admin)
    for _ in range(2):  # by the second time the page is stored
        by_wsgi(app, "/api/projects", admin)
    statements.clear()
    by_wsgi(app, "/api/projects", admin)
    assert len(statements) == 2
    assert "FROM unnest" not in "".join(statements)


def test_the_callers_that_are_remembered_are_bounded(app: Flask, world: World, monkeypatch: Any) -> None:
    world.project()
    monkeypatch.setattr(personal, "REFUSED_MAX", 3)
    for number in range(9):
        by_wsgi(app, "/api/projects", {"Authorization": f"Bearer x{number}"})
    assert 0 < len(cache_of(app).personal_reads._refused) <= 3


def test_a_vote_between_the_page_and_its_personal_answer_leaves_it_to_the_application(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    """The public page is made, then a vote is cast: the page is no longer that of the votes."""
    project, user = world.project(), world.user()
    headers, other = bearer(world, user), world.caller(world.user())
    by_wsgi(app, "/api/auth/me", headers)
    cache = cache_of(app)
    make = cache.make

    def then_vote(*given: Any) -> Any:
        made = make(*given)
        assert other.put(f"/api/projects/{project}/upvote").status_code == 200
        return made

    monkeypatch.setattr(cache, "make", then_vote)
    with Personal() as counted:
        answer = by_wsgi(app, "/api/projects", headers)
    assert counted.made == 0
    assert answer == by_wsgi(uncached, "/api/projects", headers)
    assert b'"upvotes":1' in answer[2]


def test_after_a_failure_the_application_answers_alone_for_a_while(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    project, headers = world.project(), bearer(world, world.user())
    by_wsgi(app, "/api/auth/me", headers)
    paths, reads, fast = ("/api/projects", f"/api/projects/{project}"), cache_of(app).personal_reads, fast_path(app)
    expected = [by_wsgi(uncached, path, headers) for path in paths]
    assert by_wsgi(app, paths[0], headers) == expected[0]
    with Personal() as counted:
        with monkeypatch.context() as patched:
            patched.setattr(endpoint, "read_many_as", fail)
            assert by_loop(fast, paths[1], headers) is None
            assert by_wsgi(app, paths[1], headers) == expected[1]
            patched.setattr(SnapshotValidator, "_read_snapshot", lambda *_: (None, []))
            assert by_loop(fast, paths[0], headers) is None
            assert reads._failed_until == 0.0  # the loop waits for so short that it tells nothing
            assert by_wsgi(app, paths[0], headers) == expected[0]
            assert counted.made == 0
        assert by_wsgi(app, paths[0], headers) == expected[0]
        assert counted.made == 0
        reads._failed_until = 0.0
        assert by_wsgi(app, paths[0], headers) == expected[0]
        assert counted.made == 1


def test_without_a_snapshot_the_application_answers(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    headers = bearer(world, world.user())
    by_wsgi(app, "/api/auth/me", headers)
    monkeypatch.setattr(SnapshotValidator, "snapshot", lambda _: None)
    validator_of(app)._latest = None
    with Personal() as counted:
        assert by_wsgi(app, "/api/projects", headers) == by_wsgi(uncached, "/api/projects", headers)
    assert counted.made == 0


def test_threads_that_wait_share_one_statement(
    app: Flask, uncached: Flask, world: World, statements: Statements, database: Database
) -> None:
    """Of those that come while one reads, the first reads for all."""
    world.project()
    callers = [bearer(world, world.user()) for _ in range(5)]
    for headers in callers:
        by_wsgi(app, "/api/auth/me", headers)
    expected = [by_wsgi(uncached, "/api/projects", headers) for headers in callers]
    by_wsgi(app, "/api/projects", callers[0])
    personal, validator = cache_of(app).personal_reads, validator_of(app)
    with ThreadPoolExecutor(5) as pool:
        with validator._lock:
            statements.clear()
            answers = [pool.submit(by_wsgi, app, "/api/projects", headers) for headers in callers]
            until(lambda: len(personal._pending) == 5)
        assert [answer.result(30) for answer in answers] == expected
    assert len(statements) == (1 if database.backend == "postgresql" else 5)


def test_a_caller_gives_up_where_another_thread_reads_for_too_long(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    world.project()
    headers = bearer(world, world.user())
    by_wsgi(app, "/api/auth/me", headers)
    by_wsgi(app, "/api/projects", headers)
    monkeypatch.setattr(validator_module, "TIMEOUT", 0.02)
    fast = FastPath(app, lambda work: work())
    with validator_of(app)._lock, Personal() as counted:
        assert by_loop(fast, "/api/projects", headers) is None
        assert by_wsgi(app, "/api/projects", headers) == by_wsgi(uncached, "/api/projects", headers)
    assert counted.made == 0
    cache_of(app).personal_reads._failed_until = 0.0
    with Personal() as counted:
        assert by_wsgi(app, "/api/projects", headers) == by_wsgi(uncached, "/api/projects", headers)
    assert counted.made == 1
    assert not cache_of(app).personal_reads._pending


def test_a_route_that_reads_one_object_for_anybody_alone_leaves_members_to_the_application() -> None:
    assert endpoint.read_many_as(endpoint.Operation(), [(sessions.of_token("x"), 1), (sessions.of_token("y"), 2)]) == [
        None,
        None,
    ]


def test_an_answer_that_depends_on_the_caller_in_another_way_is_the_applications(make_app: Any, world: World) -> None:
    app, user = make_app(), world.user()

    @public
    @endpoint.operation(answer=UserRef(), tier="read", etag=True, personal=True)
    def caller() -> dict[str, Any]:
        """Say who calls."""
        found = viewer()
        return {"id": found.id if found else 0, "username": "any"}

    app.add_url_rule("/api/caller", "caller", caller)
    cache_of(app).routes = CacheableRoutes(app)
    headers, fast = bearer(world, user), fast_path(app)
    for _ in range(2):
        assert Api(app).get("/api/caller").json["id"] == 0
        assert by_loop(fast, "/api/caller", headers) is None
        assert Api(app).get("/api/caller", headers=headers).json["id"] == user.id


def fail(*_: Any) -> Any:
    raise RuntimeError("a fault of ours")
