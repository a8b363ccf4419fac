"""The words of the scripts are messages, and the pages have their translations."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from directory.pages.script_words import FORMS, READING
from tests.support.browsers import Browser
from tests.support.factories import World

SOURCES = Path(__file__).resolve().parents[2] / "directory" / "web" / "src"
SAID = re.compile(r'\b(?:word|around|counted|PasskeyFailed)\(\s*(?:[\w.()]+ \? )?"([^"]+)"(?: : "([^"]+)")?')


def sources(*folders: str) -> str:
    return "".join(
        path.read_text(encoding="utf-8") for each in folders for path in sorted((SOURCES / each).glob("*.ts"))
    )


@pytest.mark.parametrize(("folders", "words"), [(("reading",), READING), (("reading", "forms"), FORMS)])
def test_what_scripts_say_is_among_the_messages_for_them(folders: tuple[str, ...], words: Any) -> None:
    said = {text for found in SAID.findall(sources(*folders)) for text in found if text}
    assert len(said) > 5
    assert said - {each.id for each in words} == set()


def test_every_message_for_scripts_is_said_by_one() -> None:
    text = sources("reading", "forms", "parts")
    assert [each.id for each in FORMS if f'"{each.id}"' not in text and not each.id.startswith("Theme: ")] == []
    assert "word(`Theme: ${theme}`)" in text


def words_of(page: str) -> dict[str, Any]:
    [found] = re.findall('<body class="frame"(?: data-words="([^"]*)")?>', page)
    return json.loads(unescape(found)) if found else {}


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_a_page_has_the_words_for_its_scripts_unless_it_is_in_plain_english(make_app: Any, tmp_path: Path) -> None:
    own = tmp_path / "locale" / "en" / "own.po"
    app = make_app(SITE_LANGUAGES="en,de,ar,ja")
    World(app).user("ada")
    browser = Browser(app).sign_in("ada")
    assert words_of(browser.get("/").text) == {}
    reading, forms = (words_of(browser.get(path).text) for path in ("/?lang=de", "/submit?lang=de"))
    assert (reading["Voted"], forms["Write"]) == ("Dafür gestimmt", "Schreiben")
    assert "Write" not in reading
    assert len(words_of(browser.get("/?lang=ar").text)["Upvote {title}, {number} vote"]) == 6
    assert [words_of(browser.get(f"/?lang={tag}").text).get(" ") for tag in ("de", "ja")] == [None, ""]
    own.parent.mkdir(parents=True)
    own.write_text('msgid "Upvote"\nmsgstr "Like <it>"\n')
    page = Browser(make_app(SITE_DIR=str(tmp_path))).get("/").text
    assert words_of(page)["Upvote"] == "Like <it>"
