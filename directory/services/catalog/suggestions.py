"""What an answer says of a search: "did you mean", and the operators of other search engines, which are words here.

For a search that found nothing, `nearest` has the nearest spellings that live projects have, but in their descriptions
alone, in place of words that find nothing. Descriptions have so many words that one of them is near to anything.

The index of words can find a word, but not similar words. So this module generates the spellings that are one edit
away, and some that are two, and one statement looks them up. Its cost depends on the length of the words, not on the
number of projects.

Operators are `-word`, `AND`, `OR`, `NOT` and `name:value`. Pages and answers name them, so that nobody takes such a
search for a narrower or a wider one. Quotes are not among them: they make a phrase.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from itertools import islice

from sqlalchemy import ARRAY, JSON, Text, bindparam, text

from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Status
from directory.services.catalog import ways
from directory.services.catalog.filters import Filters
from directory.services.catalog.little_words import without
from directory.services.catalog.nearest import finds
from directory.services.catalog.search_language import units_of
from directory.services.catalog.search_words import Unit, ascii_form, is_beginning, units
from directory.services.text.characters import fold, script

MOST = 3  # suggestions, and words of a query that are corrected
SHORTEST, LONGEST = 3, 20  # letters of a word that is corrected
LONGEST_TWICE = 10  # letters of a word for which two edits are tried
SPELLINGS = 1_500  # that are tried for a query
_SCANNED = 100  # projects with a word that are searched for a live one
_LATIN = "abcdefghijklmnopqrstuvwxyz"
OPERATORS = 5  # that an answer names

_QUOTES = '"“”„«»'
# A phrase, also behind a minus or a name, or what stands between two spaces. The quotes of 12" and 15" are inches.
_PART = re.compile(rf"(?:-|[a-z]+:)*[{_QUOTES}][^{_QUOTES}]+[{_QUOTES}]|\S+", re.IGNORECASE)
# Fields of a project, and what GitHub, GitLab and web search engines call similar ones.
_NAMES = (
    "author|categor(?:y|ies)|description|in|intitle|is|label|lang|language|license|name|owner|repo|site|sort|status|"
    "tag|tagline|tags|title|topic|topics|url|user|username"
)
_FILTER = re.compile(rf"(?:{_NAMES}):(?=[\w@#*{_QUOTES}]).+", re.IGNORECASE)


def nearest(filters: Filters) -> list[str]:
    """Up to MOST queries like that of a search that finds nothing, nearest first; those that find something.

    They change only words that find nothing, and each new word is in a title, a tagline or a tag, or the like.
    """
    query = filters.q or ""
    asked, is_plain = units_of(query), filters == Filters(status=Status.LIVE, q=query)
    if not 1 <= len(asked) <= MOST or any(unit.unspaced or unit.quoted or unit.is_symbol for unit in asked):
        return []
    # A single word of a list without other filters has found nothing.
    lost = [unit for unit in asked if (is_plain and len(asked) == 1) or not _finds(unit)]
    if not lost or not all(map(_may_be_misspelled, lost)):
        return []
    spellings = [list(islice(_spellings(unit.joined), 1, SPELLINGS // len(lost))) for unit in lost]
    known = _known(sorted({ascii_form(spelling) for some in spellings for spelling in some}))
    instead = [[spelling for spelling in some if ascii_form(spelling) in known][:MOST] for some in spellings]
    if not all(instead):
        return []
    # Several misspelled words: the n-th nearest spelling of each, or its last one.
    chosen = ([some[min(n, len(some) - 1)] for some in instead] for n in range(MOST))
    suggested = dict.fromkeys(_respelled(query, dict(zip(lost, words, strict=True))) for words in chosen)
    return [
        suggestion
        for suggestion in suggested
        if (is_plain and len(asked) == 1) or finds(replace(filters, q=suggestion))
    ]


def _finds(unit: Unit) -> bool:
    """Whether a word finds a live project."""
    matches = ways.matched(Filters(status=Status.LIVE, q=unit.alone))
    return matches is not None and matches.counted is not None and matches.counted.number != 0


def _respelled(query: str, instead: dict[Unit, str]) -> str:
    """A query with other spellings of some of its words."""
    return " ".join(
        " ".join(instead.get(unit, unit.alone) for unit in some) if not instead.keys().isdisjoint(some) else piece
        for piece, some in ((piece, units(*(without([piece]) or [piece]))) for piece in query.split())
    )


def _may_be_misspelled(unit: Unit) -> bool:
    return SHORTEST <= len(unit.joined) <= LONGEST


def _spellings(word: str) -> Iterator[str]:
    """A word, then the words that it may be a misspelling of, nearest first."""
    once = dict.fromkeys([word, *_slips(word), *_letters_changed(word)])
    yield from once
    if len(word) <= LONGEST_TWICE:
        twice = dict.fromkeys(other for slip in dict.fromkeys(_slips(word)) for other in _slips(slip))
        yield from (spelling for spelling in twice if spelling not in once)


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
    letters = {
        fold(neighbour) for neighbour in map(chr, range(block, block + 128)) if _is_letter_of(script(char), neighbour)
    }
    return "" if char >= "\u3000" else "".join(sorted(letter for letter in letters if len(letter) == 1))


def _is_letter_of(name: str, char: str) -> bool:
    return unicodedata.category(char)[0] in "LM" and unicodedata.name(char).startswith(f"{name} ")


def _known(words: list[str]) -> set[str]:
    """The words that a live project has outside of its description, and the tags."""
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
                WHERE project_search_brief MATCH '"' || given.value || '"' LIMIT {most}
            ) AS named CROSS JOIN standings ON standings.project_id = named.id WHERE standings.status = '{live}'
        ) OR EXISTS (SELECT 1 FROM tag_counts WHERE tag = given.value AND live_projects > 0)
    """,
}


@cache
def _statement(dialect: str) -> Prepared:
    values = bindparam("words", type_=ARRAY(Text) if dialect == "postgresql" else JSON)
    statement = _STATEMENTS[dialect].format(most=_SCANNED, live=Status.LIVE)  # contains no input
    return Prepared(text(statement).bindparams(values))


def as_words(query: str) -> list[str]:
    """The parts of a query that look like operators and are searched for as words: the first OPERATORS, as typed."""
    parts = [part.strip("(),;") for part in _PART.findall(query)]
    parts = [part for part in parts if any(map(str.isalnum, part))]
    operators = [part for at, part in enumerate(parts) if _is_operator(part, at > 0, at < len(parts) - 1)]
    return list(dict.fromkeys(operators))[:OPERATORS]


def _is_operator(part: str, follows: bool, leads: bool) -> bool:
    """Whether a part looks like an operator: some do only between others."""
    if part in ("AND", "OR"):
        return follows and leads
    if part == "NOT":
        return leads
    # A minus before a word or phrase: a number may be negative, one letter is a program's option.
    word = part[1:].lstrip(_QUOTES)
    is_excluded = part[0] == "-" and word[:1].isalpha() and is_beginning(word)
    return is_excluded or _FILTER.fullmatch(part) is not None
