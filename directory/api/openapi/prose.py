"""What the document says in sentences."""

from typing import Any

from directory.services.catalog.fields import FIELDS, Kind

INTRODUCTION = """
A directory of projects: members submit them, administrators review them, everybody reads them and members vote.

**JSON.** UTF-8 both ways. Unknown or repeated members and query parameters are refused by name: nothing that a client
sends is dropped in silence. Times are RFC 3339 in UTC. Ids are integers. Bodies have 64 KiB at most. Text is stored
in NFC, a single line without white space at its ends; this form is what a length in code points counts.

**Signing in.** A browser gets a cookie from `POST /api/auth/login`; a program sends a token from
`POST /api/auth/tokens` as `Authorization: Bearer`. If a request has a bearer token, the cookie is ignored, and
an invalid token is 401 on every route. A write with a cookie must come from the service's own origin or from
one that it is configured to trust.

**Errors.** All errors are `application/problem+json` (RFC 9457). Decide by `code`, which is stable; `detail` is for
people. [All codes](/api/problems).

**Lists.** `page` and `limit`, or `cursor`, which has no end, costs the same at any depth, and neither skips nor
repeats. `Link` names the neighbouring pages.

**Caching.** Public reads carry an `ETag`; `If-None-Match` is answered by 304. A project's tag also goes into
`If-Match`, so that no edit overwrites another.

**Limits.** Votes, submissions, sign-in and other writes are limited, by user or by address. `RateLimit` and
`RateLimit-Policy` say what is left, `Retry-After` when to come back.

**Other methods.** HEAD works wherever GET does, and OPTIONS everywhere. Any other method is 405, with `Allow`.

**Compatibility.** Members and optional parameters may be added. Nothing is removed or changes its meaning without
another prefix than `/api`.
""".strip()

TAGS = {
    "projects": "Reading, submitting, changing and voting.",
    "categories": "The categories of projects.",
    "markdown": "Descriptions as the pages show them.",
    "tags": "The tags of projects.",
    "users": "Members as everybody sees them.",
    "session": "The caller, and the site's settings.",
    "auth": "Accounts, sessions and tokens.",
    "recovery": "New passwords and confirmed addresses by mail, if the service sends mail.",
    "providers": "Signing in by OpenID Connect and GitHub, if the operator configures a provider.",
    "passkeys": "Signing in with a passkey (WebAuthn), and the passkeys of the caller's account.",
    "account": "Exporting the caller's data, and deleting the caller's account.",
    "admin": "The review, users, categories and figures: for administrators.",
    "webhooks": "The webhooks that the service sends to the configured endpoints.",
    "system": "Around the service: health, metrics, this document, the feed.",
}

ACCESS = {
    "public": "No sign-in is needed.",
    "member": "Needs a signed-in user.",
    "owner": "Needs the project's owner or an administrator.",
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

# By the name of the member, wherever it stands. A submission of these is one that passes.
EXAMPLES: dict[str, Any] = {
    **{field.name: field.example for field in FIELDS if field.kind is not Kind.STATUS},
    "action": "project.approved",
    "current_password": "paper clip orchard seven",
    "email": "ada@example.org",
    "endpoint": "hooks.example-1f9d03c2ab47",
    "event": "project.approved",
    "expires_at": "2036-01-01T00:00:00Z",
    "id": 42,
    "items": [{"id": 42, "version": 3}],
    "live_projects": 7,
    "login": "ada",
    "name": "Web frameworks",
    "password": "correct horse battery staple",
    "project_id": 42,
    "q": "web framework",
    "reason": "The link is dead.",
    "slug": "web-frameworks",
    "tag": "python",
    "token": "uQ3nX0example-of-a-token-that-opens-nothing",
    "username": "ada",
}
