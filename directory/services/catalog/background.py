"""The facts beside a project in administrators' lists: its owner's record, submissions of the same URL, warnings."""

from functools import cache
from typing import Any

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import aliased

from directory.extensions import db
from directory.models import Project, Status
from directory.services import markdown
from directory.services.catalog.paging import AnySelect
from directory.services.characters import has_lookalikes

LOOKALIKES = "lookalike_title"  # letters of the title look like those of another script
WARNINGS = (LOOKALIKES,)


def add(projects: list[dict[str, Any]]) -> None:
    """Add `owner_stats`, `earlier`, `warnings` and `description_html` to each project, by two statements in all."""
    stats = {row.owner_id: row for row in _rows(_stats(), {project["owner"]["id"] for project in projects})}
    others = {row.id: row.others for row in _rows(_others(), {project["id"] for project in projects})}
    for project in projects:
        row = stats.get(project["owner"]["id"])  # None where the owner's projects are deleted meanwhile
        project["owner_stats"] = {status: getattr(row, status, 0) for status in Status}
        project["earlier"] = others.get(project["id"], 0)
        project["warnings"] = [LOOKALIKES] if has_lookalikes(project["title"]) else []
        project["description_html"] = markdown.html(project["description"])


def _rows(query: AnySelect, ids: set[int]) -> list[Any]:
    return list(db.session.execute(query, {"ids": sorted(ids)})) if ids else []


@cache
def _stats() -> AnySelect:
    """How many projects in each state each of the owners has."""
    counts = (func.count().filter(Project.status == status).label(status) for status in Status)
    return select(Project.owner_id, *counts).where(Project.owner_id.in_(_ids())).group_by(Project.owner_id)


@cache
def _others() -> AnySelect:
    """How many other projects there are with the URL of each of the projects."""
    other = aliased(Project)
    same = (other.url_key == Project.url_key) & (other.id != Project.id)
    query = select(Project.id, func.count().label("others")).join(other, same)
    return query.where(Project.id.in_(_ids())).group_by(Project.id)


def _ids() -> Any:
    return bindparam("ids", expanding=True)
