"""Webhooks: the endpoints and their deliveries, as administrators see them."""

from marshmallow import fields

from directory import events
from directory.api.schemas.paging import CursorPagination, CursorQuery
from directory.http.fields import Line, Strict, Timestamp, Whole, Word
from directory.models import DeliveryState
from directory.models.base import HIGHEST_ID

# An endpoint never wants what is mailed to an account about itself: that goes to the mail server without being asked.
WANTED = tuple(event for event in events.DELIVERED if not event.purpose)


class DeliveryCounts(Strict):
    """Deliveries by state."""

    pending = fields.Integer(required=True)
    delivered = fields.Integer(required=True)
    dead = fields.Integer(required=True)


class EndpointOutput(Strict):
    """A configured endpoint. Of its address only the host is shown: the path may be a secret."""

    name = fields.String(required=True)
    host = fields.String(required=True, metadata={"description": "Includes the port, if the address has one."})
    format = fields.String(required=True)
    events = fields.List(
        Word(WANTED),
        required=True,
        metadata={"description": "The events that are sent to it."},
    )
    deliveries = fields.Nested(DeliveryCounts, required=True)


class EndpointList(Strict):
    """The endpoints, in the order of the configuration."""

    items = fields.List(fields.Nested(EndpointOutput), required=True)


class DeliveriesQuery(CursorQuery):
    """The filters of the deliveries."""

    state = Word(tuple(DeliveryState))
    endpoint = Line(1, 300, metadata={"description": "An endpoint's name; an unknown one finds nothing."})
    event = Word(events.DELIVERED)
    project_id = Whole(1, HIGHEST_ID)


class AttemptOutput(Strict):
    """One try: the receiver's status or the error, the duration, and the first kilobyte of the answer."""

    at = Timestamp(required=True)
    status = fields.Integer(required=True, allow_none=True)
    error = fields.String(required=True, allow_none=True)
    milliseconds = fields.Integer(required=True)
    response = fields.String(required=True)


class DeliveryOutput(Strict):
    """One notification for one endpoint. The endpoint is identified by its name: its address may be a secret."""

    id = fields.Integer(required=True)
    webhook_id = fields.String(required=True)
    event = fields.String(required=True)
    endpoint = fields.String(required=True)
    project_id = fields.Integer(required=True, allow_none=True)
    state = Word(tuple(DeliveryState), required=True)
    payload = fields.Dict(
        required=True, metadata={"description": "The event, as an endpoint of format `standard` gets it."}
    )
    attempts = fields.List(fields.Nested(AttemptOutput), required=True)
    created_at = Timestamp(required=True)
    next_attempt_at = Timestamp(required=True, allow_none=True)
    delivered_at = Timestamp(required=True, allow_none=True)


class DeliveryPage(Strict):
    """Deliveries, newest first."""

    items = fields.List(fields.Nested(DeliveryOutput), required=True)
    pagination = fields.Nested(CursorPagination, required=True)
