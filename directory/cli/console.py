"""Parts of several commands: the database's name, refusals as one line and exit status 1, and a progress bar."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click
from marshmallow import Schema, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from directory.db.errors import is_unavailable
from directory.errors import DirectoryError, Invalid
from directory.extensions import db
from directory.http.validation import errors_of

UNDEFINED_TABLE = "42P01"
log = logging.getLogger(__name__)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a rule's refusal, or an unreachable database, into one line on standard error. Decorates commands."""
    try:
        yield
    except DirectoryError as error:
        raise click.ClickException("; ".join(sayings(error))) from None
    except SQLAlchemyError as error:
        if reason := _database_fault(error):
            raise click.ClickException(reason) from None
        raise


def writes(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command that writes: it names its database first, and a refusal is one line."""
    return refusals()(names_database(command))


def names_database(command: Callable[..., Any]) -> Callable[..., Any]:
    """Have a command that writes name its database on standard error first, unless LOG_LEVEL leaves out level info.

    Two terminals with two environments have two databases, and a command must not write to the wrong one in silence.
    """

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        if log.isEnabledFor(logging.INFO):
            click.echo(f"Database: {db.address}", err=True)
        return command(*args, **options)

    return run


def sayings(error: DirectoryError) -> list[str]:
    """The lines of a refusal, one for each refused field: `url: Must be …`."""
    if not isinstance(error, Invalid):
        return [error.detail]
    return [f"{one['pointer'].removeprefix('#/')}: {one['detail']}" for one in error.errors]


def checked(schema: Schema, body: dict[str, Any]) -> dict[str, Any]:
    """`body`, loaded by an input schema of the API. Raises Invalid."""
    try:
        loaded: dict[str, Any] = schema.load(body)
    except ValidationError as error:
        raise Invalid(errors_of(error)) from None
    return loaded


def _database_fault(error: SQLAlchemyError) -> str | None:
    """The line for an error that the operator can fix, or None for a bug."""
    cause = getattr(error, "orig", None)
    if getattr(cause, "sqlstate", None) == UNDEFINED_TABLE or str(cause).startswith("no such table"):
        return "The database has no tables yet: run `flask db upgrade` first."
    if is_unavailable(error):
        return f"The database does not answer: {str(cause or error).strip().splitlines()[0]}"
    return None


class Progress:
    """A bar on standard error, if that is a terminal and the `length` is known, which is not 0 then."""

    def __init__(self, length: int, label: str) -> None:
        self.shown = length > 0 and sys.stderr.isatty()
        self.bar: Any = click.progressbar(length=length, label=label, file=sys.stderr, hidden=not self.shown)

    def __enter__(self) -> "Progress":
        self.bar.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.bar.__exit__(*raised)

    def advance(self, steps: int) -> None:
        """Advance by `steps`."""
        self.bar.update(steps)

    def reach(self, position: int) -> None:
        """Advance to `position`."""
        self.bar.update(position - self.bar.pos)

    def note(self, line: str) -> None:
        """Print a line to standard error, in the place of the bar, which goes on below."""
        click.echo(f"\r\x1b[K{line}" if self.shown else line, err=True)


def table(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Text in columns, each as wide as its longest cell; numbers are right-aligned."""
    cells = [heads, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(heads))]
    numeric = [bool(rows) and isinstance(value, int) for value in (rows[0] if rows else heads)]
    lines = []
    for row in cells:
        aligned = zip(row, widths, numeric, strict=True)
        lines.append("  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in aligned).rstrip())
    return "\n".join(lines)


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 project`, `3,000 projects`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
