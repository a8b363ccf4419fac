"""gunicorn's worker with threads, which reads most requests itself and gives kept answers out of that very thread."""

import os
import selectors
import socket
import time
from email.utils import formatdate
from functools import lru_cache, partial
from typing import Any, NamedTuple

from gunicorn.http.wsgi import SERVER, base_environ
from gunicorn.workers.gthread import TConn

from directory.cache.validator import SLOW
from directory.db import deadline as patience
from directory.server.drain import DrainingWorker
from directory.server.request_reader import LONGEST, Bare, Plain

FIRST = 5.0  # seconds for the first byte of a new connection


class Asked(NamedTuple):
    """A request that has been read."""

    conn: TConn
    head: bytes
    request: Plain | Bare
    began: float  # by time.perf_counter()


class Served:
    """What became of a connection: as much of a future as gunicorn looks at, for a future costs more to make."""

    def __init__(self, keep: Any) -> None:
        self.result = lambda: keep

    def cancelled(self) -> bool:
        """No."""
        return False


class ExpressWorker(DrainingWorker):
    """Looks into what comes over a connection before it hands that to a thread, and waits itself until something does.

    A plain request to which an answer is kept needs no thread: for all of them that a turn of the loop brings, one look
    at the database's moment tells which of the answers hold. Nor does one whose answer is made by a short look, which
    again is one for all of a turn. For another plain one a thread makes the answer, which needs no environment and no
    start_response. All of that costs twice what an answer does. To any other request without a body the application
    answers in a thread, without gunicorn's parser and its response, and is told who asks: one look for all of a turn.
    Whatever else there is goes on as if it had not been read, and so does what the lane leaves to the application.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._wire: Any = None
        self._asked: list[Asked] = []
        self._others: list[Asked] = []
        self._base: dict[str, Any] = {}
        self._looked = self._began = 0.0  # when the turn began, and when it had what it brought, by time.monotonic()

    def run(self) -> None:
        """Serve. Who mounts it below a path, keeps no connection alive, or has gunicorn do more, does without."""
        more = self.cfg.is_ssl or self.cfg.http2_cleartext != "off" or self.cfg.secure_scheme_headers
        if self.cfg.keepalive and not (more or os.environ.get("SCRIPT_NAME")):
            self._wire = getattr(self.wsgi, "extensions", {}).get("wire")
        self._base = {**base_environ(self.cfg), "wsgi.multithread": True}
        super().run()

    def await_first(self, conn: TConn) -> None:
        """Wait for what comes over a new connection. gunicorn itself has a thread wait for it, for five seconds.

        Browsers open connections that they may need: a few of those kept everybody else waiting.
        """
        conn.timeout = time.monotonic() + FIRST
        try:
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))
        except OSError:  # the system has no room for it
            self.nr_conns -= 1
            conn.close()
            return
        self.pending_conns.append(conn)

    def murder_pending(self) -> None:
        """Close new connections over which nothing had come in time when they were last looked at.

        Something may have come since: the process may have been stopped for a while.
        """
        while self.pending_conns and (conn := self.pending_conns[0]).timeout <= self._looked:
            self.pending_conns.popleft()
            self._lose(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def on_pending_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        """Take what comes over a new connection, as if it had been kept alive."""
        if self._wire is None or not self.alive:
            super().on_pending_socket_readable(conn, client)
            return
        self.pending_conns.remove(conn)
        conn.init()
        client.setblocking(False)
        conn.set_timeout()
        self.keepalived_conns.append(conn)
        self.poller.modify(client, selectors.EVENT_READ, partial(self.on_client_socket_readable, conn))
        self.on_client_socket_readable(conn, client)

    def on_client_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        """Take what comes over a connection."""
        full = len(self.keepalived_conns) > self.max_keepalived  # then gunicorn closes this one when it is answered
        if self._wire is None or not self.alive or self.nr + 1 >= self.max_requests or full:
            super().on_client_socket_readable(conn, client)
            return
        began = time.perf_counter()
        try:
            head = client.recv(LONGEST)
        except OSError:  # a thread will find out as well
            head = b""
        request = self._wire.asked(head)
        if request is None or not isinstance(conn.server, tuple):  # a socket in the file system tells no addresses
            conn.parser.unreader.unread(head)
            super().on_client_socket_readable(conn, client)
        elif isinstance(request, Bare):
            self.take(Asked(conn, head, request, began))
        elif self._wire.is_quick(request):
            self._asked.append(Asked(conn, head, request, began))
        else:
            self._hand_on(Asked(conn, head, request, began))

    def take(self, asked: Asked) -> None:
        """Take a bare request: a thread answers it, after the look at who asks."""
        self._others.append(asked)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Do one turn of the loop, and answer what it brought."""
        self._looked = time.monotonic()
        if self.pending_conns:
            timeout = min(timeout, max(0.0, self.pending_conns[0].timeout - self._looked))
        super().wait_for_and_dispatch_events(timeout)
        began = self._began = time.monotonic()
        others, self._others = self._others, []
        if others:
            self._wire.look_ahead([each.request for each in others])
        for each in others:
            self._hand_on(each)
        asked, self._asked = self._asked, []
        answers: list[Any] = [None] * len(asked)
        if asked and time.monotonic() < began + SLOW:
            answers = self._wire.at_once([(each.request, each.began) for each in asked])
        for each, sent in zip(asked, answers, strict=True):
            if sent is None:
                self._hand_on(each)
            else:
                self._send(each.conn, sent)

    def handle(self, conn: TConn) -> Any:
        """Serve a request, or what is known of one, in a thread."""
        asked, rest, failed = (vars(conn).pop(name, None) for name in ("asked", "rest", "failed"))
        if failed is not None:
            return self._fail(conn, failed)
        if asked is not None:
            try:
                sent = self.answer(asked) if self.alive else None
            except Exception as error:
                return self._fail(conn, error)
            if sent is None:
                return self._serve_whole(asked)
            self.nr += 1
            kept = _sent_all(conn, _parts(sent))
            self._wire.prepare()
            return kept
        return super().handle(conn) if rest is None else _sent_all(conn, (rest,))

    def _fail(self, conn: TConn, error: BaseException) -> bool:
        """Answer in gunicorn's way what has failed."""
        conn.sock.setblocking(True)
        self.handle_error(None, conn.sock, conn.client, error)
        return False

    def answer(self, asked: Asked) -> Any:
        """The answer; None where it is the application's, asked in gunicorn's way. Raises whatever it raises."""
        waited = time.perf_counter() - asked.began
        patience.have_waited(waited)
        if isinstance(asked.request, Bare):
            return self._wire.whole(asked.request, {**self._base, **_ends(asked.conn)}, waited)
        return self._wire.found(asked.request, asked.began)

    def _serve_whole(self, asked: Asked) -> Any:
        """Serve a request as if it had not been read."""
        asked.conn.parser.unreader.unread(asked.head)
        patience.have_waited(time.perf_counter() - asked.began)
        try:
            return super().handle(asked.conn)
        finally:
            self._wire.forget()

    def _hand_on(self, asked: Asked) -> None:
        """Have a thread answer."""
        asked.conn.asked = asked
        super().on_client_socket_readable(asked.conn, asked.conn.sock)

    def _send(self, conn: TConn, sent: Any) -> None:
        """Answer, and keep the connection. Who takes it slowly is a thread's to wait for."""
        try:
            complete = self.has_sent(conn, sent)
        except OSError:
            self.keepalived_conns.remove(conn)
            self._lose(conn)
            return
        if not complete:
            super().on_client_socket_readable(conn, conn.sock)
            return
        self.keepalived_conns.remove(conn)
        conn.set_timeout()
        self.keepalived_conns.append(conn)

    def has_sent(self, conn: TConn, sent: Any) -> bool:
        """Send as much of an answer as the client takes at once; whether that was all. Raises OSError if it is gone."""
        self.nr += 1
        parts = _parts(sent)
        taken = _taken(conn, parts)
        if taken == sum(map(len, parts)):
            return True
        conn.rest = b"".join(parts)[taken:]
        return False

    def _lose(self, conn: TConn) -> None:
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()


