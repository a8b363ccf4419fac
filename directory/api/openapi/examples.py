"""The examples of the document: one small set of people and projects, told the same way by every operation.

Ada is a member and owns Flask (42) and Werkzeug Notes (43); Grace administrates; Linus is a member who votes.
"""

from typing import Any

ADA = {"id": 7, "username": "ada"}
GRACE = {"id": 1, "username": "grace"}
FRAMEWORKS = {"slug": "web-frameworks", "name": "Web frameworks"}
CATEGORY = {**FRAMEWORKS, "description": "Routing, templates and all that answers requests.", "live_projects": 7}
NEW_CATEGORY = {"slug": "data-tools", "name": "Data tools", "description": "Reading, cleaning and plotting data."}
FLASK_INPUT = {
    "title": "Flask",
    "tagline": "A lightweight web framework",
    "description": "Routing, templates and a development server, and little else.",
    "url": "https://flask.example",
    "category": "web-frameworks",
    "repository_url": "https://code.example/flask",
    "logo_url": "https://flask.example/logo.svg",
    "tags": ["python", "web"],
}
FLASK = {
    **FLASK_INPUT,
    "id": 42,
    "slug": "flask",
    "category": FRAMEWORKS,
    "status": "live",
    "upvotes": 128,
    "has_upvoted": None,
    "owner": ADA,
    "created_at": "2026-11-20T10:00:00.123456Z",
    "updated_at": "2026-11-20T10:00:00.123456Z",
    "submitted_at": "2026-11-20T10:00:00.123456Z",
    "published_at": "2026-11-20T14:30:00.000000Z",
}
PENDING = {
    **FLASK,
    "status": "pending",
    "upvotes": 0,
    "has_upvoted": False,
    "published_at": None,
    "rejection_reason": None,
}
UNPUBLISHED = {**PENDING, "upvotes": 128, "published_at": FLASK["published_at"], "queue_position": 4}
APPROVED = {
    **FLASK,
    "upvotes": 0,
    "has_upvoted": False,
    "rejection_reason": None,
    "queue_position": None,
}
REASON = "The link is dead."
REJECTED = {**PENDING, "status": "rejected", "rejection_reason": REASON, "queue_position": None}
NOTES = {
    **PENDING,
    "id": 43,
    "slug": "werkzeug-notes",
    "title": "Werkzeug Notes",
    "tagline": "How requests reach a view",
    "description": "",
    "url": "https://notes.example/werkzeug",
    "repository_url": None,
    "logo_url": None,
    "tags": ["python"],
    "created_at": "2026-11-22T08:15:00.000000Z",
    "updated_at": "2026-11-22T08:15:00.000000Z",
    "submitted_at": "2026-11-22T08:15:00.000000Z",
}
USER = {
    **ADA,
    "email": "ada@example.org",
    "role": "member",
    "is_admin": False,
    "status": "active",
    "created_at": "2026-11-01T09:00:00.000000Z",
}
SESSION = {
    "id": 31,
    "created_at": "2026-11-20T09:58:00.000000Z",
    "last_seen_at": "2026-11-23T11:02:00.000000Z",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "current": True,
}
TOKEN = {
    "id": 5,
    "name": "Release script",
    "created_at": "2026-11-20T10:05:00.000000Z",
    "expires_at": "2036-01-01T00:00:00.000000Z",
    "last_used_at": None,
}
PAGINATION = {
    "page": 1,
    "limit": 20,
    "total": 1,
    "total_capped": False,
    "pages": 1,
    "next_cursor": None,
    "prev_cursor": None,
}
CURSORS = {"limit": 20, "next_cursor": None, "prev_cursor": None}
SUBMISSION = {
    "id": 300,
    "action": "project.submitted",
    "at": FLASK["submitted_at"],
    "actor": ADA,
    "project_id": 42,
    "user_id": None,
    "from": None,
    "to": "pending",
    "reason": None,
}
APPROVAL = {
    **SUBMISSION,
    "id": 301,
    "action": "project.approved",
    "at": FLASK["published_at"],
    "actor": GRACE,
    "from": "pending",
    "to": "live",
}
LOG = {"items": [APPROVAL, SUBMISSION], "pagination": CURSORS}
CHECKS = {
    "database": {"ok": True},
    "migrations": {"ok": True, "current": "0012", "head": "0012"},
    "redis": None,
    "webhooks": {"oldest_undelivered_seconds": None},
}
PASSWORD = "correct horse battery staple"  # noqa: S105 an example, of no account

