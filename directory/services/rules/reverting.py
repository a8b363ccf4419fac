"""Takes back what a rule held or rejected: it waits for review again, at its old place in the queue."""

from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy import case as sql_case

from directory.db.paging import AnySelect
from directory.errors import NotFound
from directory.extensions import db
from directory.models import Effect, Project, Review, Reviewed, Rule, RuleAction, Turn, now
from directory.services import permissions
from directory.services.catalog import counters
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import holding
from directory.services.review.case import Case, Terms, locked, move
from directory.services.review.steps import Act
from directory.services.turns import is_turn

AT_ONCE = 1_000
A = RuleAction
# An edit, a decision and an appeal raise the version of a project, so that what the rule did is over.
_LASTS: ColumnElement[bool] = and_(A.acted.is_(True), A.version == Project.version)
# An appeal, which raises the version, is none of these for a release, which ends it.
_UNDECIDED: ColumnElement[bool] = and_(
    A.acted.is_(True),
    A.version == sql_case((is_turn(Turn.APPEAL, Review), Project.version - 1), else_=Project.version),
)
_REJECTED = A.effect == Effect.REJECT.value
_STANDS: ColumnElement[bool] = and_(
    A.of_revision == (Review.kind == Reviewed.CHANGES.value),
    or_(
        and_(A.effect == Effect.HOLD.value, is_turn(Turn.RULE, Review)),
        and_(_REJECTED, Review.outcome.is_not(None)),
    ),
)


def revert(rule_id: int, since: datetime, *, by: Caller, notify: list[Endpoint], self_review: str = "allow") -> int:
    """Put what a rule has held or rejected since an instant back into the queue, and return the number.

    At most AT_ONCE projects, with the lowest ids. What was edited, decided or appealed since stays as it is; with
    `self_review` "refuse" so does what belongs to `by`. Each gets an audit entry, and its owner an entry in the thread
    and a mail. Raises Unauthenticated, NotFound.
    """
    require_active(by)
    if db.session.get(Rule, rule_id) is None:
        raise NotFound
    done = _done(A.rule_id == rule_id, A.at >= since, _LASTS)
    done = done.where(Project.owner_id != by.id) if permissions.refuses_own(self_review) else done
    wanted = list(db.session.scalars(done.limit(AT_ONCE)))
    cases = locked(wanted)
    found = set(db.session.scalars(done.where(Project.id.in_([case.id for case in cases])))) if cases else set()
    if found:
        _return([case for case in cases if case.id in found], rule_id, by=by, notify=notify)
    return len(found)


def release(project_id: int, *, by: Caller, notify: list[Endpoint], self_review: str = "allow") -> None:
    """Release a project as `holding.release` does, or put back what a rule rejected, if no person has decided since.

    That goes back as by `revert`, and ends an appeal. Raises what `holding.release` raises.
    """
    holding.release(project_id, by=by, self_review=self_review)
    rule_id = db.session.scalar(_done(Project.id == project_id, _REJECTED, _UNDECIDED).with_only_columns(A.rule_id))
    if rule_id is not None:
        _return(locked([project_id]), rule_id, by=by, notify=notify)


def _done(*which: ColumnElement[bool]) -> AnySelect:
    """The ids of the projects in which stands what one of these actions of rules did, in their order."""
    last = select(func.max(A.id)).where(A.project_id == Project.id, A.acted.is_(True)).correlate(Project)
    query: AnySelect = (
        select(Project.id).join(A, A.project_id == Project.id).join(Review, Review.project_id == Project.id)
    )
    query = query.where(*which, Review.is_current, _STANDS, A.id == last.scalar_subquery())
    return query.order_by(Project.id)


def _return(cases: list[Case], rule_id: int, *, by: Caller, notify: list[Endpoint]) -> None:
    """Put locked cases back into the queue."""
    counters.lock([case.id for case in cases])
    move(cases, Act.RETURN, by=by, at=now(), notify=notify, terms=Terms(rule_id=rule_id))
