"""Statements prepared on a connection: each gives its own rows, and a connection holds no more of them than agreed."""

from flask import Flask
from sqlalchemy import BigInteger, bindparam, literal_column, select, text

from directory import prepared
from directory.extensions import db
from directory.prepared import Prepared
from directory.services import queries
from directory.services.catalog import Filters, page
from directory.services.paging import Window
from tests.factories import World


def _times(factor: int) -> Prepared:
    given = bindparam("given", type_=BigInteger())
    return Prepared(select((literal_column(str(factor), BigInteger()) * given).label("product")))


def test_a_connection_holds_no_more_statements_than_agreed(app: Flask) -> None:
    with app.app_context():
        connection = db.session.connection()  # what is asked in its transaction is asked of this one
        for _ in range(2):
            for factor in range(1, prepared.MOST + 20):
                assert _times(factor).first({"given": 7}) == (7 * factor,)
        if connection.dialect.name == "postgresql":
            held = text("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'directory%'")
            assert 0 < connection.scalar(held) <= prepared.MOST


def test_statements_that_come_and_go_do_not_take_each_others_place(app: Flask) -> None:
    """One that is gone leaves its address in memory to the next, which must not be taken for it."""
    with app.app_context():
        db.session.connection()
        for factor in range(1, 60):
            assert _times(factor).first({"given": 3}) == (3 * factor,)


def test_lists_of_all_sizes_are_served_though_few_statements_are_kept(app: Flask, world: World) -> None:
    ids = [world.project() for _ in range(3)]
    with app.app_context():
        db.session.connection()
        for limit in range(1, prepared.MOST + 20):
            found = page(Filters(status="live"), "newest", Window(limit), viewer=None)
            assert [item["id"] for item in found.items] == ids[::-1][:limit]


def test_lists_that_counters_total_are_planned_once_and_others_for_each_value(app: Flask) -> None:
    def shape(*filters: str) -> Prepared:
        return queries.page(filters, "live", "newest", "top", 20, False, "postgresql")

    with app.app_context():
        dialect = db.engine.dialect
        for filters, values in ((("status",), False), (("status", "category"), False), (("status", "tag"), True)):
            compiled = str(shape(*filters).statement.compile(dialect=dialect))
            assert ("projects.status = 'live'" in compiled) is not values, compiled
            assert ("LIMIT 21" in compiled) is not values, compiled
