"""The configured endpoints by the administrators' routes: what is shown, trying one, and the deliveries' filters."""

import json
from typing import Any

import pytest
from flask import Flask

from directory.models import now
from directory.services.delivery.channels import Endpoint
from tests.conftest import Statements
from tests.support.factories import Api, World
from tests.support.outbox import EVENT, delivery_thread, endpoint, put, quick, send_all
from tests.support.receiver import SECRET, Receiver, status

PATH = "/api/admin/webhooks"
CHAT = {"name": "chat", "url": "https://Chat.example/secret-path", "format": "slack", "events": ["project.rejected"]}
PORTED = {"url": "http://[::1]:8080/other", "secret": SECRET}


@pytest.fixture
def app(make_app: Any) -> Flask:
    return make_app(WEBHOOK_ENDPOINTS=json.dumps([CHAT, PORTED]))  # type: ignore[no-any-return]


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin())


@pytest.fixture
def ported(app: Flask) -> Endpoint:
    found: Endpoint = app.extensions["webhooks"][1]
    return found


def made(app: Flask, to: Endpoint, count: int = 1, **columns: Any) -> list[int]:
    with app.app_context():
        return put(to, count, **columns)


def found(admin: Api, query: str) -> list[int]:
    answer = admin.get(f"{PATH}/deliveries?{query}")
    assert answer.status_code == 200, answer.json
    return [item["id"] for item in answer.json["items"]]


def test_endpoints_are_listed_with_their_deliveries_and_without_their_paths(
    app: Flask, world: World, admin: Api, ported: Endpoint
) -> None:
    chat = app.extensions["webhooks"][0]
    made(app, chat, 2)
    made(app, chat, state="dead", settled_at=now())
    made(app, ported, state="delivered", settled_at=now())
    made(app, endpoint("https://gone.example/"))
    answer = admin.get(f"{PATH}/endpoints")
    assert answer.json == {
        "items": [
            {
                "name": "chat", "host": "chat.example", "format": "slack", "events": ["project.rejected"],
                "deliveries": {"pending": 2, "delivered": 0, "dead": 1},
            },
            {
                "name": ported.name, "host": "[::1]:8080", "format": "standard", "events": ["project.approved"],
                "deliveries": {"pending": 0, "delivered": 1, "dead": 0},
            },
        ]
    }  # fmt: skip
    assert "secret-path" not in answer.text
    assert ported.name.startswith("::1-")


def test_endpoints_cost_two_statements_and_none_are_an_empty_list(
    app: Flask, make_app: Any, world: World, admin: Api, statements: Statements
) -> None:
    admin.get(f"{PATH}/endpoints")
    statements.clear()
    admin.get(f"{PATH}/endpoints")
    assert len(statements) == 2  # who calls, the numbers
    assert Api(make_app(), admin.token).get(f"{PATH}/endpoints").json == {"items": []}


def test_a_test_is_queued_for_one_endpoint_whichever_events_it_wants(app: Flask, admin: Api) -> None:
    answer = admin.post(f"{PATH}/endpoints/chat/test")
    assert answer.status_code == 202
    told = answer.json
    assert (told["event"], told["endpoint"], told["project_id"]) == ("webhook.test", "chat", None)
    assert (told["state"], told["attempts"], told["delivered_at"]) == ("pending", [], None)
    assert told["payload"]["type"] == "webhook.test"
    assert told["payload"]["data"]["project"]["id"] is None
    assert admin.get(f"{PATH}/deliveries").json["items"] == [told]
    for unknown in ("Chat", "chat.example", "nope", "%F0%9F%A6%80", "%00"):
        refused = admin.post(f"{PATH}/endpoints/{unknown}/test")
        assert (refused.status_code, refused.json["code"]) == (404, "not_found")


@pytest.mark.parametrize("style", ["standard", "discord", "slack"])
def test_a_test_arrives_as_every_event_does(make_app: Any, world: World, style: str) -> None:
    with Receiver(status(204)) as receiver:
        given = {"url": receiver.url, "format": style, "secret": SECRET}
        app = make_app(WEBHOOK_ENDPOINTS=json.dumps([given]))
        admin = Api(app, world.caller(world.admin()).token)
        [here] = app.extensions["webhooks"]
        assert admin.post(f"{PATH}/endpoints/{here.name}/test").status_code == 202
        send_all(delivery_thread(app, here, quick()))
        [message] = receiver.received
        assert b"A test" in message.body
        [shown] = admin.get(f"{PATH}/deliveries?event=webhook.test&state=delivered").json["items"]
        assert [attempt["status"] for attempt in shown["attempts"]] == [204]


def test_deliveries_are_narrowed_by_endpoint_event_project_and_state(
    app: Flask, world: World, admin: Api, ported: Endpoint
) -> None:
    chat = app.extensions["webhooks"][0]
    [a] = made(app, chat, project_id=1)
    [b] = made(app, chat, project_id=2, event="project.rejected", state="dead", settled_at=now())
    [c] = made(app, ported, project_id=1, event="project.rejected")
    for query, ids in {
        "": [c, b, a], "endpoint=chat": [b, a], f"endpoint={ported.name}": [c], "endpoint=nope": [],
        "event=project.rejected": [c, b], "event=project.deleted": [], "event=webhook.test": [], "project_id=1": [c, a],
        "project_id=9": [], "endpoint=chat&event=project.rejected&project_id=2&state=dead": [b],
        "endpoint=chat&state=delivered": [], "project_id=1&state=pending": [c, a],
    }.items():  # fmt: skip
        assert found(admin, query) == ids, query
    page = admin.get(f"{PATH}/deliveries?endpoint=chat&limit=1").json
    cursor = page["pagination"]["next_cursor"]
    assert found(admin, f"endpoint=chat&limit=1&cursor={cursor}") == [a]
    assert admin.get(f"{PATH}/deliveries?limit=1&cursor={cursor}").status_code == 422
    for bad in ("event=nope", "event=", "project_id=0", "project_id=x", "endpoint=", "endpoint=%00", "webhook=1"):
        assert admin.get(f"{PATH}/deliveries?{bad}").status_code == 422, bad


def test_a_delivery_shows_its_event(app: Flask, admin: Api, ported: Endpoint) -> None:
    made(app, ported)
    assert admin.get(f"{PATH}/deliveries").json["items"][0]["payload"] == EVENT
