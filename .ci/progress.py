"""Run a command that takes a while, and show that it goes on: python .ci/progress.py TITLE COMMAND...

On a terminal one line moves; elsewhere there is another line every few seconds. What the command prints is shown where
it fails. It runs by the Python that makes `.venv`, so it needs no package.
"""

import subprocess
import sys
import threading
import time

STEP, EVERY = 0.2, 5.0  # seconds between two frames of a line that moves, and between two lines
WIDTH = 60
CLEAR = "\r\x1b[K"  # puts what follows in the place of a line that moves
# How pip and uv begin a line that names a package, and what happens to it.
WORDS = ("Collecting", "Downloading", "Installing", "Resolved", "Prepared", "Installed", "Successfully")


class Shown(threading.Thread):
    """Shows for as long as the block runs how long it has taken, and its present step."""

    def __init__(self, title: str, *, moves: bool, clock=time.monotonic) -> None:
        super().__init__(daemon=True)
        self.title, self.step, self.ended = title, "", threading.Event()
        self._moves, self._clock, self._began = moves, clock, clock()

    def __enter__(self) -> "Shown":
        self._began = self._clock()
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.ended.set()
        self.join()

    def run(self) -> None:
        """Write until the block has ended."""
        while not self.ended.wait(STEP if self._moves else EVERY):
            line = f"{self.title}: {self.seconds()}  {self.step[:WIDTH]}".rstrip()
            # Another command, run at the same time, may have a line that moves on this terminal.
            write(f"{CLEAR if sys.stderr.isatty() else ''}{line}{'' if self._moves else chr(10)}")

    def seconds(self) -> str:
        """How long it has taken."""
        return f"{self._clock() - self._began:.0f} s"


def read(stream, shown: Shown) -> list[str]:
    """The lines that the command prints; the last step among them is shown."""
    lines = []
    for line in stream:
        lines.append(line)
        if line.strip().startswith(WORDS):
            shown.step = line.strip()
    return lines


def main(title: str, command: list[str]) -> int:
    """Run the command; return its exit status."""
    moves = sys.stderr.isatty()
    write(title if moves else f"{title}\n")
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    process = subprocess.Popen(command, **output)  # noqa: S603 (the Makefile's own)
    try:
        with Shown(title, moves=moves) as shown:
            lines = read(process.stdout, shown)
            process.wait()
    except KeyboardInterrupt:  # the command has had it too
        process.wait()
        return 130
    if moves:
        write(f"{CLEAR}{title}: {shown.seconds()}\n")
    if process.returncode:
        write("".join(lines))
    return process.returncode


def write(text: str) -> None:
    """Write to standard error at once."""
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
