"""Personal responses: what a signed-in member gets for an address whose public response is stored.

One statement returns the snapshot, the member, and the votes for the projects shown. If the public response is valid at
that snapshot, the personal one is the public one with these votes filled in. A single project is read by one statement
together with the member and the vote. The application answers everything else: `readers` says for which callers, and
`key` for which requests.
"""

import logging
import time
from collections import defaultdict, deque
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask

from directory.cache.key import CacheableRequest
from directory.cache.response import CachedResponse
from directory.cache.routes import MatchById
from directory.cache.template import Template
from directory.cache.validator import Snapshot
from directory.db.statements import Row
from directory.errors import DirectoryError
from directory.http import authentication, endpoint
from directory.services.accounts.sessions import Proof

if TYPE_CHECKING:
    from directory.cache.middleware import CacheMiddleware

log = logging.getLogger(__name__)
# Seconds for which the application answers: a caller whose last request it had to answer; all callers after a failure.
REFUSED_SECONDS, FAILED_SECONDS = 1.0, 5.0
REFUSED_MAX = 1_000  # callers that are remembered


class PersonalRequest(NamedTuple):
    """A read with a credential: the read without it, and the credential."""

    public: CacheableRequest
    proof: Proof


class PersonalResponse(NamedTuple):
    """A response, and the id of the member that it is for; None for a public response."""

    response: CachedResponse
    user_id: int | None


