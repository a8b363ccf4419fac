"""A connection makes whole requests of what comes, refuses what could be read in two ways, and waits for none long."""

import time
from typing import Any

import pytest

from directory.http.request_body import BODY_MAX
from directory.server import protocol
from directory.server.protocol import DISCARD_MAX, FIELDS_MAX, HEAD_MAX, LINE_MAX
from tests.support.reading import Receiver

HOST, POST = b"Host: x\r\n", b"POST /p HTTP/1.1\r\nHost: x\r\n"
GET = b"GET /a%20b/%c3%a9?c=%64 HTTP/1.1\r\nHost: x\r\nAccept: b\r\nX-Two: 1\r\nX-Two: 2\r\nA_B: c\r\n\r\n"
NEXT = b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n"


class Line:
    """A connection to a receiver."""

    def __init__(self) -> None:
        self.server = Receiver()
        self.connection, self.transport = self.server.connect()

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.connection.data_received(part)

    @property
    def request(self) -> Any:
        """The one request that came."""
        (request,) = self.server.requests
        return request

    def answer(self, *, keep: bool = True) -> None:
        """Answer the last request."""
        request = self.server.requests[-1]
        request.connection.respond(b"200 OK", b"Content-Length: 2\r\n", b"ok", keep=keep and request.keep)

    @property
    def refused(self) -> int | None:
        """The status of the refusal, behind which nothing is read."""
        if not self.server.refusals:
            return None
        requests = len(self.server.requests)
        assert self.transport.ended
        assert b"Connection: close" in self.transport.sent
        self.send(NEXT)
        assert len(self.server.requests) == requests
        return self.server.refusals[0].status


@pytest.fixture
def line() -> Line:
    return Line()


def test_the_time_of_a_request_counts_from_its_last_byte(line: Line) -> None:
    line.send(POST + b"Content-Length: 2\r\n\r\n", b"a")
    half = time.perf_counter()
    line.send(b"b")
    assert half <= line.request.began <= time.perf_counter()


def test_a_request_becomes_an_environment(line: Line) -> None:
    line.send(GET)
    expected = {
        "REQUEST_METHOD": "GET", "RAW_URI": "/a%20b/%c3%a9?c=%64", "PATH_INFO": "/a b/\xc3\xa9",
        "QUERY_STRING": "c=%64",
        "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "x", "HTTP_ACCEPT": "b", "HTTP_X_TWO": "1,2", "SCRIPT_NAME": "",
        "REMOTE_ADDR": "192.0.2.1", "REMOTE_PORT": "5", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
    }  # fmt: skip
    environ = line.request.environ
    assert {name: environ[name] for name in expected} == expected
    assert not any("A_B" in name for name in environ), "it could pass for A-B"
    assert environ["wsgi.input"].read() == b""
    assert line.request.keep


def test_a_request_is_the_same_however_it_comes_in_pieces() -> None:
    body = POST + b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: trailer\r\n\r\n"
    for sent in (GET, body):
        whole = Line()
        whole.send(sent)
        for size in (1, 2, 7):
            line = Line()
            for start in range(0, len(sent), size):
                assert line.server.requests == []
                line.send(sent[start : start + size])
            mine, other = ({**each.request.environ} for each in (line, whole))
            assert mine.pop("wsgi.input").read() == other.pop("wsgi.input").getvalue()
            assert mine == other
            assert "HTTP_X" not in mine


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"http://e.example/x?y", "/x", "y"), (b"//x/y", "//x/y", ""), (b"/x#y", "/x", ""), (b"/?", "/", ""),
        (b"http://[x/y", "http://[x/y", ""), (b"http://e.example", "/", ""), (b"HTTPS://e.example:1?a=b", "/", "a=b"),
    ],
)  # fmt: skip
def test_every_form_of_a_target_has_one_path(line: Line, target: bytes, path: str, query: str) -> None:
    line.send(b"GET " + target + b" HTTP/1.1\r\n\r\n")
    if line.server.requests:
        assert (line.request.environ["PATH_INFO"], line.request.environ["QUERY_STRING"]) == (path, query)
    else:
        assert line.refused == 400


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n", b"Content-Length: 5, 5\r\n", b"Content-Length: +5\r\n",
        b"Content-Length: 0x5\r\n", b"Content-Length: -1\r\n", b"Content-Length:\r\n",
        b"Content-Length: 99999999999999999999999\r\n", b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"A: b\r\n c\r\n", b"A: b\nC: d\r\n",
        b"A: b\rC: d\r\n", b"A: b\x00\r\n", b"A\x00: b\r\n", b"A : b\r\n", b"No colon\r\n", b": b\r\n", b"A: \x7f\r\n",
        b"Host: y\r\n",
    ],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_refused(line: Line, head: bytes) -> None:
    line.send(POST + head + b"\r\n0\r\n\r\n" + NEXT)
    assert line.refused == 400
    assert line.server.requests == []


