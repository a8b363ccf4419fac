"""Requests answered together get what the application gives each alone: answers, headers, log lines, metrics."""

import json
import logging
import re
import time
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from flask import Flask
from sqlalchemy import select, text, update
from sqlalchemy.exc import DBAPIError
from werkzeug.test import EnvironBuilder

from directory.api import projects
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import together
from directory.http.exchange import ROUTE, received
from directory.http.together import BatchedRequest, Together
from directory.http.wsgi import Answer, read_body
from directory.models import Token, Upvote, User, now
from directory.services.accounts import api_tokens, sessions
from directory.services.identity import Caller
from directory.services.votes import voting
from tests.conftest import Database, Statements
from tests.support.batches import VOTES
from tests.support.factories import World

PATHS = {"toggle": "POST", "cast": "PUT", "withdraw": "DELETE"}
CHANGING = re.compile(r'"request_id":"[^"]*"')


def environ(project: int, action: str = "toggle", **headers: str) -> dict[str, Any]:
    """The environment of a vote. Underscores in the names of headers stand for hyphens."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    path = f"/api/projects/{project}/upvote"
    return EnvironBuilder(
        path, method=PATHS[action], headers=given, environ_base={"REMOTE_ADDR": "192.0.2.9"}
    ).get_environ()


def asked(app: Flask, made: dict[str, Any]) -> BatchedRequest:
    rule, arguments = app.url_map.bind_to_environ(made).match(return_rule=True)
    made[ROUTE] = rule.rule
    exchange = received(made)
    exchange.view, exchange.arguments = app.view_functions[rule.endpoint], dict(arguments)
    return BatchedRequest(exchange)


def shown(status: str, headers: Any, body: bytes) -> Any:
    """An answer without what differs between any two."""
    named = sorted((name, value) for name, value in headers if name != "X-Request-ID")
    return status, named, CHANGING.sub("", body.decode())


def by_application(app: Flask, made: dict[str, Any]) -> Any:
    started: list[Any] = []
    body = read_body(app.wsgi_app(made, lambda status, headers, *_: started.extend((status, headers))))
    return shown(*started, body)


def answered(app: Flask, asks: list[dict[str, Any]]) -> list[Any]:
    """The answers to requests that come at once; "application" for each that is left to it."""
    outcomes = Together(app).answer([asked(app, made) for made in asks])
    done = [each() if callable(each) else each for each in outcomes]
    return ["application" if each is None else shown(*each) for each in done]


class Scene:
    """A directory with voters, whose votes are answered together, and then one by one by the application."""

    def __init__(self, app: Flask, world: World) -> None:
        self.app, self.world = app, world
        self.owner, self.admin = world.user(), world.admin()
        self.live = [world.project() for _ in range(2)]
        self.waiting = world.project(self.owner, status="pending")
        self.voters = [world.user() for _ in range(4)]
        self.tokens = {by: self._token(by) for by in [self.owner, self.admin, *self.voters]}

    def _token(self, by: Caller) -> str:
        with self.app.app_context():
            token: str = transaction(lambda: api_tokens.issue("x", None, by=by))["token"]
            used = update(Token).where(Token.token_hash == sessions.digest(token)).values(last_used_at=now())
            transaction(lambda: db.session.execute(used))
        return token

    def bearer(self, by: Caller) -> str:
        return f"Bearer {self.tokens[by]}"

    def forget(self) -> None:
        """Take all votes back, so that the same requests can be sent again."""
        with self.app.app_context():
            for by in self.tokens:
                for project in db.session.scalars(select(Upvote.project_id).where(Upvote.user_id == by.id)).all():
                    voting.count([voting.Vote(by, project, "withdraw")])

    def compare(self, asks: list[dict[str, Any]], left: set[int] | None = None) -> list[Any]:
        """The answers, which are those of the application one by one; `left` are the places of those left to it."""
        found = answered(self.app, [dict(each) for each in asks])
        assert {place for place, each in enumerate(found) if each == "application"} == (left or set())
        self.forget()
        alone = [by_application(self.app, dict(each)) for each in asks]
        for mine, other in zip(found, alone, strict=True):
            assert mine in ("application", other)
        return alone


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the lookup the time to open a connection on a busy machine."""
    monkeypatch.setattr(together, "LOOKUP_SECONDS", 60)


