"""The texts of the document."""

from typing import Any

from directory import events
from directory.services.catalog.fields import FIELDS, LOGO, PICTURE, Kind

INTRODUCTION = """
A directory of projects: members submit them, administrators review them, everybody reads them and members vote.

**JSON.** UTF-8 both ways. Unknown or repeated members and query parameters are refused by name: nothing that a client
sends is dropped in silence. Times are RFC 3339 in UTC. Ids are integers. Bodies have 64 KiB at most. Text is stored
in NFC, a single line without white space at its ends; lengths in code points are those of this form.

**Signing in.** A browser gets a cookie from `POST /api/auth/login`; a program sends a token from
`POST /api/auth/tokens` as `Authorization: Bearer`. If a request has a bearer token, the cookie is ignored, and
an invalid token is 401 on every route. A write with a cookie must come from the service's own origin or from
one that it is configured to trust.

**Errors.** All errors are `application/problem+json` (RFC 9457). Decide by `code`, which is stable; `detail` is for
people, in the language of the site that `Accept-Language` prefers. [All codes](/api/problems).

**Lists.** `page` and `limit`, or `cursor`, which has no end, costs the same at any depth, and neither skips nor
repeats. `Link` names the neighbouring pages.

**Caching.** Public reads carry an `ETag`; `If-None-Match` is answered by 304. A project's tag also goes into
`If-Match`, so that no edit overwrites another.

**Limits.** Votes, submissions, sign-in and other writes are limited, by user or by address. `RateLimit`
shows the remaining requests, `RateLimit-Policy` the limits, `Retry-After` when to try again. What a member stores in a
day, texts and pictures, is limited too: a write that would store more is 429 as well, until midnight UTC.

**Other methods.** HEAD works wherever GET does, and OPTIONS everywhere. Any other method is 405, with `Allow`.

**Compatibility.** Members and optional parameters may be added. Nothing is removed or changes its meaning without
another prefix than `/api`.
""".strip()

TAGS = {
    "projects": "Reading, submitting, changing and voting.",
    "pictures": "The pictures of projects.",
    "messages": "What the owner of a project and its reviewers write to each other.",
    "appeals": "The appeals of owners against the rejection or unpublishing of a project.",
    "reports": "What visitors report to the reviewers, if the operator lets them.",
    "links": "What the websites and repositories of projects answer, if the operator has the service look.",
    "categories": "The categories of projects.",
    "markdown": "Descriptions as the pages show them.",
    "tags": "The tags of projects.",
    "fields": "The fields that the operator has added to projects.",
    "users": "Members as everybody sees them.",
    "session": "The caller, and the site's settings.",
    "auth": "Accounts, sessions and tokens.",
    "recovery": "New passwords and confirmed addresses by mail, if the service sends mail.",
    "providers": "Signing in by OpenID Connect and GitHub, if the operator configures a provider.",
    "passkeys": "Signing in with a passkey (WebAuthn), and the passkeys of the caller's account.",
    "account": "Exporting the caller's data, and deleting the caller's account.",
    "review": "The review of projects: for reviewers, in their categories, and administrators.",
    "admin": "The review, users, categories and figures: for administrators.",
    "webhooks": "The webhooks that the service sends to the configured endpoints.",
    "system": "Around the service: health, metrics, this document, the feed.",
}

ACCESS = {
    "public": "No sign-in is needed.",
    "member": "Needs a signed-in user.",
    "open_by": "Needs no sign-in where {setting} is `everybody`, and a signed-in user where it is `members`.",
    "owner": "Needs the project's owner or an administrator.",
    "reviewer": "Needs a reviewer of the project's category, or an administrator.",
    "own": "Needs the project's owner.",
    "admin": "Needs an administrator.",
}
COOKIE = "The session cookie, which registration and sign-in set. In development, without TLS, its name is `directory`."
BEARER = "A token from `POST /api/auth/tokens`."
IF_NONE_MATCH = "ETags of answers that the caller has: if one is current, the answer is 304."
IF_MATCH = (
    "The project's ETag, or its `version` in quotes: if its current version is another one, the answer is 412 and "
    "nothing changes."
)
EXPECTED_USER = (
    "The `id` of the account that the page shows. If another account is signed in, the answer is 409 `other_user` and "
    "nothing changes."
)

