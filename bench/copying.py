"""Makes a large directory of a small one: each project is replaced by copies, some seconds apart, in the old order.

To compose a million projects takes half an hour, to copy them a few minutes. Only what lists read is copied: the
projects, their ranks, tags and words. Votes, the log and other rows stay with one of the copies, or with none.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.engine import make_url

from directory.models import Project, ProjectTag, VoteRanking
from tests.support import servers

APART = 37  # seconds
WEEK = 7 * 24 * 3600
TIMES = ("created_at", "updated_at", "submitted_at", "published_at")
COUNTERS = {"categories": ("live_projects", "pending_projects", "rejected_projects"), "tag_counts": ("live_projects",)}

TABLES = {
    table.name: [column.name for column in table.columns if column.computed is None]
    for table in (Project.__table__, VoteRanking.__table__, ProjectTag.__table__)
}
WORDS = {
    "postgresql": {"project_search": ["project_id", "document", "live"]},
    "sqlite": {
        "project_search": ["rowid", "title", "brief", "description"],
        "project_search_brief": ["rowid", "title", "brief"],
    },
}
SHIFTS = {
    "postgresql": "{} - n * interval '" + str(APART) + " seconds'",
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f000', {}, '-' || (n * " + str(APART) + ") || ' seconds')",
}


def multiply(url: str, times: int) -> None:
    """Replace each project by `times` copies, and gather statistics. Nobody else uses the database meanwhile."""
    postgresql = make_url(url).get_backend_name() == "postgresql"
    connection: Any = servers.connect(url) if postgresql else sqlite3.connect(str(make_url(url).database))
    run, dialect = connection.execute, "postgresql" if postgresql else "sqlite"
    copies = f"copies (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM copies WHERE n < {times - 1})"
    with _without_indexes(run, postgresql):
        for table, columns in {**TABLES, **WORDS[dialect]}.items():
            names, values = ", ".join(columns), ", ".join(_value(column, times, dialect) for column in columns)
            copied = f"WITH RECURSIVE {copies} SELECT {values} FROM old CROSS JOIN copies ORDER BY 1"
            run(f"CREATE TEMP TABLE old AS SELECT {names} FROM {table}")
            run(f"DELETE FROM {table}")
            run(f"INSERT INTO {table} ({names}) {copied}")
            run("DROP TABLE old")
        for change in (f"-{times} * project_id", "-project_id"):  # in two steps no vote meets another
            run(f"UPDATE upvotes SET project_id = {change}")
        for table, counters in COUNTERS.items():
            run(f"UPDATE {table} SET " + ", ".join(f"{name} = {name} * {times}" for name in counters))
        if postgresql:
            run("SELECT setval(pg_get_serial_sequence('projects', 'id'), max(id)) FROM projects")
        else:
            run("UPDATE sqlite_sequence SET seq = (SELECT max(id) FROM projects) WHERE name = 'projects'")
    connection.commit()
    run("VACUUM ANALYZE" if postgresql else "ANALYZE")
    connection.close()


def _value(column: str, times: int, dialect: str) -> str:
    """The expression for a column of the copy `n`: the first one is the newest and has the most votes."""
    if column in {"id", "project_id", "rowid"}:
        return f"{column} * {times} - n"
    if column == "upvotes":
        return "upvotes / (n + 1)"
    if column == "hot":
        votes = "CAST({} + 1 AS double precision)"
        change = f"log({votes.format('upvotes / (n + 1)')}) - log({votes.format('upvotes')})"
        return f"hot + {change} - n * {APART}.0 / {WEEK}"
    return SHIFTS[dialect].format(column) + f" AS {column}" if column in TIMES else column


@contextmanager
def _without_indexes(run: Callable[[str], Any], postgresql: bool) -> Iterator[None]:
    """Without the triggers and the indexes of the copied tables, which are made again at the end."""
    names = ", ".join(f"'{name}'" for name in [*TABLES, "project_search"])
    if postgresql:
        run("SET session_replication_role = replica")
        run("SET maintenance_work_mem = '512MB'")
        dropped = run(
            "SELECT 'INDEX', indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
            f"WHERE indrelid::regclass::text IN ({names}) "
            "AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)"
        ).fetchall()
    else:
        for pragma in ("foreign_keys = OFF", "synchronous = OFF", "cache_size = -524288", "journal_mode = OFF"):
            run(f"PRAGMA {pragma}")
        dropped = run(
            "SELECT type, name, sql FROM sqlite_schema WHERE type = 'trigger' "
            f"OR type = 'index' AND sql IS NOT NULL AND tbl_name IN ({names})"
        ).fetchall()
    for kind, name, _made in dropped:
        run(f"DROP {kind} {name}")
    yield
    for _kind, _name, made in dropped:
        run(made)
    if not postgresql:
        run("PRAGMA journal_mode = WAL")