@pytest.fixture
def scene(app: Flask, world: World) -> Scene:
    return Scene(app, world)


def test_votes_of_every_kind_are_answered_as_by_the_application(scene: Scene) -> None:
    first, second = scene.live
    voter, other, third, fourth = (scene.bearer(by) for by in scene.voters)
    asks = [
        environ(first, Authorization=voter), environ(second, "cast", Authorization=voter),
        environ(first, "cast", Authorization=other), environ(first, "withdraw", Authorization=other),
        environ(10**9, Authorization=third), environ(scene.waiting, Authorization=third),
        environ(scene.waiting, Authorization=scene.bearer(scene.owner)),
        environ(scene.waiting, "cast", Authorization=scene.bearer(scene.admin)),
        environ(first, "withdraw", Authorization=fourth, X_Forwarded_Proto="https"),
        environ(first, Authorization=voter, X_Request_ID="mine"),
        environ(scene.world.project(scene.owner), Authorization=scene.bearer(scene.owner)),
    ]  # fmt: skip
    alone = scene.compare(asks)
    assert [each[0][:3] for each in alone] == ["200"] * 4 + ["404", "404", "409", "409", "200", "200", "200"]
    assert json.loads(alone[9][2])["upvoted"] is False


def test_a_vote_that_is_meant_for_another_account_is_refused_and_not_counted(scene: Scene) -> None:
    voter, other = scene.voters[:2]
    asks = [
        environ(scene.live[0], "cast", Authorization=scene.bearer(voter), X_Expected_User=str(other.id)),
        environ(scene.live[0], "cast", Authorization=scene.bearer(other), X_Expected_User=str(other.id)),
    ]  # fmt: skip
    found = answered(scene.app, [dict(each) for each in asks])
    assert [each[:3] if isinstance(each, str) else each[0][:3] for each in found] == ["app", "200"]
    refused = by_application(scene.app, dict(asks[0]))
    assert refused[0][:3] == "409"
    assert '"code":"other_user"' in refused[2]


def test_who_is_not_known_is_left_to_the_application(scene: Scene, world: World) -> None:
    suspended, over = world.user(), world.user()
    tokens = [scene._token(by) for by in (suspended, over)]
    with scene.app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == suspended.id).values(status="suspended")))
        gone = update(Token).where(Token.token_hash == sessions.digest(tokens[1])).values(expires_at=now())
        transaction(lambda: db.session.execute(gone))
    fresh = world.caller(world.user()).token
    secret = transaction_of_session(scene.app, scene.voters[0])
    cookie = f"{scene.app.config['COOKIE_NAME']}={secret}"
    asks = [
        environ(scene.live[0]), environ(scene.live[0], Authorization="Bearer wrong"),
        environ(scene.live[0], Authorization=f"Bearer {tokens[0]}"),
        environ(scene.live[0], Authorization=f"Bearer {tokens[1]}"),
        environ(scene.live[0], Cookie=cookie), environ(scene.live[0], Cookie=cookie, Sec_Fetch_Site="cross-site"),
        environ(scene.live[0], Cookie=cookie, Origin="https://evil.example"),
        environ(scene.live[0], Cookie=cookie, Sec_Fetch_Site="same-origin"),
        environ(scene.live[0], Cookie=cookie, Origin="http://localhost"),
        environ(scene.live[1], "cast", Authorization=f"Bearer {fresh}"),
    ]  # fmt: skip
    alone = scene.compare(asks, left={0, 1, 2, 3, 4, 5, 6})
    assert [each[0][:3] for each in alone] == ["401"] * 4 + ["403"] * 3 + ["200"] * 3


