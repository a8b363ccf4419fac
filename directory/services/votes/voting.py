"""Votes: a user has at most one for a project and toggles, sets or clears it; a project's counter equals its votes.

One transaction locks the voter's account, so that a suspended user's vote is not counted (this delays only
suspensions and account deletions), then the project's row, then changes the vote and the counter. Tests with another
order lost votes, toggled without effect or deadlocked with a deletion. `votes_if_free` skips locked rows, so it may
take the project first.

On PostgreSQL the function `vote` does this in one round trip instead of six, so a process can take twice the votes. On
SQLite a statement costs no round trip, so this module does it, under the write lock. Concurrent votes of several
callers share one transaction (docs/adr/0013).

A vote that an administrator has discounted is not in the counter, whether it is set or cleared. The votes of a
suspended user are removed from the counters; on PostgreSQL by a trigger.

If another transaction has locked a project, only the votes for that project are delayed: the rest of the batch is
counted without them, a few callers wait for the lock, and further ones are refused at once. On SQLite the lock is that
of the whole database, so all votes wait for it.
"""

import logging
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Engine,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import aliased

from directory.db.errors import is_undone, log_failure, state_of
from directory.db.locked_rows import LockedRows
from directory.db.statements import Prepared, Row
from directory.db.transactions import on_postgresql, transaction, writing
from directory.errors import DirectoryError, NotFound, NotVotable, Unauthenticated, Unavailable
from directory.extensions import db
from directory.models import AccountStatus, Project, Status, Upvote, User, VoteDiscount, now
from directory.models.base import UtcDateTime
from directory.services import permissions
from directory.services.accounts import last_uses
from directory.services.catalog.orders import hot
from directory.services.identity import Caller

log = logging.getLogger(__name__)
projects, upvotes, discounts = Project.__table__, Upvote.__table__, VoteDiscount.__table__
P, U, D = projects.c, upvotes.c, discounts.c
_Voter = aliased(User)  # so that a query may join the users too


def is_discounted(vote: Any) -> ColumnElement[bool]:
    """Whether an administrator has discounted a row of `upvotes`, or of an alias of it."""
    return exists().where(VoteDiscount.user_id == vote.user_id, VoteDiscount.project_id == vote.project_id)


def counts(vote: Any) -> ColumnElement[bool]:
    """Whether a row of `upvotes`, or of an alias of it, counts."""
    is_active = exists().where(_Voter.id == vote.user_id, _Voter.status == AccountStatus.ACTIVE)
    return and_(is_active, ~is_discounted(vote))


# Conditions on a row of `upvotes`.
DISCOUNTED: ColumnElement[bool] = is_discounted(Upvote)
COUNTS: ColumnElement[bool] = counts(Upvote)


class _Counting:
    """A statement of PostgreSQL that counts votes, and records the last uses of the callers for whom they are due."""

    def __init__(self, sql: str, *params: Any) -> None:
        self._votes = Prepared(text(sql).bindparams(*params))
        self._with_uses = Prepared(text(last_uses.WITH_USES + sql).bindparams(*params, *last_uses.TIMES))

    def all(self, votes: list["Vote"], values: dict[str, Any]) -> list[Row]:
        """All rows."""
        due = _due(votes)
        return self._with_uses.all(values | last_uses.parameters(due)) if due else self._votes.all(values)

    def first(self, vote: "Vote", values: dict[str, Any]) -> Row | None:
        """The first row, or None."""
        rows = self.all([vote], values)
        return rows[0] if rows else None


# Built once: building a statement costs more than running it.
_AT = bindparam("at", type_=UtcDateTime())
_ONE: tuple[Any, ...] = (
    bindparam("project", type_=BigInteger()),
    bindparam("voter", type_=BigInteger()),
    bindparam("action"),
    _AT,
)
_VOTE = _Counting("SELECT * FROM vote(:project, :voter, :action, :at)", *_ONE)
_VOTE_SOON = _Counting("SELECT * FROM vote_soon(:project, :voter, :action, :at)", *_ONE)
_VOTES = _Counting("SELECT * FROM votes(:projects, :voters, :actions, :at)", _AT)
_VOTES_IF_FREE = _Counting("SELECT * FROM votes_if_free(:projects, :voters, :actions, :at)", _AT)
_VOTER = select(User.status).where(User.id == bindparam("voter")).scalar_subquery().label("voter_status")
_DISCOUNT = select(D.user_id).where(D.user_id == bindparam("voter"), D.project_id == bindparam("project"))
_IS_DISCOUNTED = _DISCOUNT.exists().label("is_discounted")
_PROJECT = select(P.status, P.owner_id, P.upvotes, P.listed_at, _VOTER, _IS_DISCOUNTED)
_PROJECT = _PROJECT.where(P.id == bindparam("project"))
_REMOVE = delete(upvotes).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_FIND = select(U.user_id).where(U.user_id == bindparam("voter"), U.project_id == bindparam("project"))
_ADD = insert(upvotes)
_OF_VOTER = U.user_id == bindparam("voter")
_COUNTED = (_OF_VOTER, ~DISCOUNTED)  # the counted votes of an active user
_COUNTED_FOR = select(P.id, P.upvotes, P.listed_at).join_from(upvotes, projects, P.id == U.project_id).where(*_COUNTED)
# As `orders.hot`: the new count plus 1 is the count before the removal.
_COUNT_DOWN = text(
    "UPDATE projects p SET upvotes = p.upvotes - 1, "
    "hot = log(p.upvotes::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8 "
    "FROM upvotes v WHERE v.user_id = :voter AND p.id = v.project_id AND NOT EXISTS ("
    "SELECT FROM vote_discounts d WHERE d.user_id = v.user_id AND d.project_id = v.project_id)"
)
_COUNT = update(projects).where(P.id == bindparam("project")).values(upvotes=bindparam("n"), hot=bindparam("rank"))


