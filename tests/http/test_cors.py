"""CORS: the configured origins and no other, with credentials, never `*`."""

import logging

import pytest

from tests.support.factories import Api
from tests.support.routes import routes

TRUSTED = "https://app.example.com"
OTHERS = (
    "https://evil.example",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://APP.example.com",
    "https://app.example.com/",
    "https://app.example.com.evil.example",
    "null",
    "*",
    "",
)
pytestmark = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)


@pytest.fixture
def app(make_app):
    return make_app(CORS_ORIGINS=f" {TRUSTED} ,http://localhost:5173,")


def shared(answer):
    return {name: value for name, value in answer.headers if name.startswith("Access-Control-")}


@pytest.mark.parametrize("origin", [TRUSTED, "http://localhost:5173"])
def test_a_trusted_origin_may_read_answers_with_credentials(api, origin):
    for path, status in (("/api/projects", 200), ("/api/nothing", 404), ("/api/auth/me", 401)):
        answer = api.get(path, headers={"Origin": origin})
        assert answer.status_code == status
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert answer.headers["Access-Control-Allow-Credentials"] == "true"
        exposed = set(answer.headers["Access-Control-Expose-Headers"].split(", "))
        assert exposed >= {"ETag", "Link", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-ID"}
        assert "Origin" in answer.vary
        assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"


@pytest.mark.parametrize("origin", OTHERS)
def test_no_other_origin_may(api, origin):
    for method, asks in (("GET", {}), ("OPTIONS", {"Access-Control-Request-Method": "PUT"})):
        answer = api.call(method, "/api/projects", headers={"Origin": origin, **asks})
        assert shared(answer) == {}
        assert "Origin" in answer.vary
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_answers_vary_by_origin_even_where_none_was_sent(api):
    answer = api.get("/api/projects")
    assert "Origin" in answer.vary
    assert shared(answer) == {}


def test_a_304_says_the_same_as_its_200(api):
    headers = {"Origin": TRUSTED}
    full = api.get("/api/projects", headers=headers)
    unchanged = api.get("/api/projects", headers=headers | {"If-None-Match": full.headers["ETag"]})
    assert (unchanged.status_code, shared(unchanged)) == (304, shared(full))


def test_a_preflight_is_answered_for_every_route_without_credentials_and_limits(app, api, statements):
    for route in routes(app):
        path = route.rule.replace("<slug:slug>", "tools")
        path = f"{path.partition('<')[0]}1{path.partition('>')[2]}" if "<id:" in path else path.replace("<", "x<")
        asks = {"Access-Control-Request-Method": route.method, "Access-Control-Request-Headers": "content-type"}
        answer = api.call("OPTIONS", path, headers={"Origin": TRUSTED, **asks})
        assert (answer.status_code, answer.data, answer.content_type) == (204, b"", None)
        assert route.method in answer.headers["Access-Control-Allow-Methods"].split(", ")
        assert answer.headers["Access-Control-Allow-Origin"] == TRUSTED
        allowed = set(answer.headers["Access-Control-Allow-Headers"].split(", "))
        assert allowed >= {"Authorization", "Content-Type", "If-Match", "If-None-Match", "X-Request-ID"}
        assert "X-Expected-User" in allowed
        assert int(answer.headers["Access-Control-Max-Age"]) > 0
    assert statements == []


def test_an_options_request_without_a_preflight_names_every_method_of_the_path(api):
    answer = api.call("OPTIONS", "/api/projects/1")
    assert (answer.status_code, answer.headers["Allow"]) == (204, "DELETE, GET, HEAD, OPTIONS, PUT")
    assert shared(answer) == {}
    assert api.call("OPTIONS", "/api/projects/1/upvote").headers["Allow"] == "DELETE, OPTIONS, POST, PUT"


@pytest.mark.parametrize("path", ["/api/nothing", "/api/projects/0", "/api/projects/x/upvote", "/api/admin/nothing"])
def test_a_preflight_for_a_path_that_is_not_there_passes_and_the_request_gets_its_404(api, path):
    asks = {"Access-Control-Request-Method": "PUT"}
    preflight = api.call("OPTIONS", path, headers={"Origin": TRUSTED, **asks})
    assert preflight.status_code == 204
    assert {"GET", "PUT", "DELETE"} <= set(preflight.headers["Access-Control-Allow-Methods"].split(", "))
    assert preflight.headers["Access-Control-Allow-Origin"] == TRUSTED
    answer = api.put(path, headers={"Origin": TRUSTED})
    assert answer.status_code == (401 if "admin" in path else 404)
    assert answer.headers["Access-Control-Allow-Origin"] == TRUSTED
    for headers in ({"Origin": OTHERS[0], **asks}, {"Origin": TRUSTED}):
        refused = api.call("OPTIONS", path, headers=headers)
        assert refused.status_code == (401 if "admin" in path else 404)
        assert "Access-Control-Allow-Methods" not in refused.headers


def test_a_refused_preflight_is_logged_with_its_origin(api, caplog):
    asks = {"Access-Control-Request-Method": "PUT"}
    with caplog.at_level(logging.INFO, "directory.access"):
        for origin in (TRUSTED, OTHERS[0], "https://" + "x" * 1000, None):
            headers = asks if origin is None else {**asks, "Origin": origin}
            api.call("OPTIONS", "/api/projects", headers=headers)
        api.get("/api/projects", headers={"Origin": OTHERS[0]})
    refused = [record for record in caplog.records if record.message == "preflight refused"]
    assert [(record.origin[:20], record.path) for record in refused] == [
        (OTHERS[0][:20], "/api/projects"),
        ("https://" + "x" * 12, "/api/projects"),
    ]
    assert max(len(record.origin) for record in refused) == 300


def test_without_the_setting_there_is_no_cors_at_all(make_app):
    answer = Api(make_app()).get("/api/projects", headers={"Origin": TRUSTED})
    assert shared(answer) == {}
    assert "Origin" not in answer.vary
