"""A query in the languages of the engines, once for each step of the rank."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, combinations
from math import prod

from directory.services.catalog.little_words import without
from directory.services.catalog.search_words import (
    MAX_WORD_LENGTH,
    MAX_WORDS,
    Unit,
    addressed,
    ascii_form,
    domain_word,
    is_beginning,
    joined_word,
    query_units,
    runs,
    singulars,
    spelled,
    whole,
    whole_of,
    words,
)
from directory.services.text.equal_addresses import url_key

# Where a project has all words, and how, from the best match to the worst.
TIERS = (
    ("title", "exact"),  # the title as it is spelled, or an address
    ("title", "whole"),
    ("title", "words"),
    ("brief", "words"),
    ("title", "beginnings"),
    ("brief", "beginnings"),
    ("anywhere", "beginnings"),
)
Tier = tuple[str, str]
MOST_SPLIT = 6  # words of a query that may each be a part of one: of more the expression would be long
WORDS: Tier = ("anywhere", "words")  # not a step of the rank: matches by whole words alone
TYPED: Tier = ("anywhere", "typed")  # the last tier without synonyms: the value is there if a word has some
_WEIGHTS = {"title": "A", "brief": "AB", "anywhere": ""}
_SCOPES = {"title": "{title} : ", "brief": "{title brief} : ", "anywhere": ""}
QUERY, SUBSTRINGS = "q", "s"  # prefixes of the names of the values
RAREST = "rarest"  # the name of the value that `rarest` returns
KNOWN = "known_{}"  # the names of the values that `known` returns
WHOLE, ALONE = "whole_{}", "alone_{}"  # the names of the values that `alone` returns
# Reading a text to test it for a query takes as long as reading so many entries of a word in the index.
TEST = 15

Share = Callable[[str, bool], float]  # of projects, at most, that have a word, or a word that begins so
Begun = Callable[[str], list[str]]  # the most common words that begin so
Synonyms = Mapping[str, Sequence[Unit]]  # of a word, all in one (`Unit.joined`), those that mean the same
NONE: Synonyms = {}


def expressions(
    query: str, dialect: str, tag: str | None = None, least: int | None = None, synonyms: Synonyms = NONE
) -> dict[str, str] | None:
    """The query in the engine's own language, once for each tier; None if it has no word.

    With a `tag` those that search descriptions ask for its words too, in tagline and tags. So an index finds no more
    projects than have both. With `least`, which is less than the number of words, so many of them are enough, and a
    title that consists of so many is one that matches as a whole. What matches by `synonyms` reaches the last tier
    alone, and not TYPED.
    """
    asked, key = units_of(query), whole(query)
    if not asked or key is None:
        return None
    keys = [addressed(address) for address in address_keys(query)]
    spellings, wholes = [spelled(query), *keys], [key]
    if least is not None:
        spellings = wholes = _wholes(asked, least)
    exact, same, *tiers = TIERS
    others, written = _others(asked, synonyms), {}
    for language, prefix in _LANGUAGES[dialect]:

        def condition(language: _Language, tier: Tier, others: Sequence[Sequence[Unit]] = ()) -> str:
            is_anywhere = tier[0] == "anywhere"
            clauses = language.clauses(asked, tier, keys if is_anywhere else [], others)
            clauses = clauses if least is None else [language.most_of(clauses, least)]
            return language.all_of([*clauses, *language.tagged(tag if is_anywhere else None)], tier)

        written[name(exact, prefix)] = language.one_of(spellings, exact)
        written[name(same, prefix)] = language.one_of(wholes, same)
        written |= {name(tier, prefix): condition(language, tier) for tier in (*tiers, WORDS)}
        if any(others):
            written[name(TYPED, prefix)] = written[name(TIERS[-1], prefix)]
            written[name(TIERS[-1], prefix)] = condition(language, TIERS[-1], others)
    return written


def size(query: str) -> int:
    """The number of words of a query that are searched for, each once; what marks or quotes keep together is one."""
    return len(units_of(query))


def is_little(query: str) -> bool:
    """Whether a query has little words alone."""
    return not query_units(query, without)


def _wholes(asked: list[Unit], size: int) -> list[str]:
    """The words of titles that consist of `size` units of a query, in its order."""
    return [word for some in combinations(asked, size) if (word := whole_of(some)) is not None]


def rarest(query: str, tag: str | None, share: Share, synonyms: Synonyms = NONE) -> str | None:
    """The conditions of the last tier that few projects meet, for PostgreSQL's index; None if it needs all of them.

    The index reads all entries of each word before it finds the first project. With many common words it costs less to
    ask it for the rarest ones, and to test for the others each project that it finds.
    """
    asked, keys = units_of(query), [addressed(address) for address in address_keys(query)]
    language, tier, others = _Language(), TIERS[-1], _others(asked, synonyms)
    clauses = [*language.clauses(asked, tier, keys, others), *language.tagged(tag)]
    tagged = [min(share(word, False) for word in words(tag))] if tag and len(clauses) > len(asked) else []
    by_unit = zip(asked, others, strict=True)
    shares = [*(min(1.0, sum(_share(other, share) for other in (unit, *same))) for unit, same in by_unit), *tagged]
    chosen, left = list[str](), 1.0
    for portion, clause in sorted(zip(shares, clauses, strict=True)):
        if chosen and portion >= TEST * left * (1 - portion):
            return language.all_of(chosen, tier)
        chosen.append(clause)
        left *= portion
    return None


def expected(query: str, share: Share) -> float:
    """The share of projects that match, if the words of the query have nothing to do with each other."""
    return prod(_share(unit, share) for unit in units_of(query))


def known(query: str, begun: Begun) -> list[str]:
    """Conditions that only matches of the last tier meet, for PostgreSQL's index, which soon tells that many do.

    The index reads the entries of all words with a beginning before it finds the first project. Of whole words it skips
    most entries that are no match, the more so if each has a condition of its own.
    """
    return _Known(begun).clauses(units_of(query), TIERS[-1], [addressed(address) for address in address_keys(query)])


def alone(query: str, synonyms: Synonyms = NONE) -> dict[str, str]:
    """For FTS5, the condition for each unit of several alone: by whole words, and that of the last tier.

    If nothing meets one of these, nothing matches. FTS5 would read all words with each beginning before it saw that.
    """
    asked, keys = units_of(query), [addressed(address) for address in address_keys(query)]
    if len(asked) < 2:
        return {}
    language, found = _Fts5(), dict[str, str]()
    for names, tier, others in ((WHOLE, WORDS, ()), (ALONE, TIERS[-1], _others(asked, synonyms))):
        clauses = language.clauses(asked, tier, keys, others)
        found |= {names.format(number): clause for number, clause in enumerate(clauses)}
    return found


def units_of(query: str) -> list[Unit]:
    """The units of a query, as many as are searched for: without little words, unless it has no others."""
    asked = list(dict.fromkeys(query_units(query, without) or query_units(query)))
    sizes = accumulate(len(unit.asked) for unit in asked)
    return [unit for unit, size in zip(asked, sizes, strict=True) if size <= MAX_WORDS] or asked[:1]


def _others(asked: list[Unit], synonyms: Synonyms) -> list[list[Unit]]:
    """For each unit those that mean the same as it, or as its singular; none for a phrase."""
    by_unit = [[] if unit.quoted else [unit.joined, *singulars(unit.joined)] for unit in asked]
    return [list(dict.fromkeys(synonym for word in words for synonym in synonyms.get(word, ()))) for words in by_unit]


def _share(unit: Unit, share: Share) -> float:
    """The share of projects that have a unit, at most: that of its rarest word."""
    *first, last = unit.asked
    begun = share(ascii_form(last), not unit.quoted and is_beginning(last))
    begun += sum(share(singular, False) for singular in singulars(last))
    return min([1.0, begun, *(share(ascii_form(word), False) for word in first)])


class _Language:
    """How an engine writes a query."""

    AND = " & "
    OR = " | "
    OPEN, CLOSE = "(", ")"

    def one_of(self, words: list[str], tier: Tier) -> str:
        """At least one of some words, already in ASCII."""
        return self.OR.join(self.word(word, tier, as_beginning=False) for word in words)

    def all_of(self, clauses: Iterable[str], tier: Tier) -> str:
        """All of some conditions."""
        return self.AND.join(clauses)

    def most_of(self, clauses: list[str], least: int) -> str:
        """At least so many of some conditions: of each half as many as the other half leaves."""
        if least == len(clauses):
            return f"({self.AND.join(clauses)})"
        if least == 1:
            return f"({self.OR.join(clauses)})"
        half = len(clauses) // 2
        halves, alternatives = (clauses[:half], clauses[half:]), list[str]()
        for first in range(max(0, least - len(halves[1])), min(half, least) + 1):
            numbers = zip(halves, (first, least - first), strict=True)
            alternatives.append(self.AND.join(self.most_of(some, number) for some, number in numbers if number))
        return f"({self.OR.join(alternatives)})"

    def clauses(
        self, asked: list[Unit], tier: Tier, instead: Iterable[str], synonyms: Sequence[Sequence[Unit]] = ()
    ) -> list[str]:
        """A condition for each unit of a query: one of its spellings or synonyms, or a word `instead` of all units."""
        others = [self.word(word, tier, as_beginning=False) for word in instead]
        by_unit = zip(asked, self._joined(asked, tier), synonyms or [()] * len(asked), strict=True)
        return [
            self._unit(
                unit,
                [
                    *self._other_spellings(unit, tier),
                    *joined,
                    *others,
                    *(self._synonym(synonym, tier) for synonym in same),
                ],
                tier,
            )
            for unit, joined, same in by_unit
        ]

    def tagged(self, tag: str | None) -> list[str]:
        """The condition for the words of a tag, in tagline and tags at least; none without words."""
        written = [self.word(word, ("brief", "words"), as_beginning=False) for word in words(tag or "")]
        return [self.AND.join(written)] if written else []

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        """One word, already in ASCII, whole or as a beginning, in the parts of the tier."""
        weights = ("*" if as_beginning else "") + _WEIGHTS[tier[0]]
        return f"'{word}'" + (f":{weights}" if weights else "")

    def phrase(self, words: Sequence[str], tier: Tier, *, as_beginning: bool) -> str:
        """Words that are neighbours; the last one may be a beginning."""
        *first, last = map(ascii_form, words)
        written = [*(self.word(word, tier, as_beginning=False) for word in first)]
        return f"({' <-> '.join([*written, self.word(last, tier, as_beginning=as_beginning)])})"

    def _unit(self, unit: Unit, others: list[str], tier: Tier) -> str:
        """A unit: its words, or one of its other spellings."""
        parts = self.AND.join(self._parts(unit, tier))
        return f"({self.OR.join([*others, f'({parts})'])})" if others else parts

    def _synonym(self, unit: Unit, tier: Tier) -> str:
        """One of the spellings of a unit; of a script without spaces, its characters as neighbours."""
        if unit.unspaced:
            return self.phrase(unit.parts, tier, as_beginning=False)
        return self.OR.join([*self._parts(unit, tier), *self._other_spellings(unit, tier)])

    def _parts(self, unit: Unit, tier: Tier) -> list[str]:
        """The conditions for the words of a unit: that they are neighbours, if marks or quotes keep them together."""
        if unit.quoted or (len(unit.parts) > 1 and not unit.unspaced):
            return [self._neighbours(unit, tier)]
        return [self._forms(part, tier) for part in unit.asked]

    def _neighbours(self, unit: Unit, tier: Tier) -> str:
        *first, last = unit.parts
        if unit.quoted:
            return self.phrase(unit.parts, tier, as_beginning=False)
        starts = tier[1] == "beginnings" and is_beginning(last)
        written = [self.phrase(unit.parts, tier, as_beginning=starts)]
        written += [self.phrase((*first, singular), tier, as_beginning=False) for singular in singulars(last)]
        return self.OPEN + self.OR.join(written) + self.CLOSE

    def _other_spellings(self, unit: Unit, tier: Tier) -> list[str]:
        """A unit as one word, as a domain, or as several words that the index also holds as one."""
        spellings: list[str] = []
        if unit.quoted:
            return spellings
        if unit.is_joined:
            spellings.append(self._forms(unit.joined, tier))
        if domain := domain_word(unit):
            spellings.append(self.word(domain, tier, as_beginning=False))
        if tier[1] == "beginnings" and len(unit.joined) > 1:  # so that no such match comes before an exact one
            spellings.append(self.word(joined_word(unit.joined), tier, as_beginning=False))
        return spellings

    def _joined(self, asked: list[Unit], tier: Tier) -> list[list[str]]:
        """For each unit the words that it may be a part of, together with its neighbours."""
        joined: list[list[str]] = [[] for _ in asked]
        if tier[1] == "beginnings" and len(asked) <= MOST_SPLIT:
            for run in runs(asked):
                if not any(asked[place].unspaced for place in run):
                    word = ascii_form("".join(asked[place].joined for place in run)[:MAX_WORD_LENGTH])
                    for place in run:
                        joined[place].append(self.word(word, tier, as_beginning=True))
        return joined

    def _forms(self, word: str, tier: Tier) -> str:
        """A word, or one of its singulars as a whole word."""
        starts = tier[1] == "beginnings" and is_beginning(word)
        written = [self.word(ascii_form(word), tier, as_beginning=starts)]
        written += [self.word(singular, tier, as_beginning=False) for singular in singulars(word)]
        return self.OPEN + self.OR.join(written) + self.CLOSE


class _Known(_Language):
    """Words that are known to have a beginning, in place of all that have it."""

    def __init__(self, begun: Begun) -> None:
        self._begun = begun

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        written = [word, *self._begun(word)] if as_beginning else [word]
        whole = (super(_Known, self).word(form, tier, as_beginning=False) for form in dict.fromkeys(written))
        return f"({self.OR.join(whole)})"


class _Fts5(_Language):
    AND = " AND "
    OR = " OR "

    def one_of(self, words: list[str], tier: Tier) -> str:
        return f"{_SCOPES[tier[0]]}({super().one_of(words, tier)})"

    def all_of(self, clauses: Iterable[str], tier: Tier) -> str:
        return f"{_SCOPES[tier[0]]}({super().all_of(clauses, tier)})"

    def tagged(self, tag: str | None) -> list[str]:
        return [f"{_SCOPES['brief']}({condition})" for condition in super().tagged(tag)]

    def phrase(self, words: Sequence[str], tier: Tier, *, as_beginning: bool) -> str:
        return self.word(" ".join(map(ascii_form, words)), tier, as_beginning=as_beginning)

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        return f'"{word}"' + ("*" if as_beginning else "")


class _Substrings(_Language):
    """For a text with a space before and behind each word: lines, in each of which one of its parts has to occur.

    Where some conditions are enough, an empty line, their number, and the lines of each follow, with empty lines
    between.
    """

    AND = "\n"
    OR = "|"
    OPEN = CLOSE = ""

    def word(self, word: str, tier: Tier, *, as_beginning: bool) -> str:
        return f" {word}{'' if as_beginning else ' '}"

    def phrase(self, words: Sequence[str], tier: Tier, *, as_beginning: bool) -> str:
        return self.word(" ".join(map(ascii_form, words)), tier, as_beginning=as_beginning)

    def most_of(self, clauses: list[str], least: int) -> str:
        return "\n\n".join(["", str(least), *clauses]).removeprefix("\n")

    def tagged(self, tag: str | None) -> list[str]:
        return []  # each project is tested for the tag itself

    def _unit(self, unit: Unit, others: list[str], tier: Tier) -> str:
        return self.AND.join(self.OR.join([part, *others]) for part in self._parts(unit, tier))


_LANGUAGES: dict[str, list[tuple[_Language, str]]] = {
    "postgresql": [(_Language(), QUERY)],
    "sqlite": [(_Fts5(), QUERY), (_Substrings(), SUBSTRINGS)],
}


def name(tier: Tier, prefix: str = QUERY) -> str:
    """The name of the value for a step of the rank."""
    return f"{prefix}_" + "_".join(tier)


# With or without a scheme, a user and a port, as browsers show an address and as git takes it.
_WITH_SCHEME = re.compile(r"(?:git\+)?(https?|git|ssh)://(?:[^\s/?#@]*@)?([^\s/?#@:]+(?::[0-9]+)?)([/?#]\S*)?", re.I)
_FOR_SSH = re.compile(r"[\w.-]+@([^\s/?#@:]+\.[^\s/?#@:]+):([^\s?#@:]+)")  # git@host:owner/name.git
_WITHOUT_SCHEME = re.compile(r"[^\s/?#@:]+\.[^\s/?#@:.]+(?::[0-9]+)?(?:[/?#]\S*)?")
_OWNER_AND_NAME = re.compile(r"[\w-]+/[\w.-]+")
# The hosts of the repositories that people name by owner and name alone.
HOSTS = ("github.com", "gitlab.com", "codeberg.org", "bitbucket.org")


def address_keys(query: str) -> list[str]:
    """The keys of the addresses that a query may be, as `equal_addresses.url_key` returns them."""
    keys: dict[str, None] = {}
    for url in _urls(query.strip(" \t\r\n<>()[]\"'")):
        try:
            keys[url_key(url)] = None
        except ValueError:
            continue
    return list(keys)


def _urls(text: str) -> list[str]:
    if match := _WITH_SCHEME.fullmatch(text):
        scheme = "http" if match[1].lower() == "http" else "https"  # each has its default port
        return [f"{scheme}://{match[2]}{match[3] or ''}"]
    if match := _FOR_SSH.fullmatch(text):
        return [f"https://{match[1]}/{match[2]}"]
    if _OWNER_AND_NAME.fullmatch(text):
        return [f"https://{host}/{text}" for host in HOSTS]
    return [f"https://{text}"] if _WITHOUT_SCHEME.fullmatch(text) else []
