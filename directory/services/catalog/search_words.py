"""Words: the parts of a text that are indexed, and those that a query asks for.

A word is folded (`characters.fold`) and written in ASCII, so that both databases compare it alike. Hyphens, dots and
apostrophes join words: `e-mail` is indexed as `e`, `mail` and `email`, so that it is found by each of its spellings.
A query that joins words asks for them as neighbours, or as one word; so does a phrase in quotes, for all of its words.
In scripts without spaces each sequence of one, two and three characters is a word, so the characters of a query are
found as neighbours. A change of the indexed texts needs a migration that indexes the projects again, as 0038 does.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import idna

from directory.services.text.characters import accents, fold, is_symbol

MAX_WORDS = 16  # of a query; more narrow nothing down
MAX_WORD_LENGTH = 64
NEIGHBOURS = 3  # characters of a script without spaces that are indexed together
MOST_JOINED = 3  # words that may also be spelled as one

# The blocks of scripts written without spaces: Thai and Lao, Myanmar, Khmer, Tai Le and New Tai Lue, Tai Tham,
# Balinese, Javanese, Tai Viet; and of Han, kana and Bopomofo.
_COMPLEX = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf"
_DENSE_LETTERS = (
    "\u3005-\u3007\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_UNSPACED = _COMPLEX + _DENSE_LETTERS
# Han, kana and Hangul say with one character what other scripts say with several.
_DENSE = re.compile(f"[{_DENSE_LETTERS}\uac00-\ud7a3]")
# A letter of these scripts with its marks; the letter behind an invisible sign that stacks letters is one of them.
_MARK = "".join(chr(n) for n in (*range(0x0E00, 0x1B80), *range(0x3099, 0x309B), *range(0xA980, 0xAAE0))
                if unicodedata.category(chr(n))[0] == "M")  # fmt: skip
_STACKING = "\u1039\u17d2\u1a60\u1b44\ua9c0"  # of Myanmar, Khmer, Tai Tham, Balinese and Javanese
_CLUSTER = re.compile(f"[{_UNSPACED}](?:[{_STACKING}][{_UNSPACED}]|[{_MARK}])*")


def _patterns(letter: str, unspaced: str = "") -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of the units of a folded text and of the words of a unit, from the pattern of one `letter`."""
    # A letter with ++ or # is the name of a language (c++, f#).
    word = rf"(?:(?<!{letter}){letter}(?:\+\+|\#)|{letter}+)"
    return re.compile(rf"{unspaced}(?<!\.)(?<!{letter})\.net(?!{letter})|{word}(?:[-'.]{word})*"), re.compile(word)


_KATAKANA = "[\u30a1-\u30ff]"  # a dot joins its words, but separates those of Han
_PATTERNS = _patterns(rf"[^ \-'.+#{_UNSPACED}]", rf"[{_UNSPACED}]+(?:(?<={_KATAKANA})'(?={_KATAKANA})[{_UNSPACED}]+)*|")
_ASCII_PATTERNS = _patterns("[a-z0-9]")  # the same, found sooner
# The host of a whole address, between a user and a port; and one with a port alone.
_ADDRESS = re.compile(
    r"[\s<(\[\"']*[a-z][a-z0-9+.-]*://(?:[^\s/?#@]*@)?([^\s/?#@]+?)(?::[0-9]*)?(?:[/?#]\S*)?\s*", re.IGNORECASE
)
_WITH_PORT = re.compile(r"\s*([^\s/?#@:]+\.[^\s/?#@:]+):[0-9]+\S*\s*")

# A phrase begins and ends next to a space or a bracket: the quotes of 12" and 15" are inches.
_PHRASE = re.compile(r'(?<![^\s(\[{,;])["“”„«](?=\S)([^"“”„«»]*)(?<=\S)["“”»](?![^\s)\]},;.!?])')

# Prefixes of words that no query finds by their beginning.
_WHOLE, _SPELLED, _JOINED, _DOMAIN, _ADDRESSED = "=", "==", "=+", "=.", "=#"
# Between words that are not neighbours in the text.
BREAK = "="

_IRREGULAR = {
    "children": "child",
    "criteria": "criterion",
    "feet": "foot",
    "geese": "goose",
    "indices": "index",
    "matrices": "matrix",
    "men": "man",
    "mice": "mouse",
    "people": "person",
    "teeth": "tooth",
    "vertices": "vertex",
    "women": "woman",
}


