"""One connection of a client: it reads requests, passes them on one by one, and sends the responses.

httptools parses every request, and a request that could be read in two ways is refused. A slow client occupies memory
and no thread: a request is passed on once its body is complete, broken or too large, and the transport holds unsent
responses.
"""

import asyncio
import sys
import time
from collections import deque
from email.utils import formatdate
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from directory.server.tuning import (
    CHUNKS_MAX,
    DISCARD_MAX,
    FIELDS_MAX,
    FIRST_BYTE_SECONDS,
    HEAD_MAX,
    HEAD_SECONDS,
    LINE_MAX,
    LINGER_SECONDS,
    REQUEST_SECONDS,
    SEND_SECONDS,
)

if TYPE_CHECKING:
    from directory.server.dispatch import Dispatcher

# The part of the environment that all requests share. `wsgi.input` ends where the body does.
BASE_ENVIRON: dict[str, Any] = {
    "wsgi.errors": sys.stderr, "wsgi.version": (1, 0), "wsgi.multithread": True, "wsgi.multiprocess": True,
    "wsgi.run_once": False, "wsgi.input_terminated": True, "wsgi.url_scheme": "http", "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "gunicorn",
}  # fmt: skip
CONTINUE_EXPECTATION, CONTINUE_RESPONSE = "100-continue", b"HTTP/1.1 100 Continue\r\n\r\n"
_UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}


class Refusal(NamedTuple):
    """The status and the detail of the answer to a request that is not valid."""

    status: int
    detail: str


