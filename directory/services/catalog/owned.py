"""What an owner asks of their own projects beside the list of them: how many there are, and where in the queue."""

from functools import cache
from typing import Any

from sqlalchemy import bindparam, func, select, tuple_

from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Project, Status
from directory.services.catalog.paging import AnySelect

P = Project.__table__.c


def counts(owner_id: int) -> dict[str, int]:
    """How many projects of an owner are in each state, from an index that begins with the owner."""
    counted: dict[str, int] = dict(_counts().all({"owner_id": owner_id}))
    return {status.value: counted.get(status.value, 0) for status in Status}


def add_queue_positions(items: list[dict[str, Any]]) -> None:
    """Give each project of a page its place in the queue, None where it is not pending, by one statement at most."""
    pending = [item for item in items if item["status"] == Status.PENDING]
    positions: dict[int, int] = {}
    if pending:
        last = max(pending, key=lambda item: (item["submitted_at"], item["id"]))
        given = {"ids": [item["id"] for item in pending], "last_at": last["submitted_at"], "last_id": last["id"]}
        positions = dict(db.session.execute(_positions(), given).all())
    for item in items:
        item["queue_position"] = positions.get(item["id"])


@cache
def _counts() -> Prepared:
    return Prepared(select(P.status, func.count()).where(P.owner_id == bindparam("owner_id")).group_by(P.status))


@cache
def _positions() -> AnySelect:
    """The places of some projects, by one walk through the queue to the last of them."""
    order = (P.submitted_at, P.id)
    last = tuple_(bindparam("last_at", type_=P.submitted_at.type), bindparam("last_id", type_=P.id.type))
    place = func.row_number().over(order_by=order).label("place")
    queue = select(P.id, place).where(P.status == Status.PENDING, tuple_(*order) <= last).subquery("queue")
    query: AnySelect = select(queue.c.id, queue.c.place)
    return query.where(queue.c.id.in_(bindparam("ids", expanding=True)))
