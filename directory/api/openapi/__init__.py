"""The API's OpenAPI 3.1 document, made from the routes: a view's `operation` both runs and describes it."""

from collections.abc import Iterator
from typing import Any

import orjson
from apispec import APISpec
from flask import current_app
from marshmallow import Schema, fields

from directory.api.openapi import answers, prose, webhooks
from directory.api.openapi.examples import Maker
from directory.api.openapi.operations import Route, routes
from directory.api.openapi.schemas import Plugin, name_of
from directory.services.build import RELEASE


def served() -> bytes:
    """The current application's document as it is served; made once in each process."""
    content: bytes | None = current_app.extensions.get("openapi")
    if content is None:
        content = orjson.dumps(document())
        current_app.extensions["openapi"] = content
    return content


def printed() -> str:
    """The current application's document for people and for `docs/openapi.json`: indented, one line for one fact."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def document() -> dict[str, Any]:
    """The document of the current application's routes."""
    listed = routes(current_app)
    tags = {"webhooks", *(route.tag for route in listed)}
    plugin = Plugin(schema_name_resolver=name_of)
    spec = APISpec(
        title="Project Directory API",
        version=RELEASE.removesuffix(".dev"),  # that of the API does not change with each commit
        openapi_version="3.1.0",
        plugins=[plugin],
        info={
            "description": prose.INTRODUCTION,
            "contact": {"name": "The operator of this directory"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        servers=[{"url": "/", "description": "This service."}],
        tags=[{"name": name, "description": text} for name, text in prose.TAGS.items() if name in tags],
    )
    taken = {schema for route in listed for schema in _with_nested(route.operation.body.schema)}
    converter: Any = plugin.converter
    converter.taken, converter.added = taken, current_app.extensions["answers"]
    _shared(spec)
    for route in listed:
        spec.path(route.path, operations={route.method: _operation(route, spec)})
    whole: dict[str, Any] = spec.to_dict()
    maker = Maker(whole["components"]["schemas"])
    maker.add(whole["paths"])
    webhooks.add(whole, maker)
    return whole


def _with_nested(schema: Schema) -> Iterator[type[Schema]]:
    """The class of a schema and those of the schemas within it."""
    yield type(schema)
    for field in schema.fields.values():
        inner = field.inner if isinstance(field, fields.List) else field
        if isinstance(inner, fields.Nested):
            yield from _with_nested(inner.schema)


def _shared(spec: APISpec) -> None:
    """The components that operations refer to, except schemas and refusals, which the operations add themselves."""
    for name, header in answers.HEADERS.items():
        spec.components.header(name, header)
    spec.components.schema("Problem", answers.PROBLEM)
    cookie = {"type": "apiKey", "in": "cookie", "name": "__Host-directory"}
    spec.components.security_scheme("cookie", {**cookie, "description": prose.COOKIE})
    spec.components.security_scheme("bearer", {"type": "http", "scheme": "bearer", "description": prose.BEARER})


def _operation(route: Route, spec: APISpec) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "operationId": route.id,
        "tags": [route.tag],
        "summary": route.summary,
        "description": route.description,
        "parameters": route.parameters(),
        "responses": {**answers.successes(route), **_refusals(route, spec)},
        "security": route.security(),
    }
    if body := route.body():
        facts["requestBody"] = body
    return facts


def _refusals(route: Route, spec: APISpec) -> dict[str, Any]:
    """The refusals by status; each set of codes is one component that routes share."""
    by_status = answers.by_status(route.refusals())
    for codes in by_status.values():
        name = answers.name(codes)
        if name not in spec.components.responses:
            spec.components.response(name, answers.refusal(codes))
    return {str(status): answers.name(codes) for status, codes in by_status.items()}
