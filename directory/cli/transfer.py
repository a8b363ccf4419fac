"""flask import and flask export: projects as JSON Lines or CSV."""

import codecs
import os
import sys
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import click
from flask.cli import with_appcontext

from directory.cli import file_kinds
from directory.cli.console import Progress, count, refusals, sayings, writes
from directory.cli.output import TO_FILE
from directory.cli.output import opened as opened_output
from directory.cli.rows import DATES, DECIDED, FORMATS, FileRow, Lines, encoding_of, read, require_known_fields, writer
from directory.cli.users import named
from directory.db.transactions import transaction
from directory.errors import Duplicate, Invalid
from directory.models import Status
from directory.services.catalog import ways
from directory.services.catalog.filters import Filters
from directory.services.data import import_export
from directory.services.identity import Caller

KEPT = "flask copy and flask backup keep them."
NO_OWNER = "Add one by `flask users create-admin`, or name an owner by --owner."
# Parts of an export that an import leaves out, with the members of a row and the option that keeps them.
NOT_KEPT = {
    "votes": (frozenset({"upvotes"}), KEPT),
    "dates": (DATES, "--keep-dates keeps them."),
    "owners": (
        frozenset({"owner"}),
        "--create-users adds missing ones without a password, but no reserved names.",
    ),
}
READ_AS = {"tsv": "csv"}  # which may be separated by tabs
FORM = click.Choice(FORMATS)


def known_encoding(_context: Any, _parameter: Any, name: str | None) -> str | None:
    """The name of an encoding of texts, as it is given. Raises BadParameter."""
    try:
        if name is None or codecs.lookup(name)._is_text_encoding:
            return name
    except (LookupError, ValueError):
        pass
    raise click.BadParameter(f"There is no encoding {name!r}. Examples are utf-8, windows-1252 and utf-16.")


class Tally:
    """The outcomes of the rows, and how many had values that an import does not keep."""

    def __init__(self, kinds: Mapping[str, tuple[frozenset[str], str]]) -> None:
        self.imported = self.unchanged = self.refused = 0
        self.lines: dict[int, tuple[int, str]] = {}  # of each project the first row's line and title
        self._kinds, self._not_kept = kinds, dict.fromkeys(kinds, 0)

    def other_row(self, row: FileRow, entered: import_export.Entered) -> str | None:
        """Why a row is refused that has another title than an earlier row of the same project; None otherwise."""
        line, title = self.lines.get(entered.id, (0, row.fields["title"]))
        if title == row.fields["title"]:
            return None
        return f"Has the URL of line {line}, {title!r}. Two projects of one URL need a repository_url each."

    def count_left_out(self, names: frozenset[str]) -> None:
        """Count a row with members that are left out."""
        for kind, (members, _) in self._kinds.items():
            self._not_kept[kind] += not members.isdisjoint(names)

    def losses(self) -> Iterator[str]:
        """Print which values were not kept, and the options that keep them."""
        for kind, number in self._not_kept.items():
            if number:
                yield f"Not kept: {kind} of {count(number, 'row')}. {self._kinds[kind][1]}"

    def __str__(self) -> str:
        return f"imported {self.imported:,}, unchanged {self.unchanged:,}, refused {self.refused:,}"


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True))
@click.option("--owner", metavar="U", help="The user that owns them.  [default: the oldest active administrator]")
@click.option(
    "--status", type=click.Choice(["pending", "live"]), help="For all rows.  [default: each row's own, else pending]"
)
@click.option("--keep-dates", is_flag=True, help="Take created_at, published_at and the other dates of each row.")
@click.option(
    "--create-users", is_flag=True, help="Add owners that are missing. They need a password before they can sign in."
)
@click.option("--create-categories", is_flag=True, help="Add categories that are missing, named after their slugs.")
@click.option("--format", "form", type=FORM, help="The format of FILE.  [default: by its name, else jsonl]")
@click.option("--encoding", metavar="E", callback=known_encoding, help="The encoding of FILE, such as windows-1252.")
@with_appcontext
@writes
def import_projects(
    file: str,
    owner: str | None,
    status: str | None,
    keep_dates: bool,
    create_users: bool,
    create_categories: bool,
    form: str | None,
    encoding: str | None,
) -> None:
    """Add the projects in FILE (- is standard input).

    A row has the fields of a submission. It may also have a logo (a picture in base64, which is checked and encoded
    again as an upload is), in JSON Lines up to five pictures (objects with alt and picture), a status (live, pending or
    rejected), a rejection_reason, and an owner, whose project it becomes if there is such an account and no --owner.
    The dates that flask export writes can be kept; the command lists the values that it did not keep. A bad row is
    reported with its line and skipped, and the exit status is then 1. A row whose URL its owner has submitted already
    changes nothing, so a second run adds nothing. Projects of one website are two if each has a repository and these
    differ; otherwise a row with another title is a bad row, reported with the line of the first. No webhook is sent.

    CSV may come from a spreadsheet: separated by commas, semicolons or tabs, in UTF-8 or UTF-16, or in the encoding
    that --encoding names. A file of another kind is refused in one line, before any row is imported.
    """
    options = {"owner": _owner(owner), "status": status, "create_categories": create_categories}
    options["create_users"] = create_users
    keep = DECIDED | (DATES if keep_dates else frozenset()) | (frozenset() if owner else {"owner"})
    tally = Tally(NOT_KEPT if owner is None else {**NOT_KEPT, "owners": (frozenset(), "")})
    form = form or READ_AS.get(_suffix(file)) or _format(file)
    bar = Progress(0 if file == "-" else os.path.getsize(file), "Importing")
    with click.open_file(file, "rb") as opened, file_kinds.seekable(opened) as source, bar as progress:
        _require_readable(source, form, encoding)
        lines = Lines(source, encoding)
        for batch in import_export.batches(read(lines, form, keep), lambda row: len(row.fields.get("pictures") or ())):
            for line, fault in _take(batch, tally, options):
                progress.note(f"line {line}: {fault}")
            progress.reach(lines.bytes)
        for loss in tally.losses():
            progress.note(loss)
    click.echo(tally)
    if tally.refused:
        sys.exit(1)


