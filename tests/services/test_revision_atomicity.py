"""A decision about what waits fails at each of its statements in turn: all of it is done or nothing, in every table."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from directory.extensions import db
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING

HELD = {"title": "Zebra", "url": "https://zebra.example", "tags": ["striped"], "category": "games"}
OF_PROJECT = "/api/projects/{project}"
CALLS: dict[str, tuple[str, str, Any]] = {
    "approve": ("PUT", "/api/admin/projects/{project}/approve", {"reason": "Fine."}),
    "reject": ("PUT", "/api/admin/projects/{project}/reject", {"reason": "No."}),
    "approve as the second of two": ("PUT", "/api/review/projects/{project}/approve", {"reason": "Fine."}),
    "approve a submission as the second of two": ("PUT", "/api/review/projects/{pending}/approve", None),
    "approve both": ("POST", "/api/admin/projects/decisions", {"decision": "approve", "ids": [1, 2]}),
    "merge": ("PUT", OF_PROJECT, {"title": "Okapi", "tagline": "Both"}),
    "withdraw": ("DELETE", f"{OF_PROJECT}/revision", None),
}
# Of the caller's credential, which a request reads and may note the use of.
UNTOUCHED = {"tokens", "sessions"}


class Broken(Exception):
    """The database ended here."""


class Breaking:
    """Fails the statement `at`, counted from 1, and every commit while `at` is a number; it counts the statements."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.statements = 0

    def note_statement(self, *_of_statement: Any) -> None:
        self.statements += 1
        if self.statements == self.at:
            raise Broken

    def note_commit(self, _session: Any) -> None:
        if self.at is not None:
            raise Broken


def rows(app: Flask) -> dict[str, list[Any]]:
    """Every row of every table, the search index included."""
    names = [table.name for table in db.metadata.sorted_tables if table.name not in UNTOUCHED]
    with app.app_context():
        return {
            name: sorted(map(str, db.session.execute(text(f"SELECT * FROM {name}"))))
            for name in [*names, "project_search"]
        }


@pytest.mark.parametrize("name", CALLS)
def test_whichever_statement_fails_all_is_as_before(make_app: Any, world: World, name: str) -> None:
    required = "2" if "of two" in name else "1"
    app = make_app(REVIEW_ON_EDIT="always", APPROVALS_REQUIRED=required, **NOTIFYING)
    world.category("games")
    ada = world.user()
    project = world.project(ada, title="Tool", url="https://t.example", tags=["a"], votes=1)
    world.revise(world.project(ada), ada, title="Beside it")
    world.revise(project, ada, **HELD)
    pending = world.project(ada, "pending")
    if "of two" in name:
        first = world.admin()
        for waiting in (project, pending):
            world.approve(waiting, first)
    method, path, body = CALLS[name]
    caller = Api(app, world.caller(ada if path.startswith(OF_PROJECT) else world.admin()).token)
    caller.get("/api/auth/me")
    with app.app_context():
        engine = db.engine
    before, breaking = rows(app), Breaking()
    places = (
        (engine, "before_cursor_execute", breaking.note_statement),
        (Session, "before_commit", breaking.note_commit),
    )

    def send(at: int | None) -> int:
        breaking.at, breaking.statements = at, 0
        return int(caller.call(method, path.format(project=project, pending=pending), body).status_code)

    for place in places:
        event.listen(*place)
    try:
        assert send(at=0) == 500  # which fails at its commit
        total = breaking.statements
        assert {send(at) for at in range(1, total + 1)} == {500}
        assert rows(app) == before
        assert send(None) in {200, 204}
    finally:
        for place in places:
            event.remove(*place)
    assert total > 5
    after = rows(app)
    changed = {table for table in after if after[table] != before[table]}
    assert {"audit_entries", "projects"} <= changed
    assert "reviews" in changed or "{pending}" in path
