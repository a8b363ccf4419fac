"""Marshmallow's schemas as JSON Schema: their names, and the properties that apispec leaves out."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from marshmallow import Schema

from directory.api.openapi import prose
from directory.http.fields import Strict
from directory.http.serialization import members_of


def name_of(schema: Any) -> str:
    """The name of a schema in the document: Project for ProjectOutput, ProjectChanges for a partial ProjectInput."""
    own = (schema if isinstance(schema, type) else type(schema)).__name__
    if getattr(schema, "partial", None):
        return str(own.removesuffix("Input").removesuffix("Changes")) + "Changes"
    return str(own.removesuffix("Output"))


class Converter(OpenAPIConverter):
    """apispec's converter, with the docstrings, and with answers left open.

    `taken` are the schemas of bodies; `added` has the members that extras add to answers.
    """

    taken: Collection[type[Schema]] = ()
    added: Mapping[type[Schema], Sequence[Any]] = MappingProxyType({})

    def schema2jsonschema(self, schema: Strict) -> dict[str, Any]:
        """A schema as JSON Schema. Only bodies are closed: an answer may gain members without a new prefix."""
        described: dict[str, Any] = super().schema2jsonschema(schema)  # type: ignore[no-untyped-call]
        if type(schema) in self.added:
            described |= self.fields2jsonschema(members_of(schema, self.added))  # type: ignore[no-untyped-call]
        if type(schema) in self.taken:
            _add_examples(described["properties"])
        else:
            described.pop("additionalProperties", None)
        description = " ".join((inspect.getdoc(type(schema)) or "").split())
        return {"description": description, **described, **schema.rules}


def _add_examples(members: dict[str, Any]) -> None:
    """Give the members of a body an example each; those of an answer stand in the whole answer's example."""
    for key, member in members.items():
        if key in prose.EXAMPLES and "type" in member:
            member.setdefault("examples", [prose.EXAMPLES[key]])


class Plugin(MarshmallowPlugin):
    """apispec's plugin with our converter."""

    Converter = Converter
