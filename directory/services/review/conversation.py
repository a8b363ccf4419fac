"""Writing in the thread of a project, by its owner, who may thereby also give it back to the reviewers."""

from typing import Any

from sqlalchemy import select

from directory.errors import InvalidTransition, NotFound
from directory.extensions import db
from directory.models import MessageKind, Project, Sender, now
from directory.services import audit
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import submissions, thread

ANSWERED = "project.answered"


def answer(
    project_id: int, text: str, *, by: Caller, notify: list[Endpoint], resubmit: bool = False, naming: bool = False
) -> dict[str, Any]:
    """Add a message of the owner to the thread of a project in any state, and return it as the owner sees it.

    With `resubmit` a project that waits for its owner goes back to the queue. A message alone raises no version.
    `naming` shows the author. Raises Unauthenticated, NotFound for everybody but the owner, and InvalidTransition if
    nothing waits for the owner.
    """
    require_active(by)
    at, project = now(), _locked_own(project_id, by)
    if resubmit:
        _resubmit(project, by=by)
    entry = thread.Entry(MessageKind.MESSAGE, project_id, by.id, text)
    added = thread.add(entry, sender=Sender.OWNER, by=by, at=at)
    outbox.enqueue(ANSWERED, project_id, by=by, endpoints=notify)
    return thread.for_owner(added, naming=naming)


def _locked_own(project_id: int, by: Caller) -> Project:
    query = select(Project).where(Project.id == project_id, Project.owner_id == by.id).with_for_update(key_share=True)
    project = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if project is None:
        raise NotFound
    return project


def _resubmit(project: Project, *, by: Caller) -> None:
    if project.owner_since is None:
        raise InvalidTransition(project.status, "given back")
    project.version += 1
    submissions.give_back(project, now())
    db.session.flush()
    states = {"from_state": project.status, "to_state": project.status}
    audit.record_project("project.resubmitted", project, by=by, **states)