def transaction_of_session(app: Flask, by: Caller) -> str:
    with app.app_context():
        return transaction(lambda: sessions.begin(by.id, user_agent=""))


@pytest.mark.parametrize("limit", ["3 per minute", "3 per minute; 5 per hour", "100 per hour; 3 per minute"])
def test_votes_over_the_limit_are_refused_exactly_with_the_same_headers(make_app: Any, limit: str) -> None:
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_VOTING=limit)
    scene = Scene(app, World(app))
    voter, other = (scene.bearer(by) for by in scene.voters[:2])
    asks = [environ(scene.live[0], Authorization=voter) for _ in range(5)] + [environ(10**9, Authorization=other)]
    found = answered(app, [dict(each) for each in asks])
    scene.forget()
    alone = [by_application(app, dict(each)) for each in [environ(scene.live[0], Authorization=voter)]]
    assert [each[0][:3] for each in found] == ["200"] * 3 + ["429"] * 2 + ["404"]
    assert alone[0][0] == found[4][0], "both ways count in one place"
    third, fourth = (scene.bearer(by) for by in scene.voters[2:])
    again = [environ(scene.live[0], Authorization=third) for _ in range(4)]
    one_by_one = [by_application(app, dict(each)) for each in again]
    scene.forget()
    together_ = answered(app, [environ(scene.live[0], Authorization=fourth) for _ in range(4)])
    for mine, application in zip(together_, one_by_one, strict=True):
        assert mine[0] == application[0]
        assert [name for name, _ in mine[1]] == [name for name, _ in application[1]]
        kept = [dict(each[1])["RateLimit"].split(";t=")[0] for each in (mine, application)]
        assert kept[0] == kept[1]
        assert dict(mine[1])["RateLimit-Policy"] == dict(application[1])["RateLimit-Policy"]


def test_votes_of_members_without_a_confirmed_address_are_refused(
    make_app: Any, mailbox: Any, statements: Statements, database: Database
) -> None:
    app = make_app(**mailbox.settings, REQUIRE_VERIFIED_EMAIL="vote")
    scene = Scene(app, World(app))
    with app.app_context():
        confirmed = update(User).where(User.id == scene.voters[0].id).values(email_verified_at=now())
        transaction(lambda: db.session.execute(confirmed))
    voter, other = (scene.bearer(by) for by in scene.voters[:2])
    asks = [
        environ(scene.live[0], Authorization=voter), environ(scene.live[0], Authorization=other),
        environ(scene.live[0], "cast", Authorization=other), environ(scene.live[0], "withdraw", Authorization=other),
    ]  # fmt: skip
    assert [each[0][:3] for each in scene.compare(asks)] == ["200", "403", "403", "200"]


def test_in_read_only_mode_the_application_refuses_all(make_app: Any) -> None:
    app = make_app()
    scene = Scene(app, World(app))
    asks = [environ(scene.live[0], Authorization=scene.bearer(by)) for by in scene.voters]
    closed = make_app(READ_ONLY="true")
    assert answered(closed, [dict(each) for each in asks]) == ["application"] * 4
    assert by_application(closed, asks[0])[0][:3] == "503"


def test_the_page_of_a_trusted_origin_may_read_the_answers(make_app: Any) -> None:
    app = make_app(CORS_ORIGINS="https://friend.example")
    scene = Scene(app, World(app))
    voter, other = (scene.bearer(by) for by in scene.voters[:2])
    asks = [
        environ(scene.live[0], Authorization=voter, Origin="https://friend.example"),
        environ(scene.live[1], Authorization=other),
    ]
    alone = [dict(each[1]) for each in scene.compare(asks)]
    assert alone[0]["Access-Control-Allow-Origin"] == "https://friend.example"
    assert "Vary" in alone[1]


