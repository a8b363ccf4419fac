"""What the service answers at the addresses of its pages: their head, their policy, and how they are cached."""

import re

import pytest
from sqlalchemy import update

from directory.api import web
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from tests.support.browsers import Browser
from tests.support.factories import Api
from tests.support.web import built

__all__ = ["built"]
pytestmark = pytest.mark.usefixtures("built")

HTML = "text/html; charset=utf-8"
SHELLS = {
    "/": "index",
    "/submit": "members",
    "/mine": "members",
    "/account": "members",
    "/reset": "members",
    "/verify": "members",
    "/users/ada": "index",
    **dict.fromkeys(("/admin", "/admin/queue", "/admin/queue/7", "/admin/projects", "/admin/users"), "console"),
    **dict.fromkeys(("/admin/users/7", "/admin/categories", "/admin/deliveries", "/admin/audit"), "console"),
}


def page_of(app, world, **fields):
    """The address of a live project's page."""
    project_id = world.project(**fields)
    with app.app_context():
        return f"/p/{project_id}/{db.session.get(Project, project_id).slug}"


@pytest.mark.parametrize("path", ["/", "/mine", "/p"])
def test_a_page_has_one_policy_also_for_a_member_and_when_it_was_cached(app, world, api, path):
    world.user("ada")
    browser = Browser(app).sign_in("ada")
    path = page_of(app, world) if path == "/p" else path
    for caller in (browser, api, browser, api):
        answer = caller.get(path)
        assert answer.headers.getlist("Content-Security-Policy") == [web.POLICY]
        assert answer.headers["Cache-Control"].endswith(", no-cache")


@pytest.mark.parametrize("path", SHELLS)
def test_a_page_is_the_same_for_everybody_whatever_its_parameters(app, world, api, path):
    answers = [api.get(path), world.caller(world.admin()).get(f"{path}?utm_source=chat&utm_source=x&%ff")]
    for answer in answers:
        assert (answer.status_code, answer.content_type) == (200, HTML)
        assert f"<p>{SHELLS[path]}</p>" in answer.text
        assert answer.headers.getlist("Content-Security-Policy") == [web.POLICY]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answers[0].text == answers[1].text


@pytest.mark.parametrize(
    "path",
    ["/admin/nothing", "/p", "/p/1", "/p/0/x", "/p/x/y", "/users", "/users/", "/submit/", "/index.html", "/assets"],
)
def test_any_other_path_is_a_problem(api, path):
    answer = api.get(path)
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")
    assert "Accept" in answer.headers["Vary"]
    page = api.get(path, headers={"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"})
    assert (page.status_code, page.content_type) == (404, HTML)
    assert "<p>index</p>" in page.text
    assert page.headers["Content-Security-Policy"] == web.POLICY


