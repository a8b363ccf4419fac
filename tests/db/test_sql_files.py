"""The functions and triggers are those of `directory/db/sql`, in a new database as in one that was upgraded."""

import re
from collections.abc import Iterator

import flask_migrate
import pytest
from alembic.script import ScriptDirectory
from flask import Flask
from sqlalchemy import event, text

from directory.db import sql_files
from directory.extensions import db
from directory.services import health
from tests.conftest import Database
from tests.support.factories import World
from tests.support.migrating import Run
from tests.support.schema import Schema, schema
from tests.support.variants import BACKENDS

pytestmark = [pytest.mark.direct("migrates"), pytest.mark.usefixtures("at_head_afterwards")]
REFUSED = re.compile(r"\brefusing\(([^)]*)")
NAME = re.compile(r"CREATE (?:OR REPLACE )?(FUNCTION|TRIGGER) (\w+)")


def found(app: Flask) -> Schema:
    with app.app_context(), db.engine.connect() as connection:
        return schema(connection)


def upgraded(app: Flask, *, start: str) -> Schema:
    """The schema after going down to a migration and up again."""
    with app.app_context():
        db.session.remove()
        flask_migrate.downgrade(revision=start)
        flask_migrate.upgrade(revision="0008")
        flask_migrate.upgrade()
        flask_migrate.check()
    return found(app)


def stamp(app: Flask, revision: str) -> None:
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


def stamped(app: Flask) -> str:
    with app.app_context(), db.engine.connect() as connection:
        return str(connection.scalar(text("SELECT version_num FROM alembic_version")))


@pytest.mark.parametrize("start", ["base", "0008"])
def test_a_database_that_is_upgraded_equals_a_new_one(app: Flask, database: Database, start: str) -> None:
    with app.app_context():
        flask_migrate.downgrade(revision="base")
        flask_migrate.upgrade()
    new = found(app)
    assert {kind for kind, rows in new.items() if not rows} == set()
    assert upgraded(app, start=start) == new


def test_a_new_database_is_made_in_one_step(app: Flask, database: Database) -> None:
    statements: list[str] = []
    with app.app_context():
        flask_migrate.downgrade(revision="base")
        with Run(lambda statement, _number: statements.append(statement)).listening():
            flask_migrate.upgrade()
    assert stamped(app) == health.heads()[0]
    assert not [each for each in statements if each.startswith(("ALTER TABLE project_search ADD", "DROP INDEX"))]
    assert sum("INSERT INTO alembic_version" in each for each in statements) == 1


def test_the_database_has_the_text_of_the_files_and_nothing_else(app: Flask, database: Database) -> None:
    dialect, has = database.backend, found(app)
    written = "\n".join(text for file in sql_files.names(dialect) for text in sql_files.statements(dialect, file))
    names = set(NAME.findall(written))
    if dialect == "sqlite":
        assert {sql for _, sql in has["triggers"]} == {
            statement for file in sql_files.names(dialect) for statement in sql_files.statements(dialect, file)
        }
        return
    functions, triggers = ([row[0] for row in has[kind]] for kind in ("functions", "triggers"))
    assert {re.sub(r"^.*?public\.(\w+).*", r"\1", each, flags=re.S) for each in functions} == {
        name for kind, name in names if kind == "FUNCTION"
    }
    assert {each.split()[2] for each in triggers} == {name for kind, name in names if kind == "TRIGGER"}
    for function in functions:
        body = function.partition("$function$")[2].rpartition("$function$")[0]
        assert body in written, function


def test_each_function_and_trigger_is_written_once() -> None:
    for dialect in BACKENDS:
        names = [each for file in sql_files.names(dialect) for each in written_in(dialect, file)]
        assert len(names) == len(set(names))
        assert len(names) > 20


def written_in(dialect: str, file: str) -> Iterator[tuple[str, str]]:
    yield from NAME.findall("\n".join(sql_files.statements(dialect, file)))


def test_no_migration_after_release_0_1_0_repeats_a_function_or_a_trigger() -> None:
    later = [path for path in (health.MIGRATIONS / "versions").glob("0*.py") if path.name > "0009"]
    assert later
    for path in later:
        repeated = re.findall(r"CREATE (?:OR REPLACE )?(?:FUNCTION|TRIGGER) [a-z]\w+", path.read_text())
        assert repeated == [], path


def test_a_file_that_no_dialect_has_is_refused(app: Flask, database: Database) -> None:
    with app.app_context(), db.engine.connect() as connection, pytest.raises(ValueError, match=r"no file nothing\.sql"):
        sql_files.install(connection, "nothing")


@pytest.mark.parametrize(
    ("number", "commit"),
    [
        ("0009", "f352d1e"), ("0032", "f352d1e"), ("0033", "f1eb7a00"), ("0034", "7b8409c9"), ("0036", "f1eb7a00"),
        ("0037", "f1eb7a00"), ("0055", "f1eb7a00"),
    ],
)  # fmt: skip
def test_a_database_between_two_releases_is_refused_with_the_commit_that_helps(
    app: Flask, database: Database, number: str, commit: str
) -> None:
    before = found(app)
    stamp(app, number)
    ran = app.test_cli_runner().invoke(args=["db", "upgrade"])
    assert ran.exit_code == 1
    assert ran.output.strip().splitlines()[-1] == (
        f"Error: The database is at migration {number}, between two releases. Check out commit {commit}, run "
        "`flask db upgrade` there, and then here again."
    )
    assert (stamped(app), found(app)) == (number, before)
    stamp(app, health.heads()[0])


def test_no_number_of_a_migration_between_the_releases_is_used_again() -> None:
    numbers = {script.revision for script in ScriptDirectory(str(health.MIGRATIONS)).walk_revisions()}
    assert numbers & {f"{number:04}" for number in range(9, 56)} == set()
    assert max(numbers) == health.heads()[0]


def test_an_upgrade_from_release_0_1_0_writes_each_search_entry_once(
    app: Flask, world: World, database: Database
) -> None:
    projects = [world.project() for _ in range(5)]
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        db.session.remove()
        wrote: list[int] = []

        def count(_conn: object, cursor: object, statement: str, *_rest: object) -> None:
            if re.match(r"(INSERT|REPLACE) INTO project_search ", statement):
                wrote.append(cursor.rowcount)  # type: ignore[attr-defined]

        event.listen(db.engine, "after_cursor_execute", count)
        flask_migrate.upgrade()
        event.remove(db.engine, "after_cursor_execute", count)
    assert sum(wrote) == len(projects)


def test_each_refusal_names_a_constraint_of_the_schema() -> None:
    tables = db.metadata.tables.values()
    known = {str(each.name) for table in tables for each in (*table.constraints, *table.indexes)}
    texts = [path.read_text(encoding="utf-8") for path in sql_files.FOLDER.rglob("*.sql")]
    code = "".join(path.read_text(encoding="utf-8") for path in sql_files.FOLDER.parents[1].rglob("*.py"))
    names = {name for given in REFUSED.findall(code) for name in re.findall(r"\b([a-z]+_\w+)=", given)}
    assert len(names) > 5
    assert {name for name in names - known if not any(name in each for each in texts)} == set()
