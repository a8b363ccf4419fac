"""Which projects somebody has claimed, to review them: the condition of lists, and of `services.review.claims`."""

from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, select

from directory.db.paging import AnySelect
from directory.models import Project, ReviewClaim
from directory.models.base import UtcDateTime

C = ReviewClaim.__table__.c
AT: Any = bindparam("claims_at", type_=UtcDateTime())  # the present instant


def holds(project: Any) -> ColumnElement[bool]:
    """Whether a claim holds, by the columns of its project: it is for the present version, and has not expired."""
    return and_(C.version == project.version, C.until > AT)


def claimed(*conditions: ColumnElement[bool]) -> AnySelect:
    """The ids of the projects with a claim that holds and meets the conditions."""
    project = Project.__table__.alias("claimed")  # the list itself reads projects, too
    query: AnySelect = select(C.project_id).join_from(C.project_id.table, project, project.c.id == C.project_id)
    return query.where(holds(project.c), *conditions)
