"""An upgrade from the schema of the first version with 3,000 projects, while processes of that version read and write.

The rows and the statements are those of that version, in SQL: its code is not here.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import flask_migrate
import pytest
from alembic.script import ScriptDirectory
from flask import Flask
from sqlalchemy import text

from directory.db.transactions import transaction
from directory.extensions import db
from directory.services import health
from directory.services.data import counter_checks, recount
from tests.conftest import Database
from tests.support.factories import World
from tests.support.migrating import Run

pytestmark = [pytest.mark.direct("migrates"), pytest.mark.usefixtures("at_head_afterwards")]

FIRST = "0008"  # the newest migration of that version
WHILE_WRITING = "0065"  # the last one that may run without READ_ONLY (docs/operations.md)
TIME = "2026-01-02 03:04:05.000000"
REAL = [
    json.loads(line) for line in (Path(__file__).parents[1] / "services/real_projects.jsonl").read_text().splitlines()
]
RANK = datetime.fromisoformat(f"{TIME}+00:00").timestamp() / 604_800  # of a project without votes
PROJECTS, USERS = 3_000, 300
USER = (
    "INSERT INTO users (id, username, email, password_hash, role, status, created_at) "
    "VALUES (:id, :name, :email, '', 'member', 'active', :at)"
)
PROJECT = (
    "INSERT INTO projects (owner_id, category_id, title, slug, tagline, description, url, url_key, tags, status, "
    "upvotes, hot, version, created_at, updated_at, submitted_at, published_at) VALUES (:owner, 1, :title, 'slug', "
    ":tagline, '', :url, :key, :tags, :status, 0, :hot, 1, :at, :at, :at, :published)"
)
INDEX = {
    "sqlite": (
        "INSERT OR REPLACE INTO project_search (rowid, title, brief, description) VALUES (:id, :title, :brief, '')"
    ),
    "postgresql": (
        "INSERT INTO project_search (project_id, document) VALUES (:id, to_tsvector('simple', :title || :brief)) "
        "ON CONFLICT (project_id) DO UPDATE SET document = excluded.document"
    ),
}
LOG = (
    "INSERT INTO audit_entries (action, at, actor_id, project_id, url_key) VALUES ('project.edited', :at, 1, :id, 'k')"
)
NOTICE = (
    "INSERT INTO deliveries (webhook_id, event, endpoint, project_id, payload, state, attempts, created_at, "
    "next_attempt_at) VALUES (:webhook, 'project.approved', 'hook', :id, '{}', 'pending', 0, :at, :at)"
)
READS = (
    (
        "SELECT id, title, tagline, url, tags, upvotes, hot, version, listed_at FROM projects WHERE status = 'live' "
        "ORDER BY hot DESC, id DESC LIMIT 20"
    ),
    (
        "SELECT p.id, u.username, c.slug FROM projects p JOIN users u ON u.id = owner_id JOIN categories c "
        "ON c.id = category_id WHERE p.id = 7"
    ),
    "SELECT count(*) FROM audit_entries WHERE project_id = 7",
    "SELECT live_projects, pending_projects, rejected_projects FROM categories",
    "SELECT id FROM deliveries WHERE state = 'pending' ORDER BY next_attempt_at LIMIT 20",
)


def row(number: int) -> dict[str, Any]:
    """A project of the first version; the last ones wait for review."""
    real = REAL[number % len(REAL)]
    url = f"https://{number}.example/{real['title']}"
    waits = number % 30 == 0
    return {
        "hot": RANK, "owner": number % USERS + 1, "title": real["title"], "tagline": real["tagline"], "url": url,
        "at": TIME,
        "key": hashlib.sha256(url.encode()).hexdigest(), "tags": json.dumps(["cli", f"t{number % 50}"]),
        "status": "pending" if waits else "live", "published": None if waits else TIME,
    }  # fmt: skip


class OldProcess:
    """The reads and writes of a process of the first version."""

    def __init__(self, backend: str) -> None:
        self.backend, self.number = backend, PROJECTS
        self.touched: set[int] = set()

    def fill(self) -> None:
        """3,000 projects of 300 users, with votes."""
        users = [
            {"id": n, "name": f"user{n}", "email": f"user{n}@example.org", "at": TIME} for n in range(1, USERS + 1)
        ]
        with db.engine.begin() as connection:
            counts = "live_projects, pending_projects, rejected_projects"
            category = (
                f"INSERT INTO categories (slug, name, description, {counts}) VALUES ('tools', 'Tools', '', 0, 0, 0)"
            )
            connection.exec_driver_sql(category)
            connection.execute(text(USER), users)
            connection.execute(text(PROJECT), [row(number) for number in range(PROJECTS)])
            rows = "SELECT id, {} FROM projects WHERE true"
            if self.backend == "sqlite":
                columns = "(rowid, title, brief, description)"
                connection.exec_driver_sql(
                    f"INSERT INTO project_search {columns} {rows.format('title, tagline, description')}"
                )
            else:
                document = "to_tsvector('simple', title || ' ' || tagline)"
                connection.exec_driver_sql(f"INSERT INTO project_search {rows.format(document)}")
                connection.exec_driver_sql(f"SELECT setval('users_id_seq', {USERS})")
                connection.exec_driver_sql("SELECT setval('categories_id_seq', 1)")

    def visit(self) -> None:
        """Read, submit, approve, edit and vote, as its requests do."""
        self.number += 1
        project = {**row(self.number), "status": "pending", "published": None}
        self.read()
        with db.engine.begin() as connection:
            new = connection.execute(text(f"{PROJECT} RETURNING id"), project).scalar_one()
            index = {"id": new, "title": project["title"], "brief": project["tagline"]}
            connection.execute(text(INDEX[self.backend]), index)
            live = "UPDATE projects SET status = 'live', published_at = :at, version = version + 1 WHERE id = :id"
            connection.execute(text(live), {"id": new, "at": TIME})
            edit = "UPDATE projects SET tagline = 'Edited', tags = :tags, version = version + 1 WHERE id = :id"
            connection.execute(text(edit), {"id": new - 5, "tags": '["cli", "new"]'})
            connection.execute(text(LOG), {"id": new, "at": TIME})
            connection.execute(text(NOTICE), {"id": new, "at": TIME, "webhook": f"msg_{new}"})
        self.touched |= {new, new - 5}
        self.vote(7, self.number % USERS + 1)
        self.vote(new, 1)

    def read(self) -> None:
        with db.engine.begin() as connection:
            for read in READS:
                connection.execute(text(read)).all()

    def vote(self, project: int, voter: int) -> None:
        """On PostgreSQL by the function of that version."""
        with db.engine.begin() as connection:
            if self.backend == "postgresql":
                connection.exec_driver_sql(f"SELECT * FROM vote({project}, {voter}, 'cast', now())")
                return
            cast = f"INSERT INTO upvotes (user_id, project_id, created_at) VALUES ({voter}, {project}, '{TIME}')"
            connection.exec_driver_sql(cast)
            rank = "log10(upvotes + 2) + strftime('%s', listed_at) / 604800.0"
            connection.exec_driver_sql(f"UPDATE projects SET hot = {rank}, upvotes = upvotes + 1 WHERE id = {project}")


def upgrade(old: OldProcess, revisions: list[str]) -> None:
    """Upgrade migration by migration, with a visit after each, and in the end with reads alone."""
    if old.backend == "postgresql":  # in two runs, which is faster; a visit comes before a migration is noted as done

        def after_each(work: Callable[[], None]) -> Run:
            return Run(lambda statement, _number: work() if statement.startswith("UPDATE alembic_version") else None)

        with after_each(old.visit).listening():
            flask_migrate.upgrade(revision=WHILE_WRITING)
        with after_each(old.read).listening():
            flask_migrate.upgrade()
        return
    for revision in revisions:  # each is a transaction, which locks the database
        flask_migrate.upgrade(revision=revision)
        db.session.remove()
        (old.visit if revision <= WHILE_WRITING else old.read)()


def test_the_first_version_serves_while_it_is_upgraded_and_the_new_one_goes_on(
    app: Flask, world: World, database: Database
) -> None:
    old = OldProcess(database.backend)
    with app.app_context():
        flask_migrate.downgrade(revision=FIRST)
        db.session.remove()
        old.fill()
        scripts = ScriptDirectory(str(health.MIGRATIONS)).walk_revisions(FIRST, "head")
        revisions = [script.revision for script in scripts][::-1][1:]
        upgrade(old, revisions)
        visits = sum(revision <= WHILE_WRITING for revision in revisions)
        touched = sorted(old.touched)
        faults = recount.look(lambda number: number > 0).faults
        # What that version does not write, until `flask recount` is run once its last process has ended.
        assert {fault.kind for fault in faults} <= {"search", "url_key", "domain", "text_key"}
        assert {fault.project_id for fault in faults} <= old.touched
        transaction(lambda: recount.confirm(touched, repair=True))
        assert transaction(lambda: recount.confirm(touched, repair=False)) == []
        assert counter_checks.look_beside() == []
    caller = world.caller(world.user("ada"))
    found = caller.get("/api/projects?limit=1")
    live = PROJECTS - PROJECTS // 30 + visits
    assert (found.status_code, found.json["pagination"]["total"]) == (200, live)
    assert caller.get("/api/projects/7").json["upvotes"] == visits
    assert caller.put("/api/projects/7/upvote").json["upvotes"] == visits + 1
    assert caller.get(f"/api/projects?q={REAL[1]['title']}&limit=1").json["items"][0]["title"] == REAL[1]["title"]
