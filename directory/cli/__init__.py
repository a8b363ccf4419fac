"""The flask command's own commands."""

import click
from flask import Flask

from directory.cli.copy import copy_all
from directory.cli.recount import recount_all
from directory.cli.seed import seed
from directory.cli.transfer import export_projects, import_projects
from directory.cli.users import users
from directory.cli.webhooks import webhooks


class Migrations(click.Group):
    """Flask-Migrate's commands, loaded when one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        from flask_migrate.cli import db

        return db.list_commands(ctx)  # type: ignore[no-any-return]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them."""
        from flask_migrate.cli import db

        return db.get_command(ctx, cmd_name)  # type: ignore[no-any-return]


COMMANDS = (
    Migrations("db", help="Perform database migrations."),
    seed,
    import_projects,
    export_projects,
    copy_all,
    recount_all,
    users,
    webhooks,
)


def init_app(app: Flask) -> None:
    """Add the commands."""
    for command in COMMANDS:
        app.cli.add_command(command)
