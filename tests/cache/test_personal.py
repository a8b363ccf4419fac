"""Personal responses of the cache are those of the application to the byte, for every caller and state."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from directory.cache import personal
from directory.cache import validator as validator_module
from directory.cache.key import CacheableRequest
from directory.cache.validator import SnapshotValidator
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import endpoint
from directory.models import Session, Token, now
from directory.server.fast_path import FastPath
from tests.conftest import Database, Statements
from tests.support.browsers import COOKIE
from tests.support.caching import cache_of, validator_of
from tests.support.factories import Api, World
from tests.support.members import Personal, bearer, by_loop, by_wsgi, cookie
from tests.support.reading import fast_path
from tests.support.routes import operation, routes
from tests.support.waiting import until

pytestmark = pytest.mark.response_cache


@pytest.fixture
def uncached(make_app: Any) -> Flask:
    return make_app(RESPONSE_CACHE="false")  # type: ignore[no-any-return]


def set_all(app: Flask, model: Any, **columns: Any) -> None:
    """Set columns of all sessions or tokens."""
    with app.app_context():
        transaction(lambda: db.session.execute(update(model).values(columns)))


class Directory:
    """Three live projects, one pending, and callers of every kind: by name, what each of them sends."""

    def __init__(self, app: Flask, world: World) -> None:
        owner, voter, bob = world.user("ada"), world.user("eve"), world.user("bob")
        self.projects = [world.project(owner, tags=["x"], votes=n, title=f'"has_upvoted":null {n}') for n in range(3)]
        self.hidden = world.project(owner, "pending")
        for project in self.projects[1:]:
            world.vote(project, voter)
        suspended, revoked = world.user("mal"), world.user("rey")
        self.callers = {
            "member by token": bearer(world, bob), "member by cookie": cookie(app, "bob"),
            "voter by token": bearer(world, voter), "voter by cookie": cookie(app, "eve"),
            "owner": bearer(world, owner), "owner by cookie": cookie(app, "ada"),
            "administrator": bearer(world, world.admin()),
            "suspended": bearer(world, suspended), "suspended by cookie": cookie(app, "mal"),
            "revoked": bearer(world, revoked), "signed out": cookie(app, "rey"),
            "bad token": {"Authorization": "Bearer nonsense"}, "dead cookie": {"Cookie": f"{COOKIE}=dead"},
            "no cookie of ours": {"Cookie": "a=b"}, "other scheme": {"Authorization": "Basic YWRhOng="},
        }  # fmt: skip
        callers = self.callers
        callers["both"] = {**callers["voter by token"], **callers["member by cookie"]}
        callers["other scheme and cookie"] = {**callers["other scheme"], **callers["voter by cookie"]}
        callers["bad token and cookie"] = {**callers["bad token"], **callers["voter by cookie"]}
        secret = callers["voter by cookie"]["Cookie"].partition("=")[2]
        callers["secret of a session as a token"] = {"Authorization": f"Bearer {secret}"}
        callers["token as a cookie"] = {"Cookie": f"{COOKIE}={callers['voter by token']['Authorization'][7:]}"}
        for headers in callers.values():  # records the first use of each token
            Api(app).get("/api/auth/me", headers=headers)
        admin = world.caller(world.admin())
        assert admin.put(f"/api/admin/users/{suspended.id}", {"status": "suspended"}).status_code == 200
        again = Api(app, callers["revoked"]["Authorization"][7:])
        assert (
            again.delete(f"/api/auth/tokens/{again.get('/api/auth/tokens').json['items'][0]['id']}").status_code == 204
        )
        out = Api(app).post("/api/auth/logout", headers=callers["signed out"])
        assert out.status_code == 204

    def some_paths(self) -> list[str]:
        """One of each kind."""
        projects = (f"/api/projects/{project}" for project in (self.projects[1], self.hidden, 10**9))
        return ["/api/projects", "/api/projects?owner=me", *projects, "/api/categories"]

    def paths(self) -> list[str]:
        queries = (
            "", "?sort=upvotes&limit=2", "?sort=popular&limit=1&page=2", "?q=null", "?tag=x", "?category=tools",
            "?status=live", "?owner=ada", "?owner=me", "?status=pending", "?page=9", "?page=0", "?a=1",
        )  # fmt: skip
        projects = (f"/api/projects/{project}" for project in (*self.projects, self.hidden, 10**9))
        return [*(f"/api/projects{query}" for query in queries), *projects, "/api/categories", "/api/nothing"]


MEMBERS = (
    "member by token",
    "member by cookie",
    "voter by token",
    "voter by cookie",
    "both",
    "other scheme and cookie",
)


def test_every_answer_is_the_applications(app: Flask, uncached: Flask, world: World) -> None:
    directory, fast = Directory(app, world), fast_path(app)
    made: dict[str, int] = {}
    for name, headers in directory.callers.items():
        with Personal() as counted:
            for path in directory.paths() if name in MEMBERS else directory.some_paths():
                expected = by_wsgi(uncached, path, headers)
                etag = dict(expected[1]).get("ETag", '"none"')
                for tags in (None, f'W/{etag}, "x"') if name in MEMBERS else (None,):
                    given = {**headers, **({"If-None-Match": tags} if tags else {})}
                    expected = by_wsgi(uncached, path, given) if tags else expected
                    assert by_wsgi(app, path, given) == expected, (name, path, tags)
                    assert by_loop(fast, path, given) in (expected, None), (name, path, tags)
            for path in directory.some_paths()[:3]:
                assert by_wsgi(app, path, headers, "HEAD") == by_wsgi(uncached, path, headers, "HEAD")
        made[name] = counted.made
    assert {name for name, count in made.items() if count > 40} == {*MEMBERS}
    # The owner owns all projects here: there remain the categories.
    assert {made[name] for name in made if name.startswith("owner")} == {2}
    assert {count for name, count in made.items() if name not in MEMBERS and not name.startswith("owner")} == {0}


@pytest.mark.parametrize("settings", [{}, {"CORS_ORIGINS": "https://a.example"}, {"APP_ENV": "development"}])
def test_headers_follow_the_settings(make_app: Any, world: World, settings: dict[str, str]) -> None:
    project, headers = world.project(), bearer(world, world.user())
    cached, uncached = make_app(**settings), make_app(**settings, RESPONSE_CACHE="false")
    by_wsgi(uncached, "/api/projects", headers)  # the first use
    with Personal() as counted:
        for path in ("/api/projects", f"/api/projects/{project}", "/api/categories"):
            assert by_wsgi(cached, path, headers) == by_wsgi(uncached, path, headers)
    assert counted.made == 3


def test_a_member_gets_every_public_route_as_from_the_application(app: Flask, uncached: Flask, world: World) -> None:
    directory = Directory(app, world)
    for route in routes(app):
        if route.method == "GET" and app.view_functions[endpoint_of(app, route.rule)].access == "public":  # type: ignore[attr-defined]
            path = route.rule.replace("<id:project_id>", str(directory.projects[0])).replace("<code>", "not_found")
            if "<" in path or operation(app, route).tier is None:
                continue
            for name in MEMBERS[2:4]:
                for _ in range(2):
                    given = directory.callers[name]
                    assert by_wsgi(app, path, given)[:2] == by_wsgi(uncached, path, given)[:2], path
                    assert by_wsgi(app, path, given)[2] == by_wsgi(uncached, path, given)[2], path


def endpoint_of(app: Flask, rule: str) -> str:
    return next(each.endpoint for each in app.url_map.iter_rules() if each.rule == rule)


def test_a_personal_answer_is_logged_and_counted_as_the_applications(
    make_app: Any, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    member = world.user()
    project, headers = world.project(), bearer(world, member)
    cached = make_app(METRICS_ENABLED="true", LOG_LEVEL="INFO")
    uncached = make_app(METRICS_ENABLED="true", LOG_LEVEL="INFO", RESPONSE_CACHE="false")
    by_wsgi(uncached, "/api/auth/me", headers)
    logged, counted = [], []
    for app in (cached, uncached):
        caplog.clear()
        for path in ("/api/projects", f"/api/projects/{project}"):
            by_wsgi(app, path, headers)
        names = ("method", "path", "status", "user_id")
        logged.append([[vars(each)[name] for name in names] for each in caplog.records if each.message == "request"])
        lines = Api(app).get("/metrics").text.splitlines()
        counted.append([line for line in lines if line.startswith("directory_requests_total{") and "api/p" in line])
    assert logged[0] == logged[1]
    assert {line[3] for line in logged[0]} == {member.id}
    assert len(logged[0]) == 2
    assert [line for line in counted[0] if "auth" not in line] == [line for line in counted[1] if "auth" not in line]


@pytest.mark.parametrize(("model", "column"), [(Session, "last_seen_at"), (Token, "last_used_at")])
def test_a_use_that_needs_writing_is_written_by_the_application(
    app: Flask, uncached: Flask, world: World, model: Any, column: str
) -> None:
    project, user = world.project(), world.user("eve")
    headers = cookie(app, "eve") if model is Session else bearer(world, user)
    by_wsgi(app, "/api/auth/me", headers)
    fast = fast_path(app)
    for path in ("/api/projects", f"/api/projects/{project}"):
        set_all(app, model, **{column: now() - timedelta(minutes=6)})
        with Personal() as counted:
            assert by_loop(fast, path, headers) is None
            assert by_wsgi(app, path, headers)[0] == 200
            assert counted.made == 0
            assert by_wsgi(app, path, headers) == by_wsgi(uncached, path, headers)
            assert by_loop(fast, path, headers) is not None
        with app.app_context():
            assert db.session.scalar(db.select(getattr(model, column))) > now() - timedelta(minutes=1)


@pytest.mark.parametrize(
    ("model", "columns"),
    [
        (Session, {"last_seen_at": timedelta(days=15)}),
        (Session, {"created_at": timedelta(days=31)}),
        (Token, {"expires_at": timedelta(seconds=1)}),
    ],
)
def test_a_credential_that_has_expired_is_the_applications(
    app: Flask, uncached: Flask, world: World, model: Any, columns: dict[str, timedelta]
) -> None:
    project, user = world.project(), world.user("eve")
    headers = cookie(app, "eve") if model is Session else bearer(world, user)
    by_wsgi(app, "/api/auth/me", headers)
    paths = ("/api/projects", f"/api/projects/{project}")
    with Personal() as counted:
        for path in paths:
            by_wsgi(app, path, headers)
        assert counted.made == 2
        set_all(app, model, **{name: now() - by for name, by in columns.items()})
        for path in paths:
            answer = by_wsgi(app, path, headers)
            assert answer == by_wsgi(uncached, path, headers) or answer[0] == 401
            assert answer[0] == (200 if model is Session else 401)
        assert counted.made == 2


def test_a_change_shows_in_the_very_next_answer(app: Flask, uncached: Flask, world: World) -> None:
    project, user, admin = world.project(), world.user("eve"), world.caller(world.admin())
    token, browser = bearer(world, user), cookie(app, "eve")
    fast, paths = fast_path(app), ("/api/projects", f"/api/projects/{project}")

    def agree() -> set[int]:
        statuses = set()
        for headers in (token, browser):
            for path in paths:
                expected = by_wsgi(uncached, path, headers)
                for answer in (by_loop(fast, path, headers), by_wsgi(app, path, headers)):
                    comparable = answer is None or expected[0] >= 400 or answer == expected
                    assert comparable, (path, answer, expected)
                    statuses.add(expected[0] if answer is None else answer[0])
        return statuses

    with Personal() as counted:
        voter = Api(uncached, token["Authorization"][7:])
        for method in ("PUT", "DELETE", "POST", "POST"):
            assert voter.call(method, f"{paths[1]}/upvote").status_code == 200
            assert agree() == {200}
        assert counted.made >= 4 * 4
        for role in ("admin", "member"):
            assert admin.put(f"/api/admin/users/{user.id}", {"role": role}).status_code == 200
            assert agree() == {200}
        assert Api(app).post("/api/auth/logout", headers=browser).status_code == 204
        assert agree() == {200}
        assert admin.put(f"/api/admin/users/{user.id}", {"status": "suspended"}).status_code == 200
        assert agree() == {200, 401}


def test_one_statement_answers_several_members(
    app: Flask, world: World, statements: Statements, database: Database
) -> None:
    directory, fast = Directory(app, world), fast_path(app)
    path = "/api/projects"
    by_wsgi(app, path, directory.callers["member by token"])
    cache = cache_of(app)
    requests = []
    for number, name in enumerate(MEMBERS[:4]):
        for address in (path, f"/api/projects/{directory.projects[number % 3]}"):
            public = CacheableRequest("http", address, "", f"{number}", None)
            environ = {f"HTTP_{key.upper()}": value for key, value in directory.callers[name].items()}
            request = cache.personal.recognise(public, environ)
            assert request is not None
            requests.append(request)
    statements.clear()
    responses, snapshot = cache.personal.find_many(requests)
    assert snapshot == cache.validator.latest
    assert len(statements) == (2 if database.backend == "postgresql" else 8)  # one for the pages, one for the projects
    for request, response in zip(requests, responses, strict=True):
        assert response is not None
        assert by_loop(fast, request.public.path, {}) is not None
        assert response == cache.personal.find(request)


def test_a_refused_caller_costs_no_second_statement_for_a_second(
    app: Flask, world: World, statements: Statements
) -> None:
    world.project()
    admin = bearer(world, world.admin())
    by_wsgi(app, "/api/auth/me", admin)
    for _ in range(2):  # by the second time the page is stored
        by_wsgi(app, "/api/projects", admin)
    statements.clear()
    by_wsgi(app, "/api/projects", admin)
    assert len(statements) == 2
    assert "FROM unnest" not in "".join(statements)


def test_the_callers_that_are_remembered_are_bounded(app: Flask, world: World, monkeypatch: Any) -> None:
    world.project()
    monkeypatch.setattr(personal, "REFUSED_MAX", 3)
    for number in range(9):
        by_wsgi(app, "/api/projects", {"Authorization": f"Bearer x{number}"})
    assert 0 < len(cache_of(app).personal._refused) <= 3


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
    paths, reads, fast = ("/api/projects", f"/api/projects/{project}"), cache_of(app).personal, fast_path(app)
    expected = [by_wsgi(uncached, path, headers) for path in paths]
    assert by_wsgi(app, paths[0], headers) == expected[0]
    with Personal() as counted:
        with monkeypatch.context() as patched:
            patched.setattr(endpoint, "read_many_as", fail)
            assert by_loop(fast, paths[1], headers) is None
            assert by_wsgi(app, paths[1], headers) == expected[1]
            patched.setattr(SnapshotValidator, "_read", lambda *_: (None, []))
            assert by_wsgi(app, paths[0], headers) == expected[0]
            assert counted.made == 0
        assert by_wsgi(app, paths[0], headers) == expected[0]
        assert counted.made == 0
        reads._failed_until = 0.0
        assert by_wsgi(app, paths[0], headers) == expected[0]
        assert counted.made == 1


def test_without_a_snapshot_the_application_answers(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    headers = bearer(world, world.user())
    by_wsgi(app, "/api/auth/me", headers)
    monkeypatch.setattr(SnapshotValidator, "snapshot", lambda _: None)
    validator_of(app)._latest = None
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
    personal, validator = cache_of(app).personal, validator_of(app)
    with ThreadPoolExecutor(5) as pool:
        with validator._lock:
            statements.clear()
            answers = [pool.submit(by_wsgi, app, "/api/projects", headers) for headers in callers]
            until(lambda: len(personal._questions) == 5)
        assert [answer.result(30) for answer in answers] == expected
    assert len(statements) == (1 if database.backend == "postgresql" else 5)


def test_a_caller_gives_up_where_another_thread_reads_for_too_long(
    app: Flask, uncached: Flask, world: World, monkeypatch: Any
) -> None:
    world.project()
    headers = bearer(world, world.user())
    by_wsgi(app, "/api/auth/me", headers)
    by_wsgi(app, "/api/projects", headers)
    monkeypatch.setattr(validator_module, "TIMEOUT", 0.02)
    fast = FastPath(app, lambda work: work())
    with validator_of(app)._lock, Personal() as counted:
        assert by_loop(fast, "/api/projects", headers) is None
        assert by_wsgi(app, "/api/projects", headers) == by_wsgi(uncached, "/api/projects", headers)
    assert counted.made == 0
    with Personal() as counted:
        assert by_wsgi(app, "/api/projects", headers) == by_wsgi(uncached, "/api/projects", headers)
    assert counted.made == 1
    assert not cache_of(app).personal._questions


def fail(*_: Any) -> Any:
    raise RuntimeError("a fault of ours")
