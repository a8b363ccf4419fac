"""The folder in which the processes of a server share what they measure, for as long as the server runs."""

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the client library's own; it reads it when it is imported


def provide(parent: str | None = None) -> None:
    """Make a folder and name it, unless the operator named one or this process has made one already.

    One that another server made and handed down to this one, its successor, is that one's, which removes it.
    """
    named = Path(os.environ.get(VARIABLE, "")).name
    maker = re.fullmatch(r"directory-metrics-(\d+)-\w+", named)
    if named and (maker is None or int(maker[1]) == os.getpid()):
        return
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix=f"directory-metrics-{os.getpid()}-", dir=parent)
    atexit.register(_remove, os.environ[VARIABLE], os.getpid())


def _remove(folder: str, maker: int) -> None:
    """At the end of the process; its children inherit the intention, and shall not carry it out."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
