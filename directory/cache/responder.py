"""Responds to reads without a Flask request: with public responses, stored or new, personal ones, and single objects.

A stored response is given again if it was made for the same address, and nothing that it depends on was written after
its making began. A write of any process is in the database's snapshot before it is acknowledged, so the next response
shows every acknowledged write. By time a response expires only when the UTC day ends. After a failure the application
answers the signed-in readers concerned for a while.

For signed-in readers the snapshot, the readers, and their votes for the projects shown are read together: on PostgreSQL
by one statement for all who wait. If the public response is valid at that snapshot, the reader's is the public one with
the reader's own parts filled in. Single objects are read together in the same way. The event loop and signed-in readers
get them from the database each time; for an anonymous reader a thread stores the response, as it does pages.

Where only members may read, it responds to readers alone whom a statement has identified before: to all others the
application responds. So neither the response to a stranger nor its time depends on what is stored.
"""

import logging
import time
from collections import defaultdict, deque
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from flask import Flask
from werkzeug.routing import RequestRedirect

from directory.cache.personal_body import PersonalParts, ShownProjects
from directory.cache.reads import Bypass, Read
from directory.cache.response import CachedResponse, public_response
from directory.cache.routes import CacheableRoutes, MatchById
from directory.cache.single_flight import SingleFlight
from directory.cache.snapshot_source import THREAD_TIMEOUT, ReadVotes, Snapshot, SnapshotSource
from directory.cache.store import Store, count_nothing
from directory.db import deadline
from directory.db.errors import log_failure
from directory.db.statements import Row
from directory.errors import DirectoryError
from directory.http import access, authentication
from directory.http.cache_policy import CacheTags
from directory.http.exchange import anonymous
from directory.http.headers import of_app
from directory.services.accounts import last_uses, sessions
from directory.services.accounts.sessions import Credential

CAPACITY = 16 * 2**20  # bytes of responses in the memory of a process: some 600 pages of lists
OVERHEAD = 1_600  # bytes that an entry takes on top of its body, with the places of the personal parts
LOOP_QUERY_SECONDS = 0.03  # after so much of an iteration the event loop does not begin to read single objects
READERS_MAX = 64  # signed-in reads that an iteration answers: each takes 0.1 ms, or 0.5 ms on the longest pages
ADMITTED_MAX = 10_000  # readers that a process remembers where only members may read
log = logging.getLogger(__name__)


class ReaderResponse(NamedTuple):
    """A response, and the id of the signed-in reader that it is for; None for a public response."""

    content: CachedResponse
    user_id: int | None


@dataclass(eq=False, slots=True)
class PendingRead:
    """A read to respond to: its route if that ends with an id, and its response, once there is one.

    `row` is the reader's row of `readers.votes` for the `projects` of a page, at `snapshot`. One thread reads the rows
    of all that wait; `is_read` is set even if it got none. `is_unknown`: the statement did not identify the reader,
    whose last use may be due to be recorded.
    """

    read: Read
    match: MatchById | None
    response: ReaderResponse | None = None
    projects: ShownProjects | None = None
    snapshot: Snapshot | None = None
    row: Row | None = None
    is_read: bool = False
    is_unknown: bool = False


