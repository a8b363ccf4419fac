"""What a rule holds out of the queue, for `case.LONGEST`, or has rejected: its release, by a person or by time.

A decision, a first approval and a request for changes end a hold too. What is held is pending as before, may be
claimed, and keeps its place in the queue.
"""

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy import case as sql_case

from directory.db.paging import AnySelect
from directory.extensions import db
from directory.models import Effect, Project, Review, Reviewed, RuleAction, Turn, now
from directory.services import permissions
from directory.services.catalog import counters
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review.case import Case, Terms, advance, flush, locked, move
from directory.services.review.steps import Act, Stage
from directory.services.turns import is_turn

A = RuleAction
# An appeal, which raises the version, is no decision for a release, which ends it.
_UNDECIDED: ColumnElement[bool] = and_(
    A.effect == Effect.REJECT.value,
    A.version == sql_case((is_turn(Turn.APPEAL, Review), Project.version - 1), else_=Project.version),
)
_STANDS: ColumnElement[bool] = and_(
    A.of_revision == (Review.kind == Reviewed.CHANGES.value),
    or_(
        and_(A.effect == Effect.HOLD.value, is_turn(Turn.RULE, Review)),
        and_(A.effect == Effect.REJECT.value, Review.outcome.is_not(None)),
    ),
)


def resume(case: Case) -> None:
    """Hold what its owner has just given back without an edit, if a rule that holds matched the last edit.

    While it is the owner's turn, such a rule waits. The version is not raised yet.
    """
    last = (A.project_id == case.id, A.version == case.project.version)
    held = select(A.id).where(*last, A.acted.is_(True), A.effect == Effect.HOLD.value)
    if db.session.scalars(held).first() is not None:
        advance(case, Act.HOLD, by=None, at=now())
        flush([case])


def release(project_id: int, *, by: Caller, notify: list[Endpoint], self_review: str = "allow") -> None:
    """Put a project, or its changes, into the queue, at its place there, if a rule holds it, or has rejected it.

    What is held gets no other version. What was rejected goes back, and an appeal ends, unless a person has decided
    since. Nothing happens to all else. Raises Unauthenticated, NotFound, and with `self_review` "refuse" OwnSubmission.
    """
    require_active(by)
    cases = locked([project_id])
    permissions.require_reviewer(by, cases[0].project if cases else None, self_review)
    move([case for case in cases if case.stage is Stage.HELD], Act.RELEASE, by=by)
    rule_id = db.session.scalar(standing(Project.id == project_id, _UNDECIDED).with_only_columns(A.rule_id))
    if rule_id is not None:
        put_back(cases, rule_id, by=by, notify=notify)


def standing(*which: ColumnElement[bool]) -> AnySelect:
    """The ids of the projects in which stands what one of these actions of rules did, in their order."""
    last = select(func.max(A.id)).where(A.project_id == Project.id, A.acted.is_(True)).correlate(Project)
    query: AnySelect = (
        select(Project.id).join(A, A.project_id == Project.id).join(Review, Review.project_id == Project.id)
    )
    query = query.where(*which, A.acted.is_(True), Review.is_current, _STANDS, A.id == last.scalar_subquery())
    return query.order_by(Project.id)


def put_back(cases: list[Case], rule_id: int, *, by: Caller, notify: list[Endpoint]) -> None:
    """Put locked cases, which a rule has held or rejected, back into the queue; their owners are told."""
    counters.lock([case.id for case in cases])
    move(cases, Act.RETURN, by=by, at=now(), notify=notify, terms=Terms(rule_id=rule_id))


def release_due(most: int) -> int:
    """Release at most `most` of what was held for LONGEST, and return the number. Nobody has done it."""
    at = now()
    due = select(Review.project_id).where(is_turn(Turn.RULE), Review.until <= at).order_by(Review.until).limit(most)
    ids = list(db.session.scalars(due))
    cases = [case for case in locked(ids) if case.stage is Stage.HELD and case.until is not None and case.until <= at]
    move(cases, Act.RELEASE, by=None, at=at)
    return len(ids)