class Vote(NamedTuple):
    """A caller's action on the vote for a project: `toggle`, `cast` or `withdraw`.

    `is_use_due`: the last use of the caller's session or token is to be recorded with the vote.
    """

    by: Caller
    project_id: int
    action: str
    is_use_due: bool = False


def _due(votes: list[Vote]) -> list[Caller]:
    """The callers whose last uses are to be recorded."""
    return [vote.by for vote in votes if vote.is_use_due]


class CountAlone(Exception):
    """A vote of a batch was not counted, or can safely be counted again: count it alone, so that it delays no other."""


LOCK_NOT_AVAILABLE, UNDEFINED_FUNCTION = "55P03", "42883"
Outcome = tuple[str, int, bool, int]  # status of the project or its voter, owner, whether voted, count
SUSPENDED: Outcome = (AccountStatus.SUSPENDED.value, 0, False, 0)  # the voter is not active

_locked_projects: WeakKeyDictionary[Engine, LockedRows] = WeakKeyDictionary()


def count(votes: list[Vote]) -> list[dict[str, Any] | Exception]:
    """Count votes in one transaction, each as if it were alone; return the answer or the error for each.

    A vote left out of a batch is CountAlone. So is each vote of a failed transaction, unless the database may have
    counted it and counting it again would change the outcome. A single vote never is.
    """
    locked, outcomes = _locked(), list[Any]([None]) * len(votes)
    admitted: list[int] = []
    for place, vote in enumerate(votes):
        try:
            locked.admit(vote.project_id)
        except Unavailable as error:
            outcomes[place] = error
        else:
            admitted.append(place)
    counted = _count([votes[place] for place in admitted]) if admitted else []
    for place, outcome in zip(admitted, counted, strict=True):
        if isinstance(outcome, Exception):
            outcomes[place] = outcome
            continue
        locked.note_free(votes[place].project_id)
        outcomes[place] = _shown(votes[place], outcome)
    return outcomes


def _count(votes: list[Vote]) -> list[Outcome | Exception | None]:
    first, *others = votes
    try:
        if others or not on_postgresql():
            return [CountAlone() if isinstance(result, Unavailable) else result for result in _together(votes)]
        return [transaction(lambda: _on_postgresql(first), single=True)]
    except Exception as error:
        if not others:
            return [error]
        log_failure(log, "not counted together", error)
        return [CountAlone() if is_undone(error) or vote.action != "toggle" else error for vote in votes]


def withdraw_all(voter_id: int, *, are_counted: bool) -> None:
    """Delete all votes of a user, and their discounts. `are_counted` is false for a suspended user.

    The current transaction has locked the account and then the projects. PostgreSQL updates the counters in one
    statement, SQLite in one for each project, because there a statement costs no round trip.
    """
    voter = {"voter": voter_id}
    if are_counted and on_postgresql():
        db.session.execute(_COUNT_DOWN, voter)
    elif are_counted:
        _count_each(voter_id, -1)
    db.session.execute(delete(upvotes).where(_OF_VOTER), voter)
    db.session.execute(delete(discounts).where(D.user_id == voter_id))


def lock_projects(*voter_ids: int, owned: bool) -> list[int]:
    """Lock the projects that users have voted for, and with `owned` their own as well, in the order of their ids.

    The calling function has locked the accounts, so that no vote is added. Returns the ids of the projects; none on
    SQLite, which has one lock for the whole database.
    """
    if not on_postgresql():
        return []
    ids: Any = select(U.project_id).where(U.user_id.in_(voter_ids))
    if owned:
        ids = ids.union(select(P.id).where(P.owner_id.in_(voter_ids)))
    locked = select(P.id).where(P.id.in_(ids)).order_by(P.id).with_for_update(key_share=True)
    return list(db.session.scalars(locked))


