"""The outbox as operators see it: its deliveries with their attempts, and sending one again."""

from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import CursorResult, func, or_, select, update

from directory.errors import NotFound
from directory.extensions import UNSYNCHRONISED, db
from directory.models import Delivery, DeliveryAttempt, DeliveryState, now
from directory.services.catalog.paging import Slice, Sort, Window, as_dict, fetch
from directory.services.delivery.schedule import at_once

NEWEST = Sort("newest", (Delivery.id,), descending=True)
COLUMNS = (
    Delivery.id,
    Delivery.webhook_id,
    Delivery.event,
    Delivery.endpoint,
    Delivery.project_id,
    Delivery.payload,
    Delivery.state,
    Delivery.created_at,
    Delivery.next_attempt_at,
    Delivery.settled_at,
)


def listed(window: Window, **filters: Any) -> Slice:
    """A slice of the deliveries, newest first, by any of state, endpoint, event and project_id.

    Their attempts take one statement more.
    """
    query = select(*COLUMNS)
    for name, value in filters.items():
        query = query.where(getattr(Delivery, name) == value)
    found = fetch(query, NEWEST, window)
    found.items = _with_attempts([as_dict(row) for row in found.items])
    return found


def one(delivery_id: int) -> dict[str, Any]:
    """A delivery with its attempts. Raises NotFound."""
    row = db.session.execute(select(*COLUMNS).where(Delivery.id == delivery_id)).one_or_none()
    if row is None:
        raise NotFound
    return _with_attempts([as_dict(row)])[0]


def redeliver(delivery_id: int) -> dict[str, Any]:
    """Make a delivery due at once, whatever became of it, with a whole schedule before it. Raises NotFound.

    A try that is under way loses its claim, so that its outcome cannot overwrite this decision.
    """
    _make_due(Delivery.id == delivery_id)
    return one(delivery_id)


def redeliver_all(*, dead_only: bool = False, since: datetime | None = None) -> int:
    """The same for all deliveries that meet the conditions: dead, made since a time, or both. Returns how many.

    A delivery that a deliverer is sending right now is left to it.
    """
    which: list[Any] = [or_(Delivery.leased_until.is_(None), Delivery.leased_until <= at_once())]
    if dead_only:
        which.append(Delivery.state == DeliveryState.DEAD)
    if since is not None:
        which.append(Delivery.created_at >= since)
    return _make_due(*which)


def _make_due(*which: Any) -> int:
    due = {
        "state": DeliveryState.PENDING,
        "attempts": 0,
        "next_attempt_at": at_once(),
        "leased_until": None,
        "lease_token": None,
        "settled_at": None,
    }
    changing = update(Delivery).where(*which).values(due)
    result: CursorResult[Any] = db.session.execute(changing, execution_options=UNSYNCHRONISED)  # type: ignore[assignment]
    return result.rowcount


def oldest_undelivered_age() -> float | None:
    """Seconds since the oldest undelivered notification was made; None where all have left or are dead."""
    oldest = select(Delivery.created_at).where(Delivery.state == DeliveryState.PENDING)
    made = db.session.scalar(oldest.order_by(Delivery.id).limit(1))
    return None if made is None else max(0.0, (now() - made).total_seconds())


def counts() -> dict[str, int]:
    """How many deliveries are delivered, dead and pending; `retrying` are those of the pending that failed before."""
    by_state = select(Delivery.state, func.count()).group_by(Delivery.state)
    found = dict.fromkeys((*map(str, DeliveryState), "retrying"), 0)
    for state, number in db.session.execute(by_state):
        found[state] = number
    retrying = select(func.count()).where(Delivery.state == DeliveryState.PENDING, Delivery.attempts > 0)
    found["retrying"] = db.session.scalar(retrying) or 0
    return found


def _with_attempts(deliveries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    attempts: dict[int, list[DeliveryAttempt]] = {delivery["id"]: [] for delivery in deliveries}
    query = select(DeliveryAttempt).where(DeliveryAttempt.delivery_id.in_(attempts)).order_by(DeliveryAttempt.id)
    for attempt in db.session.scalars(query):
        attempts[attempt.delivery_id].append(attempt)
    for delivery in deliveries:
        delivery["attempts"] = attempts[delivery["id"]]
        delivery["payload"] = orjson.loads(delivery["payload"])
        settled_at, state = delivery.pop("settled_at"), delivery["state"]
        delivery["delivered_at"] = settled_at if state == DeliveryState.DELIVERED else None
        if state != DeliveryState.PENDING:
            delivery["next_attempt_at"] = None
    return deliveries
