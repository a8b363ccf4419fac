"""The application under gunicorn, as it is shipped, on a port of its own."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from tests.support.processes import free_port
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
WITHIN = 60.0  # seconds for a start or an end, on a machine that is busy with other tests


class Serving:
    """A server and all its processes. `log` is what it has said; `root` has its code."""

    def __init__(self, environment: dict[str, str], log: Path, target: str = "wsgi:app", root: Path = ROOT) -> None:
        self.port, self.log = int(environment.get("PORT") or free_port()), log
        command = [sys.executable, "serve.py", target]
        settings = {**os.environ, "PORT": str(self.port), **environment}
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, cwd=root, env=settings, stdout=output, stderr=output)

    def request(self, method: str, path: str, token: str | None = None) -> Any:
        """The status of one request. Raises OSError or HTTPException where there is no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
            return connection.getresponse().status
        finally:
            connection.close()

    def wait_until_ready(self) -> None:
        give_up = time.monotonic() + WITHIN
        while True:
            with suppress(OSError, http.client.HTTPException):
                if self.request("GET", "/healthz") == 200:
                    return
            ended = self.process.poll()
            assert ended is None, f"ended with {ended}: {self.log.read_text()}"
            assert time.monotonic() < give_up, self.log.read_text()
            time.sleep(0.05)

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def workers(self) -> list[psutil.Process]:
        """The processes that serve: the master's own children, without its deliverer and without what these start."""
        found = []
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if "webhooks" not in child.cmdline():
                    found.append(child)
        return found

    def deliverer(self) -> psutil.Process:
        """Its deliverer, once there is one. Raises TimeoutError."""
        give_up = time.monotonic() + WITHIN
        while time.monotonic() < give_up:
            for child in self.children():
                with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    if "webhooks" in child.cmdline():
                        return child
            time.sleep(0.05)
        raise TimeoutError(self.log.read_text())

    def stop(self, by: int = signal.SIGTERM) -> list[psutil.Process]:
        """End the master, and wait for it. What was there besides."""
        family = self.children() if self.process.poll() is None else []
        self.process.send_signal(by)
        self.process.wait(WITHIN)
        return family

    def kill(self) -> None:
        """End all its processes at once, which takes a tenth of the time of a graceful shutdown."""
        self.process.send_signal(signal.SIGSTOP)  # else it might replace a worker meanwhile
        family = self.children()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.kill()
        self.process.wait(WITHIN)
        until(lambda: not any(alive(process) for process in family))


def alive(process: psutil.Process) -> bool:
    """Whether a process runs. One that has ended may still wait for its new parent to notice."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


@contextmanager
def serving(environment: dict[str, str], log: Path, target: str = "wsgi:app") -> Iterator[Serving]:
    """A server that answers, for as long as the block runs. A test of its shutdown calls `stop` within the block."""
    server = Serving(environment, log, target)
    try:
        server.wait_until_ready()
        yield server
    finally:
        if "METRICS_ENABLED" in environment:  # a server that is killed leaves its folder of metrics
            family = server.stop() if server.process.poll() is None else []
            psutil.wait_procs(family, WITHIN)
        elif server.process.poll() is None:
            server.kill()
