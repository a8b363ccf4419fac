"""Every change of a table that a public answer reads changes the snapshot; and a look at it reads little, always."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection, inspect, text

from directory.cache.snapshot_source import SnapshotSource
from directory.db.engine import BUSY_TIMEOUT
from directory.db.snapshots import PostgresqlSnapshotReader, open_reader
from directory.extensions import db
from directory.http.cache_policy import CacheTags
from tests.conftest import Database
from tests.support import quiet_reads
from tests.support.caching import cache_of
from tests.support.factories import Api, World
from tests.support.lists import ORDERS, THIS_YEAR, by_each_filter

on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
# No public answer shows these; the last is computed from others.
HIDDEN = {
    "users": {
        "email", "email_verified_at", "may_rename", "notify", "password_hash", "deleted_at",
        "review_categories", "is_reviewer", "role_source", "local_role", "local_categories", "must_verify",
        "feed_key_hash", "language",
    },
    "projects": {"listed_at", "repository_key", "domain", "text_key"},
}  # fmt: skip
UNSEEN = {"project_search_removals"}  # tells whether matches have to be counted again, not how many there are
CHANGED = {
    "tag_counts": "tag",
    "categories": "name",
    "category_slugs": "slug",
    "users": "username",
    "project_tags": "tag",
    "standings": "upvotes",
    "field_definitions": "place",
    "field_counts": "live_projects",
}
NARROWED = by_each_filter(status="live", category="tools", tag="a", owner="someone", q="project", published=THIS_YEAR)


def paths(app: Flask, project: int, cursors: dict[str, str]) -> Iterator[str]:
    """Every public answer that is cached, the list under every parameter that it takes."""
    for sort in ORDERS:
        for narrowed in (*NARROWED, "limit=1"):
            yield f"/api/projects?sort={sort}&{narrowed}"
        yield f"/api/projects?sort={sort}&category=tools&tag=a&q=project"
        yield f"/api/projects?sort={sort}&limit=1&page=2"
        yield f"/api/projects?sort={sort}&limit=1&cursor={cursors[sort]}"
    yield "/api/projects?q=project"
    for rule in app.url_map.iter_rules():
        view: Any = app.view_functions[rule.endpoint]
        if (
            "GET" in (rule.methods or ()) and view.access == "public" and view.operation.etag and rule.rule != "/forgot"
        ):  # without mail it is absent
            path = (
                re.sub("<id:[^>]*>", str(project), rule.rule)
                .replace("<title>", "shown-project")
                .replace("<code>", "not_found")
                .replace("<published>", THIS_YEAR)
                .replace("<slug>", "tools")
                .replace("<tag>", "a")
                .replace("<field:field>", "a_field")
                .replace("<published>", THIS_YEAR)
            )
            yield re.sub("<(username:)?username>", "someone", path)
    yield "/api/tags?prefix=a"


@pytest.fixture
def tables(app: Flask, world: World, api: Api, statements: Any) -> set[str]:
    """The tables in the statements that public answers run."""
    project = world.project(owner=world.user("someone"), title="Shown project", tags=["a"], votes=2)
    world.project(tags=["a"])
    world.field()
    with app.app_context(), db.engine.begin() as connection:  # as a project with a choice has it counted
        connection.execute(text("INSERT INTO field_counts SELECT 'a_field', 'choice', 0, min(id), 1 FROM categories"))
    category = world.category("renamed")
    assert world.caller(world.admin()).put(f"/api/admin/categories/{category}", {"slug": "later"}).status_code == 200
    found = {sort: api.get(f"/api/projects?limit=1&sort={sort}") for sort in ORDERS}
    cursors = {sort: answer.json["pagination"]["next_cursor"] for sort, answer in found.items()}
    statements.clear()
    for path in paths(app, project, cursors):
        assert api.get(path).status_code == 200, path
    with app.app_context():
        names = inspect(db.engine).get_table_names()
    return {
        name
        for name in names
        if name not in UNSEEN and any(re.search(rf"(?i)(from|join) {name}\b", one) for one in statements)
    }


def test_public_answers_read_these_tables(tables: set[str], database: Database) -> None:
    assert tables - ({"project_search_brief"} if database.backend == "sqlite" else set()) == {
        "projects", "categories", "category_slugs", "users", "project_tags", "project_search", "standings",
        "tag_counts", "field_definitions", "field_counts",
    }  # fmt: skip


@contextmanager
def unhindered(app: Flask) -> Iterator[Connection]:
    """A transaction in which no foreign key stands in the way, and no table's trigger writes to another by chance."""
    with app.app_context(), db.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.connection.execute("PRAGMA foreign_keys=OFF")  # type: ignore[attr-defined]
            with connection.execution_options(**{BUSY_TIMEOUT: 4_000}).begin():
                yield connection
            connection.connection.execute("PRAGMA foreign_keys=ON")  # type: ignore[attr-defined]
            return
        with connection.execution_options(isolation_level="READ COMMITTED").begin():
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            yield connection


