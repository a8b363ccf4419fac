"""docs/translating.md is followed as it stands: its files, its commands, and its first sentence."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polib
import pytest

from directory.language import locales, po
from tests.pages.test_words import texts, walked
from tests.support.factories import Api, World

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "translating.md").read_text(encoding="utf-8")
NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "pt-BR": "Brazilian Portuguese", "ja": "Japanese",
    "ar": "Arabic",
}  # fmt: skip
# The API keeps the names of its fields, codes and addresses.
OF_API = re.compile(
    r"/(api|p)/\S*|[\w.-]*project[\w-]*[._][\w-]+|[\w-]+_project\w*|The same project is given twice|100 projects"
)
pytestmark = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)


def run(commands: str, folder: Path) -> None:
    """Run commands in a folder with our sources, by this interpreter."""
    if not (folder / "directory").exists():
        (folder / "directory").symlink_to(ROOT / "directory")
    commands = commands.replace(".venv/bin/python", shlex.quote(sys.executable))
    subprocess.run(["bash", "-eu", "-c", commands], cwd=folder, check=True, timeout=60)


def written(folder: Path, name: str, text: str) -> None:
    path = folder / "site" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_page_names_the_languages_that_there_are(make_app: Any) -> None:
    [given] = blocks("ini")
    settings = dict(line.split("=") for line in given.splitlines())
    there = ["en", *sorted(path.name for path in po.OURS.iterdir() if path.is_dir())]
    assert sorted(settings["SITE_LANGUAGES"].split(",")) == sorted(there) == sorted(NAMES)
    assert all(name in PAGE.partition(".")[0] for name in NAMES.values())
    assert Api(make_app(**settings)).get("/?lang=ja").status_code == 200


def test_the_words_of_the_page_are_translated(make_app: Any, tmp_path: Path) -> None:
    own, one_word, _dutch = blocks("po")
    written(tmp_path, "locale/de/own.po", own)
    written(tmp_path, "locale/en/words.po", one_word)
    for name, text in (("pages/imprint", "# Imprint"), ("pages/imprint.de", "# Impressum"), ("front.de", "Moin")):
        written(tmp_path, f"{name}.md", text)
    app = make_app(
        SITE_DIR=str(tmp_path / "site"), SITE_LANGUAGES="en,de", SITE_TAGLINE="Small tools for marine data",
        SITE_LINKS='[{"label": "Contact", "url": "mailto:hello@example.org"}]',
    )  # fmt: skip
    world = World(app)
    world.project(category=world.category("dev", name="Developer tools"))
    plain, german = Api(app).get("/").text, Api(app).get("/?lang=de").text
    for text in (">Recommend ", ">Developer tools<", ">Small tools for marine data<", ">Contact<", ">Imprint<"):
        assert text in plain
    for text in (">Entwicklung<", ">Kleine Werkzeuge für Meeresdaten<", ">Kontakt<", ">Impressum<", ">Moin</p>"):
        assert text in german


def test_a_directory_of_tools_shows_no_projects(make_app: Any, tmp_path: Path) -> None:
    rename, _copy = blocks("sh")
    run(rename, tmp_path)
    shown = list(walked(make_app, {"SITE_DIR": str(tmp_path / "site")}))
    left = {
        f"{found}: {each.name}"
        for each in shown
        for text in texts(each)
        for found in re.findall("[^.]*[Pp]roject[^.]*", OF_API.sub("", text))
    }
    assert sorted(left) == []
    assert {each.part for each in shown if "tool" in each.text} >= {"reading", "own", "mails", "refusals"}


def test_a_language_of_the_operator_is_one_of_the_site(make_app: Any, tmp_path: Path) -> None:
    _rename, copy = blocks("sh")
    run(copy, tmp_path)
    path, head = tmp_path / "site/locale/nl/messages.po", blocks("po")[-1]
    assert (
        head.splitlines()[:3] == re.findall("(?m)^[^#\n].*", path.read_text())[:3]
    )  # what the head is put in place of
    file = polib.pofile(path)
    file.metadata = polib.pofile(head).metadata
    file.find("Categories").msgstr = "Categorieën"
    file.save()
    page = Api(make_app(SITE_DIR=str(tmp_path / "site"), SITE_LANGUAGES="en,nl")).get("/categories?lang=nl").text
    assert '<html lang="nl">' in page
    assert "<h1>Categorieën</h1>" in page
    assert locales.locale_of("nl").name == "Nederlands"
