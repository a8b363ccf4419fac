"""The administrators' routes for webhooks: the endpoints and their deliveries."""

from typing import Any

from directory.api.blueprints import admin as bp
from directory.api.schemas.webhooks import DeliveriesQuery, DeliveryOutput, DeliveryPage, EndpointList
from directory.errors import DeliveryEmptied
from directory.http import pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.services.delivery import deliveries as outbox


@bp.get("/webhooks/endpoints")
@admin_required
@operation(answer=EndpointList(), tier="read")
def endpoints() -> Any:
    """List the configured webhook endpoints, each with its number of deliveries by state."""
    return {"items": outbox.by_endpoint(subscribers())}


@bp.post("/webhooks/endpoints/<endpoint>/test")
@admin_required
@operation(answer=DeliveryOutput(), status=202)
def test_endpoint(endpoint: str) -> Any:
    """Send a test event to an endpoint, whichever events it wants.

    The event is `webhook.test`, about a project that does not exist; the mail server sends it to the caller's address.
    It is delivered as all events are. The answer is its delivery.
    """
    return outbox.send_test(endpoint, subscribers(), by=caller())


@bp.get("/webhooks/deliveries")
@admin_required
@operation(query=DeliveriesQuery(), answer=DeliveryPage(), tier="read")
def deliveries(query: dict[str, Any]) -> Any:
    """List webhook deliveries with their attempts, newest first."""
    window = pagination.window(query)
    names = ("state", "endpoint", "event", "project_id")
    page = outbox.listed(window, **{name: query[name] for name in names if name in query})
    return pagination.by_cursor(page, window)


@bp.post("/webhooks/deliveries/<id:delivery_id>/redeliver")
@admin_required
@documented(raises=(DeliveryEmptied,))
@operation(answer=DeliveryOutput(), status=202)
def redeliver(delivery_id: int) -> Any:
    """Send a delivery again, under the same webhook-id.

    Of what was delivered about a project that is gone only the ids are stored, so it cannot be sent again.
    """
    return outbox.redeliver(delivery_id, by=caller())
