"""The filters of `flask users suspend` and `flask users delete`, and decisions about the accounts that match them."""

from collections.abc import Callable
from typing import Any

import click

from directory.api.schemas.users import TRUTHS, UserFilters
from directory.cli.console import Progress, checked, count
from directory.extensions import db
from directory.http.receivers import subscribers
from directory.models import AccountStatus
from directory.services.accounts import users as people
from directory.services.people.large_work import carry_out
from directory.services.people.user_decisions import Decision, remaining, waiting

SHOWN = 10  # accounts that a dry run names
DONE = {"suspend": "suspended", "delete": "deleted"}
OPTIONS = (
    click.option("--q", help="A part of the username or e-mail address."),
    click.option("--status", type=click.Choice([status.value for status in AccountStatus])),
    click.option("--created-from", metavar="TIME", help="A day or a time, in UTC."),
    click.option("--created-to", metavar="TIME", help="A day, which is included, or a time, in UTC."),
    click.option("--email-domain", metavar="DOMAIN", help="The whole domain of the e-mail address."),
    click.option("--email-verified", type=click.Choice(list(TRUTHS)), help="Whether the address is confirmed."),
    click.option("--live", type=click.Choice(list(TRUTHS)), help="false: no project was ever live."),
)


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command: it takes a username or any of the filters."""
    for option in reversed(OPTIONS):
        command = option(command)
    return click.argument("username", required=False)(command)


def decide(decision: str, match: dict[str, str | None], *, yes: bool, **more: Any) -> None:
    """Suspend or delete the accounts that match all filters; without `yes` only show what matches. Raises Invalid."""
    wanted = {name: TRUTHS.get(value, value) for name, value in match.items() if value is not None}
    if not wanted:
        raise click.UsageError("give a USERNAME, or filters such as --created-from; --help lists them")
    match_all = people.Filters(**checked(UserFilters(), wanted))
    decided = Decision(decision=decision, filters=match_all, by=None, notify=subscribers(), **more)
    number = remaining(decided)
    if not yes:
        _show(decided, number)
        return
    with Progress(number, "Deciding") as progress:
        changed = 0
        for number in carry_out(decided):
            changed += number
            progress.advance(number)
    click.echo(f"{count(changed, 'account')} {DONE[decision]}.")


def _show(decided: Decision, number: int) -> None:
    """Say what a decision would change."""
    names = people.names(waiting(decided, SHOWN))
    db.session.rollback()
    for name in names:
        click.echo(name)
    if number > len(names):
        click.echo(f"… and {number - len(names):,} more")
    click.echo(f"{count(number, 'account')} would be {DONE[decided.decision]}; nothing has changed. --yes does it.")
