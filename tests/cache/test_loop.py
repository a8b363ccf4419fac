"""The event loop answers from the cache without a thread, by one short statement, and within its time limits."""

import json
import time
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import literal_column, select, text

from directory.cache.store import ResponseStore
from directory.db.lookup import LookUp
from directory.db.statements import MAX_PREPARED, Prepared
from directory.extensions import db
from directory.http import endpoint
from directory.models import Project
from directory.plain import Bare
from directory.services.catalog import queries
from tests.conftest import Database, Statements
from tests.support.caching import cache_of, request_for, validator_of
from tests.support.factories import Api, World

pytestmark = pytest.mark.response_cache


def test_several_projects_are_read_by_one_statement(
    app: Flask, world: World, statements: Statements, database: Database
) -> None:
    shown = [world.project(tags=["x"], votes=n) for n in range(3)]
    hidden = world.project(status="pending")
    cache = cache_of(app)
    assert cache.validator.snapshot() is not None
    paths = [*(f"/api/projects/{n}" for n in (*shown, hidden, 10**9, 10**30, shown[0])), "/api/1", "/api/projects"]
    requests = [*map(request_for, paths), request_for(paths[0], "page=1")]
    statements.clear()
    responses = cache.find_many(requests)
    assert len(statements) == (1 if database.backend == "postgresql" else 6)
    answered = [place for place, response in enumerate(responses) if response is not None]
    assert answered == [0, 1, 2, 6]
    for place in answered:
        made = cache._make(requests[place])
        assert made is not None
        assert responses[place] == made[0]
        assert requests[place].key not in cache.store


def test_the_loop_answers_what_is_stored_and_what_one_short_statement_makes(app: Flask, world: World, api: Api) -> None:
    project, cache = world.project(), cache_of(app)
    assert cache.is_quick(request_for(f"/api/projects/{project}"))
    others = [request_for("/api/projects"), request_for("/api/projects", "page=1"), request_for("/api/categories")]
    refused = (f"/api/projects/{project}", "a=1"), ("/api/projects/0",), ("/api/nothing",)
    unanswered = [request_for(*address) for address in refused]
    assert not any(map(cache.is_quick, [*others, *unanswered]))
    for request in [*others, *unanswered]:
        api.get(request.path, query_string=request.query)
    assert all(map(cache.is_quick, others))
    assert not any(map(cache.is_quick, unanswered))


def test_a_statement_that_fails_is_left_to_a_thread(app: Flask, world: World, monkeypatch: Any) -> None:
    project = world.project()
    wire, validator = app.extensions["wire"], validator_of(app)
    asked = [(request_for(f"/api/projects/{project}"), time.perf_counter())]
    assert wire.at_once(asked) == [None]  # the validator has no connection yet
    validator.snapshot()
    assert [sent.status for sent in wire.at_once(asked)] == [b"200 OK"]
    cache_of(app).store = ResponseStore(1000)
    with monkeypatch.context() as broken:
        broken.setattr(queries, "live", lambda: LookUp(select(text("1 / nothing")), Project.id))
        assert wire.at_once(asked) == [None]
    assert [sent.status for sent in wire.at_once(asked)] == [b"200 OK"]  # the connection is usable again


def test_after_a_lost_connection_the_loop_pauses_while_threads_go_on(
    app: Flask, world: World, monkeypatch: Any
) -> None:
    request = request_for(f"/api/projects/{world.project()}")
    wire, validator = app.extensions["wire"], validator_of(app)
    validator.snapshot()
    validator._reader.close()  # type: ignore[union-attr]
    for _ in range(2):
        assert wire.at_once([(request, time.perf_counter())]) == [None]
        assert Api(app).get(request.path).status_code == 200
        assert validator.snapshot() is not None  # a thread opens a new connection at once
    monkeypatch.setattr(validator, "_paused_until", 0.0)
    assert [sent.status for sent in wire.at_once([(request, time.perf_counter())])] == [b"200 OK"]


def test_a_vote_during_the_making_of_a_response_makes_it_invalid(app: Flask, world: World, monkeypatch: Any) -> None:
    project, voter = world.project(), world.caller(world.user())
    wire = app.extensions["wire"]
    request = request_for(f"/api/projects/{project}")
    validator_of(app).snapshot()
    read = endpoint.read_many

    def read_before_a_vote(*given: Any) -> Any:
        made = read(*given)
        voting = Thread(target=lambda: voter.post(f"{request.path}/upvote"))
        voting.start()
        voting.join()
        return made

    with monkeypatch.context() as patched:
        patched.setattr(endpoint, "read_many", read_before_a_vote)
        shown = [json.loads(wire.at_once([(request, 0.0)])[0].body)["upvotes"]]
    shown += [json.loads(wire.at_once([(request, 0.0)])[0].body)["upvotes"] for _ in range(2)]
    assert shown == [0, 1, 1]


def test_the_snapshot_statement_outlives_the_statements_that_the_pool_prepared(app: Flask, world: World) -> None:
    """The validator's connection comes from the pool, where it may have been full of prepared statements."""
    request = request_for(f"/api/projects/{world.project()}")
    wire, validator = app.extensions["wire"], validator_of(app)
    with app.app_context():
        for n in range(MAX_PREPARED - 1):
            Prepared(select(literal_column(str(n)))).all({})
    for _ in range(2):
        assert validator.snapshot() is not None
        assert wire.at_once([(request, 0.0)]) != [None]
        wire.look_ahead([Bare({"HTTP_AUTHORIZATION": "Bearer x"})])
        cache_of(app).store = ResponseStore(1000)
    assert validator.snapshot() is not None


def test_the_loop_borrows_the_connection_only_while_no_thread_uses_it(app: Flask, world: World) -> None:
    project = world.project()
    validator = validator_of(app)
    validator.snapshot()
    with validator._lock, validator.borrow_connection() as is_connected:
        assert not is_connected
    with validator.borrow_connection() as is_connected, app.app_context():
        assert is_connected
        assert queries.live().all([project])[0] is not None
        assert not db.session.registry.has()
