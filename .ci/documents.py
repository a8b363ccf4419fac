"""Write the documents that are made from the code: python .ci/documents.py [check].

docs/settings.md is made from the declarations of the settings, docs/commands.md from the help of the commands, and
docs/routes.md from the map of the routes. `check` writes nothing: it fails if one is stale.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import fill

import click
from flask import Flask

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
import config  # noqa: E402
from directory import create_app  # noqa: E402
from settings import EVERY, NOTIFYING, Setting  # noqa: E402

WIDTH = 100  # of the help of a command
OF_LIBRARIES = {"db", "routes", "run", "shell"}
RAISES = re.compile(r" Raises [^.]+\.$")  # of a docstring: what callers get is in the OpenAPI document
CALLERS = {
    "public": "all",
    "member": "members",
    "owner": "the owner, administrators",
    "own": "the owner",
    "open_by": "members, or all, by `{setting}`",
    "reviewer": "reviewers",
    "admin": "administrators",
}

SETTINGS_HEAD = """\
# Settings

All are environment variables. A file `.env` next to the README, with lines such as `PORT=8080`, sets those that the
environment does not; the server and every command read it, except with `FLASK_SKIP_DOTENV=1`. An invalid value stops
the start with one line that names it.

The server needs all settings. A fault in a setting that a command does not need is a warning of that command; the last
column says which commands need it.

A setting that holds a secret can be read from a file: NAME_FILE is the path of the file with the value of NAME. A line
break at the end of the file is removed.
{files}

| name | default | meaning | commands that need it |
|---|---|---|---|
"""

COMMANDS_HEAD = """\
# Commands

Each is `.venv/bin/flask …`. `make wheel` builds a package into `dist/`, pages included. Where that package is installed
by pip, `project-directory …` runs the same commands, and `project-directory serve` the server. Both look for
`instance/` and `.env` in the current folder.

A fault in a setting that a command does not need is its warning: every command but `check` does without those of the
server alone, such as one of the pages or of sign-in, and one that sends no notifications does without those of webhooks
and mail. [Settings](settings.md) says which commands need a setting.

`flask db upgrade` brings the database's tables up to this version.
"""

ROUTES_HEAD = """\
# Routes

Every route of the API and of the pages, with those who may call it. Administrators may do everything that members,
reviewers and owners may; a reviewer of categories decides about projects of these alone. The routes under `/api`, with
their parameters, answers and errors, are described at `/api/docs` and in [openapi.json](openapi.json). An account that
an operator's setting restricts may do less; see [Settings](settings.md).

| method | path | who | what it does |
|---|---|---|---|
"""


def of_settings(_app: Flask) -> str:
    """The page of the settings."""
    *files, last = (f"`{name}_FILE`" for name in config.SECRETS)
    head = SETTINGS_HEAD.format(files=fill(f"There are {', '.join(files)} and {last}.", 120))
    return head + "".join(f"| {' | '.join(_cells(setting))} |\n" for setting in config.SETTINGS)


def _cells(setting: Setting) -> tuple[str, str, str, str]:
    default = setting.default_shown or (f"`{setting.default}`" if setting.default else "none")
    needed_by = ", ".join(each if each in {EVERY, NOTIFYING} else f"`{each}`" for each in setting.needed_by)
    return f"`{setting.name}`", default, setting.meaning, needed_by


def of_commands(app: Flask) -> str:
    """The page of the commands."""
    return COMMANDS_HEAD + "".join(f"\n## {name}\n\n```text\n{text}\n```\n" for name, text in _help(app.cli, "flask"))


def _help(group: click.Group, name: str) -> Iterator[tuple[str, str]]:
    """The name and the help of each of our commands."""
    context = click.Context(group, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        if isinstance(command, click.Group) and each not in OF_LIBRARIES:
            yield from _help(command, f"{name} {each}")
        elif command is not None and each not in OF_LIBRARIES:
            of_command = click.Context(
                command, info_name=f"{name} {each}", terminal_width=WIDTH, max_content_width=WIDTH
            )
            yield f"{name} {each}", command.get_help(of_command)


def of_routes(app: Flask) -> str:
    """The page of the routes."""
    rows = []
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        summary = RAISES.sub("", (view.__doc__ or "").strip().partition("\n")[0])
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            callers = CALLERS[view.access].format(setting=getattr(view, "open_by", ""))  # type: ignore[attr-defined]
            rows.append((path, f"| `{method}` | `{path}` | {callers} | {summary} |\n"))
    return ROUTES_HEAD + "".join(row for _, row in sorted(rows))


DOCUMENTS: dict[Path, Callable[[Flask], str]] = {
    ROOT / "docs" / "settings.md": of_settings,
    ROOT / "docs" / "commands.md": of_commands,
    ROOT / "docs" / "routes.md": of_routes,
}


def main(arguments: list[str]) -> None:
    """Write the documents, or raise SystemExit if one is not as it would be written."""
    app = create_app(config.load({"SECRET_KEY": "k" * config.SHORTEST_KEY, "DATABASE_URL": "sqlite:///none.db"}))
    for path, made in DOCUMENTS.items():
        text = made(app)
        if arguments != ["check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.relative_to(ROOT)} is not up to date: run python .ci/documents.py")


if __name__ == "__main__":
    main(sys.argv[1:])
