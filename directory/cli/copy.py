"""flask copy: copies everything of another database into this one, and compares both before it commits."""

import os
from typing import Any

import click
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy import Connection
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from directory.cli.console import Progress, count, table, writes
from directory.db.transactions import writing
from directory.models import Session
from directory.services.data import copying

SHOWN = 20  # faults of the recount
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
DIFFERENT = "The two differ, so nothing was committed: stop what writes, run `flask recount` on the source, try again."


class Database(click.ParamType[URL]):
    """A database's URL as DATABASE_URL has it."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> URL:
        """Raise BadParameter without the given value: it may contain a password."""
        try:
            url = make_url(value)
            url = url.set(drivername=DRIVERS[url.drivername.removesuffix("+psycopg") if url.database else ""])
            url.get_dialect()().create_connect_args(url)
        except (ArgumentError, KeyError, TypeError, ValueError):
            self.fail("is neither sqlite:////path/to/file nor postgresql+psycopg://user:password@host/name")
        return url


@click.command("copy")
@click.option("--from", "source", type=Database(), required=True, metavar="URL", help="The database to copy.")
@with_appcontext
@writes
def copy_all(source: URL) -> None:
    """Copy everything of another database into that of DATABASE_URL, which must be migrated and empty.

    Each may be SQLite or PostgreSQL. Ids, passwords and tokens are kept. Sessions are not copied, so everybody has
    to sign in again. At the end both databases are compared row by row, and the counters are recounted. If they differ
    nothing is kept, and the exit status is 1. Stop the service first: what it writes meanwhile would be lost.
    """
    if source.get_backend_name() == "sqlite" and source.database:  # where Flask-SQLAlchemy would look for it
        source = source.set(database=os.path.join(current_app.instance_path, source.database))
    with copying.opened(source) as connection:
        with writing():
            copying.begin()
            _prove(connection, _copy(connection))
            copying.number_on(connection)
        left = copying.size(connection, Session.__table__)
    click.echo(f"Copied. {count(left, 'session')} not copied: everybody has to sign in again.")


def _copy(source: Connection) -> dict[str, copying.Content]:
    sizes = [copying.size(source, one) for one in copying.tables()]
    with Progress(sum(sizes), "Copying") as progress:
        return {one.name: copying.copy(source, one, progress.advance) for one in copying.tables()}


def _prove(source: Connection, copied: dict[str, copying.Content]) -> None:
    """Show the sizes of both databases. Raises ClickException if they differ, or if a counter is wrong."""
    comparisons, recounted = copying.compare(source, copied), copying.recounted()
    rows = [(one.name, one.source, one.target, "the same" if one.alike else "DIFFERENT") for one in comparisons]
    click.echo(table(("TABLE", "SOURCE", "TARGET", "ROWS"), rows))
    for fault in recounted.faults[:SHOWN]:
        click.echo(fault)
    seen = f"{count(recounted.projects, 'project')} and {count(recounted.votes, 'vote')}"
    click.echo(f"Recounted {seen}: {count(len(recounted.faults), 'fault') if recounted.faults else 'all is right'}.")
    if recounted.faults or not all(one.alike for one in comparisons):
        raise click.ClickException(DIFFERENT)
