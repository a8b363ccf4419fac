"""A request is collected until it is whole, and gunicorn's parser decides what it is."""

from contextlib import suppress
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import (
    ChunkMissingTerminator,
    InvalidChunkSize,
    InvalidHeader,
    InvalidRequestLine,
    LimitRequestHeaders,
    LimitRequestLine,
    NoMoreData,
)
from hypothesis import given
from hypothesis import strategies as st

from directory.http.request_body import BODY_MAX
from directory.server.request_buffer import ChunkScanner, RequestBuffer
from directory.server.tuning import CHUNKS_MAX, HEAD_MAX

LINE = b"POST /api/x HTTP/1.1\r\nHost: x\r\n"
CHUNKED = LINE + b"Transfer-Encoding: chunked\r\n\r\n"
NEXT = b"GET /next HTTP/1.1\r\n"


def collected(*parts: bytes) -> RequestBuffer:
    buffer = RequestBuffer(Config(), ("127.0.0.1", 5))
    for part in parts:
        buffer.add(part)
    return buffer


def each_byte(data: bytes) -> list[bytes]:
    return [data[n : n + 1] for n in range(len(data))]


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (LINE + b"\r\n", b""),
        (LINE + b"Content-Length: 5\r\n\r\nabcde", b"abcde"),
        (CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"abcde"),
        (CHUNKED + b"5\r\nabcde\r\n0\r\nA: b\r\nC: d\r\n\r\n", b"abcde"),
        (CHUNKED + b"4\r\n\r\n\r\n\r\n0\r\n\r\n", b"\r\n\r\n"),
    ],
)
def test_a_request_is_complete_with_its_last_byte_and_what_follows_is_the_next(sent: bytes, body: bytes) -> None:
    pieces = each_byte(sent)
    buffer = collected(*pieces[:-1])
    assert not buffer.is_ready
    buffer.add(pieces[-1] + NEXT)
    assert buffer.is_ready
    assert next(buffer).body.read() == body
    assert buffer.finish_body()
    assert buffer.take_rest() == NEXT


def test_what_the_application_leaves_of_a_body_is_skipped() -> None:
    for sent in (LINE + b"Content-Length: 5\r\n\r\nabcde", CHUNKED + b"5\r\nabcde\r\n0\r\n\r\n"):
        buffer = collected(sent + NEXT)
        assert next(buffer).body.read(2) == b"ab"
        assert buffer.finish_body(deadline=0.0)
        assert buffer.take_rest() == NEXT


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"GET / HTTP/1.1\n", InvalidRequestLine),
        (b"nonsense\r\n", InvalidRequestLine),
        (LINE + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", InvalidHeader),
        (LINE + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", InvalidHeader),
        (LINE + b"Host: y\r\n\r\n", InvalidHeader),
        (b"GET /" + b"a" * HEAD_MAX, LimitRequestLine),
        (LINE + b"A: " + b"b" * HEAD_MAX, LimitRequestHeaders),
        (LINE + b"".join(b"A%d: b\r\n" % n for n in range(1000)), LimitRequestHeaders),
    ],
)
def test_what_gunicorn_refuses_is_refused_as_soon_as_it_is_there(sent: bytes, error: type[Exception]) -> None:
    buffer = collected(sent)
    assert buffer.is_ready
    assert not buffer.has_head
    with pytest.raises(error):
        next(buffer)


@pytest.mark.parametrize("size", [HEAD_MAX - 100, HEAD_MAX + 100])
def test_the_limit_of_a_head_does_not_depend_on_its_pieces(size: int) -> None:
    lines = b"".join(b"A%d: %s\r\n" % (n, b"x" * 90) for n in range(40))
    head = LINE + lines + b"B: " + b"y" * (size - len(LINE + lines) - 7) + b"\r\n\r\n"
    assert len(head) == size
    for parts in ([head], [head[:4000], head[4000:]], [head[:8000], head[8000:]]):
        assert collected(*parts).has_head == (size < HEAD_MAX)


def test_an_oversized_body_is_not_waited_for_and_ends_the_connection() -> None:
    buffer = collected(LINE + b"Content-Length: %d\r\n\r\nabc" % (BODY_MAX + 1))
    assert buffer.is_ready
    assert next(buffer).body.read(2) == b"ab"
    assert not buffer.finish_body()
    chunk = b"%x\r\n%s\r\n" % (BODY_MAX // 4, b"x" * (BODY_MAX // 4))
    buffer = collected(CHUNKED, *[chunk] * 4)
    assert not buffer.is_ready
    buffer.add(b"5\r\nabcde\r\n")
    assert buffer.is_ready
    assert len(next(buffer).body.read(BODY_MAX + 1)) == BODY_MAX + 1
    assert not buffer.finish_body()


def test_a_body_in_tiny_chunks_is_bounded_as_it_is_sent() -> None:
    buffer = collected(CHUNKED)
    while not buffer.is_ready:
        buffer.add(b"1;%s\r\nx\r\n" % (b"e" * 1000) * 50)
    assert CHUNKS_MAX * BODY_MAX < len(buffer.take_rest()) < (CHUNKS_MAX + 1) * BODY_MAX


@pytest.mark.parametrize(
    ("chunks", "error"),
    [(b"zz\r\n{}\r\n", InvalidChunkSize), (b"-2\r\n{}\r\n", InvalidChunkSize), (b"2\r\n{}0", ChunkMissingTerminator)],
)
def test_a_broken_chunk_is_refused_by_gunicorn(chunks: bytes, error: type[Exception]) -> None:
    buffer = collected(CHUNKED + chunks)
    assert buffer.is_ready
    with pytest.raises(error):
        next(buffer).body.read()
    assert not buffer.finish_body()


def test_a_client_that_stops_in_a_head_has_asked_nothing_and_one_that_stops_in_a_body_is_refused() -> None:
    buffer = collected(LINE)
    buffer.end()
    with pytest.raises(NoMoreData):
        next(buffer)
    for sent in (LINE + b"Content-Length: 5\r\n\r\nab", CHUNKED + b"5\r\nab"):
        buffer = collected(sent)
        assert not buffer.is_ready
        buffer.end()
        assert buffer.is_ready
        with suppress(NoMoreData):
            assert next(buffer).body.read() == b"ab"
        assert not buffer.finish_body()


def test_a_100_continue_is_sent_once_and_only_while_the_body_is_missing() -> None:
    head = LINE + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    whole, half = collected(head + b"{}"), collected(head)
    assert not whole.expects_continue
    assert next(whole)._expected_100_continue  # then gunicorn tells it
    assert half.expects_continue
    half.note_continued()
    assert not half.expects_continue
    half.add(b"{}")
    assert not next(half)._expected_100_continue


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.integers(1, 30))
def test_the_end_of_a_chunked_body_is_found_wherever_it_is_cut(chunks: list[bytes], step: int) -> None:
    body: Any = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    scanner = ChunkScanner()
    for start in range(0, len(body), step):
        assert not scanner.ended
        scanner.add(body[start : start + step])
    assert scanner.ended
