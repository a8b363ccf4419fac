"""Prepared statements: each returns its own rows, and a connection holds a bounded number of them."""

import pytest
from flask import Flask
from sqlalchemy import BigInteger, bindparam, literal_column, select, text

from directory.db.compiled_postgresql import MAX_PREPARED
from directory.db.paging import Window
from directory.db.statements import Prepared
from directory.extensions import db
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
