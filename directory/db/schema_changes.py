"""Steps of migrations that change PostgreSQL while others read and write.

Use them in autocommit blocks. If a step fails, the changes of earlier steps stay, and the migration is run again from
its beginning. So each step has to be repeatable.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from alembic import op
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from directory.db import sql_files
from directory.db.errors import state_of
from directory.db.portions import Doing, Portions
from directory.db.transactions import lift_time_limits

T = TypeVar("T")
LOCK_MILLISECONDS = 50  # timeout of a step's wait for a lock, because other transactions wait behind it
PAUSE = 0.2  # seconds before a step that did not get its locks is tried again
TRIES = 1_500  # of a step, in some six minutes
CONFLICTS = {"55P03", "40P01"}  # lock not available, deadlock


def in_short_transaction(bind: Connection, work: Callable[[], T]) -> T:
    """Run `work` in a transaction that waits for each lock for LOCK_MILLISECONDS, and retry if it does not get one.

    Raises DBAPIError if that fails TRIES times, or for another reason.
    """
    for attempt in range(1, TRIES + 1):
        bind.exec_driver_sql("BEGIN")
        try:
            bind.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}")
            done = work()
            bind.exec_driver_sql("COMMIT")
        except BaseException as error:
            with suppress(SQLAlchemyError):  # the connection may be lost
                bind.exec_driver_sql("ROLLBACK")
            if attempt == TRIES or state_of(error) not in CONFLICTS:
                raise
            time.sleep(PAUSE)
        else:
            return done
    raise AssertionError("unreachable")  # pragma: no cover


def in_portion(bind: Connection, portions: Portions, rows: int, work: Callable[[], T]) -> T:
    """Run `work`, which writes so many rows, in a short transaction, whose time determines the next portion's size."""
    began = portions.clock()

    def run() -> T:
        nonlocal began
        began = portions.clock()  # the waits before a retry keep nobody from writing
        return work()

    done = in_short_transaction(bind, run)
    portions.took(portions.clock() - began, rows)
    return done


def fill_counters(bind: Connection, begin: Callable[[], Any], base: str, merge: str) -> None:
    """Fill a table of counters, while triggers count the changes that others make.

    `begin` locks the counted tables against writers, and creates the empty table of counters and its triggers. `base`
    selects keys and numbers, in the order in which the triggers lock keys; it reads the snapshot at which the triggers
    begin to count, while others write. `merge` adds `sizes` to the counters of `keys`; both are arrays. Until all are
    added, counters may be negative.
    """
    with bind.engine.connect() as connection:
        before = connection.execution_options(isolation_level="REPEATABLE READ")

        def start() -> None:
            begin()
            snapshot = bind.exec_driver_sql("SELECT pg_export_snapshot()").scalar()
            before.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{snapshot}'")

        in_short_transaction(bind, start)
        lift_time_limits(before)
        portions = Portions("adding up counters")
        with before.exec_driver_sql(base, execution_options={"stream_results": True}) as counted:
            while rows := counted.fetchmany(portions.size):
                keys, sizes = map(list, zip(*rows, strict=True))
                add = text(merge).bindparams(keys=keys, sizes=sizes)
                in_portion(bind, portions, len(rows), lambda add=add: bind.execute(add))  # type: ignore[misc]