@click.command("export")
@click.option(
    "--format", "form", type=FORM, help="The format to write.  [default: by the name of --output, else jsonl]"
)
@TO_FILE
@click.option("--status", type=click.Choice([status.value for status in Status]), help="Only these.")
@click.option("--pictures", is_flag=True, help="With the pictures of each, in base64; in JSON Lines alone.")
@with_appcontext
@refusals()
def export_projects(form: str | None, output: str, status: str | None, pictures: bool) -> None:
    """Write all projects, for flask import.

    Rows are ordered by id. They have the fields of a submission, with the logo in base64, and some that flask import
    ignores.

    Cells of CSV are not changed, even if a spreadsheet would read them as formulas, so that an export can be imported
    again. In a spreadsheet, load its columns as text.
    """
    form = form or _format(output)
    if pictures and form != "jsonl":
        raise click.UsageError("--pictures needs --format jsonl.")
    mixed = output == "-" and sys.stdout.isatty()  # a bar would stand between the rows
    size = 0 if mixed else ways.total(Filters(status=status))
    with Progress(size, "Exporting") as progress, opened_output(output) as file:
        write = writer(file, form)
        for project in import_export.given(status, pictures=pictures):
            write(project)
            progress.advance(1)
        if status in (None, Status.LIVE.value) and (number := import_export.waiting_changes()):
            progress.note(f"Not in the file: changes of {count(number, 'project')} that wait for review. {KEPT}")


def _take(batch: list[FileRow], tally: Tally, options: dict[str, Any]) -> list[tuple[int, str]]:
    """Add a batch in one transaction and count its rows; return the lines refused, with their faults, in order."""
    good = [row for row in batch if not row.faults]

    def work() -> tuple[list[import_export.RowOutcome], set[str]]:
        return import_export.take([row.fields for row in good], **options)

    try:
        outcomes, strangers = transaction(work)
    except Duplicate:
        outcomes, strangers = transaction(work)  # somebody else was faster with a URL or a category, which it sees now
    refused = [(row.line, row.faults) for row in batch if row.faults]
    refused += [(row.line, sayings(o)) for row, o in zip(good, outcomes, strict=True) if isinstance(o, Invalid)]
    notes = []
    for row, outcome in zip(good, outcomes, strict=True):
        if isinstance(outcome, Invalid):
            continue
        entered, is_new = outcome
        if is_new:
            tally.imported += 1
            tally.count_left_out(row.left_out | ({"owner"} if row.fields.get("owner") in strangers else frozenset()))
        elif fault := tally.other_row(row, entered):
            refused.append((row.line, [fault]))
            continue
        else:
            tally.unchanged += 1
            notes += _differing(row, entered)
        tally.lines.setdefault(entered.id, (row.line, row.fields["title"]))
    tally.refused += len(refused)
    return sorted([*notes, *((line, fault) for line, faults in refused for fault in faults)], key=itemgetter(0))


def _differing(row: FileRow, entered: import_export.Entered) -> list[tuple[int, str]]:
    """A note of a row that changes nothing although its project has another title."""
    if row.fields["title"] == entered.title:
        return []
    return [(row.line, f"Unchanged: project {entered.id}, {entered.title!r}, has this URL already.")]


def _require_readable(file: IO[bytes], form: str, encoding: str | None) -> None:
    """Raise ClickException for a file without rows of this format, in another encoding, or with unknown own fields."""
    file_kinds.require_rows(file, form)
    first = file.read(2)
    file.seek(0)
    if encoding is None and encoding_of(first) in {None, "utf-8-sig"}:
        file_kinds.require_utf_8(file)
    if form == "jsonl":
        require_known_fields(Lines(file, encoding))
        file.seek(0)


def _owner(login: str | None) -> Caller:
    if login is None:
        owner = import_export.default_owner()
        if owner is None:
            raise click.ClickException(f"There is no administrator to own the projects. {NO_OWNER}")
        return owner
    user = named(login)
    return Caller(user.id, user.username, user.role)


def _format(name: str) -> str:
    return _suffix(name) if _suffix(name) in FORMATS else FORMATS[0]


def _suffix(name: str) -> str:
    return Path(name).suffix.lower().removeprefix(".")
