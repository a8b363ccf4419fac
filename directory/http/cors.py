"""CORS: lets pages of trusted origins call the API and read headers of its answers."""

import logging

from flask import Response, current_app, request

log = logging.getLogger("directory.access")

EXPOSED = "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
ALLOWED_HEADERS = "Authorization, Content-Type, If-Match, If-None-Match, X-Expected-User, X-Request-ID"
ANY_METHOD = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"]
ORIGIN_MAX = 300  # characters of an origin that go to the log


def is_trusted(origin: str | None) -> bool:
    """Whether the setting CORS_ORIGINS names the origin."""
    return origin in current_app.config["CORS_ORIGINS"]


def passes() -> bool:
    """Whether an OPTIONS is the preflight of a trusted origin. The log has those of others."""
    origin, is_preflight = request.headers.get("Origin"), "Access-Control-Request-Method" in request.headers
    if is_preflight and origin is not None and not is_trusted(origin):
        log.info("preflight refused", extra={"origin": origin[:ORIGIN_MAX], "path": request.path})
    return is_preflight and is_trusted(origin)


def options(*, is_preflight: bool, is_closed: bool) -> Response | None:
    """Answer OPTIONS: the preflight of a trusted origin, or a query for the methods of a path.

    Such a preflight succeeds even for an unknown path, so that the browser sends the request and the page gets its 404.
    Otherwise the browser would report a CORS failure, and the author would search the settings. If only members may
    read (`is_closed`), it is answered alike for every path, because it has no credentials.
    """
    if request.routing_exception is not None and not is_preflight:
        return None
    methods = ANY_METHOD if is_preflight and is_closed else _methods()
    response = Response(status=204, headers={"Allow": ", ".join(methods)})
    del response.headers["Content-Type"]
    if is_preflight and is_closed:
        response.headers["Cache-Control"] = "no-store"
    if is_preflight:
        response.headers["Access-Control-Allow-Methods"] = response.headers["Allow"]
        response.headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response.headers["Access-Control-Max-Age"] = "600"
    return response


def _methods() -> list[str]:
    """The methods of the path; for an unknown path, those of the whole API."""
    if request.url_rule is None:
        return ANY_METHOD
    adapter = current_app.url_map.bind_to_environ(request.environ)
    return sorted({*adapter.allowed_methods(), *(request.url_rule.methods or set())})
