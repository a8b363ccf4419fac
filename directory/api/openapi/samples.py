"""What the examples of the document show: one small set of people and projects, the same in every operation.

Ada is a member and owns Flask (42) and Werkzeug Notes (43); Grace administrates; Linus is a member who votes.
"""

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
LOGO = {"64": f"/images/{'5d' * 32}.webp", "256": f"/images/{'a3' * 32}.webp"}
FLASK = {
    **FLASK_INPUT,
    "id": 42,
    "slug": "flask",
    "logo": LOGO,
    "category": FRAMEWORKS,
    "status": "live",
    "upvotes": 128,
    "has_upvoted": None,
    "owner": ADA,
    "version": 2,
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
    "version": 1,
    "rejection_reason": None,
    "revision": None,
}
REASON = "The link is dead."
UNPUBLISHED = {
    **PENDING,
    "upvotes": 128,
    "published_at": FLASK["published_at"],
    "version": 3,
    "rejection_reason": REASON,
    "queue_position": 4,
}
APPROVED = {
    **FLASK,
    "upvotes": 0,
    "has_upvoted": False,
    "rejection_reason": None,
    "revision": None,
    "queue_position": None,
}
REJECTED = {**PENDING, "status": "rejected", "version": 2, "rejection_reason": REASON, "queue_position": None}
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
    "logo": None,
    "tags": ["python"],
    "created_at": "2026-11-22T08:15:00.000000Z",
    "updated_at": "2026-11-22T08:15:00.000000Z",
    "submitted_at": "2026-11-22T08:15:00.000000Z",
}
EDITED_NOTES = {**NOTES, "version": 2, "updated_at": "2026-11-23T10:40:00.000000Z", "queue_position": 1}
USER = {
    **ADA,
    "email": "ada@example.org",
    "role": "member",
    "is_admin": False,
    "status": "active",
    "created_at": "2026-11-01T09:00:00.000000Z",
    "email_verified": True,
    "may_rename": False,
    "notify": True,
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
IDENTITY = {
    "id": 3,
    "provider": "company",
    "label": "Example Inc.",
    "email": "ada@example.org",
    "created_at": "2026-11-20T09:58:00.000000Z",
    "last_used_at": "2026-11-23T11:02:00.000000Z",
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
    "project": {"id": 42, "title": "Flask"},
    "user": None,
    "changes": None,
    "votes": None,
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
EDIT = {
    **SUBMISSION,
    "id": 340,
    "action": "project.edit_held",
    "at": "2026-11-21T16:20:00.000000Z",
    "from": "live",
    "to": "live",
    "changes": {"tagline": {"from": "A web framework", "to": FLASK_INPUT["tagline"]}},
}
EDIT_APPROVAL = {
    **EDIT,
    "id": 341,
    "action": "project.edit_approved",
    "at": "2026-11-21T17:05:00.000000Z",
    "actor": GRACE,
}
LOG = {"items": [EDIT_APPROVAL, EDIT, APPROVAL, SUBMISSION], "pagination": CURSORS}
TIMELINE = [
    {"at": SUBMISSION["at"], "event": "submitted"},
    {"at": "2026-11-20T11:45:00.000000Z", "event": "rejected", "reason": REASON},
    {"at": "2026-11-20T13:10:00.000000Z", "event": "edited"},
    {"at": APPROVAL["at"], "event": "approved"},
    {"at": EDIT["at"], "event": "edit_held"},
    {"at": EDIT_APPROVAL["at"], "event": "edit_approved"},
]
PASSKEY = {
    "id": 3, "name": "Blue security key", "created_at": "2026-11-20T10:00:00.123456Z",
    "last_used_at": "2026-11-21T08:30:00.000000Z",
}  # fmt: skip
_CHALLENGE = "6zYvI0M0dZ4sR8g2u1C9pQ3kX7nB5tJ-lW_aEoHfDyU"
PASSKEY_OPTIONS = {
    "rp": {"name": "Project Directory", "id": "projects.example"},
    "user": {"id": "NDI", "name": "ada", "displayName": "ada"},
    "challenge": _CHALLENGE,
    "pubKeyCredParams": [{"type": "public-key", "alg": -8}, {"type": "public-key", "alg": -7}],
    "timeout": 300000,
    "excludeCredentials": [],
    "authenticatorSelection": {
        "residentKey": "required", "requireResidentKey": True, "userVerification": "required",
    },
    "attestation": "none",
}  # fmt: skip
PASSKEY_REQUEST = {
    "challenge": _CHALLENGE, "timeout": 300000, "rpId": "projects.example", "allowCredentials": [],
    "userVerification": "required",
}  # fmt: skip
_CREDENTIAL = {
    "id": "rMV6mGhOQ9yQKLBIvSm0sQ", "rawId": "rMV6mGhOQ9yQKLBIvSm0sQ", "type": "public-key",
    "clientExtensionResults": {},
}  # fmt: skip
NEW_CREDENTIAL = {**_CREDENTIAL, "response": {"clientDataJSON": "eyJ0eXBlIjoi…", "attestationObject": "o2NmbXRk…"}}
SIGNED_CREDENTIAL = {
    **_CREDENTIAL,
    "response": {
        "clientDataJSON": "eyJ0eXBlIjoi…", "authenticatorData": "SZYN5YgO…", "signature": "MEUCIQDx…",
        "userHandle": "NDI",
    },
}  # fmt: skip
EXPORT = {
    "exported_at": "2026-11-23T11:05:00.000000Z",
    "complete": True,
    "account": USER,
    "projects": [{**FLASK, "has_upvoted": False, "rejection_reason": None, "revision": None, "history": TIMELINE}],
    "votes": [{"project_id": 17, "title": "Jinja", "created_at": "2026-11-21T09:12:00.000000Z", "counted": True}],
    "sessions": [SESSION],
    "tokens": [TOKEN],
    "identities": [
        {"issuer": "https://login.example", "subject": "248289761001"}
        | {name: IDENTITY[name] for name in ("id", "email", "created_at", "last_used_at")}
    ],
    "passkeys": [PASSKEY],
}
CHECKS = {
    "database": {"ok": True, "reason": None},
    "migrations": {"ok": True, "current": "0012", "head": "0012"},
    "redis": None,
    "webhooks": {"oldest_undelivered_seconds": None},
    "mail": None,
}
KNOWN = {name: FLASK[name] for name in ("id", "slug", "title", "tagline", "status", "upvotes", "has_upvoted")} | {
    "has_upvoted": False
}
