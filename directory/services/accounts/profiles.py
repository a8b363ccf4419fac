"""An account as everybody sees it."""

from functools import cache
from typing import Any

from sqlalchemy import and_, bindparam, func, literal, select

from directory.db.statements import Prepared
from directory.errors import NotFound
from directory.models import Project, User

U, P = User.__table__.c, Project.__table__.c


def public(username: str) -> dict[str, Any]:
    """An active account with its live projects and their votes counted. Raises NotFound."""
    row = _public().first({"username": username})
    if row is None:
        raise NotFound
    name, created_at, projects, upvotes = row
    return {"username": name, "created_at": created_at, "live_projects": projects, "upvotes_received": int(upvotes)}


@cache
def _public() -> Prepared:
    live = and_(P.owner_id == U.id, P.status == literal("live"))
    query = select(U.username, U.created_at, func.count(P.id), func.coalesce(func.sum(P.upvotes), 0))
    query = query.select_from(User.__table__.outerjoin(Project.__table__, live))
    query = query.where(U.username == bindparam("username"), U.status == literal("active"))
    return Prepared(query.group_by(U.id, U.username, U.created_at))
