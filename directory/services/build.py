"""The running build of the service: its version and its commit."""

import subprocess
from functools import cache
from pathlib import Path

VERSION = "0.1.0"
ROOT = Path(__file__).resolve().parents[2]
# `git archive` replaces its content by the full commit (export-subst), the builds of the wheel and the image by a short
# one. All are shown at one length, because hosts of one release may be installed in different ways.
COMMIT_FILE = ROOT / "directory" / "data" / "commit.txt"
UNREPLACED = "$Format"
DIGITS = 12


@cache
def commit() -> str | None:
    """Return the short commit of the code, or None if it is unknown.

    In a checkout git is called, once per process.
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
    """Return the version and the commit as a dictionary."""
    return {"version": VERSION, "commit": commit()}
