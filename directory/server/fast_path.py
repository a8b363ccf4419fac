"""Responses that the event loop makes itself, because they take no thread.

These are the responses of constant routes, those of the response cache, and those that take one row: one statement
reads all the rows that the requests of an iteration need. The application answers everything else, in a thread.
"""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from flask import Flask

from directory.cache.cacheable_request import CacheableRequest
from directory.cache.middleware import CacheMiddleware
from directory.cache.personal import PersonalRequest
from directory.cache.response import STATUSES, CachedResponse, Recorder, shared_headers
from directory.cache.tuning import LOOP_QUERY_SECONDS, MEMBERS_MAX, SLOW_PAUSE
from directory.cache.validator import Snapshot
from directory.http import endpoint
from directory.server.application import ReceivedRequest, Response

log = logging.getLogger(__name__)
_STATUSES = {status: line.encode("ascii") for status, line in STATUSES.items()}


class FastPath:
    """Takes the requests of an iteration that the event loop may answer. `submit` has a thread do something."""

    def __init__(self, app: Flask, submit: Callable[[Callable[[], object]], object]) -> None:
        self._submit, self._record, self._constants = submit, Recorder(app), _constant_responses(app)
        self._cache: CacheMiddleware | None = app.extensions.get("response_cache")
        self._anonymous: list[tuple[ReceivedRequest, CacheableRequest]] = []
        self._members: list[tuple[ReceivedRequest, PersonalRequest]] = []
        self._paused_until = 0.0  # by time.monotonic()
        self._connects = False

    def constant(self, received: ReceivedRequest) -> Response | None:
        """The response of a route whose responses are constant; None for any other."""
        read = received.request.read
        response = None if read is None else self._constants.get(read.key)
        return None if read is None or response is None else self._encoded(received, read, response)

    def take(self, received: ReceivedRequest) -> bool:
        """Take a request that the loop may answer: one with a stored response, valid or not, or one that takes a row.

        Returns whether it is one.
        """
        request, cache = received.request, self._cache
        if cache is None:
            return False
        if request.read is not None:
            if is_quick := cache.is_quick(request.read):
                self._anonymous.append((received, request.read))
            return is_quick
        if request.read_with_credentials is None:
            return False
        personal = cache.personal_reads.recognise(request.read_with_credentials, request.credentials())
        if personal is None or not cache.personal_reads.is_quick(personal):
            return False
        self._members.append((received, personal))
        return True

    def respond(self) -> Iterator[tuple[ReceivedRequest, Response | None]]:
        """The responses to the requests that were taken; None for each that a thread has to answer.

        All of them share two reads of the database, and the snapshot that the members' read returns.
        """
        anonymous, members, snapshot = self._anonymous, self._members, None
        if self._cache is None or not (anonymous or members):
            return
        self._anonymous, self._members = [], []
        if not self._may_read(self._cache):
            yield from ((received, None) for received, _ in (*anonymous, *members))
            return
        give_up_at = time.monotonic() + LOOP_QUERY_SECONDS
        if members:
            reads = [personal for _, personal in members[:MEMBERS_MAX]]
            found, snapshot = self._cache.personal_reads.find_many(reads, give_up_at)
            found += [None] * (len(members) - len(reads))
            for (received, personal), each in zip(members, found, strict=True):
                yield received, each and self._encoded(received, personal.public, *each)
        if anonymous:
            responses = self._find(self._cache, [read for _, read in anonymous], snapshot, give_up_at)
            for (received, read), response in zip(anonymous, responses, strict=True):
                yield received, None if response is None else self._encoded(received, read, response)

    def _find(
        self, cache: CacheMiddleware, reads: list[CacheableRequest], snapshot: Snapshot | None, give_up_at: float
    ) -> list[CachedResponse | None]:
        """The anonymous responses; those of the store valid at the `snapshot`, which is read unless it has been."""
        if snapshot is None and any(read.key in cache.store for read in reads):
            snapshot = cache.validator.snapshot_for_loop()
        responses = [None if snapshot is None else cache.store.get(read.key, snapshot) for read in reads]
        missing = [place for place, response in enumerate(responses) if response is None]
        is_late = time.monotonic() > give_up_at
        if is_late and snapshot is None:
            self._paused_until = time.monotonic() + SLOW_PAUSE
        if missing and not is_late:
            try:
                made = cache.find_many([reads[place] for place in missing])
            except Exception as error:
                log.info("not answered in the loop", extra={"reason": type(error).__name__})
            else:
                for place, response in zip(missing, made, strict=True):
                    responses[place] = response
        return responses

    def _encoded(
        self, received: ReceivedRequest, read: CacheableRequest, response: CachedResponse, user_id: int | None = None
    ) -> Response:
        status, lines, body = response.encode(read)
        self._record(response, read, status, received.began, user_id)
        return Response(_STATUSES[status], lines, body)

    def _may_read(self, cache: CacheMiddleware) -> bool:
        """Whether the loop may read the database now. A thread opens the connection for it where there is none."""
        if time.monotonic() < self._paused_until:
            return False
        if not cache.validator.is_connected and not self._connects:
            self._connects = True
            self._submit(self._connect)
        return cache.validator.is_connected

    def _connect(self) -> None:
        try:
            if self._cache is not None:
                self._cache.validator.snapshot()
        finally:
            self._connects = False


def _constant_responses(app: Flask) -> dict[tuple[str, str, str], CachedResponse]:
    """The responses of the routes that say of themselves that theirs is constant, by the keys of the requests."""
    vary = "Origin" if app.config["CORS_ORIGINS"] else ""
    made = {}
    for rule in app.url_map.iter_rules():
        view: Any = app.view_functions[rule.endpoint]
        if getattr(getattr(view, "operation", None), "constant", False):
            content = endpoint.render(view.view(), view.operation)
            headers, media_type = [*content.headers.items()], content.media_type or ""
            for scheme in ("http", "https"):
                shared = shared_headers(scheme, vary)
                made[scheme, rule.rule, ""] = CachedResponse(media_type, headers, shared, "", content.body, rule.rule)
    return made
