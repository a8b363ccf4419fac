"""What an order of projects has to say, and that one which is accepted works in every list."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, inspect, select

from directory.db.paging import Window
from directory.extensions import db
from directory.http.cache_policy import CacheTags
from directory.http.project_lists import page_tags
from directory.models import Category, Project
from directory.services.catalog import orders, queries, search, search_counts
from directory.services.catalog.catalog import page
from directory.services.catalog.filters import Filters
from directory.services.catalog.orders import Order
from tests.support.factories import World

P = Project.__table__.c
QUIET: Any = {"descending": True, "by_votes": False, "is_public": True}


@pytest.mark.parametrize("left_out", ["descending", "by_votes", "is_public"])
def test_an_order_that_does_not_say_what_it_depends_on_is_an_error(left_out: str) -> None:
    said = {name: value for name, value in QUIET.items() if name != left_out}
    with pytest.raises(TypeError, match=left_out):
        Order((P.title, P.id), **said)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ((func.lower(P.title), P.id), r"lower\(projects.title\) cannot be a key .* not a column of the table projects"),
        ((P.upvotes * -1, P.id), "not a column of the table projects"),
        ((P.title.desc(), P.id), "not a column of the table projects"),
        ((P.title.label("title"), P.id), "not a column of the table projects"),
        ((Project.title, P.id), "not a column of the table projects"),
        ((Category.__table__.c.name, P.id), "not a column of the table projects"),
        ((P.published_at, P.id), "projects.published_at .* may be null"),
        ((P.tags, P.id), "cursors hold no JSON"),
        ((P.description, P.id), "cursors hold .* no text of any length"),
        ((P.title,), "last key of an order of projects must be the id"),
        ((P.id, P.title), "last key of an order of projects must be the id"),
        ((), "last key of an order of projects must be the id"),
        ((P.title, Category.__table__.c.id), "categories.id .* not a column of the table projects"),
    ],
)
def test_an_order_is_refused_if_a_list_could_not_use_it(keys: tuple[Any, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Order(keys, **QUIET)


@pytest.mark.parametrize(
    ("keys", "by_votes", "why"),
    [
        ((P.upvotes, P.id), False, "is by_votes if hot or upvotes is a key, else not"),
        ((P.title, P.hot, P.id), False, "is by_votes if hot or upvotes is a key, else not"),
        ((P.title, P.id), True, "is by_votes if hot or upvotes is a key, else not"),
        ((P.upvotes, P.title, P.id), True, "read from standings, which lacks title"),
    ],
)
def test_an_order_is_refused_if_it_is_wrong_about_votes(keys: tuple[Any, ...], by_votes: bool, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Order(keys, **{**QUIET, "by_votes": by_votes})


def test_a_vote_changes_the_columns_that_the_orders_take_it_to_change(app: Flask, world: World) -> None:
    project, voter = world.project(votes=1), world.user()

    def row() -> dict[str, Any]:
        with app.app_context():
            return dict(db.session.execute(select(*P).where(P.id == project)).one()._mapping)

    before = row()
    world.vote(project, voter)
    after = row()
    assert {name for name in after if after[name] != before[name]} == orders.VOTED


def test_every_order_has_the_indexes_for_a_state_and_for_its_categories(app: Flask) -> None:
    with app.app_context():
        for name, order in orders.SORTS.items():
            keys = order.in_state.keys
            found = [each["column_names"] for each in inspect(db.engine).get_indexes(keys[0].table.name)]
            for narrowed in ({"status"}, {"status", "category_id"}):
                starts = [({*each[: len(narrowed)]}, each[len(narrowed) :]) for each in found]
                assert (narrowed, [key.name for key in keys]) in starts, (name, narrowed)


# Orders of each kind that is accepted.
MADE_UP = {
    "by_title": Order((P.title, P.id), descending=False, by_votes=False, is_public=True),
    "by_state_and_title": Order((P.status, P.title, P.id), **QUIET),
    "by_category": Order((P.category_id, P.id), **QUIET),
    "by_owner": Order((P.owner_id, P.id), **QUIET),
    "by_change": Order((P.updated_at, P.id), **QUIET),
    "by_id": Order((P.id,), **QUIET),
    "fewest_votes": Order((P.upvotes, P.id), descending=False, by_votes=True, is_public=True),
    "state_and_votes": Order((P.status, P.upvotes, P.hot, P.id), descending=True, by_votes=True, is_public=True),
}


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """More orders, as if they were in the table of them."""
    for name, order in MADE_UP.items():
        monkeypatch.setitem(orders.SORTS, name, order)
    for built in (queries.page, queries.count):
        built.cache_clear()
    yield
    for built in (queries.page, queries.count):
        built.cache_clear()


@pytest.fixture
def lists(world: World) -> dict[str, Filters]:
    """The kinds of lists over projects that are equal in many orders."""
    ada, bob = world.user("ada"), world.user("bob")
    for number, title in enumerate(("Lamp b", "Lamp a", "Lamp c", "Lamp a", "Lamp d", "Lamp c", "Lamp e", "Lamp b")):
        status = ("live", "live", "live", "pending", "rejected")[number % 5]
        given = {"title": title, "category": ("tools", "games")[number % 2], "tags": ["blue"] if number % 3 else []}
        project = world.project((ada, bob)[number % 2], status, **given)
        if status == "live":
            for _ in range(number % 3):
                world.vote(project, world.user())
            world.vote(project, ada)
        if status == "live" and number % 2:
            world.revise(project, (ada, bob)[number % 2], tagline="Another")
    return {
        "of a state": Filters(status="live"), "of every state": Filters(), "of a tag": Filters(tag="blue"),
        "of a category": Filters(status="live", category="games"), "of an owner": Filters(owner="ada"),
        "of one's own": Filters(owner_id=ada.id), "of one's votes": Filters(status="live", voter_id=ada.id),
        "found": Filters(status="live", q="lamp"), "found in every state": Filters(q="lamp"),
        "found in a category": Filters(category="games", q="lamp"),
        "found with a tag": Filters(status="live", tag="blue", q="lamp"),
        "found among one's votes": Filters(status="live", voter_id=ada.id, q="lamp"),
        "the queue": Filters(waiting="true"), "the queue of a category": Filters(waiting="true", category="games"),
        "found in the queue": Filters(waiting="true", q="lamp"),
    }  # fmt: skip


@pytest.mark.parametrize("most", [search.MOST, 1])  # with two matches the query is common
def test_an_order_that_is_accepted_works_in_every_list(
    app: Flask, made_up: None, lists: dict[str, Filters], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(search, "MOST", most)
    monkeypatch.setattr(search_counts, "SPARE", 0)
    with app.app_context():
        rows = {row["id"]: row for row in map(dict, db.session.execute(select(*P)).mappings())}
        for kind, filters in lists.items():
            ids = {item["id"] for item in page(filters, "newest", Window(50), viewer=None).items}
            assert len(ids) >= 2, kind
            for name, order in MADE_UP.items():
                key = [key.name for key in order.keys]
                right = sorted(ids, key=lambda id_: [rows[id_][each] for each in key], reverse=order.descending)
                assert walked(filters, name) == (right, right, right), (kind, name)


def test_the_cache_drops_pages_in_an_order_by_votes_when_votes_change(made_up: None) -> None:
    for name, order in orders.SORTS.items():
        shown = {"items": [{"id": 7, "upvotes": 2}], "pagination": {"page": 1}}
        tags = page_tags(shown, {"sort": name})
        if name == "upvotes":
            assert tags == CacheTags((7,), 2, 2)
        else:
            assert tags == (None if order.by_votes else CacheTags((7,)))
    assert page_tags(shown, {"q": "lamp"}) is None  # best match


def walked(filters: Filters, sort: str) -> tuple[list[int], list[int], list[int]]:
    """The ids of a list by cursor, by cursor back from its end, and by number."""
    window, there, back = Window(2), [], []
    while True:
        found = page(filters, sort, window, viewer=None)
        there += [item["id"] for item in found.items]
        if found.next is None:
            break
        window = Window(2, None, found.next)
    back = [item["id"] for item in found.items]
    while found.previous is not None:
        found = page(filters, sort, Window(2, None, found.previous), viewer=None)
        back = [item["id"] for item in found.items] + back
    numbered = [item["id"] for n in range(1, 6) for item in page(filters, sort, Window(2, n), viewer=None).items]
    return there, back, numbered
