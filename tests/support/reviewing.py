"""Helpers for tests of the review: an endpoint that wants every event, the outbox, the log, and a decision."""

import json
from typing import Any

from flask import Flask

from directory.extensions import db
from directory.models import AuditEntry, Delivery
from directory.services.delivery.outbox import ACTORS
from tests.support.factories import Api

ENDPOINT = {"url": "https://hook.example/x", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
NOTIFYING = {"WEBHOOK_ENDPOINTS": json.dumps([{**ENDPOINT, "events": sorted(ACTORS)}])}


def outbox(app: Flask) -> list[dict[str, Any]]:
    """The payloads of all notifications, the oldest first."""
    with app.app_context():
        return [json.loads(row.payload) for row in db.session.query(Delivery).order_by(Delivery.id)]


def decisions(app: Flask) -> list[str]:
    """What people did to projects after their submission, the oldest first."""
    with app.app_context():
        entries = db.session.query(AuditEntry).filter(AuditEntry.actor_id.is_not(None)).order_by(AuditEntry.id)
        return [entry.action for entry in entries if entry.action != "project.submitted"]


def decide(admin: Api, project: int, word: str, reason: Any = None) -> Any:
    """One decision about one project."""
    body = None if reason is None else {"reason": reason}
    return admin.put(f"/api/admin/projects/{project}/{word}", body)
