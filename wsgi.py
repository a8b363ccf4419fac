"""The application, for gunicorn (`wsgi:app`) and the flask command."""

import sys

import click
from flask import Flask

import config
from directory import create_app
from settings import EVERY, NOTIFYING

SERVES = {"serve", "run", "check"}
# These change nothing of which anybody is notified. A command that is not here needs the settings of webhooks and mail,
# because without them it would drop notifications.
NOTIFIES_NOBODY = {
    "backup", "copy", "db", "export", "openapi", "recount", "routes", "tidy",
    "users create-admin", "users export", "users list",
}  # fmt: skip
OF_PAGES = {"SITE_DIR": "", "METRICS_ENABLED": False}  # what can stop the application although the settings make sense


def application(words: list[str]) -> Flask:
    """The application, for the command of these words or, if there are none, for a server.

    A command works although settings that it does not need make no sense; it prints them as warnings.
    """
    if not words or words[0] in SERVES:
        made = create_app(config.load())
        made.config["WARNINGS"] = config.warnings() if words[:1] == ["check"] else []
        return made
    settings, faults = config.load_for(needs(words))
    try:
        made = create_app(settings)
    except SystemExit as fault:
        faults.append(str(fault))
        made = create_app(settings | OF_PAGES)
    for line in faults:
        click.echo(f"Warning: {line}", err=True)
    return made


def needs(words: list[str]) -> set[str]:
    """The names and the kinds of a command, by which settings say what needs them."""
    names = {words[0], " ".join(words[:2])}
    return names | {EVERY} | ({NOTIFYING} if NOTIFIES_NOBODY.isdisjoint(names) else set())


def _words() -> list[str]:
    """The command line of flask without the options before the command; empty in a server."""
    root = click.get_current_context(silent=True)
    if root is None or root.parent is not None:  # in `project-directory serve`, whose command line gunicorn reads
        return []
    _, words, _ = root.command.make_parser(root).parse_args(sys.argv[1:])
    return words


app = application(_words())
