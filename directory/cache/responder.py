"""Responds to reads before Flask: public responses out of the store, filled in for signed-in readers, and single rows.

A public response may be given again under one rule: it was made for the same address, and since before its making
nothing that it depends on was written. A write of any process is in the database's snapshot before it is acknowledged,
so the next response shows every acknowledged write. Nothing here expires by time.

For signed-in readers one statement returns the snapshot, the readers, and their votes for the projects shown. If the
public response is valid at that snapshot, theirs is the public one with that filled in. Objects by an id are read by
one statement for all readers. Several reads together need no more statements than one.
"""

import logging
import time
from collections import defaultdict, deque
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from flask import Flask, g

from directory.cache.personal_body import PersonalBody, Projects
from directory.cache.reads import Read
from directory.cache.response import CachedResponse, public_response
from directory.cache.routes import CacheableRoutes, MatchById
from directory.cache.single_flight import SingleFlight
from directory.cache.store import SnapshotStore, count_nothing
from directory.cache.tuning import FAILED_SECONDS, LOOP_QUERY_SECONDS, READERS_MAX, REFUSED_MAX, REFUSED_SECONDS
from directory.cache.validator import ReadVotes, Snapshot, SnapshotValidator
from directory.db.statements import Row
from directory.errors import DirectoryError
from directory.http import endpoint, hooks
from directory.http.cache_policy import CREDENTIALS, CacheTags
from directory.services.accounts.sessions import Credential

CAPACITY = 6 * 2**20  # bytes of responses in the memory of a process
OVERHEAD = 1_600  # bytes that an entry takes beside its body, with the places of the personal parts
log = logging.getLogger(__name__)


class Response(NamedTuple):
    """A response, and the id of the signed-in reader that it is for; None for a public response."""

    content: CachedResponse
    user_id: int | None


@dataclass(eq=False, slots=True)
class _Asked:
    """A read, its route where that has an id, and its response, once there is one.

    `row` is that of `readers.votes` for the `projects` of a page, read at `snapshot`. It is settled once, by the thread
    that holds the validator.
    """

    read: Read
    match: MatchById | None
    response: Response | None = None
    projects: Projects | None = None
    snapshot: Snapshot | None = None
    row: Row | None = None
    is_settled: bool = False


