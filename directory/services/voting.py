"""The vote: one of a user for a project, toggled, set or cleared, and the counter that equals the rows.

The project's row is locked first, then the vote changes, then the counter by just as much, in one transaction. Any
other order was measured to lose votes, to toggle without effect or to deadlock with a deletion.
"""

from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from directory.errors import NotFound, NotVotable
from directory.extensions import db
from directory.models import Project, Status, Upvote, now
from directory.services.identity import Caller
from directory.services.ranking import hot

projects, upvotes = Project.__table__, Upvote.__table__
P, U = projects.c, upvotes.c

# Built once: building a statement costs more than running it.
_LOCK = (
    select(P.id, P.status, P.owner_id, P.upvotes, P.listed_at)
    .where(P.id == bindparam("project"))
    .with_for_update(key_share=True)
)
_MINE = (U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_FIND = select(U.user_id).where(*_MINE)
_REMOVE = delete(upvotes).where(*_MINE)
_ADD = insert(upvotes)
_COUNT = update(projects).where(P.id == bindparam("project")).values(upvotes=bindparam("n"), hot=bindparam("rank"))


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
    there = db.session.execute(_FIND, {"voter": by.id, "project": project_id}).one_or_none() is not None
    if not there:
        _add(project_id, by)
    return _counted(project, upvoted=True, change=0 if there else 1)


def withdraw(project_id: int, *, by: Caller) -> dict[str, Any]:
    """Have no vote of the caller there, whether or not one was. Raises NotFound, NotVotable."""
    project = _locked(project_id, by)
    return _counted(project, upvoted=False, change=-_remove(project_id, by))


def _locked(project_id: int, by: Caller) -> Any:
    project = db.session.execute(_LOCK, {"project": project_id}).one_or_none()
    if project is None:
        raise NotFound
    if project.status != Status.LIVE:
        raise NotVotable if by.is_admin or project.owner_id == by.id else NotFound
    return project


def _remove(project_id: int, by: Caller) -> int:
    result: Any = db.session.execute(_REMOVE, {"voter": by.id, "project": project_id})
    return int(result.rowcount)


def _add(project_id: int, by: Caller) -> None:
    db.session.execute(_ADD, {"user_id": by.id, "project_id": project_id, "created_at": now()})


def _counted(project: Any, *, upvoted: bool, change: int) -> dict[str, Any]:
    n = project.upvotes + change
    if change:
        db.session.execute(_COUNT, {"project": project.id, "n": n, "rank": hot(n, project.listed_at)})
    return {"project_id": project.id, "upvoted": upvoted, "upvotes": n}
