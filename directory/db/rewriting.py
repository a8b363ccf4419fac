"""Writes the keys of projects and the search entries again, for a migration that comes with a new rule for them.

Migrations hand in the rules of today, and not copies: a later rule comes with a migration that rewrites again. On
PostgreSQL each portion is a transaction of its own: an edit waits for one portion, and all may be done again. A process
of the previous version that still writes meanwhile writes what its own rules give: `flask recount`, run after the last
such process ended, finds and repairs that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Connection, Row, text

from directory.db.portions import Portions
from directory.db.schema_changes import in_portion

_TEXTS = ("title", "tagline", "author", "description", "url", "repository_url")
_NAMES = ("id", "owner_id", *_TEXTS, "url_key", "repository_key", "domain", "text_key")
_PROJECTS = sa.table("projects", *map(sa.column, _NAMES), sa.column("tags", sa.JSON))
POSTGRESQL = (
    (
        "INSERT INTO project_search (project_id, document) VALUES (:id, CAST(:document AS tsvector)) "
        "ON CONFLICT (project_id) DO UPDATE SET document = excluded.document"
    ),
)
SQLITE = (
    "REPLACE INTO project_search (rowid, title, brief, description) VALUES (:id, :title, :brief, :description)",
    "REPLACE INTO project_search_brief (rowid, title, brief) VALUES (:id, :title, :brief)",
)
# Counts of matches that processes have stored are of the words before.
_REMOVALS = text("INSERT INTO project_search_removals VALUES (:number)")
_DUPLICATE = text(
    "SELECT id FROM projects WHERE owner_id = :owner_id AND url_key = :key AND id <> :id "
    "AND (repository_key = CAST(:repository AS VARCHAR(64))) IS NOT FALSE"
)
_REPOSITORY = text("UPDATE projects SET repository_key = :repository WHERE id = :id")
_PROJECT = text("UPDATE projects SET url_key = :key WHERE id = :id")
_RULE_KEYS = text("UPDATE projects SET domain = :domain, text_key = :text_key WHERE id = :id")
_LOG = text("UPDATE audit_entries SET url_key = :key WHERE url_key = :old AND project_id = :id")
# Entries of deleted projects, and those that a project left behind with an address. They follow the last project that
# had the key, because the address of each is not known.
_REST_OF_LOG = text(
    "UPDATE audit_entries SET url_key = :key WHERE url_key = :old "
    "AND NOT EXISTS (SELECT 1 FROM projects WHERE url_key = :old)"
)

Entry = Callable[[Any], Mapping[str, Any]]
Keys = Callable[[Any], tuple[str, str, str | None]]  # of the address, one apart from duplicates, of the repository
RuleKeys = Callable[[Any], tuple[str | None, str | None]]  # the domain of the website, the digest of the description
Entries = Sequence[tuple[Row[Any], Any]]  # projects, each with what is written of it


def rewrite_words(columns: Entry, vector: Entry, concerns: Callable[[Any], bool] = lambda _project: True) -> None:
    """Write the search entries of the projects that it `concerns`: SQLite's by `columns`, PostgreSQL's by `vector`."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    statements, entry = (SQLITE, columns) if sqlite else (POSTGRESQL, vector)

    def write(bind: Connection, projects: Entries) -> None:
        rows = [{"id": project.id, **values} for project, values in projects]
        for statement in statements:
            bind.execute(text(statement), rows)
        bind.execute(_REMOVALS, {"number": len(rows)})

    _rewrite("words of search", concerns, entry, write)


def rewrite_keys(keys: Keys) -> None:
    """Compute the keys of addresses and repositories of projects again, and with them those of the log.

    Where two projects of one owner have become equal, the later one gets a key apart, so that nothing is lost.
    """

    def is_old(project: Any) -> bool:
        key, apart, repository = keys(project)
        return project.url_key not in (key, apart) or project.repository_key != repository

    _rewrite("keys of addresses", is_old, keys, _write_keys)


def rewrite_rule_keys(keys: RuleKeys) -> None:
    """Compute the keys of projects that rules count by again."""

    def is_old(project: Any) -> bool:
        return (project.domain, project.text_key) != keys(project)

    _rewrite("keys of rules", is_old, keys, _write_rule_keys)


def _write_rule_keys(bind: Connection, projects: Entries) -> None:
    rows = [{"id": project.id, "domain": domain, "text_key": key} for project, (domain, key) in projects]
    bind.execute(_RULE_KEYS, rows)


def _write_keys(bind: Connection, projects: Entries) -> None:
    bind.execute(_REPOSITORY, [{"id": project.id, "repository": repository} for project, (*_, repository) in projects])
    for project, (key, apart, repository) in projects:
        if project.url_key not in (key, apart):
            values = {"owner_id": project.owner_id, "key": key, "id": project.id, "repository": repository}
            is_taken = bind.execute(_DUPLICATE, values).first()
            bind.execute(_PROJECT, {"key": apart if is_taken else key, "id": project.id})
            moved = {"key": key, "old": project.url_key}
            bind.execute(_LOG, {**moved, "id": project.id})
            bind.execute(_REST_OF_LOG, moved)


def _rewrite(
    step: str,
    concerns: Callable[[Any], bool],
    make: Callable[[Any], Any],
    write: Callable[[Connection, Entries], None],
) -> None:
    """Make and write the entries of the projects that it concerns, a portion at a time, in the order of their ids.

    Those that are added meanwhile are left to `flask recount`: they might come faster than this goes on.
    """
    if op.get_bind().dialect.name == "sqlite":  # a migration is one transaction
        _rewrite_each(op.get_bind(), step, concerns, make, write)
        return
    with op.get_context().autocommit_block():
        _rewrite_each(op.get_bind(), step, concerns, make, write)


def _rewrite_each(
    bind: Connection,
    step: str,
    concerns: Callable[[Any], bool],
    make: Callable[[Any], Any],
    write: Callable[[Connection, Entries], None],
) -> None:
    table, every = _PROJECTS, _present(bind)

    def rewrite(before: dict[int, tuple[Row[Any], Any]]) -> None:
        # Read again under a lock, so that nothing is written of a text that has changed meanwhile or is changing.
        locked = every.where(table.c.id.in_(before)).order_by(table.c.id).with_for_update(key_share=True)
        projects = bind.execute(locked).all()
        if projects:
            write(bind, [before[row.id] if row == before[row.id][0] else (row, make(row)) for row in projects])

    last, highest = 0, bind.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0
    portions = Portions(step, bind.execute(sa.select(sa.func.count()).select_from(table)).scalar() or 0)
    some = every.where(table.c.id > sa.bindparam("last"), table.c.id <= highest).order_by(table.c.id)
    while projects := bind.execute(some.limit(portions.size), {"last": last}).all():
        last = projects[-1].id
        # What takes long is done before the transaction.
        if entries := {project.id: (project, make(project)) for project in projects if concerns(project)}:
            _portion(bind, portions, len(projects), partial(rewrite, entries))
        else:
            portions.took(0, len(projects))


def _present(bind: Connection) -> sa.Select[Any]:
    """The query for the projects. A column that a later migration adds is null: no project has a value there yet."""
    names = {column["name"] for column in sa.inspect(bind).get_columns("projects")}
    return sa.select(*(column if column.name in names else sa.null().label(column.name) for column in _PROJECTS.c))


def _portion(bind: Connection, portions: Portions, rows: int, work: Callable[[], None]) -> None:
    if bind.dialect.name == "postgresql":
        in_portion(bind, portions, rows, work)
        return
    began = portions.clock()
    work()
    portions.took(portions.clock() - began, rows)
