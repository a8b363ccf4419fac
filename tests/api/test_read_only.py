"""Read-only mode: every write is refused as such, whoever asks; reads go on; the database stays as it is."""

import http.client
import json
import logging
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, select, update

from directory import models
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Session, User
from directory.services.identity import Caller
from tests.conftest import ENVIRONMENT, Database, Statements
from tests.support import votes as votes_of
from tests.support.browsers import Browser
from tests.support.caching import cache_of
from tests.support.factories import PASSWORD, Api, World
from tests.support.routes import Targets, body, routes, unsafe
from tests.support.serving import serving

REFUSED = (503, "read_only")
TRUSTED = "https://app.example.com"
EVIL = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example", "Cookie": "__Host-directory=dead"}
# Parts that differ between answers, or that an earlier request of the test has changed.
OF_THE_MOMENT = re.compile(
    r'"(generated_at|exported_at|last_used_at|last_seen_at|request_id|ms|read_only)":("[^"]*"|[0-9.]+|null|true|false)'
    r"|Never used|Used <time[^>]*>[^<]*</time>|Request [0-9a-f]{32}"  # the use of a token is not recorded in this mode
)


@pytest.fixture
def app(make_app: Any) -> Flask:
    """The same service in its usual mode: it adds the rows, and its answers are the expected ones."""
    return make_app(METRICS_ENABLED="true", CORS_ORIGINS=TRUSTED)  # type: ignore[no-any-return]


@pytest.fixture
def closed(make_app: Any) -> Flask:
    """The service in read-only mode."""
    return make_app(READ_ONLY="1", METRICS_ENABLED="true", CORS_ORIGINS=TRUSTED)  # type: ignore[no-any-return]


@pytest.fixture
def asked(closed: Flask) -> Iterator[Statements]:
    """The statements of the service in read-only mode."""
    with closed.app_context():
        engine = db.engine
    recorded = Statements()
    event.listen(engine, "before_cursor_execute", recorded.note)
    yield recorded
    event.remove(engine, "before_cursor_execute", recorded.note)


@pytest.fixture
def member(world: World) -> Caller:
    return world.user("ada")


@pytest.fixture
def tokens(world: World, member: Caller) -> dict[str, str | None]:
    """The bearer token of each kind of caller."""
    issued = {"member": world.caller(member), "other": world.caller(world.user()), "admin": world.caller(world.admin())}
    return {"anonymous": None, **{name: caller.token for name, caller in issued.items()}}


STRIP = re.compile('<p class="strip".*</p>\n')  # the line that every page has in this mode


def rows(app: Flask) -> dict[str, list[str]]:
    """All that is in the database."""
    with app.app_context():
        tables = db.metadata.sorted_tables
        return {table.name: sorted(map(repr, db.session.execute(select(table)))) for table in tables}


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json["code"]


def lasting(answer: Any) -> tuple[int, str]:
    """An answer without the parts that change with time."""
    return answer.status_code, OF_THE_MOMENT.sub("", STRIP.sub("", answer.data.decode(errors="replace")))


def test_every_write_is_refused_whoever_asks_and_asks_the_database_nothing(
    app: Flask, closed: Flask, world: World, member: Caller, tokens: dict[str, str | None], asked: Statements
) -> None:
    targets, wrong = Targets(world, member), []
    paths = [(route, *targets.path(route.rule, "pending")) for route in unsafe(closed)]
    callers: list[Any] = [Api(closed, token) for token in (*tokens.values(), "pds_dead")]
    callers += [browser.copy(closed) for browser in (Browser(app).sign_in("ada"), Browser(app, "dead"))]
    before = rows(app)
    for route, path, project_id in paths:
        answers = [caller.call(route.method, path, body(route, project_id)) for caller in callers]
        answers.append(Api(closed).call(route.method, path, headers=EVIL))
        answers.append(Api(closed).call(route.method, f"{path}?unknown=1", data=b"{" * 70_000, content_type="text/x"))
        wrong += [(route.name, code(answer)) for answer in answers if code(answer) != REFUSED]
        assert not any("Set-Cookie" in answer.headers for answer in answers)
    assert (wrong, asked) == ([], [])
    assert rows(app) == before
    assert len(paths) > 20


