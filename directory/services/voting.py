"""The vote: one of a user for a project, toggled, set or cleared, and the counter that equals the rows.

The project's row is locked first, then the vote changes, then the counter by just as much, in one transaction. Any
other order was measured to lose votes, to toggle without effect or to deadlock with a deletion. Before it the voter's
account is held active, so that no vote is counted after a suspension; that lock delays suspensions alone.

On PostgreSQL the function `vote` does that in one round trip instead of six, which doubles the votes a process can
take; on SQLite, where a statement costs no round trip, it is done from here under the write lock. The votes of several
callers that come at once are one transaction (docs/adr/0013).

A vote that an administrator has discounted comes and goes without a change of the counter, and with the suspension of
a user all of the user's votes leave the counters (services/counted_votes.py). On PostgreSQL a trigger does the latter.

A project that another transaction holds locked delays its own votes alone: the others of the batch are counted without
them, a few callers wait for the lock, and while it is held the next ones are refused at once. On SQLite the lock is
that of the whole database, so all votes wait for it.
"""

import logging
import time
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import BigInteger, Engine, bindparam, delete, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from directory.db.errors import is_undone, state_of
from directory.db.locked_rows import LockedRows
from directory.db.statements import Prepared
from directory.db.transactions import on_postgresql, transaction, writing
from directory.errors import DirectoryError, NotFound, NotVotable, Unauthenticated, Unavailable
from directory.extensions import db
from directory.models import AccountStatus, Project, Status, Upvote, User, VoteDiscount, now
from directory.models.base import UtcDateTime
from directory.services.accounts.identity import Caller
from directory.services.catalog.ranking import hot
from directory.services.counted_votes import DISCOUNTED

log = logging.getLogger(__name__)
projects, upvotes, discounts = Project.__table__, Upvote.__table__, VoteDiscount.__table__
P, U, D = projects.c, upvotes.c, discounts.c

# Built once: building a statement costs more than running it.
_AT = bindparam("at", type_=UtcDateTime())
_ONE: tuple[Any, ...] = (
    bindparam("project", type_=BigInteger()),
    bindparam("voter", type_=BigInteger()),
    bindparam("action"),
    _AT,
)
_VOTE = Prepared(text("SELECT * FROM vote(:project, :voter, :action, :at)").bindparams(*_ONE))
_VOTE_SOON = Prepared(text("SELECT * FROM vote_soon(:project, :voter, :action, :at)").bindparams(*_ONE))
_VOTES = Prepared(text("SELECT * FROM votes(:projects, :voters, :actions, :at)").bindparams(_AT))
_VOTES_IF_FREE = Prepared(text("SELECT * FROM votes_if_free(:projects, :voters, :actions, :at)").bindparams(_AT))
_VOTER = select(User.status).where(User.id == bindparam("voter")).scalar_subquery().label("voter_status")
_DISCOUNT = select(D.user_id).where(D.user_id == bindparam("voter"), D.project_id == bindparam("project"))
_IS_DISCOUNTED = _DISCOUNT.exists().label("is_discounted")
_PROJECT = select(P.status, P.owner_id, P.upvotes, P.listed_at, _VOTER, _IS_DISCOUNTED)
_PROJECT = _PROJECT.where(P.id == bindparam("project"))
_REMOVE = delete(upvotes).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_FIND = select(U.user_id).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_ADD = insert(upvotes)
_OF_VOTER = U.user_id == bindparam("voter")
_COUNTED = (_OF_VOTER, ~DISCOUNTED)  # the votes of an active user that count
_COUNTED_FOR = select(P.id, P.upvotes, P.listed_at).join_from(upvotes, projects, P.id == U.project_id).where(*_COUNTED)
# The rank is that of services.catalog.ranking; one vote less than before makes up for the one that it adds.
_COUNT_DOWN = text(
    "UPDATE projects p SET upvotes = p.upvotes - 1, "
    "hot = log(p.upvotes::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8 "
    "FROM upvotes v WHERE v.user_id = :voter AND p.id = v.project_id AND NOT EXISTS ("
    "SELECT FROM vote_discounts d WHERE d.user_id = v.user_id AND d.project_id = v.project_id)"
)
_COUNT = update(projects).where(P.id == bindparam("project")).values(upvotes=bindparam("n"), hot=bindparam("rank"))


class Vote(NamedTuple):
    """A caller's action on the vote for a project: `toggle`, `cast` or `withdraw`."""

    by: Caller
    project_id: int
    action: str


