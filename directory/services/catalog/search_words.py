"""Words: what of a text is indexed, and what a query asks for.

A word is written in ASCII, its case, accents and width folded, so that both databases compare it alike. Hyphens and
dots join words: `e-mail` is indexed as `e`, `mail` and `email`, so that it is found by each of its spellings. A change
of what is indexed needs a migration that indexes all projects again (as 0009 does).
"""

import re
import unicodedata
from hashlib import blake2b
from typing import NamedTuple

MAX_WORDS = 16  # of a query; more narrow nothing down
MAX_WORD_LENGTH = 64

# Scripts written without spaces (Han, kana): each character is a word.
_UNSPACED = "\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SPREAD = re.compile(f"[{_UNSPACED}]")
# Han, kana and Hangul say with one character what other scripts say with several.
_DENSE = re.compile(f"[{_UNSPACED}\uac00-\ud7a3]")
# A letter with ++ or # is the name of a language (c++, f#); other words are letters and digits.
_WORD = r"(?:(?<![^\W_])[^\W_](?:\+\+|\#)|[^\W_]+)"
_PART = re.compile(_WORD)
_UNIT = re.compile(rf"(?<![\w.])\.net(?![^\W_])|{_WORD}(?:[-.\u2010]{_WORD})*")

_IRREGULAR = {
    "children": "child",
    "indices": "index",
    "matrices": "matrix",
    "men": "man",
    "mice": "mouse",
    "people": "person",
    "vertices": "vertex",
    "women": "woman",
}


class Unit(NamedTuple):
    """Words that hyphens and dots join, mostly one alone, folded but not yet written in ASCII."""

    parts: tuple[str, ...]

    @property
    def joined(self) -> str:
        """The words without what joins them."""
        return "".join(self.parts)[:MAX_WORD_LENGTH]

    @property
    def is_joined(self) -> bool:
        """Whether the words are also one: numbers that dots join are versions and dates."""
        return len(self.parts) > 1 and not self.joined.isdecimal()


def units(text: str) -> list[Unit]:
    """The words of a text in its order, those that are joined together."""
    return [
        Unit((found,) if found == ".net" else tuple(part[:MAX_WORD_LENGTH] for part in _PART.findall(found)))
        for found in _UNIT.findall(_folded(text))
    ]


def words(text: str) -> list[str]:
    """The words to index for a text: the parts of each unit and, where there are several, the joined word."""
    return [
        ascii_form(word) for unit in units(text) for word in (*unit.parts, *([unit.joined] if unit.is_joined else ()))
    ]


def whole(text: str) -> str | None:
    """A word that equals that of another text exactly where both have the same words; None for a text without any.

    It begins with `=`, so no query finds it by its beginning. It is a digest since a title may be longer than a word
    may be on PostgreSQL.
    """
    joined = "".join(part for unit in units(text) for part in unit.parts)
    return "=" + blake2b(joined.encode(), digest_size=16).hexdigest() if joined else None


def ascii_form(word: str) -> str:
    """A folded word as the databases hold it: other scripts as x and their UTF-8 in hexadecimal."""
    return word if word.isascii() else "x" + word.encode().hex()


def is_beginning(word: str) -> bool:
    """Whether a word of a query matches the words that begin with it: from two letters on, or one dense one."""
    return len(word) >= 2 or _DENSE.match(word) is not None


def singulars(word: str) -> list[str]:
    """What an English plural may be the plural of; nothing for another word.

    Where the spelling does not tell (`caches` and `searches`), both possible words are given.
    """
    if word in _IRREGULAR:
        return [_IRREGULAR[word]]
    if not (word.isascii() and word.isalpha() and len(word) >= 4) or word.endswith(("ss", "us", "is")):
        return []
    if not word.endswith("s"):
        return []
    if word.endswith("ies"):
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith(("xes", "sses", "shes", "tches", "zzes")):
        return [word[:-2]]
    if word.endswith(("ches", "oes")) or (word.endswith("uses") and len(word) > 5):
        return [word[:-1], word[:-2]]
    return [word[:-1]]


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    spread = _SPREAD.sub(r" \g<0> ", unicodedata.normalize("NFKD", text.casefold()))
    # Composed again, for Hangul: what it is decomposed into is no accents, but letters.
    return unicodedata.normalize("NFC", "".join(c for c in spread if not unicodedata.combining(c))).lower()
