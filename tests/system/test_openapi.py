"""The OpenAPI document: true to the routes, valid, complete, and the same as the copy in the repository."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.adapter.validators import OPENAPI_31_VALIDATOR

from directory.api import openapi
from directory.api.openapi.operations import routes
from directory.http.problem_kinds import KINDS
from directory.models.base import HIGHEST_ID
from tests.conftest import build

SNAPSHOT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """An application whose database is never used: the document is made from the routes."""
    return build(f"sqlite:///{tmp_path_factory.mktemp('openapi') / 'unused.db'}")


@pytest.fixture(scope="module")
def document(app):
    with app.app_context():
        return json.loads(openapi.served())


def operations(document):
    return {
        (path, method): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def resolved(document, node):
    """What a node refers to, or itself."""
    if "$ref" not in node:
        return node
    found = document
    for step in node["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


def answers(document, operation):
    return {int(status): resolved(document, answer) for status, answer in operation["responses"].items()}


def test_the_copy_in_the_repository_is_current(app):
    with app.app_context():
        assert SNAPSHOT.read_text() == openapi.printed(), "refresh it: flask openapi > docs/openapi.json"


def test_the_command_prints_the_copy(app):
    printed = app.test_cli_runner().invoke(args=["openapi"])
    assert printed.output == SNAPSHOT.read_text()


def test_it_is_valid_openapi(document):
    OPENAPI_31_VALIDATOR.validate(document)


def test_every_schema_in_it_is_valid_json_schema(document):
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


def test_every_reference_leads_somewhere(document):
    def look(node):
        if isinstance(node, dict):
            assert "$ref" not in node or resolved(document, node)
            node = list(node.values())
        if isinstance(node, list):
            for below in node:
                look(below)

    look(document)


def test_every_route_but_those_of_pages_stands_in_it_and_nothing_else(app, document):
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    pages = {
        (path, method) for path, method in routes if not path.startswith(("/api/", "/healthz", "/readyz", "/metrics"))
    } | {("/api/auth/notifications/{token}", "get")}
    assert {("/", "get"), ("/p/{project_id}/{title}", "get"), ("/assets/{name}", "get")} <= pages
    assert set(operations(document)) == routes - pages


def test_operations_are_named_and_sorted_for_readers(document):
    found = operations(document).values()
    names = [operation["operationId"] for operation in found]
    tags = {tag["name"] for tag in document["tags"]}
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+([A-Z][a-z]*)+", name) for name in names)
    assert all(operation["summary"] and set(operation["tags"]) <= tags for operation in found)


def test_the_security_of_an_operation_is_the_access_rule_of_its_route(app, document):
    for route in routes(app):
        operation = operations(document)[route.path, route.method]
        needed = [{"cookie": []}, {"bearer": []}]
        if route.access == "open_by":  # by a setting
            assert operation["security"] == [{}, *needed]
        elif route.access == "public":
            assert operation["security"] in ([], [{}, *needed])
        else:
            assert operation["security"] == needed
    assert {"cookie", "bearer"} == set(document["components"]["securitySchemes"])


def test_every_answer_carries_the_headers_of_its_kind(document):
    for (path, method), operation in operations(document).items():
        for status, answer in answers(document, operation).items():
            headers = set(answer["headers"])
            assert {"X-Request-ID", "Cache-Control"} <= headers, (path, method, status)
            assert ("WWW-Authenticate" in headers) == (status == 401)
            assert ("Retry-After" in headers) == (status in (429, 503))
            assert all(resolved(document, header)["schema"] for header in answer["headers"].values())


def test_the_headers_of_single_routes_are_documented(document):
    def headers(path, method, status):
        return set(answers(document, document["paths"][path][method])[status]["headers"])

    for path in ("/api/projects", "/api/admin/projects", "/api/admin/users"):
        assert "Link" in headers(path, "get", 200)
    assert "Link" in headers("/api/projects", "get", 304)
    for path in ("/api/projects", "/api/admin/categories"):
        assert "Location" in headers(path, "post", 201)
    for path in ("/api/projects", "/api/projects/{project_id}", "/api/categories", "/api/projects.atom"):
        assert {"ETag", "Vary"} <= headers(path, "get", 200) & headers(path, "get", 304)
    assert {"RateLimit", "RateLimit-Policy"} <= headers("/api/projects/{project_id}/upvote", "post", 200)
    assert "Set-Cookie" in headers("/api/auth/login", "post", 200)


@pytest.mark.extra("appeals", "claims", "fields", "links", "passkeys", "providers", "spam_rules")
def test_every_refusal_is_a_problem_with_its_codes(document):
    told = set()
    for operation in operations(document).values():
        refusals = {status: answer for status, answer in answers(document, operation).items() if status >= 400}
        assert {401, 422, 500, 503} <= refusals.keys()
        for status, answer in refusals.items():
            assert answer["content"].keys() == {"application/problem+json"}
            content = answer["content"]["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}  # generators read this one
            examples = {code: each["value"] for code, each in content["examples"].items()}
            assert {(each["code"], each["status"]) for each in examples.values()} == {
                (code, status) for code in examples
            }
            assert {KINDS[code].status for code in examples} == {status}
            told.update(examples)
    # These two come before there is a route.
    assert told == KINDS.keys() - {"bad_request", "method_not_allowed"}
    assert set(document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]) == KINDS.keys()


def test_whatever_writes_may_be_refused_for_its_body_and_its_origin(document):
    for (_path, method), operation in operations(document).items():
        assert ({400, 413, 415} <= answers(document, operation).keys()) == (method != "get")
        assert (403 in answers(document, operation)) or method == "get"


def test_ids_and_numbers_have_their_bounds(document):
    for (path, _method), operation in operations(document).items():
        for parameter in operation["parameters"]:
            schema = parameter["schema"]
            if parameter["in"] == "path":
                assert parameter["required"]
                assert f"{{{parameter['name']}}}" in path
            if parameter["name"].endswith("_id") and parameter["in"] == "path":
                assert schema == {"type": "integer", "format": "int64", "minimum": 1, "maximum": HIGHEST_ID}
            elif schema["type"] == "integer":
                assert schema["minimum"] < schema["maximum"]


def test_bodies_are_closed_and_answers_are_open(document):
    schemas = document["components"]["schemas"]
    closed = {name for name, schema in schemas.items() if schema.get("additionalProperties") is False}
    bodies = [op["requestBody"]["content"] for op in operations(document).values() if "requestBody" in op]
    named = {
        body["application/json"]["schema"]["$ref"].rpartition("/")[2] for body in bodies if "application/json" in body
    }
    within = {name for body in named for name in re.findall(r'schemas/(\w+)"', json.dumps(schemas[body]))}
    assert closed == named | within
    assert "title" in schemas["ProjectInput"]["required"]
    assert "required" not in schemas["ProjectChanges"]


def test_nullable_and_read_only_members_are_documented(document):
    project = document["components"]["schemas"]["ProjectDetail"]["properties"]
    assert project["repository_url"]["type"] == project["published_at"]["type"] == ["string", "null"]
    assert {name for name, member in project.items() if member.get("readOnly")} >= {"id", "status", "upvotes"}
    assert not {"title", "url", "tags"} & {name for name, member in project.items() if member.get("readOnly")}
    assert "nullable" not in json.dumps(document)


def test_the_examples_are_examples(document):
    for name, schema in document["components"]["schemas"].items():
        for key, member in schema["properties"].items():
            for example in member.get("examples", []):
                whole = {**member, "components": document["components"]}
                assert jsonschema_rs.is_valid(whole, example, validate_formats=True), (name, key)
    problem = document["components"]["schemas"]["Problem"]
    for answer in document["components"]["responses"].values():
        for example in answer["content"]["application/problem+json"]["examples"].values():
            jsonschema_rs.validate(problem, example["value"])


def test_the_document_is_served_with_a_validator(app):
    client = app.test_client()
    served = client.get("/api/openapi.json")
    assert served.content_type == "application/json"
    assert served.json["openapi"] == "3.1.0"
    again = client.get("/api/openapi.json", headers={"If-None-Match": served.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
