"""The README says what is so: its settings, commands, routes and links, and its tour, which is run as it stands."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from flask import Flask

import config
from tests.conftest import build
from tests.support.serving import serving

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

SITE = "http://127.0.0.1:8000"
FLASK = ".venv/bin/flask"
END_OF_STEP = "---- end of a step of the tour ----"
# What the tour is there to show, in this order.
STORY = (
    '"status": "pending"',
    '"queue_position": 9',
    '"status": "rejected"',
    '"rejection_reason": "Please',
    '"status": "pending"',
    '"queue_position": 9',
    '"status": "live"',
    '"title": "Lanternfish"',
    '"upvoted":true,"upvotes":1',
    '"upvoted":false,"upvotes":0',
    '"upvotes": 0',
    '"title": "Lanternfish"',
    '"next_cursor": "',
)
# Variables of which others are read only together with them.
WEBHOOK = {"WEBHOOK_URL": "https://example.org/hook", "WEBHOOK_SECRET": "d2hzZWM="}
OF_FLASK_AND_LIBRARIES = {"db", "routes", "run", "shell"}


def section(title: str) -> str:
    """The text under a heading of the README."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.M | re.S)
    assert found, f"the README has no section {title!r}"
    return found[1]


def rows(title: str) -> list[list[str]]:
    """The cells of the table in a section, without its heads."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(cell: str) -> list[str]:
    """The code spans of a cell."""
    return re.findall(r"`([^`]+)`", cell)


class Recorder(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)


@pytest.fixture(autouse=True)
def _instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "INSTANCE", tmp_path)


@pytest.fixture
def unprepared(tmp_path: Path) -> Flask:
    """An application whose database is never opened."""
    return build(f"sqlite:///{tmp_path / 'unused.db'}")


def test_every_setting_stands_in_the_table_and_no_other() -> None:
    asked: set[str] = {"ENV_FILE"}  # read before there are settings
    for environ in (Recorder({}), Recorder(WEBHOOK)):
        config.load(environ)
        asked |= environ.asked
    files = {f"{name}_FILE" for name in config.SECRETS}
    assert files < asked
    [listed] = [row for row in rows("Settings") if code(row[0]) == ["NAME_FILE"]]
    assert set(code(listed[2])) == files
    shown = {name for row in rows("Settings") for name in code(row[0])}
    assert sorted(shown) == sorted(asked - files | {"NAME_FILE"})


@pytest.mark.parametrize("row", [row for row in rows("Settings") if row[1].startswith("`")], ids=lambda row: row[0])
def test_a_default_in_the_table_is_the_default(row: list[str]) -> None:
    [name], default = code(row[0]), code(row[1])[0]
    assert config.load({name: default}) == config.load({})


def test_every_command_stands_in_the_table_and_no_other(unprepared: Flask) -> None:
    ours = set(_commands(unprepared.cli, "")) - {"db upgrade"}
    told = {name for row in rows("Commands") for name in code(row[0])} - {"db upgrade"}
    assert told == ours


def _commands(group: click.Group, prefix: str) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if prefix == "" and name in OF_FLASK_AND_LIBRARIES:
            continue
        if isinstance(command, click.Group):
            yield from _commands(command, f"{name} ")
        else:
            yield prefix + name


def _routes(app: Flask) -> set[tuple[str, str]]:
    """Every method and path, with the names of ids left out."""
    return {
        (method, re.sub(r"<[^>]+>", "{}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def _told_routes() -> set[tuple[str, str]]:
    cells = [(code(row[0]), code(row[1])) for row in rows("The API at a glance")]
    return {(method, re.sub(r"{\w+}", "{}", path)) for methods, paths in cells for path in paths for method in methods}


def test_the_table_of_routes_holds_no_route_that_is_not_there(unprepared: Flask) -> None:
    assert _told_routes() - _routes(unprepared) == set()


def test_every_route_stands_in_the_table_or_in_the_openapi_document(unprepared: Flask) -> None:
    document = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    described = {
        (method.upper(), re.sub(r"{\w+}", "{}", path)) for path, item in document["paths"].items() for method in item
    }
    assert _routes(unprepared) - _told_routes() - described == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def steps() -> list[tuple[str, str]]:
    """The tour: each step's commands, and what the README shows of their output."""
    return re.findall(r"^```sh\n(.*?)^```\n^```\w+\n(.*?)^```$", section("A tour"), re.M | re.S)


def test_every_step_of_the_tour_shows_its_output() -> None:
    assert len(steps()) == section("A tour").count("```sh\n") > 0


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


def test_the_tour_prints_what_it_shows(served: tuple[str, dict[str, str]]) -> None:
    site, environ = served
    script = "".join(f"{commands}\necho '{END_OF_STEP}'\n" for commands, _ in steps())
    for text, here in ((SITE, site), (FLASK, f"{shlex.quote(sys.executable)} -m flask")):
        assert text in script
        script = script.replace(text, here)
    output = _run(["bash", "-c", f"set -eu -o pipefail\n{script}"], environ)
    printed = output.split(f"{END_OF_STEP}\n")[:-1]
    for (commands, shown), found in zip(steps(), printed, strict=True):
        assert re.fullmatch(_pattern(shown), found), f"{commands}printed\n{found}and not\n{shown}"
    for told in (output, "".join(shown for _, shown in steps())):
        _require_in_order(STORY, told)


def _pattern(shown: str) -> str:
    """What is shown, as a pattern: … stands for any text within a line."""
    return re.escape(shown).replace("…", "[^\n]+")


def _require_in_order(wanted: tuple[str, ...], text: str) -> None:
    position = 0
    for each in wanted:
        position = text.find(each, position) + 1
        assert position, f"{each} is not in the tour, or not in its place"
