"""The command for an account whose passkey is lost."""

import click
from flask.cli import with_appcontext

from directory.cli.console import count, writes
from directory.cli.users import named
from directory.db.transactions import transaction
from directory.extras.passkeys import passkeys
from directory.http import receivers


@click.command("reset-passkeys")
@click.argument("username")
@with_appcontext
@writes
def reset_passkeys(username: str) -> None:
    """Remove all passkeys of an account whose key is lost, and end its sessions.

    API tokens that were made in a session by passkey end too. The user signs in by password and adds a new passkey.
    """
    user = named(username)
    removed = transaction(lambda: passkeys.reset(user.id, server=receivers.configured_mail_server()))
    if not removed:
        click.echo(f"{user.username} has no passkeys.")
        return
    click.echo(f"{count(removed, 'passkey')} of {user.username} removed; all sessions are ended.")
