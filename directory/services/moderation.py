"""The review: approve, reject and unpublish a project, and bulk decisions, which can also delete.

Pending projects and revisions of live projects wait for review. A decision locks the project and acts on the state
that it then has. So if two administrators make the same decision at once, only the first is logged and sent to
webhooks.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update

from directory.errors import Duplicate, InvalidTransition, NotFound, PreconditionFailed
from directory.extensions import db, modify
from directory.models import Project, Revision, Status, now
from directory.services import audit, revisions, submissions
from directory.services.accounts.identity import Caller, require_active
from directory.services.catalog import counters
from directory.services.catalog.ranking import hot
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint

PAST = {"approve": "approved", "reject": "rejected", "unpublish": "unpublished"}
# States of a live project with a revision: its changes are pending, or were rejected.
WAITING, REFUSED = "changes_waiting", "changes_refused"
MOVES: dict[str, dict[str, Status]] = {
    "approve": {Status.PENDING: Status.LIVE},
    "reject": {Status.PENDING: Status.REJECTED},
    "unpublish": dict.fromkeys((Status.LIVE, WAITING, REFUSED), Status.PENDING),
}
# The states of a project for which the decision was already made.
ALREADY: dict[str, set[str]] = {"approve": {Status.LIVE}, "reject": {Status.REJECTED, REFUSED}}


@dataclass(frozen=True, slots=True)
class _Case:
    """A locked project and its revision."""

    project: Any
    revision: Revision | None

    @property
    def state(self) -> str:
        """The project's state, or that of its revision."""
        if self.revision is None:
            return str(self.project.status)
        return REFUSED if self.revision.submitted_at is None else WAITING


def decide(
    project_id: int,
    decision: str,
    *,
    by: Caller | None,
    notify: list[Endpoint],
    reason: str | None = None,
    versions: Container[int] | None = None,
) -> None:
    """Approve or reject a pending project or revision, or unpublish a live project, and queue the notification.

    Approving or rejecting twice changes nothing, not even the reason. An unpublished project goes to the end of the
    queue and keeps its votes and the time of its first publication. The reason is logged; the owner and webhooks get it
    too, except for an approval. `versions` are the versions that the decision is about; None means any. They are not
    checked if the decision was already made.
    Raises Unauthenticated, NotFound, PreconditionFailed, InvalidTransition (the project is in another state), and
    Duplicate if the owner has another project with the URL that would be approved.
    """
    if by is not None:
        require_active(by)
    cases = _locked([project_id])
    if not cases:
        raise NotFound
    _decide(cases[0], decision, versions, by=by, notify=notify, reason=reason)


def decide_many(
    decision: str, wanted: Mapping[int, int | None], *, by: Caller, notify: list[Endpoint], reason: str | None = None
) -> dict[int, str | None]:
    """Approve, reject, unpublish or delete each of the projects.

    `wanted` maps each id to the version that the decision is about, or None for any. The result maps each id to None if
    the decision is made, otherwise to the code of the refusal: not_found, precondition_failed, invalid_transition or
    duplicate.
    Projects are locked in the order of their ids, and then the counters that they share, so that two batches cannot
    deadlock. Raises Unauthenticated.
    """
    require_active(by)
    cases = _locked(wanted)
    _lock_counters(cases, decision)
    refusals: dict[int, str | None] = dict.fromkeys(wanted, NotFound.code)
    for case in sorted(cases, key=lambda case: (case.project.category_id, case.project.id)):
        version = wanted[case.project.id]
        try:
            _decide(case, decision, None if version is None else (version,), by=by, notify=notify, reason=reason)
            refusals[case.project.id] = None
        except (InvalidTransition, PreconditionFailed, Duplicate) as error:
            refusals[case.project.id] = error.code
    return refusals


def _locked(project_ids: Iterable[int]) -> list[_Case]:
    """The projects that exist, locked in the order of their ids, with their revisions."""
    columns = (Project.id, Project.url_key, Project.title, Project.category_id, Project.status, Project.version)
    query = select(*columns, Project.submitted_at, Project.upvotes, Project.published_at)
    query = query.where(Project.id.in_(list(project_ids))).order_by(Project.id)
    projects = list(db.session.execute(query.with_for_update(key_share=True)))
    live = [project.id for project in projects if project.status == Status.LIVE]
    # In a separate statement: a join would read the revision as it was before the wait for the lock.
    held = revisions.of_each(live) if live else {}
    return [_Case(project, held.get(project.id)) for project in projects]


def _lock_counters(cases: list[_Case], decision: str) -> None:
    """Lock the counters that the decisions change, including those of the categories and tags in revisions."""
    held = [revisions.changes_of(case.revision) for case in cases] if decision == "approve" else []
    slugs = [changes["category"] for changes in held if "category" in changes]
    tags = [tag for changes in held for tag in changes.get("tags", ())]
    ids = [case.project.id for case in cases]
    counters.lock(ids, deleting=decision == "delete", slugs=slugs, tags=tags)


def _decide(
    case: _Case,
    decision: str,
    versions: Container[int] | None,
    *,
    by: Caller | None,
    notify: list[Endpoint],
    reason: str | None,
) -> None:
    """Apply a decision, unless it was already made.

    Raises PreconditionFailed, InvalidTransition, and Duplicate if the changes can no longer be applied.
    """
    project_id = case.project.id
    # A caller whose answer was lost may retry, as RFC 9110 section 13.1.1 allows.
    if case.state in ALREADY.get(decision, ()):
        return
    if versions is not None and case.project.version not in versions:
        raise PreconditionFailed
    if decision == "delete":
        assert by is not None  # noqa: S101 (the command line deletes nothing)
        submissions.delete(project_id, by=by, notify=notify, reason=reason)
    elif case.revision is not None and case.state == WAITING and decision in {"approve", "reject"}:
        settle = revisions.approve if decision == "approve" else revisions.reject
        settle(project_id, case.revision, by=by, notify=notify, reason=reason)
    elif case.state in MOVES[decision]:
        _move(case.project, decision, MOVES[decision][case.state], by=by, notify=notify, reason=reason)
    else:
        raise InvalidTransition(case.project.status, PAST[decision])


def _move(
    project: Any, decision: str, target: Status, *, by: Caller | None, notify: list[Endpoint], reason: str | None
) -> None:
    """Move a locked project to another state. A trigger deletes the revision of a project that is no longer live."""
    at = now()
    values: dict[str, Any] = {"status": target, "updated_at": at, "version": Project.version + 1}
    values["rejection_reason"] = None if target is Status.LIVE else reason
    if target is Status.LIVE:
        values["published_at"] = project.published_at or at
        values["hot"] = hot(project.upvotes, values["published_at"])
    elif target is Status.PENDING:
        values["submitted_at"] = at
    moving = update(Project).where(Project.id == project.id, Project.status == project.status).values(values)
    modify(moving)
    audit.record_project(
        f"project.{PAST[decision]}",
        project,
        by=by,
        at=at,
        from_state=project.status,
        to_state=target,
        reason=reason,
        waited_seconds=None if decision == "unpublish" else (at - project.submitted_at).total_seconds(),
    )
    shown = None if target is Status.LIVE else reason
    outbox.enqueue(f"project.{PAST[decision]}", project.id, by=by, endpoints=notify, reason=shown)