PATHS: dict[str, Any] = {
    "project_id": 42,
    "user_id": 7,
    "session_id": 31,
    "token_id": 5,
    "delivery_id": 91,
    "endpoint": "hooks.example-1f9d03c2ab47",
    "slug": "web-frameworks",
    "code": "not_found",
    "version": "0123456789abcdef",
    "name": "docs.js",
}
# By the operation's id.
BODIES: dict[str, Any] = {
    "adminAddCategory": NEW_CATEGORY,
    "adminChangeCategory": {"description": CATEGORY["description"]},
    "adminDecide": {"decision": "reject", "ids": [42, 99], "reason": REASON},
    "adminApprove": {"reason": "Checked the licence."},
    "adminReject": {"reason": REASON},
    "adminUnpublish": {"reason": REASON},
    "authLogin": {"login": "ada", "password": PASSWORD},
    "authChange": {"email": "ada@example.org"},
    "authRegister": {"username": "ada", "email": "ada@example.org", "password": PASSWORD},
    "authIssueToken": {"name": "Release script", "expires_at": "2036-01-01T00:00:00Z"},
    "projectsCreate": FLASK_INPUT,
    "projectsUpdate": {"tagline": FLASK_INPUT["tagline"], "tags": ["python", "web"]},
}
ANSWERS: dict[str, Any] = {
    "adminLog": LOG,
    "adminAddCategory": {**NEW_CATEGORY, "live_projects": 0},
    "adminChangeCategory": CATEGORY,
    "adminQueue": {"items": [NOTES], "pagination": PAGINATION},
    "adminDecide": {
        "items": [{"id": 42, "status": 200, "project": REJECTED}, {"id": 99, "status": 404, "code": "not_found"}]
    },
    "adminApprove": APPROVED,
    "adminHistory": LOG,
    "adminReject": REJECTED,
    "adminUnpublish": UNPUBLISHED,
    "authLogin": USER,
    "authShow": USER,
    "authChange": USER,
    "authRegister": USER,
    "authListSessions": {"items": [SESSION]},
    "authListTokens": {"items": [TOKEN]},
    "authIssueToken": {**TOKEN, "token": "pds_example-of-a-token-that-opens-nothing"},
    "categoriesIndex": {"items": [CATEGORY]},
    "projectsIndex": {"items": [FLASK], "pagination": PAGINATION},
    "projectsCreate": {**PENDING, "queue_position": 4},
    "projectsShow": FLASK,
    "projectsUpdate": {**PENDING, "queue_position": 4},
    "projectsToggleVote": {"project_id": 42, "upvoted": True, "upvotes": 129},
    "projectsCastVote": {"project_id": 42, "upvoted": True, "upvotes": 129},
    "projectsWithdrawVote": {"project_id": 42, "upvoted": False, "upvotes": 128},
    "systemDescribe": {"openapi": "3.1.0", "info": {"title": "Project Directory API", "version": "0.1.0"}},
    "systemHealthz": {"status": "ok"},
    "systemReadyz": {"status": "ready", "checks": CHECKS},
}
# Of answers that are no JSON, by their media type.
TEXTS = {
    "text/html": '<!doctype html>\n<html lang="en">',
    "text/css": "body { margin: 0 }",
    "text/javascript": '"use strict";',
    "text/plain": "# TYPE http_requests_total counter",
    "application/atom+xml": '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"/>',
}