@pytest.mark.parametrize(
    "start", [b"GET / HTTP/2.0\r\n", b"GET /\r\n", b"GET / HTTP/1.2\r\n", b"Q / HTTP/1.1\r\n", b"\x16\x03"]
)
def test_another_protocol_is_refused(line: Line, start: bytes) -> None:
    line.send(start + b"\r\n\r\n")
    assert line.refused == 400


def test_a_transfer_coding_of_an_older_client_is_refused(line: Line) -> None:
    line.send(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    assert line.refused == 400


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"x" * LINE_MAX + b" HTTP/1.1\r\n\r\n", 414), (b"GET /" + b"x" * (LINE_MAX + 1), 414),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (FIELDS_MAX + 1) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (FIELDS_MAX + 2), 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * HEAD_MAX + b"\r\n\r\n", 431),
        (POST + b"Expect: x\r\n\r\n", 417),
    ],
)  # fmt: skip
def test_a_head_that_is_too_large_is_refused(line: Line, sent: bytes, status: int) -> None:
    line.send(sent)
    assert line.refused == status


ENDLESS = {
    b"GET " + b" " * LINE_MAX: 414,
    b"GET /" + b"x" * LINE_MAX: 414,
    b"GET /?" + b"x" * 2 * HEAD_MAX: 414,
    b"GET /" + b"x" * LINE_MAX + b" HTTP/1.1\r\nA: b": 414,
    b"GET / HTTP/1.1\r\nX-Long: " + b"b" * HEAD_MAX: 431,
    b"GET / HTTP/1.1\r\nX-Long: " + b"b" * HEAD_MAX + b"\r\n": 431,
    b"GET / HTTP/1.1\r\nX-Long: " + b"b" * HEAD_MAX + b"\r": 431,
    b"GET / HTTP/1.1\r\n" + b"X" * HEAD_MAX: 431,
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (FIELDS_MAX + 1): 431,
}


@pytest.mark.parametrize("sent", ENDLESS)
def test_a_head_that_does_not_end_is_refused_once_it_is_too_large(sent: bytes) -> None:
    """However it comes in pieces, and behind other requests too."""
    for before in (b"", NEXT, POST + b"Content-Length: 4\r\n\r\n\r\n\r\n", CHUNKED + b"2\r\nab\r\n0\r\nA: b\r\n\r\n"):
        for size in (1, 1000, len(before + sent)):
            line = Line()
            for start in range(0, len(before + sent), size):
                line.send((before + sent)[start : start + size])
            if before:
                line.answer()
            assert line.refused == ENDLESS[sent]


def test_a_header_without_an_end_is_refused_as_it_grows(line: Line) -> None:
    line.send(b"GET / HTTP/1.1\r\nA: ")
    for _ in range(9):
        line.send(b"b" * 1024)
    assert line.refused == 431


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_is_too_large_is_not_waited_for(line: Line, declared: bool) -> None:
    """The application refuses it, after it has looked at who calls."""
    if declared:
        line.send(POST + b"Content-Length: %d\r\n\r\n" % (BODY_MAX + 1))
    else:
        line.send(POST + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % BODY_MAX + b"x" * BODY_MAX + b"\r\n")
        assert line.server.requests == []
        line.send(b"1\r\nx\r\n")
    assert not line.request.keep
    body = line.request.environ["wsgi.input"]
    assert declared or len(body.read(BODY_MAX + 1)) == BODY_MAX + 1
    with pytest.raises(ConnectionError):
        body.read(1)
    line.answer()
    assert line.transport.ended


CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("endless", [
    b"5;" + b"e" * 9000, b"0;" + b"e" * 9000, b"0" * 9000, b"5;" + b"e" * 9000 + b"\r\n",
    (b"1;" + b"e" * 2000 + b"\r\nx\r\n") * 5, b"0\r\nX-Long: " + b"v" * 9000, b"0\r\n" + b"A: b\r\n" * 1500,
    b"0\r\nX-Long: " + b"v" * 9000 + b"\r\n\r\n",
])  # fmt: skip
def test_what_comes_with_a_chunked_body_is_bounded_as_it_is_sent(endless: bytes) -> None:
    for data in (b"", b"7f\r\n" + b"d\n" * 63 + b"d\r\n"):
        sent = CHUNKED + data + endless
        for size in (1, len(CHUNKED + data), len(sent)):
            line = Line()
            line.send(*(sent[start : start + size] for start in range(0, len(sent), size)))
            assert line.server.requests == []
            assert line.refused == 413


def test_a_body_in_many_small_chunks_is_taken(line: Line) -> None:
    chunks = b"1\r\nx\r\n" * 30_000
    line.send(CHUNKED, chunks[:100_000], chunks[100_000:], b"0\r\n\r\n")
    assert line.request.environ["wsgi.input"].read() == b"x" * 30_000
    assert line.request.keep


@pytest.mark.parametrize("rest", [b"3\r\nabc\r\nzz\r\n", b"3\nabc\n"])
def test_a_broken_chunk_is_for_the_application_to_refuse(line: Line, rest: bytes) -> None:
    line.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + rest)
    with pytest.raises(ConnectionError):
        line.request.environ["wsgi.input"].read()
    assert not line.request.keep


def test_a_client_that_ends_in_the_middle_of_a_body_is_answered(line: Line) -> None:
    line.send(POST + b"Content-Length: 5\r\n\r\nab")
    assert line.connection.eof_received()
    assert line.request.environ["wsgi.input"].read(2) == b"ab"
    line.answer()
    assert line.transport.closed


def test_a_client_that_ends_is_answered_what_it_asked_before(line: Line) -> None:
    line.send(NEXT + NEXT)
    assert line.connection.eof_received()
    line.answer()
    assert len(line.server.requests) == 2
    line.answer()
    assert line.transport.closed
    silent = Line()
    assert not silent.connection.eof_received()
    half = Line()
    half.send(NEXT[:9])
    assert not half.connection.eof_received()


def test_requests_in_a_row_are_answered_in_their_order_one_at_a_time(line: Line) -> None:
    line.send(GET + NEXT + NEXT)
    for n in range(1, 4):
        assert len(line.server.requests) == n
        line.answer()
    assert line.transport.sent.count(b"HTTP/1.1 200 OK\r\n") == 3
    line.send(NEXT)
    assert len(line.server.requests) == 4


def test_a_client_that_sends_on_meanwhile_is_not_read(line: Line) -> None:
    line.send(GET)
    assert line.transport.is_read
    line.send(NEXT)
    assert not line.transport.is_read
    line.answer()
    line.answer()
    assert line.transport.is_read


def test_what_is_refused_behind_a_request_comes_behind_its_response(line: Line) -> None:
    line.send(GET + b"no request\r\n\r\n")
    assert line.server.refusals == []
    line.answer()
    assert line.transport.sent.index(b"200 OK") < line.transport.sent.index(b"400")
    assert line.refused == 400


@pytest.mark.parametrize("sent", [
    b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.1\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\n\r\n",
])  # fmt: skip
def test_a_last_request_ends_the_connection(line: Line, sent: bytes) -> None:
    line.send(sent + NEXT)
    assert not line.request.keep
    line.answer()
    assert b"Connection: close" in line.transport.sent
    assert len(line.server.requests) == 1
    assert line.transport.ended


