"""Whose turn it is in the review of a project: the one rule, of a row and as conditions of statements.

A project waits for review while it is pending, and while changes of it wait when it is live; both have the same columns
for it. The reviewers' turn ends when they ask for changes or take the project down, and begins again when its owner
gives it back. A rule may hold it out of the queue, and an open appeal stands before everything else.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, literal_column, select, union_all

from directory.db.paging import AnySelect
from directory.extensions import db
from directory.models import Effect, Project, Revision, RuleAction, Status
from directory.services import service_words

P, R = Project.__table__.c, Revision.__table__.c
PENDING: ColumnElement[str] = literal_column(f"'{Status.PENDING}'")


class Turn(StrEnum):
    """Who or what has the next move."""

    REVIEWERS = "reviewers"
    RULE = "rule"
    OWNER = "owner"
    APPEAL = "appeal"


class Asked(StrEnum):
    """How it came to wait for its owner."""

    CHANGES = "changes_requested"
    UNPUBLISHED = "unpublished"


class Outcome(StrEnum):
    """How a review ended: a rejection was made by a person, by a rule, or because the time for an answer passed."""

    APPROVED = "approved"
    REJECTED = "rejected"
    BY_RULE = "rejected_by_rule"
    BY_TIME = "rejected_by_time"


class Facts(NamedTuple):
    """The columns on which it depends: COLUMNS, of a project and of its revision."""

    status: str
    change_requests: int
    revision_id: int | None
    submitted_at: datetime
    published_at: datetime | None
    appealed_at: datetime | None
    owner_since: datetime | None
    closes_at: datetime | None
    held_until: datetime | None
    changed_at: datetime | None = None
    changes_owner_since: datetime | None = None
    changes_close_at: datetime | None = None
    changes_held_until: datetime | None = None


COLUMNS = (
    P.status, P.change_requests, R.project_id, P.submitted_at, P.published_at, P.appealed_at,
    P.owner_since, P.closes_at, P.held_until, R.submitted_at, R.owner_since, R.closes_at, R.held_until,
)  # fmt: skip
TIMES_FROM = 3  # the index of the first of COLUMNS that is a time; so are all after it


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a project stands: whose turn it is since when, or how the review ended.

    `until` is when it is rejected if its owner does not answer; None if never. `of_changes` is whether it is about the
    changes of a live project, `was_live` whether the project was ever live.
    """

    turn: Turn | None
    of_changes: bool
    was_live: bool
    since: datetime | None = None
    until: datetime | None = None
    asked: Asked | None = None
    outcome: Outcome | None = None

    @property
    def review(self) -> dict[str, Any] | None:
        """What answers say of it; None if nothing waits."""
        if self.turn is None:
            return None
        waiting_for = "review" if self.turn in {Turn.REVIEWERS, Turn.RULE} else self.turn.value
        is_held, asked = self.turn is Turn.RULE, self.asked and self.asked.value
        return {
            "waiting_for": waiting_for, "since": self.since, "closes_at": self.until, "held": is_held, "asked": asked,
        }  # fmt: skip


GONE = Standing(None, of_changes=False, was_live=False)  # of a project that was deleted


def standing(facts: Facts) -> Standing:
    """Where a project stands by its columns."""
    is_live = facts.status == Status.LIVE
    of_changes = is_live and facts.revision_id is not None
    about: dict[str, Any] = {"of_changes": of_changes, "was_live": facts.published_at is not None}
    if facts.appealed_at is not None:
        return Standing(Turn.APPEAL, since=facts.appealed_at, **about)
    since, owner_since, until, held_until = facts.submitted_at, facts.owner_since, facts.closes_at, facts.held_until
    if of_changes and facts.changed_at is not None:
        since, owner_since = facts.changed_at, facts.changes_owner_since
        until, held_until = facts.changes_close_at, facts.changes_held_until
    elif facts.status != Status.PENDING:
        is_approved = is_live and not of_changes
        return Standing(None, outcome=Outcome.APPROVED if is_approved else Outcome.REJECTED, **about)
    if owner_since is not None:
        is_asked = of_changes or facts.change_requests > 0
        asked = Asked.CHANGES if is_asked else Asked.UNPUBLISHED
        return Standing(Turn.OWNER, since=owner_since, until=until, asked=asked, **about)
    return Standing(Turn.REVIEWERS if held_until is None else Turn.RULE, since=since, **about)


