"""Claims: a note that a person looks at a project, for the others who review. It stands in the way of no decision.

A claim is for the version of the project, so a decision, and an edit by the owner, end it. An administrator's edit
takes it along (`carry`), and an approval that does not move the state ends it (`end`). A trigger (sql/*/reviewers.sql)
deletes the claims of a person who may no longer review the project. A claim raises no version and is not logged.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import delete, false, or_, select, true, update
from sqlalchemy.dialects import postgresql, sqlite

from directory.db.paging import AnySelect
from directory.db.statements import Prepared, among
from directory.db.transactions import on_postgresql
from directory.errors import Claimed, InvalidTransition
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import Project, Review, ReviewClaim, Turn, User, now
from directory.services import permissions
from directory.services.catalog import catalog, ways
from directory.services.catalog.claimed import C, holds
from directory.services.catalog.filters import Filters
from directory.services.clock import database_clock, timestamp
from directory.services.identity import Caller, require_active

P, R = Project.__table__.c, Review.__table__.c


def take(project_id: int, *, by: Caller, minutes: int, take_over: bool = False) -> dict[str, Any]:
    """Claim a project that waits for review or on an appeal, or renew the claim of `by`, and return it.

    Raises Unauthenticated, NotFound, InvalidTransition (it does not wait), and Claimed by somebody else unless
    `take_over`.
    """
    require_active(by)
    columns = select(P.version, P.status, P.category_id).where(P.id == project_id)
    query = columns.with_for_update(read=True)
    project = permissions.require_reviewer(by, db.session.execute(query).one_or_none())
    # In a separate statement: a join would read the case as it was before the wait for the lock.
    case = select(R.id).where(R.project_id == project_id, R.turn.in_([Turn.REVIEWERS, Turn.RULE, Turn.APPEAL]))
    if db.session.scalar(case) is None:
        raise InvalidTransition(project.status, "claimed")
    at = now()
    values = {"user_id": by.id, "version": project.version, "until": at + timedelta(minutes=minutes)}
    adding = (postgresql if on_postgresql() else sqlite).insert(ReviewClaim).values(project_id=project_id, **values)
    is_free = or_(C.user_id == by.id, C.until <= at, C.version != project.version, true() if take_over else false())
    adding = adding.on_conflict_do_update(index_elements=["project_id"], set_=values, where=is_free)
    if db.session.scalar(adding.returning(C.project_id), execution_options=UNSYNCHRONISED) is None:
        held = of_each([project_id], at)[project_id]
        raise Claimed(claim={**held, "until": timestamp(held["until"])})
    return {"user": {"id": by.id, "username": by.username}, "until": values["until"]}


def release(project_id: int, *, by: Caller) -> None:
    """End one's own claim, if there is one. Raises Unauthenticated, NotFound (there is no such project)."""
    require_active(by)
    permissions.require_reviewer(by, catalog.whose(project_id))
    modify(delete(ReviewClaim).where(C.project_id == project_id, C.user_id == by.id))


def end(project_ids: Collection[int]) -> None:
    """End the claims on projects, which the calling function has locked."""
    modify(delete(ReviewClaim).where(C.project_id.in_(project_ids)))


def carry(project: Project, *, moved: bool) -> None:
    """Have the claim on a locked project, whose version an administrator's edit has just raised, hold for that too.

    If the edit has `moved` it to another category, the claim ends unless its holder may review that.
    """
    one = (C.project_id == project.id, C.version == project.version - 1)
    if moved:
        holders = permissions.reviewers(User.id.in_(select(C.user_id).where(*one)))
        if not any(permissions.may(person, "review", project.category_id) for person in holders):
            return
    modify(update(ReviewClaim).where(*one).values(version=project.version))


def mine(by: Caller) -> int:
    """How many projects `by` has claimed, by one statement."""
    return ways.total(Filters(claimed_by=by.id, categories=permissions.categories(by)))


def of_each(project_ids: Collection[int], at: datetime | None = None) -> dict[int, dict[str, Any]]:
    """The claims on projects that hold now, or at an instant, by the ids of the projects, by one statement."""
    given = {"ids": sorted(project_ids), "claims_at": at or now()}
    rows = _held(db.engine.dialect.name).all(given) if project_ids else []
    return {
        project_id: {"user": {"id": user_id, "username": username}, "until": until}
        for project_id, user_id, username, until in rows
    }


def add(projects: list[dict[str, Any]], *, are_on: bool = True) -> None:
    """Add `claim` to projects in answers to reviewers: who looks at each and until when, or None."""
    found = of_each([each["id"] for each in projects]) if are_on else {}
    for project in projects:
        project["claim"] = found.get(project["id"])


@cache
def _held(dialect: str) -> Prepared:
    users = User.__table__.c
    query: AnySelect = select(C.project_id, C.user_id, users.username, C.until)
    query = query.join_from(C.user_id.table, P.id.table, P.id == C.project_id)
    return Prepared(query.join(users.id.table, users.id == C.user_id).where(among(C.project_id, dialect), holds(P)))


def purge(most: int) -> int:
    """Delete at most `most` claims that have expired, and return how many."""
    expired = select(C.project_id).where(C.until <= database_clock()).limit(most).with_for_update(skip_locked=True)
    ids = list(db.session.scalars(expired))
    return modify(delete(ReviewClaim).where(C.project_id.in_(ids))) if ids else 0
