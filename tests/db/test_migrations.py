"""Migrations: up and down on both databases, in step with the models; and what the schema itself enforces."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import flask_migrate
import pytest
from alembic.script import ScriptDirectory
from flask import Flask
from sqlalchemy import bindparam, event, func, inspect, select, text
from sqlalchemy.exc import DatabaseError, IntegrityError

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Approval, Message, Project, ReviewClaim, now
from directory.services import health
from directory.services.data import recount
from directory.services.review import moderation
from tests.conftest import ENVIRONMENT, Database
from tests.support.factories import Api, World
from tests.support.migrating import Run
from tests.support.waiting import until

pytestmark = pytest.mark.direct("migrates")


@pytest.fixture(autouse=True)
def _at_head_afterwards(app: Flask) -> Any:
    yield
    with app.app_context():
        db.session.remove()
        flask_migrate.upgrade()


def test_the_models_and_the_migrations_say_the_same(app: Flask) -> None:
    with app.app_context():
        flask_migrate.check()


def test_the_newest_migration_is_known_from_the_numbers_of_the_files() -> None:
    assert health.heads() == tuple(ScriptDirectory(str(health.MIGRATIONS)).get_heads())


def test_all_migrations_but_the_last_have_to_be_there_for_this_version() -> None:
    numbers = sorted(path.name[:4] for path in (health.MIGRATIONS / "versions").glob("[0-9]*.py"))
    assert numbers[-2] == health.NEEDED  # the last one only drops what the version before reads


def test_it_is_migrated_from_wherever_the_command_is_given(database: Database, tmp_path: Path) -> None:
    (tmp_path / "migrations").mkdir()
    app = str(health.MIGRATIONS.parent / "wsgi.py")
    command = [sys.executable, "-m", "flask", "--app", app, "db", "current"]
    environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": database.url}
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert f"{health.heads()[0]} (head)" in said


def test_a_server_loads_no_alembic(database: Database) -> None:
    code = "import sys, wsgi; print({'alembic', 'flask_migrate', 'requests'} & {*sys.modules})"
    environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": database.url}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=health.MIGRATIONS.parent, env=environment, capture_output=True
    )
    assert (ran.stdout.strip(), ran.stderr) == (b"set()", b"")


COLUMN = 'db.Column("colour", db.String(20))'
WRITES = f"""
import sys, click, flask_migrate
from wsgi import app
from directory.extensions import db
from directory.models import Approval, Message, Project
db.metadata.tables["projects"].append_column({COLUMN})
if "stricter" in sys.argv:
    db.metadata.tables["projects"].c.repository_url.nullable = False
with app.app_context():
    try:
        flask_migrate.migrate(directory=sys.argv[1], rev_id="9999")
    except click.ClickException as error:
        sys.exit(error.format_message())
