"""The WSGI middleware of the cache: it answers reads before Flask, and stores the public responses that Flask makes."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask
from werkzeug.routing import RequestRedirect

from directory.cache.memo import Memo
from directory.cache.reads import Read, read_from
from directory.cache.responder import Responder
from directory.cache.response import STATUSES, CachedResponse, cacheable_response
from directory.cache.snapshot_source import SnapshotSource
from directory.extensions import db
from directory.http import hooks, languages
from directory.http.exchange import ROUTE
from directory.http.headers import Headers
from directory.http.wsgi import read_body

Environ = dict[str, Any]
StartResponse = Callable[..., Any]


class CacheMiddleware:
    """Wraps the WSGI application."""

    def __init__(self, flask: Flask, responder: Responder) -> None:
        self._flask, self._app, self._responder = flask, flask.wsgi_app, responder
        self._cookie: str = flask.config["COOKIE_NAME"]
        self._languages = languages.of_app(flask)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        began = time.perf_counter()
        read = read_from(environ, self._cookie, self._languages)
        if read is None or not self._responder.routes.covers(read.path):
            return self._app(environ, start_response)
        read = self._responder.routes.asked(read)
        if read.credential is None:
            environ["HTTP_X_REQUEST_ID"] = read.request_id
        try:
            response = self._responder.respond(read)
        except RequestRedirect:
            response = None  # it keeps the parameters that the page passes over, so it is of the whole address
        except Exception as error:
            return hooks.answer_error(self._flask, error, environ, start_response)
        if response is None:
            return self._answer_by_application(environ, start_response, read)
        content, user_id = response
        environ[ROUTE] = content.route
        status, body = _send(content, read, start_response)
        hooks.record(self._flask, read.method, read.path, content.route, status, began, read.request_id, user_id)
        return body

    def _answer_by_application(self, environ: Environ, start_response: StartResponse, read: Read) -> Iterable[bytes]:
        """Let the application answer, and store its response if it is public and has a body."""
        snapshot = self._responder.snapshots.latest
        if read.credential is not None or snapshot is None or read.method == "HEAD":
            return self._app(environ, start_response)
        head: list[Any] = []

        def note(status: str, headers: Headers, _exc_info: Any = None) -> Any:
            head[:] = status, headers

        body = read_body(self._app(environ, note))
        status, headers = head
        public = cacheable_response(status, headers, body, environ.get(ROUTE, "none"))
        if public is None:
            start_response(status, headers)
            return [body]
        self._responder.put(read, snapshot, public)
        return _send(self._responder.in_form(public, read), read, start_response)[1]


def _send(content: CachedResponse, read: Read, start_response: StartResponse) -> tuple[int, Iterable[bytes]]:
    """Start the response to a read; its status, and its body."""
    status, headers, body = content.render(read)
    start_response(STATUSES[status], [*headers, *content.shared.pairs])
    return status, [body] if body else []


def init_app(app: Flask) -> None:
    """Set up the cache, unless RESPONSE_CACHE is off.

    Where reads are rate-limited no read is answered before Flask, because each has to be counted.
    """
    if not app.config["RESPONSE_CACHE"]:
        return
    with app.app_context():
        snapshots = SnapshotSource(db.engine)
    app.extensions |= {"snapshot_source": snapshots, "memo": Memo(snapshots)}
    if not (app.config["RATELIMIT_ENABLED"] and app.config["RATELIMIT_READ"]):
        app.extensions["response_cache"] = Responder(app, snapshots)
        app.wsgi_app = CacheMiddleware(app, app.extensions["response_cache"])  # type: ignore[method-assign]
