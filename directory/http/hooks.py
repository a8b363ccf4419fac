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
from directory.http import cors, headers, rate_limits, write_checks
from directory.http.authentication import known

log = logging.getLogger(logs.ACCESS)

# Keys of the request's environment: its route, and when it began, by time.perf_counter().
ROUTE, BEGAN = "directory.route", "directory.began"
TOKEN_IN_PATH = re.compile("^(/api/auth/notifications/).+")  # removed from log lines
SAFE_METHODS = {"GET", "HEAD", "OPTIONS", "TRACE"}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def init_app(app: Flask) -> None:
    """Install the hooks for every request, including unknown paths."""
    headers.init_app(app)
    app.before_request(_begin)
    app.before_request(cors.preflight)
    app.before_request(_check_write)
    app.after_request(_log)
    app.wsgi_app = CompleteHeaders(app.wsgi_app)  # type: ignore[method-assign]


class CompleteHeaders:
    """Gives every request its id and the time of its beginning, and completes the headers of its answer.

    It is a middleware because Flask's own headers object takes ten times as long.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""

        def start(status: str, own: list[tuple[str, str]], *exc_info: Any) -> Any:
            whole = headers.of_app().complete(own, number := int(status[:3]), _facts(environ, number))
            return start_response(status, whole, *exc_info)

        environ["HTTP_X_REQUEST_ID"] = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        environ.setdefault(BEGAN, time.perf_counter())
        return self._app(environ, start)


def _facts(environ: dict[str, Any], status: int) -> headers.Facts:
    """The facts of the current request."""
    view = current_app.view_functions.get(request.endpoint or "")
    limits = rate_limits.header_lines(g.get("limit_states", {}))
    has_one_answer = getattr(getattr(view, "operation", None), "constant", False)
    return headers.Facts(
        environ["REQUEST_METHOD"], request.path, environ["wsgi.url_scheme"], environ["HTTP_X_REQUEST_ID"],
        known() is not None, has_one_answer and status < 400, environ.get("HTTP_ORIGIN"), limits,
    )  # fmt: skip


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
    g.request_id = environ["HTTP_X_REQUEST_ID"]


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

    return CompleteHeaders(answer)(environ, start_response)


def _check_write() -> None:
    """Refuse a write in read-only mode, one that another site's page caused, and one meant for another account.

    This is checked before a password is hashed. The caller is looked up only if the write names an account.
    """
    if request.method not in SAFE_METHODS and request.routing_exception is None:
        require_writable()
        write_checks.refuse_cross_site()
        write_checks.refuse_other_user(write_checks.expected_user(request.environ))


def _log(response: Response) -> Response:
    user, path = known(), TOKEN_IN_PATH.sub(r"\1", request.path)
    log_request(request.method, path, response.status_code, request.environ[BEGAN], user_id=user.id if user else None)
    return response
