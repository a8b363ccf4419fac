"""The folder in which the processes of a server share their metrics, for as long as the server runs."""

import atexit
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path

from directory.http.metrics import FOLDER_VARIABLE

PREFIX = "directory-metrics-"


def provide(parent: str | None = None) -> None:
    """Make a folder and name it, unless the operator named one or this process has made one already.

    One that another server made and handed down to this one, its successor, is that one's, which removes it. What a
    server that was killed could not remove goes first.
    """
    named = Path(os.environ.get(FOLDER_VARIABLE, ""))
    if named.name and _maker(named) in {None, os.getpid()}:
        return
    for folder in Path(parent or tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
    os.environ[FOLDER_VARIABLE] = _make(parent)
    _hold(Path(os.environ[FOLDER_VARIABLE]))
    atexit.register(_remove, os.environ[FOLDER_VARIABLE], os.getpid())


def _make(parent: str | None) -> str:
    """A new folder, where it can be made: not where no file can be added any more."""
    prefix = f"{PREFIX}{os.getpid()}-"
    try:
        return tempfile.mkdtemp(prefix=prefix, dir=parent)
    except OSError:
        return tempfile.mkdtemp(prefix=prefix)


def _maker(folder: Path) -> int | None:
    """The process that created the folder; None if it was not one of ours."""
    match = re.fullmatch(rf"{PREFIX}(\d{{1,9}})-\w+", folder.name)
    return int(match[1]) if match else None


def _hold(folder: Path) -> int:
    """Hold it until this process and all its forks are gone. Raises OSError if others do."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


def _abandoned(folder: Path) -> bool:
    """Whether the folder is ours, its maker is dead, and no process holds its lock.

    The process number alone does not decide: where containers share a folder, the number of a server that lives in
    another container may name no process here.
    """
    maker = _maker(folder)
    if maker is None or _lives(maker):
        return False
    try:
        held = _hold(folder)
    except OSError:
        return False
    try:
        return os.fstat(held).st_uid == os.getuid()
    finally:
        os.close(held)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # the process belongs to another user
    return True


def _remove(folder: str, maker: int) -> None:
    """Remove the folder when the process that made it ends. Forked children inherit the handler and must not."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
