"""The outbox: a notification is a row written with the change that it tells of, and delivered later."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import orjson

from directory.extensions import db
from directory.models import Delivery, now
from directory.services.accounts.identity import Caller
from directory.services.catalog import catalog
from directory.services.site import NOWHERE, Site
from directory.services.webhooks.schedule import at_once

PUBLIC_FIELDS = (
    "id",
    "slug",
    "title",
    "tagline",
    "description",
    "url",
    "repository_url",
    "logo_url",
    "tags",
    "category",
    "status",
    "upvotes",
    "owner",
    "created_at",
    "updated_at",
    "submitted_at",
    "published_at",
)
# The member that names the user behind the event.
ACTORS = {
    "project.approved": "approved_by",
    "project.submitted": "submitted_by",
    "project.rejected": "rejected_by",
    "project.unpublished": "unpublished_by",
    "project.deleted": "deleted_by",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A configured receiver: its address, its secrets (newest first), its format and the events that it wants.

    `site` is what messages to a chat link to.
    """

    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    format: str
    events: frozenset[str]
    site: Site = NOWHERE

    @property
    def name(self) -> str:
        """What the outbox calls it: host and a hash, because a chat's address is itself a secret."""
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:12]
        return f"{urlsplit(self.url).hostname}-{digest}"


def enqueue(
    event: str,
    project_id: int,
    *,
    by: Caller | None,
    endpoints: list[Endpoint],
    reason: str | None = None,
) -> None:
    """Add one outbox row for each endpoint that wants `event`, in the current transaction."""
    wanting = [endpoint for endpoint in endpoints if event in endpoint.events]
    if not wanting:
        return
    payload = json.dumps(_payload(event, project_id, by, reason), ensure_ascii=False, separators=(",", ":"))
    webhook_id = f"msg_{secrets.token_hex(16)}"
    for endpoint in wanting:
        delivery = Delivery(
            webhook_id=webhook_id,
            event=event,
            endpoint=endpoint.name,
            project_id=project_id,
            payload=payload,
            next_attempt_at=at_once(),
        )
        db.session.add(delivery)


def _payload(event: str, project_id: int, by: Caller | None, reason: str | None) -> dict[str, Any]:
    """The event as Standard Webhooks lays it out; the project as the public would see it."""
    seen = catalog.stored(project_id)
    data: dict[str, Any] = {"project": {name: _json(seen[name]) for name in PUBLIC_FIELDS}}
    data[ACTORS[event]] = {"id": by.id, "username": by.username} if by else None
    if reason is not None:
        data["reason"] = reason
    return {"type": event, "timestamp": timestamp(now()), "data": data}


def _json(value: Any) -> Any:
    return timestamp(value) if isinstance(value, datetime) else value


def timestamp(instant: datetime) -> str:
    """An instant, which must be in UTC as all of ours are, in RFC 3339 with Z and microseconds."""
    written = orjson.dumps(instant, option=orjson.OPT_UTC_Z)[1:-1].decode()
    return written if instant.microsecond else f"{written[:-1]}.000000Z"
