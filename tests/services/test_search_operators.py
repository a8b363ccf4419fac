"""Operators of other search engines: which parts of a query are named as words, and which nobody takes for one."""

import pytest

from directory.services.catalog.search_words import query_units
from directory.services.catalog.suggestions import OPERATORS, as_words
from tests.support.factories import Api, World


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("web -django", ["-django"]), ("-django", ["-django"]), ("web -c++", ["-c++"]), ("地图 -谷", ["-谷"]),
        ('web -"django rest" x', ['-"django rest"']), ("web -“django rest”", ["-“django rest”"]),
        ("web (-django, -flask)", ["-django", "-flask"]),
        ("git OR svn", ["OR"]), ("git AND svn", ["AND"]), ("(git OR svn) diff", ["OR"]), ("CSV OR TSV", ["OR"]),
        ("git OR svn OR hg", ["OR"]), ('"git diff" OR "svn diff"', ["OR"]), ("12\" OR 15\" screen", ["OR"]),
        ("git NOT svn", ["NOT"]), ("NOT svn", ["NOT"]), ("git AND NOT svn", ["AND", "NOT"]), ("地図 OR 東京", ["OR"]),
        ("category:git", ["category:git"]), ("tag:x", ["tag:x"]), ("owner:x", ["owner:x"]),
        ("owner:@ada", ["owner:@ada"]),
        ("diff Category:Git", ["Category:Git"]), ('category:"Web tools"', ['category:"Web tools"']),
        ("(tag:csv)", ["tag:csv"]), ("language:go user:ada", ["language:go", "user:ada"]), ("-tag:csv", ["-tag:csv"]),
        ('-tag:"a b"', ['-tag:"a b"']), ("tag:日本", ["tag:日本"]), ("site:github.com", ["site:github.com"]),
    ],
)  # fmt: skip
def test_what_looks_like_an_operator_is_named_as_typed(query: str, expected: list[str]) -> None:
    assert as_words(query) == expected
    assert query_units(query)  # it is searched for


@pytest.mark.parametrize(
    "query",
    [
        "", "git", "C-like", "e-mail", "-", "--", "git - svn", "git – svn", "git- svn", "-5", "temperature -3.5",
        "--verbose", "tar -x", "git-", "-.-", "->", "a->b", "lisp-1", "-(", "x -()",
        "OR", "AND", "NOT", "OR gate", "AND gate", "Portland, OR", "git or svn", "Or not And", "AND/OR", "x AND/OR y",
        "ORM", "NOTE this", "git OR", "OR git", "is it NOT", "git OR !", "- OR -", "Q AND", '"OR" x', '"git OR svn"',
        "“a OR b” c", '"-django"', '"category:git"', 'say "x -django y" now',
        "Go: The Language", "std::vector", "tag::x", "tag:", "tag: x", "category :git", "tag :x", ":tag", "x:y",
        "http://example.org", "https://example.org/-django", "git@github.com:a/b.git", "localhost:8000", "12:30",
        "url://x", "site:/etc", "is:)", "C:\\tools", "foo.category:git", "subcategory:git", "node:fs", "a:-b",
        "𝄞 ♯ 🎉", "日本語", "c++ -", "+git", "git*",
    ],
)  # fmt: skip
def test_what_is_a_plain_word_to_anybody_is_not(query: str) -> None:
    assert as_words(query) == []


def test_each_is_named_once_and_no_more_than_a_few_are() -> None:
    assert as_words("-ab -ab x OR y OR z") == ["-ab", "OR"]
    assert as_words(" ".join(f"-word{n}" for n in range(2 * OPERATORS))) == [f"-word{n}" for n in range(OPERATORS)]


def test_an_answer_names_them_whatever_it_finds_and_another_one_has_no_such_member(world: World, api: Api) -> None:
    world.project(title="Django rest", tags=["csv"])
    for query, found in (("rest -django", 1), ("rest OR flask", 0)):
        answer = api.get("/api/projects", query_string={"q": query}).json
        assert (len(answer["items"]), answer["searched_as_words"]) == (found, query.split()[1:2])
        narrowed = api.get("/api/projects", query_string={"q": query, "tag": "csv", "sort": "newest", "limit": 1})
        assert narrowed.json["searched_as_words"] == answer["searched_as_words"]
    for path in ("/api/projects", "/api/projects?q=django", "/api/projects?q=nothing", '/api/projects?q="django rest"'):
        assert "searched_as_words" not in api.get(path).json


def test_the_name_stays_where_an_answer_is_sent_again_and_where_what_it_finds_has_changed(
    world: World, api: Api
) -> None:
    owner = world.user()
    path = "/api/projects?q=rest+-django"
    for found in range(3):
        for _ in range(2):
            answer = api.get(path).json
            assert (len(answer["items"]), answer["searched_as_words"]) == (found, ["-django"])
        assert "searched_as_words" not in api.get("/api/projects?q=rest+django").json
        world.project(owner, title=f"Django rest {found}")