def test_behind_a_proxy_the_forwarded_address_counts(make_app: Any) -> None:
    app = make_app(TRUSTED_PROXIES="1")
    scene = Scene(app, World(app))
    secret = transaction_of_session(app, scene.voters[0])
    cookie = f"{app.config['COOKIE_NAME']}={secret}"
    forwarded = {"X_Forwarded_Proto": "Https", "X_Forwarded_Host": "directory.example", "X_Forwarded_For": "192.0.2.1"}
    asks = [environ(scene.live[0], Cookie=cookie, Origin="https://directory.example", **forwarded)]
    (answer,) = scene.compare(asks)
    assert "Strict-Transport-Security" in dict(answer[1])


@contextmanager
def failing(error: Exception, alone: Exception | None = None) -> Any:
    """The transactions of several votes fail, and with `alone` those of one vote, too."""
    together = voting._together

    def count(votes: list[voting.Vote]) -> Any:
        if len(votes) > 1:
            raise error
        return together(votes)

    with ExitStack() as stack:
        stack.enter_context(patch.object(voting, "_together", count))
        for name in ("_on_sqlite", "_on_postgresql") if alone else ():
            stack.enter_context(patch.object(voting, name, side_effect=alone))
        yield


def lost() -> DBAPIError:
    return DBAPIError("x", None, psycopg.OperationalError("gone"), connection_invalidated=True)


@pytest.mark.parametrize("error", [lost(), DBAPIError("x", None, psycopg.errors.DiskFull("x"))])
def test_after_a_failure_each_is_counted_alone_unless_it_may_be_counted_already(scene: Scene, error: Any) -> None:
    asks = [
        environ(scene.live[0], action, Authorization=scene.bearer(by))
        for action, by in zip(("toggle", "cast", "withdraw"), scene.voters, strict=False)
    ]
    with failing(error):
        found = answered(scene.app, asks)
    first = "503" if error.connection_invalidated else "200"
    assert [each[0][:3] for each in found] == [first, "200", "200"]
    assert scene.world.stored(scene.live[0])["upvotes"] == (1 if error.connection_invalidated else 2)
    if error.connection_invalidated:
        with failing(error, alone=error):
            assert found[0] == by_application(scene.app, asks[0])


def test_what_fails_alone_is_an_answer_too(scene: Scene) -> None:
    asks = [environ(scene.live[0], Authorization=scene.bearer(by)) for by in scene.voters[:2]]
    with failing(DBAPIError("x", None, psycopg.errors.DiskFull("x")), alone=KeyError("x")):
        assert [each[0][:3] for each in answered(scene.app, asks)] == ["500", "500"]


