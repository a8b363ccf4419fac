"""The commands of `flask`. It may import `api`, `services` and whatever these may."""

import click
from flask import Flask
from flask.cli import AppGroup

from directory.cli.copy import copy_all
from directory.cli.recount import recount_all
from directory.cli.seed import seed
from directory.cli.transfer import export_projects, import_projects
from directory.cli.users import users
from directory.cli.webhooks import webhooks

COMMANDS = (seed, import_projects, export_projects, copy_all, recount_all, users, webhooks)


class Commands(AppGroup):
    """Ours, and Flask-Migrate's `db`, which is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return sorted({*super().list_commands(ctx), "db"})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them."""
        if cmd_name == "db" and cmd_name not in self.commands:
            from flask_migrate.cli import db

            self.add_command(db)
        return super().get_command(ctx, cmd_name)


def init_app(app: Flask) -> None:
    """Add the commands to those that the application's extensions and blueprints have added."""
    app.cli = Commands(app.cli.name, commands=app.cli.commands)
    for command in COMMANDS:
        app.cli.add_command(command)