"""


def write_migration(database: Database, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `flask db migrate` on a copy of the migrations, for models with one column more."""
    shutil.copytree(health.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": database.url}
    command = [sys.executable, "-c", WRITES, str(folder), *arguments]
    return subprocess.run(command, cwd=health.MIGRATIONS.parent, env=environment, capture_output=True, text=True)


def test_a_new_column_makes_a_migration_that_runs_in_both_directions(
    app: Flask, world: World, database: Database, tmp_path: Path
) -> None:
    world.project()
    assert write_migration(database, tmp_path / "migrations").returncode == 0
    before = schema(app)
    with app.app_context():
        flask_migrate.upgrade(directory=str(tmp_path / "migrations"))
        added = db.session.execute(text("SELECT colour, listed_at FROM projects")).all()
        db.session.remove()
        flask_migrate.downgrade(directory=str(tmp_path / "migrations"))
    assert [(colour, listed_at is None) for colour, listed_at in added] == [(None, False)]
    assert schema(app) == before


def test_a_migration_that_one_database_cannot_run_is_refused_with_the_way_to_write_it(
    database: Database, tmp_path: Path
) -> None:
    ran = write_migration(database, tmp_path / "migrations", "stricter")
    assert ran.returncode == 1
    message = ran.stderr.strip().splitlines()[-1]
    assert message.startswith("AlterColumn of projects.repository_url cannot be done by one ALTER on both databases")
    assert "0056_since_release_0_1_0.py" in message
    assert not list((tmp_path / "migrations" / "versions").glob("9999*"))


def schema(app: Flask) -> list[Any]:
    """The tables with their columns, and the triggers."""
    with app.app_context(), db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            return connection.execute(text("SELECT type, name, tbl_name FROM sqlite_master ORDER BY 1, 2")).all()
        triggers = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"
        columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        return [*connection.execute(text(triggers)), *sorted(connection.execute(text(columns)))]


def test_every_step_goes_down_and_up_again(app: Flask) -> None:
    with app.app_context():
        flask_migrate.downgrade(revision="base")
        assert set(inspect(db.engine).get_table_names()) == {"alembic_version"}
        if db.engine.dialect.name == "postgresql":
            with db.engine.connect() as connection:
                left = "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
                assert connection.scalars(text(left)).all() == []
        flask_migrate.upgrade()
        flask_migrate.check()


def test_a_migration_that_rebuilds_a_table_keeps_its_children(app: Flask, world: World, database: Database) -> None:
    if database.backend == "postgresql":
        return  # there ALTER TABLE changes a table in place
    world.project(votes=2)
    with app.app_context():
        before = db.session.scalar(text("SELECT count(*) FROM upvotes"))
        db.session.remove()
        with db.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        flask_migrate.downgrade(revision="0001")
        flask_migrate.upgrade()
        assert db.session.scalar(text("SELECT count(*) FROM upvotes")) == before == 2


def test_the_standings_include_what_is_written_while_they_are_filled(
    app: Flask, world: World, database: Database
) -> None:
    if database.backend == "sqlite":
        return  # there a migration holds the only write lock
    voted, gone, fans = world.project(), world.project(), [world.user().id for _ in range(2)]
    # By SQL, for the rules write to tables and columns of later migrations.
    copied = (
        "owner_id, category_id, title, slug, tagline, description, url, tags, status, hot, version, created_at, "
        "updated_at, submitted_at, published_at"
    )
    added = (
        f"INSERT INTO projects ({copied}, url_key, upvotes) SELECT {copied}, 'x', 0 FROM projects WHERE id = {voted}"
    )

    def meanwhile(_conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement == "ANALYZE standings":  # of the previous version, which has not all of today's columns
            run(app, f"SELECT vote({voted}, {fans[0]}, 'cast', now())")
            run(app, f"DELETE FROM projects WHERE id = {gone}")
            run(app, added)
            run(app, f"SELECT vote(max(id), unnest(ARRAY{fans}), 'cast', now()) FROM projects")

    with app.app_context():
        flask_migrate.downgrade(revision="0006")
        event.listen(db.engine, "before_cursor_execute", meanwhile)
        flask_migrate.upgrade()
        event.remove(db.engine, "before_cursor_execute", meanwhile)
        assert recount.look(lambda number: number > 0) == (2, 3, [])


def test_what_was_there_before_is_found_by_search_after_going_down_and_up(app: Flask, world: World, api: Api) -> None:
    title, tagged = world.project(title="Grüße vom See"), world.project(tags=["wörter"], status="pending")
    with app.app_context():
        flask_migrate.downgrade(revision="0001")
        flask_migrate.upgrade()
        assert recount.look(lambda number: number > 0) == (2, 0, [])
        transaction(lambda: moderation.decide(tagged, "approve", by=None, notify=[]))
    for words, project in (("GRUSSE see", title), ("worter", tagged)):
        assert [one["id"] for one in api.get("/api/projects", query_string={"q": words}).json["items"]] == [project]


def test_the_present_reasons_of_decisions_become_the_first_entries_of_threads_as_read(app: Flask, world: World) -> None:
    ada = world.user()
    rejected, down, _ = world.project(ada, "rejected"), world.project(ada), world.project(ada, "pending")
    with app.app_context():
        transaction(lambda: moderation.decide(down, "unpublish", by=None, notify=[], terms=moderation.Terms("Sold.")))
        flask_migrate.downgrade(revision="0008")
        flask_migrate.upgrade()
        columns = (Message.project_id, Message.sender, Message.kind, Message.text, Message.author_id, Message.unread_by)
        found = [tuple(row) for row in db.session.execute(select(*columns, Message.at).order_by(Message.id))]
        decided = dict(db.session.execute(select(Project.id, Project.updated_at)).all())
    assert found == [
        (rejected, "reviewers", "rejected", "Not yet.", None, None, decided[rejected]),
        (down, "reviewers", "unpublished", "Sold.", None, None, decided[down]),
    ]


def test_what_owners_wrote_last_before_the_upgrade_is_unanswered_and_the_trigger_keeps_it_in_any_order(
    app: Flask, world: World
) -> None:
    ada = world.user()
    first, second, third = (world.project(ada, "pending") for _ in range(3))
    wrote = (
        "INSERT INTO messages (id, project_id, at, sender, kind, text) VALUES (:id, :project, :at, :sender, :kind, '')"
    )
    unanswered = "SELECT id FROM messages WHERE is_unanswered ORDER BY id"

    def write(number: int, project: int, sender: str, kind: str = "message") -> None:
        entry = {"id": number, "project": project, "at": now(), "sender": sender, "kind": kind}
        db.session.execute(text(wrote).bindparams(bindparam("at", type_=Message.at.type)), entry)

    with app.app_context():
        for revision in ("0059", "-1"):
            flask_migrate.downgrade(revision=revision)
        for entry in ((11, first, "owner"), (12, first, "reviewers", "note"), (13, second, "owner")):
            write(*entry)
        for entry in ((14, second, "reviewers"), (15, third, "reviewers"), (16, third, "owner")):
            write(*entry)
        db.session.commit()
        flask_migrate.upgrade()
        assert [*db.session.scalars(text(unanswered))] == [11, 16]
        for entry in ((22, second, "owner"), (21, second, "reviewers"), (20, second, "owner")):
            write(*entry)
        assert [*db.session.scalars(text(unanswered))] == [11, 16, 22]
        write(23, second, "service", "approved")
        assert [*db.session.scalars(text(unanswered))] == [11, 16]
        db.session.commit()


def test_a_downgrade_drops_approvals_and_claims_and_a_submission_waits_as_before(app: Flask, world: World) -> None:
    ada, bea, pending = world.admin(), world.admin(), world.project(status="pending")
    waiting = "SELECT id, status, version FROM projects ORDER BY id"
    with app.app_context():
        before = db.session.execute(text(waiting)).all()
    world.approve(pending, ada)
    claim = ReviewClaim(project_id=pending, user_id=ada.id, version=1, until=now() + timedelta(minutes=15))
    with app.app_context():
        transaction(lambda: db.session.add(claim))
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        assert {"approvals", "review_claims"}.isdisjoint(inspect(db.engine).get_table_names())
        assert db.session.execute(text(waiting)).all() == before
        db.session.remove()
        flask_migrate.upgrade()
    world.approve(pending, bea)
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(ReviewClaim)) == 0
        given = select(Approval.project_id, Approval.user_id)
        assert [tuple(row) for row in db.session.execute(given)] == [(pending, bea.id)]
        assert db.session.execute(text(waiting)).all() == before


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_nothing_waits_while_the_indexes_of_log_and_urls_are_built(app: Flask, world: World) -> None:
    """An old transaction holds the build up; callers do not wait behind it meanwhile."""
    held, voted, fan = world.project(), world.project(), world.user().id
    entries = "SELECT id, action, project_id FROM audit_entries ORDER BY id"
    building = (
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONC%' AND wait_event_type = 'Lock'"
    )

    def upgrade() -> None:
        with app.app_context(), Run(begin).listening():
            flask_migrate.upgrade()

    begun: list[str] = []

    def begin(statement: str, _number: int) -> None:
        if statement.startswith("DROP INDEX CONCURRENTLY") and not begun:
            begun.append(statement)
            old.exec_driver_sql("BEGIN")
            old.exec_driver_sql(f"UPDATE projects SET tagline = 'x' WHERE id = {held}")

    with app.app_context():
        before = db.session.execute(text(entries)).all()
        db.session.remove()
        flask_migrate.downgrade(revision="0008")
        with ThreadPoolExecutor(1) as pool, db.engine.connect() as old, db.engine.connect() as other:
            upgraded = pool.submit(upgrade)
            until(lambda: other.scalar(text(building)) == 1)
            # In SQL, because the rules of today read columns that this old schema lacks.
            other.exec_driver_sql(f"SELECT vote({voted}, {fan}, 'cast', now())")
            other.exec_driver_sql(f"UPDATE projects SET tagline = 'y' WHERE id = {voted}")
            other.exec_driver_sql("INSERT INTO audit_entries (action, at) VALUES ('project.edited', now())")
            assert other.scalar(text(f"SELECT upvotes FROM projects WHERE id = {voted}")) == 1
            assert not upgraded.done()
            old.exec_driver_sql("ROLLBACK")
            upgraded.result()
        after = db.session.execute(text(f"{entries} LIMIT {len(before)}")).all()
    assert after == before
    assert world.caller(world.admin()).get("/api/admin/audit?limit=1").json["items"][0]["action"] == "project.edited"


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_an_index_that_was_not_finished_is_built_again(app: Flask) -> None:
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_projects_url_key'::regclass"
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        run(app, "CREATE INDEX ix_projects_url_key ON projects (url_key)")
        run(app, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_projects_url_key'::regclass")
        flask_migrate.upgrade()
        assert db.session.scalar(text(valid))


def run(app: Flask, statement: str) -> None:
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(text(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE projects SET status = 'gone'", "UPDATE projects SET upvotes = -1", "UPDATE users SET role = 'root'",
        "UPDATE projects SET published_at = NULL", "UPDATE users SET status = 'gone'",
        "UPDATE projects SET owner_id = 999", "DELETE FROM users", "DELETE FROM categories",
        "UPDATE categories SET live_projects = -1", "INSERT INTO upvotes SELECT * FROM upvotes",
        "UPDATE users SET username = 'same'", "UPDATE users SET email = 'same'",
    ],
)  # fmt: skip
def test_the_database_refuses_invalid_rows(app: Flask, world: World, statement: str) -> None:
    world.project(votes=2)
    with pytest.raises(IntegrityError):
        run(app, statement)


@pytest.mark.parametrize("statement", ["DELETE FROM audit_entries", "UPDATE audit_entries SET reason = 'x'"])
def test_the_log_is_append_only(app: Flask, world: World, statement: str) -> None:
    world.project()
    with pytest.raises(DatabaseError, match="append-only"):
        run(app, statement)


def test_deleting_a_project_deletes_its_votes_and_tags(app: Flask, world: World) -> None:
    world.project(votes=2, tags=["a", "b"])
    run(app, "DELETE FROM projects")
    with app.app_context():
        for table in ("upvotes", "project_tags"):
            assert db.session.scalar(text(f"SELECT count(*) FROM {table}")) == 0
