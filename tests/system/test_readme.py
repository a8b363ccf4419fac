"""The documents say what is so: what is made from the code, links, and the tour of the README, which is run."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

import config
from settings import Setting
from tests.conftest import build
from tests.support.serving import serving

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

SITE = "http://127.0.0.1:8000"
FLASK = ".venv/bin/flask"
END_OF_STEP = "---- end of a step of the tour ----"
# What a tour is there to show, in this order.
SHORT = ('"status": "pending"', '"status": "live"', '"title": "Lanternfish"', '"upvoted":true,"upvotes":1')
LONG = (
    '"status": "pending"',
    '"queue_position": 7',
    '"status": "rejected"',
    '"rejection_reason": "Please',
    '"status": "pending"',
    '"queue_position": 7',
    '"status": "live"',
    '"title": "Lanternfish"',
    '"upvoted":true,"upvotes":1',
    '"upvoted":false,"upvotes":0',
    '"upvotes": 0',
    '"title": "Lanternfish"',
    '"next_cursor": "',
)
STORIES = {ROOT / "README.md": SHORT, ROOT / "docs" / "tour.md": LONG}


@pytest.fixture(autouse=True)
def _instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "INSTANCE", tmp_path)


@pytest.fixture
def unprepared(tmp_path: Path) -> Flask:
    """An application whose database is never opened."""
    return build(f"sqlite:///{tmp_path / 'unused.db'}")


def test_the_documents_that_are_made_from_the_code_are_up_to_date(unprepared: Flask) -> None:
    documents = runpy.run_path(str(ROOT / ".ci" / "documents.py"))["DOCUMENTS"]
    stale = [path.name for path, made in documents.items() if path.read_text(encoding="utf-8") != made(unprepared)]
    assert stale == [], "run python .ci/documents.py"


@pytest.mark.parametrize("setting", [each for each in config.SETTINGS if each.default], ids=lambda each: each.name)
def test_a_default_that_is_declared_is_the_default(setting: Setting) -> None:
    assert config.load({setting.name: setting.default}) == config.load({})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def steps(tour: Path) -> list[tuple[str, str]]:
    """The tour: each step's commands, and what the document shows of their output."""
    return re.findall(r"^```sh\n(.*?)^```\n^```\w+\n(.*?)^```$", text(tour), re.M | re.S)


def text(tour: Path) -> str:
    """The tour of a document: the section of that name, or all of it."""
    whole = tour.read_text(encoding="utf-8")
    return whole.partition("\n## A tour\n")[2].partition("\n## ")[0] or whole


@pytest.mark.parametrize("tour", STORIES, ids=lambda path: path.name)
def test_every_step_of_a_tour_shows_its_output(tour: Path) -> None:
    assert len(steps(tour)) == text(tour).count("```sh\n") > 0


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A server like that of `make run` on a fresh checkout: its address, and the environment of its commands."""
    if shutil.which("curl") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("the tour needs curl")
    settings = {"APP_ENV": "development", "DATABASE_URL": f"sqlite:///{tmp_path / 'tour.db'}", "SECRET_KEY": "s" * 64}
    environ = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path), "FLASK_SKIP_DOTENV": "1", **settings}
    with serving({**environ, "PREPARE_DATABASE": "true"}, tmp_path / "log") as server:
        yield f"http://127.0.0.1:{server.port}", environ


def _run(command: list[str], environ: dict[str, str]) -> str:
    """What a command prints to standard output; it must end well."""
    ran = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, encoding="utf-8", timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("tour", STORIES, ids=lambda path: path.name)
def test_a_tour_prints_what_it_shows(served: tuple[str, dict[str, str]], tour: Path) -> None:
    output = played(tour, *served)
    for told in (output, "".join(shown for _, shown in steps(tour))):
        _require_in_order(STORIES[tour], told)


def played(tour: Path, site: str, environ: dict[str, str]) -> str:
    """What the steps of a tour print, which is what it shows."""
    script = "".join(f"{commands}\necho '{END_OF_STEP}'\n" for commands, _ in steps(tour))
    for typed, here in ((SITE, site), (FLASK, f"{shlex.quote(sys.executable)} -m flask")):
        assert typed in script
        script = script.replace(typed, here)
    output = _run(["bash", "-c", f"set -eu -o pipefail\n{script}"], environ)
    printed = output.split(f"{END_OF_STEP}\n")[:-1]
    for (commands, shown), output_of_step in zip(steps(tour), printed, strict=True):
        assert re.fullmatch(_pattern(shown), output_of_step), f"{commands}printed\n{output_of_step}and not\n{shown}"
    return output


def _pattern(shown: str) -> str:
    """What is shown, as a pattern: … stands for any text within a line."""
    return re.escape(shown).replace("…", "[^\n]+")


def _require_in_order(wanted: tuple[str, ...], told: str) -> None:
    position = 0
    for line in wanted:
        position = told.find(line, position) + 1
        assert position, f"{line} is not in the tour, or not in its place"
