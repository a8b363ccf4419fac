"""The examples of the OpenAPI document: each operation has them, and they are what their schemas say."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from sqlalchemy import select

from directory import events
from directory.api import openapi
from directory.api.openapi.examples import Maker
from directory.extensions import db
from directory.models import Delivery
from directory.services.delivery import outbox
from tests.conftest import build
from tests.support.factories import World
from tests.support.outbox import endpoint


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    app = build(f"sqlite:///{tmp_path_factory.mktemp('openapi') / 'unused.db'}")
    with app.app_context():
        return openapi.document()


@pytest.fixture(scope="module")
def closed(document: dict[str, Any]) -> dict[str, Any]:
    """The components with every object closed: an example that has a member too many does not fit either."""
    components = copy.deepcopy(document["components"])
    for schema in components["schemas"].values():
        schema.setdefault("additionalProperties", False)
    return components


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for methods in document["paths"].values() for operation in methods.values()]


def contents(operation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What an operation takes and gives: media types with their schemas and examples, refusals apart."""
    found = list(operation.get("requestBody", {}).get("content", {}).items())
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            found += answer.get("content", {}).items()
    return found


def fits(schema: dict[str, Any], example: object, components: dict[str, Any]) -> None:
    jsonschema_rs.validate({**schema, "components": components}, example, validate_formats=True)


def test_every_operation_has_an_example_of_what_it_takes_and_gives(document):
    for operation in operations(document):
        for media_type, content in contents(operation):
            assert "example" in content or media_type.startswith("image/"), (operation["operationId"], media_type)


def test_every_example_is_what_its_schema_says(document, closed):
    for operation in operations(document):
        for _media_type, content in contents(operation):
            if "example" in content:
                fits(content["schema"], content["example"], closed)
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                fits(parameter["schema"], parameter["example"], closed)


def test_an_example_with_an_extra_or_a_wrong_member_fails(document, closed):
    [[_, content]] = contents(document["paths"]["/api/auth/me"]["get"])
    for wrong in ({"nickname": "ada"}, {"is_admin": "no"}, {"role": "moderator"}):
        with pytest.raises(jsonschema_rs.ValidationError):
            fits(content["schema"], {**content["example"], **wrong}, closed)


def test_a_text_without_an_example_is_named():
    with pytest.raises(LookupError, match="no 'colour'"):
        Maker({}).of({"type": "object", "properties": {"colour": {"type": "string"}}})


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every object in an example, itself included."""
    if isinstance(node, dict):
        yield node
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from objects(below)


@pytest.mark.parametrize(("key", "name"), [("id", "username"), ("id", "title"), ("slug", "name")])
def test_the_examples_agree_on_people_projects_and_categories(document, key, name):
    told: dict[Any, Any] = {}
    for operation in operations(document):
        for _media_type, content in contents(operation):
            for one in objects(content.get("example")):
                if {key, name} <= one.keys():
                    assert told.setdefault(one[key], one[name]) == one[name]
    assert told


def test_is_admin_agrees_with_the_role_in_every_example(document):
    for operation in operations(document):
        for _media_type, content in contents(operation):
            for one in objects(content.get("example")):
                assert "is_admin" not in one or one["is_admin"] == (one["role"] == "admin")


def test_every_event_has_a_webhook_with_its_headers_and_a_true_example(document, closed):
    assert document["webhooks"].keys() == set(events.WEBHOOKS)
    for event, methods in document["webhooks"].items():
        content = methods["post"]["requestBody"]["content"]["application/json"]
        assert content["example"]["type"] == event
        fits(content["schema"], content["example"], closed)
        assert {header["name"] for header in methods["post"]["parameters"]} == {
            "webhook-id", "webhook-timestamp", "webhook-signature"
        }  # fmt: skip


def test_the_test_event_is_the_one_that_send_test_sends(make_app, document, closed):
    content = document["webhooks"]["webhook.test"]["post"]["requestBody"]["content"]["application/json"]
    with make_app().app_context():
        [row] = outbox.rows_of_test([endpoint("http://127.0.0.1:1/")])
    sent = json.loads(row["payload"])
    fits(content["schema"], sent, closed)
    assert sent["data"] == content["example"]["data"]


BY_EXTRA = {events.PROJECT_APPEALED: "appeals", events.PROJECT_PICKED: "picks", events.PROJECT_UNPICKED: "picks"}


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(each, marks=[pytest.mark.extra(BY_EXTRA[each])] if each in BY_EXTRA else [])
        for each in sorted(events.WEBHOOKS)
        if each.actor
    ],
)
def test_the_outbox_sends_what_the_document_says(make_app, document, closed, event):
    hook = {"url": "http://127.0.0.1:1/", "secret": "c2VjcmV0", "events": [event]}
    world = World(app := make_app(WEBHOOK_ENDPOINTS=json.dumps([hook]), APPEALS="on"))
    owner, admin = world.caller(world.user()), world.caller(world.admin())
    world.category()
    project = {"title": "x", "tagline": "x", "url": "https://example.com", "category": "tools"}
    for decision in ("approve", "reject"):
        path = owner.post("/api/projects", {**project, "url": f"https://{decision}.example"}).headers["Location"]
        decided = path.replace("/api/", "/api/admin/")
        assert admin.put(f"{decided}/{decision}", {"reason": "So."}).status_code == 200
    assert owner.put("/api/projects/1", {"title": "y", "tags": ["y"]}).status_code == 200
    assert admin.put("/api/admin/projects/1/approve").status_code == 200
    if BY_EXTRA.get(event) == "picks":
        assert admin.put("/api/review/projects/1/pick", {"words": "So."}).status_code == 200
        assert admin.delete("/api/review/projects/1/pick").status_code == 204
    assert admin.put("/api/admin/projects/1/unpublish", {"reason": "So."}).status_code == 200
    assert admin.put("/api/admin/projects/1/request-changes", {"message": "Why?"}).status_code == 200
    assert owner.post("/api/projects/1/messages", {"text": "Why?"}).status_code == 201
    if event == events.PROJECT_APPEALED:
        assert owner.post("/api/projects/2/appeal", {"text": "Why?"}).status_code == 201
    assert owner.delete("/api/projects/1").status_code == 204
    with app.app_context():
        payloads = [json.loads(text) for text in db.session.scalars(select(Delivery.payload))]
    schema = document["webhooks"][event]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {payload["type"] for payload in payloads} == {event}
    for payload in payloads:
        fits(schema, payload, closed)
