"""CORS: which other origins' pages may call the API, and what they may read of its answers."""

from flask import Response, current_app, request

EXPOSED = "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
ALLOWED_HEADERS = "Authorization, Content-Type, If-Match, If-None-Match, X-Request-ID"


def is_trusted(origin: str | None) -> bool:
    """Whether the setting CORS_ORIGINS names the origin."""
    return origin in current_app.config["CORS_ORIGINS"]


def preflight() -> Response | None:
    """Answer OPTIONS: a CORS preflight, or the question which methods a path takes."""
    if request.method != "OPTIONS" or request.routing_exception is not None:
        return None
    allowed = request.url_rule.methods or set() if request.url_rule else set()
    adapter = current_app.url_map.bind_to_environ(request.environ)
    response = Response(status=204, headers={"Allow": ", ".join(sorted({*adapter.allowed_methods(), *allowed}))})
    del response.headers["Content-Type"]
    if is_trusted(request.headers.get("Origin")) and "Access-Control-Request-Method" in request.headers:
        response.headers["Access-Control-Allow-Methods"] = response.headers["Allow"]
        response.headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response.headers["Access-Control-Max-Age"] = "600"
    return response


def add_headers(response: Response) -> None:
    """Add the headers by which a browser lets the page of a trusted origin read the answer."""
    if not current_app.config["CORS_ORIGINS"]:
        return
    response.vary.add("Origin")
    origin = request.headers.get("Origin")
    if origin is not None and is_trusted(origin):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Credentials"] = "true"
        response.headers["Access-Control-Expose-Headers"] = EXPOSED
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
