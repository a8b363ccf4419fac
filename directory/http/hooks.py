"""Hooks for every request and response: the request id, checks of writes, headers, and the log line."""

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Response, current_app, g, request

from directory import logs
from directory.db.transactions import require_writable
from directory.http import cors, write_checks
from directory.http.authentication import known
from directory.http.cache_policy import CREDENTIALS

log = logging.getLogger(logs.ACCESS)

ROUTE = "directory.route"  # the key of the route in the request's environment
TOKEN_IN_PATH = re.compile("^(/api/auth/notifications/).+")  # removed from log lines
SAFE_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE"}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "browsing-topics=(), camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
PUBLIC, PRIVATE = "public, no-cache", "private, no-cache"
NO_STORE = ("/api/admin/", "/api/auth/")


class Transport:
    """The header by which browsers use HTTPS alone. It is the process's: refusals of the server have no application."""

    hsts = ("Strict-Transport-Security", "max-age=31536000")

    @classmethod
    def use(cls, *, subdomains: bool) -> None:
        """Extend it to the names below the site's own, or not."""
        cls.hsts = (cls.hsts[0], "max-age=31536000; includeSubDomains" if subdomains else "max-age=31536000")


def init_app(app: Flask) -> None:
    """Install the hooks for every request, including unknown paths."""
    Transport.use(subdomains=app.config["HSTS_SUBDOMAINS"])
    app.before_request(_begin)
    app.before_request(cors.preflight)
    app.before_request(_check_write)
    app.after_request(_finish)
    app.wsgi_app = SecurityHeaders(app.wsgi_app)  # type: ignore[method-assign]


class SecurityHeaders:
    """Adds missing security headers to every answer.

    It is a middleware because Flask's own headers object takes ten times as long.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            own = {name for name, _ in headers}
            added = [each for each in security_headers(environ["wsgi.url_scheme"]) if each[0] not in own]
            return start_response(status, [*headers, *added], *exc_info)

        return self._app(environ, start)


def public_caching(app: Flask) -> str:
    """The Cache-Control of a public answer: caches revalidate each time, except a shared cache with PUBLIC_MAX_AGE."""
    seconds = app.config["PUBLIC_MAX_AGE"]
    return PUBLIC if seconds is None else f"public, max-age=0, must-revalidate, s-maxage={seconds}"


def security_headers(scheme: str) -> list[tuple[str, str]]:
    """The security headers of an answer over `scheme`."""
    return [*HEADERS.items(), Transport.hsts] if scheme == "https" else [*HEADERS.items()]


def request_id(given: str) -> str:
    """The caller's id for the request if it is valid, otherwise a new one."""
    return given if REQUEST_ID.fullmatch(given) else secrets.token_hex(16)


def log_request(method: str, path: str, status: int, began: float, **facts: Any) -> None:
    """Log a request; `began` is a time of time.perf_counter()."""
    if log.isEnabledFor(logging.INFO):
        ms = round((time.perf_counter() - began) * 1000, 1)
        log.handle(logs.RequestRecord({"method": method, "path": path, "status": status, "ms": ms, **facts}))


def _begin() -> None:
    environ, rule = request.environ, request.url_rule
    environ[ROUTE] = rule.rule if rule else "none"
    g.request_id = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    g.began = time.perf_counter()


def answer_error(
    app: Flask, error: Exception, environ: dict[str, Any], start_response: Any, prepare: Callable[[], object] = int
) -> Iterable[bytes]:
    """Answer a request with an error of a middleware, as the application answers an error of a view.

    `prepare` is called in the request's context, to set the state that later hooks need.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with app.request_context(environ):
            _begin()
            prepare()
            try:
                response = app.finalize_request(app.handle_user_exception(error))
            except Exception as fault:
                response = app.handle_exception(fault)
            return response(environ, start_response)

    return SecurityHeaders(answer)(environ, start_response)


def _check_write() -> None:
    """Refuse a write in read-only mode, one that another site's page caused, and one meant for another account.

    This is checked before a password is hashed. The caller is looked up only if the write names an account.
    """
    if request.method not in SAFE_METHODS and request.routing_exception is None:
        require_writable()
        write_checks.refuse_cross_site()
        write_checks.refuse_other_user(write_checks.expected_user(request.environ))


def _finish(response: Response) -> Response:
    user = known()
    response.headers.add("X-Request-ID", g.request_id)
    is_public = user is None and request.method in ("GET", "HEAD") and "Set-Cookie" not in response.headers
    _caching(response, public_caching(current_app) if is_public else PUBLIC if user is None else PRIVATE)
    if not _is_constant(response):
        response.vary.update(CREDENTIALS)
    cors.add_headers(response)
    path = TOKEN_IN_PATH.sub(r"\1", request.path)
    log_request(request.method, path, response.status_code, g.began, user_id=user.id if user else None)
    return response


def _is_constant(response: Response) -> bool:
    """Whether all callers get this answer: an immutable file, or the answer of a constant route."""
    view = current_app.view_functions.get(request.endpoint or "")
    has_one_answer = getattr(getattr(view, "operation", None), "constant", False) and response.status_code < 400
    return has_one_answer or "immutable" in response.headers.get("Cache-Control", "")


def _caching(response: Response, default: str) -> None:
    own = response.headers.get("Cache-Control", "")
    if response.status_code >= 400 or (request.path.startswith(NO_STORE) and "no-store" not in own):
        response.headers["Cache-Control"] = "no-store"
    elif not own:
        response.headers.add("Cache-Control", default)
