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

from directory.language.catalogues import Catalogue
from directory.language.choice import Languages
from directory.language.messages import PLACEHOLDER
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


ACCENTED = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "áƀçđéƒĝĥíĵķĺḿñóṗɋŕšťúṽŵẋýžÁƁÇĐÉƑĜĤÍĴĶĹḾÑÓṖɊŔŠŤÚṼŴẊÝŽ"
)
ENGLISH_ALONE = re.compile(r" /(api/(docs|problems)|admin)")  # of programmers, and the console
# What the walk's people wrote, names, and what is in no language.
UNTRANSLATED = """
AD AL API Ada Another Asked Because CL Changed Changing Code DL Dark Done EV Empty Fieldbook GL GitHub Gone Grey JSON
LM Lamp Lantern Look Ltd New Not RL Really Red Refused Thanks Tools Werkzeug What ada again all at backup blue bob
broken cast com do does empty eve example facts github green harmful https it lamp lantern link mine never new nothing
old org other red so spam square tag test that thing things title tools window withdraw wood wrong yet
"""


class Pseudo(Catalogue):
    """English with accents on all letters and in brackets: what has neither is no message, or was joined too early."""

    def text(self, message: str, context: str = "") -> str:
        parts = PLACEHOLDER.split(message)
        told = (part.translate(ACCENTED) if place % 2 == 0 else f"{{{part}}}" for place, part in enumerate(parts))
        return f"[{''.join(told)}]"

    def forms(self, message: str, many: str) -> tuple[tuple[str, str], Any]:
        return (self.text(message), self.text(many)), lambda number: int(number != 1)


# Dates, which are English still, random ids, and what is in the page for scripts.
UNREAD = r"<(script|style|code|textarea|time)\b.*?</\1>|<[^>]*>|[A-Z][a-z]{2} \d\d?, \d{4}|\b[0-9a-f]{32}\b"


def words(shown: Shown) -> set[str]:
    """The words without accents that a person reads or hears: in the text, and in the attributes that are read out."""
    read = re.findall(r' (?:aria-label|placeholder|title|alt|name="description" content)="([^"]*)"', shown.text)
    if shown.part == "refusals":
        return set(re.findall("[A-Za-z]+ [a-z]+ [a-z]+", shown.text))  # names of fields, and values, are in no language
    text = re.sub(UNREAD, " ", shown.text, flags=re.DOTALL)
    said = re.sub(r"https?://\S+|Subject:|UTC", "", unescape(" ".join([text, *read])))
    return {*re.findall(r"[A-Za-z]{2,}", said)} - {*UNTRANSLATED.split()}


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_every_text_is_a_message(make_app: Any) -> None:
    walk = Walk(make_app(**SETTINGS))
    walk.fill()
    walk.app.extensions["languages"] = Languages("en-XA", load=Pseudo)
    found = {
        f"{word}: {shown.name}"
        for shown in walk.all()
        if (shown.part != "refusals" or "/api/" in shown.name) and not ENGLISH_ALONE.search(shown.name)
        for word in words(shown)
    }
    assert sorted(found) == []
