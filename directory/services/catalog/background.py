"""Additional data in administrators' lists: the owner's projects by state, submissions of the same URL, warnings."""

from functools import cache
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from directory.db.statements import Prepared, Row
from directory.extensions import db
from directory.models import Project, Status
from directory.services import markdown
from directory.services.catalog.columns import among
from directory.services.catalog.paging import AnySelect
from directory.services.characters import has_lookalikes

LOOKALIKES = "lookalike_title"  # letters of the title look like those of another script
WARNINGS = (LOOKALIKES,)


def add(projects: list[dict[str, Any]]) -> None:
    """Add `owner_stats`, `earlier`, `warnings` and `description_html` to each project, by two statements in all."""
    dialect = db.engine.dialect.name
    stats = {owner: counts for owner, *counts in _rows(_stats(dialect), {each["owner"]["id"] for each in projects})}
    others: dict[int, int] = dict(_rows(_others(dialect), {each["id"] for each in projects}))
    for project in projects:
        counts = stats.get(project["owner"]["id"]) or [0 for _ in Status]  # the projects have just been deleted
        project["owner_stats"] = dict(zip(Status, counts, strict=True))
        project["earlier"] = others.get(project["id"], 0)
        project["warnings"] = [LOOKALIKES] if has_lookalikes(project["title"]) else []
        project["description_html"] = markdown.html(project["description"])


def _rows(query: Prepared, ids: set[int]) -> list[Row]:
    return query.all({"ids": sorted(ids)}) if ids else []


@cache
def _stats(dialect: str) -> Prepared:
    """The number of projects in each state, by owner."""
    counts = (func.count().filter(Project.status == status).label(status) for status in Status)
    owners = among(Project.owner_id, dialect)
    query: AnySelect = select(Project.owner_id, *counts).where(owners).group_by(Project.owner_id)
    return Prepared(query)


@cache
def _others(dialect: str) -> Prepared:
    """The number of other projects with the same URL, by project."""
    other = aliased(Project)
    same = (other.url_key == Project.url_key) & (other.id != Project.id)
    query: AnySelect = select(Project.id, func.count().label("others")).join(other, same)
    return Prepared(query.where(among(Project.id, dialect)).group_by(Project.id))
