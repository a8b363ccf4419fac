"""The one shape of errors: the domain's, the framework's, the database's, and faults of ours."""

import re
from types import SimpleNamespace

import pytest
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import default_exceptions

from directory import errors
from directory.extensions import db
from directory.http.problem_kinds import KINDS
from directory.services.catalog import catalog
from tests.conftest import build
from tests.support.extras import rows
from tests.support.factories import Api
from tests.support.routes import routes

MEMBERS = {"type", "title", "status", "detail", "code", "request_id"}
STATUSES = {
    "malformed_json": 400,
    "bad_request": 400,
    "unauthenticated": 401,
    "invalid_credentials": 401,
    "not_owner": 403,
    "own_submission": 403,
    "own_decision": 403,
    "registration_refused": 403,
    "passwords_off": 403,
    "not_admitted": 403,
    "admin_required": 403,
    "reviewer_required": 403,
    "passkey_required": 403,
    "account_suspended": 403,
    "email_not_verified": 403,
    "cross_site_request": 403,
    "registration_closed": 403,
    "sign_in_cancelled": 403,
    "sign_in_expired": 403,
    "sign_in_refused": 403,
    "sign_in_again": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "invalid_transition": 409,
    "not_votable": 409,
    "duplicate": 409,
    "last_admin": 409,
    "category_in_use": 409,
    "choice_in_use": 409,
    "claimed": 409,
    "links_off": 409,
    "appeal_not_possible": 409,
    "preview_first": 409,
    "account_deleted": 409,
    "too_many_projects": 409,
    "too_many_votes": 409,
    "address_taken": 409,
    "identity_taken": 409,
    "too_many_passkeys": 409,
    "last_way_in": 409,
    "too_many": 409,
    "other_user": 409,
    "precondition_failed": 412,
    "too_large": 413,
    "unsupported_media_type": 415,
    "validation_failed": 422,
    "rate_limited": 429,
    "internal": 500,
    "provider_failed": 502,
    "unavailable": 503,
    "provider_unavailable": 503,
    "read_only": 503,
}


def everything_below(kind):
    """A class of errors and its subclasses, but for those that a page raises for its own blueprint to answer."""
    below = [one for one in kind.__subclasses__() if not one.__module__.startswith("directory.pages")]
    return [kind, *(deeper for one in below for deeper in everything_below(one))]


def example(kind):
    """An error of a class."""
    arguments = {
        errors.Invalid: ([],),
        errors.Duplicate: (["url"],),
        errors.InvalidTransition: ("live", "rejected"),
        errors.RateLimited: (7,),
        errors.DayIsFull: (7,),
        errors.ReportsSettled: ("acted",),
        errors.NoAppeal: ("live",),
        errors.LinkNotMoved: ("live",),
        errors.LinksBusy: (7,),
        errors.RegistrationRefused: (SimpleNamespace(reason="No."),),
        **rows("errors"),
    }
    return kind(*arguments.get(kind, ()))


def check_shape(answer, code):
    """Assert that an answer is the problem of this code, and of no other shape than every problem."""
    problem = answer.json
    assert answer.content_type == "application/problem+json"
    assert problem.keys() >= MEMBERS
    assert all(isinstance(problem[name], str) and problem[name] for name in MEMBERS - {"status"})
    assert (problem["code"], problem["type"]) == (code, f"/api/problems/{code}")
    assert problem["status"] == answer.status_code == STATUSES[code]
    assert problem["request_id"] == answer.headers["X-Request-ID"]
    assert ("WWW-Authenticate" in answer.headers) is (answer.status_code == 401)
    assert ("Retry-After" in answer.headers) is (answer.status_code in {429, 503})
    assert "errors" in problem or answer.status_code != 422


@pytest.fixture
def raising(app):
    """An API with one more route, which raises what it is told to."""
    told: list[Exception] = []

    def view():
        raise told[-1]

    app.add_url_rule("/api/raises", view_func=view)

    def ask(error):
        told.append(error)
        return Api(app).get("/api/raises")

    return ask


