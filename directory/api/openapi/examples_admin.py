"""The examples of what administrators see of users, of webhooks and on the dashboard.

Mallory is a member whose projects were taken down.
"""

from typing import Any

from directory.api.openapi.samples import (
    ADA,
    APPROVAL,
    CURSORS,
    FLASK,
    FRAMEWORKS,
    GRACE,
    NOTES,
    PAGINATION,
    REASON,
    USER,
)
from directory.services.webhooks.endpoints import TEST, TEST_PROJECT

STATS = {
    "projects": {"live": 1, "pending": 1, "rejected": 0, "total": 2},
    "upvotes_given": 12,
    "upvotes_received": 128,
    "last_submission_at": NOTES["submitted_at"],
}
SEEN = {**USER, "last_seen_at": "2026-11-23T11:02:00.000000Z", "deleted_at": None, "stats": STATS}
SIGNED_OUT = {
    **APPROVAL,
    "id": 310,
    "action": "user.signed_out",
    "at": "2026-11-23T11:04:00.000000Z",
    "project_id": None,
    "user_id": 7,
    "from": None,
    "to": None,
    "project": None,
    "user": ADA,
}
MALLORY = {
    **SEEN,
    "id": 9,
    "username": "mallory",
    "email": "mallory@example.org",
    "status": "suspended",
    "stats": {
        "projects": {"live": 0, "pending": 0, "rejected": 15, "total": 15},
        "upvotes_given": 4,
        "upvotes_received": 3,
        "last_submission_at": "2026-11-23T10:58:00.000000Z",
    },
    "taken_down": {"unpublished": 12, "rejected": 15, "votes": 4},
}
VOTE = {
    "user": {
        "id": 21,
        "username": "eve-2",
        "status": "active",
        "created_at": "2026-11-23T10:51:00.000000Z",
        "email_verified": False,
    },
    "at": "2026-11-23T10:52:00.000000Z",
    "counted": True,
    "votes": 2,
    "for_owner": 2,
}
SUMMARY = {
    "counted": 128, "discounted": 0, "suspended": 1, "new_accounts": 7, "unverified": 9, "single_owner": 6,
}  # fmt: skip
DELIVERY = {
    "id": 91,
    "webhook_id": "msg_3f1c9a5b7d2e4f60819ab2c3d4e5f607",
    "event": "project.approved",
    "endpoint": "hooks.example-1f9d03c2ab47",
    "project_id": 42,
    "state": "delivered",
    "payload": {
        "type": "project.approved",
        "timestamp": FLASK["published_at"],
        "data": {
            "project": {name: value for name, value in FLASK.items() if name not in {"has_upvoted", "version"}},
            "approved_by": GRACE,
        },
    },
    "attempts": [
        {"at": "2026-11-20T14:30:01.000000Z", "status": 204, "error": None, "milliseconds": 38, "response": ""}
    ],
    "created_at": FLASK["published_at"],
    "next_attempt_at": None,
    "delivered_at": "2026-11-20T14:30:01.000000Z",
}
REDELIVERY = {
    **DELIVERY,
    "state": "pending",
    "next_attempt_at": "2026-11-23T11:05:00.000000Z",
    "delivered_at": None,
}
TEST_DELIVERY = {
    **REDELIVERY,
    "id": 92,
    "webhook_id": "msg_81f2a40c6be94d7795d3c1a6e0f2b8d4",
    "event": TEST,
    "project_id": None,
    "payload": {"type": TEST, "timestamp": "2026-11-23T11:05:00.000000Z", "data": {"project": TEST_PROJECT}},
    "attempts": [],
    "created_at": "2026-11-23T11:05:00.000000Z",
}
ENDPOINT = {
    "name": DELIVERY["endpoint"],
    "host": "hooks.example",
    "format": "standard",
    "events": ["project.approved"],
    "deliveries": {"pending": 0, "delivered": 7, "dead": 0},
}
HAPPENED = {"submissions": 0, "imported": 0, "approvals": 0, "rejections": 0, "upvotes": 3, "signups": 0}
DASHBOARD = {
    "generated_at": "2026-11-23T11:05:00.000000Z",
    "totals": {
        "projects": {"live": 7, "pending": 1, "rejected": 0, "total": 8},
        "users": {"active": 3, "suspended": 0, "total": 3},
        "upvotes": 128,
    },
    "review": {
        "queue_length": 1,
        "oldest_submitted_at": NOTES["submitted_at"],
        "median_seconds_to_decision": 16199.9,
        "approval_rate": 1.0,
    },
    "series": [{"date": "2026-11-23", **HAPPENED}],
    "previous": {**HAPPENED, "submissions": 1, "upvotes": 5},
    "reviewers": [{**GRACE, "approved": 7, "rejected": 0, "median_seconds": 16199.9}],
    "top_projects": [{"id": 42, "slug": "flask", "title": "Flask", "upvotes": 128}],
    "top_categories": [{**FRAMEWORKS, "live_projects": 7}],
}
# By the operation's id.
BODIES: dict[str, Any] = {
    "adminChangeUser": {"status": "suspended", "unpublish": True, "reason": REASON},
    "adminDecideVotes": {"decision": "discount", "match": ["single_owner"], "reason": "Six accounts of one hour."},
}
ANSWERS: dict[str, Any] = {
    "adminDashboard": DASHBOARD,
    "adminUsers": {"items": [SEEN], "pagination": PAGINATION},
    "adminUser": {**SEEN, "audit": [SIGNED_OUT]},
    "adminChangeUser": MALLORY,
    "adminVotes": {"items": [VOTE], "pagination": CURSORS, "summary": SUMMARY},
    "adminDecideVotes": {"changed": 6, "upvotes": 122},
    "adminDeliveries": {"items": [DELIVERY], "pagination": CURSORS},
    "adminRedeliver": REDELIVERY,
    "adminEndpoints": {"items": [ENDPOINT]},
    "adminTestEndpoint": TEST_DELIVERY,
}
