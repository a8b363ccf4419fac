"""Writes the keys of addresses and the search entries again, for a migration that comes with a new rule for them.

The rules are those of today and not copies: a later rule comes with a migration that rewrites again. On PostgreSQL each
portion is a transaction of its own: an edit waits for one portion, and all may be done again. A process of the previous
version that still writes meanwhile writes what its own rules give: `flask recount`, run after the last such process
ended, finds and repairs that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Connection, Row, text

from directory.db import schema_changes
from directory.db.schema_changes import in_short_transaction
from directory.services.equal_addresses import url_keys

_PROJECTS = sa.table(
    "projects",
    *(sa.column(name) for name in ("id", "owner_id", "title", "tagline", "description", "url", "url_key")),
    sa.column("tags", sa.JSON),
)
_P = _PROJECTS.c
POSTGRESQL = ("UPDATE project_search SET document = CAST(:document AS tsvector) WHERE project_id = :id",)
SQLITE = (
    "REPLACE INTO project_search (rowid, title, brief, description) VALUES (:id, :title, :brief, :description)",
    "REPLACE INTO project_search_brief (rowid, title, brief) VALUES (:id, :title, :brief)",
)
# Counts of matches that processes have stored are of the words before.
_REMOVALS = text("INSERT INTO project_search_removals VALUES (:number)")
_TAKEN = text("SELECT id FROM projects WHERE owner_id = :owner_id AND url_key = :key AND id <> :id")
_PROJECT = text("UPDATE projects SET url_key = :key WHERE id = :id")
_LOG = text("UPDATE audit_entries SET url_key = :key WHERE url_key = :old")

Entry = Callable[[Any], Mapping[str, Any]]
Rows = Sequence[Row[Any]]


def rewrite_words(columns: Entry, vector: Entry, concerns: Callable[[Any], bool] = lambda _project: True) -> None:
    """Write the search entries of the projects that it `concerns`: SQLite's by `columns`, PostgreSQL's by `vector`."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    statements, entry = (SQLITE, columns) if sqlite else (POSTGRESQL, vector)

    def write(bind: Connection, projects: Rows) -> None:
        rows = [{"id": project.id, **entry(project)} for project in projects]
        for statement in statements:
            bind.execute(text(statement), rows)
        bind.execute(_REMOVALS, {"number": len(rows)})

    _rewrite(concerns, write)


def rewrite_keys() -> None:
    """Compute the keys of addresses again, of projects and of the log's entries.

    Where two projects of one owner have become equal, the later one gets a key apart, so that nothing is lost.
    """
    _rewrite(lambda project: project.url_key not in url_keys(project), _write_keys)


def _write_keys(bind: Connection, projects: Rows) -> None:
    for project in projects:
        key, apart = url_keys(project)
        taken = bind.execute(_TAKEN, {"owner_id": project.owner_id, "key": key, "id": project.id}).first()
        bind.execute(_PROJECT, {"key": apart if taken else key, "id": project.id})
        bind.execute(_LOG, {"key": key, "old": project.url_key})


def _rewrite(concerns: Callable[[Any], bool], write: Callable[[Connection, Rows], None]) -> None:
    """Write for the projects that it concerns, a portion at a time, in the order of their ids.

    Those that are added meanwhile are left to `flask recount`: they might come faster than this goes on.
    """
    if op.get_bind().dialect.name == "sqlite":  # a migration is one transaction
        _rewrite_each(op.get_bind(), concerns, write, lambda work: work())
        return
    with op.get_context().autocommit_block():
        bind = op.get_bind()
        _rewrite_each(bind, concerns, write, lambda work: in_short_transaction(bind, work))


def _rewrite_each(
    bind: Connection,
    concerns: Callable[[Any], bool],
    write: Callable[[Connection, Rows], None],
    transact: Callable[[Callable[[], None]], None],
) -> None:
    def rewrite(ids: list[int]) -> None:
        # Read again under a lock, so that nothing is written of a text that is changing.
        locked = sa.select(_PROJECTS).where(_P.id.in_(ids)).order_by(_P.id).with_for_update(key_share=True)
        if projects := bind.execute(locked).all():
            write(bind, projects)

    last, highest = 0, bind.execute(sa.select(sa.func.max(_P.id))).scalar() or 0
    some = sa.select(_PROJECTS).where(_P.id > sa.bindparam("last"), _P.id <= highest).order_by(_P.id)
    while projects := bind.execute(some.limit(schema_changes.AT_ONCE), {"last": last}).all():
        last = projects[-1].id
        if ids := [project.id for project in projects if concerns(project)]:
            transact(partial(rewrite, ids))