OFFERS = (
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n",
    b"Connection: upgrade\r\nUpgrade: websocket\r\n", b"Upgrade: TLS/1.2, foo/1\r\nConnection: keep-alive, Upgrade\r\n",
    b"Upgrade: h2c\r\n",
)  # fmt: skip
BODIES = {
    b"Content-Length: 4\r\n\r\na\r\nb": b"a\r\nb", b"Content-Length: 0\r\n\r\n": b"", b"\r\n": b"",
    b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;e=f\r\nc\r\n0\r\nA: b\r\n\r\n": b"abc",
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n": b"",
}  # fmt: skip


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("body", BODIES)
def test_an_offer_of_another_protocol_is_ignored(offer: bytes, body: bytes) -> None:
    """The body is read, and the connection stays usable: RFC 9110 section 7.8."""
    sent = POST + offer + body
    for size in (1, 7, len(sent + NEXT)):
        line = Line()
        for start in range(0, len(sent + NEXT), size):
            line.send((sent + NEXT)[start : start + size])
        assert line.request.environ["wsgi.input"].read() == BODIES[body]
        assert line.request.environ["REQUEST_METHOD"] == "POST"
        assert line.request.keep
        line.answer()
        first, second = line.server.requests
        assert (first.environ["PATH_INFO"], second.environ["PATH_INFO"]) == ("/p", "/next")
        assert "HTTP_A" not in first.environ


