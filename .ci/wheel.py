"""Build the wheel, pages included, from the files that git tracks: python .ci/wheel.py FOLDER.

It is built from a copy, because setuptools would also pack what earlier builds left in a checkout. The same commit
gives the same bytes. The pages have to be built already.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = Path("directory", "web", "dist")
COMMIT, COMMITS = (Path("directory", "data", name) for name in ("commit.txt", "commits.txt"))
FOLDERS = ("deploy", "directory", "migrations", "settings")
PACKED = (":(glob)*.py", "pyproject.toml", "setup.cfg", "requirements*.txt", "README.md", "LICENSE")


def build(folder: Path) -> Path:
    """Build it into the folder; its path. Raises SystemExit with the reason where it cannot be built."""
    if not (ROOT / PAGES / "pages.json").is_file():
        raise SystemExit("The wheel is not built: it needs the pages, which `make web` builds.")
    environment = {"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct").strip(), **os.environ}
    with tempfile.TemporaryDirectory() as copy:
        for name in filter(None, _git("ls-files", "-z", *PACKED, *FOLDERS).split("\0")):
            (Path(copy) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, Path(copy) / name)
        shutil.copytree(ROOT / PAGES, Path(copy) / PAGES)
        (Path(copy) / COMMIT).write_text(_git("rev-parse", "--short=12", "HEAD"), encoding="ascii")
        (Path(copy) / COMMITS).write_text(_git("rev-list", "--count", "HEAD"), encoding="ascii")
        into = Path(copy) / "wheel"
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        if subprocess.run([*command, "--wheel-dir", into, copy], env=environment).returncode:  # noqa: S603 (our own)
            raise SystemExit("The wheel is not built: pip could not build it.")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(next(into.glob("*.whl")), folder))


def _git(*arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)  # noqa: S603, S607
    if ran.returncode:
        raise SystemExit("The wheel is not built: this is not a git checkout.")
    return ran.stdout


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
