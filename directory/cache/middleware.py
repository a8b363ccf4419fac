"""The cache middleware: answers reads before Flask, from the store while the stored answer is valid.

An answer that is not in the store it makes itself, by the operation of the route and without a request of Flask's.
An answer may be given again under one rule: it was made for the same address, as a public one, and since before its
making nothing that it depends on was written. A write of any process is in the database's snapshot before it is
acknowledged, so the next answer shows what was acknowledged. Nothing here expires by time. A signed-in member gets the
same answer with what is theirs: see `personal`.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, g

from directory.cache.key import CacheableRequest, has_credentials, read_from
from directory.cache.memo import Memo
from directory.cache.personal import PersonalReads, PersonalResponse
from directory.cache.response import (
    STATUSES,
    VARY,
    CachedResponse,
    Headers,
    SharedHeaders,
    cacheable_response,
    read_body,
)
from directory.cache.routes import CacheableRoutes, Match, MatchById
from directory.cache.store import ResponseStore
from directory.cache.template import Template
from directory.cache.validator import Snapshot, SnapshotValidator
from directory.extensions import db
from directory.http import endpoint, hooks
from directory.http.cache_tags import CREDENTIALS, CacheTags

CAPACITY = 6 * 2**20  # bytes of responses in the memory of a process
OVERHEAD = 1_400  # bytes that an entry takes beside its body, its template included

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]
Count = Callable[[str, str, int, float], None]  # method, route, status, seconds


class CacheMiddleware:
    """Stands before the application, makes its public responses and gives them again."""

    def __init__(self, flask: Flask, validator: SnapshotValidator, count: Count | None = None) -> None:
        self._flask, self._app, self.validator, self._count = flask, flask.wsgi_app, validator, count
        self.store: ResponseStore[CachedResponse] = ResponseStore(CAPACITY)
        self.routes = CacheableRoutes(flask)
        vary = ", ".join([*CREDENTIALS, *(["Origin"] if flask.config["CORS_ORIGINS"] else [])])
        self.shared_headers = SharedHeaders(vary)
        self.personal = PersonalReads(flask, self)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        began = time.perf_counter()
        request = read_from(environ)
        if request is None or not self.routes.covers(request.path):
            return self._app(environ, start_response)
        if has_credentials(environ):
            recognised = self.personal.recognise(request, environ)
            personal = None if recognised is None else self.personal.find(recognised)
            if personal is None:
                return self._app(environ, start_response)
            return self._give(personal, request, start_response, began)
        environ["HTTP_X_REQUEST_ID"] = request.request_id
        try:
            response = self.find(request)
        except Exception as error:
            return hooks.answer_error(self._flask, error, environ, start_response)
        if response is None:
            return self._pass_on(environ, start_response, request)
        return self._give(PersonalResponse(response, None), request, start_response, began)

    def _give(
        self, given: PersonalResponse, request: CacheableRequest, start_response: StartResponse, began: float
    ) -> Iterable[bytes]:
        response, user_id = given
        status, headers, body = response.render(request)
        start_response(STATUSES[status], [*headers, *response.shared_headers])
        self.record(response, request, status, began, user_id)
        return [body] if body else []

    def find(self, request: CacheableRequest) -> CachedResponse | None:
        """The response, from the store or made; None where the application has to answer. Raises what the rule raises.

        A response that was not valid at the latest snapshot is made after that, without reading a new one. The store is
        not asked again then: another thread may have stored a response that is valid at that snapshot, but was no
        longer valid when this caller asked.
        """
        snapshot = self.validator.latest
        if snapshot is None or self.store.get(request.key, snapshot) is not None:
            if (snapshot := self.validator.snapshot()) is None:
                return None
            if (response := self.store.get(request.key, snapshot)) is not None:
                return response
        return self.make(request, snapshot)

    def make(self, request: CacheableRequest, snapshot: Snapshot, match: Match | None = None) -> CachedResponse | None:
        """Make a response after a snapshot, and store it. Raises what the rule raises.

        It is None where the application has to make it. The `match` of the route is found unless it is known.
        """
        made = self._make(request, match)
        if made is None:
            return None
        response, tags = made
        self._put(request.key, snapshot, response, tags)
        return response

    def find_many(self, requests: list[CacheableRequest]) -> list[CachedResponse | None]:
        """Responses for the event loop, made by one short statement for each route; None where it takes more.

        They are not stored: to validate one takes a statement as well, and lists need the memory more.
        Raises what the statement raises.
        """
        responses: list[CachedResponse | None] = [None] * len(requests)
        by_view: defaultdict[Any, list[tuple[int, MatchById]]] = defaultdict(list)
        for place, request in enumerate(requests):
            if (match := self.routes.find_by_id(request)) is not None:
                by_view[match.view].append((place, match))
        for view, matches in by_view.items():
            with self._flask.app_context(), self.validator.borrow_connection() as is_connected:
                if not is_connected:
                    break
                found = endpoint.read_many(view.operation, [match.id for _, match in matches])
            for (place, match), rendered in zip(matches, found, strict=True):
                if rendered is not None:
                    responses[place] = self.response(rendered, requests[place], match)
        return responses

    def is_quick(self, request: CacheableRequest) -> bool:
        """Whether the event loop may answer: a response is stored, valid or not, or one short statement makes it."""
        return request.key in self.store or self.routes.find_by_id(request) is not None

    def record(
        self, response: CachedResponse, request: CacheableRequest, status: int, began: float, user_id: int | None = None
    ) -> None:
        """Log and count a request; `began` is of time.perf_counter()."""
        hooks.log_request("GET", request.path, status, began, request_id=request.request_id, user_id=user_id)
        if self._count is not None:
            self._count("GET", response.route, status, time.perf_counter() - began)

    def _make(
        self, request: CacheableRequest, match: Match | None = None
    ) -> tuple[CachedResponse, CacheTags | None] | None:
        """The response of a route that needs no request of Flask's, with its tags; None for any other path."""
        match = match or self.routes.find(request)
        if match is None:
            return None
        with self._flask.app_context():
            g.request_id = request.request_id
            query_string, view = request.query.encode("latin-1"), match.view
            rendered = endpoint.read(view.operation, view.view, request.path, match.arguments, query_string)
        return self.response(rendered, request, match), rendered.cache_tags

    def response(
        self, rendered: endpoint.Rendered, request: CacheableRequest, match: Match | MatchById
    ) -> CachedResponse:
        """The public response that has this content."""
        etag = f'"{rendered.etag}"'
        shared = self.shared_headers.public(request.scheme, rendered.headers)  # which has the route's Vary in its own
        headers = [*(each for each in rendered.headers.items() if each[0] != VARY), ("ETag", etag)]
        # A copy, because the encoder's bytes keep the whole buffer alive that they were written into.
        body, spec = bytes(memoryview(rendered.body)), match.view.operation
        template = Template(spec.projects_of) if Template.fits(spec) else None
        return CachedResponse(rendered.media_type or "", headers, shared, etag, body, match.rule, template)

    def _pass_on(self, environ: Environ, start_response: StartResponse, request: CacheableRequest) -> Iterable[bytes]:
        """Let the application answer, and store its response if it is public."""
        snapshot = self.validator.latest
        if snapshot is None:
            return self._app(environ, start_response)
        head: list[Any] = []

        def note(status: str, headers: Headers, exc_info: Any = None) -> Any:
            head[:] = status, headers
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        body = read_body(self._app(environ, note))
        status, headers = head
        if (response := cacheable_response(status, headers, body, environ.get(hooks.ROUTE, "none"))) is not None:
            self._put(request.key, snapshot, response)
        return [body]

    def _put(
        self, key: tuple[str, ...], snapshot: Snapshot, response: CachedResponse, tags: CacheTags | None = None
    ) -> None:
        self.store.put(key, snapshot, response, len(response.body) + _length(key, response) + OVERHEAD, tags)


def _length(key: tuple[str, ...], response: CachedResponse) -> int:
    """The characters of the key and of the response's own headers, which may repeat it."""
    return sum(map(len, key)) + sum(len(value) for _, value in response.headers)


def init_app(app: Flask) -> None:
    """Set up the cache, unless RESPONSE_CACHE is off.

    Where reads are rate-limited there is no middleware, because each read has to be counted.
    """
    if not app.config["RESPONSE_CACHE"]:
        return
    with app.app_context():
        validator = SnapshotValidator(db.engine)
    app.extensions |= {"snapshot_validator": validator, "memo": Memo(validator)}
    if not (app.config["RATELIMIT_ENABLED"] and app.config["RATELIMIT_READ"]):
        metrics = app.extensions.get("metrics")
        cache = CacheMiddleware(app, validator, metrics and metrics.count)
        app.wsgi_app = app.extensions["response_cache"] = cache  # type: ignore[method-assign]
