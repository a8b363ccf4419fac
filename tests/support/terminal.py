"""A program on a terminal of its own, and what it shows there."""

import os
import pty
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType

WITHIN = 60.0  # seconds for what is waited for, on a machine that is busy with other tests


class Terminal:
    """Runs a command on a pseudo-terminal for as long as the block runs; `shown` is all that it has printed."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self._master, program_side = pty.openpty()
        files = {"stdin": program_side, "stdout": program_side, "stderr": program_side}
        self.process = subprocess.Popen(command, env=environment, cwd=folder, start_new_session=True, **files)
        os.close(program_side)
        self.shown = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.end()
        os.close(self._master)

    def end(self) -> int:
        """Wait for the command's end and read the rest; its exit status."""
        status = self.process.wait(WITHIN)
        self._reader.join(WITHIN)
        return status

    def wait_for(self, text: str) -> None:
        """Return once the text is shown. Raises TimeoutError."""
        give_up = time.monotonic() + WITHIN
        while text not in self.shown:
            if time.monotonic() > give_up or self.process.poll() is not None:
                raise TimeoutError(f"{text!r} is not in {self.shown!r}")
            time.sleep(0.02)

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self._master, 65536)
            except OSError:  # the program has ended
                return
            self.shown += part.decode().replace("\r\n", "\n")
