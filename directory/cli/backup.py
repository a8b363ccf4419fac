"""flask backup: a copy of a SQLite database, made while the service runs, and checked."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import click
from flask.cli import with_appcontext

from directory.cli.console import refusals
from directory.cli.output import ended_by_signals
from directory.extensions import db

STEPS_AT_ONCE = 1_000_000  # of SQLite's, between two looks whether a signal has come
PAGES_AT_ONCE = 1_000  # copied before it checks whether a writer waits


@click.command("backup")
@click.argument("file", type=click.Path(dir_okay=False))
@with_appcontext
@refusals()
def backup(file: str) -> None:
    """Write a copy of the SQLite database to FILE, while the service runs.

    FILE must not exist. It is created only if the copy is complete and SQLite finds no fault in it. For PostgreSQL use
    pg_dump.
    """
    url = db.engine.url
    if url.get_backend_name() != "sqlite":
        raise click.ClickException("The database is PostgreSQL: use pg_dump -Fc.")
    if not url.database or not Path(url.database).is_file():
        raise click.ClickException(f"There is no database {url.database}.")
    part = Path(f"{file}.{os.getpid()}.part")
    try:
        with ended_by_signals():
            _copy(Path(url.database), part)
            os.link(part, file)  # fails where there is such a file, which is not overwritten
    except FileExistsError as error:
        raise click.ClickException(f"{error.filename2 or error.filename} exists already.") from None
    except (OSError, sqlite3.Error) as error:
        raise click.ClickException(f"{file}: {error}") from None
    finally:
        for left in (part, Path(f"{part}-journal")):
            left.unlink(missing_ok=True)
    click.echo(f"Wrote {file}, {os.path.getsize(file):,} bytes; no fault found.")


def _copy(database: Path, part: Path) -> None:
    """Copy a database in one read transaction, and check the copy. Raises OSError, sqlite3.Error."""
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # it holds hashes of passwords
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(part)) as copy:
        source.execute("BEGIN")  # else each write of another process would restart the copying
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=PAGES_AT_ONCE, progress=_see_signals)
        copy.set_progress_handler(_see_signals, STEPS_AT_ONCE)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a -wal
        _end_claims(copy)
        lines = [row[0] for row in copy.execute("PRAGMA integrity_check(10)")]
    if lines != ["ok"]:
        raise sqlite3.DatabaseError(f"the copy is damaged: {'; '.join(lines)}")
    with part.open("rb") as written:
        os.fsync(written.fileno())


def _end_claims(copy: sqlite3.Connection) -> None:
    """Delete the claims of those who review, which are of these minutes. A database of an earlier version has none."""
    if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'review_claims'").fetchone():
        with copy:
            copy.execute("DELETE FROM review_claims")


def _see_signals(*_: int) -> None:
    """Let Python handle a signal, which it does between its own instructions and not within one of SQLite's."""