def test_every_code_has_its_status_title_and_page(api):
    assert {code: kind.status for code, kind in KINDS.items()} == STATUSES
    for code, kind in KINDS.items():
        page = api.get(f"/api/problems/{code}")
        assert page.status_code == 200
        assert kind.title in page.text


@pytest.mark.extra("passkeys", "providers")
def test_every_domain_errors_code_is_known():
    codes = {kind.code for kind in everything_below(errors.DirectoryError)}
    assert codes | {"bad_request", "method_not_allowed"} == KINDS.keys()


@pytest.mark.parametrize(
    "kind",
    everything_below(errors.DirectoryError),
    ids=lambda kind: kind.__name__,
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_every_domain_error_answers_in_the_one_shape(raising, kind):
    answer = raising(example(kind))
    check_shape(answer, kind.code)
    if kind is errors.InvalidTransition:
        assert answer.json["current_status"] == "live"
    if kind is errors.RateLimited:
        assert answer.headers["Retry-After"] == "7"
        assert answer.json["detail"].endswith("in 7 seconds.")
    if kind is errors.Duplicate:
        assert answer.json["errors"] == [{"pointer": "#/url", "detail": "This url is taken."}]


def test_one_second_is_singular():
    assert errors.RateLimited(1).detail.endswith("in 1 second.")


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_of_more_than_a_hundred_errors_the_first_hundred_by_pointer_are_reported(api):
    def refused(members):
        answer = api.post("/api/auth/login", dict.fromkeys(members, 1))
        return [error["pointer"] for error in answer.json["errors"]], answer.json.get("errors_truncated"), answer.data

    missing = ["#/login", "#/password"]
    many, truncated, body = refused(f"a{n}" for n in range(5000, 0, -1))
    assert many == sorted([*missing, *(f"#/a{n}" for n in range(1, 5001))])[:100]
    assert truncated is True
    assert len(body) < 10_000
    assert len(refused(f"a{n}" for n in range(98))[0]) == 100
    assert refused(f"a{n}" for n in range(98))[1] is None
    assert refused(f"a{n}" for n in range(99))[1] is True


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_one_answer_reports_every_lone_surrogate_beside_the_other_errors(api):
    answer = api.post("/api/auth/login", {"login": "\ud800", "password": "\udfff", "x": 1, "y": ["\udc00"]})
    found = sorted((error["pointer"], error["detail"]) for error in answer.json["errors"])
    half = "Must not contain half of a surrogate pair."
    unknown = "Unknown field."
    assert found == [("#/login", half), ("#/password", half), ("#/x", unknown), ("#/y", unknown), ("#/y/0", half)]


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_unknown_names_are_reported_last_and_in_their_order(api):
    answer = api.post("/api/auth/login", dict.fromkeys(("f", "b", "login", "d", "a", "e", "c"), 1))
    pointers = [error["pointer"] for error in answer.json["errors"]]
    assert pointers == ["#/login", "#/password", "#/a", "#/b", "#/c", "#/d", "#/e", "#/f"]
    answer = api.get("/api/projects?e=1&limit=x&c=1&d=1&a=1&b=1")
    assert [error["parameter"] for error in answer.json["errors"]] == ["limit", "a", "b", "c", "d", "e"]


@pytest.mark.parametrize("status", sorted({*default_exceptions} - {401, 403, 429}))
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_every_refusal_of_the_framework_answers_in_the_one_shape(raising, status):
    expected = {
        404: "not_found",
        405: "method_not_allowed",
        413: "too_large",
        415: "unsupported_media_type",
        503: "unavailable",
    }
    fallback = "bad_request" if status < 500 else "internal"
    check_shape(raising(default_exceptions[status]()), expected.get(status, fallback))


SECRETS = ("hunter2", "SELECT", "Traceback", "/directory/", "psycopg", "sqlite", "ZeroDivision")


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("hunter2"),
        RecursionError("hunter2"),
        MemoryError(),
        KeyError("hunter2"),
        OSError(28, "No space left", "/directory/hunter2"),
        IntegrityError("SELECT hunter2", {"password": "hunter2"}, Exception("sqlite hunter2")),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_an_internal_error_shows_no_internals(raising, error):
    answer = raising(error)
    check_shape(answer, "internal")
    assert not any(secret in answer.text + str(answer.headers) for secret in SECRETS)


@pytest.mark.parametrize(
    "error", [PoolTimeout("hunter2"), OperationalError("SELECT hunter2", {}, Exception("hunter2"))]
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_a_database_that_does_not_answer_is_unavailable(raising, error):
    answer = raising(error)
    check_shape(answer, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "hunter2" not in answer.text


@pytest.mark.parametrize(
    "url", ["postgresql+psycopg://directory:hunter2@127.0.0.1:1/none", "sqlite:////nonexistent/folder/directory.db"]
)
def test_with_its_database_out_of_reach_the_service_says_so_on_every_route_that_needs_it(url):
    api = Api(build(url))
    project = {"title": "x", "tagline": "x", "url": "https://example.com", "category": "tools"}
    login = {"login": "ada", "password": "correct horse battery"}
    signed_in = {"Authorization": "Bearer pds_x"}
    for answer in (
        api.get("/api/projects"),
        api.get("/api/projects/1"),
        api.get("/api/categories"),
        api.post("/api/auth/login", login),
        api.post("/api/projects", project, headers=signed_in),
        api.get("/api/admin/users", headers=signed_in),
    ):
        check_shape(answer, "unavailable")
        assert "hunter2" not in answer.text
    assert api.get("/healthz").status_code == 200
    assert api.get("/nothing").status_code == 404


def test_a_fault_in_the_middle_of_a_write_leaves_nothing_behind(world, api, monkeypatch):
    caller = world.caller(world.user())
    world.category()
    project = {"title": "x", "tagline": "x", "url": "https://example.com", "category": "tools"}
    with monkeypatch.context() as broken:
        broken.setattr(catalog, "one", lambda *_args, **_options: 1 / 0)  # after the insert, before the answer
        check_shape(caller.post("/api/projects", project), "internal")
    assert caller.get("/api/projects?owner=me").json["items"] == []
    assert caller.post("/api/projects", project).status_code == 201


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_an_unknown_method_on_a_known_path_is_405_and_names_the_known_ones(app, api):
    known: dict[str, set[str]] = {}
    for route in routes(app):
        known.setdefault(route.rule, set()).add(route.method)
    for rule, methods in known.items():
        if rule.startswith("/account/"):
            methods.add("GET")  # of /account/<path:form>, which leads from the address of each form to the page
        path = rule.replace("<slug:slug>", "tools").replace("<username:username>", "ada")
        path = re.sub("<id:[a-z_]+>", "1", path).replace("<field:field>", "license")
        allowed = methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} - methods:
            answer = api.call(method, path)
            check_shape(answer, "method_not_allowed")
            assert set(answer.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/projects/", "//api/projects", "/API/projects", "/api/%70rojects/.."]
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_an_unknown_path_is_404_on_every_method(api, path):
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        check_shape(api.call(method, path), "not_found")


def test_a_full_disk_is_named_as_the_reason(world, database):
    if database.backend == "postgresql":
        return  # its SQLSTATE is 53100; tests/db/test_causes.py has its cause

    def bound(connection, *_):
        connection.execute("PRAGMA max_page_count = 1")  # no more pages than there are

    with world.app.app_context():
        engine = db.engine
    caller = world.caller(world.user())
    world.category()
    event.listen(engine, "checkout", bound)
    try:
        project = {"title": "T", "tagline": "T", "category": "tools", "description": "x" * 9000}
        answers = [caller.post("/api/projects", {**project, "url": f"https://example.org/{n}"}) for n in range(3)]
        assert caller.get("/api/auth/me").status_code == 200
    finally:
        event.remove(engine, "checkout", bound)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 4294967294")
    assert answers[-1].status_code == 503
    assert answers[-1].json["detail"].startswith("The disk of the database is full")
