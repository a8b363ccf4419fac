"""The keys of addresses: rewritten by the migration that changes their rule, and proved by `flask recount`."""

import hashlib
from typing import Any

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import select, text
from sqlalchemy.exc import DatabaseError, IntegrityError

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, Project
from directory.services.review import submissions
from directory.services.text.equal_addresses import key_apart, repository_key, url_key
from tests.conftest import Database
from tests.support.factories import World

pytestmark = pytest.mark.direct("migrates")
BEFORE = "0008"
# Addresses with what the previous version compared of each.
OLD = {
    "https://example.com/%7Eu": "example.com/%7Eu", "https://example.com/?b=1&a=2": "example.com?b=1&a=2",
    "https://github.com/A/B.git": "github.com/A/B.git", "https://example.org/plain": "example.org/plain",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _at_head_afterwards(app: Flask) -> Any:
    yield
    with app.app_context():
        db.session.remove()
        flask_migrate.upgrade()


def old_key(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()


def keys(app: Flask) -> dict[int, str]:
    with app.app_context():
        return dict(db.session.execute(select(Project.id, Project.url_key)).all())


def execute(app: Flask, statement: str, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(text(statement), values))


def give_log(app: Flask, database: Database, key: str) -> None:
    """Give all entries a key, at a version whose log changes in nothing."""
    sqlite = database.backend == "sqlite"
    execute(app, "DROP TRIGGER audit_entries_unchanged" if sqlite else "ALTER TABLE audit_entries DISABLE TRIGGER USER")
    execute(app, "UPDATE audit_entries SET url_key = :key", key=key)
    if not sqlite:
        execute(app, "ALTER TABLE audit_entries ENABLE TRIGGER USER")


def test_an_upgrade_gives_projects_and_their_entries_the_keys_of_the_new_rule(app: Flask, world: World) -> None:
    ids = {world.project(url=url): url for url in OLD}
    ada = world.user()
    first = world.project(ada, url="https://example.com/a")
    second = world.project(ada, url="https://example.com/b")
    with app.app_context():
        flask_migrate.downgrade(revision=BEFORE)
        db.session.remove()
    for project, url in ids.items():
        execute(app, "UPDATE projects SET url_key = :key WHERE id = :id", key=old_key(OLD[url]), id=project)
    # Of one owner, different before and equal by the new rule.
    execute(app, "UPDATE projects SET url = 'https://example.com/a?utm_source=x' WHERE id = :id", id=second)
    log = "INSERT INTO audit_entries (action, at, url_key) VALUES ('project.deleted', '2026-01-01 00:00:00', :key)"
    execute(app, log, key=old_key(OLD["https://example.com/%7Eu"]))
    with app.app_context():
        flask_migrate.upgrade()
        db.session.remove()
    found = keys(app)
    assert {project: found[project] for project in ids} == {project: url_key(url) for project, url in ids.items()}
    assert found[first] == url_key("https://example.com/a")
    assert found[second] == key_apart("https://example.com/a?utm_source=x", second)
    with app.app_context():
        deleted = select(AuditEntry.url_key).where(AuditEntry.action == "project.deleted")
        assert db.session.scalars(deleted).one() == url_key("https://example.com/~u")
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


def test_recount_finds_and_replaces_the_key_that_a_previous_version_wrote(app: Flask, world: World) -> None:
    ada = world.user()
    first, second = (world.project(ada, url=f"https://example.com/{name}") for name in "ab")
    execute(app, "UPDATE projects SET url_key = 'x' WHERE id = :id", id=first)
    execute(app, "UPDATE projects SET url_key = 'y', url = 'https://example.com/a#' WHERE id = :id", id=second)
    runner = app.test_cli_runner()
    checked = runner.invoke(args=["recount", "--check"])
    assert (checked.exit_code, checked.output.count("url_key")) == (1, 2)
    runner.invoke(args=["recount"])
    assert keys(app) == {first: url_key("https://example.com/a"), second: key_apart("https://example.com/a", second)}
    assert runner.invoke(args=["recount", "--check"]).exit_code == 0


def test_of_the_log_the_derived_key_alone_may_change(app: Flask, world: World) -> None:
    world.project()
    execute(app, "UPDATE audit_entries SET url_key = 'x'")
    for column in ("reason", "action", "project_title"):
        with pytest.raises(DatabaseError, match="append-only"):
            execute(app, f"UPDATE audit_entries SET {column} = 'x', url_key = 'y'")


def test_projects_of_one_website_survive_a_downgrade_and_the_next_id_stays(app: Flask, world: World) -> None:
    ada = world.user()
    site, repositories = "https://tool.example/", ["https://github.com/a/one", "https://github.com/A/two.git"]
    projects = [world.project(ada, url=site, repository_url=each, votes=1) for each in repositories]
    last = world.project(ada)
    with app.app_context():
        transaction(lambda: submissions.remove(last, by=ada, notify=[]))
        flask_migrate.downgrade(revision="0008")
        db.session.remove()
    with pytest.raises(IntegrityError):
        execute(app, "UPDATE projects SET url_key = 'one'")
    with app.app_context():
        flask_migrate.upgrade()
        db.session.remove()
    assert keys(app) == {projects[0]: url_key(site), projects[1]: url_key(site)}
    with app.app_context():
        stored = list(db.session.scalars(select(Project.repository_key).order_by(Project.id)))
    assert stored == list(map(repository_key, repositories))
    assert world.project(ada) == last + 1
    assert app.test_cli_runner().invoke(args=["recount", "--check"]).exit_code == 0


def test_an_upgrade_tells_apart_what_a_fragment_selects(app: Flask, world: World, database: Database) -> None:
    project = world.project(url="https://app.example/#/one")
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        db.session.remove()
    execute(app, "UPDATE projects SET url_key = :key", key=old_key("app.example"))
    give_log(app, database, old_key("app.example"))
    with app.app_context():
        flask_migrate.upgrade()
        db.session.remove()
        assert set(db.session.scalars(select(AuditEntry.url_key))) == {url_key("https://app.example/#/one")}
    assert keys(app) == {project: url_key("https://app.example/#/one")}


def test_recount_replaces_the_key_of_a_repository_and_keeps_duplicates_apart(app: Flask, world: World) -> None:
    ada = world.user()
    site, one = "https://tool.example", "https://github.com/a/one"
    first = world.project(ada, url=site, repository_url=one)
    second = world.project(ada, url=site, repository_url="https://github.com/a/two")
    execute(app, "UPDATE projects SET repository_url = :url WHERE id = :id", url=f"{one}.git", id=second)
    runner = app.test_cli_runner()
    checked = runner.invoke(args=["recount", "--check"])
    assert (checked.exit_code, checked.output.count("repository_key")) == (1, 1)
    runner.invoke(args=["recount"])
    assert keys(app) == {first: url_key(site), second: key_apart(site, second)}
    assert runner.invoke(args=["recount", "--check"]).exit_code == 0


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_upgrade_leaves_the_log_of_other_projects_with_the_key_that_one_of_them_keeps(
    app: Flask, world: World, database: Database, is_kept: bool
) -> None:
    """Two projects had one key, which the rule of today gives to one of them or to none."""
    apart = world.project(url="https://app.example/#/one")
    other = world.project(url="https://app.example/" if is_kept else "https://app.example/#/two")
    old = url_key("https://app.example/")
    with app.app_context():
        flask_migrate.downgrade(revision="0008")
        db.session.remove()
    execute(app, "UPDATE projects SET url_key = :key", key=old)
    give_log(app, database, old)
    log = "INSERT INTO audit_entries (action, at, url_key) VALUES ('project.deleted', '2026-01-01 00:00:00', :key)"
    execute(app, log, key=old)
    with app.app_context():
        flask_migrate.upgrade()
        db.session.remove()
        entries = select(AuditEntry.project_id, AuditEntry.url_key).distinct()
        found = dict(db.session.execute(entries).all())
    last = old if is_kept else url_key("https://app.example/#/two")
    assert found == {apart: url_key("https://app.example/#/one"), other: last, None: last}
