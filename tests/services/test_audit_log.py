"""The audit log: what an edit changed, and which project and user an entry is about."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text
from sqlalchemy.exc import DatabaseError

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry
from directory.services import categories
from tests.conftest import Statements
from tests.support.factories import Api, World

FIRST = {
    "title": "Datasette", "tagline": "Explore data", "description": "Old.\n" * 2_000, "url": "https://datasette.io/",
    "category": "tools", "repository_url": None, "logo_url": "https://datasette.io/logo.png", "tags": ["data", "cli"],
}  # fmt: skip
SECOND = {
    "title": "Daten 数据 🙂", "tagline": "Explore more", "description": "新しい\t🙂\n" + "x" * 9_994,
    "url": "http://www.datasette.io", "category": "games", "repository_url": "https://code.example/datasette",
    "logo_url": None, "tags": ["sql", "data"],
}  # fmt: skip


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin("root"))


@pytest.fixture
def owner(world: World) -> Api:
    for slug in ("tools", "games"):
        world.category(slug)
    return world.caller(world.user("bob"))


def log(admin: Api, query: str = "") -> list[dict[str, Any]]:
    return list(admin.get(f"/api/admin/audit?{query}").json["items"])


def test_every_field_that_an_edit_changed_is_in_the_log_whole(admin: Api, owner: Api) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    assert len(FIRST["description"]) == len(SECOND["description"]) == 10_000
    assert owner.put(path, SECOND).status_code == 200
    [edit, submission] = log(admin)
    assert edit["action"] == "project.edited"
    assert edit["changes"] == {name: {"from": FIRST[name], "to": SECOND[name]} for name in FIRST}
    assert submission["changes"] is None
    owner.put(path, {**SECOND, "tagline": " Explore mo\u0301re "})
    [history] = admin.get(f"/api/admin{path.removeprefix('/api')}/history?limit=1").json["items"]
    assert history["changes"] == {"tagline": {"from": "Explore more", "to": "Explore móre"}}
    assert history == log(admin)[0]
    owner.put(path, {"tags": ["data", "sql"]})
    assert log(admin)[0]["changes"] == {"tags": {"from": ["sql", "data"], "to": ["data", "sql"]}}


def test_a_category_is_named_by_the_slug_that_it_had_then(app: Flask, admin: Api, owner: Api) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    owner.put(path, {"category": "games", "title": "Datasette"})
    with app.app_context():
        transaction(lambda: categories.change("tools", {"slug": "utilities"}))
    assert log(admin)[0]["changes"] == {"category": {"from": "tools", "to": "games"}}


def test_only_an_edit_that_changes_something_has_changes(world: World, admin: Api, owner: Api) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    decided = f"/api/admin{path.removeprefix('/api')}"
    assert owner.put(path, FIRST).status_code == 200
    for word in ("reject", "reject"):
        admin.put(f"{decided}/{word}", {"reason": "No."})
    owner.put(path, {"tagline": "Better"})
    for word in ("approve", "unpublish"):
        admin.put(f"{decided}/{word}")
    owner.delete(path)
    admin.put(f"/api/admin/users/{world.user().id}", {"role": "admin", "status": "suspended"})
    entries = log(admin)
    assert [entry["action"] for entry in entries if entry["changes"] is not None] == ["project.edited"]
    assert len(entries) == 8


def test_an_entry_names_its_project_as_it_was_and_its_user_as_they_are(
    app: Flask, world: World, admin: Api, owner: Api
) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    number = int(path.rpartition("/")[2])
    admin.put(f"/api/admin/projects/{number}/approve")
    owner.put(path, {"title": "Second"})
    admin.put(f"/api/admin/projects/{number}/approve")
    admin.put(path, {"title": "Third"})
    assert owner.delete(path).status_code == 204
    eve = world.user("eve")
    admin.put(f"/api/admin/users/{eve.id}", {"status": "suspended"})
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(text("UPDATE users SET username = 'renamed' WHERE username = 'eve'"))
    status, *entries = log(admin)
    assert (status["project"], status["project_id"]) == (None, None)
    assert (status["user"], status["user_id"]) == ({"id": eve.id, "username": "renamed"}, eve.id)
    titles = ["Third", "Third", "Second", "Datasette", "Datasette", "Datasette"]
    assert [entry["project"] for entry in entries] == [{"id": number, "title": title} for title in titles]
    assert {(entry["user"], entry["user_id"], entry["project_id"]) for entry in entries} == {(None, None, number)}
    assert admin.get(f"/api/admin/projects/{number}/history").json["items"] == entries


def test_entries_from_before_titles_were_recorded_have_none(app: Flask, admin: Api) -> None:
    with app.app_context(), db.engine.begin() as connection:
        at = "2026-01-02 03:04:05.000000"
        connection.execute(
            text("INSERT INTO audit_entries (action, at, project_id) VALUES ('project.edited', :at, 4711)"), {"at": at}
        )
    [entry] = log(admin)
    assert (entry["project"], entry["changes"]) == ({"id": 4711, "title": None}, None)


@pytest.mark.parametrize("change", ["changes = NULL", "project_title = 'x'", "changes = '{}'"])
def test_the_database_refuses_to_rewrite_what_was_changed(app: Flask, admin: Api, owner: Api, change: str) -> None:
    assert owner.put(owner.post("/api/projects", FIRST).headers["Location"], SECOND).status_code == 200
    before = log(admin)
    commands = [f"UPDATE audit_entries SET {change}", "DELETE FROM audit_entries WHERE changes IS NOT NULL"]
    with app.app_context():
        if db.engine.dialect.name == "postgresql":
            commands.append("TRUNCATE audit_entries")
        for command in commands:
            with pytest.raises(DatabaseError, match="append-only"), db.engine.begin() as connection:
                connection.execute(text(command))
    assert log(admin) == before


def test_what_is_no_edit_has_no_value_rather_than_a_json_null(app: Flask, owner: Api) -> None:
    owner.post("/api/projects", FIRST)
    with app.app_context():
        assert db.session.scalar(select(AuditEntry.id).where(AuditEntry.changes.is_(None))) is not None


@pytest.mark.parametrize(("changes", "statements_"), [({"tagline": "x"}, 8), ({"category": "games"}, 11)])
def test_the_changes_cost_a_statement_where_the_category_is_one_of_them(
    owner: Api, statements: Statements, migrated: Any, changes: dict[str, str], statements_: int
) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    statements.clear()
    assert owner.put(path, changes).status_code == 200
    # Who calls, may they, the two locks, the change, the log, the answer; the new slug twice and the old one, or the
    # index, which is two tables on SQLite.
    indexes = int("tagline" in changes and migrated.backend == "sqlite")
    assert len(statements) == statements_ + indexes


def test_each_way_to_narrow_the_log_goes_on_and_back_by_cursor(world: World, admin: Api) -> None:
    bob = world.user("bob")
    owner, project = world.caller(bob), world.project(bob, "pending")
    for number in range(3):
        owner.put(f"/api/projects/{project}", {"tagline": f"Tagline {number}"})
        for other in (bob, world.user()):
            admin.put(f"/api/admin/users/{other.id}", {"role": ("admin", "member")[number % 2]})
        world.project(bob)
    whole = log(admin, "limit=100")
    narrowed = {
        "action=project.edited": lambda entry: entry["action"] == "project.edited",
        f"project_id={project}": lambda entry: entry["project_id"] == project,
        f"user_id={bob.id}": lambda entry: entry["user_id"] == bob.id,
        f"actor_id={bob.id}": lambda entry: (entry["actor"] or {}).get("id") == bob.id,
        f"actor_id={bob.id}&action=project.submitted": lambda entry: (
            entry["action"] == "project.submitted" and entry["actor"]["id"] == bob.id
        ),
    }
    for query, belongs in narrowed.items():
        pages, cursor = [], ""
        while cursor is not None:
            page = admin.get(f"/api/admin/audit?{query}&limit=2{cursor and f'&cursor={cursor}'}").json
            pages.append(page["items"])
            cursor = page["pagination"]["next_cursor"]
        expected = [entry for entry in whole if belongs(entry)]
        assert len(expected) > 2
        assert [entry for items in pages for entry in items] == expected
        back = page["pagination"]["prev_cursor"]
        assert log(admin, f"{query}&limit=2&cursor={back}") == pages[-2]
        assert admin.get(f"/api/admin/audit?limit=2&cursor={back}").status_code == 422


@pytest.mark.parametrize("size", [1, 7])
def test_a_page_of_the_log_is_one_statement(
    world: World, admin: Api, owner: Api, statements: Statements, size: int
) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    for number in range(6):
        owner.put(path, {"tagline": f"Tagline {number}"})
    project = path.rpartition("/")[2]
    for url in ("/api/admin/audit?", f"/api/admin/projects/{project}/history?", f"/api/projects/{project}/timeline?"):
        admin.get(url)
        statements.clear()
        assert len(admin.get(f"{url}limit={size}").json["items"]) == size
        assert len(statements) == (3 if "timeline" in url else 2)  # who calls, may they see the project, the page
