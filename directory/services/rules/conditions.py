"""The facts that rules may ask for, and the conditions about them: refused as input, and compiled into functions.

Judging and the preview run the same functions over the same facts, those that are stored: texts are compared by the
numbers that stand for them.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from directory.language.messages import _
from directory.models import Judged
from directory.services.catalog.search_words import MAX_WORD_LENGTH, units
from directory.services.text.keys import number_of, registrable
from directory.services.text.links import parsed

MOST_CONDITIONS, MOST_VALUES, MOST = 10, 1_000, 1_000_000_000
ALL, OF_PROJECTS = tuple(Judged), (Judged.SUBMISSION, Judged.EDIT)
OPERATORS = {
    "number": ("=", "<", ">="),
    "truth": ("=",),
    "text": ("=", "in", "not in"),
    "words": ("in", "not in"),
}
# By fact: its type, and what has it.
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
}
_COMPARED = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}

Errors = list[dict[str, str]]
Words = frozenset[int]
Condition = Callable[[Mapping[str, Any], Words], bool]


@dataclass(frozen=True, slots=True)
class Compiled:
    """The conditions of a rule: `holds` decides by the facts and the words of something that is judged."""

    conditions: tuple[Condition, ...]
    needs_words: bool

    def holds(self, facts: Mapping[str, Any], words: Words) -> bool:
        """Whether all conditions hold. Raises KeyError if a fact is missing."""
        for condition in self.conditions:  # noqa: SIM110 (`all` takes twice as long, and this is done for each rule)
            if not condition(facts, words):
                return False
        return True


def described() -> list[dict[str, Any]]:
    """All facts with what may be asked of each."""
    return [
        {"fact": name, "type": kind, "is": list(OPERATORS[kind]), "on": [each.value for each in judged]}
        for name, (kind, judged) in FACTS.items()
    ]


def refusals(when: list[dict[str, Any]], judges: list[str]) -> Errors:
    """What is wrong with the conditions of a rule that judges this, as the errors of an answer.

    One that lacks a member is passed over: the form of conditions is the schema's.
    """
    whole = [(n, each) for n, each in enumerate(when) if {"fact", "is", "value"} <= each.keys()]
    return [error for n, condition in whole for error in _refusals(f"#/when/{n}", condition, judges)]


def _refusals(place: str, condition: Mapping[str, Any], judges: list[str]) -> Errors:
    kind, judged = FACTS[condition["fact"]]
    found: Errors = []
    if missing := [each for each in judges if each not in judged]:
        found.append({"pointer": f"{place}/fact", "detail": _("There is no such fact of a {what}.", what=missing[0])})
    if condition["is"] not in OPERATORS[kind]:
        choices = ", ".join(OPERATORS[kind])
        found.append({"pointer": f"{place}/is", "detail": _("Must be one of: {words}.", words=choices)})
    elif (refused := _refused_value(condition, kind)) is not None:
        found.append({"pointer": f"{place}/value", "detail": refused})
    return found


def _refused_value(condition: Mapping[str, Any], kind: str) -> str | None:
    value = condition["value"]
    if kind == "truth":
        return None if isinstance(value, bool) else _("Must be true or false.")
    if kind == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = is_number and isfinite(value) and 0 <= value <= MOST
        return None if fits else _("Must be a number from 0 to {most}.", most=f"{MOST:,}")
    read = _word if kind == "words" else _READERS[condition["fact"]]
    if condition["is"] == "=":
        return None if isinstance(value, str) and read(value) is not None else _REASONS[condition["fact"]]
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_VALUES:
        return _("Must be a list of 1 to {most} texts.", most=f"{MOST_VALUES:,}")
    is_bad = any(not isinstance(each, str) or read(each) is None for each in value)
    return _REASONS[condition["fact"]] if is_bad else None


def _word(text: str) -> str | None:
    """A word as texts have it; None for a text that is not one word."""
    found = units(text[: 4 * MAX_WORD_LENGTH])
    return found[0].joined if len(found) == 1 else None


def _host(text: str) -> str | None:
    """A host as A-labels; None for a text that is not one."""
    read = parsed(f"http://{text}/") if text and not {*text} & {*"/?#@:[]\\ "} else None
    return None if read is None or "." not in read.hostname else str(read.hostname)


def _registrable(text: str) -> str | None:
    host = _host(text)
    return host if host is not None and registrable(host) == host else None


_READERS: dict[str, Callable[[str], str | None]] = {"email_domain": _host, "domain": _registrable}
_REASONS = {
    "words": _("Must be one word."),
    "email_domain": _("Must be a domain, such as example.org."),
    "domain": _("Must be a domain that somebody can register, such as example.org, without what is below it."),
}


def compiled(when: list[dict[str, Any]]) -> Compiled:
    """The conditions as functions. Raises KeyError, TypeError, ValueError for conditions that `refusals` refuses."""
    words_last = sorted(when, key=lambda condition: bool(condition["fact"] == "words"))
    return Compiled(tuple(map(_compiled, words_last)), any(condition["fact"] == "words" for condition in when))


def _compiled(condition: Mapping[str, Any]) -> Condition:
    name, how, value = condition["fact"], condition["is"], condition["value"]
    kind, _ = FACTS[name]
    if kind in {"number", "truth"}:
        compare = _COMPARED[how]
        return lambda facts, _words: compare(facts[name], value)
    given = [value] if how == "=" else value
    is_in = how != "not in"
    if kind == "words":
        wanted = frozenset(number_of(str(_word(each))) for each in given)
        return lambda _facts, words: wanted.isdisjoint(words) is not is_in
    texts = [str(_READERS[name](each)) for each in given]
    accepted: frozenset[Any] = frozenset(map(number_of, texts) if name == "domain" else texts)
    return lambda facts, _words: (facts[name] in accepted) is is_in