def put(connection: Connection) -> str:
    """To insert; on SQLite, where triggers cannot be switched off, also where they have inserted some already."""
    return "INSERT OR IGNORE" if connection.dialect.name == "sqlite" else "INSERT"


def columns(app: Flask, table: str) -> list[str]:
    with app.app_context():
        found = inspect(db.engine).get_columns(table)
    return [column["name"] for column in found if "computed" not in column]


def is_seen(app: Flask, change: Callable[[], None]) -> bool:
    """Whether an answer from before the change, with any project on it, is no longer valid after it."""
    with app.app_context():
        source = SnapshotSource(db.engine)
    before = source.snapshot()
    change()
    after = source.snapshot()
    source.close()
    assert before is not None
    assert after is not None
    return not after.changes.is_unaffected(CacheTags((1, 2), 0, 10**6), before.number)


def test_every_insertion_and_deletion_is_seen(app: Flask, tables: set[str]) -> None:
    for table in tables:
        names = ", ".join(columns(app, table))
        with app.app_context(), db.engine.connect() as connection:
            rows = [row._mapping for row in connection.execute(text(f"SELECT {names} FROM {table}"))]
        assert rows, table
        in_json = {"label", "help"}
        given = [
            {k: json.dumps(v) if isinstance(v, list) or k in in_json else v for k, v in row.items()} for row in rows
        ]

        def delete(table: str = table) -> None:
            with unhindered(app) as connection:
                connection.execute(text(f"DELETE FROM {table}"))

        def insert(table: str = table, names: str = names, given: list[dict[str, Any]] = given) -> None:
            values = ", ".join(f":{name}" for name in given[0])
            with unhindered(app) as connection:
                connection.execute(text(f"{put(connection)} INTO {table} ({names}) VALUES ({values})"), given)

        assert is_seen(app, delete), f"a deletion from {table}"
        assert is_seen(app, insert), f"an insertion into {table}"


def test_every_update_is_seen(app: Flask, tables: set[str], database: Database) -> None:
    """By a statement that names the column, on PostgreSQL; SQLite sees whether a byte of its file has changed."""
    if database.backend == "sqlite":
        updates = [
            f"UPDATE {table} SET {CHANGED.get(table, 'title')} = {CHANGED.get(table, 'title')} || '1'"
            for table in tables
        ]
    else:
        seen = {table: {*columns(app, table)} - HIDDEN.get(table, set()) for table in tables}
        updates = [f"UPDATE {table} SET {column} = {column}" for table in tables for column in seen[table]]
    for update in updates:

        def change(update: str = update) -> None:
            with unhindered(app) as connection:
                connection.execute(text(update))

        assert is_seen(app, change), update


