"""The headers of every answer: security, the request's id, caching; and the cookie's attributes."""

import re

import pytest

from directory.errors import Unavailable
from directory.services.catalog import catalog
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, Api
from tests.support.routes import Targets, body, operation, routes

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@pytest.fixture
def answers(world, api, monkeypatch):
    """One answer of each class of status, by its status."""
    admin = world.caller(world.admin())
    live = f"/api/projects/{world.project()}"
    given = [
        api.get(live),
        admin.post("/api/admin/categories", {"slug": "new", "name": "New"}),
        admin.delete("/api/admin/categories/new"),
        api.get(live, headers={"If-None-Match": api.get(live).headers["ETag"]}),
        api.post("/api/auth/login", data=b"{", content_type="application/json"),
        api.get("/api/auth/me"),
        world.caller(world.user()).get("/api/admin/users"),
        api.get("/nothing"),
        api.call("PATCH", "/api/projects"),
        admin.put(f"{live}/reject".replace("/api/", "/api/admin/")),
        admin.put(live, {}, headers={"If-Match": '"0"'}),
        api.post("/api/auth/login", data=b" " * 65_537, content_type="application/json"),
        api.post("/api/auth/login", data=b"{}", content_type="text/plain"),
        api.get("/api/projects?limit=0"),
    ]
    monkeypatch.setattr(catalog, "page", lambda *_args, **_options: 1 / 0)
    given.append(api.get("/api/projects"))
    assert [a.status_code for a in given] == [200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 500]
    return given


def test_security_headers_are_on_answers_of_every_status(answers):
    for answer in answers:
        assert {name: answer.headers.get(name) for name in SECURITY} == SECURITY
        assert "Server" not in answer.headers
        assert "Strict-Transport-Security" not in answer.headers


def test_rate_limited_answers_and_those_without_a_database_carry_them_too(make_app, monkeypatch):
    api = Api(make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="1 per hour"))
    given = [api.post("/api/auth/login", {"login": "ada", "password": PASSWORD}) for _ in range(2)]
    monkeypatch.setattr(catalog, "page", lambda *_args, **_options: (_ for _ in ()).throw(Unavailable()))
    given.append(api.get("/api/projects"))
    assert [answer.status_code for answer in given] == [401, 429, 503]
    for answer in given:
        assert {name: answer.headers.get(name) for name in SECURITY} == SECURITY
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.json["request_id"] == answer.headers["X-Request-ID"]


def test_behind_tls_answers_carry_hsts(api):
    for path in ("/api/projects", "/nothing"):
        answer = api.get(path, base_url="https://directory.example")
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"


@pytest.mark.parametrize("cached", ["true", "false"])
def test_a_site_at_the_apex_leaves_the_names_below_it_alone(make_app, cached):
    api = Api(make_app(HSTS_SUBDOMAINS="false", RESPONSE_CACHE=cached))
    for path in ("/api/projects", "/", "/nothing"):
        answer = api.get(path, base_url="https://example.com")
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_every_answer_has_a_request_id_and_an_error_repeats_it(answers):
    ids = [answer.headers.get_all("X-Request-ID") for answer in answers]
    assert all(len(each) == 1 and re.fullmatch("[0-9a-f]{32}", each[0]) for each in ids)
    assert len({each[0] for each in ids}) == len(answers)
    for answer in answers:
        if answer.status_code >= 400:
            assert answer.json["request_id"] == answer.headers["X-Request-ID"]


@pytest.mark.parametrize("given", ["a", "x" * 64, "Az09._-", "0", "..", "6f9619ff-8b86-d011-b42d-00cf4fc964ff"])
def test_a_request_id_of_the_caller_is_echoed(api, given):
    for path in ("/api/categories", "/nothing", "/healthz"):
        assert api.get(path, headers={"X-Request-ID": given}).headers["X-Request-ID"] == given


