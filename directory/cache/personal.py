"""Personal responses: what a signed-in member gets for an address whose public response is stored.

One statement returns the snapshot, the member, and the votes for the projects shown. If the public response is valid at
that snapshot, the personal one is the public one with these votes filled in. A single project is read by one statement
together with the member and the vote. The application answers everything else: `readers` says for which callers, and
`cacheable_request` for which requests.
"""

import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask

from directory.cache.cacheable_request import CacheableRequest
from directory.cache.response import CachedResponse
from directory.cache.routes import MatchById
from directory.cache.tuning import FAILED_SECONDS, REFUSED_MAX, REFUSED_SECONDS
from directory.cache.validator import Snapshot
from directory.cache.vote_placeholders import VotePlaceholders
from directory.db.statements import Row
from directory.errors import DirectoryError
from directory.http import authentication, endpoint
from directory.services.accounts.sessions import Proof

if TYPE_CHECKING:
    from directory.cache.middleware import CacheMiddleware

log = logging.getLogger(__name__)


class PersonalRequest(NamedTuple):
    """A read with a credential: the read without it, and the credential."""

    public: CacheableRequest
    proof: Proof


class PersonalResponse(NamedTuple):
    """A response, and the id of the member that it is for; None for a public response."""

    response: CachedResponse
    user_id: int | None


@dataclass(eq=False, slots=True)
class _PendingRead:
    """A request whose member and votes are to be read. It is settled once, by the thread that holds the validator."""

    request: PersonalRequest
    projects: str  # ids with commas in between
    snapshot: Snapshot | None = None
    row: Row | None = None
    is_settled: bool = False

    def settle(self, snapshot: Snapshot | None, row: Row | None) -> None:
        self.snapshot, self.row, self.is_settled = snapshot, row, True


