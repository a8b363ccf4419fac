"""The answers of the routes: successes from their operations, refusals from their codes."""

import inspect
from typing import TYPE_CHECKING, Any

from directory.errors import ERRORS_MAX, DirectoryError, RateLimited
from directory.http import problem_details
from directory.http.problem_kinds import KINDS
from directory.language.catalogues import ENGLISH

if TYPE_CHECKING:
    from directory.api.openapi.operations import Route

TEXT = {"type": "string"}


def _header(description: str, schema: dict[str, Any] = TEXT, *, is_required: bool = True) -> dict[str, Any]:
    return {"description": description, **({"required": True} if is_required else {}), "schema": schema}


HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-ID": _header(
        "The request's id: the caller's own X-Request-ID if it is 1 to 64 of `A-Za-z0-9._-`, else a fresh one. Every "
        "log line of the request has it.",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
    ),
    "ETag": _header(
        "The version of this answer, for `If-None-Match`, and of a project for `If-Match`. That of a compressed answer "
        "ends in `-gz`.",
        {"type": "string", "pattern": '^"[0-9a-f-]+(-gz)?"$'},
    ),
    "Cache-Control": _header("Which caches may store it, and for how long."),
    "Vary": _header("The request's headers on which the answer depends."),
    "Content-Language": _header(
        "The language of an answer's texts, such as a problem's `title`, by `Accept-Language`; not where the site has "
        "English alone.",
        is_required=False,
    ),
    "Content-Disposition": _header(
        "The name of the file to save the answer as.",
        {"type": "string", "pattern": '^attachment; filename="[a-z0-9_.-]+"$'},
    ),
    "Link": _header("RFC 8288: first, prev, next and last, as far as they exist, with all filters."),
    "Location": _header(
        "The path of the new object, or the target of a redirect.", {"type": "string", "pattern": "^(/|https?:)"}
    ),
    "Set-Cookie": _header(
        "The session's cookie, or that of a sign-in by a provider: HttpOnly, SameSite=Lax. Signing out by a token "
        "sends none."
    ),
    "WWW-Authenticate": _header("Which credentials are taken."),
    "Retry-After": _header("In how many seconds to try again.", {"type": "integer", "minimum": 1}),
    "RateLimit": _header(
        "What is left of each limit that the request was counted against (IETF draft): `r` requests for `t` seconds. "
        "The answer to a login shows an account's own limit only when that refuses it.",
        is_required=False,
    ),
    "RateLimit-Policy": _header("Those limits: `q` requests in `w` seconds.", is_required=False),
}
PROBLEM: dict[str, Any] = {
    "description": "A refusal (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "request_id"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "description": "The page that explains the error."},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "The cause of this error."},
        "code": {"type": "string", "enum": list(KINDS), "description": "Stable; decide by this."},
        "request_id": {"type": "string", "description": "To be quoted when the problem is reported."},
        "errors": {
            "description": "With `validation_failed` and `duplicate`: the refused parts, by a JSON Pointer into the "
            "body or by the name of a query parameter.",
            "type": "array",
            "minItems": 1,
            "maxItems": ERRORS_MAX,
            "items": {
                "type": "object",
                "required": ["detail"],
                "properties": {
                    "pointer": {"type": "string"},
                    "parameter": {"type": "string"},
                    "detail": {"type": "string"},
                },
                "oneOf": [{"required": ["pointer"]}, {"required": ["parameter"]}],
            },
        },
        "errors_truncated": {
            "type": "boolean",
            "const": True,
            "description": "There are more errors than those of `errors`, which are the first by place.",
        },
        "existing": {
            "description": "With `duplicate`, of a project's URL: the project of the same owner that has it.",
            "type": "object",
            "required": ["id", "title", "status"],
            "properties": {"id": {"type": "integer"}, "title": {"type": "string"}, "status": {"type": "string"}},
        },
        "current_status": {
            "type": "string",
            "enum": ["live", "pending", "rejected"],
            "description": "With `invalid_transition`: the project's state.",
        },
    },
}
EXTRAS: dict[str, dict[str, Any]] = {
    "validation_failed": {"errors": [{"pointer": "#/url", "detail": "Must name a valid host."}]},
    "invalid_transition": {"current_status": "rejected", "detail": "A project that is rejected cannot be approved."},
    "duplicate": {
        "detail": "You have submitted this URL already.",
        "errors": [{"pointer": "#/url", "detail": "This url is taken."}],
        "existing": {"id": 42, "title": "Flask", "status": "live"},
    },
    "rate_limited": {"detail": ENGLISH.say(RateLimited(42).detail)},
}


def successes(route: "Route") -> dict[str, Any]:
    """The answers to a request that is granted, by status."""
    operation, documented = route.operation, route.documentation
    names = ["X-Request-ID", "Cache-Control", *documented.headers]
    if operation.etag:
        names.append("ETag")
    if not operation.constant and "Vary" not in documented.optional_headers:
        names.append("Vary")
    if operation.tier is not None:
        names += ["RateLimit", "RateLimit-Policy"]
    described = inspect.getdoc(type(operation.answer)) if operation.answer else None
    headers: dict[str, Any] = {name: name for name in names}
    headers |= {name: {**HEADERS[name], "required": False} for name in documented.optional_headers}
    answer = {"description": described or f"{route.summary}.", "headers": headers}
    if operation.answer or operation.status not in {202, 204, 302}:
        kind = "object" if "application/json" in documented.media_types else "string"
        schema: Any = operation.answer or {"type": kind}
        answer["content"] = {media_type: {"schema": schema} for media_type in documented.media_types}
    answers = {str(operation.status): answer}
    if operation.etag and route.method == "get":
        answers["304"] = {"description": "Unchanged since the ETag given.", "headers": {name: name for name in names}}
    return answers


def by_status(codes: set[str]) -> dict[int, list[str]]:
    """Codes in the order of `KINDS`, by their status."""
    grouped: dict[int, list[str]] = {}
    for code, kind in KINDS.items():
        if code in codes:
            grouped.setdefault(kind.status, []).append(code)
    return dict(sorted(grouped.items()))


def name(codes: list[str]) -> str:
    """The name in the document of the answer with one of these codes."""
    return "Or".join("".join(word.title() for word in code.split("_")) for code in codes)


def refusal(codes: list[str]) -> dict[str, Any]:
    """The answer with one of these codes, which share a status."""
    status = KINDS[codes[0]].status
    names = ["X-Request-ID", "Cache-Control", "Vary", "Content-Language", "RateLimit", "RateLimit-Policy"]
    names += {401: ["WWW-Authenticate"], 429: ["Retry-After"], 503: ["Retry-After"]}.get(status, [])
    content = {
        # Not narrowed by `allOf`, which generators of clients cannot read: the examples name the codes.
        "schema": {"$ref": "#/components/schemas/Problem"},
        "examples": {code: {"summary": ENGLISH.say(KINDS[code].title), "value": _example(code)} for code in codes},
    }
    return {
        "description": "\n".join(f"- `{code}`: {KINDS[code].meaning}" for code in codes),
        "headers": {name: name for name in names},
        "content": {problem_details.MEDIA_TYPE: content},
    }


def _example(code: str) -> dict[str, Any]:
    kind = KINDS[code]
    details = {error.code: error.default for error in _tree(DirectoryError)}
    problem = problem_details.body(code, kind.status, details.get(code, kind.meaning), "7f0c2a61d9e84b5f")
    return {**problem, **EXTRAS.get(code, {})}


def _tree(error: type[DirectoryError]) -> list[type[DirectoryError]]:
    return [error, *(kind for below in error.__subclasses__() for kind in _tree(below))]