class BrokenBody(BytesIO):
    """The part of a body that was received, where the rest is missing: to read beyond it is an error."""

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes. Raises ConnectionError where the received part ends."""
        data = super().read(size)
        if not data or size is None or size < 0:
            raise ConnectionError("the body broke off")
        return data


class Request:
    """A request: its WSGI environment, when it was read (time.perf_counter()), and whether to keep the connection."""

    __slots__ = ("began", "connection", "environ", "keep")

    def __init__(self, connection: "Connection", environ: dict[str, Any], began: float, *, keep: bool) -> None:
        self.connection, self.environ, self.began, self.keep = connection, environ, began, keep


class Connection(asyncio.Protocol):
    """The protocol of one connection. It reads a request, is busy until the response is there, or is closing."""

    def __init__(self, dispatcher: "Dispatcher") -> None:
        self._dispatcher = dispatcher
        self._parser: Any = HttpRequestParser(self)
        self._queue: deque[Request | Refusal] = deque()  # read, and not given to the dispatcher yet
        self._busy = self._closing = self._got_eof = self._writing_paused = self._reading_paused = False
        self._ignores_input = False  # no request follows the last one: further bytes are ignored
        self._base: dict[str, Any] = {}
        self._unsent = self._discarded = 0
        self.deadline = 0.0
        self._reset()

    def _reset(self) -> None:
        """Wait for the beginning of a request."""
        self._environ: dict[str, Any] = {}
        self._has_begun = self._has_head = self._is_chunked = False
        self._body: list[bytes] = []
        self._target = b""
        self._head_size = self._field_count = self._body_size = self._received = 0
        self._refusal: Refusal | None = None

    # Called by asyncio.

    def connection_made(self, transport: Any) -> None:
        """Begin to read."""
        self.transport = transport
        transport.set_write_buffer_limits(high=0)
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._base = {**BASE_ENVIRON, **_addresses(client, server)}
        self._dispatcher.connections.add(self)
        self.deadline = time.monotonic() + FIRST_BYTE_SECONDS

    def connection_lost(self, _error: Exception | None) -> None:
        """Drop the requests that wait."""
        self._closing = True
        self._queue.clear()
        self._dispatcher.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        """Read what the client has sent."""
        if self._closing:
            self._discarded += len(data)
            if self._discarded >= DISCARD_MAX:
                self.transport.abort()
            return
        if self._ignores_input:
            return
        if self._busy and not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()
        self._received += len(data)  # `_reset` makes it 0 where the next request begins within the data
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:  # HTTP/1.1 is the only protocol here, so the request is answered in it
            self._ignores_input = True
        except HttpParserError as error:
            self._fail(error)
        if self._has_begun and not self._ignores_input:
            self._check_unfinished()
        self._give_next()

    def eof_received(self) -> bool:
        """Answer the received requests, even one whose body is incomplete; then close."""
        self._got_eof = True
        if self._has_head and self._has_begun and not self._closing and not self._ignores_input:
            self._take_broken()
        self._ignores_input = True
        if self._closing or not (self._busy or self._queue or self.transport.get_write_buffer_size()):
            return False
        self._give_next()
        return True

    def pause_writing(self) -> None:
        """Give the dispatcher no further request until the client has taken its response."""
        self._writing_paused = True
        self._unsent = self.transport.get_write_buffer_size()
        self.deadline = time.monotonic() + SEND_SECONDS

    def resume_writing(self) -> None:
        """The client has taken all of its response: go on with the next request."""
        self._writing_paused = False
        if self._closing:
            self.deadline = time.monotonic() + LINGER_SECONDS
        elif not self._busy:
            self._finish()

    # Called by httptools.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._reset()
        self._has_begun = True
        self._environ = self._base.copy()
        if not self._busy and not self._writing_paused:
            self.deadline = time.monotonic() + HEAD_SECONDS

    def on_url(self, target: bytes) -> None:
        """Take the target, or a part of it."""
        self._target += target
        self._head_size += len(target)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Those behind a chunked body are ignored."""
        if self._has_head:
            return
        self._head_size += len(name) + len(value) + 4
        self._field_count += 1
        if b"_" in name:  # in the environment it would have the name of another header, with a hyphen
            return
        key, text = _key(name.lower()), value.decode("latin-1").strip(" \t")
        environ = self._environ
        if key in environ:
            if key == "HTTP_HOST":
                self._refusal = Refusal(400, "The request has two Host headers.")
            text = f"{environ[key]},{text}"
        environ[key] = text

    def on_headers_complete(self) -> None:
        """Check the head, and complete the environment."""
        self._has_head = True
        environ, version = self._environ, self._parser.get_http_version()
        method = self._parser.get_method().decode("ascii")
        coding = environ.get("HTTP_TRANSFER_ENCODING")
        self._is_chunked = coding is not None
        if version not in ("1.1", "1.0"):
            self._refusal = Refusal(400, "The request is of another version of HTTP.")
        elif coding is not None and (coding.lower() != "chunked" or version == "1.0"):
            self._refusal = Refusal(400, "The request has a Transfer-Encoding that is not supported.")
        elif environ.get("HTTP_EXPECT", CONTINUE_EXPECTATION).lower() != CONTINUE_EXPECTATION:
            self._refusal = Refusal(417, "The request expects something that is not supported.")
        self._refusal = self._refusal or self._oversize(len(method) + 10)
        environ["REQUEST_METHOD"], environ["SERVER_PROTOCOL"] = method, f"HTTP/{version}"
        target = self._target.decode("latin-1")
        environ["RAW_URI"] = target
        path, environ["QUERY_STRING"] = _split(target)
        environ["PATH_INFO"] = unquote_to_bytes(path).decode("latin-1") if "%" in path else path
        if not self._busy and not self._writing_paused:
            self.deadline += REQUEST_SECONDS - HEAD_SECONDS

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        self._body_size += len(data)
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Queue the request, or its refusal."""
        self._has_begun = False
        if self._ignores_input:
            return
        if self._refusal is not None:
            self._refuse(self._refusal)
            return
        keep = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        too_large = self._body_size > self._dispatcher.body_max(self._environ)
        self._put(BytesIO(b"".join(self._body)), keep=keep and not too_large)

    # From a message to a request, and from a response to the next request.

    def _put(self, body: BytesIO, *, keep: bool) -> None:
        self._environ["wsgi.input"] = body
        # The application's time counts from here: receiving the body may have taken longer than that.
        self._queue.append(Request(self, self._environ, time.perf_counter(), keep=keep))
        self._body = []
        self._ignores_input = self._ignores_input or not keep

    def _take_broken(self) -> None:
        """Take a request whose body is incomplete or too large; the application decides whether it needs the body."""
        self._has_begun = False
        if self._refusal is not None:
            self._refuse(self._refusal)
        else:
            self._put(BrokenBody(b"".join(self._body)), keep=False)

    def _fail(self, error: HttpParserError) -> None:
        """Refuse a head that httptools cannot parse; a request with such a body is passed on as broken."""
        if self._ignores_input:
            return
        if self._has_begun and self._has_head:
            self._take_broken()
        else:
            self._refuse(self._refusal or Refusal(400, f"The request could not be understood: {error}."))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer a request with a refusal, and read no further."""
        self._has_begun, self._ignores_input = False, True
        self._queue.append(refusal)

    def _oversize(self, beside: int = 0) -> Refusal | None:
        """The refusal of a head over the limits; `beside` is the length of its first line without the target."""
        if len(self._target) + beside > LINE_MAX:
            return Refusal(414, "The address is too long.")
        if self._field_count > FIELDS_MAX or self._head_size > HEAD_MAX:
            return Refusal(431, "The headers are too large.")
        return None

    def _check_unfinished(self) -> None:
        """Apply the limits to a request that is incomplete, and answer `Expect: 100-continue`."""
        environ = self._environ
        if not self._has_head:
            self._head_size = max(self._head_size, self._received)
            if (refusal := self._refusal or self._oversize()) is not None:
                self._refuse(refusal)
            return
        most = self._dispatcher.body_max(environ)
        declared = int(environ.get("CONTENT_LENGTH", "0"))
        # The application needs no body over the limit, so the server does not wait for the rest of it.
        too_large = max(self._body_size, declared) > most or self._received > CHUNKS_MAX * most + HEAD_MAX
        if too_large or self._refusal is not None:
            self._take_broken()
        elif environ.get("HTTP_EXPECT") and not (self._body_size or self._busy or self._queue):
            self.transport.write(CONTINUE_RESPONSE)
            environ["HTTP_EXPECT"] = ""

    def _give_next(self) -> None:
        """Give the dispatcher the next request, if the connection is free for one."""
        if self._busy or self._writing_paused or self._closing:
            return
        if self._queue:
            self._busy = True
            item = self._queue.popleft()
            if isinstance(item, Refusal):
                self._dispatcher.refuse(self, item)
            else:
                self._dispatcher.receive(item)
        elif self._got_eof and not self._has_begun:
            self.transport.close()

    def respond(self, status: bytes, headers: bytes, body: bytes, *, keep: bool) -> None:
        """Send a response, and go on with the next request, or close."""
        self._busy = False
        if self._closing or self.transport.is_closing():
            return
        keep = keep and not self._dispatcher.is_stopping
        self.transport.write(b"".join((_first_lines(status, int(time.time()), keep), headers, b"\r\n", body)))
        if not keep:
            self._close()
        elif not self._writing_paused:
            self._finish()

    def _finish(self) -> None:
        """Wait for the next request, now that all of the response is sent."""
        if self._closing:
            return
        self.deadline = time.monotonic() + (HEAD_SECONDS if self._has_begun else self._dispatcher.keepalive)
        if self._reading_paused and not self._queue and not self._ignores_input:
            self._reading_paused = False
            self.transport.resume_reading()
        self._give_next()

    def _close(self) -> None:
        """Close the connection once the client has read its response: to close at once could cut that off."""
        self._closing = True
        self._queue.clear()
        self.deadline = time.monotonic() + (SEND_SECONDS if self._writing_paused else LINGER_SECONDS)
        if self._got_eof:
            self.transport.close()
            return
        self.transport.write_eof()
        if self._reading_paused:
            self.transport.resume_reading()

    @property
    def is_idle(self) -> bool:
        """Whether it waits for the first byte of a request."""
        return not (self._busy or self._has_begun or self._writing_paused or self._queue or self._closing)

    def expire(self, now: float) -> None:
        """Abort or answer 408 after the deadline. A client that takes some of its response gets more time."""
        unsent = self.transport.get_write_buffer_size()
        if unsent:
            if unsent < self._unsent:
                self.deadline = now + SEND_SECONDS
            self._unsent = unsent
        if now < self.deadline or (self._busy and not self._closing):
            return
        if self._has_begun and not self._closing and not self._writing_paused:
            self._refuse(Refusal(408, "The request did not come in time."))
            self._give_next()
        else:
            self.transport.abort()


