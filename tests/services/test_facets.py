"""Facets: the numbers of a list by category and by tag, as counting its projects one by one gives them."""

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import FieldDefinition
from directory.services.catalog import categories, facets, search, search_counts, shapes, ways
from directory.services.catalog.filters import Filters
from tests.conftest import Statements
from tests.services.test_search_counts import change_one, store
from tests.services.test_search_exact import ALL
from tests.services.test_search_order import REAL
from tests.support import titles
from tests.support.factories import Api, World
from tests.support.search_reference import Made, expected, made_up, written

TAGS = ("a", "b", "c", "d-e", "d", *(f"t{n}" for n in range(9)))


def most_first(counted: Counter[str], limit: int | None = None) -> dict[str, int]:
    """The numbers, most first, equals by name."""
    return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:limit])


@pytest.mark.parametrize(("most", "in_memory"), [(10, 100_000), (10, 0), (10_000, 100_000)])
def test_facets_are_what_a_look_at_each_project_gives(
    app: Flask, world: World, monkeypatch: Any, most: int, in_memory: int
) -> None:
    monkeypatch.setattr(search, "MOST", most)
    monkeypatch.setattr(facets, "IN_MEMORY", in_memory)
    monkeypatch.setattr(facets, "LISTED", in_memory)
    monkeypatch.setattr(search_counts, "SPARE", 2)
    rng = random.Random(most)
    made = [one._replace(tags=tuple(rng.sample(TAGS, rng.randint(0, 5)))) for one in made_up(rng, 150)]
    owner = world.user()
    world.user("nobody")
    for slug in ("tools", "games", "web"):
        world.category(slug, slug)
    with app.app_context():
        listed = {each.slug: each.id for each in categories.listed()}
        transaction(lambda: written(made, owner.id, listed))
        db.session.remove()
        for filters in _filters(owner.username):
            assert _found(filters) == _expected(made, filters, most, owner.username), filters


def _filters(owner: str) -> list[Filters]:
    """Lists by each filter and by several, which are found in each of the ways."""
    queries = (None, "ab", "abc x", "nothing", "!!!")
    chosen = [(q, category, tag) for q in queries for category in (None, "games", "web", "unknown")
              for tag in (None, "a", "a,b", "a,d-e,t1", "unknown")]  # fmt: skip
    made = [Filters(status="live", q=q, category=category, tag=tag) for q, category, tag in chosen]
    made += [Filters(status="live", published="2026-W01", **given) for given in ({}, {"q": "ab"}, {"tag": "a"})]
    return [*made, *(Filters(status="live", owner=name, tag=tag) for name in (owner, "nobody") for tag in (None, "b"))]


def _found(filters: Filters) -> tuple[list[tuple[str, int]], list[tuple[str, int]], bool]:
    listed = categories.listed()
    found, slugs = facets.of(filters, listed), {each.id: each.slug for each in listed}
    return [(slugs[each], number) for each, number in found.categories.items()], [*found.tags.items()], found.capped


def _expected(
    made: list[Made], filters: Filters, most: int, owner: str
) -> tuple[list[tuple[str, int]], list[tuple[str, int]], bool]:
    """The facets by a look at each project. Without filters the counters know all of them."""
    own = made if filters.owner in {None, owner} else []
    plain = [one for one in own if (filters.q or "").strip("!") or filters.q is None]
    by_id = {one.id: one for one in plain}
    wider = replace(filters, category=None)
    some, all_ = expected(plain, filters, "newest"), expected(plain, wider, "newest")
    is_known = wider == Filters(status="live")
    of_category = all_ if is_known else counted(all_, wider, most)
    of_tag = some if is_known and filters.category is None else counted(some, filters, most)
    by_category = Counter(by_id[each].category for each in of_category if by_id[each].category != filters.category)
    by_tag = Counter(tag for each in of_tag for tag in by_id[each].tags if tag not in (filters.tag or "").split(","))
    limit = len(made) if is_known else most
    capped = len(some) > (limit if filters.category is None else most) or len(all_) > limit
    return [*most_first(by_category).items()], [*most_first(by_tag, 10).items()], capped


