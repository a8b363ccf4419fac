"""Projects as rows of a file: JSON Lines, or CSV with a header, in which tags are separated by spaces.

Cells of CSV stand as they are, even where a spreadsheet would take them for a formula: what is exported is imported
again without a change. In a spreadsheet, load the columns of an export as text.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import IO, Any, NamedTuple

import click

from directory.api.schemas.projects import ProjectInput
from directory.cli.console import checked, sayings
from directory.errors import DirectoryError
from directory.http.fields import Prose, Word
from directory.http.request_body import parse_json
from directory.models import Status
from directory.services.data.import_export import READ_ONLY, WRITABLE
from directory.services.webhooks.outbox import timestamp

FORMATS = ("jsonl", "csv")
FIELDS = (*WRITABLE, *READ_ONLY)
REQUIRED = ("title", "tagline", "url", "category")
NULLABLE = ("repository_url", "logo_url")
BLANKABLE = (*NULLABLE, "status", "rejection_reason")  # where an empty cell says that there is none
PASSED_OVER = {*READ_ONLY} - {"status", "rejection_reason"}
BOM = b"\xef\xbb\xbf"
_UNDECODED = re.compile("[\udc80-\udcff]")


class ImportedProject(ProjectInput):
    """A submission, and what was decided on it where it comes from."""

    status = Word(tuple(state.value for state in Status), allow_none=True)
    rejection_reason = Prose(0, 1000, allow_none=True)


PROJECT = ImportedProject()


class Row(NamedTuple):
    """One row: the line that it begins in, its fields, and why they are refused, if they are."""

    line: int
    fields: dict[str, Any]
    faults: list[str]


class Lines:
    """A file's lines, counted: how many, and how many bytes they are."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.number, self.bytes = iter(file), 0, 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = next(self.file)
        self.number += 1
        self.bytes += len(line)
        return line.removeprefix(BOM) if self.number == 1 else line


def read(lines: Lines, form: str) -> Iterator[Row]:
    """The rows, each checked as the API checks a submission. Raises ClickException where the file is none of these."""
    return _csv(lines) if form == "csv" else _jsonl(lines)


def writer(file: IO[str], form: str) -> Callable[[dict[str, Any]], object]:
    """What writes a project to a file, as one row."""
    if form == "csv":
        table = csv.writer(file, lineterminator="\n")
        table.writerow(FIELDS)
        return lambda project: table.writerow([_cell(project[name]) for name in FIELDS])
    return lambda project: file.write(json.dumps(project, ensure_ascii=False, default=timestamp) + "\n")


def _jsonl(lines: Lines) -> Iterator[Row]:
    for line in lines:
        if text := line.strip():
            yield _row(lines.number, text, _object)


def _csv(lines: Lines) -> Iterator[Row]:
    # Bytes that are no UTF-8 stay in as half surrogates, so that one bad cell costs one row.
    reader = csv.reader((line.decode("utf-8", "surrogateescape") for line in lines), strict=True)
    names = _header(reader)
    while True:
        number = lines.number + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield Row(number, {}, [f"The row is no CSV: {error}."])
            continue
        if cells is None:
            return
        if cells:
            yield _row(number, cells, lambda row: _named(names, row))


def _header(reader: Iterator[list[str]]) -> list[str]:
    try:
        names = next(reader, [])
    except csv.Error as error:
        raise click.ClickException(f"line 1: The header is no CSV: {error}.") from None
    unknown = [name for name in names if name not in FIELDS]
    repeated = [name for n, name in enumerate(names) if name in names[:n]]
    missing = [name for name in REQUIRED if name not in names]
    for fault, found in (("Unknown column", unknown), ("Repeated column", repeated), ("Missing column", missing)):
        if found:
            raise click.ClickException(f"line 1: {fault}: {', '.join(map(ascii, found))}.")
    return names


def _row(number: int, given: Any, parse: Callable[[Any], dict[str, Any]]) -> Row:
    try:
        project = {name: value for name, value in parse(given).items() if name not in PASSED_OVER}
        return Row(number, checked(PROJECT, project), [])
    except DirectoryError as error:
        # "Line 1" would be the first of the row, which is whole in one.
        said = (saying.replace("The body", "The row").replace("line 1, ", "") for saying in sayings(error))
        return Row(number, {}, list(said))
    except ValueError as error:
        return Row(number, {}, [str(error)])


def _object(text: bytes) -> dict[str, Any]:
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("The row is no object.")
    return value


def _named(names: list[str], cells: list[str]) -> dict[str, Any]:
    if len(cells) != len(names):
        raise ValueError(f"The row has {len(cells)} cells, but there are {len(names)} columns.")
    if any(map(_UNDECODED.search, cells)):
        raise ValueError("The row is not UTF-8.")
    project: dict[str, Any] = dict(zip(names, cells, strict=True))
    for name in BLANKABLE:
        if name in project:
            project[name] = project[name] or None
    if "tags" in project:
        project["tags"] = project["tags"].split()
    return project


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    return " ".join(value) if isinstance(value, list) else value
