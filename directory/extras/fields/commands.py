"""flask fields: export the definitions of own fields, and import them."""

import json
import sys
from pathlib import Path
from typing import Any

import click
from flask.cli import AppGroup

from directory.cli.console import checked, count, refusals, sayings, writes
from directory.cli.output import TO_FILE, opened
from directory.db.transactions import transaction
from directory.errors import DirectoryError
from directory.extras.fields import editing
from directory.extras.fields.schemas import FieldInput

fields = AppGroup("fields", help="Export and import the fields that the operator has added to projects.")
FIELD = FieldInput()


@fields.command("export")
@TO_FILE
@refusals()
def export_(output: str) -> None:
    """Write all fields as a JSON list."""
    found = [{name: field[name] for name in editing.MEMBERS} for field in editing.listed(counted=False)]
    given = [{name: value for name, value in field.items() if name != "choices" or value} for field in found]
    with opened(output) as stream:
        stream.write(json.dumps(given, ensure_ascii=False, indent=2) + "\n")


@fields.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@writes
def import_(file: str) -> None:
    """Add the fields of FILE, a JSON list, or of standard input for "-"; all or none.

    A field whose name is there is changed. Nothing is deleted.
    """
    text = (sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()).decode("utf-8", "replace")
    given = _read(text)

    def take() -> tuple[int, int]:
        totals = [0, 0]
        for line, field in given:
            try:
                for place, number in enumerate(editing.take_over([checked(FIELD, field)])):
                    totals[place] += number
            except DirectoryError as error:
                raise click.ClickException(f"line {line}: {'; '.join(sayings(error))}") from None
        return totals[0], totals[1]

    added, changed = transaction(take)
    click.echo(f"{count(added, 'field')} added, {changed} changed.")


def _read(text: str) -> list[tuple[int, dict[str, Any]]]:
    """The definitions of a file, each with the line in which it begins. Raises ClickException."""
    decoder, found, place = json.JSONDecoder(), list[tuple[int, dict[str, Any]]](), _after(text, 0)
    if text[place : place + 1] != "[":
        raise click.ClickException("the file must hold a list of objects")
    place = _after(text, place + 1)
    while text[place : place + 1] != "]":
        line = text.count("\n", 0, place) + 1
        try:
            field, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise click.ClickException(f"line {line}: this is no JSON: {error}") from None
        if not isinstance(field, dict):
            raise click.ClickException(f"line {line}: this is no object")
        found.append((line, field))
        place = _after(text, end)
        if text[place : place + 1] == ",":
            place = _after(text, place + 1)
    return found


def _after(text: str, place: int) -> int:
    """The index of the next character, white space left out."""
    while text[place : place + 1].isspace():
        place += 1
    return place
