"""The outbox as operators see it: its deliveries by endpoint and with their attempts, sending one again, and tests."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import func, literal, or_, select, update

from directory import events
from directory.db.paging import Slice, Sort, Window, as_dict, fetch
from directory.errors import DeliveryEmptied, NotFound
from directory.extensions import db, modify
from directory.models import Delivery, DeliveryAttempt, DeliveryState
from directory.services import audit
from directory.services.clock import at_once, database_clock
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.delivery.leases import free
from directory.services.delivery.outbox import rows_of_test
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.identity import Caller

# Not as `outbox.empty` has left it: that has no time after the type.
WHOLE = Delivery.payload.not_like(literal('{"type":"') + Delivery.event + literal('","data":%'))
NEWEST = Sort((Delivery.id,), descending=True)
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
    page = fetch(query, NEWEST, window)
    page.items = _with_attempts([as_dict(row) for row in page.items])
    return page


def one(delivery_id: int) -> dict[str, Any]:
    """A delivery with its attempts. Raises NotFound."""
    row = db.session.execute(select(*COLUMNS).where(Delivery.id == delivery_id)).one_or_none()
    if row is None:
        raise NotFound
    return _with_attempts([as_dict(row)])[0]


def redeliver(delivery_id: int, *, by: Caller | None) -> dict[str, Any]:
    """Make a delivery due at once, whatever became of it, with a whole schedule before it.

    A try that is under way loses its lease, so that its outcome cannot overwrite this decision. Raises NotFound, and
    DeliveryEmptied if it was sent, and its project is gone.
    """
    if not _make_due(Delivery.id == delivery_id, WHOLE):
        one(delivery_id)
        raise DeliveryEmptied
    delivery = one(delivery_id)
    changes = {name: {"from": None, "to": str(delivery[name])} for name in ("id", "event", "endpoint")}
    audit.record(events.WEBHOOK_REDELIVERED, by=by, project_id=delivery["project_id"], changes=changes)
    return delivery


def redeliver_all(
    *, states: Collection[DeliveryState] = (), since: datetime | None = None, endpoint: str | None = None
) -> int:
    """The same for all deliveries that meet the conditions, by a command: in one of the states, made since a time.

    Returns how many. A delivery that a deliverer is sending right now is left to it. Mail that was sent is left out
    unless `endpoint` names it: people recognise no repetition by an id, as receivers do.
    """
    which: list[Any] = [free(database_clock(), DeliveryPolicy()), WHOLE]
    if endpoint is None:
        which.append(or_(Delivery.endpoint != MAIL, Delivery.state != DeliveryState.DELIVERED))
    else:
        which.append(Delivery.endpoint == endpoint)
    if states:
        which.append(Delivery.state.in_(states))
    if since is not None:
        which.append(Delivery.created_at >= since)
    number = _make_due(*which)
    if number:
        audit.record(events.WEBHOOK_REDELIVERED, by=None, changes={"deliveries": {"from": None, "to": str(number)}})
    return number


def _make_due(*which: Any) -> int:
    due = {
        "state": DeliveryState.PENDING,
        "attempts": 0,
        "next_attempt_at": at_once(),
        "leased_until": None,
        "lease_token": None,
        "settled_at": None,
    }
    return modify(update(Delivery).where(*which).values(due))


def counts() -> dict[str, int]:
    """How many deliveries are in each state."""
    result = db.session.execute(select(Delivery.state, func.count()).group_by(Delivery.state))
    return dict.fromkeys(map(str, DeliveryState), 0) | dict(result.all())


def by_endpoint(endpoints: list[Endpoint]) -> list[dict[str, Any]]:
    """The endpoints, each with its number of deliveries by state: one statement for all of them."""
    numbers = {endpoint.name: dict.fromkeys(map(str, DeliveryState), 0) for endpoint in endpoints}
    by_state = select(Delivery.endpoint, Delivery.state, func.count()).where(Delivery.endpoint.in_(numbers))
    for name, state, number in db.session.execute(by_state.group_by(Delivery.endpoint, Delivery.state)):
        numbers[name][state] = number
    return [
        {
            "name": endpoint.name,
            "host": endpoint.host,
            "format": endpoint.format,
            "events": sorted(endpoint.events),
            "deliveries": numbers[endpoint.name],
        }
        for endpoint in endpoints
    ]


def send_test(name: str, endpoints: list[Endpoint], *, by: Caller) -> dict[str, Any]:
    """Queue a test event for the endpoint of that name, and return the delivery. Raises NotFound.

    The mail server sends it to the caller.
    """
    named = [endpoint for endpoint in endpoints if endpoint.name == name]
    if not named:
        raise NotFound
    [row] = rows_of_test(named, by if named[0].format == MAIL else None)
    delivery = Delivery(**row)
    db.session.add(delivery)
    db.session.flush()  # for its id
    changes = {"endpoint": {"from": None, "to": name}}
    audit.record(events.WEBHOOK_TESTED, by=by, changes=changes)
    return one(delivery.id)


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