@pytest.mark.parametrize(
    "given", ["", " ", "x" * 65, "a b", "a/b", "a,b", "ä", "<script>", "a\tb", "a;b", '"a"', "a%0a"]
)
def test_an_invalid_request_id_is_replaced(api, given):
    answered = api.get("/api/categories", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert answered != given
    assert re.fullmatch("[0-9a-f]{32}", answered)


READS = ("/api/projects", "/api/projects/1", "/api/categories", "/api/projects.atom")


def test_anonymous_reads_are_public_and_checked_again_each_time_and_set_no_cookie(world, api):
    world.project()
    for path in READS:
        for method in ("GET", "HEAD"):
            first = api.call(method, path)
            again = api.call(method, path, headers={"If-None-Match": first.headers["ETag"]})
            for answer, status in ((first, 200), (again, 304)):
                assert (answer.status_code, answer.headers["Cache-Control"]) == (status, "public, no-cache")
                assert "Set-Cookie" not in answer.headers
                assert {"cookie", "authorization"} <= {each.lower() for each in answer.vary}


@pytest.mark.parametrize("allowed", ['"x"', "*", "x", ""])
def test_a_read_takes_no_notice_of_if_match(world, api, allowed):
    project = world.project()
    for path in (*READS[:1], f"/api/projects/{project}"):
        for caller in (api, world.caller(world.user())):
            first = caller.get(path)
            assert (first.status_code, first.data) == (200, caller.get(path, headers={"If-Match": allowed}).data)
            both = {"If-Match": allowed, "If-None-Match": first.headers["ETag"]}
            assert (caller.get(path, headers=both).status_code, caller.get(path, headers=both).data) == (304, b"")


def test_reads_of_signed_in_callers_are_private_by_cookie_and_by_token(app, world):
    user = world.user("ada")
    world.project(user)
    for caller in (Browser(app).sign_in("ada"), world.caller(user)):
        for path in READS:
            first = caller.get(path)
            again = caller.get(path, headers={"If-None-Match": first.headers["ETag"]})
            for answer, status in ((first, 200), (again, 304)):
                assert (answer.status_code, answer.headers["Cache-Control"]) == (status, "private, no-cache")
                assert "Set-Cookie" not in answer.headers
        for method, path in (("PUT", "/api/projects/1"), ("POST", "/api/projects/1/upvote")):
            assert caller.call(method, path, {}).headers["Cache-Control"] == "private, no-cache"


def test_admin_and_auth_answers_are_not_cacheable(app, world):
    world.user("ada")
    browser, admin = Browser(app), world.caller(world.admin())
    login = browser.post("/api/auth/login", {"login": "ada", "password": PASSWORD})
    assert login.headers["Cache-Control"] == "no-store"
    for path in ("/api/auth/me", "/api/auth/sessions", "/api/auth/tokens"):
        assert browser.get(path).headers["Cache-Control"] == "no-store"
    for path in ("/api/admin/users", "/api/admin/analytics", "/api/admin/audit", "/api/admin/projects"):
        assert admin.get(path).headers["Cache-Control"] == "no-store"


def test_no_answer_leaves_its_caching_to_a_guess(app, answers):
    for answer in answers:
        assert answer.headers["Cache-Control"] in {"public, no-cache", "private, no-cache", "no-store"}
        if answer.status_code >= 400:
            assert answer.headers["Cache-Control"] == "no-store"
    api = Api(app)
    for route in routes(app):
        if route.method == "GET" and "<" not in route.rule:
            assert "Cache-Control" in api.get(route.rule).headers


def attributes(answer):
    (line,) = answer.headers.get_all("Set-Cookie")
    pair, *rest = line.split("; ")
    return pair.partition("=")[0], {each.partition("=")[0].lower(): each.partition("=")[2] for each in rest}


@pytest.mark.parametrize(
    ("environment", "name", "secure"),
    [
        ({"APP_ENV": "development"}, "directory", False),
        ({"APP_ENV": "testing"}, COOKIE, True),
        ({"APP_ENV": "production"}, COOKIE, True),
        ({"APP_ENV": " production "}, COOKIE, True),
    ],
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_the_cookie_is_bound_to_this_host_and_outside_development_to_tls(make_app, environment, name, secure):
    api = Api(make_app(**environment))
    new = {"username": "ada", "email": "ada@example.org", "password": PASSWORD}
    registered = api.post("/api/auth/register", new)
    secret = registered.headers["Set-Cookie"].partition(";")[0]
    logged_out = api.post("/api/auth/logout", headers={"Cookie": secret, "Sec-Fetch-Site": "same-origin"})
    for answer, age in ((registered, 30 * 24 * 3600), (logged_out, 0)):
        called, given = attributes(answer)
        assert called == name
        assert given["path"] == "/"
        assert given["samesite"] == "Lax"
        assert "httponly" in given
        assert ("secure" in given) is secure
        assert "domain" not in given
        assert int(given["max-age"]) == age


def test_no_answer_but_sign_in_and_sign_out_sets_a_cookie(app, world, answers):
    assert not any("Set-Cookie" in answer.headers for answer in answers)
    world.user("ada")
    browser = Browser(app).sign_in("ada")
    for route in routes(app):
        if route.method == "GET":
            path = route.rule.replace("<slug:slug>", "tools").replace("<id:project_id>", "1")
            assert "Set-Cookie" not in browser.get(path).headers


def test_no_other_site_shares_the_browsing_context_and_pages_may_use_no_devices(answers):
    for answer in answers:
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "camera=()" in answer.headers["Permissions-Policy"]


def test_every_answer_that_depends_on_the_caller_varies_by_the_credentials(app, world):
    """All operations, by a member, an administrator and nobody; a shared cache that ignores Cache-Control is safe."""
    owner = world.admin("grace")
    targets = Targets(world, owner)
    callers = [Api(app), world.caller(world.user("ada")), world.caller(owner)]
    for route in routes(app):
        spec = operation(app, route)
        path, project = targets.path(route.rule)
        for caller in callers:
            if route.name == "DELETE /api/auth/me" or (route.rule.startswith("/api/auth") and route.method != "GET"):
                answer = caller.call(route.method, path, body(route, project) if caller is callers[0] else {"x": 1})
            else:
                answer = caller.call(route.method, path, body(route, project))
            if spec.constant or "immutable" in answer.headers.get("Cache-Control", ""):
                continue
            named = [name.strip() for name in answer.headers.get("Vary", "").split(",")]
            assert {"Cookie", "Authorization"} <= set(named), (route.name, answer.status_code)
            assert len(named) == len(set(named)), (route.name, named)


def test_what_the_response_cache_gives_varies_by_the_credentials(app, world):
    world.project()
    ada = world.caller(world.user("ada"))
    for caller in (Api(app), ada):
        for _ in range(3):
            for path in ("/api/projects", "/api/projects/1", "/api/categories", "/api/session", "/api/auth/me"):
                assert {"Cookie", "Authorization"} <= set(caller.get(path).headers["Vary"].split(", ")), path