def test_an_offer_of_another_protocol_keeps_every_limit_of_a_body(line: Line) -> None:
    offer = POST + OFFERS[0] + b"Connection: close\r\n"
    line.send(offer + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert line.transport.sent == protocol.CONTINUE_RESPONSE
    line.send(b"ab" + NEXT)
    assert not line.request.keep, "it asks for the end itself"
    assert line.request.environ["wsgi.input"].read() == b"ab"
    for head, status in {b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n": 400, b"Expect: x\r\n": 417}.items():
        other = Line()
        other.send(offer + head + b"\r\n0\r\n\r\n")
        assert other.refused == status
    broken = Line()
    broken.send(offer + b"Transfer-Encoding: chunked\r\n\r\n2\r\nabzz\r\n")
    with pytest.raises(ConnectionError):
        broken.request.environ["wsgi.input"].read()
    endless = Line()
    endless.send(offer + b"Transfer-Encoding: chunked\r\n\r\n5;" + b"e" * 9000)
    assert endless.refused == 413
    large = Line()
    large.send(offer + b"Content-Length: 99999999\r\n\r\n")
    assert not large.request.keep


def test_cookies_in_several_headers_are_one_header(line: Line) -> None:
    line.send(b"GET / HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\nCOOKIE: c=d\r\nCookie: e=f; g=h\r\n\r\n")
    assert line.request.environ["HTTP_COOKIE"] == "a=b; c=d; e=f; g=h"


def test_an_older_client_that_asks_for_it_keeps_its_connection(line: Line) -> None:
    line.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert line.request.keep


def test_a_client_that_asks_whether_to_send_its_body_is_told_to(line: Line) -> None:
    line.send(POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert line.transport.sent == protocol.CONTINUE_RESPONSE
    line.send(b"a")
    assert line.transport.sent == protocol.CONTINUE_RESPONSE
    line.send(b"b")
    assert line.request.environ["wsgi.input"].read() == b"ab"
    refused = Line()
    refused.send(POST + b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
    assert refused.transport.sent == b""


def test_a_slow_reader_is_given_one_response_at_a_time(line: Line) -> None:
    line.send(NEXT + NEXT)
    line.transport.blocks = True
    line.answer()
    assert len(line.server.requests) == 1
    line.transport.take(10_000)
    assert len(line.server.requests) == 2


def test_requests_sent_at_once_are_read_one_at_a_time(line: Line) -> None:
    """Who sends thousands neither occupies the process with reading them nor its memory with what was read."""
    line.send(b"\r\n".join([NEXT] * 5000))
    for n in range(1, 4):
        assert (len(line.server.requests), len(line.connection._queue)) == (n, 0)
        line.answer()
    more = line.server.requests[-1].began
    line.answer()
    assert line.server.requests[-1].began > more, "its time counts from its turn"


def test_a_client_that_takes_no_response_is_not_read(line: Line) -> None:
    line.send(NEXT)
    line.transport.blocks = True
    line.answer()
    line.send(NEXT)
    assert not line.transport.is_read
    line.transport.take(10_000)
    line.answer()
    assert line.transport.is_read
    assert len(line.server.requests) == 2


def test_the_memory_of_slow_clients_is_counted_until_they_go_on(line: Line) -> None:
    half = 5 + 3  # a part of a body, whose last three bytes are also kept for the parser
    line.send(POST + b"Content-Length: 9\r\n\r\n12345")
    other, transport = line.server.connect()
    other.data_received(NEXT)
    transport.blocks = True
    line.answer()
    unsent = transport.get_write_buffer_size()
    assert line.server.held == half + unsent > half
    other.data_received(NEXT)
    assert line.server.held == half + unsent + len(NEXT), "what is sent meanwhile, too"
    line.send(b"6789")
    assert line.server.held == unsent + len(NEXT)
    transport.take(10_000)
    assert line.server.held == 0
    third, transport = line.server.connect()
    third.data_received(POST + b"Content-Length: 9\r\n\r\n12345")
    assert line.server.held == half
    third.evict()
    assert (line.server.held, transport.closed) == (0, True)
    assert third not in line.server.connections


def test_the_memory_of_requests_that_wait_is_counted_until_they_are_read(line: Line) -> None:
    line.send(NEXT * 3)
    line.send(NEXT)
    assert line.server.held == 4 * len(NEXT)
    for _ in range(3):
        assert line.server.held > 0
        line.answer()
    assert line.server.held == 0
    line.send(NEXT * 2)
    line.answer(keep=False)
    assert line.server.held == 0, "no further request is read"


def test_input_that_no_one_reads_is_not_kept(line: Line) -> None:
    line.send(b"no request\r\n\r\n" + b"x" * 5000)
    assert line.server.held == 0


def test_a_client_that_takes_nothing_of_its_response_is_given_up(line: Line) -> None:
    line.send(NEXT)
    line.transport.blocks = True
    line.answer()
    now = time.monotonic()
    line.connection.expire(now + 19)
    line.transport.take(3)
    line.connection.expire(now + 19.5)
    line.connection.expire(now + 38)
    assert not line.transport.closed, "it took some"
    line.connection.expire(now + 40)
    assert line.transport.closed
    assert line.server.connections == set()


@pytest.mark.parametrize(("sent", "seconds"), [(b"", 5), (NEXT[:5], 10), (POST + b"Content-Length: 2\r\n\r\na", 20)])
def test_a_client_has_only_so_much_time(line: Line, sent: bytes, seconds: int) -> None:
    if sent:
        line.send(sent)
    now = time.monotonic()
    line.connection.expire(now + seconds - 1)
    assert not line.transport.closed
    assert line.server.refusals == []
    line.connection.expire(now + seconds + 0.1)
    if sent:
        assert line.refused == 408
    else:
        assert line.transport.closed


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(line: Line) -> None:
    line.send(NEXT)
    line.connection.expire(time.monotonic() + 1000)
    assert not line.transport.closed
    line.answer()
    assert line.connection.is_idle
    line.connection.expire(time.monotonic() + line.server.keepalive + 0.1)
    assert line.transport.closed


def test_a_connection_that_is_being_closed_takes_what_comes_for_a_while(line: Line) -> None:
    """With bytes unread it would be reset, and the client would lose the response."""
    line.send(b"no request\r\n\r\n")
    line.send(b"x" * (DISCARD_MAX - 1))
    assert not line.transport.closed
    line.send(b"x")
    assert line.transport.closed
    other = Line()
    other.send(NEXT)
    other.answer(keep=False)
    assert other.transport.ended
    other.connection.expire(time.monotonic() + 2.1)
    assert other.transport.closed
    gone = Line()
    gone.send(b"no request\r\n\r\n")
    assert not gone.connection.eof_received()


def test_a_connection_that_is_lost_meanwhile_gets_no_response(line: Line) -> None:
    line.send(NEXT)
    line.transport.close()
    line.answer()
    assert line.transport.sent == b""


def test_a_server_that_ends_keeps_no_connection(line: Line) -> None:
    line.server.is_stopping = True
    line.send(NEXT)
    line.answer()
    assert b"Connection: close" in line.transport.sent
    assert line.transport.ended
