"""A run of the scenarios leaves nothing behind, however it ends: no process, no folder."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil

from tests.system.chaos.stage import ended

VARIABLE = "DIRECTORY_CHAOS"  # in the environment of every process that a scenario starts
AGAIN = 10.0  # seconds
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def tidied() -> Iterator[Callable[[], list[str]]]:
    """A folder in which all others are made, gone at the end. Gives what removes, and names, what was left so far."""
    folder = Path(tempfile.mkdtemp(prefix="directory-"))
    folder.chmod(0o755)  # PostgreSQL runs as another user
    with _stopping(), patch.dict(os.environ, {VARIABLE: str(folder), "TMPDIR": str(folder)}):
        tempfile.tempdir = None  # it is looked for again
        try:
            yield lambda: [*_end_processes(), *_remove_folders(folder)]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            _end_processes()
            shutil.rmtree(folder, ignore_errors=True)
            tempfile.tempdir = None


@contextmanager
def _stopping() -> Iterator[None]:
    """Ctrl-C and its like end the run, unless they are ignored; asked again it goes on with its tidying.

    What it raises may come where it is lost (in a finaliser), or during a long wait on the way out; so it
    is raised again until the tidying begins.
    """
    before = {one: handler for one in STOPS if (handler := signal.getsignal(one)) != signal.SIG_IGN}

    def stop(*_: Any) -> None:
        for one in before:
            signal.signal(one, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise KeyboardInterrupt

    for one in (*before, signal.SIGALRM):
        signal.signal(one, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for one, handler in before.items():
            signal.signal(one, handler)


def _end_processes() -> list[str]:
    with suppress(AssertionError):
        ended(_running(), 5)
    left = []
    for process in _running():
        with suppress(psutil.Error):
            left.append(f"process {process.pid}: {' '.join(process.cmdline())}")
            process.kill()
    return left


def _running() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(VARIABLE) == os.environ[VARIABLE] and process.pid != os.getpid():
                found.append(process)
    return found


def _remove_folders(parent: Path) -> list[str]:
    left = [path for path in parent.iterdir() if path.is_dir()]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in left]
