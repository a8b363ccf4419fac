"""What the document says in sentences."""

INTRODUCTION = """
A directory of projects: members submit them, administrators review them, everybody reads them and members vote.

**JSON.** UTF-8 both ways. Unknown or repeated members and query parameters are refused by name: nothing that a client
sends is dropped in silence. Times are RFC 3339 in UTC. Ids are integers. Bodies are of 64 KiB at most. Text is stored
in NFC, a single line without white space at its ends, and its length is counted so, in code points.

**Signing in.** A browser gets a cookie from `POST /api/auth/login`; a program sends a token from
`POST /api/auth/tokens` as `Authorization: Bearer`. A request with a bearer token is judged by that alone, and one with
a token that does not hold is 401 on every route. A write with a cookie must come from the service's own origin or from
one that it is configured to trust.

**Refusals.** Every one is `application/problem+json` (RFC 9457). Decide by its `code`, which is stable; `detail` is for
people. [All codes](/api/problems). A body's refusal names all that is wrong with it in `errors`. All refusals carry
`X-Request-ID` and `Cache-Control: no-store`, a 401 also `WWW-Authenticate`, a 429 and a 503 `Retry-After`.

**Lists.** `page` and `limit`, or `cursor`, which has no end, costs the same at any depth, and neither skips nor
repeats. `Link` names the neighbouring pages.

**Caching.** Public reads carry an `ETag`; `If-None-Match` is answered by 304. A project's tag also goes into
`If-Match`, so that no edit overwrites another.

**Limits.** Votes, submissions, sign-in and other writes are limited, by user or by address. `RateLimit` and
`RateLimit-Policy` say what is left, `Retry-After` when to come back. A request counts whatever comes of it, save that a
422 spends nothing of the sign-in limit, unless the present password is wrong.

**Other methods.** HEAD is taken where GET is, and OPTIONS everywhere. Any other method is 405, with `Allow`.

**Compatibility.** Members and optional parameters may be added. Nothing is removed or changes its meaning without
another prefix than `/api`.
""".strip()

TAGS = {
    "projects": "Reading, submitting, changing and voting.",
    "categories": "What projects are sorted into.",
    "auth": "Accounts, sessions and tokens.",
    "admin": "The review, users, categories and figures: for administrators.",
    "webhooks": "What the service sends to the endpoints that its operator configures.",
    "system": "Around the service: health, metrics, this document, the feed.",
}

COOKIE = "A session, from register or login. In development it is called `directory`, for there is no TLS."
BEARER = "A token from `POST /api/auth/tokens`."
IF_NONE_MATCH = "ETags of answers that the caller has: if one is current, the answer is 304."
IF_MATCH = "The project's ETag: if it has another version by now, the answer is 412 and nothing changes."
