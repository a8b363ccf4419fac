"""Runs migrations over the application's own engine, on SQLite and PostgreSQL alike."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import click
from alembic import context
from alembic.operations.ops import AddColumnOp, CreateIndexOp, CreateTableOp, DropColumnOp, DropIndexOp, DropTableOp
from flask import current_app
from sqlalchemy import Connection, inspect

from directory.cli.console import refusals
from directory.db import sql_files
from directory.db.engine import BUSY_TIMEOUT
from directory.db.portions import Doing

db = current_app.extensions["migrate"].db
POOLED = "DATABASE_URL leads through a connection pooler: migrate with an address of PostgreSQL itself."
SAID_EVERY = 10.0  # seconds between two lines about the progress
RUNNING = 0x70647331  # the key of the advisory lock that a run holds
BY_HAND = (
    "{} cannot be done by one ALTER on both databases, so no migration was written. Write it by hand: "
    "`flask db revision` makes the file, 0056_since_release_0_1_0.py shows the pattern, and CONTRIBUTING "
    "explains it."
)
# Migrations between release 0.1.0 and the next became one, with the number of the last of them.
BETWEEN_RELEASES = (
    "The database is at migration {}, between two releases. Check out commit {}, run `flask db upgrade` there, and "
    "then here again."
)
LAST_WITH = (
    dict.fromkeys(range(9, 56), "f1eb7a00") | dict.fromkeys(range(9, 33), "f352d1e") | {34: "7b8409c9", 35: "7b8409c9"}
)
# What both databases do in place, and undo. SQLite would rebuild the table for anything else, and lose its triggers.
ON_BOTH = (AddColumnOp, CreateIndexOp, CreateTableOp, DropColumnOp, DropIndexOp, DropTableOp)


def include_name(name, kind, _parents):
    """Ignore the tables without a model: the search index, which differs by database, and the noted changes."""
    return not (kind == "table" and name is not None and (name == "changes" or name.startswith("project_search")))


def render_item(kind, item, autogen_context):
    """Write our own types in a new migration as what they store."""
    if kind == "type" and type(item).__name__ == "UtcDateTime":
        return "sa.DateTime(timezone=True)"
    return False


def compare_type(_context, _inspected, _metadata, inspected_type, metadata_type):
    """UtcDateTime is a timestamp with its zone, which SQLite has no word for."""
    if type(metadata_type).__name__ == "UtcDateTime":
        return "TIMESTAMP" not in str(inspected_type).upper() and "DATETIME" not in str(inspected_type).upper()
    return None


def require_plain_alter(_context, _revision, directives):
    """Refuse to write a migration that one of the two databases could not run. Raises ClickException."""
    for directive in directives:
        for operation in steps(directive.upgrade_ops):
            if not isinstance(operation, ON_BOTH):
                name = getattr(operation, "column_name", None) or getattr(operation, "constraint_name", None)
                what = ".".join(filter(None, (getattr(operation, "table_name", None), name)))
                raise click.ClickException(BY_HAND.format(f"{type(operation).__name__.removesuffix('Op')} of {what}"))


def steps(operations):
    """Yield the operations of a migration without the containers that group them by table."""
    for operation in operations.ops:
        if hasattr(operation, "ops"):
            yield from steps(operation)
        else:
            yield operation


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other run is under way on PostgreSQL: some migrations commit in parts, which must not be mixed.

    The lock belongs to a transaction, so that it ends with its connection. Migrations hold settings from one
    transaction to the next, which a pooler in transaction mode does not.
    """
    with db.engine.connect() as holder:
        if holder.dialect.name == "postgresql":
            if holder.connection.dbapi_connection.is_pooled:
                raise click.ClickException(POOLED)
            holder = holder.execution_options(isolation_level="READ COMMITTED")
            holder.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            # A statement that waited would have a snapshot, and a build of an index waits for all snapshots to end.
            while not holder.exec_driver_sql(f"SELECT pg_try_advisory_xact_lock({RUNNING})").scalar():
                time.sleep(0.2)
        yield


def report(is_over, echo) -> None:
    """Print what is done and how far it is, every SAID_EVERY seconds, until `is_over` returns true after a wait."""
    began = time.monotonic()
    while not is_over(SAID_EVERY):
        where = Doing.line() or "tables and columns"
        echo(f"Migrating for {time.monotonic() - began:.0f} s: {where}.")


@contextmanager
def reporting() -> Iterator[None]:
    """Report the progress while the block runs, from a thread: a step may be one statement of many minutes."""
    over = threading.Event()
    thread = threading.Thread(target=report, args=(over.wait, partial(click.echo, err=True)), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def refuse_between_releases() -> None:
    """Raise ClickException for a database that is at a migration which became part of another one."""
    with db.engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return
        at = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() or ""
        if at.isdigit() and int(at) in LAST_WITH:
            raise click.ClickException(BETWEEN_RELEASES.format(at, LAST_WITH[int(at)]))


def create_if_empty(connection: Connection) -> None:
    """Make all tables at once in a database without any that is to be upgraded to the newest migration."""
    given, running = context.get_context().environment_context.context_opts, context.get_context()
    is_upgrade = getattr(given["fn"], "__name__", "") == "upgrade"
    if not is_upgrade or given["destination_rev"] not in {"head", "heads", context.get_head_revision()}:
        return
    if set(inspect(connection).get_table_names()) <= {"alembic_version"} and not running.get_current_heads():
        sql_files.create(connection, db.metadata)
        running.stamp(context.script, "head")
    connection.commit()


@refusals()
def run() -> None:
    """Migrate over one connection, each migration in a transaction of its own."""
    sqlite = db.engine.dialect.name == "sqlite"
    with alone(), db.engine.connect() as connection:
        refuse_between_releases()
        if sqlite:
            # A batch operation rebuilds a table; with foreign keys on, dropping the old one empties its children.
            # Inside a transaction the pragma does nothing, so it goes to the driver before there is one.
            connection.connection.dbapi_connection.execute("PRAGMA foreign_keys=OFF")
            # Begun as a write, for one that turns into a write fails at once where somebody else has written meanwhile.
            connection = connection.execution_options(**{BUSY_TIMEOUT: 30_000})
        else:
            # The engine's reads are not transactions; a migration is one, so that it is done whole or not at all.
            connection = connection.execution_options(isolation_level="READ COMMITTED")
            connection.exec_driver_sql("SET statement_timeout = 0")
            connection.commit()
        context.configure(
            connection=connection,
            target_metadata=db.metadata,
            include_name=include_name,
            render_item=render_item,
            compare_type=compare_type,
            process_revision_directives=require_plain_alter,
            transaction_per_migration=True,
        )
        with reporting():
            create_if_empty(connection)
            with context.begin_transaction():
                context.run_migrations()
        connection.commit()
        if sqlite:
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            connection.connection.dbapi_connection.execute("PRAGMA foreign_keys=ON")
            if broken:
                raise RuntimeError(f"foreign keys broken after migrating: {broken[:5]}")


run()
