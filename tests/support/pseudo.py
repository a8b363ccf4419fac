"""Two languages that nobody speaks, made of our messages: translations that a test can tell from what is no message.

`en-XA` is English with accents, in brackets, and 40 % longer; `ar-XB` is Arabic letters, from right to left.
"""

import re
from collections.abc import Callable
from pathlib import Path

import polib

from directory.language.messages import END_ISOLATE, ISOLATE, PLACEHOLDER

POT = Path(__file__).resolve().parents[2] / "directory" / "locale" / "messages.pot"
ENGLISH, ARABIC = "en-XA", "ar-XB"
OPEN, CLOSE = "⟦", "⟧"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ACCENTED = str.maketrans(LETTERS + LETTERS.upper(), "áƀçđéƒĝĥíĵķĺḿñóṗɋŕšťúṽŵẋýžÁƁÇĐÉƑĜĤÍĴĶĹḾÑÓṖɊŔŠŤÚṼŴẊÝŽ")
MIRRORED = str.maketrans(LETTERS + LETTERS.upper(), "ابتثجحخدذرزسشصضطظعغفقكلمنه" * 2)
PAD = " ńóẅ"
IN_BRACKETS = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
ISOLATED = re.compile(f"{ISOLATE}[^{ISOLATE}{END_ISOLATE}]*{END_ISOLATE}")


def _told(message: str, letters: dict[int, int]) -> str:
    """A message in other letters, with its placeholders."""
    parts = PLACEHOLDER.split(message)
    return "".join(part.translate(letters) if place % 2 == 0 else f"{{{part}}}" for place, part in enumerate(parts))


def accented(message: str) -> str:
    """A message in en-XA."""
    longer = PAD * max(1, round(len(PLACEHOLDER.sub("", message)) * 0.4 / len(PAD)))
    return f"{OPEN}{_told(message, ACCENTED)}{longer}{CLOSE}"


def mirrored(message: str) -> str:
    """A message in ar-XB."""
    return _told(message, MIRRORED)


MADE: dict[str, Callable[[str], str]] = {ENGLISH: accented, ARABIC: mirrored}


def settings(folder: Path, tag: str) -> dict[str, str]:
    """The settings of a site that speaks one of the two, whose translation is written to a folder of the operator."""
    made, found = MADE[tag], polib.pofile(POT.read_text(encoding="utf-8"))
    found.metadata = {"Content-Type": "text/plain; charset=utf-8", "Plural-Forms": "nplurals=2; plural=(n != 1);"}
    for entry in found:
        if entry.msgid_plural:
            entry.msgstr_plural = {0: made(entry.msgid), 1: made(entry.msgid_plural)}
        else:
            entry.msgstr = made(entry.msgid)
    path = folder / "locale" / tag / "messages.po"
    path.parent.mkdir(parents=True)
    path.write_text(str(found), encoding="utf-8")
    return {"SITE_DIR": str(folder), "SITE_LANGUAGE": tag}


def without(pattern: re.Pattern[str], text: str) -> str:
    """A text without what is in brackets, or in isolates, which contain each other where a value is a message."""
    while (shorter := pattern.sub(" ", text)) != text:
        text = shorter
    return text
