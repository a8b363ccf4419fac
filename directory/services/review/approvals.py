"""Approvals by several people, where `APPROVALS_REQUIRED` asks for more than one.

An approval is for the version of the project that was approved, and counts while the project has that version. So
whatever raises the version voids it: an edit, a rejection, an unpublishing, and the approval that moves the state. A
trigger (sql/*/reviewers.sql) deletes the approvals of a person who may no longer review the project.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import delete, func, literal, select, tuple_

from directory import events
from directory.db.paging import AnySelect
from directory.db.statements import Prepared, among
from directory.db.transactions import insert_into
from directory.errors import NotFound
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.language.messages import _
from directory.models import Approval, Category, Project, ReviewClaim, User
from directory.models.base import UtcDateTime
from directory.services import audit, permissions
from directory.services.clock import database_clock
from directory.services.identity import Caller, require_active

A, P = Approval.__table__.c, Project.__table__.c


def enough(project_ids: Collection[int], required: int) -> set[int]:
    """Those of the locked projects whose version that many people have approved.

    The approvals are locked, so that the decision waits for the demotion or suspension of one of these people.
    """
    counting = select(A.project_id).join(P.id.table, (P.id == A.project_id) & (P.version == A.version))
    counting = counting.where(A.project_id.in_(project_ids)).order_by(A.project_id, A.user_id)
    numbers = Counter(db.session.scalars(counting.with_for_update(read=True, of=A.user_id.table)))
    return {project_id for project_id, number in numbers.items() if number >= required}


def give(project_ids: Collection[int], *, by: Caller, at: datetime) -> set[int]:
    """Approve the present versions of the projects, and return the ids of those that `by` had not approved before.

    The calling function has locked the account of `by` (identity.require_active) and the projects.
    """
    facts = (literal(by.id).label("user_id"), P.version, literal(at, UtcDateTime()).label("at"))
    approved = select(P.id, *facts).where(P.id.in_(project_ids))
    adding: Any = insert_into(Approval)
    adding = adding.from_select(["project_id", "user_id", "version", "at"], approved)
    new = {"version": adding.excluded.version, "at": adding.excluded.at}
    adding = adding.on_conflict_do_update(
        index_elements=["project_id", "user_id"], set_=new, where=A.version != adding.excluded.version
    )
    return set(db.session.scalars(adding.returning(A.project_id), execution_options=UNSYNCHRONISED))


def record(projects: Iterable[Any], *, by: Caller, at: datetime, reason: str | None) -> None:
    """Log approvals that did not move the state. A project is an object with its id, url_key, title and status."""
    states = [(project, audit.unmoved(project)) for project in projects]
    audit.record_each(states, by=by, action=events.PROJECT_APPROVAL_GIVEN, at=at, reason=reason)


def take_back(project_ids: Collection[int], *, by: Caller) -> set[int]:
    """Delete the approvals of `by` that count, and return the ids of their projects. These are locked."""
    versions = select(P.version).where(P.id == A.project_id).scalar_subquery()
    own = (A.user_id == by.id, A.project_id.in_(project_ids), A.version == versions)
    gone = delete(Approval).where(*own).returning(A.project_id)
    return set(db.session.scalars(gone, execution_options=UNSYNCHRONISED))


def withdraw(project_id: int, *, by: Caller) -> None:
    """Take back one's own approval of a project that still waits.

    Raises Unauthenticated, NotFound (also without an approval).
    """
    require_active(by)
    columns = select(P.id, P.url_key, P.title, P.status, P.category_id).where(P.id == project_id)
    project = db.session.execute(columns.with_for_update(key_share=True)).one_or_none()
    permissions.require_reviewer(by, project)
    if not take_back([project_id], by=by):
        raise NotFound(_("You have not approved this version of the project."))
    audit.record_project(events.PROJECT_APPROVAL_WITHDRAWN, project, by=by, **audit.unmoved(project))


def add(projects: list[dict[str, Any]], required: int) -> None:
    """Add `approvals` to projects in answers to reviewers, by at most one statement.

    It is None where one person is enough or nothing waits, else the number `required` and who has approved.
    """
    waiting = {project["id"] for project in projects if required > 1 and project["standing"].can_be_approved}
    by_project: dict[int, list[dict[str, Any]]] = {project_id: [] for project_id in waiting}
    rows = _given(db.engine.dialect.name).all({"ids": sorted(waiting)}) if waiting else []
    for project_id, user_id, username, at in rows:
        by_project[project_id].append({"user": {"id": user_id, "username": username}, "at": at})
    for project in projects:
        approvals = by_project.get(project["id"])
        project["approvals"] = None if approvals is None else {"required": required, "given": approvals}


@cache
def _given(dialect: str) -> Prepared:
    """The approvals that count of some projects, in the order in which they were given."""
    users = User.__table__.c
    query: AnySelect = select(A.project_id, A.user_id, users.username, A.at)
    query = query.join_from(A.user_id.table, P.id.table, (P.id == A.project_id) & (P.version == A.version))
    query = query.join(users.id.table, users.id == A.user_id).where(among(A.project_id, dialect))
    return Prepared(query.order_by(A.project_id, A.at, A.user_id))


def short_of_people(required: int, among_categories: Container[int] | None = None) -> list[dict[str, str]]:
    """The categories that fewer people may review than are required: of these ones, or of all.

    Two statements, and none where one person is enough: there is always an administrator.
    """
    if required == 1:
        return []
    people = permissions.reviewers()
    categories = db.session.execute(select(Category.id, Category.slug, Category.name).order_by(Category.slug))
    return [
        {"slug": slug, "name": name}
        for category_id, slug, name in categories
        if (among_categories is None or category_id in among_categories)
        and sum(permissions.may(person, "review", category_id) for person in people) < required
    ]


def pending(required: int) -> AnySelect:
    """The number of projects and revisions that some people have approved, and not enough."""
    counted = select(A.project_id).join_from(A.user_id.table, P.id.table, P.id == A.project_id)
    counted = counted.where(A.version == P.version).group_by(A.project_id).having(func.count() < required)
    return select(func.count()).select_from(counted.subquery("pending"))


def purge(most: int) -> int:
    """Delete at most `most` approvals of earlier versions, and return the number.

    A version only rises, so an approval that is renewed meanwhile is not deleted.
    """
    versions = select(P.version).where(P.id == A.project_id).scalar_subquery()
    void = select(A.project_id, A.user_id).where(A.version < versions).limit(most)
    keys = [tuple(row) for row in db.session.execute(void.with_for_update(skip_locked=True))]
    return modify(delete(Approval).where(tuple_(A.project_id, A.user_id).in_(keys))) if keys else 0


def purge_claims(most: int) -> int:
    """Delete at most `most` claims that have expired, and return the number."""
    project_id = ReviewClaim.project_id
    expired = select(project_id).where(ReviewClaim.until <= database_clock()).limit(most)
    ids = list(db.session.scalars(expired.with_for_update(skip_locked=True)))
    return modify(delete(ReviewClaim).where(project_id.in_(ids))) if ids else 0