@on_postgresql
def test_every_truncation_is_seen(app: Flask, tables: set[str]) -> None:
    """By each table's own trigger: a truncation that cascades would be seen by those of the others."""
    noting = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgtype & 32 <> 0 AND tgenabled = 'A'"
    with app.app_context(), db.engine.connect() as connection:
        assert {*connection.scalars(text(noting))} == tables
    for table in tables:

        def truncate(table: str = table) -> None:
            with unhindered(app) as connection:
                connection.execute(text(f"TRUNCATE {table} CASCADE"))

        assert is_seen(app, truncate), table


def test_a_repaired_standing_is_seen(app: Flask, world: World, api: Api) -> None:
    low, high = world.project(votes=1), world.project(votes=3)
    wrong = "UPDATE standings SET upvotes = 9 WHERE project_id = :id"
    with unhindered(app) as connection:
        connection.execute(text(wrong), {"id": low})
    path = "/api/projects?sort=upvotes"
    assert [item["id"] for item in api.get(path).json["items"]] == [low, high]
    assert app.test_cli_runner().invoke(args=["recount"]).exit_code == 1
    assert [item["id"] for item in api.get(path).json["items"]] == [high, low]


@on_postgresql
def test_a_vote_notes_itself_once_and_nothing_else(app: Flask, world: World) -> None:
    project = world.project()
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(text("DELETE FROM changes"))
        connection.execute(text("SELECT setseed(0)"))
    world.user()
    with app.app_context(), db.engine.connect() as connection:
        connection.execute(text("DELETE FROM changes"))
        explained = connection.scalar(
            text("EXPLAIN (ANALYZE, FORMAT JSON) UPDATE projects SET upvotes = 1, hot = hot + 1 WHERE id = :id"),
            {"id": project},
        )
        assert {trigger["Trigger Name"] for trigger in explained[0]["Triggers"]} == {"projects_ranked_over"}
        noted = connection.execute(text("SELECT project_id, low, high, category_id FROM changes")).all()
        category = connection.scalar(text("SELECT category_id FROM projects"))
    assert noted in ([(project, 0, 1, category)], [(None, None, None, None)])  # the latter once in a thousand


@on_postgresql
def test_a_transaction_notes_once_that_anything_may_have_changed(app: Flask, world: World) -> None:
    for status in ("pending", "live"):
        world.project(status=status, tags=["one", "two"])
    with app.app_context(), db.engine.connect() as connection:
        of_anything = "SELECT count(*) FROM changes WHERE project_id IS NULL GROUP BY transaction"
        assert {*connection.scalars(text(of_anything))} == {1}


@on_postgresql
@pytest.mark.response_cache
def test_a_vote_leaves_the_pages_of_other_categories_stored(app: Flask, world: World, api: Api) -> None:
    world.project(category="tools", votes=1), world.project(category="tools", votes=2)
    tool, game, voter = world.project(category="tools"), world.project(category="games"), world.user()
    cache, query = cache_of(app), "category=tools&sort=upvotes&limit=2"

    def is_stored() -> bool:
        return cache.store.peek(("http", "/api/projects", query, ""), cache.snapshots.snapshot()) is not None

    api.get(f"/api/projects?{query}")
    world.vote(game, voter)
    assert is_stored()
    world.vote(tool, voter)
    assert not is_stored()


@on_postgresql
def test_a_vote_for_a_project_without_a_standing_is_seen_and_makes_it(app: Flask, world: World, api: Api) -> None:
    project, voter = world.project(), world.user()
    with unhindered(app) as connection:
        connection.execute(text("DELETE FROM standings"))
    assert api.get(f"/api/projects/{project}").json["upvotes"] == 0
    world.vote(project, voter)
    assert api.get(f"/api/projects/{project}").json["upvotes"] == 1
    assert [item["upvotes"] for item in api.get("/api/projects?sort=upvotes").json["items"]] == [1]


NOTES = 5_000


