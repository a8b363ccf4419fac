"""The beginning and the end of every request: its exchange; the headers of its answer, its log line and its metrics."""

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import NotFound

from directory import logs
from directory.http import access, cors, headers, rate_limits
from directory.http.exchange import EXCHANGE, ROUTE, Exchange, current, received
from directory.http.headers import Headers

log = logging.getLogger(logs.ACCESS)

TOKEN_IN_PATH = re.compile("^(/api/auth/notifications/).+")  # removed from log lines


def init_app(app: Flask) -> None:
    """Install the hooks for every request, including unknown paths."""
    headers.init_app(app)
    app.before_request(_begin)
    app.wsgi_app = Exchanges(app.wsgi_app)  # type: ignore[method-assign]


class Exchanges:
    """A middleware that begins the exchange of every request, and finishes it when the application answers.

    Flask's own headers object takes ten times as long.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""

        def start(status: str, own: Headers, *exc_info: Any) -> Any:
            return start_response(status, finish(current_app, exchange, int(status[:3]), own), *exc_info)

        exchange = environ[EXCHANGE] = received(environ)
        environ.pop("HTTP_UPGRADE", None)  # RFC 9110 section 7.8 allows that; Werkzeug finds no route for WebSocket
        return self._app(environ, start)


def _begin() -> Response | None:
    """Answer OPTIONS, and refuse what no route takes; then Flask calls the view."""
    exchange = _bind()
    if exchange.method == "OPTIONS" and (response := _options(exchange)) is not None:
        return response
    access.admit(exchange)
    if isinstance(request.routing_exception, NotFound):
        access.admit_unknown(exchange)
    return None


def _options(exchange: Exchange) -> Response | None:
    is_preflight, is_closed = cors.passes(), access.is_closed()
    if is_closed and not is_preflight:
        access.require_reader(exchange)
    exchange.is_constant = exchange.is_constant and not is_closed
    return cors.options(is_preflight=is_preflight, is_closed=is_closed)


def _bind() -> Exchange:
    """Note the route of the current request in its exchange."""
    exchange, rule = current(), request.url_rule
    exchange.environ[ROUTE] = rule.rule if rule else "none"
    exchange.view = current_app.view_functions[rule.endpoint] if rule else None
    exchange.arguments = request.view_args or {}
    exchange.is_constant = getattr(getattr(exchange.view, "operation", None), "constant", False)
    return exchange


def answer_error(
    app: Flask, error: Exception, environ: dict[str, Any], start_response: Callable[..., Any]
) -> Iterable[bytes]:
    """Answer a request with an error of a middleware, as the application answers an error of a view."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with app.request_context(environ):
            _bind()
            try:
                response = app.finalize_request(app.handle_user_exception(error))
            except Exception as fault:
                response = app.handle_exception(fault)
            return response(environ, start_response)

    return Exchanges(answer)(environ, start_response)


def finish(app: Flask, exchange: Exchange, status: int, own: Headers) -> Headers:
    """All headers of an answer that has these of its own; its request is logged and counted."""
    caller, environ = exchange.caller, exchange.environ
    path = TOKEN_IN_PATH.sub(r"\1", exchange.path)
    user_id = None if caller is None else caller.id
    record(app, exchange.method, path, environ.get(ROUTE, "none"), status, exchange.began, exchange.id, user_id)
    facts = headers.Facts(
        exchange.method, exchange.path, environ["wsgi.url_scheme"], exchange.id, caller is not None,
        exchange.is_constant and status < 400, environ.get("HTTP_ORIGIN"),
        rate_limits.header_lines(exchange.limits) if exchange.limits else (),
    )  # fmt: skip
    answers: headers.AnswerHeaders = app.extensions["headers"]
    return answers.complete(own, status, facts)


def record(
    app: Flask, method: str, path: str, route: str, status: int, began: float, request_id: str, user_id: int | None
) -> None:
    """Log and count a request that is answered now; `began` is a time of time.perf_counter()."""
    seconds = time.perf_counter() - began
    if log.isEnabledFor(logging.INFO):
        facts = {"request_id": request_id, "method": method, "path": path, "status": status}
        log.handle(logs.RequestRecord({**facts, "ms": round(seconds * 1000, 1), "user_id": user_id}))
    if (metrics := app.extensions.get("metrics")) is not None:
        metrics.count(method, route, status, seconds)
