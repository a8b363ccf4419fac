"""The command that prints which tests belong to a file, and the recipes that say which files belong to a change."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def printed(*files: str) -> list[str]:
    command = [sys.executable, ".ci/tests_for.py", *files]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("directory/services/votes/voting.py", "tests/services/test_voting.py"),
        ("directory/cache/store.py", "tests/server/test_reads.py"),  # imports it
        ("directory/templates/project.html", "tests/pages/test_project.py"),
        ("tests/db/test_deadline.py", "tests/db/test_deadline.py"),
    ],
)
def test_a_file_has_the_tests_that_import_it_or_have_its_name(file: str, test: str) -> None:
    found = printed(file)
    assert test in found
    assert all((ROOT / name).is_file() for name in found)
    assert len(found) < 60


def test_a_file_without_tests_has_none() -> None:
    assert printed("no/such/file.of_ours") == []


@pytest.mark.parametrize(
    "what", ["a field to a project", "a route", "a filter", "an order", "a setting", "a webhook format"]
)
def test_a_recipe_names_files_that_are_there(what: str) -> None:
    [recipe] = re.findall(rf"^## How to add {what}.*?\n(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S)
    named = set(re.findall(r"`((?:directory|tests|docs|migrations)/[\w./-]+\.\w+)`", recipe))
    assert len(named) >= 2
    assert {name for name in named if not (ROOT / name).exists()} == set()
