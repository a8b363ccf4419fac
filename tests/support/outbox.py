"""Deliveries to act on, without the approvals that make them."""

import json
import secrets
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Flask
from sqlalchemy import insert, select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Delivery, DeliveryAttempt, now
from directory.services.delivery.channels import Endpoint, Webhook, stable_name
from directory.services.delivery.deliverer import DeliveryThread
from directory.services.delivery.leases import Lease
from directory.services.delivery.schedule import DeliveryPolicy
from tests.support.receiver import SECRET

SECOND = timedelta(seconds=1)
EVENT = {
    "type": "project.approved",
    "timestamp": "2026-11-20T10:00:00.123456Z",
    "data": {
        "project": {
            "id": 7,
            "title": "Grüße & <b>bold</b>",
            "tagline": "A thing that does things",
            "url": "https://example.org/7?a=1&b=2",
            "category": {"slug": "tools", "name": "Tools"},
            "owner": {"id": 3, "username": "ada"},
        },
        "approved_by": {"id": 1, "username": "root_admin"},
    },
}


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, at: datetime | None = None) -> None:
        self.at = at or datetime(2026, 11, 20, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def endpoint(url: str, style: str = "standard", secret_list: tuple[str, ...] = (SECRET,)) -> Webhook:
    return Webhook(stable_name(url), url, style, frozenset({"project.approved"}), secrets=secret_list)


def lease(payload: Any = EVENT) -> Lease:
    """A lease that no row stands behind, for what only sends."""
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return Lease(1, f"msg_{secrets.token_hex(8)}", "project.approved", text, 0, "token", now())


def put(to: Endpoint, count: int = 1, **columns: Any) -> list[int]:
    """Deliveries for an endpoint, due now unless told otherwise; in the current context, committed."""
    event = {"endpoint": to.name, "event": "project.approved", "payload": json.dumps(EVENT)}
    due = {**event, "next_attempt_at": now() - SECOND}
    rows = [{**due, "webhook_id": f"msg_{secrets.token_hex(16)}", **columns} for _ in range(count)]
    made = insert(Delivery).returning(Delivery.id, sort_by_parameter_order=True)
    return transaction(lambda: list(db.session.scalars(made, rows)))


def row(delivery_id: int) -> Delivery:
    """A delivery as the database has it at this moment."""
    db.session.rollback()
    return db.session.get_one(Delivery, delivery_id, populate_existing=True)


def attempts(delivery_id: int) -> list[DeliveryAttempt]:
    query = select(DeliveryAttempt).where(DeliveryAttempt.delivery_id == delivery_id).order_by(DeliveryAttempt.id)
    return list(db.session.scalars(query))


def states(app: Flask) -> dict[str, int]:
    """How many deliveries are in each state."""
    with app.app_context():
        found: dict[str, int] = {}
        for state in db.session.scalars(select(Delivery.state)):
            found[state] = found.get(state, 0) + 1
        return found


def quick(**changes: Any) -> DeliveryPolicy:
    """A policy that fits into a test."""
    return replace(DeliveryPolicy(poll=0.05), **changes)


def delivery_thread(app: Flask, to: Endpoint, policy: DeliveryPolicy) -> DeliveryThread:
    """A delivery thread to be driven by hand."""
    return DeliveryThread(app.app_context, to, policy, threading.Event())


def send_all(delivery_thread: DeliveryThread) -> int:
    """Let a delivery thread, run in this one, send all that is due; how many it sent."""
    sent, done = 0, delivery_thread.turn()
    while done is not None:
        sent, done = sent + 1, delivery_thread.turn(done)
    return sent