def _ends(conn: TConn) -> dict[str, Any]:
    """What a request's environment says of the connection."""
    (client, client_port, *_), (server, port, *_) = conn.client, conn.server
    return {
        "REMOTE_ADDR": client, "REMOTE_PORT": str(client_port), "SERVER_NAME": server, "SERVER_PORT": str(port),
        "gunicorn.socket": conn.sock,
    }  # fmt: skip


def _taken(conn: TConn, parts: tuple[bytes, ...]) -> int:
    """How many bytes the client takes at once. Raises OSError where it is gone."""
    try:
        return int(conn.sock.sendmsg(parts))
    except BlockingIOError:
        return 0


def _sent_all(conn: TConn, parts: tuple[bytes, ...]) -> bool:
    """Whether the client took it all; it is waited for."""
    try:
        rest = b"".join(parts)[_taken(conn, parts) :]
        if rest:
            conn.sock.setblocking(True)
            conn.sock.sendall(rest)
    except OSError:
        return False
    return True


def _parts(sent: Any) -> tuple[bytes, ...]:
    """An answer as it goes over the wire."""
    return b"HTTP/1.1 ", sent.status, _greeting(int(time.time())), sent.lines, b"\r\n", sent.body


@lru_cache(maxsize=1)
def _greeting(second: int) -> bytes:
    """What gunicorn begins its own headers with, in a second since the epoch."""
    date = formatdate(second, usegmt=True)
    return f"\r\nServer: {SERVER}\r\nDate: {date}\r\nConnection: keep-alive\r\n".encode("ascii")
