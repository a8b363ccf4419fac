"""Appeals: the owner of a project asks for another look at a rejection or unpublishing, and another person settles it.

While an appeal is open the project waits for its outcome alone: it is not in the queue, and does not close. What ends
an appeal without an outcome is in `last_decision`.
"""

from collections.abc import Container
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from directory import events
from directory.errors import AppealNotPossible, NoAppeal, OwnDecision, PreconditionFailed
from directory.events import Event
from directory.extensions import db
from directory.models import MessageKind, Project, Revision, Sender, Status, now
from directory.services import audit, permissions, turns
from directory.services.delivery import outbox
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import last_decision, revisions, submissions, thread, waiting

UPHELD, REVERSED = "upheld", "reversed"
KINDS = {UPHELD: MessageKind.APPEAL_UPHELD, REVERSED: MessageKind.APPEAL_REVERSED}  # of the entries in the threads


def is_possible(project_id: int) -> bool:
    """Whether the owner of a project may appeal, by one statement, which locks nothing."""
    query = select(Project.decided_at, *turns.COLUMNS).outerjoin(Revision, Revision.project_id == Project.id)
    decided_at, *columns = db.session.execute(query.where(Project.id == project_id)).one()
    return last_decision.may_be_appealed(decided_at, turns.standing(turns.Facts(*columns)), now())


def appeal(project_id: int, text: str, *, by: Caller, notify: list[Endpoint], naming: bool = False) -> dict[str, Any]:
    """Appeal against the last rejection or unpublishing, and return the entry in the thread as the owner sees it.

    Raises Unauthenticated, NotFound for everybody but the owner, and AppealNotPossible.
    """
    require_active(by)
    at, project = now(), submissions.locked(project_id)
    permissions.require_owner(by, project)
    revision = revisions.of(project_id) if project.status == Status.LIVE else None
    if not last_decision.may_be_appealed(project.decided_at, turns.of_locked(project, revision), at):
        raise AppealNotPossible
    project.appealed_at, project.closes_at = at, None
    project.version += 1
    entry = thread.Entry(MessageKind.APPEAL, project_id, by.id, text)
    added = thread.add(entry, sender=Sender.OWNER, by=by, at=at)
    _record(events.PROJECT_APPEALED, project, project.status, by=by, at=at)
    outbox.enqueue(events.PROJECT_APPEALED, project_id, by=by, endpoints=notify, message_id=added["id"])
    return thread.for_owner(added, naming=naming)


def require_one(project_id: int, *, by: Caller) -> None:
    """Raise AppealNotPossible unless an appeal is open about a project, or nothing was decided since the last one.

    Raises NotFound unless `by` may review the project.
    """
    columns = select(Project.category_id, Project.appealed_at).where(Project.id == project_id)
    project = permissions.require_reviewer(by, db.session.execute(columns).one_or_none())
    if project.appealed_at is None and thread.last_judgement(project_id) not in KINDS.values():
        raise AppealNotPossible


def settle(
    project_id: int,
    outcome: str,
    reason: str,
    *,
    by: Caller,
    notify: list[Endpoint],
    is_on: bool,
    versions: Container[int] | None = None,
    self_review: str = "allow",
    answer_within: timedelta | None = None,
) -> None:
    """Uphold or reverse the decision against which an appeal is open. One person is enough.

    The decision that is reversed is undone: a rejected project or revision waits again at its old place, and an
    unpublished project is live. If it is upheld, what was unpublished waits for its owner, from now on. The same
    outcome again changes nothing. Without an open appeal the refusal depends on whether appeals are on.
    Raises Unauthenticated, NotFound, OwnSubmission, OwnDecision, PreconditionFailed, NoAppeal, AppealNotPossible.
    """
    require_active(by)
    at, project = now(), submissions.locked(project_id)
    _require_judge(project, by, self_review)
    if project.appealed_at is None and thread.last_judgement(project_id) == KINDS[outcome]:
        return
    if versions is not None and project.version not in versions:
        raise PreconditionFailed
    if project.appealed_at is None:
        raise NoAppeal(project.status) if is_on else AppealNotPossible
    was = project.status
    project.version += 1
    project.decided_at = project.appealed_at = None
    if outcome == REVERSED:
        _reverse(project, at)
    elif was == Status.PENDING:
        waiting.leave_out(project, at)
        project.owner_since, project.closes_at = at, waiting.closing(at, answer_within)
    entry = thread.Entry(KINDS[outcome], project_id, project.owner_id, reason)
    added = thread.add(entry, sender=Sender.REVIEWERS, by=by, at=at)
    _record(events.SETTLED[outcome], project, was, by=by, at=at)
    _notify(project, was, outcome, added["id"], by=by, endpoints=notify)


def _require_judge(project: Project, by: Caller, self_review: str) -> None:
    """Raise NotFound, OwnSubmission or OwnDecision unless `by` may settle appeals about the project.

    Who made the decision against which one is open may not, unless nobody else may.
    """
    permissions.require_reviewer(by, project, self_review)
    barred = {by.id, project.owner_id} if permissions.refuses_own(self_review) else {by.id}
    is_own = project.appealed_at is not None and project.decided_by == by.id
    if is_own and permissions.somebody_else_may(barred, "review", project.category_id):
        raise OwnDecision


def _reverse(project: Project, at: datetime) -> None:
    """Undo a rejection of a locked project or of its revision, or an unpublishing."""
    if project.status == Status.LIVE:
        revision = revisions.of(project.id)
        if revision is None or revision.submitted_at is not None:
            raise NoAppeal(project.status)
        revisions.restore(revision, at)
        return
    project.status = Status.PENDING if project.status == Status.REJECTED else Status.LIVE
    project.rejection_reason, project.updated_at = None, at
    for name, value in waiting.ENDED.items():
        setattr(project, name, value)
    project.measured_from = at  # the first review ended by the rejection


def _record(action: Event, project: Project, was: str, *, by: Caller, at: datetime) -> None:
    """Log an appeal or its outcome. The texts are in the thread alone, where they can be erased."""
    audit.record_project(action, project, by=by, at=at, from_state=was, to_state=project.status)


def _notify(
    project: Project, was: str, outcome: str, message_id: int, *, by: Caller, endpoints: list[Endpoint]
) -> None:
    """Send the outcome to the owner, and to webhooks that a project is live again. The owner gets one mail."""
    outbox.enqueue(events.SETTLED[outcome], project.id, by=by, endpoints=endpoints, message_id=message_id)
    if was != Status.LIVE and project.status == Status.LIVE:
        webhooks = [endpoint for endpoint in endpoints if endpoint.format != MAIL]
        outbox.enqueue(events.PROJECT_APPROVED, project.id, by=by, endpoints=webhooks)
