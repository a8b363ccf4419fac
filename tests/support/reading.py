"""The server's handling of a client's bytes, without a server: a connection, and the answers of loop and threads."""

import time
from typing import Any

from flask import Flask

from directory.cache.reads import read_from
from directory.http.request_body import BODY_MAX
from directory.http.wsgi import Response
from directory.server.dispatch import Dispatcher
from directory.server.protocol import Connection, Refusal, Request
from directory.server.thread_pool import call_application

CLIENT, SERVER = ("192.0.2.1", 5), ("localhost", 80)


class Transport:
    """A transport that takes what is written; `blocks` is whether the client reads nothing of it."""

    def __init__(self) -> None:
        self.sent, self.unsent, self.blocks = b"", b"", False
        self.is_read, self.ended, self.closed = True, False, False
        self.protocol: Any = None

    def get_extra_info(self, name: str) -> Any:
        return {"peername": CLIENT, "sockname": SERVER}[name]

    def set_write_buffer_limits(self, high: int) -> None:
        assert high == 0

    def write(self, data: bytes) -> None:
        if not self.blocks:
            self.sent += data
            return
        self.unsent += data
        self.protocol.pause_writing()

    def take(self, size: int) -> None:
        """The client reads so much."""
        self.sent, self.unsent = self.sent + self.unsent[:size], self.unsent[size:]
        if not self.unsent:
            self.blocks = False
            self.protocol.resume_writing()

    def get_write_buffer_size(self) -> int:
        return len(self.unsent)

    def pause_reading(self) -> None:
        assert self.is_read
        self.is_read = False

    def resume_reading(self) -> None:
        assert not self.is_read
        self.is_read = True

    def write_eof(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True
        self.protocol.connection_lost(None)

    abort = close


class Receiver:
    """The server behind a connection: what it was given stands in `requests` and `refusals`."""

    keepalive, is_stopping = 5.0, False

    def __init__(self) -> None:
        self.connections: set[Connection] = set()
        self.requests: list[Request] = []
        self.refusals: list[Refusal] = []
        self.held = 0

    def body_max(self, environ: dict[str, Any]) -> int:
        return BODY_MAX

    def hold(self, size: int) -> None:
        self.held += size

    def receive(self, request: Request) -> None:
        self.requests.append(request)

    def refuse(self, connection: Connection, refusal: Refusal) -> None:
        self.refusals.append(refusal)
        connection.respond(b"%d" % refusal.status, b"", b"", keep=False)

    def connect(self) -> tuple[Any, Transport]:
        """A new connection, and its transport."""
        connection, transport = Connection(self), Transport()
        transport.protocol = connection
        connection.connection_made(transport)
        return connection, transport


def parsed(path: str, method: str = "GET", *, waited: float = 0.0, **headers: str) -> Request:
    """A request that came so many seconds ago. Underscores in the names of headers stand for hyphens."""
    given = {"Host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    receiver = Receiver()
    connection, _ = receiver.connect()
    connection.data_received(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
    (request,) = receiver.requests
    request.began -= waited
    return request


class FastPath:
    """What the event loop of a server answers."""

    def __init__(self, app: Flask) -> None:
        loop: Any = None
        self._dispatcher: Any = Dispatcher(app, loop, threads=0, keepalive=5, count=lambda: None)
        self.responder, self._cookie = app.extensions.get("response_cache"), app.config["COOKIE_NAME"]
        self._dispatcher._votes.take = lambda _request: False
        self._dispatcher._votes.start = lambda: None

    def takes(self, request: Request) -> bool:
        """Whether the loop may answer a request, by the cache."""
        read = read_from({**request.environ}, self._cookie)
        return read is not None and self.responder is not None and self.responder.pending(read) is not None

    def answer(self, requests: list[Request], *, with_threads: bool = False) -> list[Response | None]:
        """The responses to requests of one iteration; None for each that the application has to answer.

        So is each that a thread has to answer, but for `with_threads`.
        """
        answers: dict[Request, Response | None] = {}
        self._dispatcher._send = answers.__setitem__
        self._dispatcher._pool.call = lambda _loop, work, end: end(work() if with_threads else None)
        self._dispatcher._hand_over = lambda request: answers.__setitem__(request, None)
        again = [Request(each.connection, {**each.environ}, time.perf_counter(), keep=True) for each in requests]
        self._dispatcher._waiting = again
        self._dispatcher._dispatch()
        return [answers[each] for each in again]


def fast_path(app: Flask) -> FastPath:
    """What the loop of a server answers of an application whose source has its connection."""
    app.extensions["snapshot_source"].snapshot()
    return FastPath(app)


def in_loop(path: FastPath, request: Request) -> Response | None:
    """The loop's response; None where a thread has to answer."""
    return together_in_loop(path, [request])[0]


def together_in_loop(path: FastPath, requests: list[Request]) -> list[Response | None]:
    """The loop's responses to requests of one iteration; None for each that a thread has to answer."""
    return path.answer(requests)


def is_taken(path: FastPath, request: Request) -> bool:
    """Whether the loop may answer a request, by the cache."""
    return path.takes(request)


def by_application(app: Flask, request: Request) -> Response:
    """The application's response."""
    return call_application(app, Request(request.connection, {**request.environ}, request.began, keep=True))
