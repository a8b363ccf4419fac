"""A process that reads at fixed moments, whatever became of the earlier reads, and tells how long each took.

A reader who waits for each answer would ask least often just when it takes longest. And in a process of its own it
measures the service: together with the test's other callers it would measure their turns at one interpreter too.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from tests.support import proxy
from tests.system.chaos import load

EVERY = 0.02  # seconds from one read to the next


class Reader:
    """The process, as the test sees it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.waits: list[float] = []
        assert self._line() == "ready"

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Have it read while the block runs; how long each read took is added to `waits`, in seconds."""
        self._say("go")
        try:
            yield
        finally:
            self._say("stop")
            reads = json.loads(self._line())
        assert all(status == 200 for status, _ in reads), [status for status, _ in reads if status != 200]
        self.waits += [seconds for _, seconds in reads]

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None
        print(word, file=self._process.stdin, flush=True)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def reader(port: int, path: str, *, tls: bool = False) -> Iterator[Reader]:
    """A process that will read `path` of the server at `port`, each time over a new connection."""
    command = [sys.executable, "-m", "tests.system.chaos.paced", "https" if tls else "http", str(port), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Reader(process)
        finally:
            process.kill()


def _read(ask: Callable[..., Any], port: int, path: str, due: float) -> tuple[int | None, float]:
    """The status, and the seconds since it was due."""
    return ask(port, "GET", path).status, time.monotonic() - due


def main() -> None:
    ask, port, path = {"https": proxy.call, "http": load.call}[sys.argv[1]], int(sys.argv[2]), sys.argv[3]
    with ThreadPoolExecutor(100) as pool, ThreadPoolExecutor(1) as listener:
        print("ready", flush=True)
        while sys.stdin.readline():  # "go"
            stop, due, reads = listener.submit(sys.stdin.readline), time.monotonic(), []
            while not wait([stop], max(0.0, due - time.monotonic())).done:
                reads.append(pool.submit(_read, ask, port, path, due))
                due += EVERY
            print(json.dumps([each.result() for each in reads]), flush=True)


if __name__ == "__main__":
    main()
