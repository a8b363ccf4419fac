"""The vote: one of a user for a project, toggled, set or cleared, and the counter that equals the rows.

The project's row is locked first, then the vote changes, then the counter by just as much, in one transaction. Any
other order was measured to lose votes, to toggle without effect or to deadlock with a deletion.
"""

from typing import Any

from sqlalchemy import delete, insert, select, update

from directory.errors import NotFound, NotVotable
from directory.extensions import UNSYNCHRONISED, db
from directory.models import Project, Status, Upvote, now
from directory.services.identity import Caller
from directory.services.ranking import hot


def toggle(project_id: int, *, by: Caller) -> dict[str, Any]:
    """Add the caller's vote, or take it back. Raises NotFound, NotVotable."""
    project = _locked(project_id, by)
    removed = _remove(project_id, by)
    if not removed:
        _add(project_id, by)
    return _counted(project, upvoted=not removed, change=-1 if removed else 1)


def cast(project_id: int, *, by: Caller) -> dict[str, Any]:
    """Have the caller's vote there, whether or not it was. Raises NotFound, NotVotable."""
    project = _locked(project_id, by)
    key = {"user_id": by.id, "project_id": project_id}
    there = db.session.get(Upvote, key) is not None
    if not there:
        _add(project_id, by)
    return _counted(project, upvoted=True, change=0 if there else 1)


def withdraw(project_id: int, *, by: Caller) -> dict[str, Any]:
    """Have no vote of the caller there, whether or not one was. Raises NotFound, NotVotable."""
    project = _locked(project_id, by)
    return _counted(project, upvoted=False, change=-_remove(project_id, by))


def _locked(project_id: int, by: Caller) -> Any:
    columns = select(Project.id, Project.status, Project.owner_id, Project.upvotes, Project.listed_at)
    query = columns.where(Project.id == project_id).with_for_update(key_share=True)
    project = db.session.execute(query).one_or_none()
    if project is None:
        raise NotFound
    if project.status != Status.LIVE:
        raise NotVotable if by.is_admin or project.owner_id == by.id else NotFound
    return project


def _remove(project_id: int, by: Caller) -> int:
    gone = delete(Upvote).where(Upvote.user_id == by.id, Upvote.project_id == project_id)
    return int(db.session.execute(gone, execution_options=UNSYNCHRONISED).rowcount)  # type: ignore[attr-defined]


def _add(project_id: int, by: Caller) -> None:
    db.session.execute(insert(Upvote).values(user_id=by.id, project_id=project_id, created_at=now()))


def _counted(project: Any, *, upvoted: bool, change: int) -> dict[str, Any]:
    upvotes = project.upvotes + change
    if change:
        counters = {"upvotes": upvotes, "hot": hot(upvotes, project.listed_at)}
        counted = update(Project).where(Project.id == project.id).values(counters)
        db.session.execute(counted, execution_options=UNSYNCHRONISED)
    return {"project_id": project.id, "upvoted": upvoted, "upvotes": upvotes}
