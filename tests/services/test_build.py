"""Which commit runs: of a build by its file, of a checkout by git, and otherwise unknown."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from directory.services import build


@pytest.fixture(autouse=True)
def _asked_again() -> Iterator[None]:
    build.commit.cache_clear()
    yield
    build.commit.cache_clear()


COMMIT = "9da359c3b1f0"


@pytest.mark.parametrize(
    ("written", "commit"), [(f"{COMMIT}\n", COMMIT), (f"{COMMIT}5a697887960f1e2d3c4b5a697887\n", COMMIT), ("", None)]
)
def test_a_build_has_its_commit_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, written: str, commit: str | None
) -> None:
    (tmp_path / "commit.txt").write_text(written)
    monkeypatch.setattr(build, "COMMIT_FILE", tmp_path / "commit.txt")
    assert build.described() == {"version": build.VERSION, "commit": commit}


def test_a_folder_that_is_not_a_checkout_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "ROOT", tmp_path)
    assert build.commit() is None


def test_a_checkout_asks_git_and_goes_on_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(build, "ROOT", tmp_path)
    answers: list[Any] = [
        subprocess.CompletedProcess([], 0, "abc\n", ""),
        subprocess.CompletedProcess([], 128, "", "no"),
    ]

    def run(*_: Any, **__: Any) -> Any:
        if not answers:
            raise FileNotFoundError
        return answers.pop(0)

    monkeypatch.setattr(subprocess, "run", run)
    found = []
    for _ in range(3):
        build.commit.cache_clear()
        found.append(build.commit())
    assert found == ["abc", None, None]


@pytest.mark.parametrize(
    ("release", "written", "version"),
    [("0.2.0.dev", "1234\n", "0.2.0.dev1234"), ("0.2.0", "1234\n", "0.2.0"), ("0.2.0.dev", "", "0.2.0.dev0")],
)
def test_between_releases_the_version_has_the_number_of_commits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, release: str, written: str, version: str
) -> None:
    (tmp_path / "commits.txt").write_text(written)
    monkeypatch.setattr(build, "RELEASE", release)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "COMMITS_FILE", tmp_path / "commits.txt")
    assert build.version() == version
    assert str(Version(version)) == version


def test_a_checkout_counts_its_commits_and_a_later_build_is_newer_and_older_than_the_release() -> None:
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=build.ROOT, capture_output=True, text=True)
    assert build.version() == f"{build.RELEASE}{counted.stdout.strip()}"
    assert Version("0.1.0") < Version("0.2.0.dev9") < Version("0.2.0.dev10") < Version("0.2.0")


def test_a_tree_without_git_is_a_development_version_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "COMMITS_FILE", tmp_path / "commits.txt")
    assert build.version() == f"{build.RELEASE}0"
