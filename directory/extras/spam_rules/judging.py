"""Judges what members submit, edit and register, by the rules that are on or dry, in the transaction of the change.

Judging takes one statement for the facts, and one to store them, of an edit two; what matches is counted and noted by
one each. A process keeps the compiled rules, and reads them again when the statement for the facts says that they have
changed. A rule that fails is passed over, logged and counted: nobody's submission stops for a rule.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select, text

from directory.extensions import db, modify
from directory.extras.spam_rules import facts
from directory.extras.spam_rules.conditions import Compiled, compiled
from directory.extras.spam_rules.facts import Facts
from directory.models import Effect, Judged, RuleAction, RuleState, SpamRule
from directory.services.drafts import Draft, Registration, Verdict

log = logging.getLogger(__name__)
STRENGTH = tuple(Effect)
on_failure: list[Callable[[], None]] = []  # the last one counts a failure of a rule
_COUNT = text(
    "INSERT INTO rule_days (rule_id, day, matched) VALUES (:rule_id, :day, 1) "
    "ON CONFLICT (rule_id, day) DO UPDATE SET matched = rule_days.matched + 1"
)


@dataclass(frozen=True, slots=True)
class _Rule:
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
class _Judgement:
    """A draft with its facts, the rules that matched, in the order of their ids, and the one whose effect happens."""

    draft: Draft | Registration
    facts: Facts
    matched: list[_Rule]
    acting: _Rule | None

    def record(self, account_id: int | None) -> None:
        """Store the facts, count what matched, and note on the project what the rules that are on found.

        They are counted by rule and day, in the order of the rules' ids, as every transaction does.
        """
        draft, day = self.draft, self.draft.at.date()
        project_id = draft.after.id if isinstance(draft, Draft) else None
        if isinstance(draft, Draft) and draft.seen:
            facts.add_seen(self.facts, account_id=draft.after.owner_id, project_id=draft.after.id)
        elif account_id is not None:
            facts.store(draft.kind, self.facts, account_id=account_id, project_id=project_id, at=draft.at)
        day_of: Any = day if db.engine.dialect.name == "postgresql" else day.isoformat()
        if self.matched:
            db.session.execute(_COUNT, [{"rule_id": rule.id, "day": day_of} for rule in self.matched])
        if isinstance(draft, Draft):
            self._note(draft)

    def _note(self, draft: Draft) -> None:
        """Note which rules matched a project, at its version after that; notes of earlier ones that did not act go."""
        project, acting = draft.after, self.acting
        if draft.kind is Judged.EDIT and self.facts.rules[0]:
            modify(delete(RuleAction).where(RuleAction.project_id == project.id, RuleAction.acted.is_(False)))
        version = project.version + (acting is not None and acting.effect is Effect.REJECT)
        rows = [
            {
                "rule_id": rule.id,
                "rule_name": rule.name,
                "project_id": project.id,
                "of_revision": draft.of_changes,
                "effect": rule.effect.value,
                "acted": rule is acting and rule.effect is not Effect.MARK,
                "version": version,
                "at": draft.at,
            }
            for rule in self.matched
            if rule.is_on
        ]
        if rows:
            db.session.execute(insert(RuleAction), rows)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The compiled rules of a database, and the print of the rules from which they were compiled."""

    print: tuple[Any, ...] = ()
    rules: tuple[_Rule, ...] = ()


_kept: dict[Any, _Kept] = {}


def on_submit(draft: Draft | Registration) -> Verdict:
    """Judge what a member submits, edits or registers.

    While no person has decided about an edited project, the rules for submissions judge it as well. Rules about what
    was seen of links mark and hold alone. When it has just been seen, no others judge, and none once a person has
    decided.
    """
    kinds = {draft.kind}
    if isinstance(draft, Registration):
        known = facts.of_registration(draft)
    else:
        known = facts.of_project(draft)
        if not (draft.of_changes or known.is_decided):
            kinds.add(Judged.SUBMISSION)
    is_late = bool(draft.seen) and known.is_decided
    rules = _rules(known.rules) if known.rules[0] and not is_late else ()
    matched = [rule for rule in rules if _is_asked(rule, kinds, draft.seen) and _holds(rule, known)]
    on = [rule for rule in matched if rule.is_on]
    acting = max(on, key=lambda rule: STRENGTH.index(rule.effect), default=None)  # of equally strong ones the first
    record = _Judgement(draft, known, matched, acting).record
    return Verdict(record) if acting is None else Verdict(record, acting.effect, acting.reason, acting.id)


def _is_asked(rule: _Rule, kinds: set[Judged], seen: frozenset[str]) -> bool:
    """Whether a rule judges something of these kinds, or of it what was just seen of its links."""
    of_links = rule.when.of_links
    if rule.judges.isdisjoint(kinds) or (of_links and rule.effect is Effect.REJECT):
        return False
    return not seen or not of_links.isdisjoint(seen)


def _holds(rule: _Rule, collected: Facts) -> bool:
    try:
        return rule.when.holds(collected.values, collected.words)
    except Exception:
        _failed(rule.id)
        return False


def _failed(rule_id: int) -> None:
    log.exception("a rule failed", extra={"rule": rule_id})
    for count_failure in on_failure[-1:]:
        count_failure()


def _rules(print_: tuple[Any, ...]) -> tuple[_Rule, ...]:
    """The rules that are not off, read again if they have changed.

    Those that have changed are compiled again, and no others: the words of fifty rules can take seconds.
    """
    key = db.engine.url
    kept = _kept.get(key, _Kept())
    if kept.print != print_:
        known = {rule.stamp: rule for rule in kept.rules}
        query = select(*SpamRule.__table__.c).where(SpamRule.state != RuleState.OFF).order_by(SpamRule.id)
        rules = [known.get(_stamp(row)) or _compiled(row) for row in db.session.execute(query)]
        kept = _kept[key] = _Kept(print_, tuple(rule for rule in rules if rule is not None))
    return kept.rules


def _stamp(row: Any) -> tuple[Any, ...]:
    return row.id, row.version, row.changed_at


def _compiled(row: Any) -> _Rule | None:
    try:
        when = compiled(row.conditions)
    except Exception:
        _failed(row.id)
        return None
    is_on = row.state == RuleState.ON
    return _Rule(row.id, _stamp(row), row.name, frozenset(row.judges), Effect(row.effect), row.reason, is_on, when)