@on_postgresql
def test_a_transaction_left_open_makes_no_read_of_the_changes_dearer(app: Flask, world: World) -> None:
    """Its age decides what is in progress; a read covers what has changed since the last one, and no more."""
    world.project()
    with app.app_context(), in_transaction() as forgotten, db.engine.connect() as others:
        forgotten.execute(text("SELECT pg_current_xact_id()"))
        note = f"INSERT INTO changes (project_id, low, high) SELECT 1, 1, 2 FROM generate_series(1, {NOTES})"
        others.execute(text(note))
        others.execute(text("DELETE FROM changes WHERE ctid IN (SELECT ctid FROM changes LIMIT 2000)"))
        reader = open_reader(db.engine)
        snapshot, _ = reader.read(None, 1.0)
        assert rows_read(reader, snapshot) == (1, [])
        others.execute(text("INSERT INTO changes (project_id, low, high) VALUES (7, 1, 2)"))
        rows, [moved] = rows_read(reader, snapshot)
        assert (rows, moved.project_id) == (1, 7)
        reader.close()


@contextmanager
def in_transaction() -> Iterator[Connection]:
    with db.engine.connect() as connection, connection.execution_options(isolation_level="READ COMMITTED").begin():
        yield connection


@on_postgresql
def test_the_changes_of_a_transaction_in_progress_are_seen_when_it_ends(app: Flask) -> None:
    with app.app_context(), db.engine.connect() as slow, db.engine.connect() as others:
        reader = open_reader(db.engine)
        with slow.execution_options(isolation_level="READ COMMITTED").begin():
            slow.execute(text("INSERT INTO changes (project_id, low, high) VALUES (5, 1, 2)"))
            others.execute(text("INSERT INTO changes (project_id, low, high) VALUES (6, 1, 2)"))
            snapshot, _ = reader.read(None, 1.0)
            again, moved = reader.read(snapshot, 1.0)
            assert (again, moved) == (snapshot, [])
        snapshot, moved = reader.read(snapshot, 1.0)
        assert [each.project_id for each in moved or ()] == [5]
        assert reader.read(snapshot, 1.0)[1] == []
        reader.close()


@on_postgresql
def test_a_quiet_database_is_asked_for_the_snapshot_alone(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    with app.app_context(), db.engine.connect() as others:
        reader = open_reader(db.engine)
        note = text("INSERT INTO changes (project_id, low, high) VALUES (7, 1, 2)")
        quiet_reads.check(monkeypatch, reader, lambda: others.execute(note))
        reader.close()


@on_postgresql
def test_a_read_of_very_many_changes_is_bounded(app: Flask) -> None:
    with app.app_context(), db.engine.connect() as others:
        reader = open_reader(db.engine)
        snapshot, _ = reader.read(None, 1.0)
        note = f"INSERT INTO changes (project_id, low, high) SELECT 1, 1, 2 FROM generate_series(1, {NOTES})"
        others.execute(text(note))
        rows, moved = rows_read(reader, snapshot)
        assert (rows, moved) == (PostgresqlSnapshotReader.MAX_CHANGES + 1, None)
        reader.close()


def rows_read(reader: Any, snapshot: Any) -> tuple[int, Any]:
    """How many rows a read of the snapshot returned, after a check of the blocks it read, and the changes in them."""
    connection = reader.connection.dbapi_connection
    arguments = snapshot.decode().join("''")
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {reader.CHANGES.decode()} ({arguments})"
    [[plan]] = [json.loads(row[0]) if isinstance(row[0], str) else row[0] for row in connection.execute(explain)]
    blocks = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    rows = plan["Plan"]["Actual Rows"]
    scans = [each for each in nodes(plan["Plan"]) if each.get("Relation Name") == "changes"]
    assert {each["Node Type"] for each in scans} <= {"Index Scan", "Bitmap Heap Scan"}
    assert not any(each[key] for each in scans for key in each if "Removed" in key)
    assert blocks < 15 + rows
    return int(rows), reader.read(snapshot, 1.0)[1]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)
