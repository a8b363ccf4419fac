"""Server processes of the tests' own, each in a folder of its own, none of which outlives the tests."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any, Self

import psutil

WITHIN = 30.0  # seconds for a start or a stop
PORTS = 200  # of each process of the tests
ENVIRON = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

# Outlives this process: its standard input closes when this one ends, kill -9 included, and it then ends the server and
# removes its folder. A line that it reads is the id of the process to end, or empty while there is none. QUIT has
# PostgreSQL end without waiting for its clients; TERM is for Redis, which may have been told to ignore QUIT.
WATCHER = """
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
    kill -CONT "$pid"; kill -QUIT "$pid"; kill -TERM "$pid"
    for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; kill -0 "$pid" || break; sleep 0.8; done
    kill -KILL "$pid"
fi 2>/dev/null
rm -rf "$1"
"""


class ServerMissing(Exception):
    """No server of that kind can run here; the message says why. A test may skip for it: `servers.or_skip`."""


class ServerFailed(Exception):
    """A server that can run here did not start, or did not come back. Nobody skips a test for that."""


class Named:
    """A server that this process did not start: it has a URL and is left alone."""

    def __init__(self, url: str) -> None:
        self.url = url

    def close(self) -> None:
        """Nothing: it is not ours to stop."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Server(Named):
    """A server of our own; its port and its data outlast `stop` and `start`."""

    def __init__(self, url: str, command: list[object], folder: "Folder", ready: Callable[[], object]) -> None:
        super().__init__(url)
        self._command, self._folder, self._ready = [str(part) for part in command], folder, ready
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER, "watcher", str(folder.path)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            env=ENVIRON,
        )

    @property
    def pid(self) -> int:
        """The main process. Raises RuntimeError while the server is stopped."""
        if self._process is None:
            raise RuntimeError("the server is stopped")
        return self._process.pid

    def start(self) -> None:
        """Return once it answers. Raises ServerFailed with the end of its log where it does not."""
        if self._process is None:
            self._process = self._folder.spawn(self._command)
            self._tell_watcher(str(self.pid))
            self._wait_until_ready()

    def stop(self, by: int = signal.SIGINT) -> None:
        """End it, and return when it is gone. SIGINT is an operator's restart, SIGKILL a crash."""
        if self._process is None:
            return
        self.resume()
        family = self._family()
        self._process.send_signal(by)
        try:
            self._process.wait(WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        psutil.wait_procs(family, WITHIN)  # what is left of a crashed PostgreSQL would refuse its successor
        self._process = None
        self._tell_watcher("")

    def kill(self) -> None:
        """End all its processes at once, frozen ones too, as if the machine lost its power."""
        if self._process is None:
            return
        family = self._family()
        for process in family:  # the main one first, so that it starts no other
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        psutil.wait_procs(family, WITHIN)
        self._process = None
        self._tell_watcher("")

    def pause(self) -> None:
        """Freeze it with all its children: connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)  # first, so that it makes no further child meanwhile
        self._signal_family(signal.SIGSTOP)

    def resume(self) -> None:
        """Thaw what `pause` froze; without a pause before it nothing changes."""
        self._signal_family(signal.SIGCONT)

    def close(self) -> None:
        """Stop it and remove its folder; a second call does nothing."""
        if self._watcher.returncode is None:
            self.stop()
            self._watcher.communicate()

    def _wait_until_ready(self) -> None:
        give_up = time.monotonic() + WITHIN
        while not self._answers():
            if self._process is None or self._process.poll() is not None or time.monotonic() > give_up:
                reason = f"{self._command[0]} did not start: {self._folder.log_end()}"
                self.stop(signal.SIGKILL)
                raise ServerFailed(reason)
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            self._ready()
        except OSError:
            return False
        return True

    def _family(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            main = psutil.Process(self.pid)
            return [main, *main.children(recursive=True)]
        return []

    def _signal_family(self, signum: int) -> None:
        for process in self._family():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signum)

    def _tell_watcher(self, line: str) -> None:
        assert self._watcher.stdin is not None
        self._watcher.stdin.write(line.encode() + b"\n")
        self._watcher.stdin.flush()


class Folder:
    """A server's folder, and the user who owns it and runs the server."""

    def __init__(self, name: str, *, unprivileged: bool = False) -> None:
        self._user = _other_user() if unprivileged and os.geteuid() == 0 else {}
        self.path = Path(tempfile.mkdtemp(prefix=f"directory-{name}-", dir=self._parent()))
        self._give(self.path)

    def spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        """Start a program here as the folder's user, its output in the log. Raises ServerMissing where it may not."""
        # A session of its own, else Ctrl-C at a terminal would end the server before the tests that use it.
        options: dict[str, Any] = {"cwd": self.path, "env": ENVIRON, "start_new_session": True, **self._user}
        with (self.path / "log").open("ab") as log:
            try:
                return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)
            except (FileNotFoundError, PermissionError) as error:
                raise ServerMissing(f"{command[0]} cannot be run: {error}") from error

    def run(self, *command: object) -> None:
        """Run a program here to its end. Raises ServerMissing where it may not be run, ServerFailed where it fails."""
        if self.spawn([str(part) for part in command]).wait() != 0:
            raise ServerFailed(f"{command[0]} failed: {self.log_end()}")

    def readable(self, programs: Path) -> Path:
        """The folder of programs, or its twin in a copy of the package where the user may not read it."""
        try:
            self.run(programs / "initdb", "--version")
        except (ServerMissing, ServerFailed):  # the second where it may be run, but not read its libraries
            return self._copy(programs)
        return programs

    def _copy(self, programs: Path) -> Path:
        install, site = programs.parent, self.path / "site"
        package = install.parent
        copy = shutil.copytree(install, site / package.name / install.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")  # where a wheel's programs look, by a relative path
        if libraries.exists():
            shutil.copytree(libraries, site / libraries.name)
        for path in (site, *site.rglob("*")):
            self._give(path)
        return copy / programs.name

    def log_end(self) -> str:
        """The last lines that the programs here have said."""
        return (self.path / "log").read_text(errors="replace")[-800:].strip()

    def remove(self) -> None:
        """Remove it, where no server's watcher does."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _give(self, path: Path) -> None:
        if self._user:
            os.chown(path, self._user["user"], self._user["group"], follow_symlinks=False)

    def _parent(self) -> str:
        """A folder that the user can reach, with a path short enough for a socket's name (107 bytes)."""
        for path in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
            reached = subprocess.run(["/bin/sh", "-c", 'cd "$0"', path], stderr=subprocess.DEVNULL, **self._user)
            if reached.returncode == 0 and len(path) < 60:
                return path
        raise ServerMissing("no folder for temporary files that the server's user can reach")


def _other_user() -> dict[str, Any]:
    """Somebody who is not root, for PostgreSQL refuses to run as root; as arguments of Popen."""
    for name in ("nobody", "postgres", "daemon"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise ServerMissing("PostgreSQL does not run as root, and there is no other user here")


def free_port() -> int:
    """A free port of loopback, which no other process of the tests is given until this one ends.

    A port that is only looked for may be another's when it is used: of a second worker's server, or of a call out.
    """
    _, ports = _block()
    for _ in range(PORTS):
        with suppress(OSError), socket.create_server(("127.0.0.1", port := next(ports))):
            return port
    raise OSError("every port of these tests is in use")


@cache
def _block() -> tuple[socket.socket, Iterator[int]]:
    """The ports of this process, below those that a call out may get, and what keeps them its own: a lock by UDP."""
    for first in range(10_000, 32_000, PORTS):
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with suppress(OSError):
            lock.bind(("127.0.0.1", first))
            return lock, cycle(range(first, first + PORTS))
        lock.close()
    raise OSError("others hold all ports that tests may use")