def counted(ids: list[int], filters: Filters, most: int) -> list[int]:
    """The projects of a list that are counted: the newest. Where more are certain, some of these, each for several."""
    found_by = ways.matched(filters)
    way = None if found_by is None else found_by.matches
    is_known = filters.own is not None or filters.has_several_tags or {*filters.given()} == {"status", "tag"}
    part = facets.PART if way == shapes.CAPPED or (way == "" and is_known and len(ids) > most) else 1
    return ids[: most // part] * part


def test_own_fields_of_a_tag_are_counted_from_the_rows_of_its_projects(app: Flask, world: World) -> None:
    choices = [{"value": value, "label": value, "retired": False} for value in ("mit", "gpl")]
    name = world.field("license")
    values = {"kind": "choice", "choices": choices, "facet": True, "categories": None}
    with app.app_context():
        transaction(lambda: db.session.execute(update(FieldDefinition).values(values)))
    for license_ in ("mit", "gpl", "gpl"):
        world.project(tags=["a"], fields={name: license_})
    world.project(tags=["b"], fields={name: "mit"})
    with app.app_context():
        for filters, right in (({"tag": "a"}, {"gpl": 2, "mit": 1}), ({}, {"mit": 2, "gpl": 2})):
            assert facets.of(Filters(status="live", **filters), categories.listed()).fields == {name: right}


def test_facets_follow_every_change_and_are_counted_again_only_then(
    app: Flask, world: World, statements: Statements, monkeypatch: Any
) -> None:
    monkeypatch.setattr(facets.stored, "most", 6)
    rng, owner = random.Random(5), world.user()
    made = [one._replace(tags=rng.choice([(), ("ab",), ("x", "ab")])) for one in made_up(rng, 60)]
    for slug in ("tools", "games", "web"):
        world.category(slug, slug)
    narrow = ({"category": "games"}, {"tag": "ab"}, {"tag": "ab,x"}, {"q": "ab"}, {"q": "x", "category": "tools"})
    lists = [Filters(status="live", **each) for each in narrow]
    with app.app_context():
        places = owner.id, {each.slug: each.id for each in categories.listed()}
        transaction(lambda: written(made, *places))
        db.session.remove()
        for _ in range(25):
            change_one(rng, made, places[1])
            for filters in lists:
                assert _found(filters) == _expected(made, filters, 10_000, owner.username), filters
        statements.clear()
        voted = next(one for one in made if one.status == "live")
        store(voted._replace(upvotes=voted.upvotes + 5), places[1])
        for filters in lists:
            _found(filters)
        assert not any("AS matched" in each or "matched AS" in each for each in statements)
        for number in range(6):
            _found(Filters(status="live", tag=f"other-{number}"))
        statements.clear()
        before = _found(lists[0])
        assert any("matched AS" in each for each in statements)
        renamed = replace(lists[0], category="play")
        assert before[1]
        assert _found(renamed)[1] == []
        transaction(lambda: categories.change("games", {"slug": "play"}, by=None))
        db.session.remove()
        assert _found(renamed)[1] == before[1]
        assert _found(lists[0]) == _found(renamed)  # its former slug goes on leading to it


@pytest.mark.parametrize("file", [REAL, pytest.param(ALL, marks=pytest.mark.slow)])
def test_facets_of_real_projects_count_those_that_the_lists_have(
    app: Flask, api: Api, file: Path, tmp_path: Path
) -> None:
    if not file.exists():
        pytest.skip("the larger file of real projects is not beside this checkout; the sample is tested")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:  # without tags of their own they get words that many have
        row["tags"] = sorted({*row["tagline"].lower().split()} & {"for", "library", "of", "a", "tool", "and", "to"})[:5]
    tagged = tmp_path / "tagged.jsonl"
    tagged.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    titles.imported(app, tagged)
    for query in (
        "",
        "q=library",
        "q=to",
        "tag=for",
        "tag=for,of",
        "category=net",
        "category=net&tag=to",
        "q=a&tag=for",
    ):
        narrowed = _walked(api, query)
        wider = _walked(api, "&".join(part for part in query.split("&") if "category" not in part))
        answer = api.get(f"/api/projects/facets?{query}").json
        chosen = query.partition("tag=")[2].split(",")
        by_tag = Counter(tag for item in narrowed for tag in item["tags"] if tag not in chosen)
        by_category = Counter(item["category"]["slug"] for item in wider if f"={item['category']['slug']}" not in query)
        assert {each["tag"]: each["live_projects"] for each in answer["tags"]} == most_first(by_tag, 10), query
        assert {each["slug"]: each["live_projects"] for each in answer["categories"]} == by_category, query
        numbers = [each["live_projects"] for each in answer["categories"]]
        assert (numbers, answer["capped"]) == (sorted(numbers, reverse=True), False)


def _walked(api: Api, query: str) -> list[dict[str, Any]]:
    """The projects of a whole list."""
    found, cursor = list[dict[str, Any]](), ""
    while True:
        page = api.get(f"/api/projects?{query}&sort=newest&limit=100{cursor}").json
        found += page["items"]
        if page["pagination"]["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['pagination']['next_cursor']}"


@pytest.mark.parametrize("query", ["owner=me", "owner=no%20name", "status=live", "sort=upvotes", "page=1", "limit=5",
                                   "upvoted=me", "tag=a,b,c,d,e,f", "x=1"])  # fmt: skip
def test_other_parameters_are_refused_by_name(api: Api, query: str) -> None:
    answer = api.get(f"/api/projects/facets?{query}")
    assert answer.status_code == 422
    assert answer.json["errors"][0]["parameter"] == query.partition("=")[0]


def test_without_a_filter_the_counters_are_read(app: Flask, world: World, api: Api, statements: Statements) -> None:
    world.project(tags=["x"])
    statements.clear()
    answer = api.get("/api/projects/facets", headers={"Cookie": "no=cache"})
    assert answer.json == {
        "categories": [{"slug": "tools", "name": "Tools", "live_projects": 1}],
        "tags": [{"tag": "x", "live_projects": 1}],
        "fields": {},
        "capped": False,
    }
    assert not any("project_tags" in each or "FROM projects" in each for each in statements)
