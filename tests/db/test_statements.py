"""Prepared statements: each returns its own rows, and a connection holds a bounded number of them."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import BigInteger, bindparam, func, literal_column, select, text
from sqlalchemy.exc import IntegrityError

from directory.db.compiled_postgresql import MAX_PREPARED
from directory.db.paging import Window
from directory.db.statements import Prepared, add_row_later
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Category
from directory.services import bulk
from directory.services.catalog.catalog import page
from directory.services.catalog.filters import Filters
from tests.support.factories import World


def _times(factor: int) -> Prepared:
    given = bindparam("given", type_=BigInteger())
    return Prepared(select((literal_column(str(factor), BigInteger()) * given).label("product")))


@pytest.mark.direct("counts prepared statements")
def test_a_connection_holds_a_bounded_number_of_prepared_statements(app: Flask) -> None:
    with app.app_context():
        connection = db.session.connection()  # statements in the session's transaction run over this one
        for _ in range(2):
            for factor in range(1, MAX_PREPARED + 20):
                assert _times(factor).first({"given": 7}) == (7 * factor,)
        if connection.dialect.name == "postgresql":
            held = text("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'directory%'")
            assert 0 < connection.scalar(held) <= MAX_PREPARED


def test_a_new_statement_is_never_taken_for_a_deleted_one(app: Flask) -> None:
    """A deleted statement's address in memory may become that of the next one."""
    with app.app_context():
        db.session.connection()
        for factor in range(1, 60):
            assert _times(factor).first({"given": 3}) == (3 * factor,)


def test_lists_of_more_sizes_than_can_be_prepared_are_all_served(app: Flask, world: World) -> None:
    ids = [world.project() for _ in range(3)]
    with app.app_context():
        db.session.connection()
        for limit in range(1, MAX_PREPARED + 20):
            found = page(Filters(status="live"), "newest", Window(limit), viewer=None)
            assert [item["id"] for item in found.items] == ids[::-1][:limit]


@pytest.mark.direct("counts prepared statements")
def test_only_statements_that_one_plan_suits_are_prepared(app: Flask, world: World) -> None:
    world.project(title="Flask", tags=["web"])
    with app.app_context():
        connection = db.session.connection()
        for n in range(8):
            for more in ({}, {"category": "tools"}, {"q": f"flask{n}"}, {"tag": "web"}):
                page(Filters(status="live", **more), "newest", Window(20), viewer=None)
            page(Filters(status="live", q="flask"), "best", Window(20), viewer=None)
        if connection.dialect.name == "postgresql":
            prepared = connection.scalars(text("SELECT statement FROM pg_prepared_statements")).all()
            lists = [each for each in prepared if "FROM projects" in each and "FOR NO KEY UPDATE" not in each]
            assert len(lists) == 2
            for statement in lists:
                assert "projects.status = 'live'" in statement
                assert "LIMIT 21" in statement


_NAME = Prepared(select(Category.__table__.c.name).where(Category.__table__.c.slug == "tools"))
_RENAME = Prepared(text("UPDATE categories SET name = :name WHERE slug = 'tools'"))


@pytest.fixture
def tools(world: World, context: None) -> None:
    world.category()


def a_category(slug: str) -> dict[str, Any]:
    counted = dict.fromkeys(("live_projects", "pending_projects", "rejected_projects"), 0)
    return {"slug": slug, "name": slug.title(), "description": "", **counted}


def add_another() -> None:
    """Add a category whose slug is taken."""
    add_row_later(Category, a_category("tools"))


def test_what_runs_later_has_run_before_what_follows(tools: None) -> None:
    def work() -> list[Any]:
        _RENAME.later({"name": "First"})
        seen = [_NAME.first({})]
        for name in ("Second", "Third"):
            _RENAME.later({"name": name})
        seen.append(db.session.execute(text("SELECT name FROM categories")).one())
        _RENAME.later({"name": "Last"})
        return seen

    assert transaction(work) == [("First",), ("Third",)]
    assert _NAME.first({}) == ("Last",)


def test_many_rows_follow_what_runs_later(tools: None) -> None:
    def work() -> None:
        _RENAME.later({"name": "First"})
        bulk.load_dicts(Category, [*map(a_category, ("apps", "games"))])
        _RENAME.later({"name": "Second"})
        found = {"name": "Third"}, {"name": "Last"}
        db.session.connection().execute(text("UPDATE categories SET name = :name WHERE slug = 'tools'"), [*found])

    transaction(work)
    assert db.session.scalar(select(func.count()).select_from(Category)) == 3
    assert _NAME.first({}) == ("Last",)


@pytest.mark.parametrize("then", [lambda: None, lambda: _NAME.first({}), lambda: db.session.execute(text("SELECT 1"))])
def test_what_fails_later_fails_its_transaction(tools: None, then: Callable[[], Any]) -> None:
    def work() -> None:
        _RENAME.later({"name": "Lost"})
        add_another()
        _RENAME.later({"name": "Never"})
        then()

    with pytest.raises(IntegrityError):
        transaction(work)
    assert _NAME.first({}) == ("Tools",)
    transaction(lambda: _RENAME.later({"name": "Kept"}))
    assert _NAME.first({}) == ("Kept",)


def test_a_transaction_that_fails_does_nothing_of_what_was_to_run_later(tools: None) -> None:
    def work() -> None:
        _RENAME.later({"name": "Lost"})
        add_another()
        raise ZeroDivisionError

    with pytest.raises((ZeroDivisionError, IntegrityError)):  # SQLite has run it
        transaction(work)
    assert _NAME.first({}) == ("Tools",)


def test_in_a_savepoint_it_runs_at_once(tools: None) -> None:
    def work() -> None:
        _RENAME.later({"name": "Kept"})
        with pytest.raises(IntegrityError), db.session.begin_nested():
            add_another()

    transaction(work)
    assert _NAME.first({}) == ("Kept",)


def test_outside_of_a_transaction_it_runs_at_once(tools: None) -> None:
    _RENAME.later({"name": "Kept"})
    db.session.remove()
    assert _NAME.first({}) == ("Kept",)


def test_statements_are_prepared_while_others_wait(tools: None) -> None:
    def work() -> list[Any]:
        seen = []
        for factor in range(1, MAX_PREPARED + 20):
            _RENAME.later({"name": str(factor)})
            seen.append((_times(factor).first({"given": 7}), _NAME.first({})))
        return seen

    assert transaction(work) == [((7 * n,), (str(n),)) for n in range(1, MAX_PREPARED + 20)]