# Endings of plurals, the longer ones first, and what they may be in the singular.
_SINGULARS = {
    "tches": ("tch",), "sses": ("ss",), "shes": ("sh",), "zzes": ("zz", "z"), "ches": ("che", "ch"), "ies": ("y", "ie"),
    "oes": ("oe", "o"), "ses": ("se", "s", "sis"), "ves": ("ve", "f", "fe"), "xes": ("x",), "s": ("",),
}  # fmt: skip


class Unit(NamedTuple):
    """Words that hyphens, apostrophes and dots join, mostly one alone; or characters of a script without spaces."""

    parts: tuple[str, ...]
    unspaced: bool = False
    dotted: bool = False  # it may be a domain
    quoted: bool = False  # a phrase of a query: exactly these words, in this order

    @property
    def joined(self) -> str:
        """The words without the characters that join them."""
        return self.parts[0] if len(self.parts) == 1 else "".join(self.parts)[:MAX_WORD_LENGTH]

    @property
    def is_joined(self) -> bool:
        """Whether the words are also one: numbers that dots join are versions and dates."""
        return len(self.parts) > 1 and not (self.unspaced or self.quoted) and not self.joined.isdecimal()

    @property
    def is_symbol(self) -> bool:
        """Whether it is an emoji."""
        return not self.parts[0].isascii() and is_symbol(self.parts[0][0])

    @property
    def alone(self) -> str:
        """A query for this alone."""
        if self.quoted:
            return f'"{" ".join(self.parts)}"'
        return ("" if self.unspaced else "." if self.dotted else "-").join(self.parts)

    @property
    def asked(self) -> tuple[str, ...]:
        """The words that a text has to have."""
        if self.unspaced and not self.quoted:
            return self._sequences(min(NEIGHBOURS, len(self.parts)))[:MAX_WORDS]
        return self.parts

    @property
    def composed(self) -> tuple[str, ...]:
        """The words of a text that has this, in addition to its parts."""
        if self.unspaced:
            return tuple(sequence for size in range(2, NEIGHBOURS + 1) for sequence in self._sequences(size))
        return (self.joined,) if self.is_joined else ()

    def _sequences(self, size: int) -> tuple[str, ...]:
        starts = range(len(self.parts) - size + 1)
        return tuple("".join(self.parts[at : at + size])[:MAX_WORD_LENGTH] for at in starts)


@lru_cache(16)  # the texts of a submission are asked for again, by rules
def units(text: str) -> tuple[Unit, ...]:
    """The words of a text in its order, those that are joined together."""
    folded = fold(text)
    if not folded.isascii():
        return tuple(_unit(written) for written in _PATTERNS[0].findall(folded))
    return tuple(map(_ascii_unit, _ASCII_PATTERNS[0].findall(folded)))


@lru_cache(2_048)  # the frequent words of all texts
def _ascii_unit(written: str) -> Unit:
    if written.isalnum() or written == ".net":
        return Unit((written[:MAX_WORD_LENGTH],))
    return _joined_unit(written, _ASCII_PATTERNS[1])


def _unit(written: str) -> Unit:
    if written == ".net":
        return Unit((written,))
    if clusters := _CLUSTER.findall(written):
        return Unit(tuple(cluster[:MAX_WORD_LENGTH] for cluster in clusters), unspaced=True)
    return _joined_unit(written, _PATTERNS[1])


def _joined_unit(written: str, part: re.Pattern[str]) -> Unit:
    return Unit(tuple(piece[:MAX_WORD_LENGTH] for piece in part.findall(written)), dotted="." in written)


def query_units(query: str, chosen: Callable[[list[str]], list[str]] = list) -> list[Unit]:
    """The words and phrases of a query, outside of quotes the `chosen` ones. A whole address asks for its domain."""
    address = _ADDRESS.fullmatch(query) or _WITH_PORT.fullmatch(query)
    if address is not None:
        return [*units(readable_host(address[1]))]
    parsed: list[Unit] = []
    for n, text in enumerate(_PHRASE.split(query)):  # phrases are at the odd places
        pieces = text.split()
        some = units(" ".join(map(readable_host, pieces if n % 2 else chosen(pieces))))
        parts = tuple(part for unit in some for part in unit.parts)
        parsed += some if n % 2 == 0 else (Unit(parts, quoted=True),) if parts else ()
    return parsed


