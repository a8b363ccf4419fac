"""The running build of the service: its version and its commit."""

import subprocess
from functools import cache
from pathlib import Path

# The release that comes next, with `.dev` until `make release` makes it.
RELEASE = "0.3.0.dev"
ROOT = Path(__file__).resolve().parents[2]
# `git archive` replaces its content by the full commit (export-subst), the builds of the wheel and the image by a short
# one. All are shown at one length, because hosts of one release may be installed in different ways.
COMMIT_FILE = ROOT / "directory" / "data" / "commit.txt"
UNREPLACED = "$Format"
DIGITS = 12
# The builds of the wheel and the image write the number of commits into it.
COMMITS_FILE = COMMIT_FILE.with_name("commits.txt")


@cache
def commit() -> str | None:
    """Return the short commit of the code, or None if it is unknown.

    In a checkout git is called, once per process.
    """
    written = COMMIT_FILE.read_text(encoding="ascii").strip()
    if not written.startswith(UNREPLACED):
        return written[:DIGITS] or None
    return _git("rev-parse", f"--short={DIGITS}", "HEAD")


def version() -> str:
    """Return the version: that of the release, or between two releases a development version of the next one.

    Its number is that of the commits, so that a later build is a newer one. It is 0 if that is unknown.
    """
    if not RELEASE.endswith(".dev"):
        return RELEASE
    written = COMMITS_FILE.read_text(encoding="ascii").strip() if COMMITS_FILE.exists() else ""
    return f"{RELEASE}{int(written or _git('rev-list', '--count', 'HEAD') or 0)}"


def _git(*arguments: str) -> str | None:
    """What git prints about the checkout; None if there is none, or no git."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-c", f"safe.directory={ROOT}", *arguments]
    try:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=5)  # noqa: S603 (our own)
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout.strip() or None


VERSION = version()


def described() -> dict[str, str | None]:
    """Return the version and the commit as a dictionary."""
    return {"version": VERSION, "commit": commit()}
