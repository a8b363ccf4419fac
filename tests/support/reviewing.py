"""Helpers for tests of the review: an endpoint that wants every event, the outbox, the log, a decision and its wait."""

import json
from datetime import timedelta
from typing import Any

from flask import Flask
from sqlalchemy import select, update

from directory import events
from directory.db.transactions import transaction
from directory.extensions import db, modify
from directory.models import AuditEntry, Delivery, Project, Revision, now
from tests.support.factories import Api

ENDPOINT = {"url": "https://hook.example/x", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
NOTIFYING = {
    "WEBHOOK_ENDPOINTS": json.dumps([{**ENDPOINT, "events": [each for each in events.WEBHOOKS if each.actor]}])
}


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


def put_back(app: Flask, project_id: int, **hours: float) -> None:
    """Put times of a project, or of its revision if it has one, so many hours into the past."""
    values = {name: now() - timedelta(hours=number) for name, number in hours.items()}

    def write() -> None:
        if not modify(update(Revision).where(Revision.project_id == project_id).values(values)):
            modify(update(Project).where(Project.id == project_id).values(values))

    with app.app_context():
        transaction(write)


def last_wait(app: Flask) -> float:
    """How many hours what was decided last had waited for review."""
    with app.app_context():
        entries = select(AuditEntry.waited_seconds).where(AuditEntry.waited_seconds.is_not(None))
        return float(db.session.scalars(entries.order_by(AuditEntry.id.desc()).limit(1)).one()) / 3600
