"""The facts that rules may ask for, and the conditions about them: refused as input, and compiled into functions.

Judging and the preview run the same functions over the same facts, those that are stored: texts are compared by the
numbers that stand for them.
"""

import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from directory.extras.spam_rules.texts import Words, number, number_of
from directory.language.messages import _
from directory.models import Judged, LinkState
from directory.services.catalog import own_fields
from directory.services.catalog.fields import Kind
from directory.services.catalog.own_fields import OwnField
from directory.services.catalog.own_filters import PARAMETER
from directory.services.catalog.search_words import units
from directory.services.text.keys import is_registrable
from directory.services.text.links import parsed
from directory.services.text.rules import DOMAIN, EMAIL_MAX, ascii_domain, isolated

MOST_CONDITIONS, MOST_VALUES, MOST = 10, 1_000, 1_000_000_000
MOST_WORDS, MOST_CHARACTERS = 5, 320  # of a phrase
MOST_LICENCE = 100  # characters
BELOW = "*."  # before a domain of mail: all below it
ALL, OF_PROJECTS = tuple(Judged), (Judged.SUBMISSION, Judged.EDIT)
OPERATORS = {
    "number": ("=", "<", ">="),
    "truth": ("=",),
    "text": ("=", "in", "not in"),
    "words": ("in", "not in"),
    "choice": ("=", "in", "not in"),
}
# The type of each fact, and the subjects of rules that have it. `_facts` adds the fields of the operator.
FACTS: dict[str, tuple[str, tuple[Judged, ...]]] = {
    "account_hours": ("number", OF_PROJECTS),
    "email_confirmed": ("truth", ALL),
    "email_domain": ("text", ALL),
    "email_disposable": ("truth", ALL),
    "approved": ("number", OF_PROJECTS),
    "rejected": ("number", OF_PROJECTS),
    "submitted_24h": ("number", OF_PROJECTS),
    "domain": ("text", OF_PROJECTS),
    "domain_live": ("number", OF_PROJECTS),
    "domain_rejected": ("number", OF_PROJECTS),
    "domain_waiting": ("number", OF_PROJECTS),
    "links": ("number", OF_PROJECTS),
    "words": ("words", OF_PROJECTS),
    "text_of_rejected": ("truth", OF_PROJECTS),
    "title_lookalike": ("truth", OF_PROJECTS),
    "has_repository": ("truth", OF_PROJECTS),
    "burst": ("number", OF_PROJECTS),
    "link_state": ("text", OF_PROJECTS),
    "repository_archived": ("truth", OF_PROJECTS),
    "repository_days": ("number", OF_PROJECTS),
    "repository_pushed_days": ("number", OF_PROJECTS),
    "repository_stars": ("number", OF_PROJECTS),
    "repository_license": ("text", OF_PROJECTS),
}
# The types of facts of the operator's own fields, `field.[name]`, by the kinds of the fields.
OWN_KINDS = {Kind.CHOICE: "choice", Kind.TRUTH: "truth", Kind.NUMBER: "number"}
NOT_A_NUMBER = _("Not a number.")
# The facts about links, each with the column of the project that has what was seen. What is unknown is absent.
OF_LINKS = {"link_state": "links"} | dict.fromkeys(
    (name for name in FACTS if name.startswith("repository_")), "repository"
)
_COMPARED = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}

Errors = list[dict[str, str]]
Condition = Callable[[Mapping[str, Any], Words], bool]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The conditions of a rule: `holds` decides by the facts and the words of something that is judged.

    `of_links` are the columns of projects, with what was seen of links, that they ask for.
    """

    conditions: tuple[Condition, ...]
    needs_words: bool
    of_links: frozenset[str]

    def holds(self, facts: Mapping[str, Any], words: Words) -> bool:
        """Whether all conditions hold. Raises KeyError if a fact is missing."""
        for condition in self.conditions:  # noqa: SIM110 (`all` takes twice as long, and this is done for each rule)
            if not condition(facts, words):
                return False
        return True


def described() -> list[dict[str, Any]]:
    """All facts with what may be asked of each."""
    return [
        {"fact": name, "type": kind, "is": list(OPERATORS[kind]), "on": [subject.value for subject in judged]}
        for name, (kind, judged) in _facts().items()
    ]


def _own() -> dict[str, OwnField]:
    """The operator's own fields that rules may ask for, by the names of their facts."""
    return {f"{PARAMETER}{name}": field for name, field in own_fields.present().items() if field.kind in OWN_KINDS}


def _facts() -> dict[str, tuple[str, tuple[Judged, ...]]]:
    """The facts by name: the type of each, and what has it."""
    return FACTS | {fact: (OWN_KINDS[field.kind], OF_PROJECTS) for fact, field in _own().items()}


