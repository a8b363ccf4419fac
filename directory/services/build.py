"""Which build of the service runs: its version and its commit."""

import subprocess
from functools import cache
from pathlib import Path

VERSION = "0.1.0"
ROOT = Path(__file__).resolve().parents[2]
# `git archive` replaces its content by the whole commit (export-subst), the builds of the wheel and the image by a
# shortened one. All are shown at one length, because hosts of one release may have come by different ways.
COMMIT_FILE = ROOT / "directory" / "data" / "commit.txt"
UNREPLACED = "$Format"
DIGITS = 12


@cache
def commit() -> str | None:
    """Return the commit that the code is of, shortened, or None where it is not known.

    A checkout asks git, once in the life of a process.
    """
    written = COMMIT_FILE.read_text(encoding="ascii").strip()
    if not written.startswith(UNREPLACED):
        return written[:DIGITS] or None
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-c", f"safe.directory={ROOT}", "rev-parse", f"--short={DIGITS}", "HEAD"]
    try:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=5)  # noqa: S603 (our own)
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.strip() or None


def described() -> dict[str, str | None]:
    """Return the version and the commit by name."""
    return {"version": VERSION, "commit": commit()}
