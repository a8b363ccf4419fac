"""Compiled dumps give the same as marshmallow's own, for every schema of an answer."""

from datetime import UTC, date, datetime
from typing import Any

from flask import Flask
from marshmallow import Schema, fields

from directory.http.fields import Timestamp
from directory.http.serialization import compiled


def test_a_compiled_dump_equals_the_dump_of_its_schema(app: Flask) -> None:
    checked = 0
    with app.test_request_context():
        for view in app.view_functions.values():
            schema: Schema | None = getattr(getattr(view, "operation", None), "answer", None)
            if schema is not None:
                assert compiled(schema)(_sample(schema)) == schema.dump(_sample(schema)), type(schema)
                checked += 1
    assert checked > 20


def _sample(schema: Schema) -> dict[str, Any]:
    """A value for every field, of the type that the services give."""

    def value(field: Any) -> Any:
        if isinstance(field, fields.Nested):
            return _sample(field.schema)
        if isinstance(field, fields.List):
            return [value(field.inner), value(field.inner)]
        if isinstance(field, fields.Dict):
            return {"one": value(field.value_field), "other": value(field.value_field)}
        for kind, sample in (
            (Timestamp, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)), (fields.Date, date(2026, 1, 2)),
            (fields.Boolean, True), (fields.Integer, 7), (fields.Float, 0.5), (fields.String, "ü"),
        ):  # fmt: skip
            if isinstance(field, kind):
                return sample
        return None

    return {field.attribute or name: value(field) for name, field in schema.dump_fields.items()}
