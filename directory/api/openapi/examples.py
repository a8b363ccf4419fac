"""Examples of bodies and answers, made from the schemas and from the values of one story.

Ada submits Flask, the administrator Grace approves it, and members vote for it.
"""

from collections.abc import Iterator
from typing import Any

from marshmallow import Schema, fields

Values = dict[str, Any]
LATER = {"created_at": "2026-11-20T10:00:00.123456Z", "updated_at": "2026-11-20T10:00:00.123456Z"}

# By "Schema.member", then by the name of the member in any schema. A schema inherits the values of its base.
VALUES: Values = {
    "actor": {"id": 1, "username": "grace"},
    "approval_rate": 0.82,
    "approvals": 3,
    "at": "2026-11-20T14:30:00.250000Z",
    "AttemptOutput.error": None,
    "AttemptOutput.response": "ok",
    "AttemptOutput.status": 200,
    "AuditOutput.action": "project.approved",
    "AuditOutput.from": "pending",
    "AuditOutput.id": 1207,
    "AuditOutput.reason": None,
    "AuditOutput.to": "live",
    "AuditOutput.user_id": None,
    "category": "web-frameworks",
    "CategoryOutput.description": "Libraries that serve web sites and APIs.",
    "CategoryOutput.name": "Web frameworks",
    "CategoryOutput.slug": "web-frameworks",
    "CategoryInput.description": "Libraries that serve web sites and APIs.",
    "CategoryInput.name": "Web frameworks",
    "CategoryInput.slug": "web-frameworks",
    "CategoryRef.name": "Web frameworks",
    "CategoryRef.slug": "web-frameworks",
    "created_at": "2026-11-20T10:00:00.123456Z",
    "current": True,
    "current_password": "paper clip orchard seven",
    "date": "2026-11-20",
    "Day.submissions": 4,
    "Day.upvotes": 61,
    "Decision.code": "not_found",
    "Decision.status": 200,
    "decision": "approve",
    "DecisionsInput.reason": None,
    "delivered_at": "2026-11-20T14:30:00.912000Z",
    "DeliveryOutput.id": 310,
    "description": "Routing, templates and a development server, and little else.",
    "email": "ada@example.org",
    "endpoint": "hooks.example.org-3f2a9c01d7be",
    "event": "project.approved",
    "expires_at": "2036-01-01T00:00:00Z",
    "fallback": False,
    "generated_at": "2026-11-20T14:31:00.000000Z",
    "has_upvoted": False,
    "head": "b7d1c2e3f4a5",
    "Health.status": "ok",
    "id": 42,
    "ids": [42],
    "is_admin": False,
    "last_seen_at": "2026-11-20T14:29:12.000000Z",
    "last_submission_at": "2026-11-20T10:00:00.123456Z",
    "last_used_at": "2026-11-20T14:00:00.000000Z",
    "limit": 20,
    "live": 7,
    "live_projects": 7,
    "login": "ada",
    "logo_url": None,
    "median_seconds_to_decision": 16200.0,
    "MigrationsCheck.current": "b7d1c2e3f4a5",
    "milliseconds": 118,
    "next_attempt_at": None,
    "next_cursor": None,
    "ok": True,
    "oldest_submitted_at": "2026-11-20T11:45:00.000000Z",
    "oldest_undelivered_seconds": None,
    "page": 1,
    "pages": 1,
    "password": "correct horse battery staple",
    "pending": 2,
    "prev_cursor": None,
    "project_id": 42,
    "ProjectCounts.total": 10,
    "published_at": "2026-11-20T14:30:00.250000Z",
    "queue_length": 2,
    "queue_position": None,
    "Readiness.status": "ready",
    "reason": "The link is dead.",
    "rejected": 1,
    "rejection_reason": None,
    "rejections": 1,
    "repository_url": "https://github.com/pallets/flask",
    "role": "member",
    "SessionOutput.id": 512,
    "signups": 9,
    "slug": "flask",
    "state": "delivered",
    "submitted_at": "2026-11-20T10:00:00.123456Z",
    "suspended": 1,
    "tagline": "A lightweight web framework for Python",
    "tags": ["python", "web"],
    "title": "Flask",
    "TopCategory.name": "Web frameworks",
    "TopCategory.slug": "web-frameworks",
    "token": "pds_3q2-7wXb0N5kV1rTzYcE8uJmLhGfDsAaPoIi9eKtMn4",
    "TokenInput.name": "deploy script",
    "TokenOutput.id": 18,
    "TokenOutput.name": "deploy script",
    "total": 1,
    "total_capped": False,
    "Totals.upvotes": 1284,
    "updated_at": "2026-11-20T14:30:00.250000Z",
    "upvoted": True,
    "upvotes": 128,
    "upvotes_given": 31,
    "upvotes_received": 128,
    "url": "https://flask.palletsprojects.com",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "UserCounts.active": 96,
    "UserCounts.suspended": 1,
    "UserCounts.total": 97,
    "UserOutput.id": 7,
    "UserOutput.status": "active",
    "UserChanges.status": "active",
    "UserChanges.role": "admin",
    "UserRef.id": 7,
    "username": "ada",
    "ProjectOutput.status": "live",
    "webhook_id": "msg_5f1c9f0c2f6e4d6c8a55e0b1c9d27a43",
}

