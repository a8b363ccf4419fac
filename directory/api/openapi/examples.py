"""The examples of the document: what each operation takes and gives, made of the samples."""

from typing import Any

from directory.api.openapi import examples_admin
from directory.api.openapi.samples import (
    APPROVED,
    CATEGORY,
    CHECKS,
    CURSORS,
    EDITED_NOTES,
    EXPORT,
    FLASK,
    FLASK_INPUT,
    IDENTITY,
    KNOWN,
    LOG,
    NEW_CATEGORY,
    NOTES,
    PAGINATION,
    PENDING,
    REASON,
    REJECTED,
    SESSION,
    TIMELINE,
    TOKEN,
    UNPUBLISHED,
    USER,
)

PASSWORD = "correct horse battery staple"  # noqa: S105 an example, of no account

MAILED_TOKEN = "uQ3nX0example-of-a-token-that-opens-nothing"  # noqa: S105 an example, of no link

PATHS: dict[str, Any] = {
    "project_id": 42,
    "user_id": 7,
    "session_id": 31,
    "token_id": 5,
    "delivery_id": 91,
    "username": "ada",
    "provider": "company",
    "identity_id": 3,
    "endpoint": "hooks.example-1f9d03c2ab47",
    "slug": "web-frameworks",
    "code": "not_found",
    "token": "7-uQ3nX0example-of-a-token-that-opens-nothing",
    "version": "0123456789abcdef",
    "name": "docs.js",
}
# By the operation's id.
BODIES: dict[str, Any] = {
    **examples_admin.BODIES,
    "adminAddCategory": NEW_CATEGORY,
    "adminChangeCategory": {"description": CATEGORY["description"]},
    "adminDecide": {
        "decision": "reject",
        "items": [{"id": 42, "version": 1}, {"id": 43, "version": 1}, {"id": 99}],
        "reason": REASON,
    },
    "adminApprove": {"reason": "Checked the licence."},
    "adminReject": {"reason": REASON},
    "adminUnpublish": {"reason": REASON},
    "authLogin": {"login": "ada", "password": PASSWORD},
    "authChange": {"email": "ada@example.org"},
    "authRegister": {"username": "ada", "email": "ada@example.org", "password": PASSWORD},
    "accountDelete": {"current_password": PASSWORD},
    "authIssueToken": {"name": "Release script", "expires_at": "2036-01-01T00:00:00Z"},
    "recoveryForgot": {"login": "ada"},
    "recoveryReset": {"token": MAILED_TOKEN, "password": PASSWORD},
    "recoveryVerify": {"token": MAILED_TOKEN},
    "providersJoin": {"provider": "company"},
    "markdownRender": {"text": "Reads **CSV**: https://example.org/csv."},
    "projectsCreate": FLASK_INPUT,
    "projectsUpdate": {"tagline": FLASK_INPUT["tagline"], "tags": ["python", "web"]},
}
ANSWERS: dict[str, Any] = {
    **examples_admin.ANSWERS,
    "adminLog": LOG,
    "adminAddCategory": {**NEW_CATEGORY, "live_projects": 0},
    "adminChangeCategory": CATEGORY,
    "adminQueue": {
        "items": [{**NOTES, "owner_stats": {"live": 1, "pending": 1, "rejected": 0}, "earlier": 0, "warnings": []}],
        "pagination": PAGINATION,
    },
    "adminDecide": {
        "items": [
            {"id": 42, "status": 200, "project": REJECTED},
            {"id": 43, "status": 412, "code": "precondition_failed", "project": EDITED_NOTES},
            {"id": 99, "status": 404, "code": "not_found"},
        ]
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
    "accountExport": EXPORT,
    "providersListIdentities": {"has_password": True, "items": [IDENTITY]},
    "providersJoin": {"location": "https://login.example/authorize?client_id=directory&state=example"},
    "categoriesIndex": {"items": [CATEGORY]},
    "markdownRender": {
        "html": "<p>Reads <strong>CSV</strong>: "
        '<a href="https://example.org/csv" rel="nofollow ugc noopener">https://example.org/csv</a>.</p>\n'
    },
    "tagsIndex": {"items": [{"tag": "python", "live_projects": 5}, {"tag": "web", "live_projects": 3}]},
    "usersShow": {
        "username": "ada",
        "created_at": USER["created_at"],
        "live_projects": 1,
        "upvotes_received": 128,
    },
    "sessionShow": {
        "user": USER,
        "reviewed_fields": ["title", "tagline", "description", "url", "repository_url", "logo_url"],
        "site": {"name": "Project Directory", "url": "https://projects.example"},
        "registration_open": True,
        "read_only": False,
        "password_reset": False,
        "providers": [],
    },
    "projectsCounts": {"live": 1, "pending": 1, "rejected": 0},
    "projectsCheck": {"same": [KNOWN], "similar": []},
    "projectsIndex": {"items": [FLASK], "pagination": PAGINATION},
    "projectsCreate": {**PENDING, "queue_position": 4},
    "projectsShow": FLASK,
    "projectsUpdate": {**PENDING, "version": 2, "queue_position": 4},
    "projectsTimeline": {"items": TIMELINE, "pagination": {**CURSORS, "limit": 100}},
    "projectsToggleVote": {"project_id": 42, "upvoted": True, "upvotes": 129},
    "projectsCastVote": {"project_id": 42, "upvoted": True, "upvotes": 129},
    "projectsWithdrawVote": {"project_id": 42, "upvoted": False, "upvotes": 128},
    "systemDescribe": {"openapi": "3.1.0", "info": {"title": "Project Directory API", "version": "0.1.0"}},
    "systemHealthz": {"status": "ok"},
    "systemReadyz": {"status": "ready", "version": "0.1.0", "commit": "9da359c3b1f0", "checks": CHECKS},
}
# Of answers that are no JSON, by their media type.
TEXTS = {
    "text/html": '<!doctype html>\n<html lang="en">',
    "text/css": "body { margin: 0 }",
    "text/javascript": '"use strict";',
    "text/plain": "# TYPE http_requests_total counter",
    "text/csv": '"id","at","action","actor_id","actor"\r\n',
    "application/atom+xml": '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"/>',
}
