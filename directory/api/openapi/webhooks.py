"""The events that the service sends, as the document's `webhooks` section."""

from typing import Any

from directory import events
from directory.api.openapi.examples import Maker
from directory.api.openapi.operations import header_parameter
from directory.events import Event
from directory.models import ReportKind
from directory.services.catalog.fields import IN_WEBHOOKS
from directory.services.delivery.outbox import TEST_PROJECT

HEADERS = {
    "webhook-id": ("The notification's id; every try and every redelivery has the same.", "msg_3f1c9a5b7d2e4f60"),
    "webhook-timestamp": ("When this try was sent, in seconds since 1970.", "1795444200"),
    "webhook-signature": (
        (
            "One `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body` for each secret, separated by spaces "
            "(Standard Webhooks 1.0). Missing if the endpoint has no secret."
        ),
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
}
ANSWERS = {
    "2XX": {"description": "The notification is delivered."},
    "410": {"description": "The service gives up the notification at once."},
    "default": {"description": "The service tries again, by its schedule."},
}


def add(document: dict[str, Any], maker: Maker) -> None:
    """Add the `webhooks` section, and the schema of a project as the events carry it."""
    schemas = document["components"]["schemas"]
    members = schemas["ProjectDetail"]["properties"]
    # A webhook's payload is a request's body, in which no member may be read-only.
    public = {name: {k: v for k, v in members[name].items() if k != "readOnly"} for name in IN_WEBHOOKS}
    schemas["WebhookProject"] = {
        "description": "A project as the public sees it, at the time of the event.",
        "type": "object",
        "required": list(IN_WEBHOOKS),
        "properties": public,
    }
    document["webhooks"] = {event.name: {"post": _operation(event, maker)} for event in events.WEBHOOKS}


def _operation(event: Event, maker: Maker) -> dict[str, Any]:
    schema = _schema(event)
    content = {"schema": schema, "example": _example(schema, event, maker)}
    return {
        "operationId": "on" + "".join(word.title() for word in event.replace("_", ".").split(".")),
        "tags": ["webhooks"],
        "summary": event.webhook,
        "description": f"The service sends `{event}` to each endpoint that asks for it, in the format `standard`."
        if event != events.WEBHOOK_TEST
        else "An administrator tries an endpoint, by the API or by `flask webhooks send-test`. No such project exists.",
        "security": [],
        "parameters": [
            {**header_parameter(name, description, is_required=name != "webhook-signature"), "example": example}
            for name, (description, example) in HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": ANSWERS,
    }


def _schema(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = {"project": {"$ref": "#/components/schemas/WebhookProject"}}
    if event == events.WEBHOOK_TEST:
        data = {"project": {"type": "object", "required": list(TEST_PROJECT), "properties": _loosely(TEST_PROJECT)}}
    elif event == events.PROJECT_REPORTED:
        data["kind"] = {"description": "What is said to be wrong with it.", "enum": [kind.value for kind in ReportKind]}
    elif event == events.PROJECT_LINK_DEAD:
        data["link"] = {
            "description": "The link: the field, its address, and when it was first seen to fail.",
            "type": "object",
            "required": ["field", "url", "since"],
            "properties": {
                "field": {"enum": ["url", "repository_url"]},
                "url": {"type": "string"},
                "since": {"type": "string", "format": "date-time"},
            },
        }
    elif event.actor:
        data[event.actor] = {
            "description": "The user that caused the event; null for a command of the operator.",
            "anyOf": [{"$ref": "#/components/schemas/UserRef"}, {"type": "null"}],
        }
    required = list(data)
    if event.is_edit:
        required.append("changes")
        data["changes"] = {
            "description": "The changed fields.",
            "type": "object",
            "additionalProperties": {"$ref": "#/components/schemas/Change"},
        }
    if event.has_reason:
        data["reason"] = {"type": "string", "description": "Missing if no reason was given."}
    if event.has_message:
        described = "The entry in the thread of the project; missing if an edit gave the project back."
        data["message_id"] = {"type": "integer", "description": described}
    members = {
        "type": {"const": event.name},
        "timestamp": {"type": "string", "format": "date-time"},
        "data": {"type": "object", "required": required, "properties": data},
    }
    return {"type": "object", "required": list(members), "properties": members}


def _loosely(example: dict[str, Any]) -> dict[str, Any]:
    kinds = {str: "string", dict: "object", type(None): "null"}
    return {name: {"type": kinds[type(value)]} for name, value in example.items()}


def _example(schema: dict[str, Any], event: Event, maker: Maker) -> dict[str, Any]:
    example: dict[str, Any] = maker.of(schema)
    if event == events.WEBHOOK_TEST:
        example["data"]["project"] = TEST_PROJECT
    elif event.after:
        example["data"]["project"]["status"] = event.after
    return example
