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

from directory.db.portions import Portions
from directory.db.schema_changes import in_portion
from directory.services.text.equal_addresses import repository_key, url_keys

_NAMES = ("id", "owner_id", "title", "tagline", "description", "url", "repository_url", "url_key")
_PROJECTS = sa.table("projects", *map(sa.column, _NAMES), sa.column("tags", sa.JSON))
# From migration 0034 on.
_WITH_REPOSITORIES = sa.table("projects", *map(sa.column, (*_NAMES, "repository_key")))
POSTGRESQL = ("UPDATE project_search SET document = CAST(:document AS tsvector) WHERE project_id = :id",)
SQLITE = (
    "REPLACE INTO project_search (rowid, title, brief, description) VALUES (:id, :title, :brief, :description)",
    "REPLACE INTO project_search_brief (rowid, title, brief) VALUES (:id, :title, :brief)",
)
# Counts of matches that processes have stored are of the words before.
_REMOVALS = text("INSERT INTO project_search_removals VALUES (:number)")
_TAKEN = "SELECT id FROM projects WHERE owner_id = :owner_id AND url_key = :key AND id <> :id"
_DUPLICATE = text(f"{_TAKEN} AND (repository_key = CAST(:repository AS VARCHAR(64))) IS NOT FALSE")
_REPOSITORY = text("UPDATE projects SET repository_key = :repository WHERE id = :id")
_PROJECT = text("UPDATE projects SET url_key = :key WHERE id = :id")
_LOG = text("UPDATE audit_entries SET url_key = :key WHERE url_key = :old")

Entry = Callable[[Any], Mapping[str, Any]]
Entries = Sequence[tuple[Row[Any], Any]]  # projects, each with what is written of it


def rewrite_words(
    columns: Entry,
    vector: Entry,
    concerns: Callable[[Any], bool] = lambda _project: True,
    statements: Sequence[str] = (),
) -> None:
    """Write the search entries of the projects that it `concerns`: SQLite's by `columns`, PostgreSQL's by `vector`.

    `statements` are those of a migration from before the tables of today.
    """
    sqlite = op.get_bind().dialect.name == "sqlite"
    today, entry = (SQLITE, columns) if sqlite else (POSTGRESQL, vector)

    def write(bind: Connection, projects: Entries) -> None:
        rows = [{"id": project.id, **made} for project, made in projects]
        for statement in statements or today:
            bind.execute(text(statement), rows)
        if not statements:
            bind.execute(_REMOVALS, {"number": len(rows)})

    _rewrite("words of search", concerns, entry, write)


def rewrite_keys() -> None:
    """Compute the keys of addresses of projects and of the log again; for migrations from before keys of repositories.

    Where two projects of one owner have become equal, the later one gets a key apart, so that nothing is lost.
    """
    _rewrite("keys of addresses", lambda project: project.url_key not in url_keys(project), url_keys, _write_keys)


def rewrite_all_keys() -> None:
    """Compute the keys of addresses and of repositories again, as `rewrite_keys` does."""
    _rewrite("keys of addresses", _has_old_key, _all_keys, _write_all_keys, _WITH_REPOSITORIES)


def _has_old_key(project: Any) -> bool:
    key, apart, repository = _all_keys(project)
    return project.url_key not in (key, apart) or project.repository_key != repository


def _all_keys(project: Any) -> tuple[str, str, str | None]:
    return (*url_keys(project), repository_key(project.repository_url))


def _write_keys(bind: Connection, projects: Entries) -> None:
    for project, (key, apart) in projects:
        taken = bind.execute(text(_TAKEN), {"owner_id": project.owner_id, "key": key, "id": project.id}).first()
        _write_key(bind, project, key, apart if taken else key)


def _write_all_keys(bind: Connection, projects: Entries) -> None:
    bind.execute(_REPOSITORY, [{"id": project.id, "repository": repository} for project, (*_, repository) in projects])
    for project, (key, apart, repository) in projects:
        if project.url_key not in (key, apart):
            given = {"owner_id": project.owner_id, "key": key, "id": project.id, "repository": repository}
            _write_key(bind, project, key, apart if bind.execute(_DUPLICATE, given).first() else key)


def _write_key(bind: Connection, project: Any, key: str, own: str) -> None:
    bind.execute(_PROJECT, {"key": own, "id": project.id})
    bind.execute(_LOG, {"key": key, "old": project.url_key})


def _rewrite(
    step: str,
    concerns: Callable[[Any], bool],
    make: Callable[[Any], Any],
    write: Callable[[Connection, Entries], None],
    table: sa.TableClause = _PROJECTS,
) -> None:
    """Make and write the entries of the projects that it concerns, a portion at a time, in the order of their ids.

    Those that are added meanwhile are left to `flask recount`: they might come faster than this goes on.
    """
    if op.get_bind().dialect.name == "sqlite":  # a migration is one transaction
        _rewrite_each(op.get_bind(), step, concerns, make, write, table)
        return
    with op.get_context().autocommit_block():
        _rewrite_each(op.get_bind(), step, concerns, make, write, table)


def _rewrite_each(
    bind: Connection,
    step: str,
    concerns: Callable[[Any], bool],
    make: Callable[[Any], Any],
    write: Callable[[Connection, Entries], None],
    table: sa.TableClause,
) -> None:
    def rewrite(before: dict[int, tuple[Row[Any], Any]]) -> None:
        # Read again under a lock, so that nothing is written of a text that has changed meanwhile or is changing.
        locked = sa.select(table).where(table.c.id.in_(before)).order_by(table.c.id).with_for_update(key_share=True)
        projects = bind.execute(locked).all()
        if projects:
            write(bind, [before[each.id] if each == before[each.id][0] else (each, make(each)) for each in projects])

    last, highest = 0, bind.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0
    portions = Portions(step, bind.execute(sa.select(sa.func.count()).select_from(table)).scalar() or 0)
    some = sa.select(table).where(table.c.id > sa.bindparam("last"), table.c.id <= highest).order_by(table.c.id)
    while projects := bind.execute(some.limit(portions.size), {"last": last}).all():
        last = projects[-1].id
        # What takes long is done before the transaction.
        if made := {project.id: (project, make(project)) for project in projects if concerns(project)}:
            _portion(bind, portions, len(projects), partial(rewrite, made))
        else:
            portions.took(0, len(projects))


def _portion(bind: Connection, portions: Portions, rows: int, work: Callable[[], None]) -> None:
    if bind.dialect.name == "postgresql":
        in_portion(bind, portions, rows, work)
        return
    began = portions.clock()
    work()
    portions.took(portions.clock() - began, rows)
