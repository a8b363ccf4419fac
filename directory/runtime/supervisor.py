"""Run a command next to the server: start it again when it dies, and end it with the server."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

SETTLED = 60.0  # seconds after which a death is the first of its kind again
LONGEST_PAUSE = 60.0
STOP_TIMEOUT = 20.0  # seconds; a webhook exchange under way ends within 15


class Supervisor:
    """Runs one command in a process of its own. `died` is called, in our thread, each time it has ended by itself.

    The child's standard input is a pipe without data. The pipe closes when this process ends, also by kill -9, and
    the command stops when it reads that end. This works on every system and needs no parent that is still alive.

    A server forks workers while we start the command from a thread. `subprocess` opens a second pipe for that, and
    waits for ever where a worker has been born with it; `posix_spawn` needs none, and our own is there from the start.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: logging.Logger,
        died: Callable[[], None] = lambda: None,
        pause: float = 1.0,
    ) -> None:
        self._command, self._log, self._first_pause, self._died = list(command), log, pause, died
        self._reading, self._writing = os.pipe()
        self._lock, self._stopping, self._renewing = threading.Lock(), threading.Event(), False
        self._thread = threading.Thread(target=self._keep, name="supervisor", daemon=True)
        self._pid: int | None = None

    def start(self) -> None:
        """Start the command, and a thread that starts it again when it dies."""
        self._thread.start()

    def restart(self) -> None:
        """Start the command again, with the code on disk."""
        self._renewing = True
        self._signal(signal.SIGTERM)

    def stop(self) -> None:
        """End the command, at the latest after `STOP_TIMEOUT` seconds."""
        with self._lock:
            self._stopping.set()
        self._signal(signal.SIGTERM)
        self._thread.join(STOP_TIMEOUT)
        if self._thread.is_alive():
            self._signal(signal.SIGKILL)

    def forget(self) -> None:
        """Close the pipe in a fork of our process; otherwise the command would run for as long as the fork."""
        os.close(self._writing)

    def _keep(self) -> None:
        pause = self._first_pause
        while self._spawn():
            began = time.monotonic()
            self._wait()
            if time.monotonic() - began > SETTLED:
                pause = self._first_pause
            if not self._stopping.is_set() and not self._renewing:
                self._log.warning("the webhook deliverer has ended and is started again in %g s", pause)
                self._died()
                self._stopping.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            self._renewing = False

    def _spawn(self) -> bool:
        """Start the command, unless it is time to stop."""
        with self._lock:
            if self._stopping.is_set():
                return False
            # A process group of its own: Ctrl-C at the terminal then reaches the server alone, which ends this in turn.
            files = [(os.POSIX_SPAWN_DUP2, self._reading, 0), *((os.POSIX_SPAWN_CLOSE, fd) for fd in _inheritable())]
            self._pid = os.posix_spawn(self._command[0], self._command, os.environ, file_actions=files, setpgroup=0)
            return True

    def _wait(self) -> None:
        # The server collects every child that dies, and may have been faster.
        with suppress(ChildProcessError):
            os.waitpid(self._pid or 0, 0)
        self._pid = None

    def _signal(self, number: int) -> None:
        pid = self._pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _inheritable() -> Iterator[int]:
    """The descriptors that a new program inherits: the server's listening socket, kept for its own successor.

    A deliverer that holds it outlives a server that is killed by an exchange, and its port could not be used again.
    """
    for fd in map(int, os.listdir("/dev/fd")):
        with suppress(OSError):  # one of them was the listing's own
            if fd > 2 and os.get_inheritable(fd):
                yield fd
