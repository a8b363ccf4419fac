"""The review: approve, reject, unpublish, and decisions about many projects at once, deletion among them.

A decision is a conditional UPDATE: of two administrators who decide at once, its WHERE lets one through, and the
audit entry and the outbox rows go with that one alone.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from sqlalchemy import func, literal, select, update

from directory.errors import InvalidTransition, NotFound, PreconditionFailed
from directory.extensions import UNSYNCHRONISED, db
from directory.models import Project, Status, now
from directory.models.base import UtcDateTime
from directory.services import audit, submissions
from directory.services.accounts.identity import Caller, require_active
from directory.services.catalog import counters
from directory.services.catalog.ranking import hot
from directory.services.webhooks import outbox
from directory.services.webhooks.outbox import Endpoint

PAST = {"approve": "approved", "reject": "rejected", "unpublish": "unpublished"}
MOVES = {
    "approve": (Status.PENDING, Status.LIVE),
    "reject": (Status.PENDING, Status.REJECTED),
    "unpublish": (Status.LIVE, Status.PENDING),
}


def decide(
    project_id: int,
    decision: str,
    *,
    by: Caller | None,
    notify: list[Endpoint],
    reason: str | None = None,
    versions: Container[int] | None = None,
) -> None:
    """Approve or reject a pending project, or unpublish a live one, and queue the notification with it.

    The same decision again changes nothing, its reason included; but what is not live cannot be unpublished. An
    unpublished project goes to the end of the queue and keeps its votes and its first publication. The reason goes into
    the audit log; the owner and the outside see it unless the project is approved. `versions` are those that the
    decision is about, None any; a decision that holds already needs none of them.
    Raises Unauthenticated, NotFound, PreconditionFailed, InvalidTransition (the project is in another state).
    """
    if by is not None:
        require_active(by)
    if versions is not None:
        _require_version(next(iter(_locked([project_id])), None), versions, decision)
    _carry_out(project_id, decision, by=by, notify=notify, reason=reason)


def decide_many(
    decision: str, wanted: Mapping[int, int | None], *, by: Caller, notify: list[Endpoint], reason: str | None = None
) -> dict[int, str | None]:
    """Approve, reject, unpublish or delete each of the projects.

    `wanted` has for each id the version that the decision is about, None for any. The result has for each id None where
    the decision holds now, else the code of the refusal: not_found, precondition_failed or invalid_transition.
    Projects are locked in the order of their ids, and then the counters that they share, so that two such batches
    never wait for each other in a ring. Raises Unauthenticated.
    """
    require_active(by)
    found = _locked(wanted)
    counters.lock([project.id for project in found], deleting=decision == "delete")
    refusals: dict[int, str | None] = dict.fromkeys(wanted, NotFound.code)
    for project in sorted(found, key=lambda row: (row.category_id, row.id)):
        version = wanted[project.id]
        try:
            if version is not None:
                _require_version(project, (version,), decision)
            _carry_out(project.id, decision, by=by, notify=notify, reason=reason)
            refusals[project.id] = None
        except (InvalidTransition, PreconditionFailed) as error:
            refusals[project.id] = error.code
    return refusals


def _locked(project_ids: Iterable[int]) -> list[Any]:
    """The state, the version and the category of each of the projects that is there, locked in the order of the ids."""
    columns = (Project.id, Project.category_id, Project.status, Project.version)
    query = select(*columns).where(Project.id.in_(list(project_ids))).order_by(Project.id)
    return list(db.session.execute(query.with_for_update(key_share=True)))


def _require_version(project: Any, versions: Container[int], decision: str) -> None:
    """Raise NotFound, or PreconditionFailed unless the project is of one of the versions or the decision holds already.

    The last lets a caller whose answer was lost ask again, as RFC 9110 section 13.1.1 allows.
    """
    if project is None:
        raise NotFound
    if project.version not in versions and not _holds(decision, project.status):
        raise PreconditionFailed


def _holds(decision: str, status: str) -> bool:
    """Whether a project of this state needs no such decision. To unpublish what is pending is a conflict instead."""
    return decision in {"approve", "reject"} and status == MOVES[decision][1]


def _carry_out(
    project_id: int, decision: str, *, by: Caller | None, notify: list[Endpoint], reason: str | None
) -> None:
    if decision == "delete":
        assert by is not None  # noqa: S101 (the command line deletes nothing)
        submissions.delete(project_id, by=by, notify=notify, reason=reason)
        return
    source, target = MOVES[decision]
    at = now()
    moved = _move(project_id, source, target, at, reason)
    if moved is None:
        _require_decided(project_id, decision)
        return
    audit.record_project(
        f"project.{PAST[decision]}",
        moved,
        by=by,
        at=at,
        from_state=source,
        to_state=target,
        reason=reason,
        waited_seconds=None if decision == "unpublish" else (at - moved.submitted_at).total_seconds(),
    )
    told = None if target is Status.LIVE else reason
    outbox.enqueue(f"project.{PAST[decision]}", project_id, by=by, endpoints=notify, reason=told)


def _move(project_id: int, source: Status, target: Status, at: Any, reason: str | None) -> Any:
    """The row moved, or None where it was not in the source state (or is not there)."""
    values: dict[str, Any] = {"status": target, "updated_at": at, "version": Project.version + 1}
    values["rejection_reason"] = None if target is Status.LIVE else reason
    if target is Status.LIVE:
        values["hot"] = _rank(project_id, at)
        values["published_at"] = func.coalesce(Project.published_at, literal(at, UtcDateTime()))
    elif target is Status.PENDING:
        values["submitted_at"] = at
    told = (Project.id, Project.url_key, Project.title)
    returned = (*told, Project.submitted_at)
    moving = update(Project).where(Project.id == project_id, Project.status == source).values(values)
    return db.session.execute(moving.returning(*returned), execution_options=UNSYNCHRONISED).one_or_none()


def _rank(project_id: int, at: Any) -> float:
    """The rank of a project that goes live at an instant, unless it was live before. It is locked from here on.

    With a second UPDATE after the first one PostgreSQL would check the foreign key of the row that this transaction
    wrote, and wait for an owner whose account is being deleted or suspended, while that waits for the project.
    """
    columns = select(Project.upvotes, Project.published_at).where(Project.id == project_id)
    found = db.session.execute(columns.with_for_update(key_share=True)).one_or_none()
    return 0.0 if found is None else hot(found.upvotes, found.published_at or at)


def _require_decided(project_id: int, decision: str) -> None:
    """Raise NotFound, or InvalidTransition unless the decision holds already."""
    status = db.session.scalar(select(Project.status).where(Project.id == project_id))
    if status is None:
        raise NotFound
    if not _holds(decision, status):
        raise InvalidTransition(status, PAST[decision])