@lru_cache(maxsize=16)
def _first_lines(status: bytes, second: int, keep: bool) -> bytes:
    """The status line and first headers of a response that is sent in `second`, counted from the epoch."""
    date, connection = formatdate(second, usegmt=True), "keep-alive" if keep else "close"
    return b"HTTP/1.1 " + status + f"\r\nServer: gunicorn\r\nDate: {date}\r\nConnection: {connection}\r\n".encode()


@lru_cache(maxsize=200)
def _key(name: bytes) -> str:
    """The name of a header in a WSGI environment."""
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in _UNPREFIXED else f"HTTP_{key}"


def _split(target: str) -> tuple[str, str]:
    """The path and the query of a target, of a whole address too."""
    if target.startswith("/") and "#" not in target:
        path, _, query = target.partition("?")
        return path, query
    try:
        parts = urlsplit(f".{target}" if target.startswith("//") else target)
    except ValueError:
        return target, ""
    return parts.path.removeprefix(".") if target.startswith("//") else parts.path, parts.query


def _addresses(client: Any, server: Any) -> dict[str, Any]:
    """Both ends of a connection in a WSGI environment; those of a socket in the file system have no numbers."""
    if not isinstance(server, tuple):
        return {"REMOTE_ADDR": "", "SERVER_NAME": str(server), "SERVER_PORT": ""}
    remote = {"REMOTE_ADDR": client[0], "REMOTE_PORT": str(client[1])}
    return {**remote, "SERVER_NAME": server[0], "SERVER_PORT": str(server[1])}
