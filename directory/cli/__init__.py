"""The commands of `flask`, but for `openapi`, which is beside the document's route (`api/system.py`)."""

from collections.abc import Mapping
from copy import copy as duplicate
from importlib import import_module
from pkgutil import resolve_name

import click
from flask import Flask
from flask.cli import AppGroup, FlaskGroup, with_appcontext

# The commands by name: the module of this package, and the command's name in it.
COMMANDS = {
    "seed": ("seed", "seed"),
    "import": ("transfer", "import_projects"),
    "export": ("transfer", "export_projects"),
    "copy": ("copy", "copy_all"),
    "backup": ("backup", "backup"),
    "check": ("check", "check"),
    "recount": ("recount", "recount_all"),
    "tidy": ("tidy", "tidy"),
    "users": ("users", "users"),
    "webhooks": ("webhooks", "webhooks"),
    "mail": ("mail", "mail"),
}


class Commands(AppGroup):
    """Ours, and Flask-Migrate's `db`: each is loaded when it is asked for, because a server needs none of them."""

    extras: Mapping[str, Mapping[str, str]]  # by group, "" for none, the commands of extras and where they are

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return sorted({*super().list_commands(ctx), *COMMANDS, *self.extras.get("", ()), "db"})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them."""
        if cmd_name not in self.commands:
            if cmd_name in COMMANDS:
                module, name = COMMANDS[cmd_name]
                self.add_command(self._with_extras(getattr(import_module(f"directory.cli.{module}"), name)), cmd_name)
            elif place := self.extras.get("", {}).get(cmd_name):
                self.add_command(resolve_name(place), cmd_name)
            elif cmd_name == "db":
                from flask_migrate.cli import db

                self.add_command(_naming(db))
        return super().get_command(ctx, cmd_name)

    def _with_extras(self, command: click.Command) -> click.Command:
        """The command; a copy of a group to which extras add commands, with those."""
        more = self.extras.get(command.name or "")
        if not more or not isinstance(command, click.Group):
            return command
        group = duplicate(command)
        added = {name: resolve_name(place) for name, place in more.items()}
        group.commands = {**group.commands, **added}
        return group


def _naming(group: click.Group) -> click.Group:
    """A copy of Flask-Migrate's group, in which the commands that write name the database."""
    from directory.cli.console import names_database

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
    app.cli = commands = Commands(app.cli.name, commands=app.cli.commands)
    commands.extras = app.extensions["extra_commands"]