_FRESH = {
    "status": "pending", "upvotes": 0, "published_at": None, "queue_position": 3, **LATER,
}  # fmt: skip
_REJECTED = {"status": "rejected", "upvotes": 0, "published_at": None, "rejection_reason": "The link is dead."}
# What differs from the story in the answer of an operation; `...` leaves a member out.
ANSWERS: dict[str, Values] = {
    "adminApprove": {"upvotes": 0},
    "adminChangeCategory": {"name": "Web and API frameworks"},
    "adminChangeUser": {"role": "admin", "is_admin": True},
    "adminQueue": {"items.0": {**_FRESH, "queue_position": ...}},
    "adminReject": _REJECTED,
    "adminUnpublish": {"status": "pending", "queue_position": 3, "rejection_reason": "The link is dead."},
    "adminRedeliver": {"state": "pending", "next_attempt_at": "2026-11-20T15:02:00.000000Z", "delivered_at": None},
    "adminAddCategory": {"live_projects": 0},
    "adminDecide": {"items.0": {"code": ...}},
    "authIssueToken": {"last_used_at": None},
    "projectsCreate": _FRESH,
    "projectsIndex": {"items.0": {"has_upvoted": None, "rejection_reason": ...}},
    "projectsShow": {"has_upvoted": None, "rejection_reason": ..., "queue_position": ...},
    "projectsUpdate": {"tagline": "The Python micro framework for building web applications"},
    "projectsWithdrawVote": {"upvoted": False, "upvotes": 127},
}
BODIES: dict[str, Values] = {
    "adminApprove": {"reason": "Well documented."},
    "adminChangeCategory": {"slug": ..., "name": "Web and API frameworks", "description": ...},
    "adminChangeUser": {"status": ...},
    "projectsUpdate": {
        "title": ..., "description": ..., "url": ..., "category": ..., "repository_url": ..., "logo_url": ...,
        "tags": ..., "tagline": "The Python micro framework for building web applications",
    },
}  # fmt: skip
TEXTS = {
    "application/atom+xml": '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">…</feed>',
    "text/html": '<!doctype html>\n<html lang="en">…</html>',
    "text/plain": 'directory_http_requests_total{method="GET",route="/api/projects",status="200"} 128.0\n',
    "text/css": "body.text { max-width: 44rem; }",
    "text/javascript": '"use strict";',
    "image/png": "PNG",
}
DOCUMENT = {"openapi": "3.1.0", "info": {"title": "Project Directory API", "version": "0.1.0"}, "paths": {}}
PATHS = {"slug": "web-frameworks", "code": "not_found", "name": "pages.css", "version": "0123456789abcdef"}


def body(schema: Schema, operation: str) -> Values:
    """The example of a body."""
    return _changed(of(schema), BODIES.get(operation, {}))


def answer(schema: Schema | None, operation: str) -> Any:
    """The example of a JSON answer."""
    return DOCUMENT if schema is None else _changed(of(schema), ANSWERS.get(operation, {}))


def of(schema: Schema) -> Values:
    """The example of a schema. Raises KeyError for a member that the story has no value for."""
    return {field.data_key or name: _value(schema, name, field) for name, field in schema.fields.items()}


def _value(schema: Schema, name: str, field: fields.Field[Any]) -> Any:
    given = [VALUES[key] for key in _keys(schema, field.data_key or name) if key in VALUES]
    inner = field.inner if isinstance(field, fields.List) else field
    # "category" is a slug in a body and an object in an answer.
    if isinstance(inner, fields.Nested) and not (given and isinstance(given[0], dict)):
        made = of(inner.schema)
        return [made] if isinstance(field, fields.List) else made
    if not given:
        raise KeyError(f"give VALUES of directory/api/openapi/examples.py an example of {type(schema).__name__}.{name}")
    return given[0]


def _keys(schema: Schema, name: str) -> Iterator[str]:
    yield from (f"{kind.__name__}.{name}" for kind in type(schema).__mro__)
    yield name


def _changed(example: Values, changes: Values) -> Values:
    """The example with other values; `...` leaves a member out, and "items.0" names the first of a list."""
    changed = dict(example)
    for name, value in changes.items():
        member, _, place = name.partition(".")
        if place:
            changed[member] = [_changed(example[member][int(place)], value)]
        else:
            changed[name] = value
    return {name: value for name, value in changed.items() if value is not ...}
