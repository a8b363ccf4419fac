"""The routes of the document, described by their operations."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Flask
from werkzeug.routing import Rule

from directory.api.openapi import prose
from directory.errors import EmailNotVerified, OtherUser, PreconditionFailed
from directory.http.access import OPEN
from directory.http.docs import ASSETS
from directory.http.endpoint import Documentation, Operation
from directory.http.exchange import READS
from directory.http.problem_kinds import KINDS
from directory.http.serialization import query_of
from directory.http.validation import NO_BODY, NOTHING, JsonBody, Upload
from directory.http.write_checks import EXPECTED_USER
from directory.models.base import HIGHEST_ID
from directory.services.text.rules import CATEGORY_SLUG_MAX, SLUG, USERNAME

EVERYWHERE = ("validation_failed", "unauthenticated", "internal", "unavailable")
WRITES = ("malformed_json", "cross_site_request", "too_large", "unsupported_media_type", "read_only")
BY_ACCESS = {
    "public": (),
    "member": (),
    "open_by": (),
    "owner": ("not_owner", "not_found"),
    "reviewer": ("reviewer_required", "passkey_required"),
    "own": ("not_found",),
    "admin": ("admin_required", "passkey_required"),
}
ANY_CREDENTIALS: list[dict[str, list[str]]] = [{"cookie": []}, {"bearer": []}]

PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "field": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$", "maxLength": 32},
    "slug": {"type": "string", "pattern": f"^{SLUG.pattern}$", "maxLength": CATEGORY_SLUG_MAX},
    "username": {"type": "string", "pattern": f"^{USERNAME.pattern}$"},
    "code": {"type": "string", "enum": list(KINDS)},
    "version": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "name": {"type": "string", "enum": list(ASSETS)},
    "token": {"type": "string", "pattern": "^[0-9]+-[A-Za-z0-9_-]{43}$"},
    "provider": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,15}$"},
    "endpoint": {"type": "string", "pattern": "^[^/]+$", "maxLength": 300},
}
ID_SCHEMA = {"type": "integer", "format": "int64", "minimum": 1, "maximum": HIGHEST_ID}


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path, with its view."""

    rule: Rule
    method: str
    view: Callable[..., Any]

    @property
    def operation(self) -> Operation:
        """The parameters, the body and the answers of the view."""
        operation: Operation = self.view.operation  # type: ignore[attr-defined]
        return operation

    @property
    def documentation(self) -> Documentation:
        """The further description of the view in the document."""
        return getattr(self.view, "documentation", Documentation())

    @property
    def access(self) -> str:
        """Who may call the view."""
        return str(self.view.access)  # type: ignore[attr-defined]

    @property
    def path(self) -> str:
        """The path as OpenAPI writes it."""
        return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(self.rule.rule))

    @property
    def id(self) -> str:
        """The view's name, which generators of clients make a function of."""
        first, *rest = re.split("[._]", str(self.rule.endpoint))
        return first + "".join(word.title() for word in rest)

    @property
    def tag(self) -> str:
        """The blueprint's name."""
        return str(self.rule.endpoint).partition(".")[0]

    @property
    def summary(self) -> str:
        """The first sentence of the view's docstring."""
        return self._docstring()[0].rstrip(".")

    @property
    def description(self) -> str:
        """The rest of the docstring, and who may call."""
        access = prose.ACCESS[self.access].format(setting=getattr(self.view, "open_by", ""))
        return "\n\n".join(part for part in (self._docstring()[1], access) if part)

    def _docstring(self) -> tuple[str, str]:
        summary, _, rest = (inspect.getdoc(self.view) or "").partition("\n\n")
        return " ".join(summary.split()), rest

    def parameters(self) -> list[dict[str, Any]]:
        """The parameters in the path, the query and the headers."""
        parameters = [self._path_parameter(name) for name in sorted(self.rule.arguments)]
        if self.operation.query is not NOTHING:
            parameters.append({"in": "query", "schema": query_of(self.operation.query)})
        if self.operation.etag and self.method == "get":
            parameters.append(header_parameter("If-None-Match", prose.IF_NONE_MATCH))
        if PreconditionFailed in self.documentation.raises:
            parameters.append(header_parameter("If-Match", prose.IF_MATCH))
        if self.is_write_of_a_caller:
            parameters.append(header_parameter(EXPECTED_USER, prose.EXPECTED_USER))
        return parameters

    @property
    def is_write_of_a_caller(self) -> bool:
        """Whether the route changes something in the name of the caller."""
        return self.method.upper() not in READS and bool(self.security())

    def _path_parameter(self, name: str) -> dict[str, Any]:
        schema = PATH_SCHEMAS.get(name, ID_SCHEMA)
        return {"in": "path", "name": name, "required": True, "schema": schema, "example": prose.PATHS[name]}

    def body(self) -> dict[str, Any] | None:
        """The body; None if the route takes none."""
        body = self.operation.body
        if isinstance(body, Upload):
            content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in body.media_types}
            return {"required": True, "content": content}
        if not isinstance(body, JsonBody) or body is NO_BODY:
            return None
        return {"required": not body.optional, "content": {"application/json": {"schema": body.schema}}}

    def security(self) -> list[dict[str, list[str]]]:
        """The credentials that the route needs or accepts."""
        if self.access not in {"public", "open_by"}:
            return ANY_CREDENTIALS
        return [{}, *ANY_CREDENTIALS] if self.operation.personal else []

    def refusals(self) -> set[str]:
        """The codes of the problems that the route may answer."""
        codes = {*EVERYWHERE, *BY_ACCESS[self.access], *(error.code for error in self.documentation.raises)}
        if self.method.upper() not in READS:
            codes.update(WRITES)
        if self.is_write_of_a_caller:
            codes.add(OtherUser.code)
        # READS=members may close public routes too.
        if (self.access != "public" or self.rule.rule not in OPEN) and not hasattr(self.view, "for_unconfirmed"):
            codes.add(EmailNotVerified.code)
        if self.operation.tier is not None:
            codes.add("rate_limited")
        if self.rule.arguments:
            codes.add("not_found")
        return codes


def routes(app: Flask) -> list[Route]:
    """Every route but those of pages, by path and then by method."""
    every = (
        Route(rule, method.lower(), app.view_functions[rule.endpoint])
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    )
    shown = [route for route in every if not route.operation.page]
    return sorted(shown, key=lambda route: (route.path, ("get", "post", "put", "delete").index(route.method)))


def header_parameter(name: str, description: str, *, is_required: bool = False) -> dict[str, Any]:
    """The description of a header of requests."""
    facts = {"in": "header", "name": name, "required": is_required, "description": description}
    return {**facts, "schema": {"type": "string"}}
