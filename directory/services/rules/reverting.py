"""Takes back what a rule held or rejected: it waits for review again, at its old place in the queue."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, or_, select, update

from directory import events
from directory.db.paging import AnySelect
from directory.errors import NotFound
from directory.extensions import db, modify
from directory.models import Effect, MessageKind, Project, Revision, Rule, RuleAction, Status, now
from directory.services import audit, permissions, service_words
from directory.services.catalog import catalog, counters
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import holding, last_decision, revisions, thread
from directory.services.review.last_decision import Overtaking

AT_ONCE = 1_000
A = RuleAction
# An edit, a decision and an appeal raise the version of a project, so that what the rule did is over.
_LASTS: ColumnElement[bool] = and_(A.acted.is_(True), A.version == Project.version)
# An appeal, which raises the version, is none of these for a release, which ends it.
_UNDECIDED: ColumnElement[bool] = and_(
    A.acted.is_(True),
    A.version == case((Project.appealed_at.is_(None), Project.version), else_=Project.version - 1),
)
_HELD = A.effect == Effect.HOLD.value
_REJECTED = A.effect == Effect.REJECT.value
_STANDS: ColumnElement[bool] = or_(
    and_(_HELD, A.of_revision.is_(False), Project.status == Status.PENDING, Project.held_until.is_not(None)),
    and_(_HELD, A.of_revision.is_(True), Project.status == Status.LIVE, Revision.held_until.is_not(None)),
    and_(_REJECTED, A.of_revision.is_(False), Project.status == Status.REJECTED),
    and_(_REJECTED, A.of_revision.is_(True), Project.status == Status.LIVE, Revision.rejected.is_not(None)),
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
    wanted = list(db.session.scalars(done.with_only_columns(Project.id).limit(AT_ONCE)))
    locking = select(Project.id).where(Project.id.in_(wanted)).order_by(Project.id).with_for_update(key_share=True)
    locked = list(db.session.scalars(locking))
    found = list(db.session.execute(done.where(Project.id.in_(locked)))) if locked else []
    if found:
        _return(found, rule_id, by=by, notify=notify)
    return len(found)


def release(project_id: int, *, by: Caller, notify: list[Endpoint], self_review: str = "allow") -> None:
    """Release a project as `holding.release` does, or put back what a rule rejected, if no person has decided since.

    That goes back as by `revert`, and ends an appeal. Raises what `holding.release` raises.
    """
    holding.release(project_id, by=by, self_review=self_review)
    found = db.session.execute(_done(Project.id == project_id, _REJECTED, _UNDECIDED)).all()
    for row in found:  # one, or none
        last_decision.end_appeals([row], Overtaking.DECISION, by=by, at=now())
        _return([row], row.rule_id, by=by, notify=notify)


def _done(*which: ColumnElement[bool]) -> AnySelect:
    """The projects in which stands what one of these actions of rules did, in the order of their ids."""
    last = select(func.max(A.id)).where(A.project_id == Project.id, A.acted.is_(True)).correlate(Project)
    columns = (Project.id, Project.owner_id, Project.url_key, Project.title, Project.status, Project.appealed_at)
    query: AnySelect = select(*columns, A.rule_id, A.effect, A.of_revision).join(A, A.project_id == Project.id)
    query = query.outerjoin(Revision, Revision.project_id == Project.id)
    query = query.where(*which, _STANDS, A.id == last.scalar_subquery())
    return query.order_by(Project.id)


def _return(found: list[Any], rule_id: int, *, by: Caller, notify: list[Endpoint]) -> None:
    at = now()
    rejected = [row for row in found if row.effect == Effect.REJECT]
    holding.end([row.id for row in found if row.effect == Effect.HOLD])
    _undo_rejections([row.id for row in rejected if not row.of_revision], at)
    _restore([row.id for row in rejected if row.of_revision], at)
    moves = [
        (row, {"from_state": row.status, "to_state": Status.LIVE if row.of_revision else Status.PENDING})
        for row in found
    ]
    audit.record_each(moves, by=by, action=events.PROJECT_RETURNED, at=at, rule_id=rule_id)
    thread.record_each(MessageKind.MESSAGE, found, service_words.RETURNED, by=None, at=at)
    if outbox.wanting(events.PROJECT_RETURNED, notify):
        projects = catalog.all_stored([row.id for row in found])
        outbox.enqueue_each(events.PROJECT_RETURNED, projects, by=by, endpoints=notify)


def _undo_rejections(project_ids: Collection[int], at: datetime) -> None:
    """Have rejected projects wait again at their old place, for a review that is measured from `at`."""
    if not project_ids:
        return
    counters.lock(project_ids)
    values: dict[str, Any] = {"status": Status.PENDING, "rejection_reason": None, "updated_at": at}
    values |= {"version": Project.version + 1, "measured_from": at, **last_decision.OVERTAKEN}
    modify(update(Project).where(Project.id.in_(project_ids)).values(values))


def _restore(project_ids: Collection[int], at: datetime) -> None:
    """Have rejected changes of live projects wait again as they were."""
    if not project_ids:
        return
    for revision in revisions.of_each(project_ids).values():
        revisions.restore(revision, at)
    raising = {"version": Project.version + 1, **last_decision.OVERTAKEN}
    modify(update(Project).where(Project.id.in_(project_ids)).values(raising))
