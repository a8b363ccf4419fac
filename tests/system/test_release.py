"""A release: what `.ci/release.py` refuses, and what it leaves behind, in a small checkout with commands of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGES = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [1.0.0] - 2026-01-01\n\n- The first.\n"
# `check` fails where there is a file `broken`; `wheel` packs what the changelog is by then.
MAKEFILE = """check:
\t@[ ! -e broken ]
wheel:
\t@mkdir -p dist; cp CHANGELOG.md dist/project_directory-1.1.0-py3-none-any.whl
sbom:
\t@cp CHANGELOG.md dist/project_directory-1.1.0.cdx.json
"""


class Checkout:
    """A repository with the script, a version and a changelog."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write(".ci/release.py", (ROOT / ".ci" / "release.py").read_text())
        self.write("directory/services/build.py", 'RELEASE = "1.1.0.dev"\n')
        self.write("CHANGELOG.md", CHANGES)
        self.write("Makefile", MAKEFILE)
        self.write(".gitignore", "/dist/\n")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def git(self, *arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=self.folder, env=self._environment(), stdout=subprocess.PIPE)
        assert ran.returncode == 0
        return ran.stdout.decode()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Change")

    def release(self, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ".ci/release.py"]
        environment = {**self._environment(), **variables}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def refusal(self) -> str:
        """The one line that it refuses with; it then leaves everything as it was."""
        before = (self.git("log", "--format=%H"), self.git("status", "--porcelain"), self.git("tag"))
        refused = self.release()
        assert refused.returncode == 1
        assert before == (self.git("log", "--format=%H"), self.git("status", "--porcelain"), self.git("tag"))
        return refused.stderr.splitlines()[-1]

    def _environment(self) -> dict[str, str]:
        person = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), **person}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_release_is_a_dated_changelog_a_wheel_its_sum_and_a_tag(checkout: Checkout) -> None:
    assert checkout.release().returncode == 0
    lines = (checkout.folder / "CHANGELOG.md").read_text().splitlines()
    assert lines[:5] == ["# Changelog", "", "## [Unreleased]", "", lines[4]]
    assert lines[4].startswith("## [1.1.0] - 20")
    assert checkout.git("show", "v1.1.0:CHANGELOG.md").splitlines() == lines
    assert checkout.git("show", "v1.1.0:directory/services/build.py") == 'RELEASE = "1.1.0"\n'
    assert checkout.git("show", "HEAD:directory/services/build.py") == 'RELEASE = "1.2.0.dev"\n'
    assert checkout.git("log", "--format=%s") == "Begin 1.2.0\nRelease 1.1.0\nChange\n"
    assert checkout.git("cat-file", "-t", "v1.1.0") == "tag\n"
    assert checkout.git("status", "--porcelain") == ""
    sums = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=checkout.folder / "dist")
    assert sums.returncode == 0
    assert (checkout.folder / "dist" / "SHA256SUMS").read_text().count("project_directory-1.1.0") == 2
    assert checkout.refusal() == "No release: CHANGELOG.md lists no change under Unreleased."


def test_a_release_whose_build_fails_leaves_nothing_and_can_be_tried_again(checkout: Checkout) -> None:
    checkout.write("Makefile", MAKEFILE.replace("sbom:\n", "sbom:\n\t@[ ! -e .git/broken ]\n"))
    checkout.commit()
    checkout.write(".git/broken", "")
    assert checkout.refusal() == "No release: `make wheel sbom` failed, and nothing is tagged."
    (checkout.folder / ".git" / "broken").unlink()
    assert checkout.release().returncode == 0


def test_a_version_that_was_released_is_not_released_again(checkout: Checkout) -> None:
    checkout.write("directory/services/build.py", 'RELEASE = "1.0.0.dev"\n')
    checkout.commit()
    assert "CHANGELOG.md has 1.0.0 already" in checkout.refusal()
    checkout.write("directory/services/build.py", 'RELEASE = "1.1.0"\n')
    checkout.commit()
    assert checkout.refusal() == "No release: RELEASE in directory/services/build.py does not end with .dev."


def test_a_dry_run_shows_the_steps_and_takes_none(checkout: Checkout) -> None:
    before = checkout.git("log", "--format=%H")
    shown = checkout.release(DRY_RUN="1")
    assert shown.returncode == 0
    steps = [line.split()[1:3] for line in shown.stdout.splitlines() if line.startswith("would ")]
    assert [" ".join(words) for words in steps] == [
        "make check",
        "write '##",
        "write '1.1.0'",
        "git commit",
        "make wheel",
        "write dist/SHA256SUMS",
        "git tag",
        "write '1.2.0.dev'",
        "git commit",
    ]
    assert (checkout.git("log", "--format=%H"), checkout.git("tag")) == (before, "")
    assert (checkout.folder / "CHANGELOG.md").read_text() == CHANGES
    assert not (checkout.folder / "dist").exists()


def test_it_is_refused_where_something_is_not_committed_or_the_check_fails(checkout: Checkout) -> None:
    checkout.write("new", "")
    assert checkout.refusal() == "No release: the tree has changes that are not committed."
    checkout.write("broken", "")
    checkout.commit()
    assert checkout.refusal() == "No release: `make check` failed, and nothing is tagged."


def test_it_is_refused_where_the_version_is_not_new_or_nothing_changed(checkout: Checkout) -> None:
    checkout.git("tag", "v1.1.0")
    assert checkout.refusal() == "No release: the tag v1.1.0 exists already."
    checkout.git("tag", "--delete", "v1.1.0")
    checkout.write("CHANGELOG.md", CHANGES.replace("### Added\n\n- A thing.\n\n", ""))
    checkout.commit()
    assert checkout.refusal() == "No release: CHANGELOG.md lists no change under Unreleased."
