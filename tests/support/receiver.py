"""A receiver of webhooks on loopback that does what a script tells it, and remembers what it was sent."""

import os
import socket
import ssl
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from standardwebhooks import Webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass(frozen=True)
class Received:
    """One request as it came; `answered` is the status that the script gives it, None where it gets none."""

    headers: dict[str, str]
    body: bytes
    path: str
    answered: int | None

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str = SECRET) -> Any:
        """The event, if the reference library finds the signature good."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass(frozen=True)
class Answer:
    """What is sent back, by a function of the handler; `code` is its status, if it comes to that."""

    code: int | None
    give: Callable[["Handler"], None]


Script = Callable[[str, int], Answer]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.close_connection = True
        if len(body) == length:  # else who sent it was killed meanwhile, which makes no request of it
            self.server.owner.take(self, headers, body)

    def log_message(self, *_: object) -> None:
        pass

    def start(self, status: int, **headers: object) -> None:
        """The status line and the headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    owner: "Receiver"

    def handle_error(self, *_: object) -> None:
        """A sender that hangs up is nothing to print."""


class Receiver:
    """Listens from the start of a `with` to its end. `script` chooses an answer by webhook-id and number of its try."""

    def __init__(self, script: Script | Answer | None = None, *, tls: str | None = None, path: str = "/hook") -> None:
        self.script = script or status(200)
        self.received: list[Received] = []
        self.arrived: Counter[str] = Counter()
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.owner = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()

    def take(self, handler: Handler, headers: dict[str, str], body: bytes) -> None:
        name = headers.get("webhook-id", "")
        with self._lock:
            self.arrived[name] += 1
            number = self.arrived[name]
        answer = self.script if isinstance(self.script, Answer) else self.script(name, number)
        # Before the answer: who has it may look at once whether its request is here.
        with self._lock:
            self.received.append(Received(headers, body, handler.path, answer.code))
        with suppress(OSError):
            answer.give(handler)

    def accepted(self) -> Counter[str]:
        """How often each webhook-id got a 2xx."""
        with self._lock:
            return Counter(one.id for one in self.received if one.answered is not None and one.answered < 300)

    def wait(self, condition: Callable[["Receiver"], bool], seconds: float = 60.0) -> None:
        """Return once the condition holds. Raises TimeoutError."""
        give_up = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{len(self.received)} received, {len(self.accepted())} accepted")
            time.sleep(0.02)


def status(code: int, body: bytes = b"ok", **headers: object) -> Answer:
    """An answer that is sent at once."""

    def give(handler: Handler) -> None:
        handler.start(code, Content_Length=len(body), **headers)
        handler.wfile.write(body)

    return Answer(code, give)


def hang() -> Answer:
    """No answer for as long as the receiver lives."""
    return Answer(None, lambda handler: handler.server.owner.ending.wait() and None)


def drip(before: bytes, drop: bytes, code: int | None) -> Answer:
    """`before` at once, and then `drop` again and again, a byte every 50 ms."""

    def give(handler: Handler) -> None:
        handler.wfile.write(before)
        while not handler.server.owner.ending.wait(0.05):
            handler.wfile.write(drop)

    return Answer(code, give)


def endless(code: int = 200) -> Answer:
    """A body of a gigabyte."""

    def give(handler: Handler) -> None:
        handler.start(code, Content_Length=1 << 30, Location="/elsewhere")
        for _ in range(1 << 14):
            handler.wfile.write(b"x" * (1 << 16))

    return Answer(code, give)


def raw(data: bytes) -> Answer:
    """Bytes that need be no HTTP."""
    return Answer(None, lambda handler: handler.wfile.write(data) and None)


def reset() -> Answer:
    """The connection torn down."""

    def give(handler: Handler) -> None:
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(handler.connection.detach())

    return Answer(None, give)


def flaky(share: float, code: int = 500, seconds: float = 0.0) -> Script:
    """`code` to that share of the tries, 200 to the rest, each after a while. Chosen by id and number of the try."""

    def script(name: str, number: int) -> Answer:
        fails = zlib.crc32(f"{name} {number}".encode()) % 100 < share * 100
        return after(lambda: time.sleep(seconds), status(code if fails else 200))

    return script


def after(wait: Callable[[], object], then: Answer) -> Answer:
    """Another answer, once `wait` returns."""

    def give(handler: Handler) -> None:
        wait()
        then.give(handler)

    return Answer(then.code, give)
