"""Holds: what a rule keeps out of the queue, for LONGEST, until it is decided or released.

A project and its revision have the column `held_until` for it. A decision, a first approval and a request for changes
end a hold too. What is held is pending as before, may be claimed, and keeps its place in the queue.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update

from directory import events
from directory.extensions import UNSYNCHRONISED, db
from directory.models import Project, Revision, now
from directory.services import audit, permissions
from directory.services.identity import Caller, require_active

LONGEST = timedelta(days=14)
TABLES: tuple[tuple[Any, Any], ...] = ((Project, Project.id), (Revision, Revision.project_id))


def hold(project: Project, revision: Revision | None, *, at: datetime) -> None:
    """Hold a pending project, or the waiting revision of a live one. Another edit does not make a hold longer.

    The calling function has locked the project, and has flushed what it wrote.
    """
    held = project if revision is None else revision
    held.held_until = held.held_until or at + LONGEST
    db.session.flush()


def end(project_ids: Collection[int], *, by_now: datetime | None = None) -> set[int]:
    """End the holds of locked projects and of their revisions, or those that end by now, and return their ids."""
    ended = set[int]()
    for table, key in TABLES if project_ids else ():
        is_held = table.held_until.is_not(None) if by_now is None else table.held_until <= by_now
        ending = update(table).where(key.in_(project_ids), is_held).values(held_until=None).returning(key)
        ended |= set(db.session.scalars(ending, execution_options=UNSYNCHRONISED))
    return ended


def release(project_id: int, *, by: Caller, self_review: str = "allow") -> None:
    """Put a project, or its changes, into the queue, at its place there; nothing happens to what is not held.

    It raises no version. Raises Unauthenticated, NotFound, and with `self_review` "refuse" OwnSubmission.
    """
    require_active(by)
    columns = select(Project.owner_id, Project.category_id).where(Project.id == project_id)
    project = db.session.execute(columns.with_for_update(key_share=True)).one_or_none()
    permissions.require_reviewer(by, project, self_review)
    _record(end({project_id}), by=by, at=now())


def release_due(most: int) -> int:
    """Release at most `most` of what was held for LONGEST, and return the number. Nobody has done it."""
    at, due = now(), set[int]()
    for table, key in TABLES:
        found = select(key).where(table.held_until <= at).order_by(table.held_until).limit(most)
        due |= set(db.session.scalars(found))
    ids = sorted(due)[:most]
    locking = select(Project.id).where(Project.id.in_(ids)).order_by(Project.id).with_for_update(key_share=True)
    _record(end(list(db.session.scalars(locking)), by_now=at), by=None, at=at)
    return len(ids)


def _record(project_ids: Collection[int], *, by: Caller | None, at: datetime) -> None:
    """Log the release of locked projects."""
    columns = select(Project.id, Project.url_key, Project.title, Project.status).order_by(Project.id)
    released = db.session.execute(columns.where(Project.id.in_(project_ids))) if project_ids else ()
    states = [(row, audit.unmoved(row)) for row in released]
    audit.record_each(states, by=by, action=events.PROJECT_RELEASED, at=at)