class VoteCall(NamedTuple):
    """A vote to be counted; `entered` is the time.monotonic() at which the caller was admitted."""

    project_id: int
    voter_id: int
    action: str
    entered: float = 0.0


class CountAlone(Exception):
    """A vote was not counted with others, or can be counted again: count it alone, where it holds up no other."""


LOCK_NOT_AVAILABLE, UNDEFINED_FUNCTION = "55P03", "42883"
Outcome = tuple[str, int, bool, int]  # the project's status, its owner, whether it has the vote now, and how many
SUSPENDED: Outcome = (AccountStatus.SUSPENDED.value, 0, False, 0)  # where the voter is not active

_locked_projects: WeakKeyDictionary[Engine, LockedRows] = WeakKeyDictionary()


def count(votes: list[Vote]) -> list[dict[str, Any] | Exception]:
    """Count votes in one transaction, each as if it were alone; for each vote what its caller gets, or its error.

    No vote fails or waits because of another: where the transaction fails, each vote is CountAlone unless the database
    may have counted it already and a second time would change the outcome. One vote is never CountAlone.
    """
    locked, outcomes = _locked(), list[Any]([None]) * len(votes)
    calls: dict[int, VoteCall] = {}
    for place, vote in enumerate(votes):
        try:
            locked.admit(vote.project_id)
        except Unavailable as error:
            outcomes[place] = error
        else:
            calls[place] = VoteCall(vote.project_id, vote.by.id, vote.action, time.monotonic())
    for place, outcome in zip(calls, _count([*calls.values()]), strict=True):
        if isinstance(outcome, Exception):
            outcomes[place] = outcome
            continue
        locked.note_free(votes[place].project_id)
        outcomes[place] = _shown(votes[place], outcome)
    return outcomes


def _count(calls: list[VoteCall]) -> list[Outcome | Exception | None]:
    try:
        if len(calls) > 1:
            return [CountAlone() if isinstance(each, Unavailable) else each for each in _together(calls)]
        return [_alone(call) for call in calls]
    except Exception as error:
        if len(calls) == 1:
            return [error]
        log.info("not counted together", extra={"reason": state_of(error) or type(error).__name__})
        return [CountAlone() if is_undone(error) or call.action != "toggle" else error for call in calls]


def withdraw_all(voter_id: int, *, are_counted: bool) -> None:
    """Take back all votes of a user, and forget which were discounted. `are_counted` is false of a suspended user's.

    It is part of the current transaction, which has locked the account and then the projects. The counters follow by
    one statement on PostgreSQL; on SQLite one for each project costs no round trip.
    """
    voter = {"voter": voter_id}
    if are_counted and on_postgresql():
        db.session.execute(_COUNT_DOWN, voter)
    elif are_counted:
        _count_each(voter_id, -1)
    db.session.execute(delete(upvotes).where(_OF_VOTER), voter)
    db.session.execute(delete(discounts).where(D.user_id == voter_id))


def lock_projects(voter_id: int, *, owned: bool) -> None:
    """Lock the projects that a user has voted for, in the order of their ids, and with `owned` the user's own as well.

    The account is locked before, so that no vote is added. SQLite has one lock for all.
    """
    if not on_postgresql():
        return
    ids: Any = select(U.project_id).where(_OF_VOTER)
    if owned:
        ids = ids.union(select(P.id).where(P.owner_id == voter_id))
    locked = select(P.id).where(P.id.in_(ids)).order_by(P.id).with_for_update(key_share=True).subquery()
    db.session.execute(select(func.count()).select_from(locked), {"voter": voter_id})


def counted_of(voter_id: int) -> int:
    """How many votes of a user count while the user is active: all that are not discounted."""
    return db.session.scalar(select(func.count()).select_from(upvotes).where(*_COUNTED), {"voter": voter_id}) or 0


def follow_status(voter_id: int, status: str) -> None:
    """Add the votes of a user who is active again to the counters, or take those of a suspended one out.

    Discounted votes are in no counter. On PostgreSQL a trigger has done all this already.
    """
    if not on_postgresql():
        _count_each(voter_id, 1 if status == AccountStatus.ACTIVE else -1)


def _count_each(voter_id: int, step: int) -> None:
    """Change the counter of each project with a vote of the user that is not discounted, on SQLite."""
    voted = db.session.execute(_COUNTED_FOR, {"voter": voter_id}).all()
    if voted:
        counts = [{"project": p.id, "n": p.upvotes + step, "rank": hot(p.upvotes + step, p.listed_at)} for p in voted]
        db.session.connection().execute(_COUNT, counts)


