"""A query in the languages of the engines, once for each step of the rank."""

from collections.abc import Iterable
from itertools import accumulate

from directory.services.catalog.search_words import (
    MAX_WORDS,
    Unit,
    ascii_form,
    is_beginning,
    singulars,
    units,
    whole,
)

# Where a project has all words, and how, from the best match to the worst.
TIERS = (
    ("title", "whole"),
    ("title", "words"),
    ("brief", "words"),
    ("title", "beginnings"),
    ("brief", "beginnings"),
    ("anywhere", "beginnings"),
)
Tier = tuple[str, str]
WORDS: Tier = ("anywhere", "words")  # no step of the rank: what surely matches, without the words that begin alike
_WEIGHTS = {"title": "A", "brief": "AB", "anywhere": ""}
_SCOPES = {"title": "{title} : ", "brief": "{title brief} : ", "anywhere": ""}
QUERY, SUBSTRINGS = "q", "s"  # what the names of the values begin with


def expressions(query: str, dialect: str) -> dict[str, str] | None:
    """The query in the engine's own language, once for each tier; None where it has no word."""
    asked = list(dict.fromkeys(units(query)))
    sizes = accumulate(len(unit.parts) for unit in asked)
    asked = [unit for unit, size in zip(asked, sizes, strict=True) if size <= MAX_WORDS] or asked[:1]
    key = whole(query)
    if not asked or key is None:
        return None
    written = {}
    for language, prefix in _LANGUAGES[dialect]:
        written[name(TIERS[0], prefix)] = language.word(key, TIERS[0], as_beginning=False)
        written |= {name(tier, prefix): language.all_of(asked, tier) for tier in (*TIERS[1:], WORDS)}
    return written


class _Language:
    """How an engine writes a query."""

    AND = " & "
    OR = " | "
    OPEN, CLOSE = "(", ")"

    def all_of(self, asked: Iterable[Unit], tier: Tier) -> str:
        """All units of a query."""
        return self.AND.join(self._unit(unit, tier) for unit in asked)

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        """One word, whole or as a beginning, where the tier looks for it."""
        weights = ("*" if as_beginning else "") + _WEIGHTS[tier[0]]
        return f"'{ascii_form(word)}'" + (f":{weights}" if weights else "")

    def _unit(self, unit: Unit, tier: Tier) -> str:
        """A unit: as one word or as its parts, whichever a project spells."""
        parts = self.AND.join(self._forms(part, tier) for part in unit.parts)
        return f"({self._forms(unit.joined, tier)}{self.OR}({parts}))" if unit.is_joined else parts

    def _forms(self, word: str, tier: Tier) -> str:
        """A word or what it is the plural of."""
        forms = [word, *singulars(word)]
        starts = tier[1] == "beginnings" and is_beginning(word)
        if starts:  # what begins with `games` begins with `game` too
            forms = [form for form in forms if not any(form != other and form.startswith(other) for other in forms)]
        return self.OPEN + self.OR.join(self.word(form, tier, as_beginning=starts) for form in forms) + self.CLOSE


class _Fts5(_Language):
    AND = " AND "
    OR = " OR "

    def all_of(self, asked: Iterable[Unit], tier: Tier) -> str:
        return f"{_SCOPES[tier[0]]}({super().all_of(asked, tier)})"

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        return f'"{ascii_form(word)}"' + ("*" if as_beginning else "")


class _Substrings(_Language):
    """For a text with a space before and behind each word: lines, in each of which one of its parts has to occur."""

    AND = "\n"
    OR = "|"
    OPEN = CLOSE = ""

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        return f" {ascii_form(word)}{'' if as_beginning else ' '}"

    def _unit(self, unit: Unit, tier: Tier) -> str:
        joined = self.OR + self._forms(unit.joined, tier) if unit.is_joined else ""
        return self.AND.join(self._forms(part, tier) + joined for part in unit.parts)


_LANGUAGES: dict[str, list[tuple[_Language, str]]] = {
    "postgresql": [(_Language(), QUERY)],
    "sqlite": [(_Fts5(), QUERY), (_Substrings(), SUBSTRINGS)],
}


def name(tier: Tier, prefix: str = QUERY) -> str:
    """The name of the value for a step of the rank."""
    return f"{prefix}_" + "_".join(tier)
