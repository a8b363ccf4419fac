"""Counts of matches that are stored: the same answers as a look at each project, whatever changes meanwhile."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, text

from directory.db.paging import Window
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Category, Project
from directory.services.catalog import best_match, fields, search, search_counts, search_index
from directory.services.catalog.catalog import page
from directory.services.catalog.filters import Filters
from directory.services.catalog.orders import hot
from tests.support.factories import World
from tests.support.lists import ORDERS
from tests.support.reviewing import restate
from tests.support.search_reference import Made, expected, listed, made_up, written

COMMON = Filters(status="live", q="common")


@pytest.fixture
def places(app: Flask, world: World, monkeypatch: Any) -> Any:
    """An owner and the categories, where more than ten matches are many."""
    owner = world.user().id
    world.category("tools")
    world.category("games")
    monkeypatch.setattr(search, "MOST", 10)
    monkeypatch.setattr(search_counts, "SPARE", 5)
    with app.app_context():
        yield owner, {each.slug: each.id for each in db.session.query(Category)}
        db.session.remove()


def add(made: list[Made], places: Any) -> None:
    transaction(lambda: written(made, *places))
    db.session.remove()


def store(made: Made, categories: dict[str, int]) -> None:
    """Change a project to what is given, as the service does."""

    def work() -> None:
        project = db.session.get_one(Project, made.id)
        if project.status != made.status:
            restate(project.id, made.status)
        project.status, project.category_id, project.tags = made.status, categories[made.category], list(made.tags)
        project.title, project.tagline, project.description = made.title, made.brief, made.description
        project.upvotes, project.hot = made.upvotes, hot(made.upvotes, made.at)
        db.session.flush()
        search_index.index([project])

    transaction(work)
    db.session.remove()


def remove(number: int) -> None:
    def work() -> None:
        search_index.forget(number)
        db.session.execute(delete(Project).where(Project.id == number))

    transaction(work)
    db.session.remove()


def changed(rng: random.Random, one: Made) -> Made:
    """The project after some change."""
    changes: list[dict[str, Any]] = [
        {"description": "ww"}, {"description": "ab abc x ww"}, {"title": "ab"}, {"brief": "yy"}, {"status": "pending"},
        {"status": "live"}, {"category": "tools"}, {"category": "games"}, {"tags": ()}, {"tags": ("ab", "x")},
        {"upvotes": one.upvotes + rng.randrange(9)},
    ]  # fmt: skip
    return one._replace(**rng.choice(changes))


def change_one(rng: random.Random, made: list[Made], categories: dict[str, int]) -> None:
    """Change or remove one of the projects, in the database and in the list."""
    one = rng.choice(made)
    if rng.random() < 0.2:
        remove(one.id)
        made.remove(one)
    else:
        made[made.index(one)] = after = changed(rng, one)
        store(after, categories)


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_what_a_look_at_each_project_gives_after_every_change(
    places: Any, monkeypatch: Any, seed: int
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(best_match, "LOOKED_AT", (4, 12))
    made = [one._replace(tags=rng.choice([(), ("ab",), ("x", "ab")])) for one in made_up(rng, 60)]
    add(made, places)
    for _ in range(15):
        change_one(rng, made, places[1])
        for narrow in ({}, {"category": "tools"}, {"tag": "ab"}, {"tag": "ab,x"}, {"category": "games", "tag": "x"}):
            filters = Filters(status="live", q=rng.choice(["ab", "abc", "x"]), **narrow)
            sort = rng.choice(("best", *ORDERS))
            shown = [page(filters, sort, Window(3), viewer=None)]
            if shown[0].next:
                shown.append(page(filters, sort, Window(3, None, shown[0].next), viewer=None))
            ids = [item["id"] for found in shown for item in found.items]
            assert ids == expected(made, filters, sort)[: len(shown) * 3], (filters, sort)
            matching = len(expected(made, filters, "newest"))
            totals = {(found.total, found.total_capped) for found in shown}
            assert totals == {(min(matching, 10), matching > 10)}, filters


def counting(statements: list[str], work: Callable[[], Any]) -> bool:
    """Whether some work looks for all matches of a query, counts those of a list, or ranks very many."""
    statements.clear()
    work()
    signs = ("search_matches(", "AS surely", "project_search MATCH", "AS within", "AS most_voted", "most_voted AS")
    return any(sign in one for one in statements for sign in signs)


def newest(filters: Filters) -> Any:
    return page(filters, "newest", Window(3), viewer=None)


@pytest.mark.parametrize("narrow", [{}, {"category": "tools"}])
def test_matches_are_counted_again_only_after_as_many_removals_as_are_spare(
    places: Any, statements: list[str], narrow: dict[str, str]
) -> None:
    filters = Filters(status="live", q="common", **narrow)
    made = [one for one in listed(2, 80) if "common" in one.description]
    add(made, places)
    assert counting(statements, lambda: newest(filters))
    for sort in ORDERS:
        assert not counting(statements, partial(page, filters, sort, Window(3), viewer=None))
    live = [one for one in made if one.status == "live"]
    for one in live[-5:]:
        store(one._replace(upvotes=one.upvotes + 1), places[1])  # the text is written, but no other
    assert not counting(statements, lambda: newest(filters))
    for one in live[-5:]:
        store(one._replace(description="words"), places[1])
    assert not counting(statements, lambda: newest(filters))
    remove(live[0].id)
    assert counting(statements, lambda: newest(filters))
    assert not counting(statements, lambda: newest(filters))


def test_a_change_of_each_searched_field_may_take_a_match_away(places: Any) -> None:
    add(listed(2, 1), places)
    number = text("SELECT sum(projects) FROM project_search_removals")
    for name in sorted(fields.SEARCHED):
        before = db.session.scalar(number)
        db.session.execute(text(f"UPDATE projects SET {name} = {name} WHERE status = 'live'"))
        assert db.session.scalar(number) > before, name


def test_a_count_within_a_transaction_is_not_stored(places: Any, statements: list[str]) -> None:
    def work() -> None:
        written(listed(2, 80), *places)
        newest(COMMON)

    transaction(work)
    assert counting(statements, lambda: newest(COMMON))
    assert counting(statements, lambda: transaction(lambda: newest(COMMON)))


def test_a_search_with_a_word_of_no_project_asks_for_the_projects_of_all_words_once_at_most(
    app: Flask, places: Any, statements: list[str]
) -> None:
    add([one._replace(status="live", title="common lamp") for one in made_up(random.Random(1), 3)], places)
    on_sqlite = db.engine.dialect.name == "sqlite"
    for query, number in (("common lamp", 3), ("comm lam", 3), ("common none", 0), ("common la.mp none", 0)):
        statements.clear()
        assert page(Filters(status="live", q=query), "best", Window(20), viewer=None).total == number
        counts = [each for each in statements if "AS surely" in each or "search_matches" in each]
        assert len(counts) == (1 if number or not on_sqlite else 0), query
        assert any("gathered" in each for each in statements) == (number > 0), query


def test_a_page_stores_what_it_counted(app: Flask, places: Any, statements: list[str]) -> None:
    add(listed(2, 80), places)
    client = app.test_client()
    assert counting(statements, lambda: client.get("/?q=common"))
    db.session.remove()  # the context of the fixture, which the request shares, would keep its transaction open
    assert not counting(statements, lambda: client.get("/?q=common&sort=newest&page=2"))


def test_a_database_with_fewer_removals_than_before_is_counted_again(places: Any, statements: list[str]) -> None:
    add(listed(2, 80), places)
    transaction(lambda: search_counts.add_removals(3))
    newest(COMMON)
    assert not counting(statements, lambda: newest(COMMON))
    transaction(lambda: db.session.execute(text("DELETE FROM project_search_removals WHERE projects = 3")))
    transaction(lambda: db.session.execute(text("UPDATE project_search_removals SET projects = 0")))
    assert counting(statements, lambda: newest(COMMON))


def test_the_least_recently_used_counts_go_first(places: Any, statements: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(search_counts, "STORED", 2)
    add(listed(2, 80), places)
    first, second, third = (Filters(status="live", q=query) for query in ("common", "words", "common words"))
    for filters in (first, second, first, third):
        newest(filters)
    assert not counting(statements, lambda: newest(first))
    assert not counting(statements, lambda: newest(third))
    assert counting(statements, lambda: newest(second))


def test_a_filter_that_is_renamed_has_its_matches_counted_again(places: Any, statements: list[str]) -> None:
    add(listed(2, 80), places)
    owner = db.session.scalar(text("SELECT username FROM users"))
    # The former slug of a category goes on leading to it, and a former name of a user to nobody.
    names = {
        "category": ("tools", "tools2", "UPDATE categories SET slug = 'tools2'", True),
        "owner": (owner, "x", "UPDATE users SET username = 'x'", False),
    }
    for name, (former, present, rename, stays) in names.items():
        before, after = (Filters(status="live", q="common", **{name: value}) for value in (former, present))
        assert newest(before).total_capped
        assert newest(after).total == 0
        transaction(lambda rename=rename: db.session.execute(text(f"{rename} WHERE id = 1")))  # type: ignore[misc]
        assert newest(after).total_capped
        assert newest(before).total_capped == stays


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_removals_are_summed_without_losing_any(places: Any) -> None:
    add(listed(2, 40), places)
    number = text("SELECT sum(projects) FROM project_search_removals")
    before = db.session.scalar(number)
    for _ in range(30):
        transaction(lambda: db.session.execute(text("UPDATE projects SET description = 'x'")))
    live = db.session.scalar(text("SELECT count(*) FROM projects WHERE status = 'live'"))
    assert db.session.scalar(number) == before + 30 * live
    assert db.session.scalar(text("SELECT count(*) FROM project_search_removals")) < 1_000
