"""The cache middleware: responds to reads before Flask, from the store while the stored response is valid.

A response that is not in the store it makes itself, by the operation of the route and without a request of Flask's.
A response may be given again under one rule: it was made for the same address, as a public one, and since before its
making nothing that it depends on was written. A write of any process is in the database's snapshot before it is
acknowledged, so the next response shows what was acknowledged. Nothing here expires by time. A signed-in member gets
the same response with what is theirs: see `personal`.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, TypeVar

from flask import Flask, g

from directory.cache.cacheable_request import CacheableRequest, has_credentials, read_from
from directory.cache.memo import Memo
from directory.cache.personal import PersonalReads
from directory.cache.response import (
    POLICY,
    STATUSES,
    VARY,
    CachedResponse,
    Headers,
    Recorder,
    cacheable_response,
    shared_headers,
)
from directory.cache.routes import CacheableRoutes, Match, MatchById
from directory.cache.store import SnapshotStore, count_nothing
from directory.cache.validator import Snapshot, SnapshotValidator
from directory.cache.vote_placeholders import VotePlaceholders
from directory.extensions import db
from directory.http import endpoint, hooks
from directory.http.cache_tags import CREDENTIALS, CacheTags
from directory.http.wsgi import read_body

CAPACITY = 6 * 2**20  # bytes of responses in the memory of a process
OVERHEAD = 1_600  # bytes that an entry takes beside its body, its placeholders included

T = TypeVar("T")
Environ = dict[str, Any]
StartResponse = Callable[..., Any]


class CacheMiddleware:
    """Stands before the application, makes its public responses and gives them again."""

    def __init__(self, flask: Flask, validator: SnapshotValidator) -> None:
        self._flask, self._app, self.validator = flask, flask.wsgi_app, validator
        metrics = flask.extensions.get("metrics")
        count = count_nothing if metrics is None else metrics.count_cache
        self.store: SnapshotStore[CachedResponse] = SnapshotStore(CAPACITY, count)
        self.routes = CacheableRoutes(flask)
        self.record = Recorder(flask)
        self._vary = ", ".join([*CREDENTIALS, *(["Origin"] if flask.config["CORS_ORIGINS"] else [])])
        self.personal_reads = PersonalReads(flask, self)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        began = time.perf_counter()
        request = read_from(environ)
        if request is None or not self.routes.covers(request.path):
            return self._app(environ, start_response)
        if has_credentials(environ):
            recognised = self.personal_reads.recognise(request, environ)
            personal = None if recognised is None else self.personal_reads.find(recognised)
            if personal is None:
                return self._app(environ, start_response)
            environ[hooks.ROUTE] = personal.response.route
            return self._start_response(personal.response, request, start_response, began, personal.user_id)
        environ["HTTP_X_REQUEST_ID"] = request.request_id
        try:
            response = self.find(request)
        except Exception as error:
            return hooks.answer_error(self._flask, error, environ, start_response)
        if response is None:
            return self._store_from_application(environ, start_response, request)
        environ[hooks.ROUTE] = response.route
        return self._start_response(response, request, start_response, began)

    def _start_response(
        self, response: CachedResponse, request: CacheableRequest, start_response: StartResponse, began: float,
        user_id: int | None = None,
    ) -> Iterable[bytes]:  # fmt: skip
        status, headers, body = response.render(request)
        start_response(STATUSES[status], [*headers, *response.shared.pairs])
        self.record(response, request, status, began, user_id)
        return [body] if body else []

    def find(self, request: CacheableRequest) -> CachedResponse | None:
        """The response, from the store or made; None where the application has to answer. Raises what the view raises.

        A response that was not valid at the latest snapshot is made after that, without reading a new one. The store is
        not asked again then: another thread may have stored a response that is valid at that snapshot, but was no
        longer valid when this caller asked.
        """
        snapshot = self.validator.latest
        if snapshot is None or self.store.peek(request.key, snapshot) is not None:
            if (snapshot := self.validator.snapshot()) is None:
                return None
            if (response := self.store.get(request.key, snapshot)) is not None:
                return response
        return self.make(request, snapshot)

    def make(self, request: CacheableRequest, snapshot: Snapshot, match: Match | None = None) -> CachedResponse | None:
        """Make a response after a snapshot, and store it. Raises what the view raises.

        It is None where the application has to make it. The `match` of the route is found unless it is known.
        """
        match = match or self.routes.find(request)
        if match is None:
            return None
        with self._flask.app_context():
            g.request_id = request.request_id
            query_string, view = request.query.encode("latin-1"), match.view
            rendered = endpoint.read(view.operation, view.view, request.path, match.arguments, query_string)
        response = self.response(rendered, request, match)
        self._put(request.key, snapshot, response, rendered.cache_tags)
        return response

    def find_many(self, requests: list[CacheableRequest]) -> list[CachedResponse | None]:
        """Responses for the event loop, made by one short statement for each route; None where it takes more.

        They are not stored: to validate one takes a statement as well, and lists need the memory more.
        Raises what the statement raises.
        """
        responses: list[CachedResponse | None] = [None] * len(requests)
        found = ((place, self.routes.find_by_id(request)) for place, request in enumerate(requests))
        matches = [(place, match) for place, match in found if match is not None]
        for place, match, rendered in self.read_by_id(matches, endpoint.read_many, lambda _, id: id, in_loop=True):
            if rendered is not None:
                responses[place] = self.response(rendered, requests[place], match)
        return responses

    def read_by_id(
        self, matches: list[tuple[T, MatchById]], read: Callable[[Any, list[Any]], list[Any]],
        key: Callable[[T, int], Any], *, in_loop: bool,
    ) -> Iterator[tuple[T, MatchById, Any]]:  # fmt: skip
        """What `read` returns for each object, by one statement a route; nothing where the loop has no connection.

        `read` takes an operation, and of each request with the id from its path what `key` makes of them.
        """
        by_view: defaultdict[Any, list[tuple[T, MatchById]]] = defaultdict(list)
        for each in matches:
            by_view[each[1].view].append(each)
        for view, group in by_view.items():
            borrowed = self.validator.borrow_connection() if in_loop else nullcontext(True)
            with self._flask.app_context(), borrowed as is_connected:
                if not is_connected:
                    return
                results = read(view.operation, [key(request, match.id) for request, match in group])
            for (request, match), result in zip(group, results, strict=True):
                yield request, match, result

    def is_quick(self, request: CacheableRequest) -> bool:
        """Whether the event loop may answer: a response is stored, valid or not, or one short statement makes it."""
        return request.key in self.store or self.routes.find_by_id(request) is not None

    def response(
        self, rendered: endpoint.Rendered, request: CacheableRequest, match: Match | MatchById
    ) -> CachedResponse:
        """The public response that has this content."""
        own, spec, etag = rendered.headers, match.view.operation, f'"{rendered.etag}"'
        vary = f"{own[VARY]}, {self._vary}" if VARY in own else self._vary
        shared = shared_headers(request.scheme, vary, hooks.PUBLIC, own_policy=POLICY in own)
        headers = [*(each for each in own.items() if each[0] != VARY), ("ETag", etag)]
        # A copy, because the encoder's bytes keep the whole buffer alive that they were written into.
        body = bytes(memoryview(rendered.body))
        placeholders = VotePlaceholders(spec.projects_of) if VotePlaceholders.fits(spec) else None
        return CachedResponse(rendered.media_type or "", headers, shared, etag, body, match.rule, placeholders)

    def _store_from_application(
        self, environ: Environ, start_response: StartResponse, request: CacheableRequest
    ) -> Iterable[bytes]:
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
        # The characters of the key, and twice those of the own headers: as text, and as they are sent.
        length = sum(map(len, key)) + 2 * sum(len(value) for _, value in response.headers)
        self.store.put(key, snapshot, response, len(response.body) + length + OVERHEAD, tags)


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
        app.wsgi_app = app.extensions["response_cache"] = CacheMiddleware(app, validator)  # type: ignore[method-assign]
