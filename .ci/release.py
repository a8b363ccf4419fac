"""Make a release of what is committed, on this machine alone: python .ci/release.py. DRY_RUN=1 shows the steps.

VERSION in directory/services/build.py is the version. The script pushes nothing.
"""

import hashlib
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG, WHEELS = ROOT / "CHANGELOG.md", ROOT / "dist"
SOURCE = ROOT / "directory" / "services" / "build.py"
UNRELEASED = "## [Unreleased]\n"
DRY_RUN = os.environ.get("DRY_RUN", "") not in {"", "0"}


class Refused(SystemExit):
    """The reason for which there is no release; as a SystemExit it ends the script with one line."""

    def __init__(self, why: str) -> None:
        super().__init__(f"No release: {why}.")


def main() -> None:
    """Check, test, date the changelog, commit, build, list the packages, and tag. Raises Refused."""
    [version] = re.findall(r'^VERSION = "(.+)"$', SOURCE.read_text(encoding="utf-8"), re.M)
    tag, changes = f"v{version}", CHANGELOG.read_text(encoding="utf-8")
    _require_clean()
    _require_new(version, tag, changes)
    _run("make", "check")
    _require_clean()
    dated = f"{UNRELEASED}\n## [{version}] - {datetime.now(UTC).date()}\n"
    _step(f"write {dated.splitlines()[-1]!r} into {CHANGELOG.name}")
    if not DRY_RUN:
        CHANGELOG.write_text(changes.replace(UNRELEASED, dated, 1), encoding="utf-8")
    _run("git", "commit", "--quiet", "--message", f"Release {version}", CHANGELOG.name)
    _run("make", "wheel", "sbom")
    _step(f"write {WHEELS.name}/SHA256SUMS")
    if not DRY_RUN:
        _write_sums(version)
    _run("git", "tag", "--annotate", "--message", f"Release {version}", tag)
    sys.stdout.write(
        f"Nothing is pushed. When {WHEELS.name} and the tag are as they should be: git push origin HEAD {tag}\n"
    )


def _require_clean() -> None:
    if _git("status", "--porcelain"):
        raise Refused("the tree has changes that are not committed")


def _require_new(version: str, tag: str, changes: str) -> None:
    if f"\n## [{version}]" in changes:
        raise Refused(f"{CHANGELOG.name} has {version} already: raise VERSION in {SOURCE.relative_to(ROOT)}")
    if _git("tag", "--list", tag):
        raise Refused(f"the tag {tag} exists already")
    if not re.search(rf"^{re.escape(UNRELEASED)}\n(?!## )\S", changes, re.M):
        raise Refused(f"{CHANGELOG.name} lists no change under Unreleased")


def _write_sums(version: str) -> None:
    """The sums of this version's files, in the form of sha256sum, which can check them."""
    files = sorted(WHEELS.glob(f"project_directory-{version}[-.]*"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (WHEELS / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _git(*arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603, S607 (our own)
    if ran.returncode:
        raise Refused("this is not a git checkout")
    return ran.stdout


def _run(*command: str) -> None:
    _step(" ".join(command))
    if not DRY_RUN and subprocess.run(command, cwd=ROOT).returncode:  # noqa: S603 (our own)
        raise Refused(f"`{' '.join(command)}` failed, and nothing is tagged")


def _step(what: str) -> None:
    sys.stdout.write(f"{'would ' if DRY_RUN else ''}{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