def _shown(vote: Vote, outcome: Outcome | None) -> dict[str, Any] | DirectoryError:
    """The answer to the caller for an outcome: the present state of the vote, or a refusal."""
    if outcome is None:
        return NotFound()
    status, owner_id, upvoted, n = outcome
    if status == AccountStatus.SUSPENDED:
        return Unauthenticated()
    if status != Status.LIVE:
        return NotVotable() if vote.by.is_admin or owner_id == vote.by.id else NotFound()
    return {"project_id": vote.project_id, "upvoted": upvoted, "upvotes": n}


def _locked() -> LockedRows:
    """The projects of this database that were found locked."""
    return _locked_projects.setdefault(db.engine, LockedRows())


def _alone(call: VoteCall) -> Outcome | None:
    if not on_postgresql():
        return transaction(lambda: _on_sqlite(call))
    _locked().require_free(call.project_id, call.entered)
    return transaction(lambda: _on_postgresql(call), single=True)


def _on_postgresql(call: VoteCall) -> Outcome | None:
    """Count it; a locked project is waited for by one caller at a time. Raises Unavailable for the others."""
    given = {"project": call.project_id, "voter": call.voter_id, "action": call.action, "at": now()}
    try:
        return _VOTE_SOON.first(given)
    except DBAPIError as error:
        if state_of(error) == UNDEFINED_FUNCTION:  # the database is not upgraded yet
            return _VOTE.first(given)
        if state_of(error) != LOCK_NOT_AVAILABLE:
            raise
    outcome, is_locked = _if_free(call)
    if outcome is not None:
        return outcome
    if not is_locked:
        return _VOTE.first(given)
    with _locked().waiting(call.project_id):
        return _VOTE.first(given)


def _if_free(call: VoteCall) -> tuple[Outcome | None, bool]:
    """Count it if nothing is locked any more; else return whether the project is, rather than its voter or a table."""
    given = {"projects": [call.project_id], "voters": [call.voter_id], "actions": [call.action], "at": now()}
    try:
        rows = _VOTES_IF_FREE.all(given)
    except DBAPIError as error:
        if state_of(error) != LOCK_NOT_AVAILABLE:
            raise
        return None, False
    _, status, owner_id, upvoted, n = rows[0] if rows else (1, None, None, True, None)
    return (None, not upvoted) if status is None else ((status, owner_id, upvoted, n), False)


def _together(calls: list[VoteCall]) -> list[Outcome | Unavailable | None]:
    """Count all, or none and raise; but on PostgreSQL those whose project or voter is locked are left out."""
    if not on_postgresql():
        with writing():
            return [_on_sqlite(call) for call in calls]
    try:
        return _counted(_VOTES, calls)
    except DBAPIError as error:
        if state_of(error) != LOCK_NOT_AVAILABLE:
            raise
        return _counted(_VOTES_IF_FREE, calls)


def _counted(votes: Prepared, calls: list[VoteCall]) -> list[Outcome | Unavailable | None]:
    wanted, voters, actions, _ = zip(*calls, strict=True)
    with writing(single=True):
        rows = votes.all({"projects": wanted, "voters": voters, "actions": actions, "at": now()})
    outcomes: list[Outcome | Unavailable | None] = [None] * len(calls)
    for place, *outcome in rows:
        outcomes[place - 1] = Unavailable() if outcome[0] is None else tuple(outcome)
    return outcomes


def _on_sqlite(call: VoteCall) -> Outcome | None:
    project_id, voter, action, _ = call
    key = {"voter": voter, "project": project_id}
    project = db.session.execute(_PROJECT, key).one_or_none()
    if project is None:
        return None
    if project.voter_status != AccountStatus.ACTIVE:
        return SUSPENDED
    if project.status != Status.LIVE:
        return project.status, project.owner_id, False, project.upvotes
    there = db.session.execute(_FIND, key).one_or_none() is not None
    wanted = action == "cast" or (action == "toggle" and not there)
    n = project.upvotes if project.is_discounted else project.upvotes + wanted - there
    if wanted and not there:
        db.session.execute(_ADD, {"user_id": voter, "project_id": project_id, "created_at": now()})
    elif there and not wanted:
        db.session.execute(_REMOVE, key)
    if n != project.upvotes:
        db.session.execute(_COUNT, {"project": project_id, "n": n, "rank": hot(n, project.listed_at)})
    return project.status, project.owner_id, wanted, n