def refusals(when: list[dict[str, Any]], judges: list[str]) -> Errors:
    """What is wrong with the conditions of a rule that judges this, as the errors of an answer.

    One that lacks a member is passed over: the form of conditions is the schema's.
    """
    whole = [(n, condition) for n, condition in enumerate(when) if {"fact", "is", "value"} <= condition.keys()]
    return [error for n, condition in whole for error in _refusals(f"#/when/{n}", condition, judges)]


def _refusals(place: str, condition: Mapping[str, Any], judges: list[str]) -> Errors:
    known = FACTS.get(condition["fact"]) or _facts().get(condition["fact"])
    kind, judged = known or ("", ())
    errors: Errors = []
    if missing := [subject for subject in judges if subject not in judged]:
        errors.append({"pointer": f"{place}/fact", "detail": _("There is no such fact of a {what}.", what=missing[0])})
    if known is None:
        return errors
    if condition["is"] not in OPERATORS[kind]:
        choices = ", ".join(OPERATORS[kind])
        return [*errors, {"pointer": f"{place}/is", "detail": _("Must be one of: {words}.", words=choices)}]
    return errors + _refused_value(f"{place}/value", condition, kind)


def _refused_value(place: str, condition: Mapping[str, Any], kind: str) -> Errors:
    value, fact = condition["value"], condition["fact"]
    if kind == "truth":
        return [] if isinstance(value, bool) else [{"pointer": place, "detail": _("Must be true or false.")}]
    if kind == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_own = fact.startswith(PARAMETER)  # which may be below 0
        fits = is_number and isfinite(value) and (is_own or value >= 0) and abs(value) <= MOST
        refused = NOT_A_NUMBER if is_own else _("Must be a number from 0 to {most}.", most=f"{MOST:,}")
        return [] if fits else [{"pointer": place, "detail": refused}]
    if kind == "choice":
        return _refused_choice(place, value if condition["is"] != "=" else [value], _own()[fact].choices)
    if condition["is"] == "=":
        return [] if _is_read(fact, value) else [{"pointer": place, "detail": _REASONS[fact]}]
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_VALUES:
        return [{"pointer": place, "detail": _("Must be a list of 1 to {most} texts.", most=f"{MOST_VALUES:,}")}]
    return [
        {"pointer": f"{place}/{n}", "detail": _REASONS_OF_ONE[fact].filled(number=n + 1, text=isolated(str(text)[:60]))}
        for n, text in enumerate(value)
        if not _is_read(fact, text)
    ]


def _refused_choice(place: str, value: Any, choices: Collection[str]) -> Errors:
    if isinstance(value, list) and value and all(isinstance(choice, str) and choice in choices for choice in value):
        return []
    return [{"pointer": place, "detail": _("Must be one of: {words}.", words=", ".join(choices))}]


def _is_read(fact: str, value: Any) -> bool:
    return isinstance(value, str) and _READERS[fact](value) is not None


def _phrase(text: str) -> list[tuple[int, ...]] | None:
    """The words of a phrase as numbers, and where it may also be written as one word, that word; None for another text.

    In scripts without spaces each character is a word of texts, and all that follow each other are one of the phrase.
    """
    text_units = units(text) if len(text) <= MOST_CHARACTERS else ()
    if not 1 <= sum(1 if unit.unspaced else len(unit.parts) for unit in text_units) <= MOST_WORDS:
        return None
    ways = [tuple(number(part) for unit in text_units for part in unit.parts)]
    return [*ways, (number(text_units[0].joined),)] if len(text_units) == 1 and text_units[0].is_joined else ways


def _host(text: str) -> str | None:
    """A host as A-labels; None for a text that is not one."""
    read = parsed(f"http://{text}/") if text and not {*text} & {*"/?#@:[]\\ "} else None
    return None if read is None or "." not in read.hostname else str(read.hostname)


def _registrable(text: str) -> str | None:
    host = _host(text)
    return host if host is not None and DOMAIN.fullmatch(host) and is_registrable(host) else None


def _mail_domain(text: str) -> str | None:
    """A domain of mail in ASCII, or one with the mark of all domains below it; None for a text that is neither."""
    domain = text.removeprefix(BELOW)
    mark = text.removesuffix(domain)
    try:
        ascii_form = ascii_domain(domain)
    except UnicodeError:
        return None
    # A whole suffix, such as "ru", has nothing but domains below it.
    is_one = len(ascii_form) <= EMAIL_MAX and DOMAIN.fullmatch(ascii_form) is not None and (mark or "." in ascii_form)
    return mark + ascii_form if is_one else None


