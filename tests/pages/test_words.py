"""The words of every page, form, refusal and mail are those of the record: in tests/pages/words, one file a part.

The record has each line once; "…" stands for lines that are in the record further up. `make words` makes it again.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

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
