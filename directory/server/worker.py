"""gunicorn's worker with threads, which waits for nobody to hang up, and lets nobody who waits keep a thread."""

import selectors
import socket
import time
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.workers.gthread import TConn

from directory.db import deadline
from directory.server.fast_path import Served
from directory.server.thread_pool import Seats
from directory.server.vote_batching import GatheringWorker

LINGER = 2.0  # seconds for a client to read its answer and to hang up
LINGERING = 500  # connections at most
DRAINED = 65536  # bytes of what a client still sends; closed with them unread, its answer might be lost


class Worker(GatheringWorker):
    """Closes connections beside its other work, and counts a request's wait for a seat as part of its time.

    gunicorn 27.0 itself waits up to two seconds until the client of a connection that is not kept alive has hung up.
    It does so in the one thread that takes connections and hands them to the others: fifteen clients that read their
    answer and stay silent held up everybody for thirty seconds, and enough of them got the worker killed for hanging.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._lingering: dict[TConn, int] = {}  # what each has sent meanwhile, the oldest first

    def get_thread_pool(self) -> Seats:
        """The threads that serve."""
        return Seats(self.cfg.threads)

    def enqueue_req(self, conn: TConn) -> None:
        """Queue a connection for the next thread that is free; a new one, when something has come over it."""
        if not (conn.initialized or conn.data_ready):
            self.await_first(conn)
            return
        conn.queued = time.monotonic()
        self.tpool.put(partial(self._serve, conn))

    def _serve(self, conn: TConn) -> None:
        """Serve its request, in a thread."""
        deadline.have_waited(time.monotonic() - conn.queued)
        keep = False
        try:
            keep = self.handle(conn)
        except BaseException:  # gunicorn catches all but what ends a thread, of which there is a number
            self.log.exception("a connection was given up")
        finally:
            self.method_queue.defer(self.finish_request, conn, Served(keep))

    def finish_request(self, conn: TConn, fs: Any) -> None:
        """Keep the connection, or close it in our own way."""
        conn.close = partial(self._close, conn)
        super().finish_request(conn, fs)

    def _close(self, conn: TConn, graceful: bool = False) -> None:
        if not graceful:
            TConn.close(conn)
            return
        while len(self._lingering) >= LINGERING:
            self._hang_up(next(iter(self._lingering)))
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._drain, conn))
        except OSError:  # the client has gone
            TConn.close(conn)
            return
        conn.timeout = time.monotonic() + LINGER
        self._lingering[conn] = 0

    def _drain(self, conn: TConn, client: socket.socket) -> None:
        """Read on, until the client hangs up or has sent too much."""
        if conn not in self._lingering:  # hung up on by what else was to be done in the same turn
            return
        received = b""
        with suppress(OSError):
            received = client.recv(DRAINED)
        self._lingering[conn] += len(received)
        if not received or self._lingering[conn] >= DRAINED:
            self._hang_up(conn)

    def _hang_up(self, conn: TConn) -> None:
        del self._lingering[conn]
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        TConn.close(conn)

    def murder_pending(self) -> None:
        """Close what has waited for long enough, what is being closed included: asked at least once a second."""
        super().murder_pending()
        now = time.monotonic()
        while self._lingering and (conn := next(iter(self._lingering))).timeout <= now:
            self._hang_up(conn)
