"""The outbox: a notification is a row written with the change that it tells of, and delivered later."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import orjson
from sqlalchemy import select

from directory.extensions import db
from directory.models import AccountStatus, Delivery, DeliveryState, User, now
from directory.services.accounts.identity import Caller
from directory.services.catalog import catalog
from directory.services.data import bulk
from directory.services.site import NOWHERE, Site
from directory.services.webhooks.schedule import at_once, database_clock

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
MAIL = "mail"  # the format of the mail server, and its name; no webhook has it where mail is configured
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

    `site` is what messages to a chat link to. `given_name` is its configured name, empty where it has none.
    """

    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    format: str
    events: frozenset[str]
    site: Site = NOWHERE
    given_name: str = ""

    @property
    def name(self) -> str:
        """What the outbox calls it: its configured name, or one made of its address."""
        return self.given_name or stable_name(self.url)

    @property
    def host(self) -> str:
        """The host of its address, with the port where the address has one."""
        return urlsplit(self.url).netloc.rpartition("@")[2].lower()


def stable_name(url: str) -> str:
    """The name of an endpoint without a configured one: host and a hash, because the path may be a secret."""
    digest = hashlib.sha256(url.encode()).hexdigest()[:12]
    return f"{urlsplit(url).hostname}-{digest}"


def enqueue(
    event: str,
    project_id: int,
    *,
    by: Caller | None,
    endpoints: list[Endpoint],
    reason: str | None = None,
) -> None:
    """Add one outbox row for each endpoint that wants `event`, in the current transaction."""
    wanted_by = wanting(event, endpoints)
    if wanted_by:
        project = catalog.stored(project_id)
        told = _told(wanted_by, project, _mailed([project], wanted_by))
        payload = _payload(event, project, by, reason)
        db.session.add_all(Delivery(**row) for row in rows_of(event, project_id, payload, told, due=at_once()))


def enqueue_each(
    event: str,
    projects: list[dict[str, Any]],
    *,
    by: Caller | None,
    endpoints: list[Endpoint],
    reason: str | None = None,
) -> None:
    """The same for each of many projects, given as `catalog.all_stored` returns them, at once."""
    wanted_by = wanting(event, endpoints)
    if not (wanted_by and projects):
        return
    due, mailed = database_clock(), _mailed(projects, wanted_by)
    made = {"state": DeliveryState.PENDING.value, "attempts": 0, "created_at": now()}
    rows = [
        {**row, **made}
        for project in projects
        for row in rows_of(
            event, project["id"], _payload(event, project, by, reason), _told(wanted_by, project, mailed), due=due
        )
    ]
    bulk.load_dicts(Delivery, rows)


def wanting(event: str, endpoints: list[Endpoint]) -> list[Endpoint]:
    """The endpoints that want an event."""
    return [endpoint for endpoint in endpoints if event in endpoint.events]


def _mailed(projects: list[dict[str, Any]], endpoints: list[Endpoint]) -> set[int]:
    """The ids of the owners who get decisions by mail: they are active, and have not switched such mail off."""
    if not any(endpoint.format == MAIL for endpoint in endpoints):
        return set()
    owners = {project["owner"]["id"] for project in projects}
    wish = User.notify, User.status == AccountStatus.ACTIVE
    return set(db.session.scalars(select(User.id).where(User.id.in_(owners), *wish)))


def _told(endpoints: list[Endpoint], project: dict[str, Any], mailed: set[int]) -> list[Endpoint]:
    return [one for one in endpoints if one.format != MAIL or project["owner"]["id"] in mailed]


def rows_of(
    event: str, project_id: int | None, payload: str, endpoints: list[Endpoint], *, due: Any
) -> list[dict[str, Any]]:
    """The deliveries of one event: one webhook-id for all endpoints."""
    event_of = {"webhook_id": f"msg_{secrets.token_hex(16)}", "event": event, "project_id": project_id}
    return [
        {**event_of, "endpoint": endpoint.name, "payload": payload, "next_attempt_at": due} for endpoint in endpoints
    ]


def _payload(event: str, seen: dict[str, Any], by: Caller | None, reason: str | None) -> str:
    """The event as Standard Webhooks lays it out, as JSON; the project as the public would see it."""
    data: dict[str, Any] = {"project": {name: _json(seen[name]) for name in PUBLIC_FIELDS}}
    data[ACTORS[event]] = {"id": by.id, "username": by.username} if by else None
    if reason is not None:
        data["reason"] = reason
    return event_json(event, data)


def event_json(event: str, data: dict[str, Any]) -> str:
    """An event of this instant, as JSON."""
    body = {"type": event, "timestamp": timestamp(now()), "data": data}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _json(value: Any) -> Any:
    return timestamp(value) if isinstance(value, datetime) else value


def timestamp(instant: datetime) -> str:
    """An instant, which must be in UTC as all of ours are, in RFC 3339 with Z and microseconds."""
    written = orjson.dumps(instant, option=orjson.OPT_UTC_Z)[1:-1].decode()
    return written if instant.microsecond else f"{written[:-1]}.000000Z"
