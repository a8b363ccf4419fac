"""Helpers for tests of the review: an endpoint that wants every event, the outbox, the log, a decision and its wait."""

import json
from datetime import timedelta
from typing import Any

from flask import Flask
from sqlalchemy import delete, select, update

from directory import events
from directory.db.transactions import transaction
from directory.extensions import db, modify
from directory.models import AuditEntry, Delivery, Outcome, Project, Review, Reviewed, Status, Turn, now
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
    """Put times of the case of a project so many hours into the past; its place in the queue with what shows it."""
    values = {name: now() - timedelta(hours=number) for name, number in hours.items()}

    def write() -> None:
        own = (Review.project_id == project_id, Review.is_current)
        modify(update(Review).where(*own).values(values))
        if "place" in values:
            modify(update(Review).where(*own, Review.turn == Turn.REVIEWERS).values(since=values["place"]))
            pending = select(Review.project_id).where(*own, Review.kind == Reviewed.SUBMISSION)
            modify(update(Project).where(Project.id.in_(pending)).values(submitted_at=values["place"]))

    with app.app_context():
        transaction(write)


def restate(project_id: int, status: str) -> None:
    """Give a project the case that a status needs, so that a statement may set that one."""
    db.session.execute(delete(Review).where(Review.project_id == project_id))
    if status != Status.LIVE:
        own = Project.submitted_at, Project.category_id
        at, category_id = db.session.execute(select(*own).where(Project.id == project_id)).one()
        is_open = status == Status.PENDING
        whose = {"turn": Turn.REVIEWERS} if is_open else {"outcome": Outcome.REJECTED, "decided_at": at}
        values = {"kind": Reviewed.SUBMISSION, "since": at, "place": at, "category_id": category_id, **whose}
        db.session.add(Review(project_id=project_id, **values))
    db.session.flush()


def last_wait(app: Flask) -> float:
    """How many hours what was decided last had waited for review."""
    with app.app_context():
        entries = select(AuditEntry.waited_seconds).where(AuditEntry.waited_seconds.is_not(None))
        return float(db.session.scalars(entries.order_by(AuditEntry.id.desc()).limit(1)).one()) / 3600
