"""The rules of appeals. While one is open the project waits for its outcome alone: not in the queue, and not closing.

What ends an appeal without an outcome is in the table of `services/review/steps.py`.
"""

from collections.abc import Container
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select

from directory import events
from directory.db.paging import AnySelect
from directory.errors import AppealNotPossible, NoAppeal, OwnDecision, PreconditionFailed
from directory.extensions import db
from directory.models import Message, MessageKind, Project, Review, Sender, Status, Turn, now
from directory.services import permissions, turns
from directory.services.delivery import outbox
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import submissions, thread
from directory.services.review.case import Case, Terms, current, move
from directory.services.review.steps import Act

WITHIN = timedelta(days=180)
# The entries in the threads, by the outcome.
KINDS = {Act.UPHOLD.value: MessageKind.APPEAL_UPHELD, Act.REVERSE.value: MessageKind.APPEAL_REVERSED}


def number_open() -> AnySelect:
    """The statement that counts the open appeals."""
    return select(func.count()).where(turns.is_turn(Turn.APPEAL))


def is_possible(project_id: int) -> bool:
    """Whether the owner of a project may appeal, by one statement, which locks nothing."""
    query = select(Project, Review).outerjoin(Review, turns.CURRENT).where(Project.id == project_id)
    project, review = db.session.execute(query).one()
    return _may_be(Case(project, review))


def _may_be(case: Case) -> bool:
    """Whether the owner may appeal: once, in time, and while nothing has overtaken the decision."""
    decided_at = case.review and case.review.decided_at
    return case.step(Act.APPEAL) is not None and decided_at is not None and decided_at > now() - WITHIN


def appeal(project_id: int, text: str, *, by: Caller, notify: list[Endpoint], naming: bool = False) -> dict[str, Any]:
    """Appeal against the last rejection or unpublishing, and return the entry in the thread as the owner sees it.

    Raises Unauthenticated, NotFound for everybody but the owner, and AppealNotPossible.
    """
    require_active(by)
    at, project = now(), submissions.locked(project_id)
    permissions.require_owner(by, project)
    case = current(project)
    if not _may_be(case):
        raise AppealNotPossible
    entry = thread.Entry(MessageKind.APPEAL, project_id, by.id, text)
    added = thread.add(entry, sender=Sender.OWNER, by=by, at=at)
    move([case], Act.APPEAL, by=by, at=at)
    outbox.enqueue(events.PROJECT_APPEALED, project_id, by=by, endpoints=notify, message_id=added["id"])
    return thread.for_owner(added, naming=naming)


def require_one(project_id: int, *, by: Caller) -> None:
    """Raise AppealNotPossible unless an appeal is open about a project, or nothing was decided since the last one.

    Raises NotFound unless `by` may review the project.
    """
    columns = select(Project.category_id, Review.turn).outerjoin(Review, turns.CURRENT)
    project = permissions.require_reviewer(
        by, db.session.execute(columns.where(Project.id == project_id)).one_or_none()
    )
    if project.turn != Turn.APPEAL and _last_judgement(project_id) not in KINDS.values():
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
    at, case = now(), current(submissions.locked(project_id))
    project, was = case.project, case.project.status
    _require_judge(case, by, self_review)
    is_open = case.review is not None and case.review.turn == Turn.APPEAL
    if not is_open and _last_judgement(project_id) == KINDS[outcome]:
        return
    if versions is not None and project.version not in versions:
        raise PreconditionFailed
    if not is_open:
        raise NoAppeal(project.status) if is_on else AppealNotPossible
    is_live_again = was == Status.PENDING and outcome == Act.REVERSE
    entry = thread.Entry(KINDS[outcome], project_id, project.owner_id, reason)
    added = thread.add(entry, sender=Sender.REVIEWERS, by=by, at=at)
    # The reason is in the thread alone, where it can be erased.
    move([case], Act(outcome), by=by, at=at, terms=Terms(answer_within=answer_within))
    _notify(case, outcome, added["id"], is_live_again, by=by, endpoints=notify)


def _last_judgement(project_id: int) -> str | None:
    """The kind of the last entry of a thread that is a decision, an appeal or its outcome; None without any."""
    others = (MessageKind.MESSAGE, MessageKind.NOTE)
    query = select(Message.kind).where(Message.project_id == project_id, Message.kind.not_in(others))
    return db.session.scalar(query.order_by(Message.id.desc()).limit(1))


def _require_judge(case: Case, by: Caller, self_review: str) -> None:
    """Raise NotFound, OwnSubmission or OwnDecision unless `by` may settle appeals about the project.

    Who made the decision against which one is open may not, unless nobody else may.
    """
    project, review = case.project, case.review
    permissions.require_reviewer(by, project, self_review)
    barred = {by.id, project.owner_id} if permissions.refuses_own(self_review) else {by.id}
    is_own = review is not None and review.turn == Turn.APPEAL and review.decided_by == by.id
    if is_own and permissions.somebody_else_may(barred, "review", project.category_id):
        raise OwnDecision


def _notify(
    case: Case, outcome: str, message_id: int, is_live_again: bool, *, by: Caller, endpoints: list[Endpoint]
) -> None:
    """Send the outcome to the owner, and to webhooks that a project is live again. The owner gets one mail."""
    outbox.enqueue(events.SETTLED[outcome], case.id, by=by, endpoints=endpoints, message_id=message_id)
    if is_live_again:
        webhooks = [endpoint for endpoint in endpoints if endpoint.format != MAIL]
        outbox.enqueue(events.PROJECT_APPROVED, case.id, by=by, endpoints=webhooks)
