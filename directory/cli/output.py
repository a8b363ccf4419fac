"""Files that commands write: whole or not at all, and private."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import click

TO_FILE = click.option(
    "--output", type=click.Path(dir_okay=False), default="-", help="Write to this file.  [default: standard output]"
)


@contextmanager
def opened(name: str) -> Iterator[IO[str]]:
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
        if error.errno == errno.EPIPE:  # `| head` has closed the pipe, which is not an error: click ends quietly
            raise
        raise click.ClickException(f"{name}: {error.strerror or error}") from None


@contextmanager
def _whole(name: str) -> Iterator[IO[str]]:
    """A file that gets its name, and replaces the old one, only if it is complete. Click's "atomic" always does."""
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