def add_constraint(bind: Connection, table: str, name: str, rule: str) -> None:
    """Add a constraint for new rows, and then validate the existing rows, while others write."""
    Doing.begin(f"checking {name}")
    change = f"ALTER TABLE {table} ADD CONSTRAINT {name} {rule} NOT VALID"
    in_short_transaction(bind, lambda: bind.exec_driver_sql(change))
    bind.exec_driver_sql(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")


def build_indexes(bind: Connection, indexes: Mapping[str, str]) -> None:
    """Build indexes while others write. `indexes` maps each name to the SQL after ON.

    An existing index is replaced, because an earlier run may have left it invalid. A build waits for old transactions,
    and nothing waits behind it.
    """
    bind.exec_driver_sql("SET lock_timeout = 0")
    try:
        for name, what in indexes.items():
            Doing.begin(f"building {name}")
            bind.exec_driver_sql(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            bind.exec_driver_sql(f"CREATE INDEX CONCURRENTLY {name} ON {what}")
    finally:
        with suppress(SQLAlchemyError):
            bind.exec_driver_sql("RESET lock_timeout")


def rebuild_on_sqlite(bind: Connection, table: str, *, without: str = "", having: str = "") -> None:
    """Make a table of SQLite again `without` one constraint or `having` one more, which ALTER TABLE cannot do there.

    With both, one takes the place of the other.

    Its indexes and triggers are made again as they are, and its next id stays. Foreign keys are off while migrating, so
    nothing is deleted with the old table.
    """
    query = text("SELECT type, sql FROM sqlite_master WHERE tbl_name = :table AND sql IS NOT NULL ORDER BY rowid")
    parts = bind.execute(query, {"table": table}).all()
    (old,) = (sql for kind, sql in parts if kind == "table")
    if without not in old:
        return
    if without and having:
        new = old.replace(without, having)
    else:
        new = re.sub(rf",\s*{re.escape(without)}", "", old) if without else f"{old.rstrip()[:-1]}, {having})"
    new = re.sub(rf'CREATE TABLE "?{table}"?', f"CREATE TABLE {table}_new", new, count=1)
    # Generated columns are hidden.
    names = bind.exec_driver_sql(f"SELECT name FROM pragma_table_xinfo('{table}') WHERE hidden = 0").scalars()  # noqa: S608 (our own names)
    columns = ", ".join(names)
    last = bind.execute(text("SELECT seq FROM sqlite_sequence WHERE name = :table"), {"table": table}).scalar()
    bind.exec_driver_sql("PRAGMA legacy_alter_table=ON")  # otherwise it refuses triggers that name the missing table
    bind.exec_driver_sql(new)
    bind.exec_driver_sql(f"INSERT INTO {table}_new ({columns}) SELECT {columns} FROM {table}")  # noqa: S608 (our own names)
    bind.exec_driver_sql(f"DROP TABLE {table}")
    bind.exec_driver_sql(f"ALTER TABLE {table}_new RENAME TO {table}")
    bind.exec_driver_sql("PRAGMA legacy_alter_table=OFF")
    for kind, sql in parts:
        if kind != "table":
            bind.exec_driver_sql(sql)
    bind.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), {"table": table})
    numbered = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)")
    bind.execute(numbered, {"table": table, "last": last or 0})
    if bind.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").first():
        bind.exec_driver_sql(f"ANALYZE {table}")  # the statistics went with the old table


def add_project_column(name: str, kind: str) -> None:
    """Add a nullable column to projects on both databases, and record its changes. For a migration's `upgrade`."""
    if op.get_bind().dialect.name != "postgresql":
        op.execute(f"ALTER TABLE projects ADD COLUMN {name} {kind}")
        return

    def work() -> None:
        op.execute(f"ALTER TABLE projects ADD COLUMN IF NOT EXISTS {name} {kind}")
        sql_files.install(op.get_bind(), "notes")  # of the columns that the table has

    with op.get_context().autocommit_block():
        in_short_transaction(op.get_bind(), work)


def drop_project_column(name: str) -> None:
    """Drop a column of projects, and stop recording its changes. For a migration's `downgrade`."""
    if op.get_bind().dialect.name != "postgresql":
        op.execute(f"ALTER TABLE projects DROP COLUMN {name}")
        return
    op.execute("DROP TRIGGER projects_noted ON projects")  # it may name the column
    op.execute(f"ALTER TABLE projects DROP COLUMN {name}")
    sql_files.install(op.get_bind(), "notes")
