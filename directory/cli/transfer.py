"""flask import and flask export: projects as JSON Lines or CSV."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import click
from flask.cli import with_appcontext

from directory.cli.console import Progress, names_database, refusals, sayings
from directory.cli.rows import FORMATS, Lines, Row, read, writer
from directory.cli.users import named
from directory.db.transactions import transaction
from directory.errors import Duplicate, Invalid
from directory.models import Status
from directory.services.accounts.identity import Caller
from directory.services.catalog import catalog
from directory.services.data import import_export
from directory.services.data.bulk import chunks

NO_OWNER = "Add one by `flask users create-admin`, or name an owner by --owner."
FORM = click.Choice(FORMATS)


class Tally:
    """What became of the rows."""

    def __init__(self) -> None:
        self.imported = self.unchanged = self.refused = 0

    def __str__(self) -> str:
        return f"imported {self.imported:,}, unchanged {self.unchanged:,}, refused {self.refused:,}"


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True))
@click.option("--owner", metavar="U", help="The user that owns them.  [default: the oldest active administrator]")
@click.option(
    "--status",
    type=click.Choice(["pending", "live"]),
    help="For all rows.  [default: each row's own, else pending]",
)
@click.option("--create-categories", is_flag=True, help="Add categories that are missing, named after their slugs.")
@click.option("--format", "form", type=FORM, help="What FILE is.  [default: by its name, else jsonl]")
@with_appcontext
@refusals()
@names_database
def import_projects(
    file: str, owner: str | None, status: str | None, create_categories: bool, form: str | None
) -> None:
    """Add the projects in FILE (- is standard input).

    A row holds what a submission does, and may hold a status (live, pending or rejected) and a rejection_reason. What
    flask export writes besides (id, owner, upvotes, …) is passed over. A bad row is reported with its line and
    skipped, and the exit status is then 1. A row whose URL the owner has submitted already changes nothing, so a
    second run adds nothing. No webhook is sent.
    """
    options = {"owner": _owner(owner), "status": status, "create_categories": create_categories}
    tally = Tally()
    with click.open_file(file, "rb") as opened, Progress(_size(file), "Importing") as progress:
        lines = Lines(opened)
        for batch in chunks(read(lines, form or _format(file)), import_export.TAKEN_AT_ONCE):
            for line, fault in _take(batch, tally, options):
                progress.note(f"line {line}: {fault}")
            progress.reach(lines.bytes)
    click.echo(tally)
    if tally.refused:
        sys.exit(1)


@click.command("export")
@click.option("--format", "form", type=FORM, help="What to write.  [default: by the name of --output, else jsonl]")
@click.option(
    "--output", type=click.Path(dir_okay=False), default="-", help="Write to this file.  [default: standard output]"
)
@click.option("--status", type=click.Choice([status.value for status in Status]), help="Only these.")
@with_appcontext
@refusals()
def export_projects(form: str | None, output: str, status: str | None) -> None:
    """Write all projects, for flask import.

    Rows come in the order of their ids and hold what a submission does, and besides it what import passes over.

    Cells of CSV stand as they are, even where a spreadsheet would take them for a formula: so an export is imported
    again without a change. Load its columns as text.
    """
    mixed = output == "-" and sys.stdout.isatty()  # a bar would stand between the rows
    size = 0 if mixed else catalog.total(catalog.Filters(status=status))
    with Progress(size, "Exporting") as progress, _opened(output) as file:
        write = writer(file, form or _format(output))
        for project in import_export.given(status):
            write(project)
            progress.advance(1)


def _take(batch: list[Row], tally: Tally, options: dict[str, Any]) -> list[tuple[int, str]]:
    """Add a batch in one transaction and count its rows; return the lines refused, with their faults, in order."""
    good = [row for row in batch if not row.faults]

    def work() -> list[import_export.Outcome]:
        return import_export.take([row.fields for row in good], **options)

    try:
        outcomes = transaction(work)
    except Duplicate:
        outcomes = transaction(work)  # somebody else was faster with a URL or a category, which it sees now
    refused = [(row.line, row.faults) for row in batch if row.faults]
    refused += [(row.line, sayings(o)) for row, o in zip(good, outcomes, strict=True) if isinstance(o, Invalid)]
    tally.imported += outcomes.count(True)
    tally.unchanged += outcomes.count(False)
    tally.refused += len(refused)
    return [(line, fault) for line, faults in sorted(refused) for fault in faults]


def _owner(login: str | None) -> Caller:
    if login is None:
        owner = import_export.default_owner()
        if owner is None:
            raise click.ClickException(f"There is no administrator to own the projects. {NO_OWNER}")
        return owner
    user = named(login)
    return Caller(user.id, user.username, user.role)


def _format(name: str) -> str:
    suffix = Path(name).suffix.lower().removeprefix(".")
    return suffix if suffix in FORMATS else FORMATS[0]


def _size(name: str) -> int:
    """How many bytes there are to read; 0 where it is unknown."""
    return 0 if name == "-" else os.path.getsize(name)


@contextmanager
def _opened(name: str) -> Iterator[IO[str]]:
    """The file to write, or standard output, in UTF-8."""
    try:
        if not name:
            raise click.BadParameter("is empty", param_hint="--output")
        if name == "-":
            with click.open_file(name, "w", encoding="utf-8") as stream:
                yield stream
        elif os.path.exists(name) and not os.path.isfile(name):
            with open(name, "w", encoding="utf-8") as device:
                yield device
        else:
            with _whole(os.path.realpath(name)) as file:
                yield file
    except OSError as error:
        if error.errno == errno.EPIPE:  # `| head` has seen enough, which is no fault: click ends quietly
            raise
        raise click.ClickException(f"{name}: {error.strerror or error}") from None


@contextmanager
def _whole(name: str) -> Iterator[IO[str]]:
    """A file that takes its name, and the place of what had it, when it is whole. Click's own "atomic" always does."""
    part = f"{name}.{os.getpid()}.part"
    try:
        private = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(private, "w", encoding="utf-8", newline="") as file:
            with suppress(FileNotFoundError):  # with the permissions of the old file
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(name).st_mode))
            yield file
        os.replace(part, name)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
