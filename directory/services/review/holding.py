"""Holds: what a rule keeps out of the queue, for `case.LONGEST`, until it is decided or released.

A decision, a first approval and a request for changes end a hold too. What is held is pending as before, may be
claimed, and keeps its place in the queue.
"""

from sqlalchemy import select

from directory.extensions import db
from directory.models import Effect, Review, RuleAction, Turn, now
from directory.services import permissions
from directory.services.identity import Caller, require_active
from directory.services.review.case import Case, advance, flush, locked, move
from directory.services.review.steps import Act, Stage
from directory.services.turns import is_turn


def resume(case: Case) -> None:
    """Hold what its owner has just given back without an edit, if a rule that holds matched the last edit.

    While it is the owner's turn, such a rule waits. The version is not raised yet.
    """
    held = select(RuleAction.id).where(RuleAction.project_id == case.id, RuleAction.version == case.project.version)
    held = held.where(RuleAction.acted.is_(True), RuleAction.effect == Effect.HOLD.value)
    if db.session.scalars(held).first() is not None:
        advance(case, Act.HOLD, by=None, at=now())
        flush([case])


def release(project_id: int, *, by: Caller, self_review: str = "allow") -> None:
    """Put a project, or its changes, into the queue, at its place there; nothing happens to what is not held.

    It raises no version. Raises Unauthenticated, NotFound, and with `self_review` "refuse" OwnSubmission.
    """
    require_active(by)
    cases = locked([project_id])
    permissions.require_reviewer(by, cases[0].project if cases else None, self_review)
    move([case for case in cases if case.stage is Stage.HELD], Act.RELEASE, by=by)


def release_due(most: int) -> int:
    """Release at most `most` of what was held for LONGEST, and return the number. Nobody has done it."""
    at = now()
    due = select(Review.project_id).where(is_turn(Turn.RULE), Review.until <= at).order_by(Review.until).limit(most)
    ids = list(db.session.scalars(due))
    cases = [case for case in locked(ids) if case.stage is Stage.HELD and case.until is not None and case.until <= at]
    move(cases, Act.RELEASE, by=None, at=at)
    return len(ids)
