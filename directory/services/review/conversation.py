"""Writing in the thread of a project: by its owner, who may thereby give it back to the reviewers, and by these."""

from datetime import datetime
from typing import Any

from directory import events
from directory.errors import InvalidTransition, NotFound
from directory.models import MessageKind, Sender, now
from directory.services import audit, permissions
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import holding, submissions, thread
from directory.services.review.case import Case, current


def answer(
    project_id: int, text: str, *, by: Caller, notify: list[Endpoint], resubmit: bool = False, naming: bool = False
) -> dict[str, Any]:
    """Add a message of the owner to the thread of a project in any state, and return it as the owner sees it.

    With `resubmit` what waits for its owner, the project or its changes, goes back to the queue. A message alone
    raises no version. `naming` shows the author. Raises Unauthenticated, NotFound for everybody but the owner, and
    InvalidTransition if nothing waits for the owner.
    """
    require_active(by)
    at, project = now(), submissions.locked(project_id)
    permissions.require_owner(by, project)
    if resubmit:
        _resubmit(current(project), by=by, at=at)
    entry = thread.Entry(MessageKind.MESSAGE, project_id, by.id, text)
    added = thread.add(entry, sender=Sender.OWNER, by=by, at=at)
    outbox.enqueue(events.PROJECT_ANSWERED, project_id, by=by, endpoints=notify, message_id=added["id"])
    return thread.for_owner(added, naming=naming)


def give_back(project_id: int, *, by: Caller, notify: list[Endpoint]) -> None:
    """Give what waits for its owner back to the reviewers, without a message; nothing happens if nothing does.

    Raises Unauthenticated, and NotFound for everybody but the owner.
    """
    require_active(by)
    project = submissions.locked(project_id)
    permissions.require_owner(by, project)
    case = current(project)
    if case.waits_for_owner:
        _resubmit(case, by=by, at=now())
        outbox.enqueue(events.PROJECT_ANSWERED, project_id, by=by, endpoints=notify)


def write(project_id: int, text: str, *, by: Caller, notify: list[Endpoint], internal: bool = False) -> dict[str, Any]:
    """Add a message of a reviewer to the thread of a project in any state, or a note if it is `internal`.

    The owner gets a message by mail, and never sees a note. Raises Unauthenticated, and NotFound for a project that
    `by` may not review, and for a note about a project of one's own.
    """
    require_active(by)
    project = submissions.locked(project_id)
    if not permissions.may(by, "review", project.category_id) or (internal and permissions.owns(by, project.owner_id)):
        raise NotFound
    kind = MessageKind.NOTE if internal else MessageKind.MESSAGE
    entry = thread.Entry(kind, project_id, project.owner_id, text)
    added = thread.add(entry, sender=Sender.REVIEWERS, by=by, at=now())
    if not internal and not permissions.owns(by, project.owner_id):
        outbox.enqueue_message(project_id, by=by, endpoints=notify, message_id=added["id"])
    return added


def _resubmit(case: Case, *, by: Caller, at: datetime) -> None:
    """Give back what waits for its owner, and log it. Raises InvalidTransition."""
    project = case.project
    if not case.waits_for_owner:
        raise InvalidTransition(project.status, "given back")
    submissions.give_back(case, by=by, at=at)
    holding.resume(case)
    project.version += 1
    audit.record_project(events.PROJECT_RESUBMITTED, project, by=by, at=at, **audit.unmoved(project))
