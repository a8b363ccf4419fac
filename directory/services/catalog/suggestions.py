""" "Did you mean": for a search that found nothing, the nearest spellings that are words of live titles, or tags.

The index of words can find a word, but not similar words. So this module generates the spellings that are one edit
away, and some that are two, and one statement looks them up. Its cost depends on the length of the words, not on the
number of projects.
"""

import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice

from sqlalchemy import ARRAY, JSON, Text, bindparam, text

from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Status
from directory.services.catalog.search_words import Unit, ascii_form, query_units
from directory.services.text.characters import fold, script

MOST = 3  # suggestions, and words of a query that are corrected
SHORTEST, LONGEST = 3, 20  # letters of a word that is corrected
LONGEST_TWICE = 10  # letters of a word for which two edits are tried
SPELLINGS = 1_500  # that are tried for a query
_SCANNED = 100  # projects with a word that are searched for a live one
_LATIN = "abcdefghijklmnopqrstuvwxyz"


def nearest(query: str) -> list[str]:
    """Up to MOST queries like this one, nearest first, each word of which is in a live title or a tag."""
    units = query_units(query)
    words = [unit.joined for unit in units]
    if not 1 <= len(units) <= MOST or not all(map(_may_be_misspelled, units)):
        return []
    spellings = [list(islice(_spellings(word), SPELLINGS // len(words))) for word in words]
    known = _known(sorted({ascii_form(each) for some in spellings for each in some}))
    nearest = [[each for each in some if ascii_form(each) in known][:MOST] for some in spellings]
    nearest = [some[:1] if some[:1] == [word] else some for some, word in zip(nearest, words, strict=True)]
    if not all(nearest) or [some[0] for some in nearest] == words:
        return []
    # Several misspelled words: the n-th nearest spelling of each, or its last one.
    suggested = [" ".join(some[min(n, len(some) - 1)] for some in nearest) for n in range(MOST)]
    return list(dict.fromkeys(suggested))


def _may_be_misspelled(unit: Unit) -> bool:
    return not (unit.unspaced or unit.quoted or unit.is_symbol) and SHORTEST <= len(unit.joined) <= LONGEST


def _spellings(word: str) -> Iterator[str]:
    """A word, then the words that it may be a misspelling of, nearest first."""
    once = dict.fromkeys([word, *_slips(word), *_letters_changed(word)])
    yield from once
    if len(word) <= LONGEST_TWICE:
        twice = dict.fromkeys(other for slip in dict.fromkeys(_slips(word)) for other in _slips(slip))
        yield from (each for each in twice if each not in once)


def _slips(word: str) -> Iterator[str]:
    """The word with two neighbours swapped, with a letter removed, and with a letter doubled."""
    for at in range(len(word) - 1):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
    for at in range(len(word)):
        yield word[: at + 1] + word[at:]


def _letters_changed(word: str) -> Iterator[str]:
    """The word with a letter of its alphabet inserted, and with a letter replaced by another."""
    alphabet = _alphabet(next((char for char in word if not char.isascii()), ""))
    for at in range(len(word) + 1):
        yield from (word[:at] + letter + word[at:] for letter in alphabet)
    for at in range(len(word)):
        yield from (word[:at] + letter + word[at + 1 :] for letter in alphabet)


@lru_cache
def _alphabet(char: str) -> str:
    """The folded letters of a letter's script in its Unicode block, with the marks that are letters, such as vowels.

    It is empty for scripts with very many letters.
    """
    if not char:
        return _LATIN
    block = ord(char) // 128 * 128
    letters = {fold(each) for each in map(chr, range(block, block + 128)) if _is_letter_of(script(char), each)}
    return "" if char >= "\u3000" else "".join(sorted(letter for letter in letters if len(letter) == 1))


def _is_letter_of(name: str, char: str) -> bool:
    return unicodedata.category(char)[0] in "LM" and unicodedata.name(char).startswith(f"{name} ")


def _known(words: list[str]) -> set[str]:
    """The words that are in the title or a tag of a live project."""
    return {row[0] for row in _statement(db.engine.dialect.name).all({"words": words})}


_STATEMENTS = {
    "postgresql": """
        SELECT search_known_words(:words, {most})
        UNION SELECT tag FROM tag_counts WHERE tag = ANY(:words) AND live_projects > 0
    """,
    # CROSS JOIN makes SQLite look up the words first.
    "sqlite": """
        SELECT value FROM json_each(:words) AS given WHERE EXISTS (
            SELECT 1 FROM (
                SELECT rowid AS id FROM project_search_brief
                WHERE project_search_brief MATCH '{{title}} : "' || given.value || '"' LIMIT {most}
            ) AS titled CROSS JOIN standings ON standings.project_id = titled.id WHERE standings.status = '{live}'
        ) OR EXISTS (SELECT 1 FROM tag_counts WHERE tag = given.value AND live_projects > 0)
    """,
}


@cache
def _statement(dialect: str) -> Prepared:
    values = bindparam("words", type_=ARRAY(Text) if dialect == "postgresql" else JSON)
    statement = _STATEMENTS[dialect].format(most=_SCANNED, live=Status.LIVE)  # contains no input
    return Prepared(text(statement).bindparams(values))
