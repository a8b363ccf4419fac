"""Lists and facets by own fields over random projects, beside a look at each project."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from directory.api.schemas.own_filters import read
from directory.db.paging import Window
from directory.db.transactions import transaction
from directory.extensions import db
from directory.services.catalog import catalog, categories, facets, own_filters, search, search_counts, ways
from directory.services.catalog.filters import Filters
from tests.extras.fields.test_fields import FIELDS, define
from tests.services.test_facets import counted
from tests.support.factories import World
from tests.support.search_reference import Made, expected, made_up, written

SEVERAL = [f"v{number}" for number in range(25)]
CHOICES = {"license": ["mit", "gpl", "1"], "platforms": SEVERAL, "free": ["true", "false"]}
PRICES = (-1, 0, 0.5, 2, 10)
RANGES = {"-1": (-1, -1), "0..2": (0, 2), "..0.5": (-99, 0.5), "2..": (2, 99), "5..1": (5, 1)}
IN_GAMES = "license"  # the field that projects of games alone have


def _values(rng: random.Random) -> dict[str, Any]:
    given = {
        "license": rng.choice(CHOICES["license"]), "platforms": rng.sample(SEVERAL, rng.randint(1, 4)),
        "free": rng.random() < 0.7, "price": rng.choice(PRICES),
    }  # fmt: skip
    return {name: given[name] for name in sorted(given) if rng.random() < 0.8}


def _asked(rng: random.Random) -> dict[str, str]:
    """Parameters by some of the fields."""
    given = {name: ",".join(rng.sample(of, rng.randint(1, 2))) for name, of in CHOICES.items() if name != "free"}
    given |= {"free": rng.choice(CHOICES["free"]), "price": rng.choice([*RANGES])}
    chosen = rng.sample([*given], rng.randint(0, 3))
    return {name: given[name] for name in chosen}


def _has(one: Made, name: str, text: str) -> bool:
    if name == "price":
        return name in one.own and RANGES[text][0] <= one.own[name] <= RANGES[text][1]
    return not {*_of(one, name)}.isdisjoint(text.split(","))


def _of(one: Made, name: str) -> list[str]:
    """The values that are counted; none where the project's category does not have the field."""
    value = one.own.get(name, []) if name != IN_GAMES or one.category == "games" else []
    return [str(each).lower() for each in (value if isinstance(value, list) else [value])]


def _narrowed(made: list[Made], filters: Filters, asked: dict[str, str], sort: str = "newest") -> list[Made]:
    by_id = {one.id: one for one in made}
    listed = (by_id[number] for number in expected(made, filters, sort))
    return [one for one in listed if all(_has(one, name, text) for name, text in asked.items())]


def _counted(made: list[Made], filters: Filters, asked: dict[str, str], most: int) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for name, order in CHOICES.items():
        others = {other: text for other, text in asked.items() if other != name}
        are_all = not others and {*filters.given()} <= {"status", "category"}  # which counters have
        narrowed = _narrowed(made, filters, others)
        own, _ = read({f"field.{other}": text for other, text in others.items()})
        ids = [one.id for one in narrowed]
        by_id = dict(zip(ids, narrowed, strict=True))
        of = ids if are_all else counted(ids, replace(filters, own=own or None), most)
        counts = Counter(value for each in of for value in _of(by_id[each], name))
        chosen = asked.get(name, "").split(",")
        known = sorted((value for value in order if counts[value]), key=lambda value: -counts[value])
        kept = sorted(known, key=lambda value: value not in chosen)[: own_filters.MOST]
        found[name] = [(value, counts[value]) for value in known if value in kept]
    return found


def _others(made: list[Made], filters: Filters, asked: dict[str, str], most: int) -> tuple[dict[str, int], bool]:
    """The numbers by tag, and whether one of the lists that are counted has more than `most` projects."""
    own, _ = read({f"field.{name}": text for name, text in asked.items()})
    narrowed = _narrowed(made, filters, asked)
    by_id = {one.id: one for one in narrowed}
    chosen = (filters.tag or "").split(",")
    of = counted([*by_id], replace(filters, own=own or None), most)
    tags = Counter(tag for each in of for tag in by_id[each].tags if tag not in chosen)
    lists = [asked, *({name: asked[name] for name in asked if name != left} for left in asked if left in CHOICES)]
    wider = [(each, own) for each in {filters, replace(filters, category=None)} for own in lists]
    scanned = [(each, own) for each, own in wider if own or each != facets.LIVE]
    return tags, any(len(_narrowed(made, each, own)) > most for each, own in scanned)


@pytest.mark.parametrize("most", [10, 10_000])
def test_lists_and_facets_are_what_a_look_at_each_project_gives(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(search, "MOST", most)
    monkeypatch.setattr(search_counts, "SPARE", 2)
    monkeypatch.setattr(ways, "COLLECTED", min(most, 60))
    rng, owner, admin = random.Random(most), world.user(), world.caller(world.admin())
    for slug in ("tools", "games"):
        world.category(slug)
    for name, of in CHOICES.items():
        kind = {"license": "choice", "platforms": "choices"}.get(name, "truth")
        choices = {} if name == "free" else {"choices": [{"value": each, "label": each} for each in of]}
        define(admin, {"name": name, "label": name, "kind": kind, "facet": True, **choices})
    define(admin, {"name": "price", "label": "Price", "kind": "number", "facet": True})
    assert admin.put(f"{FIELDS}/{IN_GAMES}", {"categories": ["games"]}).status_code == 200
    made = [one._replace(own=_values(rng), tags=rng.choice([(), ("a",), ("a", "b")])) for one in made_up(rng, 150)]
    with app.app_context():
        listed = {each.slug: each.id for each in categories.listed()}
        transaction(lambda: written(made, owner.id, listed))
        db.session.remove()
        for number in range(120):
            asked = _asked(rng)
            own, refused = read({f"field.{name}": text for name, text in asked.items()})
            assert refused == {}
            filters = Filters(
                status="live", q=rng.choice([None, None, "ab", "abc x", "nothing"]),
                category=rng.choice([None, None, "games", "tools", "unknown"]), tag=rng.choice([None, "a", "a,b"]),
                owner=rng.choice([None, None, owner.username]),
            )  # fmt: skip
            narrowed, sort = replace(filters, own=own or None), rng.choice(["newest", "upvotes", "popular"])
            found = catalog.page(narrowed, sort, Window(20, page=1), viewer=None)
            every = _narrowed(made, filters, asked, sort)
            assert [each["id"] for each in found.items] == [one.id for one in every[:20]], (number, narrowed, sort)
            assert found.total == (min(len(every), most) if found.total_capped else len(every))
            counted = facets.of(narrowed, categories.listed())
            right = _counted(made, filters, asked, most)
            assert {name: [*of.items()] for name, of in counted.fields.items()} == right, (number, narrowed)
            tags, capped = _others(made, filters, asked, most)
            assert narrowed == facets.LIVE or counted.tags == tags, (number, narrowed)
            assert counted.capped == capped, (number, narrowed)