CONDITIONS = [{"fact": "links", "is": ">=", "value": 5}, {"fact": "account_hours", "is": "<", "value": 24}]
RULE = {"name": "Many links of a new account", "reason": None, "on": ["submission"], "when": CONDITIONS}
# By the name of the member, in every schema. A submission made of these is valid.
EXAMPLES: dict[str, Any] = {
    **{field.name: field.example for field in FIELDS if field.kind is not Kind.STATUS},
    **LOGO,
    **PICTURE,
    "action": events.PROJECT_APPROVED.name,
    "attestation": "none",
    "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
    "challenge": "6zYvI0M0dZ4sR8g2u1C9pQ3kX7nB5tJ-lW_aEoHfDyU",
    "code": "precondition_failed",
    "credential": {
        "id": "rMV6mGhOQ9yQKLBIvSm0sQ", "rawId": "rMV6mGhOQ9yQKLBIvSm0sQ", "type": "public-key",
        "response": {"clientDataJSON": "eyJ0eXBlIjoi…", "attestationObject": "o2NmbXRk…"}, "clientExtensionResults": {},
    },
    "current_password": "paper clip orchard seven",
    "date": "2026-11-23",
    "deleted_at": None,
    "description_html": "<p>Routing, templates and a development server, and little else.</p>",
    "discounted": 0,
    "email": "ada@example.org",
    "endpoint": "hooks.example-1f9d03c2ab47",
    "event": events.PROJECT_APPROVED.name,
    "expires_at": "2036-01-01T00:00:00Z",
    "format": "standard",
    "from": "A web framework",
    "fact": "links",
    "head": "0012",
    "host": "hooks.example",
    "html": '<p>Reads <strong>CSV</strong>: <a href="https://example.org/csv">https://example.org/csv</a>.</p>\n',
    "id": 42,
    "is_admin": False,
    "is": ">=",
    "issuer": "https://login.example",
    "items": [{"id": 42, "version": 3}],
    "label": "Example Inc.",
    "limit": 20,
    "live_projects": 7,
    "location": "https://login.example/authorize?client_id=directory&state=example",
    "login": "ada",
    "may_rename": False,
    "key": "TS8uXzvCF2mVr1yJqQhA0dE5bLw9nKgP3tRfZxYc7Uo",
    "message": "Which licence does it have?",
    "name": "Web frameworks",
    "password": "correct horse battery staple",
    "permissions": [],
    "payload": {"type": events.PROJECT_APPROVED.name, "timestamp": "2026-11-20T14:30:00.000000Z", "data": {}},
    "project_id": 42,
    "provider": "company",
    "pubKeyCredParams": [{"type": "public-key", "alg": -8}],
    "q": "web framework",
    "queue_position": None,
    "read_only": False,
    "reason": "The link is dead.",
    "response": "",
    "role_source": "local",
    "review_categories": None,
    "rule": {**RULE, "then": "hold", "state": "dry"},
    "rp": {"name": "Project Directory", "id": "projects.example"},
    "rpId": "projects.example",
    "resubmit": False,
    "searched_as_words": ["OR"],
    "since": "2026-11-20T10:00:00.123456Z",
    "slug": "web-frameworks",
    "subject": "248289761001",
    "suggestions": ["flask"],
    "tag": "python",
    "text": "Reads **CSV**: https://example.org/csv.",
    "words": "What a first web service begins with.",
    "to": "A lightweight web framework",
    "token": "uQ3nX0example-of-a-token-that-opens-nothing",
    "total_capped": False,
    "user": {"id": "NDI", "name": "ada", "displayName": "ada"},
    "userVerification": "required",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "username": "ada",
    "value": 5,
    "warnings": ["owner_suspended"],
    "webhook_id": "msg_3f1c9a5b7d2e4f60819ab2c3d4e5f607",
}  # fmt: skip
# By the name of a schema: examples of its members that differ from those above.
FLASK = {"slug": "flask"}
REASON = {"from": "reviewers", "kind": "rejected", "text": "The link is dead."}
KEY, SCRIPT = {"name": "Blue security key"}, {"name": "Release script"}
BUILD = {"version": "0.1.0", "commit": "9da359c3b1f0"}
LICENSE = {
    "name": "license",
    "label": "Licence",
    "help": "",
    "kind": "choice",
    "audience": "public",
    "categories": None,
}
MIT = {"value": "mit", "label": "MIT"}
FRAMEWORKS = {"description": "Routing, templates and all that answers requests."}
EXAMPLES_IN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        (
            "ProjectDetail",
            "ExportedProject",
            "KnownProject",
            "TopProject",
            "QueueItem",
            "ReviewDetail",
            "WebhookProject",
        ),
        FLASK,
    ),
    **dict.fromkeys(("Category", "CategoryInput", "CategoryChanges"), FRAMEWORKS),
    **dict.fromkeys(("Passkey", "PasskeyInput", "PasskeyChanges"), KEY),
    **dict.fromkeys(("Token", "TokenInput", "NewToken"), SCRIPT),
    **dict.fromkeys(("Service", "Readiness"), BUILD),
    "Attempt": {"status": 204, "error": None},
    "Audit": {"from": "pending", "to": "live", "user_id": None, "user": None, "changes": None, "votes": None},
    "AnswerInput": {"text": "The link works again."},
    "Decision": {"status": 412},
    **dict.fromkeys(("Message", "ExportedMessage"), REASON),
    "DatabaseCheck": {"reason": None},
    "MigrationsCheck": {"current": "0012"},
    "Provider": {"name": "company"},
    **dict.fromkeys(("Rule", "RuleInput", "RuleChanges"), RULE),
    "RuleFact": {"on": ["submission", "edit"], "type": "number", "is": ["=", "<", ">="]},
    **dict.fromkeys(("AdminField", "FieldInput", "FieldChanges", "ShownField"), LICENSE),
    **dict.fromkeys(("AdminChoice", "ChoiceInput", "ShownChoice"), MIT),
    "FieldOrderInput": {"order": ["license", "platforms"]},
    "Language": {"tag": "en", "name": "English"},
    "RedisCheck": {"fallback": False},
    "SessionState": {"passkey_required": False},
    "Site": {"name": "Project Directory", "url": "https://projects.example"},
    "UserChanges": {"role": "reviewer", "status": "suspended"},
}
PATHS: dict[str, Any] = {
    "project_id": 42,
    "user_id": 7,
    "session_id": 31,
    "token_id": 5,
    "delivery_id": 91,
    "message_id": 17,
    "rule_id": 3,
    "reply_id": 6,
    "field": "license",
    "username": "ada",
    "provider": "company",
    "identity_id": 3,
    "passkey_id": 3,
    "picture_id": 81254,
    "endpoint": "hooks.example-1f9d03c2ab47",
    "slug": "web-frameworks",
    "code": "not_found",
    "token": "7-uQ3nX0example-of-a-token-that-opens-nothing",
    "version": "0123456789abcdef",
    "name": "docs.js",
}
# Of answers that are not JSON, by their media type.
TEXTS = {
    "text/html": '<!doctype html>\n<html lang="en">',
    "text/css": "body { margin: 0 }",
    "text/javascript": '"use strict";',
    "text/plain": "# TYPE http_requests_total counter",
    "text/csv": '"id","at","action","actor_id","actor"\r\n',
    "application/atom+xml": '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"/>',
}
