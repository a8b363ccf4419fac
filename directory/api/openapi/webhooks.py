"""The events that the service sends, as the document's `webhooks` section."""

from typing import Any

from directory.api.openapi.examples import Maker
from directory.api.openapi.operations import header_parameter
from directory.models import ReportKind
from directory.services.catalog.fields import IN_WEBHOOKS
from directory.services.delivery.outbox import ACTORS, REPORTED, TEST, TEST_PROJECT
from directory.services.delivery.webhooks.formats import NAMES

STATUS_AFTER = {"project.submitted": "pending", "project.rejected": "rejected", "project.unpublished": "pending"}
WITH_MESSAGE = {"project.changes_requested", "project.answered", "project.appealed"}
WITH_REASON = {"project.rejected", "project.unpublished"}
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
    document["webhooks"] = {event: {"post": _operation(event, maker)} for event in NAMES}


def _operation(event: str, maker: Maker) -> dict[str, Any]:
    schema = _schema(event)
    content = {"schema": schema, "example": _example(schema, event, maker)}
    return {
        "operationId": "on" + "".join(word.title() for word in event.replace("_", ".").split(".")),
        "tags": ["webhooks"],
        "summary": NAMES[event],
        "description": f"The service sends `{event}` to each endpoint that asks for it, in the format `standard`."
        if event != TEST
        else "An administrator tries an endpoint, by the API or by `flask webhooks send-test`. No such project exists.",
        "security": [],
        "parameters": [
            {**header_parameter(name, description, is_required=name != "webhook-signature"), "example": example}
            for name, (description, example) in HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": ANSWERS,
    }


def _schema(event: str) -> dict[str, Any]:
    data: dict[str, Any] = {"project": {"$ref": "#/components/schemas/WebhookProject"}}
    if event == TEST:
        data = {"project": {"type": "object", "required": list(TEST_PROJECT), "properties": _loosely(TEST_PROJECT)}}
    elif event == REPORTED:
        data["kind"] = {"description": "What is said to be wrong with it.", "enum": [kind.value for kind in ReportKind]}
    else:
        data[ACTORS[event]] = {
            "description": "The user that caused the event; null for a command of the operator.",
            "anyOf": [{"$ref": "#/components/schemas/UserRef"}, {"type": "null"}],
        }
    required = list(data)
    if event == "project.edited":
        required.append("changes")
        data["changes"] = {
            "description": "The changed fields.",
            "type": "object",
            "additionalProperties": {"$ref": "#/components/schemas/Change"},
        }
    if event in WITH_REASON:
        data["reason"] = {"type": "string", "description": "Missing if no reason was given."}
    if event in WITH_MESSAGE:
        described = "The entry in the thread of the project; missing if an edit gave the project back."
        data["message_id"] = {"type": "integer", "description": described}
    members = {
        "type": {"const": event},
        "timestamp": {"type": "string", "format": "date-time"},
        "data": {"type": "object", "required": required, "properties": data},
    }
    return {"type": "object", "required": list(members), "properties": members}


def _loosely(example: dict[str, Any]) -> dict[str, Any]:
    kinds = {str: "string", dict: "object", type(None): "null"}
    return {name: {"type": kinds[type(value)]} for name, value in example.items()}


def _example(schema: dict[str, Any], event: str, maker: Maker) -> dict[str, Any]:
    made: dict[str, Any] = maker.of(schema)
    if event == TEST:
        made["data"]["project"] = TEST_PROJECT
    elif event in STATUS_AFTER:
        made["data"]["project"]["status"] = STATUS_AFTER[event]
    return made
