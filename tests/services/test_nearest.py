"""What is near to a search that finds almost nothing: as a look at each project's words gives it."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from directory.db.paging import Window
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from directory.services.catalog import best_match, categories, nearest, search
from directory.services.catalog.catalog import page
from directory.services.catalog.filters import Filters
from tests.services.test_search_exact import ALL
from tests.services.test_search_order import REAL
from tests.support import titles
from tests.support.factories import Api, World
from tests.support.search_reference import Made, asked, expected, made_up, written


def near(made: list[Made], filters: Filters) -> list[int]:
    """The ids of what is near to a search, by a look at each project."""
    words, found = asked(str(filters.q)), {*expected(made, filters, "newest")}
    if len(words) == 2:
        by_word = sorted((expected(made, replace(filters, q=word), "best") for word in words), key=len)
        return [number for number in dict.fromkeys(chain(*by_word)) if number not in found][: nearest.MOST]
    wider = {*expected(made, Filters(status="live", category=filters.category, tag=filters.tag), "newest")}
    ranked = []
    for one in made:
        has = [word for word in words if one.matches(word, "all", beginnings=True)]
        if one.id in wider - found and len(has) > len(words) / 2:
            rank = min(one.rank(" ".join(has)) or 0, 5)  # a part of a query has no spelling of its own
            ranked.append((len(has), rank, one.upvotes, one.id))
    return [each[-1] for each in sorted(ranked, reverse=True)][: nearest.MOST]


def shown(filters: Filters) -> list[int] | None:
    found = page(filters, "best", Window(20), viewer=None)
    items = nearest.nearest(filters, found.items, found.total or 0, viewer=None)
    return None if items is None else [item["id"] for item in items]


QUERIES = (
    "ab cd nothing", "abc x nothing", "x ab nope cd", "yy zz none x abd", "ab node.js cd x", "ab none cd not x never",
    "ww yy zz ab nil nor", "ww yy zz none abc", "ww yy zz ab cd nil not", "x yy ww", '"zz ab" yy none', "ab ab none",
    "abc nothing", "x cd", "x abd", "the ab of none", "to the", '"zz ab" none', "never none", "abc for the x if none",
    "ww yy zz ab cd nil null",
)  # fmt: skip


# With a margin below zero no number of matches is counted.
@pytest.mark.parametrize(("most", "margin"), [(10, 3), (10_000, 3), (10_000, -1)])
def test_near_are_the_projects_with_more_than_half_of_the_words(
    app: Flask, world: World, monkeypatch: Any, most: int, margin: int
) -> None:
    monkeypatch.setattr(best_match, "MARGIN", margin)
    rng = random.Random(3)
    made = [one._replace(tags=tuple(rng.choice([(), ("ab",), ("x", "cd")]))) for one in made_up(rng, 120)]
    made = [
        one._replace(title=rng.choice(["ab cd", "cd ab", "x ab"])) if n % 9 == 0 else one for n, one in enumerate(made)
    ]
    for slug in ("tools", "games"):
        world.category(slug)
    owner, answers = world.user().id, dict[Filters, list[int] | None]()
    with app.app_context():
        listed = {each.slug: each.id for each in categories.listed()}
        transaction(lambda: written(made, owner, listed))
        db.session.remove()
        monkeypatch.setattr(search, "MOST", most)
        for query in QUERIES:
            for narrow in ({}, {"category": "games"}, {"tag": "ab"}, {"tag": "cd,x", "category": "tools"}):
                filters = Filters(status="live", q=query, **narrow)
                answers[filters] = shown(filters)
    for filters, found in answers.items():
        words = 0 if filters.q == "to the" else len(asked(str(filters.q))) - ('"' in str(filters.q))
        matching = expected(made, filters, "newest") if '"' not in str(filters.q) else []
        if not 2 <= words <= nearest.MOST_WORDS or len(matching) >= 3:
            assert found is None, filters
        elif '"' in str(filters.q) or most == 10:
            assert found is not None
        else:
            assert found == near(made, filters), filters
    assert sum(bool(found) for found in answers.values()) > 15


@pytest.mark.parametrize("file", [REAL, pytest.param(ALL, marks=pytest.mark.slow)])
def test_of_real_projects_those_are_near_that_share_most_words(app: Flask, api: Api, file: Path) -> None:
    if not file.exists():
        pytest.skip("the larger file of real projects is not beside this checkout; the sample is tested")
    titles.imported(app, file)
    with app.app_context():
        made = [*_read()]
        db.session.remove()
    chance, compared = random.Random(1), 0
    for line in chance.sample(file.read_text().splitlines(), 25 if file == REAL else 4):
        row = json.loads(line)
        words = [word for word in row["tagline"].lower().split() if word.isalpha() and word[-1] != "s"]
        some = list(dict.fromkeys(words))[: chance.randint(2, 5)]
        query = " ".join(chance.sample([*some, "zzqq"], len(some) + 1))
        answer = api.get("/api/projects", query_string={"q": query}).json
        if len(asked(query)) > 1:
            assert [item["id"] for item in answer["nearest"]] == near(made, Filters(status="live", q=query)), query
            compared += bool(answer["nearest"])
    assert compared > (3 if file == REAL else 1)


def _read() -> Iterator[Made]:
    for one in db.session.query(Project).order_by(Project.id):
        texts = (one.title, one.tagline, one.description)
        yield Made(one.id, one.status, one.upvotes, one.listed_at, *texts, one.category_id, tuple(one.tags))


def test_the_answer_has_it_on_the_first_page_of_the_best_matches_alone(world: World, api: Api) -> None:
    lamp, other = world.project(title="Blue lamp", votes=2), world.project(title="Blue lamp two")
    for query in ("q=blue%20lamp%20none", "q=blue,lamp,none&page=1&limit=1", "q=blue+lamp+none&status=live"):
        assert [item["id"] for item in api.get(f"/api/projects?{query}").json["nearest"]] == [lamp, other]
    assert api.get("/api/projects?q=none+nothing+zero").json["nearest"] == []
    more = "&".join(["q=blue+lamp+none", "limit=1"])
    for query in (
        "q=blue", "q=the+blue", "q=of+the", "q=lamp+blue+zero&sort=newest", f"{more}&page=2", "q=%22blue+lamp%22",
        "q=!!!", "",
        f"q={'+'.join(f'w{n}' for n in range(7))}", "owner=nobody",
    ):  # fmt: skip
        assert "nearest" not in api.get(f"/api/projects?{query}").json, query
    world.project(title="Blue lamp none")
    found = api.get("/api/projects?q=blue+lamp+none").json
    assert (len(found["items"]), [item["id"] for item in found["nearest"]]) == (1, [lamp, other])
    world.project(title="Blue lamp none")
    for number in (1, 2):  # also where the page does not show all that is found
        found = api.get(f"/api/projects?q=blue+lamp+none&limit={number}").json
        assert (len(found["items"]), [item["id"] for item in found["nearest"]]) == (number, [lamp, other])
    world.project(title="Blue lamp none")
    assert "nearest" not in api.get("/api/projects?q=blue+lamp+none").json


def test_of_two_words_one_is_enough_and_the_rarer_comes_first(world: World, api: Api) -> None:
    torch, lamp = world.project(title="Torch", tags=["x"]), world.project(title="A lamp", votes=3)
    other, hidden = world.project(title="Lamp", tags=["x"]), world.project(status="pending", title="Torch")
    for query, near in (
        ("lamp torch", [torch, other, lamp]), ("the torch with a lamp", [torch, other, lamp]),
        ("torch none", [torch]), ("none nothing", []), ("lamp torch&tag=x", [other, torch]),
        ("torch lamp&tag=x", [torch, other]),  # equally rare: as typed
    ):  # fmt: skip
        answer = api.get(f"/api/projects?q={query.replace(' ', '+')}").json
        assert (answer["items"], [item["id"] for item in answer["nearest"]]) == ([], near), query
    both = world.project(title="Lamp torch")
    answer = api.get("/api/projects?q=lamp+torch").json
    assert [item["id"] for item in answer["items"]] == [both]
    assert [item["id"] for item in answer["nearest"]] == [torch, other, lamp]
    assert hidden not in [item["id"] for item in answer["nearest"]]


@pytest.mark.response_cache
def test_votes_for_what_is_near_are_seen_at_once_also_by_who_cast_them(world: World, api: Api) -> None:
    one, two = world.project(title="A blue lamp"), world.project(title="The blue lamp")
    member, path = world.caller(world.user()), "/api/projects?q=blue+lamp+none"
    assert [item["id"] for item in api.get(path).json["nearest"]] == [two, one]
    member.put(f"/api/projects/{one}/upvote")
    for caller, voted in ((api, None), (member, True), (world.caller(world.user()), False)):
        items = caller.get(path).json["nearest"]
        assert [(item["id"], item["upvotes"], item["has_upvoted"]) for item in items] == [
            (one, 1, voted), (two, 0, None if voted is None else False),
        ]  # fmt: skip
