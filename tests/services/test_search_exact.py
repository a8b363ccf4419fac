"""What a query says exactly: words that stand together, phrases, the spelling of a title, and addresses."""

import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from directory.services.catalog import search_counts, search_index
from directory.services.catalog.search_language import address_keys
from directory.services.catalog.search_words import query_units
from directory.services.text.equal_addresses import url_key
from tests.services.test_search_order import REAL
from tests.support import titles
from tests.support.factories import Api, World
from tests.support.titles import found

ALL = Path(__file__).parents[3] / "shared" / "data" / "projects.jsonl"  # more of them, where there are

# Of each query the texts that it finds, and those that it does not.
TOGETHER = {
    "node.js": (
        ["Node.js", "NodeJS", "node js", "a node-js thing", "my-node.js-kit", "nodejsx", "node jsx"],
        ["json and a node", "js for a node", "node, then js", "node of js", "js node"],
    ),
    "e-mail": (["E-mail", "email", "e mail", "emails", "an e-mailer"], ["mail for e", "e or mail"]),
    "e-mails": (["e-mail", "email", "e mail"], ["mails for e"]),
    "self-hosted": (["self hosted", "selfhosted", "a self-hosted wiki"], ["hosted by myself", "self or hosted"]),
    "state-of-the-art": (["state of the art", "state-of-the-artful"], ["the art of a state", "art state"]),
    "webdav-server": (["php-http-webdav-server", "webdav servers"], ["server for webdav", "webdav or server"]),
    "3.11": (["Python 3.11", "3-11"], ["11 of 3", "3 or 11"]),
    '"web server"': (["a web server here", "web-server"], ["server web", "web servers", "webserver", "web or server"]),
    '"server" web': (["web server", "server of webs"], ["servers of the web"]),
    "“web server” fast": (["fast web server"], ["fast server for the web"]),
    '"東京 tower"': (["新東京 tower"], ["東京の tower", "tower 東京"]),
    '12" or 15"': (["15 or 12"], ["12"]),
}  # fmt: skip


@pytest.mark.parametrize("field", ["title", "tagline", "author", "description", "tags"])
@pytest.mark.parametrize("query", TOGETHER)
def test_marks_and_quotes_keep_words_together(world: World, api: Api, query: str, field: str) -> None:
    finds, others = TOGETHER[query]
    owner, expected = world.user(), []
    for text in [*finds, *others]:
        given: dict[str, Any] = {"title": "?", "tagline": "?", "description": "?"}
        number = world.project(owner, **{**given, field: [text] if field == "tags" else text})
        expected += [number] if text in finds else []
    items = api.get("/api/projects", query_string={"q": query, "sort": "newest", "limit": "100"}).json["items"]
    assert sorted(item["id"] for item in items) == expected


def test_neighbours_are_in_one_field_and_in_one_tag(world: World, api: Api) -> None:
    owner = world.user()
    world.project(owner, title="A node", tagline="js it is", tags=["node", "js"], description="js")
    world.project(owner, title="B", tagline="my node", tags=["js"])
    assert found(api, "node.js") == found(api, '"node js"') == []
    assert set(found(api, "node js")) == {"A node", "B"}


@pytest.mark.parametrize("file", [REAL, pytest.param(ALL, marks=pytest.mark.slow)])
def test_of_real_projects_a_marked_word_finds_those_where_it_stands(app: Flask, api: Api, file: Path) -> None:
    if not file.exists():
        pytest.skip("the larger file of real projects is not next to this checkout; the sample is tested")
    titles.imported(app, file)
    with app.app_context():
        projects = db.session.query(Project).all()
        texts = {each.title: f"{each.title} | {each.tagline} | {each.description}".lower() for each in projects}
        db.session.remove()
    for query, pattern in (("node.js", r"\bnode[-. ']?js"), ("e-mail", r"\be[-. ']?mail"), ("wi-fi", r"\bwi[-. ']?fi")):
        assert sorted(set(found(api, query))) == sorted(
            title for title, text in texts.items() if re.search(pattern, text)
        )


def test_of_equal_titles_the_one_that_is_spelled_as_typed_comes_first(world: World, api: Api) -> None:
    for votes, title in enumerate(["JSON-Grep", "json grep", "jsongrep", "JsonGrep", "jsongrep more"]):
        world.project(title=title, votes=votes)
    assert found(api, "JSON-Grep") == ["JSON-Grep", "JsonGrep", "jsongrep", "jsongrep more", "json grep"]
    assert found(api, "json-grep")[0] == "JSON-Grep"
    assert found(api, "json  grep")[0] == "json grep"
    assert found(api, "jsongrep")[:3] == ["JsonGrep", "jsongrep", "JSON-Grep"]


