"""Words that mean the same: the file of the operator, and what a search finds by them."""

import pytest
from flask import Flask

from directory.db.paging import Window
from directory.extensions import db
from directory.services.catalog import catalog, search, synonyms
from directory.services.catalog.filters import Filters
from tests.pages.test_own_site import folder  # noqa: F401 (a fixture)
from tests.support.factories import Api, World
from tests.support.titles import found

FILE = "# What we call the same\n\nphoto, Picture,image\r\npicture , drawing\nc#, csharp\ne-mail, 手紙\n"


def others(text: str) -> dict[str, list[str]]:
    return {word: [unit.joined for unit in units] for word, units in synonyms.parse(text).items()}


def test_each_word_has_those_of_all_its_lines() -> None:
    assert others(FILE) == {
        "photo": ["picture", "image"], "picture": ["photo", "image", "drawing"], "image": ["photo", "picture"],
        "drawing": ["picture"], "c#": ["csharp"], "csharp": ["c#"], "email": ["手紙"], "手紙": ["email"],
    }  # fmt: skip
    assert others("") == others("\n# a\n  # b, \n") == {}


@pytest.mark.parametrize(
    ("text", "number", "why"),
    [
        ("photo", 1, "has one word alone"), ("a, b\n\nphoto, Photo", 3, "has one word alone"),
        ("photo,", 1, "has nothing"), (",photo", 1, "has nothing"), ("# x\na,, b", 2, "has nothing"),
        ("photo, 12", 1, '"12" has no letters'), ("photo, !?", 1, "has no letters"), ("photo, 🎉", 1, "has no letters"),
        ("photo editor, image", 1, '"photo editor" is more than one word'),
        (", ".join(f"w{n}" for n in range(21)), 1, "has more than 20 words"),
        ("a, b\n" * 1000 + "# more\nc, d", 1002, "there are more than 1,000 lines"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_group_of_words_is_refused_with_its_number(text: str, number: int, why: str) -> None:
    with pytest.raises(synonyms.WrongLine, match=why) as caught:
        synonyms.parse(text)
    assert caught.value.number == number


def test_there_may_be_a_thousand_lines_of_twenty_words() -> None:
    text = "\n".join(", ".join(f"w{line}x{n}" for n in range(20)) for line in range(1000))
    assert len(synonyms.parse(f"{text}\n\n# the end\n")) == 20_000


def test_a_word_finds_what_the_others_find_exact_words_first(app: Flask, world: World, api: Api) -> None:
    app.extensions["synonyms"] = synonyms.parse(FILE)
    owner = world.user()
    for votes, (title, description) in enumerate(
        [("Darkroom", "For a photo"), ("Photos", "?"), ("Picture book", "?"), ("Pictures", "?"), ("Draw", "Drawings")]
    ):
        world.project(owner, title=title, tagline="?", description=description, votes=votes)
    assert found(api, "photo") == ["Photos", "Darkroom", "Pictures", "Picture book"]
    assert found(api, "the photos") == ["Photos", "Darkroom", "Pictures", "Picture book"]  # the plural too
    assert found(api, "image") == ["Pictures", "Picture book", "Photos", "Darkroom"]
    assert found(api, "drawing") == ["Draw", "Pictures", "Picture book"]
    assert found(api, "photo book") == ["Picture book"]
    assert found(api, '"photo"') == ["Darkroom"]
    assert found(api, '"image"') == []
    shown = api.get("/api/projects?q=photo&limit=3").json
    assert shown["pagination"]["total"] == 4
    following = api.get(f"/api/projects?q=photo&limit=3&cursor={shown['pagination']['next_cursor']}").json
    assert [item["title"] for item in following["items"]] == ["Picture book"]
    world.project(owner, title="手紙の本", tagline="?")
    assert found(api, "e-mail") == ["手紙の本"]
    answer = api.get("/api/projects?q=image+none").json
    assert [item["title"] for item in answer["nearest"]] == ["Pictures", "Picture book", "Photos", "Darkroom"]
    assert api.get("/api/projects?q=immage").json["suggestions"] == []  # no live project has the word


def test_of_very_many_by_synonyms_alone_the_most_voted_come_first(
    app: Flask, world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.extensions["synonyms"] = synonyms.parse(FILE)
    monkeypatch.setattr(search, "MOST", 4)
    owner = world.user()
    for votes in range(6):
        world.project(owner, title=f"Picture {votes}", tagline="?", votes=votes)
    shown = api.get("/api/projects?q=image&limit=2").json
    assert [item["title"] for item in shown["items"]] == ["Picture 5", "Picture 4"]
    assert shown["pagination"]["total_capped"]


def test_as_many_as_there_may_be_are_searched_for(app: Flask, world: World) -> None:
    groups = [[f"a{group}x{n}" for n in range(20)] for group in range(16)]
    app.extensions["synonyms"] = synonyms.parse("\n".join(map(", ".join, groups)))
    project = world.project(description=" ".join(group[-1] for group in groups))
    with app.app_context():
        page = catalog.page(Filters(status="live", q=" ".join(g[0] for g in groups)), "best", Window(3), viewer=None)
        assert [item["id"] for item in page.items] == [project]
        db.session.remove()


def test_the_file_is_read_at_the_start_with_the_pages_off_too(make_app, folder) -> None:  # noqa: F811 (the fixture)
    app = make_app(SITE_DIR=folder(**{"synonyms.txt": FILE, "synonyms.txt.bak": "x"}), WEB_ENABLED="false")
    assert app.extensions["synonyms"] == synonyms.parse(FILE)
    assert make_app().extensions["synonyms"] == {}
