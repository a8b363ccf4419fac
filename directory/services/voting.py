"""The vote: one of a user for a project, toggled, set or cleared, and the counter that equals the rows.

The project's row is locked first, then the vote changes, then the counter by just as much, in one transaction. Any
other order was measured to lose votes, to toggle without effect or to deadlock with a deletion.

On PostgreSQL the function `vote` does that in one round trip instead of six, which doubles the votes a process can
take; on SQLite, where a statement costs no round trip, it is done from here under the write lock. The votes of several
callers that come at once are one transaction (docs/adr/0013).
"""

from typing import Any, NamedTuple

from sqlalchemy import BigInteger, bindparam, delete, insert, select, text, update

from directory.db.group_commit import Combined
from directory.db.statements import Prepared
from directory.db.transactions import on_postgresql, transaction, writing
from directory.errors import NotFound, NotVotable
from directory.extensions import db
from directory.models import Project, Status, Upvote, now
from directory.models.base import UtcDateTime
from directory.services.accounts.identity import Caller
from directory.services.catalog.ranking import hot

projects, upvotes = Project.__table__, Upvote.__table__
P, U = projects.c, upvotes.c

# Built once: building a statement costs more than running it.
_AT = bindparam("at", type_=UtcDateTime())
_VOTE = Prepared(
    text("SELECT * FROM vote(:project, :voter, :wish, :at)").bindparams(
        bindparam("project", type_=BigInteger()), bindparam("voter", type_=BigInteger()), bindparam("wish"), _AT
    )
)
_VOTES = Prepared(text("SELECT * FROM votes(:projects, :voters, :wishes, :at)").bindparams(_AT))
_PROJECT = select(P.status, P.owner_id, P.upvotes, P.listed_at).where(P.id == bindparam("project"))
_REMOVE = delete(upvotes).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_FIND = select(U.user_id).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_ADD = insert(upvotes)
_COUNT = update(projects).where(P.id == bindparam("project")).values(upvotes=bindparam("n"), hot=bindparam("rank"))


class Ballot(NamedTuple):
    """Who wants what of a project: to `toggle`, `cast` or `withdraw` a vote."""

    project_id: int
    voter_id: int
    wish: str


Outcome = tuple[str, int, bool, int]  # the project's status, its owner, whether it has the vote now, and how many


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
    outcome = _count(Ballot(project_id, by.id, wish))
    if outcome is None:
        raise NotFound
    status, owner_id, upvoted, n = outcome
    if status != Status.LIVE:
        raise NotVotable if by.is_admin or owner_id == by.id else NotFound
    return {"project_id": project_id, "upvoted": upvoted, "upvotes": n}


def _alone(ballot: Ballot) -> Outcome | None:
    if not on_postgresql():
        return transaction(lambda: _on_sqlite(ballot))
    given = {"project": ballot.project_id, "voter": ballot.voter_id, "wish": ballot.wish, "at": now()}
    return transaction(lambda: _VOTE.first(given), single=True)


def _together(ballots: list[Ballot]) -> list[Outcome | None]:
    if not on_postgresql():
        with writing():
            return [_on_sqlite(ballot) for ballot in ballots]
    wanted, voters, wishes = zip(*ballots, strict=True)
    with writing(single=True):
        rows = _VOTES.all({"projects": wanted, "voters": voters, "wishes": wishes, "at": now()})
    outcomes: list[Outcome | None] = [None] * len(ballots)
    for place, *outcome in rows:
        outcomes[place - 1] = tuple(outcome)
    return outcomes


def _on_sqlite(ballot: Ballot) -> Outcome | None:
    project_id, voter, wish = ballot
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


_count = Combined(_alone, _together, repeatable=lambda ballot: ballot.wish != "toggle")
