"""Deliveries by the administrators' routes, and what the probes and the metrics ask for. On both databases."""

import json
from typing import Any

import pytest
from flask import Flask

from directory import events
from directory.db.transactions import transaction
from directory.models import now
from directory.services.delivery import deliveries, outbox
from directory.services.delivery.channels import Webhook
from tests.support.factories import World
from tests.support.outbox import delivery_thread, endpoint, put, quick, row, send_all
from tests.support.receiver import SECRET, Receiver, status

PATH = "/api/admin/webhooks/deliveries"


@pytest.fixture
def receiver() -> Any:
    with Receiver(status(200, b"thank you\nsecond line")) as one:
        yield one


@pytest.fixture
def here(receiver: Receiver) -> Webhook:
    return endpoint(receiver.url)


def made(app: Flask, to: Webhook, count: int = 1, **columns: Any) -> list[int]:
    with app.app_context():
        return put(to, count, **columns)


def test_administrators_see_deliveries_with_their_attempts(app: Flask, world: World, here: Webhook) -> None:
    [one] = made(app, here, project_id=7)
    admin = world.caller(world.admin())
    [fresh] = admin.get(f"{PATH}?state=pending").json["items"]
    assert (fresh["attempts"], fresh["delivered_at"]) == ([], None)
    assert fresh["next_attempt_at"].endswith("Z")

    send_all(delivery_thread(app, here, quick()))
    [told] = admin.get(PATH).json["items"]

    assert told["id"] == one
    assert (told["state"], told["next_attempt_at"], told["endpoint"]) == ("delivered", None, here.name)
    assert told["delivered_at"].endswith("Z")
    [attempt] = told["attempts"]
    assert attempt.keys() == {"at", "status", "error", "milliseconds", "response"}
    assert (attempt["status"], attempt["error"], attempt["response"]) == (200, None, "thank you\nsecond line")


def test_administrators_send_again_with_the_same_id(
    app: Flask, world: World, here: Webhook, receiver: Receiver
) -> None:
    [one] = made(app, here)
    send_all(delivery_thread(app, here, quick()))
    answer = world.caller(world.admin()).post(f"{PATH}/{one}/redeliver")

    assert answer.status_code == 202
    assert (answer.json["state"], answer.json["delivered_at"], len(answer.json["attempts"])) == ("pending", None, 1)
    send_all(delivery_thread(app, here, quick()))
    first, second = receiver.received
    assert first.id == second.id == answer.json["webhook_id"]
    assert world.caller(world.admin()).post(f"{PATH}/999/redeliver").status_code == 404


def test_deliveries_are_counted_by_state(app: Flask, here: Webhook) -> None:
    with app.app_context():
        assert deliveries.counts() == {"pending": 0, "delivered": 0, "dead": 0}
    made(app, here, state="dead", settled_at=now())
    made(app, here, 2)

    with app.app_context():
        assert deliveries.counts() == {"pending": 2, "delivered": 0, "dead": 1}


def test_one_event_for_two_endpoints_has_one_id_and_two_fates(app: Flask, world: World, here: Webhook) -> None:
    other = endpoint("https://other.example/y")
    deaf = Webhook("deaf", "https://deaf.example/", "standard", frozenset(), secrets=(SECRET,))
    project_id = world.project(status="pending")
    with app.app_context():
        transaction(
            lambda: outbox.enqueue(
                events.PROJECT_APPROVED, project_id, by=None, endpoints=[here, other, deaf], reason="so"
            )
        )
    send_all(delivery_thread(app, here, quick()))

    with app.app_context():
        first, second = row(1), row(2)
        assert first.webhook_id == second.webhook_id
        assert (first.state, second.state) == ("delivered", "pending")
        event = json.loads(first.payload)
        assert event["data"]["approved_by"] is None
        assert event["data"]["reason"] == "so"
