"""The page of a project: for visitors, for its owner, and for who may not see it."""

import json
import re

import pytest

from directory.services.catalog import fields
from directory.services.catalog.fields import Kind
from tests.pages.conftest import head_of, text_of, titles
from tests.support.browsers import Browser
from tests.support.factories import Api

HTML = "text/html; charset=utf-8"
TEXT = "See https://example.com/x. Then **bold**\n\n- one\n- two"


def test_a_project_is_complete_html(api, path_of, world):
    path = path_of(
        title="Lanternfish", tagline="Charts", description=TEXT, tags=["csv"], repository_url="https://git.example/l"
    )
    answer = api.get(path)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "public, no-cache")
    text = text_of(answer)
    assert "Tools LN Lanternfish Charts See https://example.com/x . Then bold one two Visit the website" in text
    assert '<a href="https://example.com/x" rel="nofollow ugc noopener">https://example.com/x</a>. Then' in answer.text
    assert '<a class="outward" href="https://git.example/l" rel="nofollow ugc noopener">' in answer.text
    assert "Source code git.example" in text
    for repository, shown in (("https://git.example/ada/l.git", "ada/l"), ("https://git.example/a/b/c", "git.example")):
        page = api.get(path_of(repository_url=repository))
        assert f"Source code {shown}" in text_of(page)


def written(name, kind):
    """A value of a field, and how the page shows it."""
    words = name.replace("_", "-")
    address = f"https://{words}.example/shown"
    if kind is Kind.TAGS:
        return [words, "shown"], f"/tags/{words}"
    return {
        Kind.LINE: (f"The {words}", f">The {words}<"),
        Kind.PROSE: (f"The {words}", f"The {words}"),
        Kind.LINK: (address, f'"{address}"'),
        Kind.REPOSITORY: (address, f'"{address}"'),
        Kind.CATEGORY: ("tools", "/categories/tools"),
    }[kind]


def test_the_page_shows_each_field_that_its_owner_writes(api, world):
    world.category("tools")
    own = fields.OWN_FIELDS  # tests/extras/fields
    values = {field.name: written(field.name, field.kind) for field in fields.BODY if field.name != own}
    body = {name: value for name, (value, _) in values.items()}
    made = world.caller(world.user()).post("/api/projects", body).json
    assert world.caller(world.admin()).put(f"/api/admin/projects/{made['id']}/approve").status_code == 200
    page = api.get(f"/p/{made['id']}/{made['slug']}").text
    main = page.partition("<main")[2]
    assert values.pop("logo_url")[1] in page  # for previews elsewhere: our pages load no pictures of other sites
    assert [name for name, (_, shown) in values.items() if shown not in main] == []


def test_the_head_describes_the_project(make_app, path_of):
    path = path_of(
        title="Tom & <b>Jerry</b>", tagline='He said "no" </head><script>', logo_url="https://logos.example/1.png"
    )
    text = head_of(Api(make_app(SITE_URL="https://projects.example")).get(path))
    assert "<title>Tom &amp; &lt;b&gt;Jerry&lt;/b&gt; · Project Directory</title>" in text
    assert '<meta name="description" content="He said &#34;no&#34; &lt;/head&gt;&lt;script&gt;">' in text
    assert f'<link rel="canonical" href="https://projects.example{path}">' in text
    assert f'<meta property="og:url" content="https://projects.example{path}">' in text
    found = json.loads(re.search('<script type="application/ld[+]json">(.*?)</script>', text, re.DOTALL)[1])
    assert [each["@type"] for each in found] == ["SoftwareApplication", "BreadcrumbList"]
    assert found[0]["description"] == 'He said "no" </head><script>'
    assert [each["name"] for each in found[1]["itemListElement"]] == [
        "Project Directory",
        "Tools",
        "Tom & <b>Jerry</b>",
    ]


@pytest.mark.parametrize("made", ["/p/{0}", "/p/{0}/", "/p/{0}/of-before", "/p/{0}/{1}/", "/p/{0}/Charts"])
def test_other_addresses_of_a_project_lead_to_the_one(api, world, made):
    project_id = world.project(title="Charts")
    path = made.format(project_id, "charts")
    for caller in (api, world.caller(world.user())):
        answer, hops = caller.get(path), 0
        while answer.status_code == 308 and hops < 3:
            path, hops = answer.headers["Location"], hops + 1
            assert "no-cache" in answer.headers["Cache-Control"]
            answer = caller.get(path)
        assert (path, answer.status_code) == (f"/p/{project_id}/charts", 200)
        path = made.format(project_id, "charts")


