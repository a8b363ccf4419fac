"""gunicorn's threaded worker with an event loop of its own, which waits for the clients and answers simple requests.

A request is read whole by the loop before a thread sees it, and the loop sends the answer: a slow client costs a
buffer. What each part does stands in its module; here they are put together.
"""

import errno
import os
import selectors
import time
from collections.abc import Sequence
from email.utils import formatdate
from functools import lru_cache, partial
from typing import Any

from flask import Flask
from gunicorn.http.wsgi import SERVER
from gunicorn.util import write_error
from gunicorn.workers.gthread import ThreadWorker

from directory.db import deadline
from directory.http import hooks
from directory.server.connection_balancing import Acceptor
from directory.server.connections import Connection, Connections
from directory.server.exchange import Exchange
from directory.server.fast_path import Application, Asked, FastPath, Response
from directory.server.request_buffer import RequestBuffer
from directory.server.request_reader import recognise
from directory.server.thread_pool import ThreadPool
from directory.server.tuning import BODY_SECONDS, HEAD_SECONDS
from directory.server.vote_batching import Outcome, VoteBatcher

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's worker. Of its inside it uses the parser, `handle`, `handle_error`, and what its loop is ended by."""

    alive: bool

    def run(self) -> None:
        """Serve until the end. What only gunicorn can do, it does in its own way."""
        if unable := self._unable():
            self.log.info("gunicorn's own loop serves, because of %s", unable)
            super().run()
            return
        self.prepare()
        self.poller.register(self.method_queue.fileno(), selectors.EVENT_READ, self.method_queue.run_callbacks)
        while self.alive and self.is_parent_alive():
            self.acceptor.adjust()
            self.turn(1.0)
        self._stop()

    def _unable(self) -> str | None:
        """The setting that this loop does not know; None where there is none."""
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
        self._asked: list[Asked] = []
        # A path or a scheme that gunicorn judges is not known to our reader.
        if isinstance(self.wsgi, Flask) and not (self.cfg.secure_scheme_headers or os.environ.get("SCRIPT_NAME")):
            self._hops: int = self.wsgi.config["TRUSTED_PROXIES"]
            self._fast = FastPath(self.wsgi, self.tpool.submit)
            self._votes = VoteBatcher(
                self.wsgi, self._application, self.tpool, defer=self.method_queue.defer, deliver=self._deliver,
                alone=self._hand_over,
            )  # fmt: skip

    def turn(self, seconds: float) -> None:
        """Wait for events, at most so long, and do what they bring."""
        self.notify()
        looked = time.monotonic()
        votes = self._votes
        timeout = min(seconds, self.acceptor.timeout(), votes.window.timeout(looked) if votes else seconds)
        try:
            events = self.poller.select(timeout)
        except OSError as error:
            if error.errno != errno.EINTR:
                raise
            events = []
        for key, _ in events:
            key.data(key.fileobj)
        if self._asked:
            self._answer_in_loop()
        if votes:
            votes.start()
        self.connections.close_late(looked)

    def _stop(self) -> None:
        """End: accept waiting clients, answer requests that have begun, refuse the rest."""
        self.alive = False  # also where it ends because its parent has
        self.acceptor.stop()
        ends = time.monotonic() + self.cfg.graceful_timeout
        self.connections.stop(time.monotonic())
        while not self.connections.are_closed and time.monotonic() < ends:
            self.turn(0.1)
        self.connections.close_all()
        self.poller.close()
        self.method_queue.close()

    def _receive(self, connection: Connection, data: bytes) -> None:
        """Take what came over a connection."""
        if connection.buffer is None:
            if not data:
                self.connections.lose(connection)
                return
            began = time.perf_counter()
            if self._fast and isinstance(connection.server, tuple):  # a socket in the file system tells no addresses
                request = recognise(data, self._hops, hooks.request_id)
                if request is not None:
                    self._dispatch(Asked(connection, request, began))
                    return
            connection.buffer = RequestBuffer(self.cfg, connection.client)
            connection.deadline = time.monotonic() + HEAD_SECONDS
        self._collect(connection, connection.buffer, data)

    def _dispatch(self, asked: Asked) -> None:
        """Have a request answered that was read: by the loop, in a batch, or alone."""
        if (constant := self._fast.constant.answer(asked)) is not None:
            self._send(asked.connection, constant)
        elif self._fast.may_answer(asked):
            self._asked.append(asked)
        else:
            self.connections.pause(asked.connection)
            (self._votes.window.add if self._votes.routes.has(asked.request) else self._hand_over)(asked)

    def _collect(self, connection: Connection, buffer: RequestBuffer, data: bytes) -> None:
        """Add to a request, and hand it to a thread when it is whole."""
        had_head = buffer.has_head
        if data:
            buffer.add(data)
        else:
            buffer.end()
        if buffer.is_whole:
            self.connections.pause(connection)
            serve = partial(self._serve, connection, buffer, time.monotonic())
            if buffer.has_head:
                self.tpool.submit(serve)
            else:  # gunicorn refuses it, which takes no thread
                serve()
        elif not data:
            self.connections.lose(connection)
        elif buffer.has_head and not had_head:
            connection.deadline += BODY_SECONDS - HEAD_SECONDS
            if buffer.expects_continue:
                self.connections.send_now(connection, CONTINUE)
                buffer.note_continued()

    def _give_up(self, connection: Connection) -> None:
        """Refuse a request that did not come in time."""
        exchange = Exchange(connection, None)
        self.connections.pause(connection)
        write_error(exchange, 408, "Request Timeout", "The request did not come in time.")
        self.connections.send(connection, exchange.parts, keep=False)

    def _answer_in_loop(self) -> None:
        asked, self._asked = self._asked, []
        for each, response in zip(asked, self._fast.answer(asked), strict=True):
            if response is None:
                self.connections.pause(each.connection)
                self._hand_over(each)
            else:
                self._send(each.connection, response)

    def _hand_over(self, asked: Asked) -> None:
        """Have a thread ask the application."""
        self.tpool.submit(partial(self._ask, asked))

    def _ask(self, asked: Asked) -> None:
        """Ask the application, in a thread."""
        outcome: Outcome
        try:
            with deadline.for_request(time.perf_counter() - asked.began):
                outcome = self._application.respond(asked)
        except BaseException as error:  # a thread that ended would be missing
            outcome = error
        self.method_queue.defer(self._deliver, asked, outcome)

    def _serve(self, connection: Connection, buffer: RequestBuffer, whole: float) -> None:
        """Serve a request in gunicorn's way, in a thread."""
        exchange, keep = Exchange(connection, buffer), False
        try:
            with deadline.for_request(time.monotonic() - whole):
                keep = bool(self.handle(exchange))
        except BaseException:
            self.log.exception("a connection was given up")
        self.method_queue.defer(self._served, connection, exchange.parts, keep, buffer.take_rest() if keep else b"")

    def _served(self, connection: Connection, parts: Sequence[bytes], keep: bool, rest: bytes) -> None:
        connection.rest = rest
        self.connections.send(connection, parts, keep=keep)

    def _deliver(self, asked: Asked, outcome: Outcome) -> None:
        """Send what came of a request."""
        if isinstance(outcome, Response):
            self._send(asked.connection, outcome)
            return
        exchange = Exchange(asked.connection, None)
        self.handle_error(None, exchange, asked.connection.client, outcome)
        self.connections.send(asked.connection, exchange.parts, keep=False)

    def _send(self, connection: Connection, response: Response) -> None:
        """Send an answer. The connection is kept unless the process ends or has too many."""
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            self.log.info("Autorestarting worker after current request.")
            self.alive = False
        keep = self.alive and len(self.connections) < self.max_keepalived
        head = b"HTTP/1.1 ", response.status, _greeting(int(time.time()), keep), response.headers, b"\r\n"
        self.connections.send(connection, (*head, response.body), keep=keep)


@lru_cache(maxsize=4)
def _greeting(second: int, keep: bool) -> bytes:
    """The headers that gunicorn begins with, in a second since the epoch."""
    date, connection = formatdate(second, usegmt=True), "keep-alive" if keep else "close"
    return f"\r\nServer: {SERVER}\r\nDate: {date}\r\nConnection: {connection}\r\n".encode("ascii")
