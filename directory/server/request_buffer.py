"""Collects a request until it is whole. gunicorn's own parser reads it; the event loop does what waits for bytes.

All of this runs in the event loop. A thread is given the request when it is whole, and never waits for a client.
"""

import os
import re
from typing import Any

from gunicorn.http import get_parser
from gunicorn.http.body import ChunkedReader
from gunicorn.http.errors import LimitRequestHeaders, NoMoreData

from directory.http.request_body import BODY_MAX
from directory.server.tuning import CHUNKS_MAX, HEAD_MAX

CRLF, END = b"\r\n", b"\r\n\r\n"
SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?", re.DOTALL)


class RequestBuffer:
    """One request: its bytes so far, and what gunicorn's parser makes of them.

    It takes the place of a parser for gunicorn, which asks it for the request (`next`) and for the end of its body.
    """

    def __init__(self, config: Any, client: Any) -> None:
        self._config, self._client = config, client
        self._head = b""
        self._parser: Any = None
        self._error: BaseException | None = None
        self._missing = 0
        self._chunks: ChunkScanner | None = None
        self._stops_early = False

    def add(self, data: bytes) -> None:
        """Add what was received."""
        if self._parser is None:
            self._head += data
            if b"\n" in data or len(self._head) > HEAD_MAX // 2:  # else no line has ended, and none is too long
                self._parse()
            return
        buffered = self._parser.unreader.buf
        buffered.seek(0, os.SEEK_END)
        buffered.write(data)
        self._measure(data)

    def end(self) -> None:
        """Note that the client sends no more: what is missing stays missing."""
        if self._parser is None:
            self._parse(ended=True)
        elif not self.is_ready:
            self._stops_early = True

    @property
    def has_head(self) -> bool:
        """Whether the head is there."""
        return self._parser is not None

    @property
    def is_ready(self) -> bool:
        """Whether a thread can serve it, or refuse it, without waiting for the client."""
        if self._parser is None:
            return self._error is not None
        return self._stops_early or (self._missing <= 0 if self._chunks is None else self._chunks.ended)

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits for 100 Continue before it sends the body."""
        return bool(self.has_head and not self.is_ready and self._parser.mesg._expected_100_continue)

    def note_continued(self) -> None:
        """Note that 100 Continue was sent, so that gunicorn does not send it again."""
        self._parser.mesg._expected_100_continue = False

    def __next__(self) -> Any:
        """The request, for gunicorn. Raises what its parser raised."""
        if self._error is not None:
            raise self._error
        return self._parser.mesg

    def finish_body(self, deadline: float | None = None) -> bool:
        """Skip what the application left of the body; False where the next request cannot be found after it."""
        return not self._stops_early and bool(self._parser.finish_body(deadline=deadline))

    def take_rest(self) -> bytes:
        """What was received behind the request: the next one's beginning."""
        return b"" if self._parser is None else bytes(self._parser.unreader.take_buffered())

    def _parse(self, *, ended: bool = False) -> None:
        parser = get_parser(self._config, iter((self._head,)), self._client)
        try:
            next(parser)
        except (NoMoreData, StopIteration) as incomplete:
            if ended:
                self._error = incomplete
            elif len(self._head) > HEAD_MAX:
                self._error = LimitRequestHeaders("limit request headers size")
            return
        except Exception as error:
            self._error = error
            return
        rest = parser.unreader.buf.getvalue()
        if len(self._head) - len(rest) > HEAD_MAX:
            self._error = LimitRequestHeaders("limit request headers size")
            return
        self._parser, self._head = parser, b""
        reader = parser.mesg.body.reader
        if isinstance(reader, ChunkedReader):
            self._chunks = ChunkScanner()
        else:
            self._missing, self._stops_early = reader.length, reader.length > BODY_MAX
        self._measure(rest)
        if ended:
            self.end()

    def _measure(self, data: bytes) -> None:
        """Count what is still missing. A body over the limit is refused unread, so the rest of it is not waited for."""
        self._missing -= len(data)
        if self._chunks is not None:
            self._chunks.add(data)
            self._stops_early = not self._chunks.ended and self._chunks.is_too_large


class ChunkScanner:
    """Finds the end of a chunked body as it arrives. It judges nothing: gunicorn's parser reads the body afterwards.

    Where the chunks are malformed it stops at once, so that the parser can refuse them.
    """

    def __init__(self) -> None:
        self.ended = False
        self._rest = b""
        self._chunk = 0  # bytes of the chunk under way that have not come
        self._state = self._read_size
        self._received = self._content = 0

    @property
    def is_too_large(self) -> bool:
        """Whether the body exceeds the limit already."""
        return self._content > BODY_MAX or self._received > CHUNKS_MAX * BODY_MAX

    def add(self, data: bytes) -> None:
        """Add what was received."""
        self._received += len(data)
        self._rest += data
        while not self.ended and self._state():
            pass

    def _read_size(self) -> bool:
        line, found, rest = self._rest.partition(CRLF)
        if not found:
            self.ended = len(line) > HEAD_MAX or b"\n" in line
            return False
        size = SIZE.fullmatch(line)
        if size is None:
            self.ended = True
            return False
        self._rest, self._chunk = rest, int(size[1], 16)
        self._state = self._read_chunk if self._chunk else self._read_trailers
        return True

    def _read_chunk(self) -> bool:
        taken = min(self._chunk, len(self._rest))
        self._rest, self._chunk, self._content = self._rest[taken:], self._chunk - taken, self._content + taken
        if self._chunk:
            return False
        self._state = self._read_chunk_end
        return True

    def _read_chunk_end(self) -> bool:
        self.ended = not CRLF.startswith(self._rest[:2])
        if self.ended or len(self._rest) < 2:
            return False
        self._rest, self._state = self._rest[2:], self._read_size
        return True

    def _read_trailers(self) -> bool:
        self.ended = (
            self._rest.startswith(CRLF) or END in self._rest or self._rest.count(b"\n") > self._rest.count(CRLF)
        )
        return False