def words(text: str) -> list[str]:
    """The words of a text: the parts of each unit, and the words that these make together."""
    return [ascii_form(word) for unit in units(text) for word in (*unit.parts, *unit.composed)]


def indexed_words(*texts: str) -> list[str]:
    """The words to index for texts: the parts in their order, a break behind each text, then composed words."""
    by_text = [units(text) for text in texts]
    parts = [[part for unit in some for part in unit.parts] for some in by_text]
    ordered = [word for some in parts if some for word in (*some, BREAK)]
    composed = [word for some in by_text for unit in some if len(unit.parts) > 1 for word in unit.composed]
    return [*map(ascii_form, (*ordered, *composed))]


def joined_words(text: str) -> list[str]:
    """The search term for neighbouring words of a text that a query spells as one."""
    parsed = units(text)
    joined = [unit.joined for unit in parsed]
    return [joined_word("".join(joined[run.start : run.stop])) for run in runs(parsed)]


def joined_word(word: str) -> str:
    """The indexed form of a word that a text writes as several."""
    return _JOINED + ascii_form(word[:MAX_WORD_LENGTH])


def runs(sequence: Sequence[Unit]) -> Iterator[range]:
    """The places of neighbours that may be spelled as one word."""
    symbols = [unit.is_symbol or unit.quoted for unit in sequence]
    numbers = [unit.joined.isdecimal() for unit in sequence]
    for size in range(2, MOST_JOINED + 1):
        for at in range(len(sequence) - size + 1):
            if True not in symbols[at : at + size] and False in numbers[at : at + size]:
                yield range(at, at + size)


def domain_words(host: str) -> list[str]:
    """The words that find a host: its name and those of the domains that it is in."""
    labels = re.sub("[-' ]", "", fold(host)).removeprefix("www.").split(".")
    return [_domain_word(labels[at:]) for at in range(len(labels) - 1)]


def domain_word(unit: Unit) -> str | None:
    """The word of a unit that may be a domain; None for another one."""
    if not unit.dotted:
        return None
    return _domain_word(unit.parts[1:] if unit.parts[0] == "www" else unit.parts)


def readable_host(text: str) -> str:
    """A host in Punycode as people read it; another text as it is."""
    try:
        return idna.decode(text) if "xn--" in text.lower() else text
    except UnicodeError:  # an IDNAError is one
        return text


def _domain_word(labels: Sequence[str]) -> str:
    return _DOMAIN + ascii_form("".join(labels)[:MAX_WORD_LENGTH])


def whole(text: str) -> str | None:
    """A word that two texts share exactly if both have the same words; None for a text without any.

    Emoji count only if there is nothing else. It is a digest, because a title can be longer than PostgreSQL's words.
    """
    return whole_of(units(text))


def whole_of(of_title: Sequence[Unit]) -> str | None:
    """The same word for the units of a text."""
    of_title = [unit for unit in of_title if not unit.is_symbol] or of_title
    # Scripts without spaces may be written with some.
    joined = "".join("".join(unit.parts) if unit.unspaced else f" {''.join(unit.parts)} " for unit in of_title)
    return _WHOLE + _digest(joined) if of_title else None


def spelled(text: str) -> str:
    """A word that two texts share exactly if they are also spelled alike, with the same accents, but for case."""
    return _SPELLED + _digest(" ".join(fold(text).split()) + accents(text))


def addressed(key: str) -> str:
    """The word of a project whose website or repository has this key."""
    return _ADDRESSED + key[:32]


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def ascii_form(word: str) -> str:
    """A folded word as the databases hold it: other scripts as x and their UTF-8 in hexadecimal."""
    return word if word.isascii() else "x" + word.encode().hex()


def is_beginning(word: str) -> bool:
    """Whether a word of a query matches the words that begin with it: from two letters on, or one dense one."""
    return len(word) >= 2 or _DENSE.match(word) is not None


def singulars(word: str) -> list[str]:
    """The possible singulars of an English plural; empty for another word.

    Where the spelling does not decide (`caches` and `searches`; `databases`, `lenses` and `analyses`), all are given.
    """
    if word in _IRREGULAR:
        return [_IRREGULAR[word]]
    if not (word.isascii() and word.isalpha() and len(word) >= 4) or word.endswith(("ss", "us", "is")):
        return []
    for ending, singular in _SINGULARS.items():
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return [word.removesuffix(ending) + end for end in singular]
    return []