def counted_of(voter_id: int) -> int:
    """The number of a user's votes that are not discounted; they count while the user is active."""
    return db.session.scalar(select(func.count()).select_from(upvotes).where(*_COUNTED), {"voter": voter_id}) or 0


def follow_status(voter_id: int, status: str) -> None:
    """Add the votes of a restored user to the counters, or subtract those of a suspended user.

    Discounted votes are not in any counter. On PostgreSQL a trigger has already done this.
    """
    if not on_postgresql():
        _count_each(voter_id, 1 if status == AccountStatus.ACTIVE else -1)


def _count_each(voter_id: int, step: int) -> None:
    """Add `step` to the counter of each project that has a vote of the user that is not discounted, on SQLite."""
    voted = db.session.execute(_COUNTED_FOR, {"voter": voter_id}).all()
    if voted:
        counts = [{"project": p.id, "n": p.upvotes + step, "rank": hot(p.upvotes + step, p.listed_at)} for p in voted]
        db.session.connection().execute(_COUNT, counts)


def _shown(vote: Vote, outcome: Outcome | None) -> dict[str, Any] | DirectoryError:
    """The answer for an outcome: the state of the vote, or a refusal."""
    if outcome is None:
        return NotFound()
    status, owner_id, upvoted, n = outcome
    if status == AccountStatus.SUSPENDED:
        return Unauthenticated()
    if status != Status.LIVE:
        return NotVotable() if permissions.owns_or_administers(vote.by, owner_id) else NotFound()
    return {"project_id": vote.project_id, "upvoted": upvoted, "upvotes": n}


def _locked() -> LockedRows:
    """The projects of this database that were found locked."""
    return _locked_projects.get(db.engine) or _locked_projects.setdefault(db.engine, LockedRows())


def _on_postgresql(vote: Vote) -> Outcome | None:
    """Count a vote. One caller at a time waits for a locked project; raises Unavailable for the others."""
    values = {"project": vote.project_id, "voter": vote.by.id, "action": vote.action, "at": now()}
    try:
        return _VOTE_SOON.first(vote, values)
    except DBAPIError as error:
        if state_of(error) == UNDEFINED_FUNCTION:  # the database is not upgraded yet
            return _VOTE.first(vote, values)
        if state_of(error) != LOCK_NOT_AVAILABLE:
            raise
    outcome, is_locked = _if_free(vote)
    if outcome is not None:
        return outcome
    if not is_locked:
        return _VOTE.first(vote, values)
    with _locked().waiting(vote.project_id):
        return _VOTE.first(vote, values)


def _if_free(vote: Vote) -> tuple[Outcome | None, bool]:
    """Count a vote if nothing is locked any more; otherwise return whether the project's row is what is locked."""
    try:
        rows = _VOTES_IF_FREE.all([vote], _given([vote]))
    except DBAPIError as error:
        if state_of(error) != LOCK_NOT_AVAILABLE:
            raise
        return None, False
    # `flag` is `upvoted` or, if the status is null because the vote is not counted, whether the project's row was free.
    _, status, owner_id, flag, n = rows[0] if rows else (1, None, None, True, None)
    return (None, not flag) if status is None else ((status, owner_id, flag, n), False)


def _given(votes: list[Vote]) -> dict[str, Any]:
    """The parameters of a statement for several votes."""
    wanted, voters = [vote.project_id for vote in votes], [vote.by.id for vote in votes]
    return {"projects": wanted, "voters": voters, "actions": [vote.action for vote in votes], "at": now()}


def _together(votes: list[Vote]) -> list[Outcome | Unavailable | None]:
    """Count all votes, or raise and count none. On PostgreSQL, votes whose project or voter is locked are left out."""
    if not on_postgresql():
        with writing():
            if due := _due(votes):
                last_uses.record(due)
            return [_on_sqlite(vote) for vote in votes]
    try:
        return _counted(_VOTES, votes)
    except DBAPIError as error:
        if state_of(error) != LOCK_NOT_AVAILABLE:
            raise
        return _counted(_VOTES_IF_FREE, votes)


def _counted(counting: _Counting, votes: list[Vote]) -> list[Outcome | Unavailable | None]:
    with writing(single=True):
        rows = counting.all(votes, _given(votes))
    outcomes: list[Outcome | Unavailable | None] = [None] * len(votes)
    for place, *outcome in rows:
        outcomes[place - 1] = Unavailable() if outcome[0] is None else tuple(outcome)
    return outcomes


def _on_sqlite(vote: Vote) -> Outcome | None:
    by, project_id, action, _ = vote
    key = {"voter": by.id, "project": project_id}
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
        db.session.execute(_ADD, {"user_id": by.id, "project_id": project_id, "created_at": now()})
    elif there and not wanted:
        db.session.execute(_REMOVE, key)
    if n != project.upvotes:
        db.session.execute(_COUNT, {"project": project_id, "n": n, "rank": hot(n, project.listed_at)})
    return project.status, project.owner_id, wanted, n
