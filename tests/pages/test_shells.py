"""The pages that JavaScript fills, the files that pages load, the policy, and what stands where there is no page."""

import gzip
import re

import pytest

from directory.pages import layout
from directory.services import build
from tests.pages.conftest import head_of, text_of
from tests.support.browsers import Browser
from tests.support.factories import Api

HTML = "text/html; charset=utf-8"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
SHELLS = [
    "/admin", "/admin/queue", "/admin/queue/7", "/admin/projects", "/admin/users",
    "/admin/users/7", "/admin/categories", "/admin/deliveries", "/admin/audit",
]  # fmt: skip
READING = [
    "/", "/?q=lamp", "/categories/tools", "/tags/blue", "/users/ada", "/sign-in", "/sign-up", "/p/1/lamp", "/mine",
    "/account",
]  # fmt: skip
STRICT = layout.POLICY.format("")


@pytest.fixture
def lamp(world):
    return world.project(world.user("ada"), title="Lamp", tags=["blue"])


@pytest.mark.parametrize("path", SHELLS)
def test_a_page_that_javascript_fills_is_the_same_for_everybody_whatever_its_parameters(world, api, path):
    answers = [api.get(path), world.caller(world.admin()).get(f"{path}?utm_source=chat&utm_source=x&%ff")]
    for answer in answers:
        assert (answer.status_code, answer.content_type) == (200, HTML)
        assert '<span id="account">' in answer.text
        assert answer.headers.getlist("Content-Security-Policy") == [STRICT]
        assert '<link rel="preload" href="/api/session" as="fetch" crossorigin>' in answer.text
        assert 'content="noindex"' in answer.text
    assert answers[0].text == answers[1].text


@pytest.mark.parametrize(("commit", "more"), [("0123456789ab", " (0123456789ab)"), (None, "")])
def test_the_foot_of_the_console_has_the_version_and_the_commit(api, monkeypatch, commit, more):
    monkeypatch.setattr(build, "commit", lambda: commit)
    assert f"<span>Version {build.VERSION}{more}</span>" in api.get("/admin").text.partition("<footer")[2]


@pytest.mark.parametrize("path", READING)
def test_a_page_has_one_strict_policy_that_names_the_hash_of_its_data(app, world, api, lamp, path):
    member = Browser(app).sign_in("ada")
    for caller in (member, api, member, api):
        answer = caller.get(path)
        if answer.status_code == 303:  # to the page that signs in, or from it
            continue
        [policy] = answer.headers.getlist("Content-Security-Policy")
        assert re.sub(" 'sha256-[^']{44}'", "", policy) == STRICT
        assert ("sha256" in policy) == ("ld+json" in answer.text)
        assert "form-action 'self'" in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        scripts = re.findall("<script[^>]*>", answer.text)
        assert len(scripts) == 1 + ("sha256" in policy)
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", answer.text)


@pytest.mark.parametrize(
    "path",
    ["/admin/nothing", "/p", "/p/0/x", "/p/x/y", "/users", "/index.html", "/assets", "/SUBMIT", "/nothing/"],
)
def test_at_any_other_path_people_get_a_page_and_programs_the_problem(api, path):
    answer = api.get(path)
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")
    assert "Accept" in answer.headers["Vary"]
    page = api.get(path, headers=BROWSER)
    assert (page.status_code, page.content_type) == (404, HTML)
    assert "Page not found" in text_of(page)
    assert page.headers["Content-Security-Policy"] == STRICT
    assert 'content="noindex"' in head_of(page)


@pytest.mark.parametrize(
    "path",
    [
        "/submit", "/mine", "/admin/queue", "/sign-in", "/users/ada", "/tags/blue", "/best", "/feed", "/rss",
        "/about", "/login", "/register", "/help",
    ],
)  # fmt: skip
def test_a_slash_too_many_is_redirected(api, lamp, path):
    for query in ("", "?a=b&c=%20"):
        answer = api.get(f"{path}/{query}", headers=BROWSER)
        assert (answer.status_code, answer.headers["Location"]) == (308, f"{path}{query}")
    assert api.post(f"{path}/").status_code in {404, 405}


