"""Run a command that takes a while, and show on a terminal that it goes on: python .ci/progress.py TITLE COMMAND...

What the command prints is shown where it fails. It runs by the Python that makes `.venv`, so it needs no package.
"""

import subprocess
import sys
import threading
import time

STEP = 0.2  # seconds between two looks
WIDTH = 60
# How pip and uv begin a line that names a package, and what happens to it.
WORDS = ("Collecting", "Downloading", "Installing", "Resolved", "Prepared", "Installed", "Successfully")


class Reader(threading.Thread):
    """Reads what the command prints, so that it never waits for us, and remembers its last step."""

    def __init__(self, stream) -> None:
        super().__init__(daemon=True)
        self._stream, self.lines, self.step = stream, [], ""

    def run(self) -> None:
        """Read to the end."""
        for line in self._stream:
            self.lines.append(line)
            if line.strip().startswith(WORDS):
                self.step = line.strip()


def main(title: str, command: list[str]) -> int:
    """Run the command; return its exit status."""
    shown = sys.stderr.isatty()
    began = time.monotonic()
    sys.stderr.write(title if shown else f"{title}\n")
    sys.stderr.flush()
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    process = subprocess.Popen(command, **output)  # noqa: S603 (the Makefile's own)
    reader = Reader(process.stdout)
    reader.start()
    try:
        while process.poll() is None:
            if shown:
                show(f"{title}: {time.monotonic() - began:.0f} s  {reader.step[:WIDTH]}")
            time.sleep(STEP)
    except KeyboardInterrupt:  # the command has had it too
        process.wait()
        return 130
    reader.join()
    if shown:
        show(f"{title}: {time.monotonic() - began:.0f} s\n")
    if process.returncode:
        sys.stderr.write("".join(reader.lines))
    return process.returncode


def show(line: str) -> None:
    """Put a line in the place of the last one."""
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
