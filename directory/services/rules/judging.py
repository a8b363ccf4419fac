"""Judges what members submit, edit and register, by the rules that are on or dry, in the transaction of the change.

Judging takes one statement for the facts, and one to store them, of an edit two; what matches is counted and noted by
one each. A process keeps the compiled rules, and reads them again when the statement for the facts says that they have
changed. A rule that fails is passed over, logged and counted: nobody's submission stops for a rule.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, text

from directory.errors import RegistrationRefused
from directory.extensions import db, modify
from directory.models import Effect, Judged, Rule, RuleAction, RuleState, now
from directory.services.identity import Caller
from directory.services.rules import facts
from directory.services.rules.conditions import Compiled, compiled
from directory.services.rules.facts import Facts

log = logging.getLogger(__name__)
STRENGTH = tuple(Effect)
on_failure: list[Callable[[], None]] = []  # the last one counts a failure of a rule
_COUNT = text(
    "INSERT INTO rule_days (rule_id, day, matched) VALUES (:rule_id, :day, 1) "
    "ON CONFLICT (rule_id, day) DO UPDATE SET matched = rule_days.matched + 1"
)


@dataclass(frozen=True, slots=True)
class Active:
    """A rule that is on or dry. `stamp` is another one after each change of it."""

    id: int
    stamp: tuple[Any, ...]
    name: str
    judges: frozenset[str]
    effect: Effect
    reason: str | None
    is_on: bool
    when: Compiled


@dataclass(frozen=True, slots=True)
class Judgement:
    """The facts of what was judged, and the rules that matched, in the order of their ids."""

    kind: Judged
    facts: Facts
    matched: tuple[Active, ...]
    at: datetime

    @property
    def acting(self) -> Active | None:
        """Of the rules that are on the one whose effect happens: the strongest, and of equal ones the first."""
        acting = [rule for rule in self.matched if rule.is_on]
        return max(acting, key=lambda rule: STRENGTH.index(rule.effect), default=None)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The compiled rules of a database, and the print of the rules from which they were compiled."""

    print: tuple[Any, ...] = ()
    rules: tuple[Active, ...] = ()


_kept: dict[Any, _Kept] = {}


def submission(given: Mapping[str, Any], *, project_id: int, by: Caller, at: datetime) -> Judgement:
    """Judge a new project of `by`, who is no administrator, with these values."""
    found = facts.of_project(given, owner_id=by.id, project_id=project_id, at=at)
    return _judged(Judged.SUBMISSION, {Judged.SUBMISSION}, found, at)


def edit(given: Mapping[str, Any], *, project_id: int, by: Caller, at: datetime, is_live: bool) -> Judgement:
    """Judge a project of `by`, or its revision, with the values that it has after an edit.

    While no person has decided about the project, the rules for submissions judge it as well.
    """
    found = facts.of_project(given, owner_id=by.id, project_id=project_id, at=at)
    is_open = not is_live and not found.is_decided
    return _judged(Judged.EDIT, {Judged.EDIT, Judged.SUBMISSION} if is_open else {Judged.EDIT}, found, at)


def registration(email: str, *, is_confirmed: bool) -> Judgement:
    """Judge a registration. Raises RegistrationRefused, with the judgement, for what a rule refuses."""
    found = facts.of_registration(email, is_confirmed=is_confirmed)
    judgement = _judged(Judged.REGISTRATION, {Judged.REGISTRATION}, found, now())
    if judgement.acting is not None:
        raise RegistrationRefused(judgement)
    return judgement


@dataclass(frozen=True, slots=True)
class Subject:
    """The project that was judged, or its revision, and the project's version after what the rules did."""

    project_id: int
    of_revision: bool
    version: int


def record(judgement: Judgement, *, account_id: int, of: Subject | None = None) -> None:
    """Store the facts, count what matched, and note on the project what the rules that are on found."""
    project_id = None if of is None else of.project_id
    facts.store(judgement.kind, judgement.facts, account_id=account_id, project_id=project_id, at=judgement.at)
    count(judgement)
    if of is not None:
        _note(judgement, of)


def count(judgement: Judgement) -> None:
    """Count the matches of a judgement by rule and day, in the order of the rules' ids, as every transaction does."""
    day = judgement.at.date()
    day_of: Any = day if db.engine.dialect.name == "postgresql" else day.isoformat()
    if judgement.matched:
        db.session.execute(_COUNT, [{"rule_id": rule.id, "day": day_of} for rule in judgement.matched])


def _note(judgement: Judgement, of: Subject) -> None:
    """Note which rules matched a project; notes of earlier ones that did not act go."""
    if judgement.kind is Judged.EDIT and judgement.facts.rules[0]:
        modify(delete(RuleAction).where(RuleAction.project_id == of.project_id, RuleAction.acted.is_(False)))
    acting = judgement.acting
    rows = [
        {
            "rule_id": rule.id,
            "rule_name": rule.name,
            "project_id": of.project_id,
            "of_revision": of.of_revision,
            "effect": rule.effect.value,
            "acted": rule is acting and rule.effect is not Effect.MARK,
            "version": of.version,
            "at": judgement.at,
        }
        for rule in judgement.matched
        if rule.is_on
    ]
    if rows:
        db.session.execute(insert(RuleAction), rows)


def _judged(kind: Judged, by_rules_on: set[Judged], found: Facts, at: datetime) -> Judgement:
    rules = _rules(found.rules) if found.rules[0] else ()
    judging = [rule for rule in rules if not rule.judges.isdisjoint(by_rules_on)]
    return Judgement(kind, found, tuple(rule for rule in judging if _holds(rule, found)), at)


def _holds(rule: Active, found: Facts) -> bool:
    try:
        return rule.when.holds(found.values, found.words)
    except Exception:
        _failed(rule.id)
        return False


def _failed(rule_id: int) -> None:
    log.exception("a rule failed", extra={"rule": rule_id})
    for count_failure in on_failure[-1:]:
        count_failure()


def _rules(print_: tuple[Any, ...]) -> tuple[Active, ...]:
    """The rules that are not off, read again if they have changed.

    Those that have changed are compiled again, and no others: the words of fifty rules can take seconds.
    """
    key = db.engine.url
    kept = _kept.get(key, _Kept())
    if kept.print != print_:
        known = {rule.stamp: rule for rule in kept.rules}
        query = select(*Rule.__table__.c).where(Rule.state != RuleState.OFF).order_by(Rule.id)
        found = [known.get(_stamp(row)) or _compiled(row) for row in db.session.execute(query)]
        kept = _kept[key] = _Kept(print_, tuple(rule for rule in found if rule is not None))
    return kept.rules


def _stamp(row: Any) -> tuple[Any, ...]:
    return row.id, row.version, row.changed_at


def _compiled(row: Any) -> Active | None:
    try:
        when = compiled(row.conditions)
    except Exception:
        _failed(row.id)
        return None
    is_on = row.state == RuleState.ON
    return Active(row.id, _stamp(row), row.name, frozenset(row.judges), Effect(row.effect), row.reason, is_on, when)
