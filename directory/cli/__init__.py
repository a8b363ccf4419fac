"""The commands of `flask`. It may import `api`, `services` and whatever these may."""

from copy import copy as duplicate

import click
from flask import Flask
from flask.cli import AppGroup, FlaskGroup, with_appcontext

from directory.cli.backup import backup
from directory.cli.console import names_database
from directory.cli.copy import copy_all
from directory.cli.mail import mail
from directory.cli.recount import recount_all
from directory.cli.seed import seed
from directory.cli.transfer import export_projects, import_projects
from directory.cli.users import users
from directory.cli.webhooks import webhooks

COMMANDS = (seed, import_projects, export_projects, copy_all, backup, recount_all, users, webhooks, mail)


class Commands(AppGroup):
    """Ours, and Flask-Migrate's `db`, which is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return sorted({*super().list_commands(ctx), "db"})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them."""
        if cmd_name == "db" and cmd_name not in self.commands:
            from flask_migrate.cli import db

            self.add_command(_naming(db))
        return super().get_command(ctx, cmd_name)


def _naming(group: click.Group) -> click.Group:
    """A copy of Flask-Migrate's group, in which the commands that write name the database."""
    group = duplicate(group)
    group.commands = {name: duplicate(command) for name, command in group.commands.items()}
    for name in ("upgrade", "downgrade", "stamp"):
        command = group.commands[name]
        command.callback = with_appcontext(names_database(command.callback or command.invoke))
    return group


def _withdraw(name: str) -> None:
    """Take a library's command out of the `flask` command that is loading the application, and so out of its help."""
    context = click.get_current_context(silent=True)
    root = context.find_root().command if context else None
    if isinstance(root, FlaskGroup):
        root.commands.pop(name, None)


def init_app(app: Flask) -> None:
    """Add the commands to those that the application's extensions and blueprints have added."""
    _withdraw("limiter")  # Flask-Limiter's: it reads limits that are set in another way than ours
    app.cli = Commands(app.cli.name, commands=app.cli.commands)
    for command in COMMANDS:
        app.cli.add_command(command)