class Responder:
    """Makes the responses of an application to reads, for the server's event loop and for threads."""

    def __init__(self, flask: Flask, validator: SnapshotValidator) -> None:
        self._flask, self.validator = flask, validator
        metrics = flask.extensions.get("metrics")
        count = count_nothing if metrics is None else metrics.count_cache
        self.store: SnapshotStore[CachedResponse] = SnapshotStore(CAPACITY, count)
        self.routes = CacheableRoutes(flask)
        self._vary = ", ".join([*CREDENTIALS, *(["Origin"] if flask.config["CORS_ORIGINS"] else [])])
        self._caching = hooks.public_caching(flask)
        self._flights = SingleFlight()
        self._waiting: deque[_Asked] = deque()
        self._refused: dict[Credential, float] = {}  # until when, by time.monotonic()
        self._failed_until = 0.0

    def is_quick(self, read: Read) -> bool:
        """Whether the event loop may respond: a response is stored, or one short statement makes it.

        For an anonymous reader the response may turn out to be invalid when the snapshot is read.
        """
        if read.credential is not None and not self._may_identify(read.credential):
            return False
        if self.routes.find_by_id(read) is not None:
            return True
        return read.key in self.store if read.credential is None else self._fillable(read) is not None

    def respond(self, reads: list[Read], *, in_loop: bool = False) -> list[Response | None]:
        """The responses; None for each that the application has to make. Raises what the view does for anonymous reads.

        For the event loop they are made by short statements alone, over a connection that there is already. None then
        means that a thread has to respond.
        """
        asked = [_Asked(read, self.routes.find_by_id(read)) for read in reads]
        if in_loop:
            try:
                self._respond_in_loop(asked)
            except Exception as error:
                log.info("not answered in the loop", extra={"reason": type(error).__name__})
        else:
            if self.validator.may_connect:  # for the loop, which has no time for it
                self.validator.snapshot()
            for each in asked:
                self._respond_in_thread(each)
        return [each.response for each in asked]

    def _respond_in_loop(self, asked: list[_Asked]) -> None:
        """Respond by a statement for all pages and one for each route with an id, unless the time is over by then."""
        give_up_at = time.monotonic() + LOOP_QUERY_SECONDS
        anonymous = [each for each in asked if each.read.credential is None]
        known = [each for each in asked if each.read.credential is not None][:READERS_MAX]
        pages = [each for each in known if each.match is None]
        self._fill(pages, in_loop=True)
        self._give_stored(anonymous, next((each.snapshot for each in pages), None))
        if time.monotonic() < give_up_at:
            self._load([each for each in (*known, *anonymous) if each.response is None], in_loop=True)

    def _respond_in_thread(self, asked: _Asked) -> None:
        """Respond to a read, making the public response where there is no valid one."""
        read = asked.read
        if read.credential is None:
            public = self._find(read)
            asked.response = None if public is None else Response(public, None)
            return
        try:
            if not self._may_identify(read.credential):
                return
            if asked.match is not None:
                self._load([asked], in_loop=False)
                return
            self._fill([asked], in_loop=False)
            if asked.response is None and self._may_identify(read.credential) and self._make_fillable(read):
                asked.is_settled = False
                self._fill([asked], in_loop=False)
        except DirectoryError:  # of an address that has no public response
            return
        except Exception as error:  # which the application meets too, and answers
            log.info("no personal response", extra={"reason": type(error).__name__})

    # Public responses.

    def _give_stored(self, asked: list[_Asked], snapshot: Snapshot | None) -> None:
        """Respond out of the store, valid at the `snapshot`, which is read unless it has been."""
        latest = self.validator.latest
        if latest is None:
            return
        if snapshot is None and any(self.store.peek(each.read.key, latest) is not None for each in asked):
            snapshot = self.validator.snapshot_for_loop()
        for each in asked:
            public = None if snapshot is None else self.store.get(each.read.key, snapshot)
            each.response = None if public is None else Response(public, None)

    def _find(self, read: Read) -> CachedResponse | None:
        """The public response, from the store or made; None where the application has to make it.

        Of several threads that need one to be made, one makes it for all.
        """
        snapshot, public = self._find_stored(read)
        if public is not None or snapshot is None:
            return public
        return self._flights.run(read.key, lambda: self._find_or_make(read))

    def _find_or_make(self, read: Read) -> CachedResponse | None:
        snapshot, public = self._find_stored(read)  # which another thread may have made while this one waited
        return self.make(read, snapshot) if public is None and snapshot is not None else public

    def _find_stored(self, read: Read) -> tuple[Snapshot | None, CachedResponse | None]:
        """The stored response, if it is valid, and a snapshot after which another may be made; None without a database.

        A response that was not valid at the latest snapshot is made after that one: a new one takes a round trip. On
        SQLite it takes none. The store is asked only at a snapshot that was read for this caller: another thread may
        have stored a response that is valid at an older one.
        """
        snapshot = None if self.validator.dialect == "sqlite" else self.validator.latest
        if snapshot is None or self.store.peek(read.key, snapshot) is not None:
            snapshot = self.validator.snapshot()
            return snapshot, None if snapshot is None else self.store.get(read.key, snapshot)
        return snapshot, None

    def make(self, read: Read, snapshot: Snapshot) -> CachedResponse | None:
        """Make a public response after a snapshot, and store it. Raises what the view raises.

        It is None where the application has to make it.
        """
        match = self.routes.find(read)
        if match is None:
            return None
        with self._flask.app_context():
            g.request_id = read.request_id
            query_string, view = read.query.encode("latin-1"), match.view
            rendered = endpoint.read(view.operation, view.view, read.path, match.arguments, query_string)
        public = public_response(rendered, read.scheme, self._vary, match.view.operation, match.rule, self._caching)
        self.put(read, snapshot, public, rendered.cache_tags)
        return public

    def put(self, read: Read, snapshot: Snapshot, public: CachedResponse, tags: CacheTags | None = None) -> None:
        """Store a public response whose making began after the snapshot."""
        # The characters of the key, and twice those of the own headers: as text, and as they are sent.
        length = sum(map(len, read.key)) + 2 * sum(len(value) for _, value in public.headers)
        self.store.put(read.key, snapshot, public, len(public.body) + length + OVERHEAD, tags)

    # Responses for signed-in readers.

    def _fillable(self, read: Read) -> CachedResponse | None:
        """The public response that was valid at the latest snapshot, if it can be filled in for one reader."""
        latest = self.validator.latest
        public = None if latest is None else self.store.peek(read.key, latest)
        return None if public is None or public.personal is None else public

    def _make_fillable(self, read: Read) -> bool:
        """Make the public response, if it can be filled in; whether there is one."""
        match = self.routes.find(read)
        if match is None or not PersonalBody.fits(match.view.operation):
            return False
        if self._find(read) is None:
            self._fail()
            return False
        return True

    def _fill(self, asked: list[_Asked], *, in_loop: bool) -> None:
        """Respond out of the store to signed-in readers, by one statement together with other threads that wait."""
        reads = []
        for each in asked:
            if (public := self._fillable(each.read)) is not None and public.personal is not None:
                each.projects = public.personal.projects(public.body)
                reads.append(each)
        if not reads:
            return
        self._waiting.extend(reads)
        with self._flask.app_context(), self.validator.reading_votes(in_loop=in_loop) as read:
            may_read = time.monotonic() >= self._failed_until  # the read that this thread waited for may have failed
            if read is not None and may_read and not all(each.is_settled for each in reads):
                waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
                self._settle([each for each in waiting if not each.is_settled], read, in_loop=in_loop)
        for each in reads:
            each.is_settled = True  # where it was not read in time, no other thread needs to
            each.response = self._filled(each)

    def _settle(self, asked: list[_Asked], read: ReadVotes, *, in_loop: bool) -> None:
        values = [
            (*each.read.credential.digests, each.projects.ids, each.projects.owners)
            for each in asked
            if each.read.credential is not None and each.projects is not None
        ]
        snapshot, rows = read(values)
        if snapshot is None and not in_loop:  # a thread waits so long that this is a fault and not a short delay
            self._fail()
        for each, row in zip(asked, rows or [None] * len(asked), strict=True):
            each.snapshot, each.row, each.is_settled = snapshot, row, True

    def _filled(self, asked: _Asked) -> Response | None:
        """The public response with the reader's own parts, if it is valid at the snapshot at which these were read."""
        if asked.snapshot is None:
            return None
        public = self.store.get(asked.read.key, asked.snapshot)
        if public is None or public.personal is None or public.personal.projects(public.body) != asked.projects:
            return None
        if asked.row is None:
            self._refuse(asked.read)
            return None
        user_id, voted, own = asked.row
        return self._private(public, user_id, *public.personal.fill(public.body, public.etag, voted, own))

    def _load(self, asked: list[_Asked], *, in_loop: bool) -> None:
        """Respond to reads of objects by their ids, by short statements for each route.

        The responses are not stored: to validate one takes a statement as well, and lists need the memory more.
        """
        by_view: defaultdict[Any, list[tuple[_Asked, MatchById]]] = defaultdict(list)
        for each in asked:
            if each.match is not None:
                by_view[each.match.view].append((each, each.match))
        for view, group in by_view.items():
            borrowed = self.validator.borrow_connection() if in_loop else nullcontext(True)
            with self._flask.app_context(), borrowed as is_connected:
                if not is_connected:
                    return
                wanted = [(each.read.credential, match.id) for each, match in group]
                loaded = endpoint.read_many(view.operation, wanted, quick=in_loop)
            for (each, match), found in zip(group, loaded, strict=True):
                each.response = self._loaded(each.read, match, *(found or (None, None)))

    def _loaded(
        self, read: Read, match: MatchById, user_id: int | None, rendered: endpoint.Rendered | None
    ) -> Response | None:
        if user_id is None and read.credential is not None:
            self._refuse(read)
            return None
        if rendered is None:
            return None
        public = public_response(rendered, read.scheme, self._vary, match.view.operation, match.rule, self._caching)
        return Response(public, None) if user_id is None else self._private(public, user_id, public.body, public.etag)

    def _private(self, public: CachedResponse, user_id: int, body: bytes, etag: str) -> Response:
        return Response(public.made_personal(body, etag), user_id)

    # Callers whom the application answers for a while, because the cache could not identify them.

    def _may_identify(self, credential: Credential) -> bool:
        """Whether the caller may be identified here, or the application answers it for now."""
        now = time.monotonic()
        return now >= self._failed_until and now >= self._refused.get(credential, 0.0)

    def _fail(self) -> None:
        """Let the application answer all signed-in callers: the database does not answer here in time."""
        self._failed_until = time.monotonic() + FAILED_SECONDS

    def _refuse(self, read: Read) -> None:
        """Let the application answer the caller's next requests: to identify it here would fail again."""
        if len(self._refused) >= REFUSED_MAX:
            self._refused.clear()
        if read.credential is not None:
            self._refused[read.credential] = time.monotonic() + REFUSED_SECONDS
