"""The Atom feed of the newest live projects."""

import re
from datetime import datetime
from html import unescape
from xml.etree import ElementTree

import pytest

from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import feed as pages
from directory.models import Project
from directory.services.catalog import feed
from directory.services.review import submissions
from tests.support.factories import Api

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = '</title><script>alert(1)</script> & "quotes" ]]> <!-- é 漢'


@pytest.fixture
def read(api):
    """Fetches and parses the feed."""
    return lambda: ElementTree.fromstring(api.get("/api/projects.atom").data)


def texts(element, name):
    return [found.text for found in element.iter(f"{ATOM}{name}")]


def test_an_entry_tells_of_a_project(api, world, read):
    owner = world.user("ada")
    project = world.stored(world.project(owner, description="Two\n\nparagraphs", category="web-apps"))
    entry = read().find(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == project["title"]
    assert entry.findtext(f"{ATOM}summary") == project["tagline"]
    assert entry.find(f"{ATOM}content").attrib == {"type": "html"}
    assert entry.findtext(f"{ATOM}content") == '<p dir="auto">Two</p>\n<p dir="auto">paragraphs</p>\n'
    assert entry.findtext(f"{ATOM}author/{ATOM}name") == "Project Directory"
    page = f"/p/{project['id']}/{project['slug']}"
    links = [link.attrib for link in entry.findall(f"{ATOM}link")]
    assert links == [{"rel": "alternate", "href": page}, {"rel": "related", "href": project["url"]}]
    assert entry.find(f"{ATOM}category").attrib["term"] == "web-apps"
    assert datetime.fromisoformat(entry.findtext(f"{ATOM}published")) == project["published_at"]
    assert datetime.fromisoformat(entry.findtext(f"{ATOM}updated")) == project["updated_at"]


def test_the_feed_has_all_that_atom_asks_for(api, world, read):
    for _ in range(2):
        world.project()
    answer, root = api.get("/api/projects.atom"), read()
    assert answer.content_type == "application/atom+xml; charset=utf-8"
    assert answer.data.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
    assert root.tag == f"{ATOM}feed"
    for element in (root, *root.iter(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1
    assert all(re.fullmatch(r"[0-9T:.-]+Z", instant) for instant in texts(root, "updated"))
    assert all(re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", name) for name in texts(root, "id"))
    assert len(set(texts(root, "id"))) == 3
    assert root.find(f"{ATOM}link").attrib == {
        "rel": "self", "type": "application/atom+xml", "href": "/api/projects.atom",
    }  # fmt: skip


def test_an_empty_feed_is_one_too(read):
    root = read()
    assert len(texts(root, "id")) == len(texts(root, "title")) == len(texts(root, "updated")) == 1


def test_only_live_projects_stand_in_it_newest_first_and_fifty_at_most(world, read, monkeypatch):
    ids = [world.project(status=status) for status in ("pending", "rejected", *("live",) * 4)]
    live = [world.stored(project_id)["title"] for project_id in ids[2:]]
    assert texts(read(), "title")[1:] == live[::-1]
    monkeypatch.setattr(feed, "SIZE", 3)
    world.vote(ids[2], world.user())  # a write, so that no kept answer is given again
    assert texts(read(), "title")[1:] == live[:0:-1]
    monkeypatch.undo()
    assert feed.SIZE == 50


def test_it_changes_when_a_project_does(app, world, read):
    owner = world.user()
    ids = [world.project(owner) for _ in range(2)]
    before = read().findtext(f"{ATOM}updated")
    with app.app_context():
        changes = {"tagline": "Another one"}
        transaction(lambda: submissions.edit(ids[0], changes, by=owner, review_on_edit="never", notify=[]))
    root = read()
    assert root.findtext(f"{ATOM}updated") > before
    assert datetime.fromisoformat(root.findtext(f"{ATOM}updated")) == world.stored(ids[0])["updated_at"]


def test_it_need_not_be_sent_twice(api, world):
    world.project()
    tag = api.get("/api/projects.atom").headers["ETag"]
    again = api.get("/api/projects.atom", headers={"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    world.project()
    assert api.get("/api/projects.atom", headers={"If-None-Match": tag}).status_code == 200


def test_whoever_asks_gets_the_same(api, world):
    owner = world.admin()
    world.project(owner)
    world.project(owner, status="pending")
    assert world.caller(owner).get("/api/projects.atom").data == api.get("/api/projects.atom").data


def test_hostile_text_stays_text(api, world, read):
    world.project(title=HOSTILE, tagline=HOSTILE, description=HOSTILE, url="https://example.org/?a=1&b='")
    entry = read().find(f"{ATOM}entry")
    found = [entry.findtext(f"{ATOM}{name}") for name in ("title", "summary")]
    assert found == [HOSTILE] * 2
    content = entry.findtext(f"{ATOM}content")
    assert "<script" not in content
    assert unescape(content) == f'<p dir="auto">{HOSTILE}</p>\n'
    assert entry.find(f"{ATOM}link[@rel='related']").attrib["href"] == "https://example.org/?a=1&b='"
    assert b"<script" not in api.get("/api/projects.atom").data


def test_what_xml_cannot_hold_does_not_break_it(app, world, read):
    project_id = world.project()
    with app.app_context():
        transaction(lambda: db.session.get(Project, project_id).__setattr__("tagline", "a\x0b\ufffe\x1bb"))
    assert read().findtext(f"{ATOM}entry/{ATOM}summary") == "a\ufffd\ufffd\ufffdb"


def test_two_directories_give_no_name_twice(world, context):
    one = world.stored(world.project())
    other = {**one, "created_at": one["created_at"].replace(year=2001)}
    assert feed.name_of(one) == feed.name_of(dict(one))
    assert feed.name_of(one) != feed.name_of(other) != feed.name()
    assert feed.name() == feed.name()


def test_the_feed_keeps_its_name_whatever_comes_and_goes(api, world, read):
    owner = world.user()
    first = world.project(owner)
    name = texts(read(), "id")[0]
    world.caller(owner).delete(f"/api/projects/{first}")
    world.project()
    assert texts(read(), "id")[0] == name


def test_the_path_in_it_is_its_own(app):
    assert any(rule.rule == pages.PATH for rule in app.url_map.iter_rules())


def links(api):
    return [link.attrib for link in ElementTree.fromstring(api.get("/api/projects.atom").data).findall(f"{ATOM}link")]


def test_its_links_are_absolute_where_the_address_of_the_site_is_known(make_app):
    settings = {"SITE_URL": "https://projects.example.org/", "SITE_NAME": "Ours & yours"}
    api = Api(make_app(**settings))
    assert links(api) == [
        {"rel": "self", "type": "application/atom+xml", "href": "https://projects.example.org/api/projects.atom"},
        {"rel": "alternate", "type": "text/html", "href": "https://projects.example.org/"},
    ]
    assert ElementTree.fromstring(api.get("/api/projects.atom").data).findtext(f"{ATOM}title") == "Ours & yours"


def test_it_is_called_what_the_site_is_called_by_default(read):
    assert read().findtext(f"{ATOM}title") == "Project Directory"


def test_a_category_and_a_tag_have_feeds_of_their_own(make_app, world):
    world.project(title="One", category="web", tags=["csv"])
    world.project(title="Two", category="web")
    world.project(title="Three", tags=["csv", "cli"])
    world.project(title="Waiting", category="web", tags=["csv"], status="pending")
    api = Api(make_app(SITE_URL="https://projects.example"))
    expected = {
        "": ["Three", "Two", "One"],
        "?category=web": ["Two", "One"],
        "?tag=csv": ["Three", "One"],
        "?category=web&tag=csv": ["One"],
        "?tag=cli,csv": ["Three"],
        "?category=nothing": [],
    }
    names = set()
    for query, shown in expected.items():
        root = ElementTree.fromstring(api.get(f"/api/projects.atom{query}").data)
        assert [entry.findtext(f"{ATOM}title") for entry in root.iter(f"{ATOM}entry")] == shown
        links = {link.attrib["rel"]: link.attrib["href"] for link in root.findall(f"{ATOM}link")}
        assert links["self"] == f"https://projects.example/api/projects.atom{query}"
        assert links["alternate"] == f"https://projects.example/{query}"
        names.add(root.findtext(f"{ATOM}id"))
    assert len(names) == len(expected)
    assert api.get("/api/projects.atom?category=a%20b").status_code == 422
    assert api.get("/api/projects.atom?status=pending").status_code == 422


def test_without_pages_an_entry_leads_to_the_website(make_app, world):
    project = world.stored(world.project())
    feed_of = ElementTree.fromstring(Api(make_app(WEB_ENABLED="false")).get("/api/projects.atom").data)
    links = [link.attrib for link in feed_of.find(f"{ATOM}entry").findall(f"{ATOM}link")]
    assert links == [{"rel": "alternate", "href": project["url"]}]
