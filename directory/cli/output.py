"""Files that commands write: whole or not at all, and private."""

import errno
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NoReturn

import click

ENDING = (signal.SIGTERM, signal.SIGHUP)  # SIGINT is an exception already
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
def ended_by_signals() -> Iterator[None]:
    """Have a signal that ends the process end the block by SystemExit, so that what the block has begun is removed."""

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    # One that is ignored stays so, as `nohup` wants it.
    usual = {number: signal.SIG_DFL for number in ENDING if signal.getsignal(number) is signal.SIG_DFL}
    try:
        for number in usual:
            signal.signal(number, end)
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


@contextmanager
def _whole(name: str) -> Iterator[IO[str]]:
    """A file that gets its name, and replaces the old one, only if it is complete. Click's "atomic" always does."""
    part = f"{name}.{os.getpid()}.part"
    with ended_by_signals():
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
