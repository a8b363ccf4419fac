"""Writes that another site's page causes: the whole table of Sec-Fetch-Site, Origin and cookie, on every route."""

import re
from collections import Counter
from itertools import product

import pytest

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Session, Upvote, User
from directory.services.accounts import sessions
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import Api
from tests.support.routes import routes, unsafe

TRUSTED, OWN = "https://app.example.com", "http://localhost"
SITES = (None, "same-origin", "same-site", "cross-site", "none", "", "Same-Origin", "same-origin, cross-site")
ORIGINS = (
    None,
    OWN,
    TRUSTED,
    "https://www.example.com",  # a sibling of the trusted one
    "https://app.example.com.evil.example",
    "http://localhost.evil.example",
    "http://localhost:8080",
    "http://app.example.com",
    "null",
    "",
    "http://[",
    "file://",
    "localhost",
)
COOKIES = (None, "live", "dead", "")
# The check does not look at the route. So a route is tried with every seventh line of the table, and the next route
# with the lines after those: each line is tried on at least five routes.
EVERY = 7


def passes(site, origin, cookie):
    """The rule in the words of the contract."""
    if site in ("same-origin", "none"):
        return True
    if site is not None:
        return origin == TRUSTED
    if origin is not None:
        return origin in (TRUSTED, OWN)
    return cookie is None


@pytest.fixture
def app(make_app):
    return make_app(CORS_ORIGINS=f"{TRUSTED}, https://other.example.com")


def headers(site, origin, cookie):
    given = {"Sec-Fetch-Site": site, "Origin": origin, "Cookie": None if cookie is None else f"{COOKIE}={cookie}"}
    return {name: value for name, value in given.items() if value is not None}


def paths(app):
    """Every unsafe route with ids filled in: what it names need not be there, for the rule comes first."""
    for route in unsafe(app):
        yield route.method, re.sub("<[^>]*>", "1", re.sub("<(slug|field):[^>]*>", "tools", route.rule))


def live_cookie(app, user):
    """That of a session which has just begun."""
    with app.app_context():
        return transaction(lambda: sessions.begin(user.id, user_agent=""))


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_an_unsafe_request_passes_exactly_where_the_table_says(app, world):
    api, user, wrong = Api(app), world.user(), []
    live = live_cookie(app, user)
    table, tried = list(product(SITES, ORIGINS, COOKIES)), Counter()
    for number, (method, path) in enumerate(paths(app)):
        for site, origin, cookie in table[number % EVERY :: EVERY]:
            given = headers(site, origin, live if cookie == "live" else cookie)
            answer = api.call(method, path, {}, headers=given)
            refused = answer.status_code == 403 and answer.json["code"] == "cross_site_request"
            if refused == passes(site, origin, cookie) or answer.status_code >= 500:
                wrong.append((method, path, (site, origin, cookie), answer.status_code))
            if cookie == "live" and not refused:
                assert answer.status_code != 401 or path == "/api/auth/login"  # it was alive
                live = live_cookie(app, user)  # what passed may have ended the session
            tried[site, origin, cookie] += 1
    assert wrong == []
    assert min(tried[line] for line in table) >= 5


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_what_changes_nothing_and_what_is_not_there_is_never_refused_for_its_origin(app):
    api, evil = Api(app), headers("cross-site", "https://evil.example", "dead")
    for route in routes(app):
        rule = re.sub("<(slug|field):[^>]*>", "tools", route.rule)
        for method in ("GET", "HEAD", "OPTIONS", "TRACE", "PATCH", "BREW"):
            answer = api.call(method, rule.replace("<", "x<"), headers=evil)
            assert answer.status_code != 403
    for missing in ("/api/nothing", "/api/projects/0"):
        assert api.post(missing, {}, headers=evil).status_code == 404


@pytest.mark.parametrize("site", [None, "cross-site", "same-site"])
def test_a_bearer_token_is_exempt_for_no_page_can_add_one(world, site):
    caller = world.caller(world.user())
    live = world.project()
    evil = headers(site, "https://evil.example", "dead")
    assert caller.put(f"/api/projects/{live}/upvote", headers=evil).status_code == 200
    answer = caller.post("/api/auth/logout", headers=evil | {"Authorization": "Bearer nonsense"})
    assert (answer.status_code, answer.json["code"]) == (401, "unauthenticated")
    basic = evil | {"Authorization": "Basic eDp5"}
    assert caller.post("/api/auth/logout", headers=basic).json["code"] == "cross_site_request"


EVIL = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "same-site", "Origin": "https://www.example.com"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("evil", EVIL, ids=str)
def test_another_sites_page_can_neither_sign_in_nor_out_nor_register_nor_vote_nor_submit(app, world, evil):
    world.user("ada")
    live = world.project()
    browser = Browser(app).sign_in("ada")
    new = {"username": "forged", "email": "forged@example.org", "password": "correct horse battery"}
    project = {"title": "Forged", "tagline": "x", "url": "https://example.com", "category": "tools"}
    for method, path, body in (
        ("POST", "/api/auth/login", {"login": "ada", "password": new["password"]}),
        ("POST", "/api/auth/logout", None),
        ("POST", "/api/auth/register", new),
        ("POST", f"/api/projects/{live}/upvote", None),
        ("PUT", f"/api/projects/{live}/upvote", None),
        ("POST", "/api/projects", project),
        ("PUT", "/api/auth/me", {"email": "evil@example.org"}),
        ("DELETE", "/api/auth/sessions", None),
    ):
        answer = browser.call(method, path, body, headers=evil)
        assert (answer.status_code, answer.json["code"]) == (403, "cross_site_request")
        assert "Origin header" in answer.json["detail"]
        assert "bearer token" in answer.json["detail"]
        assert "Set-Cookie" not in answer.headers
    assert browser.get("/api/auth/me").json["email"] == "ada@example.org"
    with app.app_context():
        counted = [db.session.query(model).count() for model in (Session, Upvote)]
        assert counted == [1, 0]
        assert db.session.query(User).filter_by(username="forged").count() == 0


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("http://directory.example", "directory.example", True),
        ("https://directory.example", "directory.example", True),  # a proxy may end TLS before us
        ("http://directory.example", "directory.example:80", True),
        ("https://directory.example", "directory.example:443", True),
        ("https://DIRECTORY.example", "directory.EXAMPLE", True),
        ("http://directory.example:8000", "directory.example:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://directory.example:8000", "directory.example", False),
        ("http://directory.example", "directory.example:8000", False),
        ("http://example", "directory.example", False),
        ("http://directory.example@evil.example", "directory.example", False),
        ("http://evil.example/directory.example", "directory.example", False),
    ],
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_ones_own_origin_is_that_of_the_host_that_was_asked(app, origin, host, own):
    answer = Api(app).post("/api/auth/logout", headers={"Origin": origin, "Host": host, "Cookie": f"{COOKIE}=dead"})
    assert answer.json["code"] == ("unauthenticated" if own else "cross_site_request")


def test_a_trusted_origins_page_signs_in_and_acts(app, world):
    world.user("ada")
    live = world.project()
    browser = Browser(app)
    trusted = {"Sec-Fetch-Site": "cross-site", "Origin": TRUSTED}
    login = {"login": "ada", "password": "correct horse battery"}
    assert browser.post("/api/auth/login", login, headers=trusted).status_code == 200
    assert browser.post(f"/api/projects/{live}/upvote", headers=trusted).json["upvotes"] == 1
