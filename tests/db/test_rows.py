"""A single row is added by a prepared statement, in the transaction of the session, also as its first statement."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, text

from directory.db.statements import add_row
from directory.db.transactions import on_postgresql, transaction
from directory.extensions import db
from directory.models import AuditEntry, Project, now
from directory.services.clock import at_once
from directory.services.daily_bytes import add as count_bytes
from directory.services.identity import hold_active
from tests.support.factories import World

STRANGE = "quotes ' \" \\ and { braces, } NULL \u00e9\u5b57\U0001f600"


def entries() -> int:
    return db.session.scalar(select(func.count()).select_from(AuditEntry)) or 0


@pytest.mark.parametrize(
    "changes", [None, {"title": {"from": None, "to": STRANGE}}, {"tags": {"from": [], "to": ["a", STRANGE, None, 1.5]}}]
)
def test_a_row_is_stored_as_it_is_given(app: Flask, changes: Any) -> None:
    at = now()
    with app.app_context():
        given = {"action": "project.edited", "at": at, "reason": STRANGE, "waited_seconds": 1 / 3, "changes": changes}
        number = transaction(lambda: add_row(AuditEntry, given))
        entry = db.session.get_one(AuditEntry, number)
        assert (entry.at, entry.reason, entry.waited_seconds) == (at, STRANGE, 1 / 3)
        assert (entry.changes, entry.actor_id) == (changes, None)
        null = text("SELECT changes IS NULL FROM audit_entries WHERE id = :id")
        assert bool(db.session.scalar(null, {"id": number})) is (changes is None)


def test_a_value_may_be_an_expression_of_the_database(app: Flask) -> None:
    with app.app_context():
        before = now()
        number = transaction(lambda: add_row(AuditEntry, {"at": at_once(), "action": "user.signed_out"}))
        assert abs((db.session.get_one(AuditEntry, number).at - before).total_seconds()) < 60


def test_a_column_that_is_left_out_gets_the_default_of_the_database(app: Flask, world: World) -> None:
    with app.app_context():
        project = db.session.get_one(Project, world.project(status="pending"))
        assert (project.logo, project.pictures, project.links, project.published_at) == (None, [], None, None)


def test_what_is_added_first_in_a_transaction_goes_with_it(app: Flask) -> None:
    """Below the driver's cursors nothing begins a transaction by itself."""

    def add_and_fail() -> None:
        add_row(AuditEntry, {"at": now(), "action": "user.signed_out"})
        raise LookupError

    with app.app_context():
        before = entries()
        with pytest.raises(LookupError):
            transaction(add_and_fail)
        assert entries() == before
        transaction(lambda: add_row(AuditEntry, {"at": now(), "action": "user.signed_out"}))
        assert entries() == before + 1


def test_a_lock_that_is_taken_first_is_held_until_the_end(app: Flask, world: World) -> None:
    user = world.user()

    def lock() -> None:
        assert hold_active(user.id)
        if on_postgresql():
            driver: Any = db.session.connection().connection.dbapi_connection
            assert driver.info.transaction_status.name == "INTRANS"
            assert db.session.scalar(text("SHOW transaction_isolation")) == "read committed"

    with app.app_context():
        transaction(lock)


def test_bytes_are_counted_up_to_the_bound(app: Flask, world: World) -> None:
    user = world.user()
    with app.app_context():
        assert [transaction(lambda: count_bytes(user.id, 40, 100)) for _ in range(3)] == [True, True, False]
