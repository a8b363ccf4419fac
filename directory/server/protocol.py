"""One connection of a client: it reads requests, passes them on one by one, and sends the responses.

httptools parses every request, and a request that could be read in two ways is refused. A slow client occupies memory
and no thread: a request is passed on once its body is complete, broken or too large, and the transport holds unsent
responses. The next request of a client is parsed when the one before is answered, so that a client that sends many at
once takes its turn with all others.
"""

import asyncio
import time
from collections import deque
from email.utils import formatdate
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple, Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from directory.http.client import shortened
from directory.server.environ import BrokenBody, of_connection, of_line, variable

LINE_MAX = 4094  # bytes of a request line
HEAD_MAX = 8192  # bytes of a head, which is what nginx takes of one header
FIELDS_MAX = 64  # header fields
HEAD_SECONDS = 10.0  # for a head, from its first byte
REQUEST_SECONDS = 20.0  # for a head and its body, from the first byte of the head
CHUNK_MAX = 16  # bytes that a chunk may have in addition to its data, on top of HEAD_MAX for the whole body
FIRST_BYTE_SECONDS = 5.0  # for the first byte of a new connection
SEND_SECONDS = 20.0  # for a client to take any more of its response
LINGER_SECONDS = 2.0  # for a client to read the end of its response and to close
DISCARD_MAX = 65_536  # bytes read from a connection that is being closed: with bytes unread it would be reset

EMPTY_LINE, LINE_ENDS = b"\r\n\r\n", b"\r\n"
CONTINUE_EXPECTATION, CONTINUE_RESPONSE = "100-continue", b"HTTP/1.1 100 Continue\r\n\r\n"


class Refusal(NamedTuple):
    """The status and the detail of the answer to a request that is not valid."""

    status: int
    detail: str


class Request:
    """A request: its WSGI environment, when it was read (time.perf_counter()), and whether to keep the connection.

    `size` is that of its body in bytes.
    """

    __slots__ = ("began", "connection", "environ", "keep", "size")

    def __init__(
        self, connection: "Connection", environ: dict[str, Any], began: float, *, keep: bool, size: int = 0
    ) -> None:
        self.connection, self.environ, self.began, self.keep, self.size = connection, environ, began, keep, size


class Receiver(Protocol):
    """Takes the requests of all connections of a process, as the dispatcher does."""

    connections: set["Connection"]
    keepalive: float  # seconds that a connection may wait for its next request
    is_stopping: bool  # if so, each connection is closed after its next response

    def body_max(self, environ: dict[str, Any]) -> int:
        """The bytes that the body of a request may have."""

    def receive(self, request: Request) -> None:
        """Take a request."""

    def refuse(self, connection: "Connection", refusal: Refusal) -> None:
        """Send the answer to a request that is not valid."""

    def hold(self, size: int) -> None:
        """Note that slow clients occupy so many more bytes."""


