"""Requests that the event loop answers itself: the same answers, never stale, without a long wait for the database."""

import json
import re
from collections.abc import Iterator
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import BigInteger, literal_column, select, text
from sqlalchemy.engine import make_url

from directory.cache import responder, snapshot_source
from directory.cache.store import Store
from directory.db.batched_query import BatchedQuery
from directory.db.compiled_postgresql import MAX_PREPARED
from directory.db.statements import Prepared
from directory.http import files
from directory.http.access import public
from directory.http.endpoint import operation
from directory.http.files import StoredFile
from directory.services.catalog import queries
from tests.conftest import Database, Statements, build
from tests.support.browsers import COOKIE
from tests.support.caching import cache_of
from tests.support.chaosproxy import ChaosProxy
from tests.support.factories import Api, World
from tests.support.reading import FastPath, by_application, in_loop, is_taken, parsed, together_in_loop
from tests.support.reading import fast_path as fast_path_of
from tests.support.web import built

__all__ = ["built"]

pytestmark = pytest.mark.response_cache


def lines(response: Any) -> list[bytes]:
    """The headers of an answer, in any order."""
    return sorted(response.headers.split(b"\r\n"))


@pytest.mark.parametrize("settings", [{}, {"CORS_ORIGINS": "https://a.example"}, {"METRICS_ENABLED": "true"}])
@pytest.mark.parametrize("hops", [0, 1])
def test_a_constant_answer_is_the_applications_to_the_byte(
    make_app: Any, settings: dict[str, str], hops: int, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(**settings, LOG_LEVEL="INFO", TRUSTED_PROXIES=hops)
    given = {"X_Request_ID": "mine", "If_None_Match": "*", **({"X_Forwarded_Proto": "HTTPS"} if hops else {})}
    request = parsed("/healthz", **given)
    path, logged = FastPath(app), []
    for answer in (lambda: in_loop(path, request), lambda: by_application(app, request)):
        caplog.clear()
        logged.append((answer(), [(r.method, r.path, r.status) for r in caplog.records if r.message == "request"]))
    assert logged[0] == logged[1]
    assert (b"Strict-Transport-Security" in logged[0][0].headers) == bool(hops)
    if "METRICS_ENABLED" in settings:
        counted = Api(app).get("/metrics").text
        assert 'directory_requests_total{method="GET",route="/healthz",status="200"} 2.0' in counted


@pytest.mark.parametrize(
    ("reported", "is_https"),
    [("https", False), ("https, http", True), ("http,https,http", True), ("", False), (",", False)],
)
def test_behind_two_proxies_the_scheme_is_what_the_first_of_them_reports(
    make_app: Any, reported: str, is_https: bool
) -> None:
    app = make_app(TRUSTED_PROXIES=2)
    request = parsed("/healthz", X_Request_ID="mine", X_Forwarded_Proto=reported)
    mine, theirs = in_loop(FastPath(app), request), by_application(app, request)
    assert mine == theirs
    assert mine is not None
    assert (b"Strict-Transport-Security" in mine.headers) is is_https


@pytest.mark.parametrize("settings", [{}, {"CORS_ORIGINS": "https://a.example"}])
def test_the_session_of_an_anonymous_caller_is_the_applications_to_the_byte(
    make_app: Any, settings: dict[str, str], statements: Statements
) -> None:
    app = make_app(**settings)
    request, path = parsed("/api/session", X_Request_ID="mine"), FastPath(app)
    mine, theirs = in_loop(path, request), by_application(app, request)
    assert mine is not None
    assert (mine.status, lines(mine), mine.body) == (theirs.status, lines(theirs), theirs.body)
    for other in (parsed("/api/session", Cookie=f"{COOKIE}=x"), parsed("/api/session?a=1")):
        assert in_loop(path, other) is None
    assert statements == []


@pytest.mark.parametrize("settings", [{}, {"CORS_ORIGINS": "https://a.example", "METRICS_ENABLED": "true"}])
def test_files_are_answered_from_memory_as_by_the_application(
    make_app: Any, built: Any, settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(**settings, LOG_LEVEL="INFO")
    app.extensions["files"].add("/kept/<name>", {"a.txt": StoredFile("text/plain", b"a", caching="no-cache")}.get)
    find = app.extensions["files"]._finds["kept"][1]
    kept = public(operation(tier=None, page=True)(lambda name: files.respond(find(name))))
    app.add_url_rule("/kept/<name>", "kept", kept)
    path = FastPath(app)
    for target in ("/assets/index-AAAA.js", "/assets/index-AAAA.css?v=1", "/kept/a.txt"):
        for accepted in ({}, {"Accept_Encoding": "br, gzip;q=0.5"}, {"Accept_Encoding": "gzip;q=0"}):
            headers = by_application(app, parsed(target, **accepted)).headers.decode()
            (etag,) = re.findall("ETag: (.*)\r", headers)
            for has in ({}, {"If_None_Match": etag}, {"If_None_Match": '"x"'}, {"Cookie": f"{COOKIE}=dead"}):
                for method in ("GET", "HEAD"):
                    request = parsed(target, method, X_Request_ID="mine", **accepted, **has)
                    caplog.clear()
                    mine, theirs = in_loop(path, request), by_application(app, request)
                    assert mine is not None
                    assert (mine.status, lines(mine), mine.body) == (theirs.status, lines(theirs), theirs.body)
                    logged = [(r.method, r.path, r.status) for r in caplog.records if r.message == "request"]  # type: ignore[attr-defined]
                    assert logged[0] == logged[1]
    refused = [parsed("/assets/none.js"), parsed("/assets/index-AAAA.js", "POST"), parsed("/kept"), parsed("/kept/")]
    refused += [parsed("/kept/a.txt", Authorization="Bearer x"), parsed("/kept/a.txt", Origin="https://a.example")]
    assert [in_loop(path, each) for each in refused] == [None] * len(refused)
    if "METRICS_ENABLED" in settings:
        assert 'method="HEAD",route="/assets/<name>",status="304"' in Api(app).get("/metrics").text


@pytest.mark.parametrize("sent", [{"Cookie": "a=b"}, {"Authorization": "Bearer x"}, {"Origin": "https://a.example"}])
def test_a_constant_route_is_the_applications_where_its_answer_may_differ(app: Flask, sent: dict[str, str]) -> None:
    path = FastPath(app)
    assert in_loop(path, parsed("/healthz", **sent)) is None
    for request in (parsed("/healthz?a=1"), parsed("/readyz"), parsed("/healthz", "POST")):
        assert in_loop(path, request) is None


def test_without_a_cache_the_loop_answers_what_is_constant_and_nothing_else(make_app: Any, world: World) -> None:
    project = world.project()
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_READ="9 per minute")
    path = FastPath(app)
    assert in_loop(path, parsed("/healthz")) is not None
    request = parsed(f"/api/projects/{project}")
    assert not is_taken(path, request)
    assert in_loop(path, request) is None


def test_the_loop_may_answer_what_is_cached_and_what_takes_one_row(app: Flask, world: World, api: Api) -> None:
    project, path = world.project(), fast_path_of(app)
    assert is_taken(path, parsed(f"/api/projects/{project}"))
    others = ["/api/projects", "/api/projects?page=1", "/api/categories"]
    unanswered = [f"/api/projects/{project}?a=1", "/api/projects/0", "/api/nothing"]
    assert not any(is_taken(path, parsed(each)) for each in [*others, *unanswered])
    for each in [*others, *unanswered]:
        api.get(each)
    assert all(is_taken(path, parsed(each)) for each in others)
    assert not any(is_taken(path, parsed(each)) for each in unanswered)
    assert not is_taken(path, parsed("/api/projects", Cookie="a=b"))


def test_what_the_loop_answers_is_what_the_application_does(app: Flask, world: World, api: Api) -> None:
    project, path = world.project(tags=["a"]), fast_path_of(app)
    for target in ("/api/projects", f"/api/projects/{project}", "/api/categories"):
        api.get(target)
        etag = api.get(target).headers["ETag"]
        for headers in ({}, {"If_None_Match": etag}, {"If_None_Match": '"other"'}):
            request = parsed(target, X_Request_ID="mine", **headers)
            mine, theirs = in_loop(path, request), by_application(app, request)
            assert mine is not None
            assert (mine.status, mine.body) == (theirs.status, theirs.body)
            assert lines(mine) == lines(theirs)


def test_a_failed_lookup_is_left_to_a_thread(app: Flask, world: World, monkeypatch: Any) -> None:
    request = parsed(f"/api/projects/{world.project()}")
    path = fast_path_of(app)
    assert in_loop(path, request) is not None
    cache_of(app).store = Store(1000)
    with monkeypatch.context() as broken:
        broken.setattr(
            queries, "live", lambda: BatchedQuery({"id": BigInteger()}, lambda id: select(text("1 / nothing")))
        )
        assert in_loop(path, request) is None
    assert in_loop(path, request) is not None  # the connection is as good as before


def test_a_thread_opens_the_connection_that_the_loop_reads_by(app: Flask, world: World) -> None:
    request, path = parsed(f"/api/projects/{world.project()}"), FastPath(app)
    for _ in range(2):
        assert in_loop(path, request) is None
    by_application(app, request)
    assert in_loop(path, request) is not None


def test_a_lost_connection_is_opened_again_after_a_pause(app: Flask, world: World, monkeypatch: Any) -> None:
    request = parsed(f"/api/projects/{world.project()}")
    path, source = fast_path_of(app), app.extensions["snapshot_source"]
    source._reader.close()
    for _ in range(2):
        assert in_loop(path, request) is None
        assert Api(app).get(request.environ["PATH_INFO"]).status_code == 200
        assert source.snapshot() is not None  # for threads there is a new one at once
    monkeypatch.setattr(source, "_paused_until", 0.0)
    assert in_loop(path, request) is not None


def test_the_loop_does_not_wait_again_at_once_for_a_thread_that_reads_for_too_long(
    app: Flask, api: Api, monkeypatch: Any
) -> None:
    api.get("/api/categories")
    request, path, source = parsed("/api/categories"), fast_path_of(app), cache_of(app).snapshots
    monkeypatch.setattr(snapshot_source, "PAUSE_AFTER_TIMEOUT", 60)
    waited: list[float] = []
    held = SimpleNamespace(acquire=lambda timeout: waited.append(timeout))
    with monkeypatch.context() as while_held:
        while_held.setattr(source, "_lock", held)
        for _ in range(20):
            assert in_loop(path, request) is None
    assert waited == [snapshot_source.LOOP_LOCK_TIMEOUT]
    source._paused_until = 0.0
    assert in_loop(path, request) is not None


def test_a_vote_while_a_project_is_read_shows_in_the_next_answer(app: Flask, world: World, monkeypatch: Any) -> None:
    project, voter = world.project(), world.caller(world.user())
    request, path = parsed(f"/api/projects/{project}"), fast_path_of(app)
    respond, voted = responder.public_response, Event()

    def late(*given: Any, **named: Any) -> Any:
        made = respond(*given, **named)
        voting = Thread(target=lambda: voter.post(f"{request.environ['PATH_INFO']}/upvote"))
        voting.start()
        voting.join()
        voted.set()
        return made

    def shown() -> int:
        response = in_loop(path, request)
        assert response is not None
        return int(json.loads(response.body)["upvotes"])

    monkeypatch.setattr(responder, "LOOP_QUERY_SECONDS", 60)
    with monkeypatch.context() as patched:
        patched.setattr(responder, "public_response", late)
        assert shown() == 0
    assert voted.is_set()
    assert [shown(), shown()] == [1, 1]


def test_statements_that_the_pool_prepared_do_not_evict_those_of_the_snapshot(app: Flask, world: World) -> None:
    request, source = parsed(f"/api/projects/{world.project()}"), app.extensions["snapshot_source"]
    with app.app_context():
        for n in range(MAX_PREPARED - 1):
            Prepared(select(literal_column(str(n)))).all({})
    path = fast_path_of(app)
    for _ in range(2):
        assert source.snapshot() is not None
        assert in_loop(path, request) is not None
        cache_of(app).store = Store(1000)
    assert source.snapshot() is not None


@pytest.fixture
def proxy(database: Database) -> Iterator[ChaosProxy]:
    if database.backend == "sqlite":
        pytest.skip("SQLite is reached without a network")
    with ChaosProxy(make_url(database.url).port or 0) as made:
        yield made


@pytest.fixture
def behind(database: Database, proxy: ChaosProxy) -> Iterator[Flask]:
    url = make_url(database.url).set(port=proxy.port).render_as_string(hide_password=False)
    app = build(url)
    yield app
    proxy.set("pass")
    app.extensions["snapshot_source"].close()


@pytest.mark.parametrize(("mode", "pause"), [("mute", 0.0), ("trickle", 0.001), ("delay", 0.15)])
def test_the_loop_leaves_a_database_alone_that_does_not_answer(
    behind: Flask, world: World, proxy: ChaosProxy, monkeypatch: Any, mode: str, pause: float
) -> None:
    """Whatever the server does, also where it never pauses for long; the first failure costs one short wait."""
    requests = [parsed(f"/api/projects/{world.project(description='x' * 4000)}") for _ in range(5)]
    source = behind.extensions["snapshot_source"]
    assert source.snapshot() is not None
    path = FastPath(behind)
    proxy.set(mode, pause)
    waits: list[float] = []
    use = snapshot_source.use_connection

    def noted(connection: Any, seconds: float) -> Any:
        waits.append(seconds)
        return use(connection, seconds)

    monkeypatch.setattr(snapshot_source, "use_connection", noted)
    for _ in range(3):
        assert together_in_loop(path, requests) == [None] * 5
    assert waits == [snapshot_source.LOOP_TIMEOUT]
    assert source._reader is None
