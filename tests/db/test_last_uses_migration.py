"""Migrations 0071 and 0072: the last uses of accounts move into a table of their own."""

from typing import Any

import flask_migrate
import pytest
from alembic.script import ScriptDirectory
from flask import Flask
from sqlalchemy import inspect, text, update

from directory.db import portions, sql_files
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import LastUse, now
from directory.services import health
from directory.services.data import counter_checks
from tests.conftest import Database
from tests.support.browsers import Browser
from tests.support.factories import World
from tests.support.migrating import Run

pytestmark = [pytest.mark.direct("migrates"), pytest.mark.usefixtures("at_head_afterwards")]
BEFORE, MOVED = "0070", "0071"
ADD = (
    "INSERT INTO users (username, email, password_hash, role, status, created_at) "
    "VALUES ('{0}', '{0}', 'x', 'member', 'active', '2026-01-01 00:00:00.000000')"
)
OLD, NEW = "SELECT id, last_seen_at FROM users", "SELECT user_id, seen_at FROM last_uses"


def times(query: str) -> dict[int, str]:
    """The times by account, as the database writes them."""
    with db.engine.connect() as connection:
        return {number: str(at) for number, at in connection.execute(text(query))}


def run(*statements: str) -> None:
    with db.engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_the_times_stay_on_the_way_up_and_down(app: Flask, world: World, database: Database) -> None:
    world.user("ada")
    world.user("bob")  # who never signed in
    Browser(app).sign_in("ada")
    with app.app_context():
        first = times(NEW)
        assert len(set(first.values())) == 2
        flask_migrate.downgrade(revision=BEFORE)
        assert times(OLD) == first
        run(ADD.format("old"))
        flask_migrate.upgrade(revision=MOVED)
        second = times(NEW)
        assert second == times(OLD) != first  # which processes of before read on
    Browser(app).sign_in("bob")
    world.user("new")
    with app.app_context():
        seen = times(NEW)
        assert [seen[number] == second.get(number) for number in sorted(seen)] == [True, False, True, False]
        db.session.remove()
        flask_migrate.upgrade()
        assert times(NEW) == seen
        assert "last_seen_at" not in {each["name"] for each in inspect(db.engine).get_columns("users")}
        flask_migrate.downgrade(revision=BEFORE)
        assert times(OLD) == seen


def drop_as_the_former_0071(dialect: str) -> None:
    """Leave a database of 0070 as it was at 0071 while that number was 0072's."""
    module: Any = ScriptDirectory(str(health.MIGRATIONS)).get_revision("0072").module
    former = [name for name in module.INDEXES if name != "ix_users_last_seen_at_id"]
    run(*(f"DROP INDEX {name}" for name in former))
    with db.engine.begin() as connection:
        if dialect == "postgresql":
            connection.exec_driver_sql("DROP TRIGGER projects_noted ON projects")
        for name in module.COLUMNS:
            connection.exec_driver_sql(f"ALTER TABLE projects DROP COLUMN {name}")
        if dialect == "postgresql":
            sql_files.install(connection, "notes")
    run("DROP TABLE revisions", "UPDATE alembic_version SET version_num = '0071'")


def test_a_database_that_was_at_0071_before_this_table_gets_it(app: Flask, world: World, database: Database) -> None:
    world.user("ada")
    Browser(app).sign_in("ada")
    with app.app_context():
        before = times(NEW)
        db.session.remove()
        flask_migrate.downgrade(revision=BEFORE)
        drop_as_the_former_0071(database.backend)
        flask_migrate.upgrade()
        assert times(NEW) == before
        flask_migrate.check()
    world.user("bob")
    with app.app_context():
        assert counter_checks.USES.look() == []


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_whoever_comes_between_any_two_steps_has_a_row(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "AT_ONCE", 2)
    for _ in range(7):
        world.user()
    with app.app_context():
        seen = update(LastUse).where(LastUse.user_id % 2 == 0).values(seen_at=now())
        transaction(lambda: db.session.execute(seen))
        before = times(NEW)
        db.session.remove()
        flask_migrate.downgrade(revision=BEFORE)

        def visit(statement: str, number: int) -> None:
            if statement not in {"COMMIT", "ROLLBACK"}:
                run(ADD.format(f"n{number}"))

        steps = Run(visit)
        with steps.listening():
            flask_migrate.upgrade()
        assert steps.number > 10
        assert counter_checks.USES.look() == []
        after = times(NEW)
        assert {number: after[number] for number in before} == before
        assert len(after) > len(before) + 10