def licence(text: str) -> str | None:
    """The identifier of a licence as it is compared; None for a text that is empty, or too long for one."""
    text = text.strip().lower()
    return text if 0 < len(text) <= MOST_LICENCE and text.isprintable() else None


def _link_state(text: str) -> str | None:
    return text if text in {*LinkState} else None


_READERS: dict[str, Callable[[str], Any]] = {
    "words": _phrase, "email_domain": _mail_domain, "domain": _registrable, "link_state": _link_state,
    "repository_license": licence,
}  # fmt: skip
_REASONS_OF_ONE = {
    "words": _("Value {number}, {text}, must be one to five words."),
    "email_domain": _("Value {number}, {text}, must be a domain, such as example.org or *.example.org."),
    "domain": _(
        "Value {number}, {text}, must be a domain that somebody can register, such as example.org, without what is "
        "below it."
    ),
    "link_state": _("Value {number}, {text}, must be ok, moved, gone, unreachable or unknown."),
    "repository_license": _("Value {number}, {text}, must be the SPDX identifier of a licence, such as MIT."),
}
_REASONS = {
    "email_domain": _("Must be a domain, such as example.org or *.example.org."),
    "domain": _("Must be a domain that somebody can register, such as example.org, without what is below it."),
    "link_state": _("Must be ok, moved, gone, unreachable or unknown."),
    "repository_license": _("Must be the SPDX identifier of a licence, such as MIT."),
}


def compiled(when: list[dict[str, Any]]) -> Compiled:
    """The conditions as functions. Raises KeyError, TypeError, ValueError for conditions that `refusals` refuses."""
    words_last = sorted(when, key=lambda condition: bool(condition["fact"] == "words"))
    names = {condition["fact"] for condition in when}
    of_links = frozenset(column for name, column in OF_LINKS.items() if name in names)
    return Compiled(tuple(map(_compiled, words_last)), "words" in names, of_links)


def _compiled(condition: Mapping[str, Any]) -> Condition:
    """A condition as a function. What is unknown of links matches nothing."""
    name, holds = condition["fact"], _of_known(condition)
    if name not in OF_LINKS:
        return holds
    return lambda facts, words: name in facts and holds(facts, words)


def _of_known(condition: Mapping[str, Any]) -> Condition:
    name, how, value = condition["fact"], condition["is"], condition["value"]
    if name.startswith(PARAMETER):
        return _compiled_own(name, how, value)
    kind, _ = FACTS[name]
    if kind in {"number", "truth"}:
        compare = _COMPARED[how]
        return lambda facts, _words: compare(facts[name], value)
    texts = [value] if how == "=" else value
    is_in = how != "not in"
    # What an earlier version took, and this one refuses, is nothing to find.
    read = [known for text in texts if (known := _READERS[name](text)) is not None]
    if kind == "words":
        has = _has_one([way for ways in read for way in ways])
        return lambda _facts, words: has(words) is is_in
    accepted = frozenset(map(number_of, read) if name == "domain" else read)
    if name == "email_domain":
        return lambda facts, _words: any(word in accepted for word in _named(facts[name])) is is_in
    return lambda facts, _words: (facts[name] in accepted) is is_in


def _compiled_own(name: str, how: str, value: Any) -> Condition:
    """A condition about an own field, which a project without a value never meets."""
    if how in _COMPARED:
        compare = _COMPARED[how]
        return lambda facts, _words: name in facts and compare(facts[name], value)
    is_in = how == "in"
    return lambda facts, _words: name in facts and (facts[name] in value) is is_in


def _named(domain: str) -> Iterator[str]:
    """What names a domain of mail: itself, and the domains that it is below."""
    yield domain
    while domain := domain.partition(".")[2]:
        yield BELOW + domain


def _has_one(wanted: list[tuple[int, ...]]) -> Callable[[Words], bool]:
    """Whether words have one of some phrases. Of a long one, in a script without spaces, each part has to be there."""
    alone = frozenset(phrase[0] for phrase in wanted if len(phrase) == 1)
    some = {n: frozenset(phrase for phrase in wanted if len(phrase) == n) for n in range(2, MOST_WORDS + 1)}
    rows = [(n, phrases) for n, phrases in some.items() if phrases]
    longer = [
        frozenset(zip(*(phrase[n:] for n in range(MOST_WORDS)), strict=False))
        for phrase in wanted
        if len(phrase) > MOST_WORDS
    ]

    def has(words: Words) -> bool:
        if not alone.isdisjoint(words.runs(1)) or any(not phrases.isdisjoint(words.runs(n)) for n, phrases in rows):
            return True
        return any(parts <= words.runs(MOST_WORDS) for parts in longer)

    return has
