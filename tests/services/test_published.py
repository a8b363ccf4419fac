"""Lists of a period: the same as a look at each project gives, in every order, whether the period is short or long."""

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from directory.db.paging import Window
from directory.extensions import db
from directory.models import Category
from directory.services.catalog import best, periods, search, ways
from directory.services.catalog.catalog import page
from directory.services.catalog.filters import Filters
from tests.services.test_search_many import only_for_now, walked
from tests.support.factories import World
from tests.support.lists import ORDERS
from tests.support.search_reference import START, expected, made_up, written

PERIODS = ("2026-01-01", "2026-W02", "2026-01", "2026", "2027")
NARROWED: list[dict[str, Any]] = [
    {}, {"category": "tools"}, {"tag": "ab"}, {"tag": "ab,x", "category": "games"}, {"owner": "somebody"},
    {"status": None}, {"status": "pending"},
]  # fmt: skip


@pytest.fixture
def places(app: Flask, world: World) -> Iterator[tuple[int, dict[str, int]]]:
    """An owner and the categories."""
    owner = world.user("somebody").id
    world.category("tools")
    world.category("games")
    with app.app_context():
        yield owner, {each.slug: each.id for each in db.session.query(Category)}


@pytest.mark.parametrize("q", [None, "ab"])
@pytest.mark.parametrize("short", [0, 10_000])
def test_a_period_combines_with_every_filter_and_order(
    places: tuple[int, dict[str, int]], monkeypatch: pytest.MonkeyPatch, short: int, q: str | None
) -> None:
    """By number and by cursor, forwards and back; a query has few matches or more than are counted."""
    monkeypatch.setattr(ways, "SHORT", short)
    if not short:  # the ranking is read
        monkeypatch.setattr(ways, "SPARSE", 1_000)
        monkeypatch.setattr(ways, "LOOKUP", 0)
    monkeypatch.setattr(search, "MOST", 6)
    rng = random.Random(5)
    made = [
        one._replace(
            at=START + timedelta(hours=rng.randrange(-48, 60 * 24)), tags=rng.choice([(), ("ab",), ("x", "ab")]),
            upvotes=rng.choice([0, 1, 2, 300]),
        )
        for one in made_up(rng, 60)
    ]  # fmt: skip
    midnight = START + timedelta(days=1)
    made[0] = made[0]._replace(at=midnight, status="live", tags=("ab",))
    made[1] = made[1]._replace(at=midnight - timedelta(microseconds=1), status="live", tags=("ab",))
    with only_for_now():
        written(made, *places)
        for published in PERIODS:
            for narrowed in NARROWED:
                filters = Filters(**{"status": "live", "q": q, "published": published, **narrowed})
                for sort in ORDERS if q is None else ("best", *ORDERS):
                    _is_right(filters, sort, expected(made, filters, sort), len(expected(made, filters, "newest")))


def _is_right(filters: Filters, sort: str, right: list[int], matching: int) -> None:
    """Best match shows no more than `search.MOST`."""
    assert walked(filters, sort, 4) == right, (filters, sort)
    second = page(filters, sort, Window(4, 2), viewer=None)
    assert [item["id"] for item in second.items] == right[4:8], (filters, sort)
    is_capped = filters.q is not None and matching > search.MOST
    assert (second.total, second.total_capped) == (search.MOST if is_capped else matching, is_capped), (filters, sort)
    if second.previous is not None:
        assert walked(filters, sort, 4, forward=False, start=second.previous) == right[:4], (filters, sort)


def test_the_days_of_live_projects_and_the_neighbours_of_a_period_are_those_of_a_look_at_each(
    places: tuple[int, dict[str, int]],
) -> None:
    rng = random.Random(3)
    made = [one._replace(at=START + timedelta(hours=rng.randrange(60 * 24))) for one in made_up(rng, 30)]
    live = sorted({one.at.date() for one in made if one.status == "live"})
    with only_for_now():
        assert best.days() == []
        assert best.around(periods.parse("2026")) == best.Around(None, None, None)
        written(made, *places)
        assert best.days() == live
        for text in ("2026-01-20", "2026-W05", "2026-02", "2026", "2025", "2027"):
            period = periods.parse(text)
            before, later = ([day for day in live if day < period.first], [day for day in live if day > period.last])
            assert best.around(period) == best.Around(
                periods.containing(before[-1], period.kind) if before else None,
                periods.containing(later[0], period.kind) if later else None,
                max((day for day in live if period.first <= day <= period.last), default=None),
            )
