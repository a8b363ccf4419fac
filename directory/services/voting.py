"""The vote: one of a user for a project, toggled, set or cleared, and the counter that equals the rows.

The project's row is locked first, then the vote changes, then the counter by just as much, in one transaction. Any
other order was measured to lose votes, to toggle without effect or to deadlock with a deletion.

On PostgreSQL the function `vote` does that in one round trip instead of six, which doubles the votes a process can
take; on SQLite, where a statement costs no round trip, it is done from here under the write lock.
"""

from typing import Any

from sqlalchemy import BigInteger, String, bindparam, delete, insert, select, text, update

from directory.database import on_postgresql
from directory.errors import NotFound, NotVotable
from directory.extensions import db
from directory.models import Project, Status, Upvote, now
from directory.models.base import UtcDateTime
from directory.prepared import Prepared
from directory.services.identity import Caller
from directory.services.ranking import hot

projects, upvotes = Project.__table__, Upvote.__table__
P, U = projects.c, upvotes.c

# Built once: building a statement costs more than running it.
_VOTE = Prepared(
    text("SELECT * FROM vote(:project, :voter, :wish, :at)").bindparams(
        bindparam("project", type_=BigInteger()),
        bindparam("voter", type_=BigInteger()),
        bindparam("wish", type_=String()),
        bindparam("at", type_=UtcDateTime()),
    )
)
_PROJECT = select(P.status, P.owner_id, P.upvotes, P.listed_at).where(P.id == bindparam("project"))
_REMOVE = delete(upvotes).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_FIND = select(U.user_id).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_ADD = insert(upvotes)
_COUNT = update(projects).where(P.id == bindparam("project")).values(upvotes=bindparam("n"), hot=bindparam("rank"))


def toggle(project_id: int, *, by: Caller) -> dict[str, Any]:
    """Add the caller's vote, or take it back. Raises NotFound, NotVotable."""
    return _vote(project_id, by, "toggle")


def cast(project_id: int, *, by: Caller) -> dict[str, Any]:
    """Have the caller's vote there, whether or not it was. Raises NotFound, NotVotable."""
    return _vote(project_id, by, "cast")


def withdraw(project_id: int, *, by: Caller) -> dict[str, Any]:
    """Have no vote of the caller there, whether or not one was. Raises NotFound, NotVotable."""
    return _vote(project_id, by, "withdraw")


def _vote(project_id: int, by: Caller, wish: str) -> dict[str, Any]:
    outcome = (_on_postgresql if on_postgresql() else _on_sqlite)(project_id, by.id, wish)
    if outcome is None:
        raise NotFound
    status, owner_id, upvoted, n = outcome
    if status != Status.LIVE:
        raise NotVotable if by.is_admin or owner_id == by.id else NotFound
    return {"project_id": project_id, "upvoted": upvoted, "upvotes": n}


def _on_postgresql(project_id: int, voter: int, wish: str) -> Any:
    given = {"project": project_id, "voter": voter, "wish": wish, "at": now()}
    return _VOTE.first(given)


def _on_sqlite(project_id: int, voter: int, wish: str) -> tuple[str, int, bool, int] | None:
    project = db.session.execute(_PROJECT, {"project": project_id}).one_or_none()
    if project is None or project.status != Status.LIVE:
        return None if project is None else (project.status, project.owner_id, False, project.upvotes)
    key = {"voter": voter, "project": project_id}
    there = db.session.execute(_FIND, key).one_or_none() is not None
    wanted = wish == "cast" or (wish == "toggle" and not there)
    n = project.upvotes + wanted - there
    if wanted and not there:
        db.session.execute(_ADD, {"user_id": voter, "project_id": project_id, "created_at": now()})
    elif there and not wanted:
        db.session.execute(_REMOVE, key)
    if n != project.upvotes:
        db.session.execute(_COUNT, {"project": project_id, "n": n, "rank": hot(n, project.listed_at)})
    return project.status, project.owner_id, wanted, n