def of_locked(project: Any, revision: Revision | None) -> Standing:
    """Where a locked project stands: a row or an object with its columns, and its revision if it is live."""
    names = Facts._fields[TIMES_FROM:9]
    own = (getattr(project, name) for name in names)
    its = () if revision is None else (
        revision.submitted_at, revision.owner_since, revision.closes_at, revision.held_until,
    )  # fmt: skip
    number = None if revision is None else revision.project_id
    return standing(Facts(project.status, project.change_requests, number, *own, *its))


def of_each(project_ids: Collection[int]) -> dict[int, Standing]:
    """Where projects stand now, by one statement, which locks nothing; of rejections with how they were made.

    An edit, a decision and an appeal raise the version of a project: then it was not a rule that decided last.
    """
    acts = select(RuleAction.id).where(RuleAction.project_id == P.id, RuleAction.version == P.version)
    is_by_rule = acts.where(RuleAction.acted.is_(True), RuleAction.effect == Effect.REJECT.value).exists()
    reason = func.coalesce(P.rejection_reason, R.reason)
    query = select(P.id, P.decided_by, reason, is_by_rule, *COLUMNS).select_from(P.id.table.outerjoin(R.changes.table))
    rows = db.session.execute(query.where(P.id.in_(project_ids)))
    return {row[0]: _with_outcome(standing(Facts(*row[4:])), *row[1:4]) for row in rows}


def _with_outcome(found: Standing, decided_by: int | None, reason: str | None, is_by_rule: bool) -> Standing:
    if found.outcome is not Outcome.REJECTED:
        return found
    if is_by_rule:
        return replace(found, outcome=Outcome.BY_RULE)
    is_by_time = decided_by is None and service_words.is_time_passed(reason)
    return replace(found, outcome=Outcome.BY_TIME) if is_by_time else found


# As conditions. They are of the columns of the tables, or of others with the same names.


def with_reviewers(project: Any = P) -> ColumnElement[bool]:
    """Whether a project waits for review, in the queue or held: it is pending, and does not wait for its owner."""
    return and_(project.status == PENDING, project.owner_since.is_(None))


def revision_with_reviewers(revision: Any = R) -> ColumnElement[bool]:
    """Whether a revision waits for review, in the queue or held: it is not rejected, and not with its owner."""
    return and_(revision.submitted_at.is_not(None), revision.owner_since.is_(None))


def in_queue(project: Any = P) -> ColumnElement[bool]:
    """Whether a project is in the queue: it waits for review, and is not held."""
    return and_(with_reviewers(project), project.held_until.is_(None))


def revision_in_queue(revision: Any = R) -> ColumnElement[bool]:
    """Whether a revision is in the queue: it waits for review, and is not held."""
    return and_(revision_with_reviewers(revision), revision.held_until.is_(None))


def out_of_queue(project: Any = P) -> tuple[ColumnElement[bool], ...]:
    """Of a pending project, that it is not in the queue: one of these conditions, each with an index that has few."""
    return project.owner_since.is_not(None), and_(project.held_until.is_not(None), project.owner_since.is_(None))


def on_owner(project: Any = P) -> ColumnElement[bool]:
    """Whether a project waits for its owner: it was taken down, or changes were asked for, and no appeal is open."""
    return and_(project.owner_since.is_not(None), project.status == PENDING, project.appealed_at.is_(None))


def revision_on_owner(revision: Any = R) -> ColumnElement[bool]:
    """Whether a revision waits for its owner."""
    return and_(revision.owner_since.is_not(None), revision.submitted_at.is_not(None))


def has_appeal(project: Any = P) -> ColumnElement[bool]:
    """Whether an appeal about a project is open."""
    found: ColumnElement[bool] = project.appealed_at.is_not(None)
    return found


def held() -> AnySelect:
    """The ids of the projects that are held out of the queue, or whose revisions are."""
    pending = select(P.id).where(P.held_until.is_not(None), with_reviewers())
    changed = select(R.project_id).where(R.held_until.is_not(None), revision_with_reviewers())
    found = union_all(pending, changed).subquery("held")
    return select(found.c.id)


def with_owner() -> AnySelect:
    """The ids of the projects that wait, or whose revisions wait, for their owners."""
    down, asked = select(P.id).where(on_owner()), select(R.project_id).where(revision_on_owner())
    found = union_all(down, asked).subquery("with_owner")
    return select(found.c.id)


def in_appeal() -> AnySelect:
    """The ids of the projects about which an appeal is open."""
    appealed = Project.__table__.alias("appealed")
    return select(appealed.c.id).where(has_appeal(appealed.c))
