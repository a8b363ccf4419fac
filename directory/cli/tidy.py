"""flask tidy: does what housekeeping does, and what it refuses if a person says so."""

from collections.abc import Callable

import click
from flask import current_app
from flask.cli import with_appcontext

from directory.cli.console import count, writes
from directory.db.transactions import transaction
from directory.runtime import housekeeping
from directory.services import clock, day_counts
from directory.services.deleting import MostWouldGo
from directory.services.delivery.schedule import DeliveryPolicy

DONE = {
    "holds": "{} released", "weeks": "{} owners told of their first week", "reminders": "{} owners reminded",
    "projects": "{} rejected without an answer in time", "promises": "{} that never close any more",
}  # fmt: skip


@click.command("tidy")
@click.option("--all", "everything", is_flag=True, help="Also most of a table, and after a jump of the clock.")
@with_appcontext
@writes
def tidy(everything: bool) -> None:
    """Delete what has expired, and do what is due, as the service does each hour.

    That is to count the votes of days that have ended, to release what rules held for long enough, and to reject what
    owners did not answer in time. The clock may be wrong. So both refuse to delete more than half of a table, and to do
    what is due after the clock has jumped ahead by more than a day. If it is right, use --all.
    """
    days, refused = (current_app.config[name] for name in ("AUDIT_RETENTION", "RULE_FACTS_DAYS")), False
    try:
        transaction(lambda: clock.confirm(is_right=everything))
        click.echo(f"day_counts: {count(transaction(day_counts.close), 'day')} counted")
        for kind, work in housekeeping.by_clock(current_app).items():
            click.echo(f"{kind}: {DONE[kind].format(_all(work, 1))}")
    except clock.ClockJumped as error:
        refused = True
        click.echo(f"nothing closed and nothing released: {error}")
    for table, purge in housekeeping.purges(DeliveryPolicy(), *days, guarded=not everything).items():
        try:
            click.echo(f"{table}: {count(_all(purge, housekeeping.AT_ONCE), 'row')} deleted")
        except MostWouldGo as error:
            refused = True
            click.echo(f"{table}: nothing deleted: {error}")
    if refused:
        raise click.ClickException("look at the clock of the database; if it is right, use --all")


def _all(work: Callable[[int], int], least: int) -> int:
    """Work portion by portion, each in a transaction of its own, until one is less than `least`; return the number."""
    done = 0
    while True:
        portion = transaction(lambda: work(housekeeping.AT_ONCE))
        done += portion
        if portion < least:
            return done
