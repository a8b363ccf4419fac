"""Lists narrowed to several tags: what a look at each project gives, however they are found."""

import random
from itertools import combinations
from typing import Any

import pytest
from flask import Flask

from directory.db.paging import Window
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Category
from directory.services.catalog import search, tags
from directory.services.catalog.catalog import page
from directory.services.catalog.filters import Filters
from directory.services.catalog.ways import total
from tests.conftest import Statements
from tests.support.factories import World
from tests.support.lists import ORDERS
from tests.support.search_reference import expected, made_up, written

TAGS = ("a", "b", "c", "d-e", "f")


@pytest.mark.parametrize("most", [0, 10_000])
def test_a_list_has_the_projects_with_all_of_the_tags(
    app: Flask, world: World, statements: Statements, monkeypatch: Any, most: int
) -> None:
    monkeypatch.setattr(search, "MOST", most)
    rng = random.Random(most)
    made = [one._replace(tags=tuple(rng.sample(TAGS, rng.randint(0, 5)))) for one in made_up(rng, 80)]
    world.category("tools")
    world.category("games")
    owner = world.user().id
    with app.app_context():
        categories = {each.slug: each.id for each in db.session.query(Category)}
        transaction(lambda: written(made, owner, categories))
        db.session.remove()
        for size in (2, 3, 5):
            for chosen in combinations(TAGS, size):
                narrow = rng.choice([{}, {"category": "games"}, {"owner_id": owner}, {"status": None}])
                filters = Filters(**{"status": "live", "tag": ",".join(chosen), **narrow})
                for sort in ORDERS:
                    _is_read_whole(filters, sort, expected(made, filters, sort))
        assert any("gathered AS MATERIALIZED" in one for one in statements) == (most > 0)


def _is_read_whole(filters: Filters, sort: str, ids: list[int]) -> None:
    """A list has these projects, read page by page by number and by position, and as many in its total."""
    first = page(filters, sort, Window(3), viewer=None)
    found, after = [item["id"] for item in first.items], first.next
    second = page(filters, sort, Window(3, page=2), viewer=None)
    assert [item["id"] for item in second.items] == ids[3:6]
    while after is not None:
        window = page(filters, sort, Window(3, None, after), viewer=None)
        found, after = [*found, *(item["id"] for item in window.items)], window.next
    assert found == ids, (filters, sort)
    assert first.total == total(filters) == len(ids)


def test_the_tags_of_a_filter_are_looked_up_rarest_first(app: Flask, world: World) -> None:
    for named in (["rare", "common", "usual"], ["common"], ["common", "usual"]):
        world.project(tags=named)
    world.project(tags=["waiting"], status="pending")
    with app.app_context():
        found = tags.used(tags.split(" usual,,common,waiting, rare,common"))
    assert [*found.items()] == [("waiting", 0), ("rare", 1), ("usual", 2), ("common", 3)]