def test_below_api_people_get_the_problem_too(api):
    answer = api.get("/api/nothing", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")


def test_the_files_of_the_pages_may_be_stored_for_ever_and_are_compressed_once(api):
    answer = api.get("/assets/index-AAAA.js", headers={"Accept-Encoding": "br;q=1, gzip;q=0.5"})
    assert (answer.status_code, answer.headers["Content-Encoding"]) == (200, "gzip")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert answer.content_type == "text/javascript; charset=utf-8"
    for accepted in ("", "gzip;q=0"):
        plain = api.get("/assets/index-AAAA.js", headers={"Accept-Encoding": accepted})
        assert (plain.text, plain.headers.get("Content-Encoding")) == ("console.log(1)", None)
    for name in ("index-BBBB.js", "index-AAAA.js.gz", "..%2fpages.json", "%2e%2e"):
        assert api.get(f"/assets/{name}").status_code == 404


def test_a_list_of_twenty_rows_is_small(api, world):
    text = "A description of what this project does for those who use it, in one line of a usual length."
    for number in range(20):
        world.project(title=f"Project of number {number}", tagline=text, tags=["alpha", f"tag-{number}", "beta"])
    assert len(gzip.compress(api.get("/").data)) <= 12 * 1024


def test_a_fault_is_a_page_that_names_the_request_and_asks_the_database_for_nothing(app, monkeypatch, lamp):
    from directory.services.catalog import catalog

    monkeypatch.setattr(catalog, "page", lambda *_args, **_options: 1 / 0)
    answer = Api(app).get("/", headers={"X-Request-ID": "seen-here"})
    assert (answer.status_code, answer.content_type) == (500, HTML)
    assert "Request seen-here" in text_of(answer)
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_while_the_database_is_out_of_reach_pages_say_so_and_the_others_are_there(make_app):
    app = make_app(DATABASE_URL="postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    for caller in (Browser(app, "x" * 43), Api(app)):
        paths = ("/admin", "/admin/queue", "/assets/index-AAAA.js")
        assert [caller.get(path).status_code for path in paths] == [200] * 3
        answer = caller.get("/")
        assert (answer.status_code, answer.content_type) == (503, HTML)
        assert int(answer.headers["Retry-After"]) > 0
        assert caller.get("/nothing", headers=BROWSER).status_code == 404


def test_without_pages_only_the_short_page_is_left(make_app, lamp):
    api = Api(make_app(WEB_ENABLED="false"))
    assert "<h1>Project Directory</h1>" in api.get("/").text
    assert "make web" not in api.get("/").text
    for path in (*SHELLS, *READING[2:], "/assets/index-AAAA.js"):
        assert api.get(path).status_code == 404


def test_where_the_pages_are_not_built_each_says_how_to_build_them(make_app, built, lamp):
    (built / "pages.json").unlink()
    api = Api(make_app())
    for path in ("/", "/account/deleted", "/p/1/lamp", "/sign-in"):
        answer = api.get(path)
        assert (answer.status_code, answer.content_type) == (200, HTML)
        assert "<code>make web</code>" in answer.text
        assert "<script" not in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_the_pages_that_mail_leads_to_are_there_without_a_build(make_app, built):
    (built / "pages.json").unlink()
    mail = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "directory@example.net", "SITE_URL": "https://example.net"}
    api = Api(make_app(**mail))
    for path in ("/forgot", "/reset?token=x", "/verify?token=x", "/api/auth/notifications/1-x"):
        answer = api.get(path)
        assert (answer.status_code, '<form class="card form" method="post"' in answer.text) == (200, True)
        assert answer.headers["Content-Security-Policy"] == layout.PLAIN_POLICY


def test_a_bad_token_is_refused_on_pages_too(app):
    answer = Api(app, "pds_dead").get("/")
    assert (answer.status_code, answer.content_type) == (401, HTML)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
