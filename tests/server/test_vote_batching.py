"""Batched requests are served by one thread, and each is answered like any other: none lost, none for another."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import String, select, text

from directory.db import group_commit
from directory.db.batched_query import BatchedQuery
from directory.http import authentication
from directory.http.metrics import VOTES
from directory.server import vote_batching
from directory.server.application import ReceivedRequest, Response
from directory.server.greenlet_batch import GreenletBatch
from directory.server.vote_batching import BatchedRoutes
from directory.services.accounts import sessions
from tests.conftest import Database, Statements
from tests.support.batches import Batches, vote
from tests.support.factories import World
from tests.support.reading import parsed
from tests.support.waiting import until


@pytest.fixture
def batches(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Batches:
    for name in ("BEGIN_SECONDS", "LOOKUP_SECONDS"):  # the machine may be busy
        monkeypatch.setattr(vote_batching, name, 60)
    return Batches(app)


def test_votes_are_what_is_batched(app: Flask) -> None:
    routes = BatchedRoutes(app)
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(id:)?[^>]*>", "17", rule.rule)
        for method in rule.methods - {"HEAD", "OPTIONS"}:  # type: ignore[operator]
            assert routes.has(parsed(path, method)) == (rule.endpoint in VOTES), rule
    assert not routes.has(parsed("/api/projects/17/upvote/", "POST"))
    assert not routes.has(parsed("/api/projects/1/7/upvote", "POST"))


@pytest.mark.parametrize("count", [1, 3])
def test_votes_that_come_at_once_are_one_transaction(
    batches: Batches, world: World, statements: Statements, database: Database, count: int
) -> None:
    project = world.project()
    votes = [vote(world, project) for _ in range(count)]
    statements.clear()
    assert batches.serve(*votes) == [200] * count
    if database.backend == "postgresql":
        assert len([sql for sql in statements if "vote" in sql.lower() and "SELECT" in sql]) == 1
        assert len([sql for sql in statements if "token_hash" in sql]) == 1
    assert sorted(json.loads(batches.answers[each].body)["upvotes"] for each in votes) == [*range(1, count + 1)]
    assert world.stored(project)["upvotes"] == count


def test_each_caller_gets_its_own_answer(batches: Batches, world: World) -> None:
    project, pending = world.project(), world.project(status="pending")
    votes = [
        vote(world, project), vote(world, pending), vote(world, 10**9), vote(world, project, Accept="*/*"),
        vote(world, project, Authorization="Bearer wrong"), vote(world, project),
    ]  # fmt: skip
    assert batches.serve(*votes) == [200, 404, 404, 401, 401, 200]


def test_what_fails_is_delivered_to_its_request_alone(batches: Batches, world: World) -> None:
    project = world.project()
    votes = [vote(world, project) for _ in range(3)]
    batches.fails = {votes[0]: KeyError("x"), votes[1]: SystemExit("y")}
    assert batches.serve(*votes) == ["'x'", "y", 200]


def test_requests_that_arrive_during_a_batch_form_the_next_one(batches: Batches, world: World) -> None:
    project = world.project()
    first, later = vote(world, project), [vote(world, project) for _ in range(2)]
    assert batches.serve(first) == [200]
    assert batches.serve(*later) == [200] * 2
    assert batches.alone == []


@pytest.mark.parametrize("count", [1, 3])
def test_without_a_lookup_each_gets_a_thread_of_its_own(
    batches: Batches, world: World, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    project = world.project()
    votes = [vote(world, project) for _ in range(count)]
    with monkeypatch.context() as patched:
        broken = BatchedQuery({"digest": String()}, lambda digest: select(text("1 / nothing")))
        patched.setattr(authentication, "proof", lambda *_: sessions.Proof(broken, "x"))
        assert batches.serve(*votes) == ["alone"] * count
    assert batches.alone == votes
    batches.alone.clear()
    until(lambda: batches.run_deferred() and not batches.batcher.window._underway)
    assert batches.serve(vote(world, project)) == [200], "the next ones wait for none of those"


def test_a_request_that_would_begin_late_gets_a_thread_of_its_own(
    batches: Batches, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vote_batching, "BEGIN_SECONDS", 0.05)
    votes = [vote(world, world.project()) for _ in range(3)]
    respond = batches.respond

    def slow(request: ReceivedRequest, known: Any) -> Response:
        time.sleep(0.1)
        return respond(request, known)

    batches.respond = slow  # type: ignore[assignment]
    assert batches.serve(*votes) == [200, "alone", "alone"]


def test_if_the_thread_fails_every_open_request_gets_the_error(
    batches: Batches, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = [vote(world, world.project()) for _ in range(3)]
    respond = batches.respond

    def waiting(request: ReceivedRequest, known: Any) -> Response:
        if request is not votes[0]:
            batch = group_commit.batcher.get()
            assert batch is not None
            batch.run_in_thread(lambda: None)
        return respond(request, known)

    def fail(_self: object) -> None:
        raise RuntimeError("no thread")

    batches.respond = waiting  # type: ignore[assignment]
    monkeypatch.setattr(GreenletBatch, "_next_ended", fail)
    assert batches.serve(*votes) == [200, "no thread", "no thread"]


def test_if_the_thread_fails_a_request_that_was_answered_already_gets_its_answer(
    batches: Batches, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: object, works: Iterable[Callable[[], None]]) -> Iterator[bool]:
        next(iter(works))()
        raise RuntimeError("no thread")
        yield

    monkeypatch.setattr(GreenletBatch, "run", fail)
    votes = [vote(world, world.project()) for _ in range(3)]
    assert batches.serve(*votes) == [200, "no thread", "no thread"]