def test_of_equal_titles_the_one_with_the_accents_as_typed_comes_first(world: World, api: Api) -> None:
    for title in ("Noderouge", "nodérouge", "Über tool", "uber tool", "Résumé", "Resume", "Résume", "שָׁלוֹם", "שלום"):
        world.project(title=title)
    assert found(api, "Noderouge") == ["Noderouge", "nodérouge"]
    assert found(api, "NODE\u0301ROUGE") == ["nodérouge", "Noderouge"]
    assert found(api, "uber tool") == ["uber tool", "Über tool"]
    assert found(api, "über  Tool!") == ["Über tool", "uber tool"]
    assert [found(api, each)[0] for each in ("resume", "résumé", "RÉSUME")] == ["Resume", "Résumé", "Résume"]
    assert [found(api, each)[0] for each in ("שלום", "שָׁלוֹם")] == ["שלום", "שָׁלוֹם"]


ADDRESSES = [
    "https://github.com/junegunn/fzf", "http://github.com/junegunn/fzf/", "https://github.com/junegunn/fzf.git",
    "github.com/junegunn/fzf", "www.github.com/Junegunn/FZF", "git@github.com:junegunn/fzf.git",
    "ssh://git@github.com/junegunn/fzf", "git://github.com/junegunn/fzf.git", "git+https://github.com/junegunn/fzf",
    "<https://github.com/junegunn/fzf#readme>", "junegunn/fzf", "JUNEGUNN/fzf",
]  # fmt: skip


def test_what_is_no_address_has_no_key() -> None:
    assert [address_keys(query) for query in ("https://[x/", "a word", "")] == [[], [], []]


@pytest.mark.parametrize("field", ["url", "repository_url"])
def test_an_address_finds_its_project_first(world: World, api: Api, field: str) -> None:
    owner = world.user()
    for n in range(3):
        world.project(owner, title=f"junegunn fzf {n}", url=f"https://github.com/junegunn/fzf{n}", votes=n)
    chosen = {"url": "https://chosen.example/", field: "https://github.com/junegunn/fzf"}
    world.project(owner, title="Chosen", **chosen)
    assert {address: found(api, address)[:1] for address in ADDRESSES} == {each: ["Chosen"] for each in ADDRESSES}
    assert found(api, "github.com/junegunn/none") == []


def test_a_bare_host_finds_the_project_of_its_root_before_those_below(world: World, api: Api) -> None:
    owner = world.user()
    world.project(owner, title="Root", url="https://www.fzf.dev/")
    world.project(owner, title="Below", url="https://fzf.dev/below", votes=3)
    assert found(api, "fzf.dev") == found(api, "HTTP://FZF.dev:80") == ["Root", "Below"]


@pytest.mark.parametrize("query", ["a b", "owner/name/more", "std::map", "c++", "user@example.org", "http://[", "x:y"])
def test_other_queries_are_no_addresses(query: str) -> None:
    assert address_keys(query) == []


def test_an_address_keeps_its_port_and_path() -> None:
    assert address_keys("ssh://git@code.example:8443/a/b.git") == [url_key("https://code.example:8443/a/b.git")]
    assert address_keys("code.example:8443/a?b=c") == [url_key("https://code.example:8443/a?b=c")]


def test_a_changed_address_is_found_and_counts_as_a_removal(app: Flask, world: World, api: Api) -> None:
    """A stored count of more matches than are shown must not hold a project that has another address now."""
    number = world.project(title="Moved", url="https://moved.example/", repository_url="https://github.com/old/name")
    with app.app_context():

        def removals() -> int:
            return int(search_counts._removals().all({})[0][0])

        def move(**columns: str) -> None:
            project = db.session.get_one(Project, number)
            for name, value in columns.items():
                setattr(project, name, value)
            search_index.index([project])

        before = removals()
        transaction(lambda: move(repository_url="https://github.com/new/name"))
        transaction(lambda: move(url="https://other.example/"))
        assert removals() == before + 2
        db.session.remove()
    assert found(api, "new/name") == ["Moved"]
    assert found(api, "old/name") == []


def test_quotes_without_words_or_without_an_end_are_no_phrase() -> None:
    assert query_units('"" x') == query_units('x "') == query_units("x")
    assert [unit.quoted for unit in query_units('a "b c" d')] == [False, True, False]