def test_the_refusal_is_a_problem_that_says_when_to_come_back(closed: Flask) -> None:
    answer = Api(closed).post("/api/auth/login", {"login": "ada", "password": PASSWORD}, headers={"Origin": TRUSTED})
    assert code(answer) == REFUSED
    assert answer.content_type == "application/problem+json"
    assert answer.json["type"] == "/api/problems/read_only"
    assert answer.headers["Retry-After"] == "60"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Access-Control-Allow-Origin"] == TRUSTED
    assert Api(closed).get("/api/problems/read_only").status_code == 200


def test_a_refused_write_is_not_counted_against_a_limit(make_app: Any, world: World, member: Caller) -> None:
    closed = make_app(READ_ONLY="true", RATELIMIT_ENABLED="true", RATELIMIT_VOTING="1 per hour")
    caller = Api(closed, world.caller(member).token)
    answers = [caller.post(f"/api/projects/{world.project()}/upvote") for _ in range(3)]
    assert [code(answer) for answer in answers] == [REFUSED] * 3
    assert "RateLimit" not in answers[-1].headers


def test_what_is_no_route_answers_as_ever(app: Flask, closed: Flask, tokens: dict[str, str | None]) -> None:
    for token in tokens.values():
        usual, now = Api(app, token), Api(closed, token)
        for path in ("/nothing", "/api/nothing", "/api/projects/0/upvote", "/api/projects/", "/api/admin/secrets"):
            for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
                answer = now.call(method, path)
                assert lasting(answer) == lasting(usual.call(method, path))
                assert answer.status_code in {401, 403, 404}
        for path in ("/", "/api/projects", "/api/auth/login", "/healthz"):
            for method in ("PATCH", "TRACE", "BREW"):
                answer = now.call(method, path)
                assert code(answer) == (405, "method_not_allowed")
                assert answer.headers["Allow"] == usual.call(method, path).headers["Allow"]


def test_every_read_answers_as_ever_and_changes_nothing(
    app: Flask, closed: Flask, world: World, member: Caller, tokens: dict[str, str | None], asked: Statements
) -> None:
    for status in ("live", "pending", "rejected"):
        world.project(member, status, votes=2 if status == "live" else 0)
    targets = Targets(world, member)
    reads = [targets.path(route.rule)[0] for route in routes(closed) if route.method == "GET"]
    reads += ["/api/projects?owner=me", "/api/projects?q=thing&sort=upvotes&limit=1", "/api/admin/analytics?days=7"]
    before = rows(app)  # the tokens are fresh: the first use of each would be recorded
    answers = {
        (path, name): [Api(closed, token).get(path) for _ in range(2)]
        for path in reads
        for name, token in tokens.items()
    }
    heads = [Api(closed, token).call("HEAD", path) for path in reads for token in tokens.values()]
    assert rows(app) == before
    assert [statement for statement in asked if not statement.startswith(("SELECT", "SET", "RESET", "WITH"))] == []
    usual = {(path, name): Api(app, token).get(path) for path in reads for name, token in tokens.items()}
    for (path, name), both in answers.items():
        for answer in both:
            if path != "/metrics":
                assert lasting(answer) == lasting(usual[path, name]), (path, name)
            assert answer.status_code == usual[path, name].status_code
    assert [head.status_code for head in heads] == [answer.status_code for answer in usual.values()]


@pytest.mark.response_cache
def test_answers_are_kept_and_known_by_their_etag_as_ever(closed: Flask, world: World) -> None:
    path, api = f"/api/projects/{world.project()}", Api(closed)
    etag = api.get(path).headers["ETag"]
    cache = cache_of(closed)
    assert len(cache.store._entries) == 1
    assert api.get(path, headers={"If-None-Match": etag}).status_code == 304


