"""The words of every page, form, refusal and mail are those of the record: in tests/pages/words, one file a part.

The record has each line once; "…" stands for lines that are in the record further up. `make words` makes it again.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.support import pseudo
from tests.support.routes import operation, routes
from tests.support.walk import SETTINGS, Shown, Walk, elsewhere, plain

RECORD = Path(__file__).with_name("words")
# Addresses for programs, files, the console, and addresses that lead elsewhere.
NO_WORDS = re.compile(r"GET /(.*\.\w+$|(api|assets|static|admin|\.well-known|about|feed|login|register|rss)\b).*")


def parts(shown: Iterable[Shown]) -> dict[str, str]:
    """The files of a record, by name."""
    found: dict[str, list[str]] = {}
    known: set[str] = set()
    for part, name, text in shown:
        lines = found.setdefault(part, [])
        lines.append(f"== {plain(name)}")
        for line in filter(None, map(str.rstrip, plain(text).splitlines())):
            if line not in known:
                known.add(line)
                lines.append(line)
            elif lines[-1] != "…":
                lines.append("…")
    return {part: "\n".join([*lines, ""]) for part, lines in found.items()}


def _differences(part: str, recorded: dict[str, str], said: dict[str, str]) -> Iterator[str]:
    before, after = (texts.get(part, "").splitlines() for texts in (recorded, said))
    return difflib.unified_diff(before, after, f"recorded {part}", f"said {part}", lineterm="", n=1)


@pytest.mark.extra("feed_keys", "links", "passkeys", "picks", "previews", "providers", "reports")
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)  # on either, the words are the same
def test_the_words_are_those_of_the_record(make_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    others = list(elsewhere(make_app))
    walk = Walk(make_app(**SETTINGS))
    walk.fill()
    said = parts(chain(walk.all(), others))
    if "RECORD_WORDS" in os.environ:
        for part, text in said.items():
            (RECORD / f"{part}.txt").write_text(text)
    recorded = {path.stem: path.read_text() for path in RECORD.glob("*.txt")}
    found = [line for part in sorted({*said, *recorded}) for line in _differences(part, recorded, said)]
    assert not found, "\n".join(["if these are meant, run make words:", *found])
    pages = {route.name for route in routes(walk.app) if operation(walk.app, route).page}
    assert [page for page in sorted(pages - walk.passed) if not NO_WORDS.match(page)] == []


ENGLISH_ALONE = re.compile(r" /(api/(docs|problems)|admin)")  # of programmers, and the console
# What the people of the walk wrote, looked for or were called, and names, codes and words that are in no language.
WRITTEN = """
Grey lamp|Red lamp|Dark lamp|Asked lamp|Changed lamp|Changing lamp|Refused lamp|Lamp|Lantern|A thing that does things
Another thing|New thing|New|A window|A red square|A **lamp**|Ada Ltd|Fieldbook|Code|Because|Really|Thanks|Done|Gone
Not so|Not yet|Look again|Look|What does it do|Tools|Empty|blue|wood|ada/lamp|ada|bob|eve|backup|test|lamp|lantern|tools
nothing-at-all|green blue wood lantern|title:lamp|old|broken_link|spam|harmful|wrong_facts|mine|other|cast|withdraw
never|AD|AL|API|CL|DL|EV|GL|LM|RL|GitHub|Werkzeug|UTC|Subject
"""
FIXTURE = re.compile(
    "|".join(rf"(?<!\w){re.escape(each)}(?!\w)" for each in WRITTEN.strip().replace("\n", "|").split("|"))
)
# What is in the page for scripts, days, which are by CLDR, addresses, and random ids.
UNREAD = re.compile(
    r"<(script|style|code|textarea|svg)\b.*?</\1>|<[^>]*>|[A-Z][a-z]{2} \d\d?, \d{4}|\b[0-9a-f]{32}\b"
    r"|https?://[^\s<⟧]*|[\w.]*@?example\.org",
    re.DOTALL,
)
READ_OUT = re.compile(r' (?:aria-label|placeholder|title|alt|name="description" content)="([^"]*)"')
PARTS = ("reading", "entering", "own", "account", "refusals", "mails")
MIXED = re.compile("[\u0600-\u06ff].*[A-Za-z]{2}|[A-Za-z]{2}.*[\u0600-\u06ff]")  # names in a sentence without isolates
APART = re.compile(r"<(bdi|code|textarea|title|style|script)\b.*?</\1>|https?://[^\s<]*|^Subject:", re.DOTALL)
INLINE = re.compile(r"</?(?:a|b|bdi|code|em|q|span|strong|time)\b[^>]*>")
# Two sentences in Japanese with a space between them. A match begins where a text or a line does: tried from each
# character, a long line takes seconds.
SPACED = re.compile("(?<![^>\n])[^>\n]*[。！] +[^\\s<·][^<\n]*")
POINTER = re.compile(r"""\{'(pointer|parameter)': '[^']*', 'detail': (?P<mark>["'])\s*(?P=mark)\}""")


def texts(shown: Shown) -> list[str]:
    """What a person reads or hears of something: its text, and the attributes that are read out."""
    if shown.part == "refusals":
        return [shown.text]
    return [unescape(UNREAD.sub(" ", each)) for each in (shown.text, *READ_OUT.findall(shown.text))]


def walked(make_app: Any, settings: dict[str, str]) -> Iterator[Shown]:
    """Everything that is translated, by the settings of a language."""
    walk = Walk(make_app(**SETTINGS, **settings))
    walk.fill()
    for shown in walk.all():
        if (shown.part != "refusals" or "/api/" in shown.name) and not ENGLISH_ALONE.search(shown.name):
            yield shown


def english(shown: Shown, text: str) -> list[str]:
    """The words of a text that no message has and nobody of the walk wrote, and brackets without their other side."""
    outside = pseudo.without(pseudo.IN_BRACKETS, text)
    cut = re.findall(f"[{pseudo.OPEN}{pseudo.CLOSE}]", outside)
    if shown.part == "refusals":  # names of fields, and values, are in no language
        return cut + re.findall("[A-Za-z]{2,}", POINTER.sub("", outside)) + re.findall("[A-Za-z]+ [a-z]+ [a-z]+", text)
    return cut + re.findall("[A-Za-z]{2,}", FIXTURE.sub("", text))


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_every_text_is_a_message(make_app: Any, tmp_path: Path) -> None:
    shown = list(walked(make_app, pseudo.settings(tmp_path, pseudo.ENGLISH)))
    found = {f"{word}: {each.name}" for each in shown for text in texts(each) for word in english(each, text)}
    assert sorted(found) == []
    assert {each.part for each in shown if pseudo.OPEN in each.text} == {*PARTS}


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_from_right_to_left_what_people_wrote_has_its_own_direction(make_app: Any, tmp_path: Path) -> None:
    shown = list(walked(make_app, pseudo.settings(tmp_path, pseudo.ARABIC)))
    pages = [each for each in shown if "<html" in each.text]
    assert [each.name for each in pages if '<html lang="ar-XB" dir="rtl"' not in each.text] == []
    found = {
        f"{mixed}: {each.name}"
        for each in shown
        if each.part != "refusals"
        for text in re.split("[\n>]", pseudo.without(pseudo.ISOLATED, APART.sub("", each.text)))
        for mixed in MIXED.findall(text.partition("<")[0])
    }
    assert sorted(found) == []


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_in_japanese_there_is_no_space_between_sentences(make_app: Any) -> None:
    shown = walked(make_app, {"SITE_LANGUAGE": "ja"})
    assert {f"{found}: {each.name}" for each in shown for found in SPACED.findall(INLINE.sub("", each.text))} == set()
