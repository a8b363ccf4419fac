"""What a rule would have done: its conditions over the stored facts of the past, and what became of those that match.

The facts are read in one pass, at most MOST of them, the newest first, and the conditions are the functions by which
rules judge. The number of statements does not depend on the number of facts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, literal_column, or_, select

from directory import events
from directory.db.paging import AnySelect
from directory.db.transactions import reading
from directory.extensions import db
from directory.extras.spam_rules.conditions import Compiled, compiled
from directory.extras.spam_rules.texts import Words, unpacked
from directory.models import AccountStatus, AuditEntry, Judged, Project, Review, Reviewed, Role, RuleFacts, Status, User
from directory.services.catalog import catalog
from directory.services.clock import database_clock

MOST = 100_000
EXAMPLES = 20
READ_AT_ONCE = 2_000
APPROVED, REJECTED, WAITING, TAKEN_DOWN = OUTCOMES = ("approved", "rejected", "waiting", "taken_down")
# By kind, the entries of the log of what members did: those without stored facts are unknown.
LOGGED: dict[str, ColumnElement[bool]] = {
    kind: and_(
        AuditEntry.action.in_([event for event in events.TABLE if event.judged == kind]),
        # An edit of a live project that nobody reviews is not judged.
        or_(AuditEntry.action != events.PROJECT_EDITED, AuditEntry.to_state == Status.PENDING),
    )
    for kind in Judged
}


@dataclass(slots=True)
class Found:
    """The result of a preview. `examples` are ids of projects by outcome."""

    evaluated: int = 0
    matched: int = 0
    by_outcome: Counter[str] = field(default_factory=Counter)
    examples: dict[str, dict[int, None]] = field(default_factory=lambda: {outcome: {} for outcome in OUTCOMES})


def run(on: list[str], when: list[dict[str, Any]], days: int) -> dict[str, Any]:
    """Preview conditions over so many days, by four statements. What has no facts stored is `unknown`.

    It takes seconds for MOST facts, so it must not be called within a transaction.
    """
    since, conditions = database_clock() - timedelta(days=days), compiled(when)
    with reading():
        result = evaluate(conditions, _stored(on, since, conditions))
    ids = [project for some in result.examples.values() for project in some]
    projects = {project["id"]: project for project in catalog.all_stored(sorted(ids))} if ids else {}
    return {
        "evaluated": result.evaluated,
        "unknown": max(0, _logged(on, since) - result.evaluated),
        "matched": result.matched,
        "by_outcome": {outcome: result.by_outcome[outcome] for outcome in OUTCOMES},
        "examples": {
            outcome: [projects[project_id] for project_id in result.examples[outcome] if project_id in projects]
            for outcome in OUTCOMES
        },
    }


def evaluate(conditions: Compiled, rows: Iterator[Any]) -> Found:
    """Judge rows, each with facts, words, the project's id, whether it exists, and the outcome.

    What lacks a fact that the conditions ask for does not match.
    """
    result = Found()
    for facts, words, project_id, exists, outcome in rows:
        result.evaluated += 1
        if not _holds(conditions, facts, words):
            continue
        result.matched += 1
        result.by_outcome[outcome] += 1
        if exists and len(result.examples[outcome]) < EXAMPLES:
            result.examples[outcome][project_id] = None
    return result


def _holds(conditions: Compiled, facts: Mapping[str, Any], words: bytes) -> bool:
    try:
        return conditions.holds(facts, unpacked(words) if conditions.needs_words else Words())
    except KeyError:
        return False


def _stored(on: list[str], since: datetime, conditions: Compiled) -> Iterator[Any]:
    words: Any = RuleFacts.words if conditions.needs_words else literal_column("NULL")
    query: AnySelect = (
        select(RuleFacts.facts, words, RuleFacts.project_id, Project.id.is_not(None), _outcome())
        .outerjoin(Project, Project.id == RuleFacts.project_id)
        .outerjoin(Review, and_(Review.project_id == RuleFacts.project_id, Review.is_current))
        .join(User, User.id == RuleFacts.account_id)
        .where(RuleFacts.kind.in_(on), RuleFacts.at >= since)
        .order_by(RuleFacts.at.desc(), RuleFacts.id.desc())
        .limit(MOST)
    )
    return iter(db.session.execute(query, execution_options={"yield_per": READ_AT_ONCE}))


def _outcome() -> ColumnElement[str]:
    """What became of something that was judged: of a registration by its account, otherwise by the project.

    A project that is gone was taken down if it was ever approved, and otherwise rejected. An edit of a live project is
    decided by the first decision about changes of it that came later.
    """
    was_approved = _logged_later(events.PROJECT_APPROVED, after=None).exists()
    decided = _logged_later(events.PROJECT_EDIT_APPROVED, events.PROJECT_EDIT_REJECTED, after=RuleFacts.at)
    decision = decided.with_only_columns(AuditEntry.action).order_by(AuditEntry.id).limit(1).scalar_subquery()
    of_live = case(
        (decision == events.PROJECT_EDIT_REJECTED, REJECTED),
        (and_(decision.is_(None), Review.kind == Reviewed.CHANGES, Review.outcome.is_(None)), WAITING),
        else_=APPROVED,
    )
    return case(
        (and_(RuleFacts.kind == Judged.REGISTRATION, User.status == AccountStatus.ACTIVE), APPROVED),
        (RuleFacts.kind == Judged.REGISTRATION, REJECTED),
        (and_(Project.id.is_(None), was_approved), TAKEN_DOWN),
        (Project.id.is_(None), REJECTED),
        (and_(Project.status == Status.LIVE, RuleFacts.kind == Judged.EDIT), of_live),
        (Project.status == Status.LIVE, APPROVED),
        (Project.published_at.is_not(None), TAKEN_DOWN),
        (Project.status == Status.REJECTED, REJECTED),
        else_=WAITING,
    )


def _logged_later(*actions: str, after: Any) -> AnySelect:
    """The entries of some actions about the project of the facts."""
    query: AnySelect = select(AuditEntry.id).where(
        AuditEntry.project_id == RuleFacts.project_id, AuditEntry.action.in_(actions)
    )
    return query.correlate(RuleFacts) if after is None else query.where(AuditEntry.at > after).correlate(RuleFacts)


def _logged(on: list[str], since: datetime) -> int:
    """How much members did in the period, by the log, which is kept for as long as AUDIT_RETENTION says.

    The edits of a project are one, as in the stored facts.
    """
    once = case((LOGGED[Judged.EDIT], AuditEntry.project_id), else_=-AuditEntry.id)
    query = select(func.count(once.distinct())).select_from(AuditEntry).join(User, User.id == AuditEntry.actor_id)
    done = or_(*(LOGGED[kind] for kind in on))
    return db.session.scalar(query.where(done, AuditEntry.at >= since, User.role != Role.ADMIN)) or 0