def test_what_others_write_shows_in_the_next_answer(app: Flask, closed: Flask, world: World) -> None:
    project = world.project()
    for count in range(3):
        assert Api(closed).get(f"/api/projects/{project}").json["upvotes"] == count
        world.vote(project, world.user())


def test_the_questions_for_methods_and_origins_are_answered_as_ever(app: Flask, closed: Flask) -> None:
    asks = {"Origin": TRUSTED, "Access-Control-Request-Method": "POST"}
    for headers in ({}, asks):
        usual, now = (Api(each).call("OPTIONS", "/api/projects", headers=headers) for each in (app, closed))
        assert (now.status_code, now.headers["Allow"]) == (204, usual.headers["Allow"])
        allowed = "Access-Control-Allow-Methods"
        assert now.headers.get(allowed) == usual.headers.get(allowed)


def test_who_is_signed_in_stays_so_and_the_last_use_is_quietly_left_out(
    app: Flask, closed: Flask, member: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    browser = Browser(app).sign_in("ada")
    now = browser.copy(closed)
    with app.app_context():
        age = update(Session).values(last_seen_at=models.now() - timedelta(minutes=6))
        transaction(lambda: db.session.execute(age))
    before = rows(app)
    with caplog.at_level(logging.INFO):
        assert now.signed_in()
        assert code(now.post("/api/auth/logout")) == REFUSED
        assert now.signed_in()
    assert "last use not recorded" not in caplog.text
    assert rows(app) == before
    assert browser.signed_in()
    assert rows(app) != before


def test_no_request_begins_a_write_not_even_one_that_was_to_read(
    app: Flask, closed: Flask, world: World, member: Caller
) -> None:
    project = world.project()
    actions = {
        "/renames": lambda: transaction(lambda: db.session.execute(update(User).values(username="x"))),
        "/toggles": lambda: votes_of.toggle(project, by=member),
        "/casts": lambda: votes_of.cast(project, by=member),
        "/withdraws": lambda: votes_of.withdraw(project, by=member),
    }
    for path, action in actions.items():
        closed.add_url_rule(path, path[1:], action)
    before = rows(app)
    assert [code(Api(closed).get(path)) for path in actions] == [REFUSED] * len(actions)
    assert rows(app) == before


def test_commands_write_all_the_same(closed: Flask, world: World, member: Caller) -> None:
    command = ["users", "create-admin", "--username", "grace", "--email", "g@example.org", "--password", PASSWORD]
    ran = closed.test_cli_runner().invoke(args=command)
    assert ran.output == "grace is an administrator now.\n"
    project = world.project()
    with closed.app_context():
        assert votes_of.toggle(project, by=member)["upvotes"] == 1
    assert Api(closed).get(f"/api/projects/{project}").json["upvotes"] == 1


def test_the_server_holds_to_it_on_a_connection_that_is_kept(
    app: Flask, world: World, database: Database, member: Caller, tmp_path: Path
) -> None:
    path, token = f"/api/projects/{world.project()}", world.caller(member).token
    before = rows(app)
    settings = {**ENVIRONMENT, "DATABASE_URL": database.url, "READ_ONLY": "yes"}
    with (
        serving(settings, tmp_path / "log") as server,
        closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection,
    ):
        for method, end, status in (("GET", "", 200), ("PUT", "/upvote", 503), ("POST", "/upvote", 503)) * 2:
            # The first request of a connection, and those without a body that come after it, take different ways.
            for headers in ({}, {"Authorization": f"Bearer {token}"}):
                connection.request(method, path + end, headers=headers)
                answer = connection.getresponse()
                told = json.loads(answer.read())
                assert (answer.status, told.get("code")) == (status, "read_only" if status == 503 else None)
    assert rows(app) == before


def test_the_document_tells_of_it_where_there_is_a_write(closed: Flask) -> None:
    document = Api(closed).get("/api/openapi.json").json
    for methods in document["paths"].values():
        for method, operation in methods.items():
            refusal = document["components"]["responses"][operation["responses"]["503"]["$ref"].rpartition("/")[2]]
            assert ("read_only" in json.dumps(refusal)) == (method != "get")
