"""The flask command's own commands."""

from flask import Flask

from directory.cli.copy import copy_all
from directory.cli.recount import recount_all
from directory.cli.seed import seed
from directory.cli.transfer import export_projects, import_projects
from directory.cli.users import users
from directory.cli.webhooks import webhooks

COMMANDS = (seed, import_projects, export_projects, copy_all, recount_all, users, webhooks)


def init_app(app: Flask) -> None:
    """Add the commands."""
    for command in COMMANDS:
        app.cli.add_command(command)
