"""The webhooks of the document: each event, its headers and its body, as Standard Webhooks 1.0 sends them."""

from typing import Any

from marshmallow import fields
from marshmallow.schema import SchemaMeta

from directory.api.openapi import examples
from directory.api.schemas.projects import ProjectOutput, UserRef
from directory.http.fields import Strict
from directory.services.webhooks.outbox import ACTORS, PUBLIC_FIELDS

SAYS = {
    "project.approved": "An administrator approved a project; it is live.",
    "project.submitted": "A member submitted a project for review.",
    "project.rejected": "An administrator rejected a project.",
    "project.unpublished": "An administrator took a live project down.",
    "project.deleted": "A project was deleted; `project` is as it was before.",
}
DESCRIPTION = (
    "Sent at least once to each configured endpoint that asks for this event; by default that is `project.approved` "
    "alone. Verify the signature, and use `webhook-id` to leave out what arrives twice. An answer of 2xx within 15 "
    "seconds is success; redirects are not followed. Any other answer is tried again, ten times over three days. "
    "Endpoints of the formats `discord` and `slack` get a message of the chat instead."
)
HEADERS = {
    "webhook-id": ("The id of the notification, the same on every try.", "msg_5f1c9f0c2f6e4d6c8a55e0b1c9d27a43"),
    "webhook-timestamp": ("When this try was sent, in seconds since 1970.", "1795185000"),
    "webhook-signature": (
        "`v1,` and the base64 of an HMAC-SHA256, as Standard Webhooks has it; one for each secret during a rotation.",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
}
RESPONSES = {
    "2XX": "The event is received.",
    "410": "The receiver wants no more: this delivery ends at once.",
    "429": "Too many; `Retry-After` says when to try again.",
    "503": "Not now; `Retry-After` says when to try again.",
}
STATES = {"project.submitted": "pending", "project.rejected": "rejected", "project.unpublished": "pending"}


class WebhookProject(ProjectOutput):
    """A project as the public sees it, at the time of the event."""

    class Meta:
        """The fields that a notification has."""

        unknown = "raise"
        fields = PUBLIC_FIELDS

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Let the document not call a field read-only, which would keep it out of the body of a request."""
        field_obj.dump_only = False


def _data(event: str) -> Strict:
    members: dict[str, Any] = {
        "project": fields.Nested(WebhookProject, required=True),
        ACTORS[event]: fields.Nested(
            UserRef,
            required=True,
            allow_none=True,
            metadata={"description": "Null where the operator's command line acted."},
        ),
    }
    if event in {"project.rejected", "project.unpublished", "project.approved"}:
        members["reason"] = fields.String(metadata={"description": "The reason, where one was given."})
    kind = SchemaMeta(f"{_title(event)}Data", (Strict,), members)  # type: ignore[no-untyped-call]
    kind.__doc__ = f"What a `{event}` event tells."
    return kind()  # type: ignore[no-any-return]


def _title(event: str) -> str:
    return "".join(word.title() for word in event.split("."))


def event(name: str) -> Strict:
    """The schema of an event's body."""
    members = {
        "type": fields.Constant(name, required=True, metadata={"type": "string", "const": name}),
        "timestamp": fields.DateTime(required=True, metadata={"description": "When it happened."}),
        "data": fields.Nested(_data(name), required=True),
    }
    kind = SchemaMeta(f"{_title(name)}Event", (Strict,), members)  # type: ignore[no-untyped-call]
    kind.__doc__ = SAYS[name]
    return kind()  # type: ignore[no-any-return]


def example(name: str) -> dict[str, Any]:
    """The example of an event's body."""
    project = examples.of(WebhookProject())
    if name in STATES:
        project |= {"status": STATES[name], "upvotes": 0, "published_at": None}
    actor = (
        {"id": 7, "username": "ada"} if name in {"project.submitted", "project.deleted"} else examples.VALUES["actor"]
    )
    data: dict[str, Any] = {"project": project, ACTORS[name]: actor}
    if name in {"project.rejected", "project.unpublished"}:
        data["reason"] = "The link is dead."
    return {"type": name, "timestamp": "2026-11-20T14:30:00.250000Z", "data": data}


def webhooks(resolve: Any) -> dict[str, Any]:
    """The `webhooks` of the document; `resolve` registers a schema and gives a reference to it."""
    return {name: {"post": _operation(name, resolve(event(name)))} for name in ACTORS}


def _operation(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    content = {"schema": schema, "example": example(name)}
    return {
        "operationId": f"webhook{_title(name)}",
        "tags": ["webhooks"],
        "summary": SAYS[name].rstrip("."),
        "description": DESCRIPTION,
        "security": [],
        "parameters": [_header(*each) for each in HEADERS.items()],
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": {status: {"description": text} for status, text in RESPONSES.items()},
    }


def _header(name: str, said: tuple[str, str]) -> dict[str, Any]:
    description, example = said
    schema = {"type": "string"}
    return {
        "in": "header",
        "name": name,
        "required": True,
        "description": description,
        "schema": schema,
        "example": example,
    }
