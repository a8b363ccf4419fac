"""Votes that come at once are served by one thread, and each is answered: none lost, none for another."""

import json
import re
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask

from directory.http import together
from directory.http.exchange import ROUTE
from directory.http.together import BatchedRequest, BatchedRoutes, Together
from directory.http.wsgi import Answer
from tests.support.batches import VOTES, Batches, vote
from tests.support.factories import World
from tests.support.reading import parsed


@pytest.fixture
def batches(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Batches:
    monkeypatch.setattr(together, "LOOKUP_SECONDS", 60)  # the machine may be busy
    return Batches(app)


def test_votes_are_what_is_batched(app: Flask) -> None:
    routes = BatchedRoutes(app)
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(id:)?[^>]*>", "17", rule.rule)
        for method in rule.methods or ():
            found = routes.find(parsed(path, method).environ, 0.0)
            assert (found is not None) == (rule.endpoint in VOTES and method not in {"HEAD", "OPTIONS"}), rule
            asked = found and (found.exchange.view, found.exchange.environ[ROUTE], found.exchange.arguments)
            assert asked in (None, (app.view_functions[rule.endpoint], rule.rule, {"project_id": 17}))
    for path in ("17/upvote/", "1/7/upvote", "0/upvote", "17/upvote?a=1", "99999999999999999999/upvote"):
        assert routes.find(parsed(f"/api/projects/{path}", "POST").environ, 0.0) is None


def test_each_caller_gets_its_own_answer(batches: Batches, world: World) -> None:
    project, pending = world.project(), world.project(status="pending")
    votes = [
        vote(world, project), vote(world, pending), vote(world, 10**9), vote(world, project, Accept="*/*"),
        vote(world, project, Authorization="Bearer wrong"), vote(world, project),
    ]  # fmt: skip
    assert batches.serve(*votes) == [200, 404, 404, "alone", "alone", 200]
    bodies = [json.loads(batches.answers[votes[place]].body) for place in (0, 5)]
    assert sorted(each["upvotes"] for each in bodies) == [1, 2]
    assert world.stored(project)["upvotes"] == 2


def test_requests_that_arrive_during_a_batch_form_the_next_one(batches: Batches, world: World) -> None:
    project = world.project()
    first, later = vote(world, project), [vote(world, project) for _ in range(2)]
    assert batches.serve(first) == [200]
    assert batches.serve(*later) == [200] * 2
    assert batches.alone == []


def test_what_is_not_done_together_is_done_in_a_thread_of_its_own(batches: Batches, world: World) -> None:
    votes = [vote(world, world.project()) for _ in range(3)]
    done = Answer("200 OK", [], b"")

    def fail() -> Answer:
        raise KeyError("x")

    with patch.object(Together, "answer", return_value=[done, lambda: done, fail]):
        assert batches.serve(*votes) == [200, 200, "'x'"]


def test_if_the_thread_fails_every_request_gets_the_error(batches: Batches, world: World) -> None:
    def fail(_self: object, _asked: list[BatchedRequest]) -> Any:
        raise SystemExit("no thread")

    votes = [vote(world, world.project()) for _ in range(3)]
    with patch.object(Together, "answer", fail):
        assert batches.serve(*votes) == ["no thread"] * 3
    assert batches.serve(vote(world, world.project())) == [200], "the next ones wait for none of those"
