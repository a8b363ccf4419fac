"""The words and the links of what members write: of what readers are shown, and of its source.

Words are numbers, in their order, so that a phrase is found as words in a row; their numbers alone are stored.
"""

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from directory.services.catalog.search_words import Unit, readable_host, units
from directory.services.text import markdown
from directory.services.text.characters import as_read

BETWEEN = 0  # words that are no neighbours
_STORED_BITS, _OLD_BITS = 40, 63
_WITHOUT_SCHEME = re.compile(r"(?<![\w./])www\.")
_TAG = re.compile(r'</?[a-z0-9]+(?:[^>"]|"[^"]*")*>')
_TAG_WITHIN_WORDS = re.compile(r'</?(?:a|code|em|s|strong)(?![a-z0-9])(?:[^>"]|"[^"]*")*>')
_ATTRIBUTE = re.compile(r' (href|title)="([^"]*)"')
_LINK = re.compile(r"<a .*?</a>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Words:
    """The numbers of the words of some texts, in their order, with BETWEEN after each text."""

    ordered: tuple[int, ...] = ()
    _runs: dict[int, frozenset[Any]] = field(default_factory=dict, compare=False, repr=False)

    def runs(self, length: int) -> frozenset[Any]:
        """All words; or with a `length` of several the tuples of so many that follow each other."""
        if length not in self._runs:
            places = (self.ordered[n:] for n in range(length))
            self._runs[length] = frozenset(self.ordered if length == 1 else zip(*places, strict=False))
        return self._runs[length]


class Seen(NamedTuple):
    """What a reader of a description sees: its text, and the titles and addresses of its links, each once."""

    text: str
    behind_links: tuple[str, ...]
    links: int  # and web addresses: as often as they are shown, or in the source, if that is more often


def seen(description: str) -> Seen:
    """What a reader of a description sees."""
    html = markdown.html(description)
    attributes = [attribute for tag in _TAG.finditer(html) for attribute in _ATTRIBUTE.findall(tag[0])]
    behind = (unquote(unescape(value)) for _, value in attributes)
    links = sum(name == "href" for name, _ in attributes) + _addresses(_text(_LINK.sub(" ", html)))
    return Seen(_text(html), tuple(dict.fromkeys(behind)), max(links, _addresses(description)))


def _text(html: str) -> str:
    return unescape(_TAG.sub(" ", _TAG_WITHIN_WORDS.sub("", html))).strip()


def _addresses(text: str) -> int:
    """How often a text has `http://`, `https://` or `www.`."""
    text = text.lower()
    number = text.count("http://") + text.count("https://")
    return number + len(_WITHOUT_SCHEME.findall(text)) if "www." in text else number


def words_of(project: Any, shown: Seen, own: Iterable[str] = ()) -> Words:
    """The whole words of a project: in its texts as they are shown, the words of its pictures, and its host.

    `own` are its texts of the operator's own fields.

    Letters that look like Latin ones stand for these too. Of the source of the description it has the other words.
    """
    texts = [project.title, project.tagline, project.author or "", shown.text, *own]
    texts += [link for link in shown.behind_links if link not in shown.text]
    texts += [picture["alt"] for picture in project.pictures]
    texts.append(readable_host(urlsplit(project.url).hostname or ""))
    ordered: list[int] = []
    known: set[str] = set()
    alone: dict[str, None] = {}
    for text in (form for written in texts for form in dict.fromkeys((written, as_read(written)))):
        text_units = units(text)
        parts = [part for unit in text_units for part in unit.parts]
        ordered += (*map(number, parts), BETWEEN)
        known.update(parts)
        alone |= dict.fromkeys(_joined(text_units))
    if shown.text.split() != project.description.split():
        source = units(project.description)
        alone |= dict.fromkeys([part for unit in source for part in unit.parts])
        alone |= dict.fromkeys(_joined(source))
    return Words((*ordered, *(place for word in alone if word not in known for place in (number(word), BETWEEN))))


def _joined(text_units: Iterable[Unit]) -> list[str]:
    return [unit.joined for unit in text_units if len(unit.parts) > 1 and unit.is_joined]


@lru_cache(8_192)  # the frequent words of all texts
def number(word: str) -> int:
    """The number that stands for a word."""
    return number_of(word) >> (_OLD_BITS - _STORED_BITS)


def number_of(text: str) -> int:
    """The number that stands for a domain, and of which that of a word is the beginning."""
    # A signed number of 64 bits holds it.
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def packed(words: Words) -> bytes:
    """Words as they are stored, five bytes for each: the first four of all of them, and then the last ones."""
    # Their number is no multiple of eight, which tells them from those of before.
    numbers = words.ordered if len(words.ordered) % 8 or not words.ordered else (*words.ordered, BETWEEN)
    return struct.pack(f">{len(numbers)}I", *(value >> 8 for value in numbers)) + bytes(
        value & 0xFF for value in numbers
    )


def unpacked(stored: bytes) -> Words:
    """Words from what is stored. Earlier it was eight bytes for each, without an order."""
    if len(stored) % 8 == 0:
        old = struct.unpack(f">{len(stored) // 8}Q", stored)
        return Words(tuple(place for value in old for place in (value >> (_OLD_BITS - _STORED_BITS), BETWEEN)))
    total = len(stored) // 5
    first = struct.unpack(f">{total}I", stored[: 4 * total])
    return Words(tuple(high << 8 | low for high, low in zip(first, stored[4 * total :], strict=True)))
