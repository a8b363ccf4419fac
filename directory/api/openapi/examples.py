"""The examples of bodies and answers, made from each operation's schemas and the values in `prose`."""

from collections.abc import Iterator
from typing import Any

from directory.api.openapi.prose import EXAMPLES, EXAMPLES_IN, TEXTS

JSON = "application/json"


class Maker:
    """Makes examples of the schemas of a document."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas

    def add(self, paths: dict[str, Any]) -> None:
        """Give each body and each successful answer of the operations an example; images have none."""
        for operation in (described for methods in paths.values() for described in methods.values()):
            for media_type, content in _contents(operation):
                if media_type == JSON and content:
                    content["example"] = self.of(content["schema"])
                elif media_type in TEXTS:
                    content["example"] = TEXTS[media_type]

    def of(self, schema: dict[str, Any], key: str = "", within: str = "") -> Any:
        """An example of a schema, which is the member `key` of the schema named `within`.

        Raises LookupError for a text that has no example.
        """
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self.of(self._schemas[name], key, name)
        known = {**EXAMPLES, **EXAMPLES_IN.get(within, {})}
        if key in known and known[key] is None and _may_be_null(schema):
            return None
        if "anyOf" in schema:
            return self.of(schema["anyOf"][0], key, within)
        if "properties" in schema:
            return {name: self.of(schema["properties"][name], name, within) for name in _together(schema)}
        if "items" in schema and ("$ref" in schema["items"] or key not in known):
            return [self.of(schema["items"], key, within)]
        return _value(schema, key, known)


def _value(schema: dict[str, Any], key: str, known: dict[str, Any]) -> Any:
    """The example of a value without a schema of its own. Raises LookupError."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return known[key] if known.get(key) in schema["enum"] else schema["enum"][0]
    return known[key] if known.get(key) is not None else _plain(schema, key)


def _plain(schema: dict[str, Any], key: str) -> Any:
    """The example of a value that has none in `prose`. Raises LookupError."""
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "string" and schema.get("format") != "date-time":
        if _may_be_null(schema):
            return None
        raise LookupError(f"prose.EXAMPLES has no {key!r}")
    numbers = {"integer": schema.get("minimum", 1), "number": 0.5, "boolean": True}
    return {**numbers, "object": {}, "string": EXAMPLES["created_at"]}[str(kind)]


def _contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The contents of an operation's body and of its successful answer, by media type."""
    yield from operation.get("requestBody", {}).get("content", {}).items()
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield from answer.get("content", {}).items()


def _may_be_null(schema: dict[str, Any]) -> bool:
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())


def _together(schema: dict[str, Any]) -> list[str]:
    """The members of a schema that may stand together: of alternatives the first; none that most may not have."""
    others = {name for alternative in schema.get("oneOf", [])[1:] for name in alternative["required"]}
    others |= {name for name, allowed in schema.get("else", {}).get("properties", {}).items() if allowed is False}
    return [name for name in schema["properties"] if name not in others]
