"""Personal responses take one statement for many members, and the application answers where that gives none."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask

from directory.api.schemas.projects import UserRef
from directory.cache import reads, responder, snapshot_source
from directory.cache.reads import read_from
from directory.cache.routes import CacheableRoutes
from directory.cache.snapshot_source import SnapshotSource
from directory.http import endpoint
from directory.http.access import public
from directory.http.authentication import viewer
from directory.services.catalog.catalog import QUICK_TEXT
from tests.conftest import Database, Statements
from tests.support.browsers import COOKIE
from tests.support.caching import cache_of, responses_in_loop, source_of
from tests.support.factories import Api, World
from tests.support.members import MEMBERS, Directory, Personal, bearer, by_loop, by_wsgi
from tests.support.reading import FastPath, fast_path, parsed
from tests.support.waiting import until

pytestmark = pytest.mark.response_cache


@pytest.fixture
def uncached(make_app: Any) -> Flask:
    return make_app(RESPONSE_CACHE="false")  # type: ignore[no-any-return]


def test_one_statement_answers_several_members(
    app: Flask, world: World, statements: Statements, database: Database, monkeypatch: Any
) -> None:
    monkeypatch.setattr(snapshot_source, "LOOP_TIMEOUT", 0.9)  # so that the loop answers on a busy machine too
    monkeypatch.setattr(responder, "LOOP_QUERY_SECONDS", 60.0)
    directory, fast = Directory(app, world), fast_path(app)
    path = "/api/projects"
    by_wsgi(app, path, directory.callers["member by token"])
    cache, callers = cache_of(app), {**directory.callers}
    names = (*MEMBERS[:4], "owner", "administrator")
    reads = []
    for number, name in enumerate(names):
        for address in (path, f"/api/projects/{directory.projects[number % 3]}"):
            environ = parsed(address, **callers[name]).environ
            reads.append(read_from(environ, COOKIE))
    statements.clear()
    responses = responses_in_loop(cache, reads)
    # One for the pages, one for the projects.
    assert len(statements) == (2 if database.backend == "postgresql" else 2 * len(names))
    for read, response in zip(reads, responses, strict=True):
        assert response is not None
        assert by_loop(fast, read.path, {}) is not None
        assert response == cache.respond(read)
    monkeypatch.setattr(responder, "LOOP_QUERY_SECONDS", 0.0)
    statements.clear()
    responses = responses_in_loop(cache, reads)
    assert [each is not None for each in responses] == [True, False] * len(names), "it is late for a second statement"
    assert len(statements) == (1 if database.backend == "postgresql" else len(names))


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
    for each in (live, pending):
        assert by_loop(fast, f"/api/projects/{each}", own) == by_wsgi(uncached, f"/api/projects/{each}", own)


def test_a_refused_caller_costs_no_second_statement_for_a_second(
    app: Flask, world: World, statements: Statements
) -> None:
    world.project()
    dead = {"Cookie": f"{COOKIE}=dead"}
    for _ in range(2):  # by the second time the page is stored
        by_wsgi(app, "/api/projects", dead)
    statements.clear()
    by_wsgi(app, "/api/projects", dead)
    assert len(statements) == 2
    assert "FROM unnest" not in "".join(statements)


def test_a_long_text_of_an_owner_is_left_to_a_thread(app: Flask, uncached: Flask, world: World) -> None:
    owner, other = world.user(), bearer(world, world.user())
    own, fast = bearer(world, owner), fast_path(app)
    for length, is_quick in ((QUICK_TEXT, True), (QUICK_TEXT + 1, False)):
        path = f"/api/projects/{world.project(owner, description='*' * length)}"
        for headers, is_answered in ((own, is_quick), (other, True)):
            by_wsgi(app, "/api/auth/me", headers)
            expected = by_wsgi(uncached, path, headers)
            assert (by_loop(fast, path, headers) is not None) == is_answered
            with Personal() as counted:
                assert by_wsgi(app, path, headers) == expected
            assert counted.made == 1


def test_the_callers_that_are_remembered_are_bounded(app: Flask, world: World, monkeypatch: Any) -> None:
    world.project()
    monkeypatch.setattr(reads, "BYPASSES_MAX", 3)
    for number in range(9):
        by_wsgi(app, "/api/projects", {"Authorization": f"Bearer x{number}"})
    assert 0 < len(cache_of(app).bypass.until) <= 3


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
    paths, reads, fast = ("/api/projects", f"/api/projects/{project}"), cache_of(app), fast_path(app)
    expected = [by_wsgi(uncached, path, headers) for path in paths]
    assert by_wsgi(app, paths[0], headers) == expected[0]
    with Personal() as counted:
        with monkeypatch.context() as patched:
            patched.setattr(responder, "public_response", fail)
            assert by_loop(fast, paths[1], headers) is None
            assert by_wsgi(app, paths[1], headers) == expected[1]
            patched.setattr(SnapshotSource, "_read_snapshot", lambda *_: (None, []))
            assert by_loop(fast, paths[0], headers) is None
            assert reads.bypass.all_until == 0.0  # the loop waits for so short that it tells nothing
            assert by_wsgi(app, paths[0], headers) == expected[0]
            assert counted.made == 0
        assert by_wsgi(app, paths[0], headers) == expected[0]
        assert counted.made == 0
        reads.bypass.all_until = 0.0
        assert by_wsgi(app, paths[0], headers) == expected[0]
        assert counted.made == 1


def test_without_a_snapshot_the_application_answers(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    headers = bearer(world, world.user())
    by_wsgi(app, "/api/auth/me", headers)
    monkeypatch.setattr(SnapshotSource, "snapshot", lambda _: None)
    source_of(app).latest = None
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
    personal, source = cache_of(app), source_of(app)
    with ThreadPoolExecutor(5) as pool:
        with source._lock:
            statements.clear()
            answers = [pool.submit(by_wsgi, app, "/api/projects", headers) for headers in callers]
            until(lambda: len(personal._waiting) == 5)
        assert [answer.result(30) for answer in answers] == expected
    assert len(statements) == (1 if database.backend == "postgresql" else 5)


def test_a_caller_gives_up_where_another_thread_reads_for_too_long(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    world.project()
    headers = bearer(world, world.user())
    by_wsgi(app, "/api/auth/me", headers)
    by_wsgi(app, "/api/projects", headers)
    monkeypatch.setattr(snapshot_source, "THREAD_TIMEOUT", 0.02)
    fast = FastPath(app)
    with source_of(app)._lock, Personal() as counted:
        assert by_loop(fast, "/api/projects", headers) is None
        assert by_wsgi(app, "/api/projects", headers) == by_wsgi(uncached, "/api/projects", headers)
    assert counted.made == 0
    cache_of(app).bypass.all_until = 0.0
    with Personal() as counted:
        assert by_wsgi(app, "/api/projects", headers) == by_wsgi(uncached, "/api/projects", headers)
    assert counted.made == 1
    assert not cache_of(app)._waiting


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
