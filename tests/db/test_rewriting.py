"""The migration from release 0.1.0 writes keys and search entries again, a portion at a time, while others write."""

from typing import Any

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import select, text

from directory.db import portions, rewriting
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from directory.services.catalog import search_index
from directory.services.text.equal_addresses import key_apart, url_key
from tests.conftest import Database
from tests.support.factories import World
from tests.support.migrating import Run

pytestmark = pytest.mark.direct("migrates")
on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)  # SQLite has one writer
TITLES = ["Plain", "ٱلرحمن", "น้ำ", "ײדיש", "Hatching \U0001fac8"]


def derived(app: Flask, database: Database) -> tuple[list[Any], list[Any]]:
    """The search entries and the keys of all projects."""
    columns = {"sqlite": "rowid, title, brief, description", "postgresql": "project_id, CAST(document AS text)"}
    with app.app_context():
        entries = db.session.execute(text(f"SELECT {columns[database.backend]} FROM project_search ORDER BY 1")).all()
        keys = db.session.execute(select(Project.id, Project.url_key).order_by(Project.id)).all()
        db.session.remove()
    return list(map(tuple, entries)), list(map(tuple, keys))


def spoil(app: Flask, database: Database, projects: list[int]) -> None:
    """Give projects the search entries and keys of another rule."""
    sqlite = database.backend == "sqlite"
    entry = {"title": "old", "brief": "old", "description": "old"} if sqlite else {"document": "'old':1A"}
    with app.app_context():

        def write() -> None:
            for project in projects:
                for statement in rewriting.SQLITE[:1] if sqlite else rewriting.POSTGRESQL:
                    db.session.execute(text(statement), {"id": project, **entry})
                db.session.execute(text("UPDATE projects SET url_key = id WHERE id = :id"), {"id": project})

        flask_migrate.downgrade(revision="0008")
        db.session.remove()
        transaction(write)


def test_the_migration_gives_words_and_keys_of_the_new_rules(
    app: Flask, world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, "AT_ONCE", 2)
    projects = [world.project(title=title, tagline="?", description="?") for title in TITLES]
    right = derived(app, database)
    spoil(app, database, projects[1:])
    with app.app_context():
        flask_migrate.upgrade()
        db.session.remove()
    assert derived(app, database) == right
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


def test_the_migration_of_accents_writes_the_titles_that_have_some(
    app: Flask, world: World, database: Database
) -> None:
    plain, accented = (world.project(title=title) for title in ("Noderouge", "nodérouge"))
    right = derived(app, database)
    sqlite = database.backend == "sqlite"
    entry = {"title": "old", "brief": "old", "description": "old"} if sqlite else {"document": "'old':1A"}
    with app.app_context():
        flask_migrate.downgrade(revision="0062")
        flask_migrate.downgrade()
        for statement in rewriting.SQLITE if sqlite else rewriting.POSTGRESQL:
            db.session.execute(text(statement), [{"id": each, **entry} for each in (plain, accented)])
        db.session.commit()
        flask_migrate.upgrade()
        db.session.remove()
    found = derived(app, database)[0]
    assert found[1] == right[0][1]
    assert found[0] != right[0][0], "it is as it was"


def test_of_two_projects_of_one_owner_that_became_equal_the_later_one_has_a_key_apart(
    app: Flask, world: World, database: Database
) -> None:
    ada = world.user()
    addresses = "https://example.com/a?mtm_source=x", "https://example.com/a", "https://example.com/a?srsltid=1"
    projects = [world.project(ada, url=f"https://example.com/{n}") for n in range(3)]
    spoil(app, database, projects)
    with app.app_context():
        for project, url in zip(projects, addresses, strict=True):
            db.session.execute(text("UPDATE projects SET url = :url WHERE id = :id"), {"url": url, "id": project})
        db.session.commit()
        flask_migrate.upgrade()
        db.session.remove()
    apart = [key_apart(url, project) for url, project in zip(addresses, projects, strict=True)]
    assert [key for _, key in derived(app, database)[1]] == [url_key(addresses[0]), *apart[1:]]
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


@on_postgresql
def test_a_text_that_changes_between_reading_and_writing_is_indexed_as_it_is_then(
    app: Flask, world: World, database: Database
) -> None:
    project = world.project(title="ٱلرحمن", tagline="?", description="?")
    spoil(app, database, [project])

    def change(statement: str, _number: int) -> None:
        if statement == "BEGIN":
            with db.engine.begin() as connection:
                connection.exec_driver_sql(f"UPDATE projects SET title = 'ٱلباب' WHERE id = {project}")

    with app.app_context():
        with Run(change).listening():
            flask_migrate.upgrade()
        db.session.remove()
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


@on_postgresql
def test_no_word_is_computed_while_rows_are_locked(
    app: Flask, world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = [world.project(title=title) for title in TITLES]
    spoil(app, database, projects)
    made: list[bool] = []

    def vector(project: Any) -> dict[str, Any]:
        made.append(run.is_inside)
        return original(project)

    original, run = search_index.vector, Run(lambda *_: None)
    monkeypatch.setattr(search_index, "vector", vector)
    with app.app_context():
        with run.listening():
            flask_migrate.upgrade()
        db.session.remove()
    assert made
    assert not any(made)


@on_postgresql
def test_a_project_that_is_deleted_between_reading_and_writing_is_passed_over(
    app: Flask, world: World, database: Database
) -> None:
    project, other = world.project(title="ٱلرحمن"), world.project(title="Plain")
    spoil(app, database, [])

    def delete(statement: str, _number: int) -> None:
        if statement == "BEGIN":
            with db.engine.begin() as connection:
                connection.exec_driver_sql(f"DELETE FROM projects WHERE id = {project}")

    with app.app_context():
        with Run(delete).listening():
            flask_migrate.upgrade()
        db.session.remove()
    assert [each for each, _ in derived(app, database)[1]] == [other]
