"""What every request and response goes through: its id, read-only mode, cross-site rule, CORS, headers, log line."""

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, current_app, g, request

from directory.db.transactions import require_writable
from directory.errors import CrossSiteRequest
from directory.http.authentication import bearer, cookie, known

log = logging.getLogger("directory.access")

ROUTE = "directory.route"  # where the environment of a request tells the route that it took
FAILED = "directory.failed"  # where it holds the error of an answer that was tried before the application
SAFE_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE"}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
ANY_METHOD = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"]
ORIGIN_MAX = 300  # of an origin's characters in the log
EXPOSED = "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
ALLOWED_HEADERS = "Authorization, Content-Type, If-Match, If-None-Match, X-Request-ID"
HSTS = ("Strict-Transport-Security", "max-age=31536000")
PUBLIC, PRIVATE = "public, no-cache", "private, no-cache"
NO_STORE = ("/api/admin/", "/api/auth/")


def init_app(app: Flask) -> None:
    """Put the hooks around every request, unknown paths included."""
    app.before_request(_begin)
    app.before_request(_preflight)
    app.before_request(_check_write)
    app.after_request(_finish)
    app.wsgi_app = Sealed(app.wsgi_app)  # type: ignore[method-assign]


class Sealed:
    """Gives every answer the security headers that it has not set itself.

    As a layer around the application: its own headers objects take ten times as long to take them.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""

        def sealed(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            own = {name for name, _ in headers}
            added = [each for each in seals(environ["wsgi.url_scheme"]) if each[0] not in own]
            return start_response(status, [*headers, *added], *exc_info)

        return self._app(environ, sealed)


def seals(scheme: str) -> list[tuple[str, str]]:
    """The security headers of an answer over `scheme`."""
    return [*HEADERS.items(), HSTS] if scheme == "https" else [*HEADERS.items()]


def request_id(given: str) -> str:
    """The caller's own id of a request, if it is one; else a fresh one."""
    return given if REQUEST_ID.fullmatch(given) else secrets.token_hex(16)


def log_request(method: str, path: str, status: int, began: float, **facts: Any) -> None:
    """The request's line in the log; `began` is of time.perf_counter()."""
    if log.isEnabledFor(logging.INFO):
        ms = round((time.perf_counter() - began) * 1000, 1)
        log.info("request", extra={"method": method, "path": path, "status": status, "ms": ms, **facts})


def _begin() -> None:
    environ, rule = request.environ, request.url_rule
    environ[ROUTE] = rule.rule if rule else "none"
    g.request_id = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    g.began = time.perf_counter()
    if FAILED in environ:
        raise environ[FAILED]


def _preflight() -> Response | None:
    """Answer OPTIONS: a CORS preflight, or the plain question for the methods of a path.

    A preflight for a path that is not there passes for a trusted origin. A browser then sends the request itself and
    hands the page its 404. Else it reports a CORS failure, and the author looks for the fault in the settings.
    """
    if request.method != "OPTIONS":
        return None
    origin, is_preflight = request.headers.get("Origin"), "Access-Control-Request-Method" in request.headers
    passes = is_preflight and _trusted(origin)
    if is_preflight and origin is not None and not passes:
        log.info("preflight refused", extra={"origin": origin[:ORIGIN_MAX], "path": request.path})
    if request.routing_exception is not None and not passes:
        return None
    response = Response(status=204, headers={"Allow": ", ".join(_methods())})
    del response.headers["Content-Type"]
    if passes:
        response.headers["Access-Control-Allow-Methods"] = response.headers["Allow"]
        response.headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response.headers["Access-Control-Max-Age"] = "600"
    return response


def _methods() -> list[str]:
    """The methods that the path takes; for a path that is not there, those of the whole API."""
    if request.url_rule is None:
        return ANY_METHOD
    adapter = current_app.url_map.bind_to_environ(request.environ)
    return sorted({*adapter.allowed_methods(), *(request.url_rule.methods or set())})


def _check_write() -> None:
    """Let pass what no rule forbids of a request for a route that writes, whoever asks.

    That comes first: before the database is asked or a password hashed.
    """
    if request.method not in SAFE_METHODS and request.routing_exception is None:
        require_writable()
        _refuse_cross_site()


def _refuse_cross_site() -> None:
    """Refuse a write that another site's page caused, by Fetch Metadata and, where that is absent, by Origin.

    A bearer token proves itself: no page can add it to a request, so such a request is judged by it alone.
    """
    if bearer(request) is not None:
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        passes = site in {"same-origin", "none"} or _trusted(origin)
    elif origin is not None:
        passes = _trusted(origin) or _own(origin)
    else:
        passes = cookie(request) is None
    if not passes:
        raise CrossSiteRequest


def _trusted(origin: str | None) -> bool:
    return origin in current_app.config["CORS_ORIGINS"]


def _own(origin: str) -> bool:
    """Whether the origin is this host. The scheme is left out: a proxy may end TLS before us."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return bool(parts.netloc) and _host(parts.scheme, parts.netloc) == _host(parts.scheme, request.host)


def _host(scheme: str, netloc: str) -> str:
    return netloc.lower().removesuffix(DEFAULT_PORTS.get(scheme, ""))


def public_headers(scheme: str) -> list[tuple[str, str]]:
    """What a public answer carries beside its own headers and its request's id."""
    return [*seals(scheme), ("Cache-Control", PUBLIC)]


def _finish(response: Response) -> Response:
    user = known()
    response.headers.add("X-Request-ID", g.request_id)
    _caching(response, PUBLIC if user is None else PRIVATE)
    _cors(response)
    log_request(request.method, request.path, response.status_code, g.began, user_id=user.id if user else None)
    return response


def _caching(response: Response, default: str) -> None:
    if response.status_code >= 400 or request.path.startswith(NO_STORE):
        response.headers["Cache-Control"] = "no-store"
    elif "Cache-Control" not in response.headers:
        response.headers.add("Cache-Control", default)


def _cors(response: Response) -> None:
    if not current_app.config["CORS_ORIGINS"]:
        return
    response.vary.add("Origin")
    origin = request.headers.get("Origin")
    if origin is not None and _trusted(origin):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Credentials"] = "true"
        response.headers["Access-Control-Expose-Headers"] = EXPOSED
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