@dataclass(eq=False, slots=True)
class _Question:
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
        self._is_sqlite: bool = flask.config["SQLALCHEMY_DATABASE_URI"].startswith("sqlite")
        self._questions: deque[_Question] = deque()
        self._refused: dict[Proof, float] = {}  # until when, by time.monotonic()
        self._failed_until = 0.0

    def recognise(self, public: CacheableRequest, environ: dict[str, Any]) -> PersonalRequest | None:
        """The request with the credential in a WSGI environment; None where the application is to answer."""
        proof = authentication.proof(environ, self._cookie)
        return PersonalRequest(public, proof) if proof is not None and self._may_ask(proof) else None

    def is_quick(self, request: PersonalRequest) -> bool:
        """Whether the event loop may answer: one statement does it."""
        return self._stored(request.public) is not None or self._cache.routes.find_by_id(request.public) is not None

    def find(self, request: PersonalRequest) -> PersonalResponse | None:
        """The response; None where the application has to answer. A public response that is missing is made first."""
        try:
            if (match := self._cache.routes.find_by_id(request.public)) is not None:
                return self._singles([(request, match)], in_loop=False)[0]
            if (public := self._stored(request.public)) is not None:
                found = self._page(request, public)
                if found is not None or not self._may_ask(request.proof):
                    return found
            public = self._make(request.public)
            return None if public is None else self._page(request, public)
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
        pages: list[_Question] = []
        singles: list[tuple[PersonalRequest, MatchById]] = []
        found: dict[PersonalRequest, PersonalResponse | None] = {}
        try:
            for request in requests:
                if (public := self._stored(request.public)) is not None:
                    pages.append(_Question(request, _projects(public)))
                elif (match := self._cache.routes.find_by_id(request.public)) is not None:
                    singles.append((request, match))
            self._ask(pages, in_loop=True)
            found |= {question.request: self._filled(question) for question in pages}
            if time.monotonic() < give_up_at:
                found |= zip((request for request, _ in singles), self._singles(singles, in_loop=True), strict=True)
        except Exception as error:
            log.info("no personal response in the loop", extra={"reason": type(error).__name__})
        return [found.get(request) for request in requests], pages[0].snapshot if pages else None

    def _stored(self, request: CacheableRequest) -> CachedResponse | None:
        """The public response that was valid at the latest snapshot, if it has a template."""
        latest = self._cache.validator.latest
        public = None if latest is None else self._cache.store.get(request.key, latest)
        return None if public is None or public.template is None else public

    def _make(self, request: CacheableRequest) -> CachedResponse | None:
        """The public response, made anew; None where the application has to. Raises what the rule raises.

        It is made after the latest snapshot: a new one takes a round trip. On SQLite it takes none, and there any write
        since the latest one would make the response invalid.
        """
        validator, match = self._cache.validator, self._cache.routes.find(request)
        if match is None or not Template.fits(match.view.operation):
            return None
        snapshot = (None if self._is_sqlite else validator.latest) or validator.snapshot()
        if snapshot is None:
            self._fail()
            return None
        return self._cache.make(request, snapshot, match)

    def _may_ask(self, proof: Proof) -> bool:
        """Whether the caller may be looked up here, or the application answers it for now."""
        now = time.monotonic()
        return now >= self._failed_until and now >= self._refused.get(proof, 0.0)

    def _page(self, request: PersonalRequest, public: CachedResponse) -> PersonalResponse | None:
        question = _Question(request, _projects(public))
        self._ask([question], in_loop=False)
        return self._filled(question)

    def _ask(self, questions: list[_Question], *, in_loop: bool) -> None:
        """Have the questions settled by one statement, together with those of other threads that wait."""
        if not questions:
            return
        self._questions.extend(questions)
        with self._flask.app_context(), self._cache.validator.reading_votes(in_loop=in_loop) as read:
            is_open = time.monotonic() >= self._failed_until  # the read that this thread waited for may have failed
            if read is not None and is_open and not all(question.is_settled for question in questions):
                waiting = [question for question in self._waiting() if not question.is_settled]
                snapshot, rows = read([(*each.request.proof.digests, each.projects) for each in waiting])
                if snapshot is None and not in_loop:  # a thread waits long enough to tell a fault from a short delay
                    self._fail()
                for question, row in zip(waiting, rows or [None] * len(waiting), strict=True):
                    question.settle(snapshot, row)
        for question in questions:
            question.is_settled = True  # where it was not read in time, no other thread needs to

    def _waiting(self) -> list[_Question]:
        return [self._questions.popleft() for _ in range(len(self._questions))]

    def _filled(self, question: _Question) -> PersonalResponse | None:
        """The public response with the member's votes, if it is valid at the snapshot at which those were read."""
        request, snapshot, row = question.request, question.snapshot, question.row
        if snapshot is None:
            return None
        public = self._cache.store.get(request.public.key, snapshot)
        if public is None or public.template is None or _projects(public) != question.projects:
            return None
        content = public.template.content(public.body)
        if row is None or row[0] in content.owners:
            self._refuse(request.proof)
            return None
        body, etag = public.template.fill(public.body, public.etag, row[1])
        headers = [*((name, value) for name, value in public.headers if name != "ETag"), ("ETag", etag)]
        return self._private(public._replace(body=body, etag=etag, headers=headers), row[0])

    def _singles(
        self, asked: list[tuple[PersonalRequest, MatchById]], *, in_loop: bool
    ) -> list[PersonalResponse | None]:
        """Responses of single objects, made by one statement for each route."""
        found: dict[PersonalRequest, PersonalResponse | None] = {}
        by_view: defaultdict[Any, list[tuple[PersonalRequest, MatchById]]] = defaultdict(list)
        for request, match in asked:
            by_view[match.view].append((request, match))
        for view, matches in by_view.items():
            borrowed = self._cache.validator.borrow_connection() if in_loop else nullcontext(True)
            with self._flask.app_context(), borrowed as is_connected:
                if not is_connected:
                    break
                made = endpoint.read_many_as(view.operation, [(request.proof, match.id) for request, match in matches])
            for (request, match), each in zip(matches, made, strict=True):
                if each is None:
                    self._refuse(request.proof)
                    continue
                user_id, rendered = each
                if rendered is not None:
                    found[request] = self._private(self._cache.response(rendered, request.public, match), user_id)
        return [found.get(request) for request, _ in asked]

    def _private(self, response: CachedResponse, user_id: int) -> PersonalResponse:
        shared = self._cache.shared_headers.private(response.shared_headers)
        return PersonalResponse(response._replace(shared_headers=shared), user_id)

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
    return "" if public.template is None else public.template.content(public.body).ids
