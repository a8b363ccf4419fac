"""Reads that the event loop answers itself, because they take no thread.

These are the responses of the response cache, and those that take one row: one statement reads all the rows that the
requests of an iteration need. The application answers everything else, in a thread.
"""

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from flask import Flask

from directory.cache.cacheable_request import CacheableRequest, has_credentials
from directory.cache.middleware import CacheMiddleware
from directory.cache.personal import PersonalRequest
from directory.cache.response import CachedResponse
from directory.cache.tuning import LOOP_QUERY_SECONDS, MEMBERS_MAX, SLOW_PAUSE
from directory.cache.validator import Snapshot

log = logging.getLogger(__name__)
Found = tuple[CachedResponse, int | None]  # a response, and the id of the member that it is for


class Wanted(NamedTuple):
    """A read that the loop may answer; `personal` where it has a credential."""

    read: CacheableRequest
    personal: PersonalRequest | None


class Reads:
    """Answers the reads of an iteration. `submit` has a thread do something."""

    def __init__(self, app: Flask, submit: Callable[[Callable[[], object]], object]) -> None:
        self._submit = submit
        self._cache: CacheMiddleware | None = app.extensions.get("response_cache")
        self._paused_until = 0.0  # by time.monotonic()
        self._connects = False

    def take(self, read: CacheableRequest, environ: dict[str, Any]) -> Wanted | None:
        """A read with a stored response, valid or not, or one that takes a row; None where it takes more."""
        cache = self._cache
        if cache is None or read.scheme not in ("http", "https"):
            return None
        if not has_credentials(environ):
            return Wanted(read, None) if cache.is_quick(read) else None
        personal = cache.personal_reads.recognise(read, environ)
        return Wanted(read, personal) if personal is not None and cache.personal_reads.is_quick(personal) else None

    def respond(self, wanted: list[Wanted]) -> list[Found | None]:
        """The responses; None for each read that a thread has to answer.

        All of them share two reads of the database, and the snapshot that the members' read returns.
        """
        cache = self._cache
        if cache is None or not self._may_read(cache):
            return [None] * len(wanted)
        found: dict[int, Any] = {}
        snapshot, give_up_at = None, time.monotonic() + LOOP_QUERY_SECONDS
        members = [(place, each.personal) for place, each in enumerate(wanted) if each.personal is not None]
        if members := members[:MEMBERS_MAX]:
            personal, snapshot = cache.personal_reads.find_many([each for _, each in members], give_up_at)
            found |= zip((place for place, _ in members), personal, strict=True)
        public = [place for place, each in enumerate(wanted) if each.personal is None]
        if public:
            made = self._find(cache, [wanted[place].read for place in public], snapshot, give_up_at)
            found |= {place: each and (each, None) for place, each in zip(public, made, strict=True)}
        return [found.get(place) for place in range(len(wanted))]

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
