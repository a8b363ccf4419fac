"""The OpenAPI document: true to the routes, valid, complete, and the same as the copy in the repository."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.adapter.validators import OPENAPI_31_VALIDATOR

from directory.api import openapi
from tests.conftest import build

SNAPSHOT = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"
METHODS = {"get", "post", "put", "delete"}


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """An application whose database nobody asks: the document is made of the routes."""
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
    assert SNAPSHOT.read_text() == openapi.printed(app), "refresh it: flask openapi > docs/openapi.json"


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


def test_every_route_stands_in_it_and_nothing_else(app, document):
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert set(operations(document)) == routes
