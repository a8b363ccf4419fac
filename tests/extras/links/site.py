"""A site on loopback with a page for each thing that a link can do, and the ways to ask it."""

import gzip
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from directory.extras.links.transport import Asking

BOMB = gzip.compress(b"a" * 50_000_000)
HEAD = b"HTTP/1.1 %s\r\nContent-Length: 2\r\n%s\r\nok"
PAGES = {
    "/": (b"200 OK", b""),
    "/404": (b"404 Not Found", b""),
    "/410": (b"410 Gone", b""),
    "/403": (b"403 Forbidden", b""),
    "/401": (b"401 Unauthorized", b""),
    "/405": (b"405 Method Not Allowed", b""),
    "/429": (b"429 Too Many", b"Retry-After: 120\r\n"),
    "/503": (b"503 Unavailable", b"Retry-After: 9999999\r\n"),
    "/limited": (b"403 Forbidden", b"X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 99999999999\r\n"),
    "/permanent": (b"301 Moved", b"Location: /new\r\n"),
    "/twice": (b"308 Moved", b"Location: /permanent\r\n"),
    "/temporary": (b"302 Found", b"Location: /new\r\n"),
    "/mixed": (b"301 Moved", b"Location: /temporary\r\n"),
    "/slash": (b"301 Moved", b"Location: /slash/\r\n"),
    "/to-gone": (b"301 Moved", b"Location: /404\r\n"),
    "/loop": (b"301 Moved", b"Location: /loop\r\n"),
    "/nowhere": (b"301 Moved", b""),
    "/mail": (b"301 Moved", b"Location: mailto:ada@example.org\r\n"),
    "/user": (b"301 Moved", b"Location: http://ada:secret@site.example/\r\n"),
    "/broken": (b"301 Moved", b"Location: http://[::1\r\n"),
    "/private": (b"301 Moved", b"Location: http://10.0.0.5/\r\n"),
    "/rebound": (b"302 Found", b"Location: http://inside.example/\r\n"),
    "/other": (b"302 Found", b"Location: http://192.0.2.1/\r\n"),
}
RAW = {
    "/garbage": b"\x00\x01 hello\r\n\r\n",
    "/headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(500)) + b"\r\n",
    "/long-header": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
    "/silent": b"",
    "/bomb": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(BOMB), BOMB),
    "/not-gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain",
}


class Handler(socketserver.StreamRequestHandler):
    """Answers one request."""

    server: "Site"

    def handle(self) -> None:
        path = self.rfile.readline().split()[1].decode()
        headers = {}
        while (line := self.rfile.readline()) not in {b"\r\n", b""}:
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        self.server.asked.append((path, headers))
        with suppress(OSError):
            self._answer(path)

    def _answer(self, path: str) -> None:
        if path in self.server.pages:
            self.wfile.write(self.server.pages[path])
        elif path in RAW:
            self.wfile.write(RAW[path])
        elif path in {"/drip", "/endless"}:
            self._go_on(path)
        else:
            self.wfile.write(HEAD % PAGES.get(path, PAGES["/"]))

    def _go_on(self, path: str) -> None:
        head, piece = (b"", b"H") if path == "/drip" else (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 60_000)
        self.wfile.write(head)
        while not self.server.stopped.is_set():
            self.wfile.write(piece)
            self.server.stopped.wait(0.02)


class Site(socketserver.ThreadingTCPServer):
    """The server. `asked` has the path and the headers of each request; `pages` are further answers, by path."""

    allow_reuse_address = daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.pages: dict[str, bytes] = {}
        self.stopped = threading.Event()
        self.port = self.server_address[1]

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is nothing to print."""


@contextmanager
def serving() -> Iterator[Site]:
    """A site that runs meanwhile."""
    with Site() as site:
        threading.Thread(target=site.serve_forever, args=(0.01,), daemon=True).start()
        yield site
        site.stopped.set()
        site.shutdown()


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Turns:
    """Turns that are always given; what was asked for, and the seconds that hosts asked for."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.waits: list[float] = []

    def __call__(self, host: str, _left: float) -> Callable[[float], None]:
        self.hosts.append(host)
        return self.waits.append


class Names:
    """Resolves names to addresses, one list after the other, and counts how often each was resolved."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked = {name.replace("_", "."): given for name, given in answers.items()}, list[str]()

    def __call__(self, host: str, port: int, **options: Any) -> Any:
        self.asked.append(host)
        if host not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        given = self.answers[host]
        found = given.pop(0) if isinstance(given[0], list) else given
        families = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in found]
        return [(family, socket.SOCK_STREAM, 6, "", (each, port)) for family, each in zip(families, found, strict=True)]


def asking(**given: Any) -> Asking:
    """A way to ask that takes no turns in a database, and opens loopback unless told otherwise."""
    return Asking("Tests (+http://localhost)", **{"turn": Turns(), "internal": True, "seconds": 5.0, **given})


def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    """Wait until something is true."""
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at
        time.sleep(0.01)
