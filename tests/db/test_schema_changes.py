"""Migrations of PostgreSQL while others read and write, and migrations that were interrupted."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import flask_migrate
import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from flask import Flask
from sqlalchemy import Connection, inspect, or_, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from directory.db import portions, schema_changes
from directory.extensions import db
from directory.models import Role, User
from directory.services import health
from directory.services.data import counter_checks, recount
from tests.conftest import ENVIRONMENT, Database
from tests.support.factories import World
from tests.support.migrating import Run
from tests.support.waiting import until

pytestmark = [pytest.mark.direct("migrates"), pytest.mark.usefixtures("at_head_afterwards")]

on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
# By SQL, for the rules write to tables and columns of later migrations.
COPIED = (
    "owner_id, category_id, title, slug, tagline, description, url, status, hot, version, created_at, updated_at, "
    "submitted_at, published_at"
)
COPY = "INSERT INTO projects ({0}, url_key, tags, upvotes) SELECT {0}, '{1}', '[\"{1}\", \"a\"]', 0 FROM projects {2}"
# What needs no transaction around it: it reads, or its lock keeps no one from reading and writing rows.
NOTED = (  # the columns of projects whose changes the trigger records
    "SELECT a.attname FROM pg_trigger t JOIN pg_attribute a ON a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr) "
    "WHERE t.tgname = 'projects_noted' AND t.tgrelid = 'projects'::regclass ORDER BY a.attnum"
)
HARMLESS = (
    "SELECT", "SET", "RESET", "SHOW", "BEGIN", "COMMIT", "ROLLBACK", "DROP INDEX CONCURRENTLY",
    "CREATE INDEX CONCURRENTLY", "ANALYZE", "UPDATE alembic_version", "CREATE OR REPLACE FUNCTION",
    "CREATE TABLE",  # a new one: others do not use it yet
)  # fmt: skip


def furnished(world: World) -> tuple[int, int, int]:
    """Projects of several users, states and tags, and tokens that were used; two of the projects, and a voter."""
    for n in range(5):
        user = world.user()
        world.project(user, tags=["a", f"t{n}"])
        world.project(user, "pending", tags=["a"])
        world.caller(user).get("/api/auth/me")
    return world.project(tags=["b"]), world.project(), world.user().id


def expect_all_right(app: Flask) -> None:
    with app.app_context():
        found = recount.look(lambda number: number > 0).faults
        # Copies by SQL have no entry, and keys that are not theirs.
        assert [fault for fault in found if fault.kind not in {"search", "url_key", "domain", "text_key"}] == []
        assert counter_checks.look_beside() == []
        unseen = "SELECT count(*) FROM last_uses l JOIN tokens t USING (user_id) WHERE l.seen_at < t.last_used_at"
        assert db.session.scalar(text(unseen)) == 0
        seen = "SELECT count(*) FROM last_uses WHERE seen_at > '2000-01-01'"
        assert db.session.scalar(text(seen)) == 5
        flask_migrate.check()


@on_postgresql
def test_others_read_and_write_between_all_steps_and_are_counted(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "AT_ONCE", 2)
    voted, model, fan = furnished(world)

    def visit(statement: str, number: int) -> None:
        assert statement.startswith(HARMLESS) or " VALIDATE CONSTRAINT " in statement, statement
        if statement in {"COMMIT", "ROLLBACK"}:
            return
        with db.engine.connect() as other:
            other.exec_driver_sql("SET lock_timeout = 100")
            for table in ("users", "projects", "audit_entries", "project_search", "deliveries"):
                other.exec_driver_sql(f"SELECT count(*) FROM {table}")
            other.exec_driver_sql(f"SELECT vote({voted}, {fan}, 'toggle', now())")
            other.exec_driver_sql(COPY.format(COPIED, f"n{number}", f"WHERE id = {model}"))
            other.exec_driver_sql('UPDATE projects SET tags = \'["c", "b"]\' WHERE tags = \'["a"]\'')
            other.exec_driver_sql(f"DELETE FROM projects WHERE url_key = 'n{number - 3}'")
            other.exec_driver_sql("UPDATE users SET email = substr(email, 2) || substr(email, 1, 1)")
            other.exec_driver_sql("INSERT INTO audit_entries (action, at) VALUES ('project.edited', now())")
            other.exec_driver_sql("UPDATE project_search SET document = document")
            other.exec_driver_sql("RESET lock_timeout")

    run = Run(visit)
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        with run.listening():
            flask_migrate.upgrade()
        wrong = (
            "SELECT count(*) FROM project_search e JOIN projects p ON p.id = project_id WHERE live <> (status = 'live')"
        )
        assert db.session.scalar(text(wrong)) == 0
    assert run.number > 50
    assert max(run.written) == 2
    expect_all_right(app)


class InterruptedRun(Exception):
    pass


def test_a_migration_that_was_interrupted_anywhere_is_finished_by_the_next_run(
    app: Flask, world: World, database: Database
) -> None:
    _, model, _ = furnished(world)
    revision, at, runs = "", 0, 0
    step = 3 if database.backend == "postgresql" else 16  # on SQLite each migration is one transaction

    def interrupt(_statement: str, number: int) -> None:
        if number == at:
            raise InterruptedRun

    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        while True:
            before, runs = revision, runs + 1
            with db.engine.begin() as connection:
                revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
                connection.exec_driver_sql(COPY.format(COPIED, f"r{runs}", f"WHERE id = {model}"))
                connection.exec_driver_sql(f"DELETE FROM projects WHERE url_key = 'r{runs - 2}'")
            at = at + step if revision == before else 1
            try:
                with Run(interrupt).listening():
                    flask_migrate.upgrade()
                break
            except InterruptedRun:
                db.engine.dispose()  # a process that is killed keeps no connection
    assert runs > 10
    expect_all_right(app)


@on_postgresql
def test_nothing_waits_behind_a_migration_that_waits_for_an_old_transaction(app: Flask, world: World) -> None:
    voted, _, fan = furnished(world)
    run = Run(lambda _statement, _number: None)

    def upgrade() -> None:
        with app.app_context():
            flask_migrate.upgrade()

    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        with ThreadPoolExecutor(1) as pool, db.engine.connect() as old, db.engine.connect() as other, run.listening():
            run.is_busy = True  # these are not of the migration
            old.exec_driver_sql("BEGIN")
            old.exec_driver_sql(f"UPDATE projects SET tagline = 'x' WHERE id <> {voted}")
            old.exec_driver_sql("UPDATE users SET password_hash = 'x'")
            run.is_busy = False
            upgraded = pool.submit(upgrade)
            until(lambda: run.tried_again > 2 or upgraded.done())
            run.is_busy = True
            other.exec_driver_sql(f"SELECT vote({voted}, {fan}, 'cast', now())")
            assert other.exec_driver_sql(f"SELECT upvotes FROM projects WHERE id = {voted}").scalar() == 1
            assert not upgraded.done()
            old.exec_driver_sql("COMMIT")
            upgraded.result()


@on_postgresql
def test_a_step_gives_up_in_the_end_and_at_once_where_it_cannot_succeed(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_changes, "TRIES", 3)
    tried: list[str] = []

    def work(statement: str) -> Callable[[], Any]:
        return lambda: (tried.append(statement), bind.exec_driver_sql(statement))

    with app.app_context(), db.engine.connect() as bind, db.engine.connect() as old:
        old.exec_driver_sql("BEGIN")
        old.exec_driver_sql("LOCK TABLE projects")
        for statement, state, times in (
            ("LOCK TABLE projects", "55P03", 3), ("SELECT 1 / 0", "22012", 1),
        ):  # fmt: skip
            with pytest.raises(DBAPIError) as raised:
                schema_changes.in_short_transaction(bind, work(statement))
            assert raised.value.orig.sqlstate == state  # type: ignore[union-attr]
            assert tried == [statement] * times
            tried.clear()
        old.exec_driver_sql("ROLLBACK")
        assert schema_changes.in_short_transaction(bind, lambda: 7) == 7


@on_postgresql
def test_of_two_runs_at_once_the_second_waits_for_the_first(app: Flask, database: Database) -> None:
    """A process of its own, for Alembic runs once at a time in one."""
    asking = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try_advisory_xact_lock%'"
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade"]
    environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": database.url}
    second: list[subprocess.Popen[bytes]] = []

    def start_another(statement: str, _number: int) -> None:
        if " VALIDATE CONSTRAINT " in statement and not second:
            second.append(subprocess.Popen(command, cwd=health.MIGRATIONS.parent, env=environment))
            with db.engine.connect() as connection:
                until(lambda: connection.scalar(text(asking)) == 2)
            assert second[0].poll() is None

    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        with Run(start_another).listening():
            flask_migrate.upgrade()
    assert second[0].wait(30) == 0


def test_votes_of_users_suspended_before_leave_the_counters_and_come_back_on_the_way_down(
    app: Flask, world: World, database: Database
) -> None:
    sock, gone, fan = world.user(), world.user(status="suspended"), world.user()
    one, two = world.project(), world.project()
    for voter in (sock, fan):
        world.vote(one, voter)
        world.vote(two, voter)
    world.discount(two, fan)
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        with db.engine.begin() as connection:
            numbers = "SELECT upvotes FROM projects ORDER BY id"
            assert list(connection.scalars(text(numbers))) == [2, 2]
            connection.exec_driver_sql(f"INSERT INTO upvotes SELECT {gone.id}, {one}, created_at FROM upvotes LIMIT 1")
            connection.exec_driver_sql(f"UPDATE projects SET upvotes = 3 WHERE id = {one}")
            connection.exec_driver_sql(f"UPDATE users SET status = 'suspended' WHERE id = {sock.id}")
        flask_migrate.upgrade()
        assert list(db.session.scalars(text(numbers))) == [1, 1]
        assert recount.look(lambda number: number > 0).faults == []


@on_postgresql
def test_suspensions_are_followed_between_all_steps_of_counting_votes_that_count(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "AT_ONCE", 2)
    socks, voter = [world.user(), world.user(), world.user()], world.user()
    projects = [world.project() for _ in range(5)]
    for project in projects:
        for sock in socks:
            world.vote(project, sock)

    def visit(statement: str, number: int) -> None:
        assert statement.startswith(HARMLESS) or " VALIDATE CONSTRAINT " in statement, statement
        if statement in {"COMMIT", "ROLLBACK"}:
            return
        sock, project = socks[number % 3], projects[number % 5]
        with db.engine.connect() as other:
            other.exec_driver_sql("SET lock_timeout = 100")
            # Once the trigger is there, which is where every status is followed.
            if other.scalar(text("SELECT count(*) FROM pg_trigger WHERE tgname = 'users_all_votes_counted'")):
                changing = "UPDATE users SET status = CASE status WHEN 'active' THEN 'suspended' ELSE 'active' END"
                other.exec_driver_sql(f"{changing} WHERE id = {sock.id}")
            other.exec_driver_sql(f"SELECT vote({project}, {voter.id}, 'toggle', now())")
            other.exec_driver_sql("RESET lock_timeout")

    run = Run(visit)
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        with db.engine.begin() as connection:
            connection.exec_driver_sql(
                f"UPDATE users SET status = 'suspended' WHERE id <> {voter.id} AND id <= {socks[1].id}"
            )
        with run.listening():
            flask_migrate.upgrade()
        assert run.number > 20
        assert recount.look(lambda number: number > 0).faults == []


def test_an_upgrade_to_revisions_leaves_pending_projects_pending(app: Flask, world: World, database: Database) -> None:
    for status in ("pending", "live"):
        world.project(status=status)
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        flask_migrate.upgrade()
        rows = db.session.execute(text("SELECT status, version FROM projects ORDER BY id"))
        assert [tuple(row) for row in rows] == [("pending", 1), ("live", 2)]
        assert db.session.scalar(text("SELECT count(*) FROM reviews")) == 1


def test_a_column_of_projects_is_added_with_its_notes_and_dropped(app: Flask, database: Database) -> None:
    with app.app_context(), db.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        before = columns_of_projects(connection)
        with Operations.context(context), context.begin_transaction():
            schema_changes.add_project_column("of_a_test", "VARCHAR(10)")
        added = columns_of_projects(connection)
        with Operations.context(context), context.begin_transaction():
            schema_changes.drop_project_column("of_a_test")
        assert [after - set(was) for after, was in zip(added, before, strict=True)] == [
            {"of_a_test"}, {"of_a_test"} if database.backend == "postgresql" else set()
        ]  # fmt: skip
        assert columns_of_projects(connection) == before


def columns_of_projects(connection: Connection) -> tuple[set[str], set[str]]:
    """The columns of projects, and those of which changes are noted."""
    noted = connection.exec_driver_sql(NOTED).scalars() if is_postgresql(connection) else ()
    found = {each["name"] for each in inspect(connection).get_columns("projects")}, set(noted)
    connection.commit()
    return found


def is_postgresql(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def test_processes_of_the_version_before_take_a_reviewer_for_a_member(
    app: Flask, world: World, database: Database
) -> None:
    world.category("tools")
    ada, bea, eve = world.reviewer("tools"), world.reviewer(), world.reviewer()
    world.user(), world.admin()
    everybody = {"member": 4, "admin": 1}
    with app.app_context():
        assert roles() == roles("user_counts") == everybody
        with pytest.raises(IntegrityError, match="role"):
            write("UPDATE users SET role = 'reviewer'")
        db.session.rollback()
        for role in ("admin", "member"):  # an administrator of that version changes the role of ada, and deletes eve
            write(f"UPDATE users SET role = '{role}' WHERE id = {ada.id}")
        write(f"UPDATE users SET role = 'member', status = 'suspended', deleted_at = created_at WHERE id = {eve.id}")
        left = select(User.id, User.role).where(or_(User.is_reviewer, User.review_categories.is_not(None)))
        assert db.session.execute(left).all() == [(bea.id, Role.REVIEWER)]
        db.session.remove()
        flask_migrate.downgrade(revision="0008")
        assert roles() == roles("user_counts") == everybody
        db.session.remove()
        flask_migrate.upgrade()
        assert db.session.execute(left).all() == []


def write(statement: str) -> None:
    db.session.execute(text(statement))
    db.session.commit()


def roles(table: str = "users") -> dict[str, int]:
    """How many users have each stored role, by their rows or by the counters."""
    number = "count(*)" if table == "users" else "sum(users)"
    found = db.session.execute(text(f"SELECT role, {number} FROM {table} GROUP BY role")).all()
    return {role: int(size) for role, size in found if size}
