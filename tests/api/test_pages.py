"""The first page without the pages of the site (WEB_ENABLED=false): for people, and as JSON for programs."""

import re

import pytest

from tests.support.factories import Api


@pytest.fixture
def app(make_app):
    """The application without the pages of the site."""
    return make_app(WEB_ENABLED="false")


HTML, JSON = "text/html; charset=utf-8", "application/json"


def test_it_links_to_what_there_is(api):
    answer = api.get("/")
    assert (answer.status_code, answer.content_type) == (200, HTML)
    assert "<h1>Project Directory</h1>" in answer.text
    found = re.findall(r'<a href="([^"]+)"', answer.text)
    assert {"/api/docs", "/api/openapi.json", "/api/projects.atom"} <= set(found)
    assets = re.findall(r'<link rel="\w+"[^>]* href="([^"]+)"', answer.text)
    assert len(assets) == 3
    assert {path: api.get(path).status_code for path in [*found, *assets]} == dict.fromkeys([*found, *assets], 200)


def test_it_loads_nothing_from_elsewhere_and_runs_nothing(api):
    policy = api.get("/").headers["Content-Security-Policy"]
    nothing_else = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    assert policy == f"{nothing_else}; style-src 'self'; img-src 'self'"
    assert api.get("/").headers["X-Content-Type-Options"] == "nosniff"


def test_the_name_of_the_site_is_text(make_app):
    api = Api(make_app(WEB_ENABLED="false", SITE_NAME="<script>alert(1)</script> & Co."))
    assert "<h1>&lt;script&gt;alert(1)&lt;/script&gt; &amp; Co.</h1>" in api.get("/").text
    assert "<script" not in api.get("/").text


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, HTML),
        ("*/*", HTML),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", HTML),
        ("application/json", JSON),
        ("application/json;q=0.9, text/html;q=0.5", JSON),
        ("image/png", HTML),
    ],
)
def test_a_client_that_prefers_json_gets_json(api, accept, media_type):
    answer = api.get("/", headers={"Accept": accept} if accept else {})
    assert answer.content_type == media_type
    assert "Accept" in answer.headers["Vary"]
    if media_type == JSON:
        assert answer.json["name"] == "Project Directory"
        assert {path: api.get(path).status_code for path in answer.json["links"].values()} == dict.fromkeys(
            answer.json["links"].values(), 200
        )


def test_the_page_and_the_json_are_not_taken_for_each_other(api):
    tags = [api.get("/", headers={"Accept": accept}).headers["ETag"] for accept in ("text/html", JSON)]
    assert tags[0] != tags[1]
    statuses = [api.get("/", headers={"Accept": "text/html", "If-None-Match": tag}).status_code for tag in tags]
    assert statuses == [304, 200]


@pytest.mark.parametrize("query", ["utm_source=chat", "x=1&x=2", "%ff", "a=%00"])
def test_it_passes_over_parameters(api, query):
    assert api.get(f"/?{query}").status_code == 200


def test_it_is_read_and_no_more(api):
    assert api.call("HEAD", "/").status_code == 200
    answer = api.post("/")
    assert (answer.status_code, answer.json["code"]) == (405, "method_not_allowed")


def test_it_counts_as_a_read(make_app):
    api = Api(make_app(WEB_ENABLED="false", RATELIMIT_ENABLED="true", RATELIMIT_READ="2 per hour"))
    assert [api.get("/").status_code for _ in range(3)] == [200, 200, 429]
