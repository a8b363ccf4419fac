"""The event loop answers from the cache without a thread, by one short statement, and within its time limits."""

import pytest
from flask import Flask

from directory.extensions import db
from directory.services.catalog import queries
from tests.conftest import Database, Statements
from tests.support.caching import cache_of, request_for, responses_in_loop, source_of
from tests.support.factories import Api, World

pytestmark = pytest.mark.response_cache


def test_several_projects_are_read_by_one_statement(
    app: Flask, world: World, statements: Statements, database: Database
) -> None:
    shown = [world.project(tags=["x"], votes=n) for n in range(3)]
    hidden = world.project(status="pending")
    cache = cache_of(app)
    assert (snapshot := cache.snapshots.snapshot()) is not None
    paths = [*(f"/api/projects/{n}" for n in (*shown, hidden, 10**9, 10**30, shown[0])), "/api/1", "/api/projects"]
    requests = [*map(request_for, paths), request_for(paths[0], "page=1")]
    statements.clear()
    responses = [each and each.content for each in responses_in_loop(cache, requests)]
    assert len(statements) == (1 if database.backend == "postgresql" else 6)
    answered = [place for place, response in enumerate(responses) if response is not None]
    assert answered == [0, 1, 2, 6]
    for place in answered:
        assert requests[place].key not in cache.store
    for place in answered:
        assert responses[place] == cache.make(requests[place], snapshot)


def test_the_loop_answers_what_is_stored_and_what_one_short_statement_makes(app: Flask, world: World, api: Api) -> None:
    project, cache = world.project(), cache_of(app)
    assert cache.pending(request_for(f"/api/projects/{project}"))
    others = [request_for("/api/projects"), request_for("/api/projects", "page=1"), request_for("/api/categories")]
    refused = (f"/api/projects/{project}", "a=1"), ("/api/projects/0",), ("/api/nothing",)
    unanswered = [request_for(*address) for address in refused]
    assert not any(map(cache.pending, [*others, *unanswered]))
    for request in [*others, *unanswered]:
        api.get(request.path, query_string=request.query)
    assert all(map(cache.pending, others))
    assert not any(map(cache.pending, unanswered))


def test_the_loop_borrows_the_connection_only_while_no_thread_uses_it(app: Flask, world: World) -> None:
    project = world.project()
    source = source_of(app)
    source.snapshot()
    with source._lock, source.borrow_connection() as is_connected:
        assert not is_connected
    with source.borrow_connection() as is_connected, app.app_context():
        assert is_connected
        assert queries.live().all([(project,)])[0] is not None
        assert not db.session.registry.has()


def test_the_loop_answers_a_page_with_parameters_that_it_passes_over(app: Flask, world: World, api: Api) -> None:
    world.project()
    api.get("/")
    cache = cache_of(app)
    assert (pending := cache.pending(request_for("/", "utm_source=x&lang=x"))) is not None
    assert pending.read.query == ""
    assert cache.pending(request_for("/", "page=2")) is None
