"""The configured endpoints as administrators see them, and the event that tries one."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import func, select

from directory.errors import NotFound
from directory.extensions import db
from directory.models import Delivery, DeliveryState
from directory.services.accounts.identity import Caller
from directory.services.delivery import deliveries
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.delivery.outbox import event_json, rows_of
from directory.services.delivery.schedule import at_once

TEST = "webhook.test"
# No project has this id, and the event's type is another than an approval's: nobody takes a test for one.
TEST_PROJECT = {
    "id": None,
    "slug": "a-test",
    "title": "A test",
    "tagline": "If you can read this, the webhook works.",
    "url": "https://example.org/",
    "category": {"slug": "test", "name": "Test"},
    "owner": {"id": None, "username": "nobody"},
}


def payload_of_test(recipient: Caller | None = None) -> str:
    """The test event of this instant, as JSON; with a recipient it is one for the mail server."""
    if recipient is None:
        return event_json(TEST, {"project": TEST_PROJECT})
    return event_json(TEST, {"user": {"id": recipient.id, "username": recipient.username}})


def listed(endpoints: Iterable[Endpoint]) -> list[dict[str, Any]]:
    """The endpoints, each with its number of deliveries by state: one statement for all of them."""
    endpoints = list(endpoints)
    counts = {endpoint.name: dict.fromkeys(map(str, DeliveryState), 0) for endpoint in endpoints}
    by_state = select(Delivery.endpoint, Delivery.state, func.count()).where(Delivery.endpoint.in_(counts))
    for name, state, number in db.session.execute(by_state.group_by(Delivery.endpoint, Delivery.state)):
        counts[name][state] = number
    return [
        {
            "name": endpoint.name,
            "host": endpoint.host,
            "format": endpoint.format,
            "events": sorted(endpoint.events),
            "deliveries": counts[endpoint.name],
        }
        for endpoint in endpoints
    ]


def send_test(name: str, endpoints: Iterable[Endpoint], *, by: Caller) -> dict[str, Any]:
    """Queue a test event for the endpoint of that name, and return the delivery. Raises NotFound.

    The mail server sends it to the caller.
    """
    named = [endpoint for endpoint in endpoints if endpoint.name == name]
    if not named:
        raise NotFound
    payload = payload_of_test(by if named[0].format == MAIL else None)
    [row] = rows_of(TEST, None, payload, named, due=at_once())
    delivery = Delivery(**row)
    db.session.add(delivery)
    db.session.flush()  # for its id
    return deliveries.one(delivery.id)
