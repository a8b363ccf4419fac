"""Claims: a note that a person looks at a project, for the others who review. It stands in the way of no decision.

A claim is for the version of the project, so a decision, and an edit by the owner, end it; an approval that does not
move the state ends it too, and an administrator's edit takes it along (`carry`). A trigger (sql/*/reviewers.sql)
deletes the claims of a person who may no longer review the project. A claim raises no version and is not logged.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, delete, or_, select, update

from directory.db.paging import AnySelect
from directory.db.statements import Prepared, among
from directory.db.transactions import insert_into
from directory.errors import Claimed, InvalidTransition
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import Project, Review, ReviewClaim, Turn, User, now
from directory.services import permissions
from directory.services.catalog import catalog, ways
from directory.services.catalog.filters import Filters
from directory.services.catalog.shapes import PRESENT
from directory.services.clock import timestamp
from directory.services.identity import Caller, require_active

C, P, R, U = (model.__table__.c for model in (ReviewClaim, Project, Review, User))


def _holds(project: Any = P) -> ColumnElement[bool]:
    """Whether a claim holds, by the columns of its project: it is for the present version, and has not expired."""
    return and_(C.project_id == project.id, C.version == project.version, C.until > PRESENT)


def _claimed(*conditions: ColumnElement[bool]) -> AnySelect:
    """The ids of the projects with a claim that holds and meets the conditions."""
    project = Project.__table__.alias("claimed")  # the list itself reads projects, too
    return select(C.project_id).join_from(C.project_id.table, project, _holds(project.c)).where(*conditions)


# The conditions of lists, by the ids of their projects.
CONDITIONS = {
    "claimed_by": lambda project_id: project_id.in_(_claimed(C.user_id == bindparam("claimed_by"))),
    "claimed_by_others": lambda project_id: project_id.in_(_claimed(C.user_id != bindparam("claimed_by_others"))),
    "unclaimed": lambda project_id: project_id.not_in(_claimed()),
}


def take(project_id: int, *, by: Caller, minutes: int, take_over: bool = False) -> dict[str, Any]:
    """Claim a project that waits for review or on an appeal, or renew the claim of `by`, and return it.

    Raises Unauthenticated, NotFound, InvalidTransition (it does not wait), and Claimed by somebody else unless
    `take_over`.
    """
    require_active(by)
    query = select(P.version, P.status, P.category_id).where(P.id == project_id).with_for_update(read=True)
    project = permissions.require_reviewer(by, db.session.execute(query).one_or_none())
    # In a separate statement: a join would read the case as it was before the wait for the lock.
    case = select(R.id).where(R.project_id == project_id, R.turn.in_([Turn.REVIEWERS, Turn.RULE, Turn.APPEAL]))
    if db.session.scalar(case) is None:
        raise InvalidTransition(project.status, "claimed")
    at = now()
    values = {"user_id": by.id, "version": project.version, "until": at + timedelta(minutes=minutes)}
    adding = insert_into(ReviewClaim).values(project_id=project_id, **values)
    is_free = None if take_over else or_(C.user_id == by.id, C.until <= at, C.version != project.version)
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


def end_each(project_ids: Sequence[int], _by: Caller | None) -> None:
    """End the claims on projects."""
    modify(delete(ReviewClaim).where(C.project_id.in_(project_ids)))


def carry(project_ids: Sequence[int], by: Caller | None) -> None:
    """Have claims hold for the version that an administrator's edit has just made, if their holders may review it."""
    if not permissions.may(by, "administer"):
        return
    claimed = C.project_id.in_(project_ids)
    for holder in permissions.reviewers(User.id.in_(select(C.user_id).where(claimed))):
        before = select(P.id).where(P.id == C.project_id, P.version == C.version + 1)
        is_in_reach = before.where(permissions.within(P.category_id, holder)).exists()
        modify(update(ReviewClaim).where(claimed, C.user_id == holder.id, is_in_reach).values(version=C.version + 1))


def mine(by: Caller) -> int:
    """How many projects `by` has claimed, by one statement."""
    return ways.total(Filters(added={"claimed_by": by.id}, categories=permissions.categories(by)))


def of_each(project_ids: Collection[int], at: datetime | None = None) -> dict[int, dict[str, Any]]:
    """The claims on projects that hold now, or at an instant, by the ids of the projects, by one statement."""
    values = {"ids": sorted(project_ids), PRESENT.key: at or now()}
    rows = _held(db.engine.dialect.name).all(values) if project_ids else []
    return {
        project_id: {"user": {"id": user_id, "username": username}, "until": until}
        for project_id, user_id, username, until in rows
    }


@cache
def _held(dialect: str) -> Prepared:
    query: AnySelect = select(C.project_id, C.user_id, U.username, C.until)
    query = query.join_from(C.user_id.table, P.id.table, _holds()).join(U.id.table, U.id == C.user_id)
    return Prepared(query.where(among(C.project_id, dialect)))
