"""gunicorn's threaded worker with an event loop of its own, which waits for the clients and answers simple requests.

A request is read whole by the loop before a thread sees it, and the loop sends the response: a slow client costs a
buffer. What each part does stands in its module; here they are put together.
"""

import os
import selectors
import time
from email.utils import formatdate
from functools import lru_cache, partial
from typing import Any

from flask import Flask
from gunicorn.http.wsgi import SERVER
from gunicorn.util import write_error
from gunicorn.workers.gthread import ThreadWorker

from directory.db import deadline
from directory.http import hooks
from directory.server.application import Application, Outcome, ReceivedRequest, Response
from directory.server.collecting_connection import CollectingConnection
from directory.server.connection_balancing import Acceptor
from directory.server.connections import Connection, Connections
from directory.server.fast_path import FastPath
from directory.server.request_buffer import RequestBuffer
from directory.server.request_reader import recognise
from directory.server.thread_pool import ThreadPool
from directory.server.tuning import BODY_SECONDS, HEAD_SECONDS
from directory.server.vote_batching import VoteBatcher

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's worker, with another loop.

    Of gunicorn's private interfaces it uses: `poller`, `method_queue`, `sockets`, `wsgi`, `cfg`, `age`, `log`, `alive`,
    `notify` and `is_parent_alive`; `worker_connections`, `nr`, `max_requests` and `max_keepalived`, by which it limits
    connections and ends; `tpool` and `keepalived_conns`, which gunicorn's own methods use; `handle`, `handle_error` and
    `write_error`, which serve and refuse a request; in `Application`, `base_environ`; and in `RequestBuffer` the
    parser's `unreader`, `mesg` and `finish_body`, with the message's `_expected_100_continue` and body reader.
    """

    alive: bool

    def run(self) -> None:
        """Serve until the end; with settings this loop does not support, run gunicorn's loop."""
        if setting := self._unsupported():
            self.log.info("gunicorn's own loop serves, because of %s", setting)
            super().run()
            return
        self.prepare()
        self.poller.register(self.method_queue.fileno(), selectors.EVENT_READ, self.method_queue.run_callbacks)
        while self.alive and self.is_parent_alive():
            self.acceptor.adjust()
            self.iterate(1.0)
        self._stop()

    def _unsupported(self) -> str | None:
        """The setting that this loop does not support; None where there is none."""
        found = {
            "TLS": self.cfg.is_ssl, "HTTP/2": self.cfg.http2_cleartext != "off",
            "protocol": self.cfg.protocol != "http", "keepalive = 0": not self.cfg.keepalive,
            "the PROXY protocol": self.cfg.proxy_protocol != "off",
        }  # fmt: skip
        return next((name for name, given in found.items() if given), None)

    def prepare(self) -> None:
        """Make the parts."""
        self.tpool = ThreadPool(self.cfg.threads)
        self.connections = Connections(self.poller, self.cfg.keepalive, self._receive, self._give_up)
        self.keepalived_conns = self.connections.open  # gunicorn closes a connection when these are too many
        self.acceptor = Acceptor(
            self.poller, self.sockets, self.age, most=self.worker_connections, count=self.connections.__len__,
            take=self.connections.add,
        )  # fmt: skip
        self._application = Application(self.wsgi, self.cfg)
        self._fast: Any = None
        self._votes: Any = None
        # Where gunicorn makes the path or the scheme from more than the request, our reader does not know them.
        if isinstance(self.wsgi, Flask) and not (self.cfg.secure_scheme_headers or os.environ.get("SCRIPT_NAME")):
            self._hops: int = self.wsgi.config["TRUSTED_PROXIES"]
            self._fast = FastPath(self.wsgi, self.tpool.submit)
            self._votes = VoteBatcher(
                self.wsgi, self._application, self.tpool, defer=self.method_queue.defer, deliver=self._deliver,
                alone=self._hand_over,
            )  # fmt: skip

    def iterate(self, seconds: float) -> None:
        """Wait for events, at most so long, and do what they bring."""
        self.notify()
        began = time.monotonic()
        votes = self._votes
        timeout = min(seconds, self.acceptor.timeout(), votes.window.timeout(began) if votes else seconds)
        for key, _ in self.poller.select(timeout):
            key.data(key.fileobj)
        if votes:
            self._respond_in_loop()
            votes.start()
        self.connections.close_expired(began)

    def _stop(self) -> None:
        """End: accept waiting clients, answer requests that have begun, refuse the rest."""
        self.alive = False  # also where it ends because its parent has
        self.acceptor.stop()
        ends = time.monotonic() + self.cfg.graceful_timeout
        self.connections.stop(time.monotonic())
        while not self.connections.are_closed and time.monotonic() < ends:
            self.iterate(0.1)
        self.connections.close_all()
        self.poller.close()
        self.method_queue.close()

    def _receive(self, connection: Connection, data: bytes) -> None:
        """Take what came over a connection."""
        if connection.buffer is None:
            if not data:
                self.connections.abort(connection)
                return
            began = time.perf_counter()
            if self._fast and isinstance(connection.server, tuple):  # a socket in the file system has no addresses
                request = recognise(data, self._hops, hooks.request_id)
                if request is not None:
                    self._dispatch(ReceivedRequest(connection, request, began))
                    return
            connection.buffer = RequestBuffer(self.cfg, connection.client)
            connection.deadline = time.monotonic() + HEAD_SECONDS
        self._collect(connection, connection.buffer, data)

    def _dispatch(self, received: ReceivedRequest) -> None:
        """Have a request answered that was read: by the loop, in a batch, or alone."""
        if (response := self._fast.constant(received)) is not None:
            self._send(received.connection, response)
        elif not self._fast.take(received):
            self.connections.pause(received.connection)
            (self._votes.window.add if self._votes.routes.find(received.request) else self._hand_over)(received)

    def _collect(self, connection: Connection, buffer: RequestBuffer, data: bytes) -> None:
        """Add to a request, and hand it to a thread when it is ready."""
        had_head = buffer.has_head
        if data:
            buffer.add(data)
        else:
            buffer.end()
        if buffer.is_ready:
            self.connections.pause(connection)
            serve = partial(self._serve, connection, buffer, time.monotonic())
            if buffer.has_head:
                self.tpool.submit(serve)
            else:  # gunicorn refuses it, which takes no thread
                serve()
        elif buffer.has_head and not had_head:
            connection.deadline += BODY_SECONDS - HEAD_SECONDS
            if buffer.expects_continue:
                self.connections.send_now(connection, CONTINUE)
                buffer.note_continued()

    def _give_up(self, connection: Connection) -> None:
        """Refuse a request that did not come in time."""
        self.connections.pause(connection)
        collecting = CollectingConnection(connection)
        write_error(collecting, 408, "Request Timeout", "The request did not come in time.")
        self.connections.send(connection, collecting.response, keep=False)

    def _respond_in_loop(self) -> None:
        for received, response in self._fast.respond():
            if response is None:
                self.connections.pause(received.connection)
                self._hand_over(received)
            else:
                self._send(received.connection, response)

    def _hand_over(self, received: ReceivedRequest) -> None:
        """Have a thread call the application."""
        self.tpool.submit(partial(self._call, received))

    def _call(self, received: ReceivedRequest) -> None:
        """Call the application, in a thread."""
        self.method_queue.defer(self._deliver, received, self._application.outcome(received))

    def _serve(self, connection: Connection, buffer: RequestBuffer, ready_at: float) -> None:
        """Serve a request in gunicorn's way, in a thread."""
        collecting, keep = CollectingConnection(connection, buffer), False
        try:
            with deadline.for_request(time.monotonic() - ready_at):
                keep = bool(self.handle(collecting))
        except BaseException:
            self.log.exception("a connection was given up")
        self.method_queue.defer(
            self._served, connection, collecting.response, keep, buffer.take_rest() if keep else b""
        )

    def _served(self, connection: Connection, response: bytes, keep: bool, rest: bytes) -> None:
        connection.rest = rest
        self.connections.send(connection, response, keep=keep)

    def _deliver(self, received: ReceivedRequest, outcome: Outcome) -> None:
        """Send what came of a request."""
        if isinstance(outcome, Response):
            self._send(received.connection, outcome)
            return
        collecting = CollectingConnection(received.connection)
        self.handle_error(None, collecting, received.connection.client, outcome)
        self.connections.send(received.connection, collecting.response, keep=False)

    def _send(self, connection: Connection, response: Response) -> None:
        """Send a response. The connection stays open unless the process ends or has too many."""
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            self.log.info("Autorestarting worker after current request.")
            self.alive = False
        keep = self.alive and len(self.connections) < self.max_keepalived
        status, headers, body = response
        # One buffer: to copy it takes less than to have the system gather several.
        head = _first_lines(status, int(time.time()), keep)
        self.connections.send(connection, b"".join((head, headers, b"\r\n", body)), keep=keep)


@lru_cache(maxsize=16)
def _first_lines(status: bytes, second: int, keep: bool) -> bytes:
    """The status line and the headers that gunicorn begins with, in a second since the epoch."""
    date, connection = formatdate(second, usegmt=True), "keep-alive" if keep else "close"
    lines = f"\r\nServer: {SERVER}\r\nDate: {date}\r\nConnection: {connection}\r\n"
    return b"HTTP/1.1 " + status + lines.encode("ascii")
