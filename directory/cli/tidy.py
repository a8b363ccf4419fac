"""flask tidy: deletes what has expired, and most of a table if a person says so."""

from collections.abc import Callable

import click
from flask import current_app
from flask.cli import with_appcontext

from directory.cli.console import count, writes
from directory.db.transactions import transaction
from directory.runtime import housekeeping
from directory.services.deleting import MostWouldGo
from directory.services.delivery.schedule import DeliveryPolicy


@click.command("tidy")
@click.option("--all", "everything", is_flag=True, help="Also where that is more than half of a table.")
@with_appcontext
@writes
def tidy(everything: bool) -> None:
    """Delete what has expired, as the service does each hour.

    Both refuse to delete more than half of a table, because the clock may be wrong. If it is right, use --all.
    """
    days, refused = (current_app.config[name] for name in ("AUDIT_RETENTION", "RULE_FACTS_DAYS")), False
    for table, purge in housekeeping.purges(DeliveryPolicy(), *days, guarded=not everything).items():
        try:
            click.echo(f"{table}: {count(_delete_all(purge), 'row')} deleted")
        except MostWouldGo as error:
            refused = True
            click.echo(f"{table}: nothing deleted: {error}")
    if refused:
        raise click.ClickException("look at the clock of the database; if it is right, use --all")


def _delete_all(purge: Callable[[int], int]) -> int:
    """Delete portion by portion, each in a transaction of its own, and return the number."""
    deleted = 0
    while True:
        portion = transaction(lambda: purge(housekeeping.AT_ONCE))
        deleted += portion
        if portion < housekeeping.AT_ONCE:
            return deleted
