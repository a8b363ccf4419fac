"""Whose turn it is in the review of a project, by its current case, and the conditions of statements about cases."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, literal_column, or_, select, true

from directory.db.paging import AnySelect
from directory.extensions import db
from directory.models import Asked, Outcome, Project, Review, Reviewed, Status, Turn

P, R = Project.__table__.c, Review.__table__.c
PENDING: ColumnElement[str] = literal_column(f"'{Status.PENDING}'")
# A project and its current case, in an outer join.
CURRENT: ColumnElement[bool] = and_(R.project_id == P.id, R.is_current)


class Facts(NamedTuple):
    """What owners and reviewers alone read of a project, by COLUMNS: its case, and what was seen of its links."""

    kind: str | None
    turn: str | None
    asked: str | None
    outcome: str | None
    reason: str | None
    changes: dict[str, Any] | None
    category: str | None
    links: dict[str, Any] | None
    published_at: datetime | None
    since: datetime | None
    until: datetime | None
    place: datetime | None


COLUMNS = (
    R.kind, R.turn, R.asked, R.outcome, R.reason, R.changes, R.category, P.links, P.published_at, R.since, R.until,
    R.place,
)  # fmt: skip
TIMES_FROM = 8  # the index of the first of COLUMNS that is a time; so are all after it


UNSEEN = {"url": None, "repository_url": None}  # links that were not looked at yet


class Standing(NamedTuple):
    """Where a project stands: whose turn it is since when, or how the review ended.

    `until` is when it is rejected if its owner does not answer; None if never. `of_changes` is whether it is about the
    changes of a live project, `was_live` whether the project was ever live, `is_decided` whether it is rejected, also
    while an appeal against that is open.
    """

    turn: Turn | None
    of_changes: bool
    was_live: bool
    since: datetime | None = None
    until: datetime | None = None
    asked: Asked | None = None
    outcome: Outcome | None = None
    is_decided: bool = False

    @property
    def can_be_approved(self) -> bool:
        """Whether the project, or its changes, can be approved."""
        return self.turn is not None and not self.is_decided

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


def standing(case: Any, published_at: datetime | None) -> Standing:
    """Where a project stands by its current case: a row, an object or Facts; None, or without a kind, if it is live."""
    was_live = published_at is not None
    if case is None or case.kind is None:
        return Standing(None, False, was_live, outcome=Outcome.APPROVED)
    of_changes = case.kind == Reviewed.CHANGES
    if case.turn is None:
        return Standing(None, of_changes, was_live, outcome=Outcome(case.outcome), is_decided=True)
    turn, is_decided = Turn(case.turn), case.outcome is not None
    if turn is Turn.OWNER:
        return Standing(turn, of_changes, was_live, case.since, case.until, Asked(case.asked), is_decided=is_decided)
    return Standing(turn, of_changes, was_live, case.since, is_decided=is_decided)


def revision(facts: Facts, shows_links: bool) -> dict[str, Any] | None:
    """The changes in a case as their owner sees them; None without any. Rejected ones are what was written."""
    changes = facts.changes
    if changes is None:
        return None
    if facts.outcome is not None:
        return {"changes": {}, "submitted_at": None, "reason": facts.reason, "rejected": changes}
    if facts.category is not None:
        changes = {**changes, "category": facts.category}
    waiting = {"changes": changes, "submitted_at": facts.place, "reason": None}
    return {**waiting, "links": (facts.links or {}).get("revision")} if shows_links else waiting


def rejection_reason(facts: Facts) -> str | None:
    """The reason for which a submission was rejected or taken down, while its case has one."""
    return facts.reason if facts.kind == Reviewed.SUBMISSION else None


def of_each(project_ids: Collection[int]) -> dict[int, Standing]:
    """Where projects stand now, by one statement, which locks nothing."""
    query = select(P.id, P.published_at, R.kind, R.turn, R.asked, R.outcome, R.since, R.until)
    query = query.select_from(P.id.table.outerjoin(R.id.table, CURRENT)).where(P.id.in_(project_ids))
    return {row.id: standing(row, row.published_at) for row in db.session.execute(query)}


def status_of_case() -> ColumnElement[str]:
    """The status that a project has by its current case, in a statement that joins it."""
    is_submission = R.kind == literal_column(f"'{Reviewed.SUBMISSION}'")
    refused: Any = (and_(is_submission, R.outcome.is_not(None)), literal_column(f"'{Status.REJECTED}'"))
    return case(refused, (is_submission, PENDING), else_=literal_column(f"'{Status.LIVE}'"))


def is_in_place() -> ColumnElement[bool]:
    """Whether the current case of a project, if there is one, has its category, and its time as a submission."""
    is_at_time = or_(of_changes(), R.place == P.submitted_at)
    return func.coalesce(and_(R.category_id == P.category_id, is_at_time), true())


# As conditions: of the columns of the table, or of others with the same names. Their words are part of the text,
# because the indexes have them in their conditions.


def is_turn(turn: Turn, case: Any = R) -> ColumnElement[bool]:
    """Whether it is the turn of somebody."""
    condition: ColumnElement[bool] = case.turn == literal_column(f"'{turn.value}'")
    return condition


def in_queue(case: Any = R) -> ColumnElement[bool]:
    """Whether a case is in the queue: it waits for review, and is not held."""
    return is_turn(Turn.REVIEWERS, case)


def of_changes(case: Any = R) -> ColumnElement[bool]:
    """Whether a case is about the changes of a live project."""
    condition: ColumnElement[bool] = case.kind == literal_column(f"'{Reviewed.CHANGES}'")
    return condition


def elsewhere(case: Any = R) -> ColumnElement[bool]:
    """Whether an open case is not in the queue."""
    condition: ColumnElement[bool] = case.turn != literal_column(f"'{Turn.REVIEWERS}'")
    return condition


def waiting_for(turn: Turn) -> AnySelect:
    """The ids of the projects where it is the turn of somebody."""
    query: AnySelect = select(R.project_id).where(is_turn(turn))
    return query
