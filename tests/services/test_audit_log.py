"""The audit log: what an edit changed, and which project and user an entry is about."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text
from sqlalchemy.exc import DatabaseError

from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import log_files
from directory.models import AuditEntry
from directory.services import audit
from directory.services.catalog import categories
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
        transaction(lambda: categories.change("tools", {"slug": "utilities"}, by=None))
    renamed, edited, *_ = log(admin)
    assert (renamed["action"], edited["action"]) == ("category.changed", "project.edited")
    assert edited["changes"] == {"category": {"from": "tools", "to": "games"}}


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


@pytest.mark.parametrize(("changes", "statements_"), [({"tagline": "x"}, 13), ({"category": "games"}, 16)])
def test_the_changes_cost_a_statement_where_the_category_is_one_of_them(
    owner: Api, statements: Statements, migrated: Any, changes: dict[str, str], statements_: int
) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    statements.clear()
    assert owner.put(path, changes).status_code == 200
    # Who calls, may they, the locks of the account, the project and its case, the change, the log, the facts for rules
    # (3), the bytes of the day, the answer; the new slug twice and the old one, or the index, which is two tables on
    # SQLite.
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


@pytest.fixture
def told(world: World, admin: Api) -> dict[str, int]:
    """Entries of 2026-01-01 to -04 about projects of bob and eve, by their titles."""
    bob, eve = world.user("bob"), world.user("eve")
    projects = {
        title: world.project(owner, "pending", title=title)
        for title, owner in (("Lantern", bob), ("Łódź 100%", eve), ("=cmd|' /C calc'!A0", bob), ("Kept", bob))
    }
    for day, (title, word) in enumerate((("Lantern", "approve"), ("Łódź 100%", "reject"), ("Kept", "reject")), 1):
        admin.put(f"/api/admin/projects/{projects[title]}/{word}", {"reason": "Spam, ÄRGERLICH"} if day == 2 else {})
    admin.put(f"/api/admin/users/{eve.id}", {"status": "suspended"})
    return projects


def dated(app: Flask) -> None:
    """Spread the entries over days: the first is of 2026-01-01, the others follow by a day each."""
    with app.app_context(), db.engine.begin() as connection:
        entries = [
            dict(row._mapping) for row in connection.execute(select(AuditEntry.__table__).order_by(AuditEntry.id))
        ]
        connection.execute(text("INSERT INTO audit_retention VALUES ('2100-01-01 00:00:00.000000')"))
        connection.execute(text("DELETE FROM audit_entries"))
        connection.execute(text("DELETE FROM audit_retention"))
        for day, entry in enumerate(entries):
            entry["at"] = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)
        connection.execute(AuditEntry.__table__.insert(), entries)


def actions(entries: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(entry["action"], entry["project"] and entry["project"]["title"]) for entry in entries]


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("q=lantern", ["Lantern", "Lantern"]),
        ("q=ANTER", ["Lantern", "Lantern"]),
        ("q=%C5%82%C3%B3d%C5%BA", ["Łódź 100%", "Łódź 100%"]),
        ("q=100%25", ["Łódź 100%", "Łódź 100%"]),
        ("q=%C3%A4rgerlich", ["Łódź 100%"]),
        ("q=spam", ["Łódź 100%"]),
        ("q=a_t", []),
        ("q=EVE", [None, "Łódź 100%"]),
        ("user=eve", [None]),
        ("user=Eve%20", [None]),
        ("user=nobody", []),
        ("actor=root&action=project.rejected", ["Kept", "Łódź 100%"]),
        ("actor=root&q=kept", ["Kept"]),
        ("actor=root&actor_id=999999", []),
        ("action=project.rejected&q=spam", ["Łódź 100%"]),
    ],
)
def test_the_log_is_narrowed_by_name_and_text(
    world: World, admin: Api, told: dict[str, int], query: str, titles: list[str | None]
) -> None:
    assert [title for _, title in actions(log(admin, query))] == titles


def test_the_log_can_leave_out_what_was_imported(app: Flask, world: World, admin: Api) -> None:
    project = world.project(status="pending")
    with app.app_context():
        transaction(lambda: [audit.record("project.imported", by=None, project_id=project) for _ in range(3)])
    own = [entry for entry in log(admin) if entry["action"] != "project.imported"]
    assert len(log(admin)) == len(own) + 3
    assert log(admin, "imports=false") == log(admin, "imports=false&limit=100") == own
    assert log(admin, f"imports=false&project_id={project}") == [e for e in own if e["project_id"] == project] != []
    assert log(admin, "imports=false&action=project.imported") == []
    assert len(log(admin, "action=project.imported")) == 3
    assert "imported" not in admin.get("/api/admin/audit.csv?imports=false").text
    assert admin.get("/api/admin/audit?imports=true").status_code == 422


def test_the_log_is_narrowed_by_day_and_time(app: Flask, world: World, admin: Api, told: dict[str, int]) -> None:
    dated(app)
    whole = log(admin, "limit=100")
    assert [entry["at"][:10] for entry in whole] == [f"2026-01-{day:02}" for day in range(len(whole), 0, -1)]
    for query, days in {
        "since=2026-01-03&until=2026-01-05": "543",
        "since=2026-01-03T12:00:00Z&until=2026-01-05T12:00:00Z": "43",
        "since=2026-01-03T13:00:01%2B01:00&until=2026-01-05": "54",
        "until=2026-01-02": "21",
        "since=2027-01-01": "",
        "since=2026-01-05&until=2026-01-03": "",
        "since=2026-01-01&until=2026-01-05&q=lantern": "51",
        "since=2026-01-01&until=2026-01-03&user=eve": "",
    }.items():
        assert "".join(entry["at"][9] for entry in log(admin, query)) == days, query
    assert log(admin, "since=0001-01-01&until=9999-12-31&limit=100") == whole
    for refused in ("since=2026-02-30", "until=yesterday", "since=2026-1-1", "actor=a%20b"):
        assert admin.get(f"/api/admin/audit?{refused}").status_code == 422, refused


@pytest.mark.parametrize(
    "query", ["q=lantern", "actor=root&q=lantern", "since=2020-01-01&q=lantern", "user=eve&action=user.status_changed"]
)
@pytest.mark.parametrize("limit", [1, 50])
def test_a_search_reads_the_log_part_by_part_on_and_back(
    world: World, admin: Api, told: dict[str, int], monkeypatch: pytest.MonkeyPatch, query: str, limit: int
) -> None:
    wanted = log(admin, query)
    assert wanted
    monkeypatch.setattr(audit, "READ_AT_ONCE", 2)
    found, cursor, pages = [], "", 0
    while cursor is not None:
        page = admin.get(f"/api/admin/audit?{query}&limit={limit}{cursor and f'&cursor={cursor}'}").json
        found, cursor, pages = found + page["items"], page["pagination"]["next_cursor"], pages + 1
        if page["items"]:
            last = page
    assert found == wanted
    assert pages > 1 or query.startswith(("user", "actor"))
    before, cursor = [], last["pagination"]["prev_cursor"]
    while cursor is not None:
        page = admin.get(f"/api/admin/audit?{query}&limit={limit}&cursor={cursor}").json
        before, cursor = page["items"] + before, page["pagination"]["prev_cursor"]
    assert before + last["items"] == wanted


def parts(admin: Api, query: str) -> list[str]:
    """The texts of the parts of the exported log."""
    found, path = [], f"/api/admin/audit.csv?{query}"
    while path:
        answer = admin.get(path)
        assert (answer.status_code, answer.content_type) == (200, "text/csv; charset=utf-8")
        assert answer.headers["Cache-Control"] == "no-store"
        found.append(answer.get_data(as_text=True))
        link = answer.headers.get("Link", "")
        assert link.endswith('>; rel="next"') or not link
        path = link.removeprefix("<").partition(">")[0]
    return found


def test_the_export_has_all_that_the_filters_find_and_no_formula(
    world: World, admin: Api, told: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    [whole] = parts(admin, "")
    monkeypatch.setattr(log_files, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(log_files, "PART_ROWS", 3)
    several = parts(admin, "")
    assert len(several) == 2
    assert "".join(several) == whole
    assert whole.startswith('\ufeff"id","at","action"')
    rows = list(csv.DictReader(io.StringIO(whole.removeprefix("\ufeff"))))
    entries = log(admin, "limit=100")
    assert [(int(row["id"]), row["at"], row["action"]) for row in rows] == [
        (entry["id"], entry["at"], entry["action"]) for entry in entries
    ]
    by_title = {row["project"]: row for row in rows}
    assert "'=cmd|' /C calc'!A0" in by_title
    assert "=cmd|' /C calc'!A0" not in by_title
    assert (rows[0]["actor"], rows[0]["user"], rows[0]["from"], rows[0]["to"], rows[0]["project"]) == (
        "root", "eve", "active", "suspended", "",
    )  # fmt: skip
    [narrowed] = parts(admin, "q=spam")
    assert [row["reason"] for row in csv.DictReader(io.StringIO(narrowed))] == ["Spam, ÄRGERLICH"]


def test_a_part_of_the_export_ends_where_it_is_large(
    world: World, admin: Api, owner: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = owner.post("/api/projects", FIRST).headers["Location"]
    for text_ in ("a", "b"):
        owner.put(path, {"description": text_ * 10_000})
    monkeypatch.setattr(log_files, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr(log_files, "PART_CHARACTERS", 10_000)
    assert [len(each) > 10_000 for each in parts(admin, "")] == [True, True, False]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", " =", "＝", "＋", "－", "＠"])
def test_a_cell_that_begins_as_a_formula_is_text(start: str) -> None:
    assert log_files._cell(f"{start}1+1") == f"'{start}1+1"
    assert log_files._cell(f"x{start}1") == f"x{start}1"


def test_the_export_is_for_administrators(world: World, api: Api, owner: Api) -> None:
    assert api.get("/api/admin/audit.csv").status_code == 401
    assert owner.get("/api/admin/audit.csv").status_code == 403
