"""A command kept running beside the server: started again when it dies, and never left behind by it."""

import logging
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTLED = 60.0  # seconds after which a death is the first of its kind again
LONGEST_PAUSE = 60.0
PATIENCE = 20.0  # for the exchange in hand, which is over within 15


class Supervisor:
    """Runs one command in a process of its own.

    The child's standard input is a pipe that nobody writes to. It ends with us, whatever ends us, kill -9 included,
    and the command stops where it sees that: this needs no parent that still lives, and works on every system.
    """

    def __init__(self, command: Sequence[str], log: logging.Logger, pause: float = 1.0) -> None:
        self._command, self._log, self._first_pause = list(command), log, pause
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the command, and keep it running from a thread."""
        threading.Thread(target=self._keep, name="supervisor", daemon=True).start()

    def restart(self) -> None:
        """Have the command begin anew, with the code and settings of now."""
        if self._process is not None:
            self._process.terminate()

    def stop(self) -> None:
        """End the command, at the latest after `PATIENCE` seconds."""
        self._stopping.set()
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()

    def forget(self) -> None:
        """In a fork of ours: let go of the pipe, or the command would outlive us for as long as the fork does."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def _keep(self) -> None:
        pause = self._first_pause
        while not self._stopping.is_set():
            began = time.monotonic()
            self._process = self._started()
            self._process.wait()
            self.forget()
            if self._stopping.is_set():
                return
            pause = self._first_pause if time.monotonic() - began > SETTLED else min(pause * 2, LONGEST_PAUSE)
            self._log.warning("the webhook deliverer has ended and is started again in %g s", pause)
            self._stopping.wait(pause)

    def _started(self) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C at the terminal then reaches the server alone, which ends this in its turn.
        options = {"cwd": ROOT, "stdin": subprocess.PIPE, "start_new_session": True}
        return subprocess.Popen(self._command, **options)  # type: ignore[call-overload,no-any-return]  # noqa: S603