class Responder:
    """Responds to the reads of an application, for the server's event loop and for threads."""

    def __init__(self, flask: Flask, snapshots: SnapshotSource) -> None:
        self._flask, self.snapshots = flask, snapshots
        metrics = flask.extensions.get("metrics")
        count = count_nothing if metrics is None else metrics.count_cache
        self.store: Store[CachedResponse] = Store(CAPACITY, count)
        self.routes = CacheableRoutes(flask)
        self._headers = of_app(flask)
        self._flights = SingleFlight()
        self._waiting: deque[PendingRead] = deque()
        self._is_closed = access.is_closed(flask)
        self._admitted: set[Credential | None] = set()  # where only members may read
        self.bypass = Bypass()

    def pending(self, read: Read) -> PendingRead | None:
        """The read for `respond_in_loop`, if a response is stored or one short statement makes it; otherwise None.

        For an anonymous reader the response may turn out to be invalid when the snapshot is read.
        """
        if self._is_closed and read.credential not in self._admitted:
            return None
        if read.credential is not None and self.bypass.includes(read.credential):
            return None
        read = self.routes.asked(read)
        match = self.routes.find_by_id(read)
        if match is None and not (self._is_stored(read) if read.credential is None else self._fillable(read)):
            return None
        return PendingRead(read, match)

    def _is_stored(self, read: Read) -> bool:
        """Whether a response to an anonymous reader is stored, in the form that the client gets."""
        if not read.accepts or (latest := self.snapshots.latest) is None:
            return read.key in self.store
        public = self.store.peek(read.key, latest)
        return public is not None and public.form_for(read) is not None

    def respond(self, read: Read) -> ReaderResponse | None:
        """Respond to a read in a thread. A public response that is not stored, or not valid, is made.

        None where the application has to respond. For an anonymous reader it raises what the view raises.
        """
        if self.snapshots.should_connect:  # for the loop, which has no time for it
            self.snapshots.snapshot()
        if self._is_closed and not self._admit(read.credential):
            return None
        if read.credential is None:
            public = self._find_or_make(read)
            return None if public is None else ReaderResponse(self.in_form(public, read), None)
        pending = PendingRead(read, self.routes.find_by_id(read))
        try:
            if self.bypass.includes(read.credential):
                return None
            self._respond_to_reader(pending)
            if pending.is_unknown:
                self._record_uses([pending])
                self._respond_to_reader(pending)
                self._bypass_unknown([pending])
        except (DirectoryError, RequestRedirect):  # the address has no public response
            return None
        except Exception as error:  # the application answers
            log_failure(log, "no personal response", error)
        return pending.response

    def respond_to_unknown(self, pending: list[PendingRead]) -> None:
        """Respond in a thread to signed-in readers. The statement of the loop did not identify them.

        The last uses that are due are recorded first, by one statement for all.
        """
        try:
            self._record_uses(pending)
            self._read_together(pending)
            self._bypass_unknown(pending)
        except Exception as error:
            log_failure(log, "no personal response", error)

    def respond_in_loop(self, pending: list[PendingRead]) -> None:
        """Respond to reads by short statements over an open connection; a thread has to respond to the others."""
        try:
            self._respond_in_loop(pending)
        except Exception as error:
            log_failure(log, "not answered in the loop", error)

    def _respond_in_loop(self, pending: list[PendingRead]) -> None:
        """Respond with stored responses: first to signed-in readers, whose votes are read with the snapshot.

        If time is left, respond with single objects, which are read from the database for each route.
        """
        give_up_at = time.monotonic() + LOOP_QUERY_SECONDS
        anonymous = [reader for reader in pending if reader.read.credential is None]
        signed_in = [reader for reader in pending if reader.read.credential is not None][:READERS_MAX]
        pages = [reader for reader in signed_in if reader.match is None]
        self._give_filled(pages, in_loop=True)
        self._give_stored(anonymous, next((reader.snapshot for reader in pages), None))
        if time.monotonic() < give_up_at:
            self._give_by_id([reader for reader in (*signed_in, *anonymous) if reader.response is None], in_loop=True)

    # Public responses.

    def _give_stored(self, pending: list[PendingRead], snapshot: Snapshot | None) -> None:
        """Respond with stored responses that are valid at `snapshot`. If it is None, read it, if one may be valid."""
        latest = self.snapshots.latest
        if latest is None:
            return
        if snapshot is None and any(self.store.peek(reader.read.key, latest) is not None for reader in pending):
            snapshot = self.snapshots.snapshot(in_loop=True)
        for reader in pending:
            public = None if snapshot is None else self.store.get(reader.read.key, snapshot)
            form = None if public is None else public.form_for(reader.read)
            reader.response = None if form is None else ReaderResponse(form, None)

    def _find_or_make(self, read: Read, *, has_waited: bool = False) -> CachedResponse | None:
        """The public response, from the store or made; None where the application has to make it.

        Where several threads need it, one makes it for all: each looks again once it `has_waited` for the others.
        """
        snapshot, public = self._find_stored(read)
        if public is not None or snapshot is None:
            return public
        if has_waited:
            return self.make(read, snapshot)
        return self._flights.run(read.key, partial(self._find_or_make, read, has_waited=True))

    def _find_stored(self, read: Read) -> tuple[Snapshot | None, CachedResponse | None]:
        """A snapshot after which the response may be made, and the stored response if it is valid.

        A stored response must be valid at a snapshot that is read for this caller, because a write may have followed
        the latest one. Where none can be valid, the latest snapshot is good enough: reading another takes a round trip,
        except on SQLite. Both are None where the snapshot cannot be read.
        """
        snapshot = None if self.snapshots.dialect == "sqlite" else self.snapshots.latest
        if snapshot is None or self.store.peek(read.key, snapshot) is not None:
            snapshot = self.snapshots.snapshot()
            return snapshot, None if snapshot is None else self.store.get(read.key, snapshot)
        return snapshot, None

    def make(self, read: Read, snapshot: Snapshot) -> CachedResponse | None:
        """Make a public response after a snapshot, and store it. Raises what the view raises.

        It is None where the application has to make it.
        """
        match = self.routes.find(read.path)
        if match is None:
            return None
        with self._flask.app_context():
            facts = {"language": read.language, "view": match.view, "arguments": match.arguments}
            exchange, operation = anonymous(read.path, read.query, read.request_id, **facts), match.view.operation
            rendered, tags = operation.handle(exchange), operation.cache.tags
            depends_on = tags and tags(rendered.data, exchange.arguments.get("query", {}))
        public = public_response(rendered, self._headers, read.scheme, operation, match.rule)
        self.put(read, snapshot, public, depends_on)
        return public

    def put(self, read: Read, snapshot: Snapshot, public: CachedResponse, tags: CacheTags | None = None) -> None:
        """Store a public response whose making began after the snapshot."""
        # The entry holds the key, and the headers that are not shared twice: as text, and as bytes to send.
        length = sum(map(len, read.key)) + 2 * sum(len(value) for _, value in public.headers)
        self.store.put(read.key, snapshot, public, len(public.body) + length + OVERHEAD, tags)

    def in_form(self, public: CachedResponse, read: Read) -> CachedResponse:
        """A public response in the form that the client gets. One thread compresses it for all."""
        return public.form_for(read) or self._flights.run(id(public), lambda: self._compress(public, read))

    def _compress(self, public: CachedResponse, read: Read) -> CachedResponse:
        if public.compressed is None:
            public.compressed = public.compress()
            self.store.grow(read.key, public, len(public.compressed.body) + OVERHEAD)
        return public.compressed

    # Responses for signed-in readers.

    def _respond_to_reader(self, pending: PendingRead) -> None:
        """Respond in a thread. A public response that is not stored, or not valid, is made."""
        self._read_together([pending])
        can_make = pending.match is None and pending.response is None and not pending.is_unknown
        if can_make and not self.bypass.includes(pending.read.credential) and self._make_fillable(pending.read):
            self._read_together([pending])

    def _record_uses(self, pending: list[PendingRead]) -> None:
        """Record the last uses that are due, so that the statement identifies the readers."""
        credentials = {reader.read.credential for reader in pending if reader.read.credential is not None}
        with self._flask.app_context(), deadline.within(THREAD_TIMEOUT):
            authentication.record_uses(last_uses.due_of([*credentials]))

    def _read_together(self, pending: list[PendingRead]) -> None:
        for reader in pending:
            reader.is_read = reader.is_unknown = False
        self._give_filled([reader for reader in pending if reader.match is None], in_loop=False)
        self._give_by_id([reader for reader in pending if reader.match is not None], in_loop=False)

    def _fillable(self, read: Read) -> CachedResponse | None:
        """The public response that was valid at the latest snapshot, if it can be filled in for one reader."""
        latest = self.snapshots.latest
        public = None if latest is None else self.store.peek(read.key, latest)
        return None if public is None or public.personal is None else public

    def _make_fillable(self, read: Read) -> bool:
        """Make the public response if it can be filled in; return whether there is one."""
        match = self.routes.find(read.path)
        if match is None or not PersonalParts.fits(match.view.operation):
            return False
        if self._find_or_make(read) is None:
            self.bypass.add_all()
            return False
        return True

    def _give_filled(self, pending: list[PendingRead], *, in_loop: bool) -> None:
        """Respond to signed-in readers with stored responses, by one statement for them and other threads that wait."""
        reads = []
        for reader in pending:
            if (public := self._fillable(reader.read)) is not None and public.personal is not None:
                reader.projects = public.personal.projects(public.body)
                reads.append(reader)
        if not reads:
            return
        self._waiting.extend(reads)
        with self._flask.app_context():  # for the database, and the settings that say what is filled in
            with self.snapshots.reading_votes(in_loop=in_loop) as read_rows:
                # While this thread waited, another's read may have failed. Then all callers are bypassed.
                may_read = time.monotonic() >= self.bypass.all_until
                if read_rows is not None and may_read and not all(reader.is_read for reader in reads):
                    waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
                    self._read_votes([reader for reader in waiting if not reader.is_read], read_rows, in_loop=in_loop)
            for reader in reads:
                reader.is_read = True  # also where it was not read in time: no other thread reads it for nothing
                reader.response = self._filled(reader)

    def _read_votes(self, pending: list[PendingRead], read_rows: ReadVotes, *, in_loop: bool) -> None:
        values = [
            (*reader.read.credential.digests, reader.projects.ids, reader.projects.owners)
            for reader in pending
            if reader.read.credential is not None and reader.projects is not None
        ]
        snapshot, rows = read_rows(values)
        if snapshot is None and not in_loop:  # a thread waits for long, so the database is slow or down
            self.bypass.add_all()
        for reader, row in zip(pending, rows or [None] * len(pending), strict=True):
            reader.snapshot, reader.row, reader.is_read = snapshot, row, True

    def _filled(self, pending: PendingRead) -> ReaderResponse | None:
        """The public response with the reader's own parts, if it is valid at the snapshot at which these were read."""
        if pending.snapshot is None:
            return None
        public = self.store.get(pending.read.key, pending.snapshot)
        if public is None or public.personal is None or public.personal.projects(public.body) != pending.projects:
            return None
        if pending.row is None:
            pending.is_unknown = True
            return None
        user_id, voted, own = pending.row
        return self._private(public, user_id, *public.personal.fill(public.body, public.etag, voted, own))

    def _give_by_id(self, pending: list[PendingRead], *, in_loop: bool) -> None:
        """Respond to reads of single objects, those of a route together, by short statements.

        These responses are not stored: to read the snapshot takes a statement as well, and lists need the memory more.
        """
        by_view: defaultdict[Any, list[tuple[PendingRead, MatchById]]] = defaultdict(list)
        for reader in pending:
            if reader.match is not None:
                by_view[reader.match.view].append((reader, reader.match))
        for view, group in by_view.items():
            borrowed = self.snapshots.borrow_connection() if in_loop else nullcontext(True)
            with self._flask.app_context():
                with borrowed as is_connected:
                    if not is_connected:
                        return
                    wanted = [(reader.read.credential, match.id) for reader, match in group]
                    loaded = view.operation.cache.load_many(wanted, quick=in_loop)
                for (reader, match), answer in zip(group, loaded, strict=True):
                    user_id, result = answer or (None, None)
                    reader.is_unknown = user_id is None and reader.read.credential is not None
                    if not reader.is_unknown and result is not None:
                        reader.response = self._response_by_id(reader.read, match, user_id, result)

    def _response_by_id(self, read: Read, match: MatchById, user_id: int | None, result: Any) -> ReaderResponse:
        operation = match.view.operation
        rendered = operation.render(result)
        public = public_response(rendered, self._headers, read.scheme, operation, match.rule)
        if user_id is None:
            return ReaderResponse(public, None)
        return self._private(public, user_id, public.body, public.etag)

    def _private(self, public: CachedResponse, user_id: int, body: bytes, etag: str) -> ReaderResponse:
        return ReaderResponse(public.for_reader(body, etag), user_id)

    # Where only members may read: the readers to whom the cache may respond.

    def _admit(self, credential: Credential | None) -> bool:
        """Whether a statement identifies the reader, now or earlier; it is then remembered."""
        if credential is None or credential in self._admitted:
            return credential is not None
        try:
            with self._flask.app_context(), deadline.within(THREAD_TIMEOUT):
                is_reader = sessions.caller_of(credential) is not None
        except Exception as error:  # the application answers
            log_failure(log, "reader not identified", error)
            return False
        if is_reader:
            if len(self._admitted) >= ADMITTED_MAX:
                self._admitted.clear()
            self._admitted.add(credential)
        return is_reader

    def _bypass_unknown(self, pending: list[PendingRead]) -> None:
        """Respond no more to unknown callers, for a while."""
        unknown = {reader.read.credential for reader in pending if reader.is_unknown}
        self._admitted -= unknown
        self.bypass.add(unknown)
