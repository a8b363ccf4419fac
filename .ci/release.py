"""Make a release of what is committed, on this machine alone: python .ci/release.py. DRY_RUN=1 shows the steps.

RELEASE in directory/services/build.py is the version that comes next, with `.dev`, at any commit. The script removes
`.dev` in the commit of the release, and names the release after it in another commit. It pushes nothing.
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
API = ROOT / "docs" / "openapi.json"
UNRELEASED = "## [Unreleased]\n"
DRY_RUN = os.environ.get("DRY_RUN", "") not in {"", "0"}


class Refused(SystemExit):
    """The reason for which there is no release; as a SystemExit it ends the script with one line."""

    def __init__(self, why: str) -> None:
        super().__init__(f"No release: {why}.")


def main() -> None:
    """Check, test, date the changelog, commit, build, list the packages, and tag. Raises Refused."""
    version = _next_release()
    tag, changes = f"v{version}", CHANGELOG.read_text(encoding="utf-8")
    _require_clean()
    _require_new(version, tag, changes)
    _run("make", "check")
    _require_clean()
    before = _git("rev-parse", "HEAD").strip()
    dated = f"{UNRELEASED}\n## [{version}] - {datetime.now(UTC).date()}\n"
    _write(CHANGELOG, changes.replace(UNRELEASED, dated, 1), dated.splitlines()[-1])
    _set_version(f"{version}.dev", version)
    _run("git", "commit", "--quiet", "--all", "--message", f"Release {version}")
    try:
        _build(version)
        _run("git", "tag", "--annotate", "--message", f"Release {version}", tag)
    except Refused:
        _run("git", "reset", "--quiet", "--hard", before)  # so that it can be tried again
        raise
    after = _after(version)
    _set_version(version, f"{after}.dev")
    _run("git", "commit", "--quiet", "--all", "--message", f"Begin {after}")
    sys.stdout.write(
        f"Nothing is pushed. When {WHEELS.name} and the tag are as they should be: git push origin HEAD {tag}\n"
    )


def _next_release() -> str:
    found = re.findall(r'^RELEASE = "(.+)\.dev"$', SOURCE.read_text(encoding="utf-8"), re.M)
    if len(found) != 1:
        raise Refused(f"RELEASE in {SOURCE.relative_to(ROOT)} does not end with .dev")
    return str(found[0])


def _after(version: str) -> str:
    """The next version but for its last part, which a correction would raise: 0.3.0 after 0.2.0 and after 0.2.1."""
    major, minor, *_ = version.split(".")
    return f"{major}.{int(minor) + 1}.0"


def _set_version(old: str, new: str) -> None:
    """Write the version into the source, and into the description of the API, which has it without `.dev`."""
    _write(SOURCE, SOURCE.read_text(encoding="utf-8").replace(f'RELEASE = "{old}"', f'RELEASE = "{new}"'), new)
    before, after = (f'\n    "version": "{version.removesuffix(".dev")}"\n' for version in (old, new))
    if before != after and API.exists():
        _write(API, API.read_text(encoding="utf-8").replace(before, after, 1), new.removesuffix(".dev"))


def _write(path: Path, text: str, what: str) -> None:
    _step(f"write {what!r} into {path.name}")
    if not DRY_RUN:
        path.write_text(text, encoding="utf-8")


def _build(version: str) -> None:
    _run("make", "wheel", "sbom")
    _step(f"write {WHEELS.name}/SHA256SUMS")
    if not DRY_RUN:
        _write_sums(version)


def _require_clean() -> None:
    if _git("status", "--porcelain"):
        raise Refused("the tree has changes that are not committed")


def _require_new(version: str, tag: str, changes: str) -> None:
    if f"\n## [{version}]" in changes:
        raise Refused(f"{CHANGELOG.name} has {version} already: raise RELEASE in {SOURCE.relative_to(ROOT)}")
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
