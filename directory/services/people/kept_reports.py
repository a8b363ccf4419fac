"""What the service has of a member's reports, and of those of anonymous callers: export, erasure, and their end."""

from datetime import timedelta
from typing import Any

from sqlalchemy import and_, case, delete, select

from directory.db.paging import AnySelect, as_dict
from directory.extensions import db, modify
from directory.models import Project, Report, Status
from directory.services.clock import database_clock
from directory.services.deleting import delete_some, require_minority
from directory.services.identity import Caller

# What an anonymous caller has reported is kept for so long after it was settled.
KEPT_DAYS = 90


def exported(by: Caller, most: int | None) -> tuple[list[dict[str, Any]], bool]:
    """The caller's reports, newest first, at most so many; and whether these are all."""
    rows = db.session.execute(of_member(by).order_by(Report.id.desc()).limit(most and most + 1)).all()
    return [as_dict(row) for row in rows[:most]], most is None or len(rows) <= most


def of_member(by: Caller) -> AnySelect:
    """The reports of a member. Of a project that is not live they have the last title that was public."""
    is_live = Project.status == Status.LIVE
    title = case((is_live, Project.title), else_=Report.project_title).label("title")
    columns = (Report.project_id, Report.kind, Report.text, Report.created_at)
    settlement = (Report.outcome, Report.reply, Report.settled_at)
    query = select(*columns, title, case((is_live, Project.slug)).label("slug"), *settlement)
    return query.outerjoin(Project, Project.id == Report.project_id).where(Report.reporter_id == by.id)


def reported_by(user_id: int) -> AnySelect:
    """The query for the ids of the projects that a member has reported."""
    return select(Report.project_id).where(Report.reporter_id == user_id)


def forget(user_id: int) -> None:
    """Delete the reports of a member. The calling function has locked the projects of `reported_by`."""
    modify(delete(Report).where(Report.reporter_id == user_id))


def purge(most: int, *, guarded: bool = True) -> int:
    """Delete at most `most` settled reports of anonymous callers that are old, and return the number.

    Raises MostWouldGo.
    """
    ended = and_(Report.reporter_id.is_(None), Report.settled_at < database_clock() - timedelta(days=KEPT_DAYS))
    if guarded:
        require_minority(Report, ended)
    return delete_some(Report, ended, most)