def test_a_fault_of_ours_in_a_batch_leaves_its_trace_though_each_is_then_answered(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    asks = [environ(scene.live[0], Authorization=scene.bearer(by)) for by in scene.voters[:2]]
    faults = {"not counted together": (voting, "_together"), "callers not looked up together": (sessions, "prefetch")}
    for message, place in faults.items():
        caplog.clear()
        with patch.object(*place, side_effect=KeyError("a slip")):
            answered(scene.app, asks)
        [record] = [each for each in caplog.records if each.message == message]
        assert record.levelname == "ERROR"
        assert "a slip" in str(record.exc_info)


def test_where_many_itself_fails_each_is_done_alone(scene: Scene) -> None:
    asks = [environ(scene.live[0], Authorization=scene.bearer(by)) for by in scene.voters[:2]]
    operations = [scene.app.view_functions[name].operation for name in VOTES]  # type: ignore[attr-defined]

    def many(votes: list[Any]) -> list[Any]:
        if len(votes) > 1:
            raise KeyError("x")
        return projects.count_votes(votes)

    with ExitStack() as stack:
        for operation in operations:
            stack.callback(object.__setattr__, operation, "many", operation.many)
            object.__setattr__(operation, "many", many)
        assert [each[0][:3] for each in answered(scene.app, asks)] == ["200", "200"]
        for operation in operations:
            object.__setattr__(operation, "many", lambda votes: 1 / 0)
        assert [each[0][:3] for each in answered(scene.app, asks)] == ["500", "500"]


def test_without_a_lookup_the_application_answers(scene: Scene, caplog: Any) -> None:
    asks = [environ(scene.live[0], Authorization=scene.bearer(by)) for by in scene.voters[:2]]
    caplog.set_level("INFO", together.__name__)
    with patch.object(sessions, "prefetch", side_effect=lost()):
        assert answered(scene.app, asks) == ["application"] * 2
    assert [record.reason for record in caplog.records] == ["DBAPIError"]


def test_log_lines_and_metrics_are_those_of_the_application(make_app: Any, caplog: Any) -> None:
    app = make_app(METRICS_ENABLED="true")
    scene = Scene(app, World(app))
    asks = [
        environ(scene.live[0], Authorization=scene.bearer(scene.voters[0]), X_Request_ID="a"),
        environ(scene.live[0], "withdraw", Authorization=scene.bearer(scene.voters[1]), X_Request_ID="b"),
        environ(10**9, Authorization=scene.bearer(scene.voters[1]), X_Request_ID="c"),
    ]
    caplog.set_level(logging.INFO, "directory.access")

    def seen() -> Any:
        lines = [
            {name: getattr(record, name, None) for name in ("method", "path", "status", "user_id")}
            for record in caplog.records
        ]
        caplog.clear()
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for metric in app.extensions["metrics"].registry.collect()
            for sample in metric.samples
            if sample.name.endswith("_total") or sample.name == "directory_request_seconds_count"
        }
        return lines, samples

    before = seen()[1]
    answered(app, [dict(each) for each in asks])
    lines, after = seen()
    scene.forget()
    caplog.clear()
    for each in asks:
        by_application(app, dict(each))
    alone, last = seen()
    assert sorted(lines, key=str) == sorted(alone, key=str)
    grown = {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
    assert grown == {name: value - after.get(name, 0) for name, value in last.items() if value != after.get(name, 0)}
    assert grown[("directory_votes_total", "cast")] == 1


def test_votes_at_once_take_one_lookup_and_one_transaction(
    app: Flask, scene: Scene, statements: Statements, database: Database
) -> None:
    asks = [environ(scene.live[0], Authorization=scene.bearer(by)) for by in scene.voters]
    statements.clear()
    found = answered(app, asks)
    assert sorted(json.loads(each[2])["upvotes"] for each in found) == [1, 2, 3, 4]
    if database.backend == "postgresql":
        assert len([sql for sql in statements if "token_hash" in sql]) == 1
        assert len(statements) == 2


def test_a_vote_for_a_project_that_was_found_locked_is_refused_as_by_the_application(scene: Scene) -> None:
    locked, free = scene.live
    asks = [
        environ(locked, action, Authorization=scene.bearer(by)) for action, by in zip(PATHS, scene.voters, strict=False)
    ]
    with scene.app.app_context():
        voting._locked()._found[locked] = time.monotonic() + 60
    alone = scene.compare([*asks, environ(free, Authorization=scene.bearer(scene.voters[3]))])
    assert [each[0][:3] for each in alone] == ["503"] * 3 + ["200"]
    assert "Retry-After" in dict(alone[0][1])


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_vote_for_a_locked_project_is_counted_alone_and_the_others_at_once(app: Flask, scene: Scene) -> None:
    first, second = scene.live
    asks = [
        environ(first, Authorization=scene.bearer(scene.voters[0])),
        environ(second, Authorization=scene.bearer(scene.voters[1])),
    ]
    with app.app_context(), db.engine.connect() as holder:
        with holder.execution_options(isolation_level="READ COMMITTED").begin():
            holder.execute(text("SELECT 1 FROM projects WHERE id = :id FOR UPDATE").bindparams(id=first))
            alone, done = Together(app).answer([asked(app, made) for made in asks])
            assert isinstance(done, Answer)
            assert done.status == "200 OK"
            assert callable(alone)
        assert alone().status == "200 OK"
