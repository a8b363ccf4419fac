"""The callers of a batch of votes are looked up together, and each is answered as itself."""

import json

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Token
from directory.server import vote_batching
from directory.server.vote_batching import Quickest
from directory.services.accounts import sessions
from tests.conftest import Database, Statements
from tests.support.batches import Batches, proofs_of, vote
from tests.support.factories import World
from tests.support.reading import by_application, parsed, received


@pytest.fixture
def batches(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Batches:
    for name in ("BEGIN_SECONDS", "LOOKUP_SECONDS"):  # the machine may be busy
        monkeypatch.setattr(vote_batching, name, 60)
    return Batches(app)


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
    batches.run_deferred()
    assert 0 < batcher._lookups.seconds < 60
    batcher._lookups.seconds = 1.0
    assert not batcher.is_near
