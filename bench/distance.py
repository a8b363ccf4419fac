"""A database server that is some distance away: a proxy before it that keeps every piece for a while."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_connection

from tests.support.processes import free_port

SOURCE = Path(__file__).parent / "distance.c"


@contextmanager
def distance(target: int, milliseconds: float) -> Iterator[int]:
    """The port behind which the server at `target` is so many milliseconds away, each way. It is compiled first."""
    if (compiler := shutil.which("cc") or shutil.which("gcc")) is None:
        raise SystemExit("a C compiler is missing: apt-get install gcc")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "distance"
        subprocess.run([compiler, "-O2", "-pthread", "-D_GNU_SOURCE", "-o", program, SOURCE], check=True)
        port = free_port()
        process = subprocess.Popen([program, str(port), str(target), str(round(1000 * milliseconds))])
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(port: int) -> None:
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        with suppress(OSError), create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise SystemExit("the proxy does not listen")