class Connection(asyncio.Protocol):
    """The protocol of one connection. It reads a request, is busy until the response is there, or is closing."""

    def __init__(self, dispatcher: "Receiver") -> None:
        self._dispatcher = dispatcher
        self._parser: Any = HttpRequestParser(self)
        self._input, self._parsed = b"", 0  # bytes that came, and how many of them the parser has
        self._queue: deque[Request | Refusal] = deque()  # read, and not given to the dispatcher yet
        self._busy = self._closing = self._got_eof = self._writing_paused = self._reading_paused = False
        self._ignores_input = False  # no request follows the last one: further bytes are ignored
        self._base: dict[str, Any] = {}
        self._unsent = self._discarded = 0
        self.held = 0  # bytes in memory: input that waits, a body that has not ended, a response that is not taken
        self.deadline = self.waits_since = 0.0
        self._reset()

    def _reset(self) -> None:
        """Wait for the beginning of a request."""
        self._environ: dict[str, Any] = {}
        self._has_begun = self._has_head = self._is_chunked = False
        self._body: list[bytes] = []
        self._target = b""
        self._line_count = self._body_size = self._received = 0
        self._refusal: Refusal | None = None

    # Called by asyncio.

    def connection_made(self, transport: Any) -> None:
        """Begin to read."""
        self.transport = transport
        transport.set_write_buffer_limits(high=0)
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self._base = of_connection(client, server)
        self.client = shortened(self._base["REMOTE_ADDR"])
        self._dispatcher.connections.add(self)
        self._wait(FIRST_BYTE_SECONDS)

    def connection_lost(self, _error: Exception | None) -> None:
        """Drop the requests that wait."""
        self._closing = True
        self._queue.clear()
        self._input, self._unsent = b"", 0
        self._reset()
        self._hold()
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
        self._input = self._input + data if self._input else data
        if not (self._busy or self._writing_paused):
            self._advance()
            return
        self._hold()
        if not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        """Answer the received requests, even one whose body is incomplete; then close."""
        self._got_eof = True
        self._advance()
        return not self._closing and bool(self._busy or self._writing_paused)

    def pause_writing(self) -> None:
        """Give the dispatcher no further request until the client has taken its response."""
        self._writing_paused = True
        self._unsent = self.transport.get_write_buffer_size()
        self._wait(SEND_SECONDS)
        self._hold()

    def resume_writing(self) -> None:
        """The client has taken all of its response: go on with the next request."""
        self._writing_paused, self._unsent = False, 0
        self._hold()
        if self._closing:
            self._wait(LINGER_SECONDS)
        elif not self._busy:
            self._finish()

    # Called by httptools.

    def on_message_begin(self) -> None:
        """Begin a request."""
        if self._has_head:  # a body goes on, after `_ignore_upgrade`
            return
        self._has_begun = True
        self._environ = self._base.copy()
        self.waits_since = now = time.monotonic()
        self.deadline = now + HEAD_SECONDS

    def on_url(self, target: bytes) -> None:
        """Take the target, or a part of it."""
        self._target += target

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Those behind a chunked body are ignored.

        So is a name with an underscore: in the environment it would be another header's, with a hyphen.
        """
        if self._has_head or b"_" in name:
            return
        key, text = variable(name.lower()), value.decode("latin-1").strip(" \t")
        environ = self._environ
        if key in environ:
            if key == "HTTP_HOST":
                self._refusal = Refusal(400, "The request has two Host headers.")
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"  # RFC 9113 section 8.2.3
        environ[key] = text

    def on_headers_complete(self) -> None:
        """Check the head, and complete the environment."""
        if self._has_head:
            return
        self._has_head, self._head_size = True, self._received
        environ, version = self._environ, self._parser.get_http_version()
        method = self._parser.get_method().decode("ascii")
        coding = environ.get("HTTP_TRANSFER_ENCODING")
        self._is_chunked, self._chunk_count = coding is not None, 0
        self._keep = self._parser.should_keep_alive() and method != "CONNECT"
        if version not in ("1.1", "1.0"):
            self._refusal = Refusal(400, "The request is of another version of HTTP.")
        elif coding is not None and (coding.lower() != "chunked" or version == "1.0"):
            self._refusal = Refusal(400, "The request has a Transfer-Encoding that is not supported.")
        elif environ.get("HTTP_EXPECT", CONTINUE_EXPECTATION).lower() != CONTINUE_EXPECTATION:
            self._refusal = Refusal(417, "The request expects something that is not supported.")
        self._refusal = self._refusal or self._oversize(len(self._target) + len(method) + 10, self._line_count - 2)
        environ |= of_line(method, self._target.decode("latin-1"), version)
        self.deadline += REQUEST_SECONDS - HEAD_SECONDS

    def on_chunk_header(self) -> None:
        """Count a chunk."""
        self._chunk_count += 1

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        self._body_size += len(data)
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Queue the request, or its refusal."""
        if self._ignores_input or (self._parser.should_upgrade() and self._awaits_body_of_upgrade()):
            return
        if self._is_chunked and self._refusal is None:
            self._refusal = self._oversize_of_chunks()
        if self._refusal is not None:
            self._refuse(self._refusal)
            return
        too_large = self._body_size > 0 and self._body_size > self._dispatcher.body_max(self._environ)
        self._put(BytesIO(b"".join(self._body)), keep=self._keep and not too_large)

    # From bytes to a message.

    def _parse(self) -> None:
        """Parse what has come, up to the end of a request."""
        data = self._input
        while self._parsed < len(data) and not (self._queue or self._ignores_input):
            piece = self._next_piece(data, self._parsed)
            self._received += len(piece)
            if not self._has_head:
                self._line_count += piece.count(b"\n")
            try:
                self._parser.feed_data(piece)
            except HttpParserUpgrade:
                self._ignore_upgrade()
            except HttpParserError as error:
                self._fail(error)
            if self._has_begun and not self._ignores_input:
                self._check_unfinished()
        if self._ignores_input or self._parsed >= len(data):
            self._input = data[-3:] if self._has_begun else b""  # the last bytes, for `_next_piece`
            self._parsed = len(self._input)
        if self._input or self.held:
            self._hold()

    def _next_piece(self, data: bytes, start: int) -> bytes:
        """Take bytes to parse: at most to the end of the message, so that each message begins with a piece."""
        if not self._has_begun and data[start] in LINE_ENDS:  # empty lines before a request: RFC 9112 section 2.2
            start = len(data) - len(data[start:].lstrip(LINE_ENDS))
        if self._has_head and not self._is_chunked:
            end = start + int(self._environ["CONTENT_LENGTH"]) - self._body_size
        else:  # a head ends with an empty line, and so does a chunked body
            end = data.find(EMPTY_LINE, start - 3 if start > 3 else 0) + 4
            if end == 3:
                end = len(data)
        self._parsed = end if end < len(data) else len(data)
        return data[start:end]

    def _awaits_body_of_upgrade(self) -> bool:
        """Whether the parser calls a message complete because another protocol was offered, though a body follows."""
        environ = self._environ
        if self._body_size or environ["REQUEST_METHOD"] == "CONNECT":
            return False
        return self._is_chunked or int(environ.get("CONTENT_LENGTH", "0")) > 0

    def _ignore_upgrade(self) -> None:
        """Ignore the offer of another protocol (RFC 9110 section 7.8), and read the body and further requests.

        httptools parses nothing behind such an offer, so a new parser goes on, with a head that has the body's length.
        """
        if self._ignores_input:
            return
        self._parser = HttpRequestParser(self)
        if self._has_begun:
            length = "Transfer-Encoding: chunked"
            if not self._is_chunked:
                length = f"Content-Length: {self._environ['CONTENT_LENGTH']}"
            self._parser.feed_data(f"POST / HTTP/1.1\r\n{length}\r\n\r\n".encode())

    # From a message to a request, and from a response to the next request.

    def _put(self, body: BytesIO, *, keep: bool) -> None:
        self._environ["wsgi.input"] = body
        # The application's time counts from here: receiving the body may have taken longer than that.
        self._queue.append(Request(self, self._environ, time.perf_counter(), keep=keep, size=self._body_size))
        self._ignores_input = self._ignores_input or not keep
        self._reset()

    def _take_broken(self) -> None:
        """Take a request whose body is incomplete or too large; the application decides whether it needs the body."""
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
        self._ignores_input = True
        self._queue.append(refusal)
        self._reset()

    def _oversize(self, line: int, fields: int) -> Refusal | None:
        """The refusal of a head over the limits: with so many bytes in its first line, and so many fields."""
        if line > LINE_MAX:
            return Refusal(414, "The address is too long.")
        if fields > FIELDS_MAX or self._received > HEAD_MAX:
            return Refusal(431, "The headers are too large.")
        return None

    def _oversize_of_chunks(self) -> Refusal | None:
        """The refusal of a chunked body with too much around its data: extensions of chunks, or trailers."""
        around = self._received - self._head_size - self._body_size
        if around <= HEAD_MAX + CHUNK_MAX * self._chunk_count:
            return None
        return Refusal(413, "The body has too much around the data of its chunks.")

    def _check_unfinished(self) -> None:
        """Apply the limits to a request that is incomplete, and answer `Expect: 100-continue`."""
        environ = self._environ
        if not self._has_head:
            line = len(self._target) if self._line_count else self._received
            if (refusal := self._refusal or self._oversize(line, self._line_count - 1)) is not None:
                self._refuse(refusal)
            return
        declared = int(environ.get("CONTENT_LENGTH", "0"))
        # The application needs no body over the limit, so the server does not wait for the rest of it.
        if max(self._body_size, declared) > self._dispatcher.body_max(environ) or self._refusal is not None:
            self._take_broken()
        elif self._is_chunked and (refusal := self._oversize_of_chunks()) is not None:
            self._refuse(refusal)
        elif environ.get("HTTP_EXPECT") and not self._body_size and self._parsed >= len(self._input):
            self.transport.write(CONTINUE_RESPONSE)
            environ["HTTP_EXPECT"] = ""

    def _advance(self) -> None:
        """Read the next request and give it to the dispatcher, if the connection is free for one."""
        if self._busy or self._writing_paused or self._closing:
            return
        self._parse()
        if self._got_eof and not self._queue:
            if self._has_head and not self._ignores_input:
                self._take_broken()
            self._ignores_input = True
        if self._queue:
            self._busy = True
            item = self._queue.popleft()
            if isinstance(item, Refusal):
                self._dispatcher.refuse(self, item)
            else:
                self._dispatcher.receive(item)
        elif self._got_eof:
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
        self.waits_since = now = time.monotonic()
        self.deadline = now + self._dispatcher.keepalive
        if self._input or self._got_eof:
            self._advance()
        if self._reading_paused and not (self._busy or self._ignores_input):
            self._resume_reading()

    def _close(self) -> None:
        """Close the connection once the client has read its response: to close at once could cut that off."""
        self._closing = True
        self._queue.clear()
        self._input = b""
        self._hold()
        self._wait(SEND_SECONDS if self._writing_paused else LINGER_SECONDS)
        if self._got_eof:
            self.transport.close()
            return
        self.transport.write_eof()
        if self._reading_paused:
            self._resume_reading()

    def _resume_reading(self) -> None:
        self._reading_paused = False
        self.transport.resume_reading()

    def _wait(self, seconds: float) -> None:
        """Give the client so much time, from now on."""
        self.waits_since = time.monotonic()
        self.deadline = self.waits_since + seconds

    def _hold(self) -> None:
        """Note how much memory the client occupies."""
        size = len(self._input) + self._body_size + self._unsent
        if size != self.held:
            self._dispatcher.hold(size - self.held)
            self.held = size

    def evict(self) -> None:
        """Close at once, in favour of others."""
        self.connection_lost(None)
        self.transport.abort()

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for its client, and not for a response."""
        return not self._busy or self._closing

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
            self._advance()
        else:
            self.transport.abort()


@lru_cache(maxsize=16)
def _first_lines(status: bytes, second: int, keep: bool) -> bytes:
    """The status line and first headers of a response that is sent in `second`, counted from the epoch."""
    date, connection = formatdate(second, usegmt=True), "keep-alive" if keep else "close"
    return b"HTTP/1.1 " + status + f"\r\nServer: gunicorn\r\nDate: {date}\r\nConnection: {connection}\r\n".encode()
