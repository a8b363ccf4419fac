"""flask check: whether a server can start, or reload, with the settings."""

import click
from flask import current_app


@click.command("check")
def check() -> None:
    """Check the settings as a start does, without starting.

    Exits with 1, and one line, if a start or a reload would refuse them. It connects to nothing: GET /readyz tells
    whether the database and Redis answer.
    """
    # Faults have ended the command before it got here: the application is made as for a server.
    for line in current_app.config["WARNINGS"]:
        click.echo(f"Warning: {line}", err=True)
    click.echo("The settings make sense.")
