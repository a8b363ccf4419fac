"""The review: approve, reject, unpublish, and decisions about many projects at once.

A decision is a conditional UPDATE: of two administrators who decide at once, its WHERE lets one through, and the
audit entry and the outbox rows go with that one alone.
"""

from collections.abc import Container
from typing import Any

from sqlalchemy import func, literal, select, update

from directory.errors import InvalidTransition, NotFound, PreconditionFailed
from directory.extensions import UNSYNCHRONISED, db
from directory.models import Project, Status, now
from directory.models.base import UtcDateTime
from directory.services import audit
from directory.services.accounts.identity import Caller
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
    the audit log; the owner and the outside are told it unless the project is approved. `versions` are those that the
    decision is about, None any.
    Raises NotFound, PreconditionFailed, InvalidTransition (the project is in another state).
    """
    if versions is not None:
        _require_version(project_id, versions)
    source, target = MOVES[decision]
    at = now()
    moved = _move(project_id, source, target, at, reason)
    if moved is None:
        _require_decided(project_id, decision, target)
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
    if target is Status.LIVE:
        _rank(moved)
    told = None if target is Status.LIVE else reason
    outbox.enqueue(f"project.{PAST[decision]}", project_id, by=by, endpoints=notify, reason=told)


def decide_many(
    decision: str, ids: list[int], *, by: Caller, notify: list[Endpoint], reason: str | None = None
) -> dict[int, str | None]:
    """Approve or reject each of the projects; by id None where it holds now, else the code of the refusal.

    Projects are locked in the order of their ids, and then the counters that they share, so that two such batches never
    wait for each other in a ring.
    """
    locked = select(Project.id, Project.category_id).where(Project.id.in_(ids)).order_by(Project.id)
    found = list(db.session.execute(locked.with_for_update(key_share=True)))
    counters.lock([project.id for project in found])
    refusals: dict[int, str | None] = dict.fromkeys(ids, NotFound.code)
    for project in sorted(found, key=lambda row: (row.category_id, row.id)):
        try:
            decide(project.id, decision, by=by, notify=notify, reason=reason)
            refusals[project.id] = None
        except InvalidTransition as error:
            refusals[project.id] = error.code
    return refusals


def _require_version(project_id: int, versions: Container[int]) -> None:
    """Lock the project. Raises NotFound, PreconditionFailed."""
    current = select(Project.version).where(Project.id == project_id).with_for_update(key_share=True)
    version = db.session.scalar(current)
    if version is None:
        raise NotFound
    if version not in versions:
        raise PreconditionFailed


def _move(project_id: int, source: Status, target: Status, at: Any, reason: str | None) -> Any:
    """The row moved, or None where it was not in the source state (or is not there)."""
    values: dict[str, Any] = {"status": target, "updated_at": at, "version": Project.version + 1}
    if target is Status.LIVE:
        values["published_at"] = func.coalesce(Project.published_at, literal(at, UtcDateTime()))
    elif target is Status.PENDING:
        values["submitted_at"] = at
    else:
        values["rejection_reason"] = reason
    returned = (Project.id, Project.url_key, Project.upvotes, Project.submitted_at, Project.published_at)
    moving = update(Project).where(Project.id == project_id, Project.status == source).values(values)
    return db.session.execute(moving.returning(*returned), execution_options=UNSYNCHRONISED).one_or_none()


def _rank(project: Any) -> None:
    rank = hot(project.upvotes, project.published_at)
    ranked = update(Project).where(Project.id == project.id).values(hot=rank)
    db.session.execute(ranked, execution_options=UNSYNCHRONISED)


def _require_decided(project_id: int, decision: str, target: Status) -> None:
    """The same decision again is fine; any other state is not. Unpublishing has no such repetition."""
    status = db.session.scalar(select(Project.status).where(Project.id == project_id))
    if status is None:
        raise NotFound
    if status != target or decision == "unpublish":
        raise InvalidTransition(status, PAST[decision])
