"""Personal responses of the cache are those of the application to the byte, for every caller and state."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Session, Token, User, now
from tests.conftest import Database, Statements
from tests.support.factories import Api, World
from tests.support.members import MEMBERS, Directory, Personal, bearer, by_loop, by_wsgi, cookie
from tests.support.reading import fast_path, parsed
from tests.support.routes import operation, routes

pytestmark = pytest.mark.response_cache


@pytest.fixture
def uncached(make_app: Any) -> Flask:
    return make_app(RESPONSE_CACHE="false")  # type: ignore[no-any-return]


def set_all(app: Flask, model: Any, **columns: Any) -> None:
    """Set columns of all sessions or tokens."""
    with app.app_context():
        transaction(lambda: db.session.execute(update(model).values(columns)))


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
    assert {count for name, count in made.items() if name not in MEMBERS} == {0}


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
            for name in (*MEMBERS[2:4], *MEMBERS[-2:]):
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
def test_a_use_that_is_due_is_recorded_without_the_application(
    app: Flask, uncached: Flask, world: World, model: Any, column: str
) -> None:
    project, user = world.project(), world.user("eve")
    headers = cookie(app, "eve") if model is Session else bearer(world, user)
    by_wsgi(app, "/api/auth/me", headers)
    fast = fast_path(app)
    for path in ("/api/projects", f"/api/projects/{project}"):
        expected = by_wsgi(uncached, path, headers)
        by_wsgi(app, path, {})
        set_all(app, model, **{column: now() - timedelta(minutes=6)})
        with Personal() as counted:
            assert by_loop(fast, path, headers) is None  # which does not write
            assert by_wsgi(app, path, headers) == expected
            assert by_loop(fast, path, headers) == expected
            assert counted.made == 2
        with app.app_context():
            assert db.session.scalar(db.select(getattr(model, column))) > now() - timedelta(minutes=1)


def test_uses_that_are_due_in_one_iteration_are_recorded_by_one_statement_and_seen_before_the_answers(
    app: Flask, world: World, statements: Statements, database: Database
) -> None:
    project, fast = world.project(), fast_path(app)
    members = [bearer(world, world.user()) for _ in range(3)] + [cookie(app, world.user().username) for _ in range(3)]
    # On SQLite any write makes stored pages invalid.
    for path in ("/api/projects", f"/api/projects/{project}")[database.backend == "sqlite" :]:
        for _ in range(2):
            by_wsgi(app, path, {})
        set_all(app, Session, last_seen_at=now() - timedelta(minutes=6))
        set_all(app, Token, last_used_at=None)
        statements.clear()
        with Personal() as counted:
            answers = fast.answer([parsed(path, **headers) for headers in members], with_threads=True)
            assert [answer is not None and answer.status[:3] for answer in answers] == [b"200"] * 6
            assert counted.made == 6
        written = [each for each in statements if "UPDATE" in each]
        assert len(written) == (1 if database.backend == "postgresql" else 3), written
        with app.app_context():
            seen = [*db.session.scalars(select(Session.last_seen_at)), *db.session.scalars(select(Token.last_used_at))]
        assert min(seen) > now() - timedelta(minutes=1)


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


def test_a_suspended_user_gets_no_personal_answer_even_where_the_rows_were_left(app: Flask, world: World) -> None:
    world.project()
    callers = bearer(world, world.user("eve")), cookie(app, "eve")
    for headers in callers:
        by_wsgi(app, "/api/auth/me", headers)
    with Personal() as counted:
        for headers, status in zip(callers, (401, 200), strict=True):
            assert by_wsgi(app, "/api/projects", headers)[0] == 200
            set_all(app, User, status="suspended")
            assert by_wsgi(app, "/api/projects", headers)[0] == status
            set_all(app, User, status="active")
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
