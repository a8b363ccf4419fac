"""The numbers of an owner's projects, and their places in the queue."""

from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import bindparam, func, select, tuple_

from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Project, Status
from directory.services.catalog.columns import waiting
from directory.services.catalog.paging import AnySelect

P = Project.__table__.c


def counts(owner_id: int) -> dict[str, int]:
    """The number of an owner's projects in each state, from an index that begins with the owner."""
    counted: dict[str, int] = dict(_counts().all({"owner_id": owner_id}))
    return {status.value: counted.get(status.value, 0) for status in Status}


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


@cache
def _counts() -> Prepared:
    return Prepared(select(P.status, func.count()).where(P.owner_id == bindparam("owner_id")).group_by(P.status))


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
