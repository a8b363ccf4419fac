"""Search: the same answers from both engines, in every script, and no query that is an error."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from directory.services.catalog import search_index
from directory.services.catalog.search_words import words
from tests.support.factories import Api, World


def found(api: Api, query: str, **more: str) -> list[str]:
    answer = api.get("/api/projects", query_string={"q": query, **more})
    assert answer.status_code == 200, answer.json
    titles = [item["title"] for item in answer.json["items"]]
    assert answer.json["pagination"]["total"] == len(titles)
    return titles


def test_the_best_match_comes_first(world: World, api: Api) -> None:
    world.project(title="Anywhere", description="Speaks flask in its description")
    world.project(title="Brief", tagline="A flask in the tagline")
    world.project(title="Tagged", tags=["flask"])
    world.project(title="Flasket", votes=2)
    world.project(title="Flask Login")
    world.project(title="Flask", votes=1)
    world.project(title="Another", tags=["flaskets"], votes=3)
    order = found(api, "FLASK")
    assert order[:2] == ["Flask", "Flask Login"]
    assert order[4:] == ["Flasket", "Another", "Anywhere"]
    assert set(order[2:4]) == {"Brief", "Tagged"}
    assert found(api, "flask", sort="newest")[0] == "Another"


def test_all_words_are_needed_and_may_be_beginnings(world: World, api: Api) -> None:
    world.project(title="Postgres database browser")
    assert found(api, "data brow") == ["Postgres database browser"]
    assert found(api, "database missing") == []
    assert found(api, "po da") == ["Postgres database browser"]
    assert found(api, "p") == []


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("Café Zürich", "cafe zurich"),
        ("cafe", "CAFÉ"),
        ("Straße", "strasse"),
        ("プロジェクト管理ツール", "管理"),
        ("Проект каталога", "проект"),
        ("مشروع مفتوح", "مفتوح"),
        ("naïve-bayes.js", "bayes"),
        ("C++ build tool", "c++"),
        ("ﬁle explorer", "file"),
        ("Ⅷ tools", "viii"),
    ],
)
def test_every_script_is_found(world: World, api: Api, title: str, query: str) -> None:
    world.project(title=title)
    assert found(api, query) == [title]


def test_the_index_follows_edits_and_deletions(world: World, api: Api) -> None:
    owner = world.user()
    project = world.project(owner, title="Before", tags=["old"])
    caller = world.caller(owner)
    caller.put(f"/api/projects/{project}", {"tagline": "After words", "tags": ["new"]})
    assert found(api, "after") == []  # it waits for review
    world.caller(world.admin()).put(f"/api/admin/projects/{project}/approve")
    assert found(api, "after") == ["Before"]
    assert found(api, "old") == []
    assert found(api, "new") == ["Before"]
    caller.delete(f"/api/projects/{project}")
    assert found(api, "after") == []


HOSTILE = [
    '"', "'", "''", '""', "*", "a*", "^a", "(", ")", "AND", "OR", "NOT", "NEAR(a b)", "a AND", "title:a", "{title} : a",
    "-a", "a:*", "a & b | !c", "<->", ":", "\\", "%", "_", "a\\", "'; DROP TABLE projects; --", "🙂", "a\u0301" * 20,
    "x" * 200, " ".join("abcdefghijklmnopqrstuvwxyz"), "1e5", "3.14", "-5", "foo@bar.com", "http://a.b/c?d=e",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_is_a_syntax_error(world: World, api: Api, query: str) -> None:
    world.project(title="a")
    found(api, query)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(query=st.text(min_size=1, max_size=50))
def test_any_text_is_answered(api: Api, query: str) -> None:
    encoded = query.encode("utf-8", "surrogatepass")
    raw = "".join(f"%{byte:02X}" for byte in encoded)
    assert api.get(f"/api/projects?q={raw}").status_code in {200, 422}


def test_words_are_ascii_whatever_the_text() -> None:
    for value in ("Zürich", "管理", "🙂 x", "mixed ÅNGSTRÖM", "ǅ", "\u0345a"):
        assert all(word.isascii() and word.isalnum() for word in words(value))
    assert words("Hello, World_wide 2nd") == ["hello", "world", "wide", "2nd"]


NO_WORDS: dict[str, Any] = {
    "title": "!", "tagline": "!", "author": None, "tags": [], "description": "", "repository_url": None
}  # fmt: skip


def test_indexing_nothing_does_nothing(context: Any) -> None:
    search_index.index([])
    empty = SimpleNamespace(**NO_WORDS, url="no address")
    assert search_index.columns(empty) == {"title": "", "brief": "", "description": ""}
    assert search_index.vector(empty) == {"document": ""}


@pytest.mark.parametrize("url", ["https://[", "https://xn--a/", "https://localhost/"])
def test_an_address_without_a_domain_that_can_be_read_adds_no_word(url: str) -> None:
    project = SimpleNamespace(**NO_WORDS, url=url)
    assert search_index.columns(project)["brief"] == ""