def test_below_api_people_get_the_problem_too(api):
    answer = api.get("/api/nothing", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")


def test_pages_are_read_and_no_more(api):
    assert api.call("HEAD", "/mine").status_code == 200
    assert api.post("/mine").status_code == 405


def test_a_live_project_stands_in_the_head_of_its_page(app, world, api):
    path = page_of(app, world, title="Tom & <b>Jerry</b>", tagline='He said "no" </head><script>')
    text = api.get(path).text
    assert "<title>Tom &amp; &lt;b&gt;Jerry&lt;/b&gt; · Project Directory</title>" in text
    assert '<meta name="description" content="He said &quot;no&quot; &lt;/head&gt;&lt;script&gt;">' in text
    assert '<meta property="og:title" content="Tom &amp; &lt;b&gt;Jerry&lt;/b&gt;">' in text
    assert "canonical" not in text  # it would have to be absolute, and the site's address is not known
    assert "<script" not in text
    assert "<b>" not in text


def test_the_canonical_address_is_absolute_where_the_site_has_one(make_app, world):
    app = make_app(SITE_URL="https://projects.example", SITE_NAME="Ours & theirs")
    path = page_of(app, world)
    text = Api(app).get(path).text
    assert f'<link rel="canonical" href="https://projects.example{path}">' in text
    assert f'<meta property="og:url" content="https://projects.example{path}">' in text
    assert '<meta property="og:site_name" content="Ours &amp; theirs">' in text
    assert '<link rel="canonical" href="https://projects.example/">' in Api(app).get("/").text


@pytest.mark.parametrize("path", SHELLS)
def test_search_engines_may_list_public_pages_alone_and_each_has_a_description(api, path):
    text = api.get(path).text
    assert ('<meta name="robots" content="noindex">' in text) == (path not in ("/", "/submit", "/users/ada"))
    assert '<meta name="description" content="' in text


def test_what_a_page_always_reads_is_read_while_its_code_is_on_its_way(app, world, api):
    path = page_of(app, world)
    reads = {"/": [], path: [f"/api/projects/{path.split('/')[2]}"], "/admin": [], "/mine": []}
    for page, own in reads.items():
        found = re.findall('<link rel="preload" href="([^"]+)" as="fetch" crossorigin>', api.get(page).text)
        assert found == ["/api/session", *own]


def test_another_slug_is_redirected_for_good_but_looked_at_again_each_time(app, world, api):
    path = page_of(app, world)
    for caller in (api, world.caller(world.user())):
        answer = caller.get(f"{path}-of-before")
        assert (answer.status_code, answer.headers["Location"]) == (308, path)
        assert "no-cache" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("status", ["pending", "rejected", None])
def test_a_project_that_is_not_live_is_404_with_the_page_and_without_its_title(app, world, api, status):
    owner = world.user()
    path = "/p/404/gone" if status is None else page_of(app, world, owner=owner, status=status, title="Secret plans")
    for caller in (api, world.caller(owner)):
        answer = caller.get(path)
        assert (answer.status_code, answer.content_type) == (404, HTML)
        assert "<p>project</p>" in answer.text
        assert "Secret" not in answer.text
        assert answer.headers["Content-Security-Policy"] == web.POLICY
        assert answer.headers["Cache-Control"] == "no-store"


def test_the_files_of_the_pages_may_be_stored_for_ever_and_are_compressed_once(api):
    answer = api.get("/assets/index-AAAA.js", headers={"Accept-Encoding": "br;q=1, gzip;q=0.5"})
    assert (answer.status_code, answer.headers["Content-Encoding"]) == (200, "gzip")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.content_type == "text/javascript; charset=utf-8"
    for accepted in ("", "gzip;q=0"):
        plain = api.get("/assets/index-AAAA.js", headers={"Accept-Encoding": accepted})
        assert (plain.text, plain.headers.get("Content-Encoding")) == ("console.log(1)", None)
    for name in ("index-BBBB.js", "index-AAAA.js.gz", "..%2findex.html", "%2e%2e"):
        assert api.get(f"/assets/{name}").status_code == 404


@pytest.mark.response_cache
def test_pages_come_from_the_response_cache_until_something_changes(app, world, api, statements):
    path = page_of(app, world, title="Before")
    first = {each: api.get(each) for each in ("/", "/mine", path)}
    statements.clear()
    again = {each: api.get(each) for each in first}
    assert statements == []
    for each, answer in again.items():
        assert (answer.status_code, answer.text) == (200, first[each].text)
        assert answer.headers.getlist("Content-Security-Policy") == [web.POLICY]
        assert api.get(each, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    rename = update(Project).values(title="After")
    with app.app_context():
        transaction(lambda: db.session.execute(rename))
    assert "<title>After · " in api.get(path).text


@pytest.mark.response_cache
@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)  # SQLite tells that something was written, not what
def test_a_vote_leaves_the_cached_page_valid(app, world, api, statements):
    path, voter = page_of(app, world), world.caller(world.user())
    api.get(path)
    assert voter.put(f"/api/projects/{path.split('/')[2]}/upvote").status_code == 200
    statements.clear()
    assert api.get(path).status_code == 200
    assert statements == []


def test_who_asks_for_json_gets_links_also_after_the_page_was_cached(api):
    for _ in range(2):
        assert api.get("/", headers={"Accept": "text/html,*/*;q=0.8"}).content_type == HTML
        for accept in ("application/json", "Application/JSON", "application/*"):
            assert api.get("/", headers={"Accept": accept}).content_type == "application/json"


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_pages_of_accounts_and_their_files_are_there_while_the_database_is_not(make_app):
    app = make_app(DATABASE_URL="postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    for caller in (Browser(app, "x" * 43), Api(app)):
        answers = [caller.get(path) for path in ("/mine", "/users/ada", "/admin", "/assets/index-AAAA.js")]
        assert [answer.status_code for answer in answers] == [200] * 4


def test_without_pages_only_the_short_page_is_left(make_app):
    api = Api(make_app(WEB_ENABLED="false"))
    assert "<h1>Project Directory</h1>" in api.get("/").text
    assert "make web" not in api.get("/").text
    for path in (*SHELLS, "/assets/index-AAAA.js"):
        assert api.get(path).status_code == (200 if path == "/" else 404)


def test_where_the_pages_are_not_built_each_says_how_to_build_them(make_app, built, world):
    for path in built.glob("*.html"):
        path.unlink()
    app = make_app()
    for path in ("/", "/mine", page_of(app, world)):
        answer = Api(app).get(path)
        assert (answer.status_code, answer.content_type) == (200, HTML)
        assert "<code>make web</code>" in answer.text
        assert "<script" not in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
