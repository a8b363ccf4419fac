"""Data that some lists add to their projects: places in the queue, and for administrators the background of each."""

from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import bindparam, func, select, tuple_
from sqlalchemy.orm import aliased

from directory.db.statements import Prepared, Row
from directory.extensions import db
from directory.models import Project, Status
from directory.services import markdown
from directory.services.catalog.columns import among, waiting
from directory.services.catalog.paging import AnySelect
from directory.services.characters import has_lookalikes

P = Project.__table__.c
LOOKALIKES = "lookalike_title"  # letters of the title look like those of another script
WARNINGS = (LOOKALIKES,)


def add_background(projects: list[dict[str, Any]]) -> None:
    """Add `owner_stats`, `earlier`, `warnings` and `description_html` to each project, by two statements in all."""
    stats = counts({each["owner"]["id"] for each in projects})
    others: dict[int, int] = dict(_rows(_others(db.engine.dialect.name), {each["id"] for each in projects}))
    for project, html in zip(projects, markdown.several([each["description"] for each in projects]), strict=True):
        project["owner_stats"] = stats[project["owner"]["id"]]
        project["earlier"] = others.get(project["id"], 0)
        project["warnings"] = [LOOKALIKES] if has_lookalikes(project["title"]) else []
        project["description_html"] = html


def counts(owner_ids: set[int]) -> dict[int, dict[str, int]]:
    """The number of projects in each state, by owner, from an index that begins with the owner."""
    found = {owner: numbers for owner, *numbers in _rows(_counts(db.engine.dialect.name), owner_ids)}
    return {owner: dict(zip(Status, found.get(owner) or [0 for _ in Status], strict=True)) for owner in owner_ids}


def add_queue_positions(items: list[dict[str, Any]]) -> None:
    """Add to each project of a page its place in the queue (None if it does not wait), by at most one statement."""
    waits = [(since, item["id"]) for item in items if (since := _waits_since(item)) is not None]
    positions: dict[int, int] = {}
    if waits:
        last_at, last_id = max(waits)
        given = {"ids": [project_id for _, project_id in waits], "last_at": last_at, "last_id": last_id}
        positions = dict(db.session.execute(_positions(db.engine.dialect.name), given).all())
    for item in items:
        item["queue_position"] = positions.get(item["id"])


def _waits_since(item: dict[str, Any]) -> datetime | None:
    """The time since which a project or its revision waits for review; None if neither does."""
    if item["status"] == Status.PENDING:
        return item["submitted_at"]  # type: ignore[no-any-return]
    return item["revision"] and item["revision"]["submitted_at"]  # type: ignore[no-any-return]


def _rows(query: Prepared, ids: set[int]) -> list[Row]:
    return query.all({"ids": sorted(ids)}) if ids else []


@cache
def _counts(dialect: str) -> Prepared:
    numbers = (func.count().filter(P.status == status).label(status) for status in Status)
    query: AnySelect = select(P.owner_id, *numbers).where(among(P.owner_id, dialect)).group_by(P.owner_id)
    return Prepared(query)


@cache
def _others(dialect: str) -> Prepared:
    """The number of other projects with the same URL, by project."""
    other = aliased(Project)
    same = (other.url_key == Project.url_key) & (other.id != Project.id)
    query: AnySelect = select(Project.id, func.count().label("others")).join(other, same)
    return Prepared(query.where(among(Project.id, dialect)).group_by(Project.id))


@cache
def _positions(dialect: str) -> AnySelect:
    """The places of some projects, by one scan of the queue up to the last of them."""
    waits = waiting(dialect).c
    order = (waits.submitted_at, waits.id)
    last = tuple_(bindparam("last_at", type_=P.submitted_at.type), bindparam("last_id", type_=P.id.type))
    place = func.row_number().over(order_by=order).label("place")
    queue = select(waits.id, place).where(tuple_(*order) <= last).subquery("queue")
    query: AnySelect = select(queue.c.id, queue.c.place)
    return query.where(queue.c.id.in_(bindparam("ids", expanding=True)))