class PersonalReads:
    """Makes personal responses from the store of the cache middleware."""

    def __init__(self, flask: Flask, cache: "CacheMiddleware") -> None:
        self._flask, self._cache = flask, cache
        self._cookie: str = flask.config["COOKIE_NAME"]
        self._is_sqlite: bool = cache.validator.dialect == "sqlite"
        self._pending: deque[_PendingRead] = deque()
        self._refused: dict[Proof, float] = {}  # until when, by time.monotonic()
        self._failed_until = 0.0

    def recognise(self, public: CacheableRequest, environ: dict[str, Any]) -> PersonalRequest | None:
        """The request with the credential in a WSGI environment; None where the application is to answer."""
        proof = authentication.proof(environ, self._cookie)
        return PersonalRequest(public, proof) if proof is not None and self._may_read(proof) else None

    def is_quick(self, request: PersonalRequest) -> bool:
        """Whether the event loop may answer: one statement does it."""
        return self._stored(request.public) is not None or self._cache.routes.find_by_id(request.public) is not None

    def find(self, request: PersonalRequest) -> PersonalResponse | None:
        """The response; None where the application has to answer. A public response that is missing is made first."""
        try:
            if (match := self._cache.routes.find_by_id(request.public)) is not None:
                return self._singles([(request, match)], in_loop=False)[0]
            if (public := self._stored(request.public)) is not None:
                found = self._from_page(request, public)
                if found is not None or not self._may_read(request.proof):
                    return found
            public = self._make(request.public)
            return None if public is None else self._from_page(request, public)
        except DirectoryError:  # of an address that has no public response
            return None
        except Exception as error:  # which the application meets too, and answers
            log.info("no personal response", extra={"reason": type(error).__name__})
            return None

    def find_many(
        self, requests: list[PersonalRequest], give_up_at: float
    ) -> tuple[list[PersonalResponse | None], Snapshot | None]:
        """Responses for the event loop, by one statement for all pages and one for all single projects.

        No statement begins after `give_up_at`, by time.monotonic(). Also the snapshot that the pages took, at which
        other responses may be validated.
        """
        pages: list[_PendingRead] = []
        singles: list[tuple[PersonalRequest, MatchById]] = []
        found: dict[PersonalRequest, PersonalResponse | None] = {}
        try:
            for request in requests:
                if (public := self._stored(request.public)) is not None:
                    pages.append(_PendingRead(request, _projects(public)))
                elif (match := self._cache.routes.find_by_id(request.public)) is not None:
                    singles.append((request, match))
            self._read_together(pages, in_loop=True)
            found |= {pending.request: self._filled(pending) for pending in pages}
            if time.monotonic() < give_up_at:
                found |= zip((request for request, _ in singles), self._singles(singles, in_loop=True), strict=True)
        except Exception as error:
            log.info("no personal response in the loop", extra={"reason": type(error).__name__})
        return [found.get(request) for request in requests], pages[0].snapshot if pages else None

    def _stored(self, request: CacheableRequest) -> CachedResponse | None:
        """The public response that was valid at the latest snapshot, if it has placeholders."""
        latest = self._cache.validator.latest
        public = None if latest is None else self._cache.store.peek(request.key, latest)
        return None if public is None or public.placeholders is None else public

    def _make(self, request: CacheableRequest) -> CachedResponse | None:
        """The public response, made anew; None where the application has to. Raises what the view raises.

        It is made after the latest snapshot: a new one takes a round trip. On SQLite it takes none, and there any write
        since the latest one would make the response invalid.
        """
        validator, match = self._cache.validator, self._cache.routes.find(request)
        if match is None or not VotePlaceholders.fits(match.view.operation):
            return None
        snapshot = (None if self._is_sqlite else validator.latest) or validator.snapshot()
        if snapshot is None:
            self._fail()
            return None
        return self._cache.make(request, snapshot, match)

    def _may_read(self, proof: Proof) -> bool:
        """Whether the caller may be looked up here, or the application answers it for now."""
        now = time.monotonic()
        return now >= self._failed_until and now >= self._refused.get(proof, 0.0)

    def _from_page(self, request: PersonalRequest, public: CachedResponse) -> PersonalResponse | None:
        pending = _PendingRead(request, _projects(public))
        self._read_together([pending], in_loop=False)
        return self._filled(pending)

    def _read_together(self, reads: list[_PendingRead], *, in_loop: bool) -> None:
        """Have the reads done by one statement, together with those of other threads that wait."""
        if not reads:
            return
        self._pending.extend(reads)
        with self._flask.app_context(), self._cache.validator.reading_votes(in_loop=in_loop) as read:
            may_read = time.monotonic() >= self._failed_until  # the read that this thread waited for may have failed
            if read is not None and may_read and not all(pending.is_settled for pending in reads):
                waiting = [pending for pending in self._waiting() if not pending.is_settled]
                snapshot, rows = read([(*each.request.proof.digests, each.projects) for each in waiting])
                if snapshot is None and not in_loop:  # a thread waits long enough to tell a fault from a short delay
                    self._fail()
                for pending, row in zip(waiting, rows or [None] * len(waiting), strict=True):
                    pending.settle(snapshot, row)
        for pending in reads:
            pending.is_settled = True  # where it was not read in time, no other thread needs to

    def _waiting(self) -> list[_PendingRead]:
        return [self._pending.popleft() for _ in range(len(self._pending))]

    def _filled(self, pending: _PendingRead) -> PersonalResponse | None:
        """The public response with the member's votes, if it is valid at the snapshot at which those were read."""
        request, snapshot, row = pending.request, pending.snapshot, pending.row
        if snapshot is None:
            return None
        public = self._cache.store.get(request.public.key, snapshot)
        if public is None or public.placeholders is None or _projects(public) != pending.projects:
            return None
        content = public.placeholders.content(public.body)
        if row is None or row[0] in content.owners:
            self._refuse(request.proof)
            return None
        return self._private(public, row[0], *public.placeholders.fill(public.body, public.etag, row[1]))

    def _singles(
        self, asked: list[tuple[PersonalRequest, MatchById]], *, in_loop: bool
    ) -> list[PersonalResponse | None]:
        """Responses of single objects, made by one statement for each route."""
        found: dict[PersonalRequest, PersonalResponse | None] = {}
        made = self._cache.read_by_id(
            asked, endpoint.read_many_as, lambda request, id: (request.proof, id), in_loop=in_loop
        )
        for request, match, each in made:
            user_id, rendered = each or (None, None)
            if user_id is None:
                self._refuse(request.proof)
            elif rendered is not None:
                public = self._cache.response(rendered, request.public, match)
                found[request] = self._private(public, user_id, public.body, public.etag)
        return [found.get(request) for request, _ in asked]

    def _private(self, public: CachedResponse, user_id: int, body: bytes, etag: str) -> PersonalResponse:
        return PersonalResponse(public.made_personal(body, etag), user_id)

    def _fail(self) -> None:
        """Let the application answer all callers for a while: the database does not answer here in time."""
        self._failed_until = time.monotonic() + FAILED_SECONDS

    def _refuse(self, proof: Proof) -> None:
        """Let the application answer the caller's next requests: a look-up here would be in vain again."""
        if len(self._refused) >= REFUSED_MAX:
            self._refused.clear()
        self._refused[proof] = time.monotonic() + REFUSED_SECONDS


def _projects(public: CachedResponse) -> str:
    """The ids of the projects of a public response, with commas in between."""
    return "" if public.placeholders is None else public.placeholders.content(public.body).ids