@pytest.mark.parametrize("status", ["pending", "rejected", None])
def test_who_may_not_see_a_project_gets_404_with_a_page_that_says_nothing_of_it(world, api, path_of, status):
    path = "/p/404/gone" if status is None else path_of(status=status, title="Secret plans")
    for caller in (api, world.caller(world.user())):
        for each in (path, "/".join(path.split("/")[:3])):
            answer = caller.get(each)
            assert (answer.status_code, answer.content_type) == (404, HTML)
            assert "Page not found" in text_of(answer)
            assert "Secret" not in answer.text
            assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("status", "says"), [("pending", "waiting for review It is number 1 in the queue."), ("rejected", "was rejected")]
)
def test_its_owner_sees_where_a_project_stands_and_what_happened(world, path_of, status, says):
    owner = world.user("ada")
    path = path_of(owner=owner, status=status, title="Plans")
    for caller in (world.caller(owner), world.caller(world.admin())):
        answer = caller.get(path)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "private, no-cache")
        assert says in text_of(answer)
        assert "History Submitted" in text_of(answer)
        assert '<meta name="robots" content="noindex">' in answer.text
        assert "ld+json" not in answer.text


def test_the_reason_of_a_rejection_is_shown_to_its_owner(world, path_of):
    owner = world.user("ada")
    path = path_of(owner=owner, status="pending")
    admin = world.caller(world.admin())
    admin.put(f"/api/admin/projects/{path.split('/')[2]}/reject", {"reason": "The <link> is dead."})
    assert "Reason: The <link> is dead." in text_of(world.caller(owner).get(path))


def test_related_projects_are_below_it(world, api, path_of):
    world.category("web")
    world.project(title="OtherProcess", category="web", votes=9)
    for votes in range(1, 3):
        world.project(title=f"With {votes}", votes=votes)
    world.project(title="Tagged", category="web", tags=["csv"])
    assert titles(api.get(path_of(title="Charts", tags=["csv"]))) == [
        "Tagged", "With 2", "With 1", "OtherProcess"
    ]  # fmt: skip


def test_a_host_in_letters_that_look_like_latin_ones_is_shown_in_ascii_too(api, path_of):
    lookalike = "https://www.\u0430\u0440\u0440\u04cf\u0435.com/store"
    shown = text_of(api.get(path_of(title="Store", url=lookalike, repository_url="https://git.example/l")))
    assert "www.\u0430\u0440\u0440\u04cf\u0435.com (www.xn--80ak6aa92e.com)" in shown
    assert shown.count("(www.xn--80ak6aa92e.com)") == 1
    assert "git.example" in shown
    assert "git.example (" not in shown


def test_changes_of_a_live_project_wait_in_sight_of_its_owner_alone(app, world, api, path_of):
    ada = world.user("ada")
    path = path_of(owner=ada, title="Lamp", tagline="Bright")
    project_id = path.split("/")[2]
    owner, admin = Browser(app).sign_in("ada"), world.caller(world.admin())
    assert (
        owner.put(f"/api/projects/{project_id}", {"tagline": "Brighter", "url": "https://b.example"}).status_code == 200
    )
    shown = text_of(owner.get(path))
    assert "The changes to tagline, website are waiting for review. They are number 1 in the queue." in shown
    assert "Withdraw the changes" in shown
    assert "Brighter" not in owner.get(path).text
    assert "Withdraw" not in text_of(admin.get(path))
    for other in (api, world.caller(world.user())):
        assert "waiting for review" not in text_of(other.get(path))
        assert "Brighter" not in other.get(path).text
    assert admin.put(f"/api/admin/projects/{project_id}/reject", {"reason": "Too bright."}).status_code == 200
    assert "The last changes were not accepted Reason: Too bright." in text_of(owner.get(path))
    version = re.search('name="version" value="([0-9]+)"', owner.get(path).text)[1]
    answer = owner.post(f"/withdraw/{project_id}", data={"version": version})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/p/{project_id}")
    assert "not accepted" not in text_of(owner.get(path)).partition("History")[0]
    assert owner.post(f"/withdraw/{project_id}").status_code == 404


def test_only_the_changes_that_a_page_shows_are_withdrawn_from_it(app, world, path_of):
    ada = world.user("ada")
    path = path_of(owner=ada)
    project_id = path.split("/")[2]
    owner = Browser(app).sign_in("ada")
    owner.put(f"/api/projects/{project_id}", {"tagline": "Brighter"})
    version = re.search('name="version" value="([0-9]+)"', owner.get(path).text)[1]
    owner.put(f"/api/projects/{project_id}", {"tagline": "Brightest"})
    answer = owner.post(f"/withdraw/{project_id}", data={"version": version})
    assert (answer.status_code, text_of(answer)) == (
        412,
        "Changed meanwhile The project has changed meanwhile. Load it again. Back",
    )
    assert owner.get(f"/api/projects/{project_id}").json["revision"]["changes"] == {"tagline": "Brightest"}
