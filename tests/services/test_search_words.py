"""Words: how texts are cut into them, and which words a query's word stands for."""

import pytest

from directory.services.catalog.search_language import TIERS, expressions, rarest
from directory.services.catalog.search_words import MAX_WORDS, is_beginning, singulars, units, whole, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++, C# and F#", ["c++", "c#", "and", "f#"]),
        ("C++11 Ｃ＋＋", ["c++", "11", "c++"]),
        ("lv2-c++-tools", ["lv2", "c++", "tools", "lv2c++tools"]),
        (".NET für", [".net", "fur"]),
        ("é .NET 管", ["e", ".net", "xe7aea1"]),
        (".NET (.net) .Net's", [".net", ".net", ".net", "s"]),
        ("a.netrc .network", ["a", "netrc", "anetrc", "network"]),
        ("Node.js e-mail", ["node", "js", "nodejs", "e", "mail", "email"]),
        ("python3-foo", ["python3", "foo", "python3foo"]),
        ("1.2.3 of 2020-01-02", ["1", "2", "3", "of", "2020", "01", "02"]),
        ("The end. Then.", ["the", "end", "then"]),
        ("snake_case", ["snake", "case"]),
        ("+++ ## -.-", []),
    ],
)
def test_a_text_is_cut_into_words_and_what_joins_them_makes_one_more(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("games", ["game"]), ("libraries", ["library", "librarie"]), ("movies", ["movy", "movie"]), ("boxes", ["box"]),
        ("classes", ["class"]), ("patches", ["patch"]), ("caches", ["cache", "cach"]), ("heroes", ["heroe", "hero"]),
        ("databases", ["database", "databas", "databasis"]), ("lenses", ["lense", "lens", "lensis"]),
        ("analyses", ["analyse", "analys", "analysis"]), ("quizzes", ["quizz", "quiz"]), ("axes", ["axe"]),
        ("shelves", ["shelve", "shelf", "shelfe"]), ("knives", ["knive", "knif", "knife"]), ("teeth", ["tooth"]),
        ("buses", ["buse", "bus", "busis"]), ("viruses", ["viruse", "virus", "virusis"]),
        ("uses", ["use"]), ("indices", ["index"]),
        ("class", []), ("status", []), ("redis", []), ("css", []), ("gas", []), ("game", []), ("c++", []), ("игры", []),
    ],
)  # fmt: skip
def test_an_english_plural_stands_for_its_singular(plural: str, expected: list[str]) -> None:
    assert singulars(plural) == expected


def test_two_letters_begin_a_word_and_so_does_one_of_a_dense_script() -> None:
    assert [word for word in ("c", "go", "я", "管", "プ", "프", "c#") if is_beginning(word)] == [
        "go",
        "管",
        "プ",
        "프",
        "c#",
    ]


def test_titles_equal_where_their_words_do() -> None:
    assert whole("E-Mail  Client!") == whole("email client")
    assert whole("C++") != whole("C")
    assert whole("!!!") is None


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_query_asks_for_no_more_than_its_first_words(dialect: str) -> None:
    many = [f"w{n}" for n in range(2 * MAX_WORDS)]
    for asked in (expressions(" ".join(many), dialect), expressions("a b-c " * 3 + " ".join(many), dialect)):
        assert asked is not None
        assert sum(asked["q_anywhere_beginnings"].count(f"w{n}") for n in range(MAX_WORDS, 2 * MAX_WORDS)) == 0
        assert sum(name.startswith("q_") for name in asked) == len(TIERS) + 1  # and one for whole words anywhere
    assert expressions("-".join(many), dialect) is not None
    assert expressions("?!", dialect) is None


SHARES = {"linux": 0.01, "data": 0.1, "server": 0.08, "web": 0.7, "tool": 0.4, "cli": 0.3}


@pytest.mark.parametrize(
    ("query", "tag", "asked"),
    [
        ("linux", None, None),
        ("data server", None, None),  # each keeps more projects from being tested than it has entries
        ("web linux tool", None, ["linux"]),
        ("web linux tool", "cli", ["linux"]),
        ("web tool", "linux", ["linux"]),
        ("linux", "?", None),
        ('"linux web" tool', "cli", ["linux"]),
        ("web tool data server", None, ["data", "server"]),
    ],
)
def test_the_rarest_words_are_those_that_save_more_tests_than_they_have_entries(
    query: str, tag: str | None, asked: list[str] | None
) -> None:
    found = rarest(query, tag, lambda word, _: SHARES.get(word, 0.0))
    if asked is None:
        assert found is None
    else:
        assert found is not None
        assert (
            sorted(
                word for word in SHARES if f"'{word}':*" in found or f"'{word}':AB" in found or f"'{word}' <->" in found
            )
            == asked
        )


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_tag_is_asked_for_by_its_words_where_descriptions_are(dialect: str) -> None:
    plain, tagged = expressions("x", dialect) or {}, expressions("x", dialect, "node-js") or {}
    changed = {name for name in plain if plain[name] != tagged[name]}
    assert changed == {"q_anywhere_words", "q_anywhere_beginnings"}
    assert all(word in tagged[name] for name in changed for word in ("node", "js", "nodejs"))
    assert expressions("x", dialect, "?") == plain


def test_a_syllable_of_hangul_stays_whole() -> None:
    assert [unit.parts for unit in units("프로젝트")] == [("프로젝트",)]
