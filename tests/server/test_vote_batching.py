"""Batched requests are served by one thread, and each is answered like any other: none lost, none for another."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pytest
from flask import Flask
from gunicorn.config import Config
from sqlalchemy import String, select, text

from directory.db import group_commit
from directory.db.batched_query import BatchedQuery
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import authentication
from directory.http.metrics import VOTES
from directory.models import Token
from directory.server import vote_batching
from directory.server.application import Application, ReceivedRequest, Response
from directory.server.greenlet_batch import GreenletBatch
from directory.server.thread_pool import ThreadPool
from directory.server.vote_batching import BatchedRoutes, Quickest, VoteBatcher
from directory.services.accounts import sessions
from directory.services.accounts.identity import Caller
from tests.conftest import Database, Statements
from tests.support.factories import World
from tests.support.reading import by_application, parsed, received
from tests.support.waiting import until


class Batches:
    """A batcher whose loop is this thread; requests that are left to threads of their own are in `alone`."""

    def __init__(self, app: Flask) -> None:
        self.deferred: list[Callable[[], None]] = []
        self.answers: dict[ReceivedRequest, Any] = {}
        self.alone: list[ReceivedRequest] = []
        self.fails: dict[ReceivedRequest, BaseException] = {}
        application = Application(app, Config())
        self.respond = application.respond
        application.respond = self._respond  # type: ignore[method-assign]
        self.batcher = VoteBatcher(
            app, application, ThreadPool(2), defer=lambda do, *given: self.deferred.append(partial(do, *given)),
            deliver=self.answers.__setitem__, alone=self.alone.append,
        )  # fmt: skip

    def _respond(self, request: ReceivedRequest, known: Any = None) -> Response:
        if request in self.fails:
            raise self.fails[request]
        return self.respond(request, known)

    def serve(self, *requests: ReceivedRequest) -> list[int | str]:
        """The statuses of the answers to requests that come at once, or what came of them."""
        for each in requests:
            self.batcher.window.add(each)
        self.batcher.start()
        until(lambda: self._run() and len(self.answers) + len(self.alone) >= len(requests))
        return [self.told(each) for each in requests]

    def _run(self) -> bool:
        while self.deferred:
            self.deferred.pop(0)()
        return True

    def told(self, request: ReceivedRequest) -> int | str:
        outcome = self.answers.get(request, "alone")
        return int(outcome.status[:3]) if isinstance(outcome, Response) else str(outcome)


@pytest.fixture
def batches(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Batches:
    for name in ("BEGIN_SECONDS", "LOOKUP_SECONDS"):  # the machine may be busy
        monkeypatch.setattr(vote_batching, name, 60)
    return Batches(app)


def proofs_of(app: Flask, user: Caller) -> tuple[str, str]:
    """A token and a cookie of a user."""
    with app.app_context():
        token = transaction(lambda: sessions.issue_token("x", None, by=user))["token"]
        return token, transaction(lambda: sessions.begin(user.id, user_agent="x"))


def vote(world: World, project: int, **headers: str) -> ReceivedRequest:
    given = headers or {"Authorization": f"Bearer {world.caller(world.user()).token}"}
    return received(parsed(f"/api/projects/{project}/upvote", "POST", **given))


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
    until(lambda: batches._run() and not batches.batcher.window._underway)
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


def test_the_callers_of_a_batch_are_looked_up_by_one_statement_for_each_kind(
    app: Flask, world: World, batches: Batches, statements: Statements, database: Database
) -> None:
    users = [world.user() for _ in range(3)]
    (token, cookie), (other, _), (late, _) = [proofs_of(app, user) for user in users]
    with app.app_context():
        transaction(lambda: db.session.query(Token).filter_by(token_hash=sessions.digest(late)).delete())
    name = app.config["COOKIE_NAME"]
    given = [
        {"Authorization": f"Bearer {token}"}, {"Cookie": f"a=b; {name}={cookie}"},
        {"Authorization": f"basic x, BEARER  {other} "}, {"Authorization": f"Bearer {late}"},
        {"Authorization": "Bearer "}, {"Cookie": f"{name}="},
        {"Authorization": f"Bearer {other}", "Cookie": f"{name}={cookie}"},
    ]  # fmt: skip
    requests = [received(parsed("/api/auth/me", **each)) for each in given]
    statements.clear()
    known = batches.batcher._look_up(requests)
    assert len(statements) == (2 if database.backend == "postgresql" else 6)
    looks = len(statements)
    told = [by_application(app, each.request, known) for each in requests]
    expected = [(200, users[n].username) for n in (0, 0, 1)] + [(401, None)] * 3 + [(200, users[1].username)]
    assert [(int(each.status[:3]), json.loads(each.body).get("username")) for each in told] == expected
    assert [sql for sql in statements[looks:] if "token_hash" in sql] == []


def test_a_cookie_is_no_token_and_a_token_no_cookie(app: Flask, world: World, batches: Batches) -> None:
    token, cookie = proofs_of(app, world.user())
    name = app.config["COOKIE_NAME"]
    given = [
        {"Authorization": f"Bearer {token}"}, {"Cookie": f"{name}={cookie}"},
        {"Authorization": f"Bearer {cookie}"}, {"Cookie": f"{name}={token}"},
    ]  # fmt: skip
    requests = [received(parsed("/api/auth/me", **each)) for each in given]
    known = batches.batcher._look_up(requests)
    assert [by_application(app, each.request, known).status[:3] for each in requests] == [
        b"200",
        b"200",
        b"401",
        b"401",
    ]


def test_an_old_lookup_is_repeated(app: Flask, world: World, batches: Batches) -> None:
    token, _ = proofs_of(app, world.user())
    request = parsed("/api/auth/me", Authorization=f"Bearer {token}")
    known = batches.batcher._look_up([received(request)])
    with app.app_context():
        transaction(lambda: db.session.query(Token).filter_by(token_hash=sessions.digest(token)).delete())
    answers = [by_application(app, request, known, waited=waited).status[:3] for waited in (0.0, 1.5)]
    assert answers == [b"200", b"401"]


def test_the_quickest_of_some_lookups_tells_whether_the_database_is_near(
    app: Flask, world: World, batches: Batches
) -> None:
    batcher = batches.batcher
    assert batcher.is_near
    quickest = Quickest(3)
    for seconds, known in ((0.5, 0.0), (0.2, 0.0), (0.9, 0.2), (0.1, 0.2), (0.8, 0.2), (0.8, 0.1)):
        quickest.add(seconds)
        assert quickest.seconds == known
    batcher._lookups = Quickest(1)
    batcher._look_up([vote(world, world.project())])
    assert batcher._lookups.seconds == 0, "it is counted in the loop, by one thread"
    batches._run()
    assert 0 < batcher._lookups.seconds < 60
    batcher._lookups.seconds = 1.0
    assert not batcher.is_near
