"""The application's answer to a request that the server has read itself, as it is sent."""

import gc
import io
import weakref
from typing import Any

import pytest
from flask import Flask

from directory.server.thread_pool import call_application
from tests.support.reading import parsed


class Body(list[bytes]):
    """Parts of a body, which want to be closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def said(status: str, headers: list[tuple[str, str]], body: list[bytes]) -> tuple[bytes, bytes, bytes]:
    given = Body(body)

    def app(environ: dict[str, Any], start: Any) -> Body:
        assert (environ["REMOTE_ADDR"], environ["PATH_INFO"]) == ("192.0.2.1", "/api/x")
        start("500 First", [("Content-Length", "9")])
        start(status, headers, (None, None, None))
        return given

    try:
        return tuple(call_application(app, parsed("/api/x")))  # type: ignore[return-value]
    finally:
        assert given.closed


def test_the_last_status_and_headers_are_sent() -> None:
    lines = b"A: b\r\ncontent-length: 2\r\n"
    assert said("200 OK", [("A", "b"), ("content-length", "2")], [b"x", b"y"]) == (b"200 OK", lines, b"xy")


def test_a_body_without_a_length_does_not_run_into_the_next_answer() -> None:
    assert said("200 OK", [("A", "b")], [b"x", b"y"]) == (b"200 OK", b"A: b\r\nContent-Length: 2\r\n", b"xy")
    assert said("404 NOT FOUND", [], []) == (b"404 NOT FOUND", b"Content-Length: 0\r\n", b"")


@pytest.mark.parametrize("status", ["204 NO CONTENT", "304 NOT MODIFIED"])
def test_an_answer_without_a_body_has_no_content_length(status: str) -> None:
    assert said(status, [("A", "b")], []) == (status.encode(), b"A: b\r\n", b"")


@pytest.mark.parametrize("value", ["x\r\nB: y", "x\ny", "x\ry", "\N{SNOWMAN}"])
def test_a_header_with_a_line_break_is_not_sent(value: str) -> None:
    with pytest.raises(ValueError, match=r"end of a line|codec"):
        said("200 OK", [("A", value)], [])


class Sent(io.BytesIO):
    """The body of a request."""


@pytest.mark.parametrize("path", ["/api/session", "/api/x"])
def test_the_body_of_a_request_goes_with_its_response_and_waits_for_no_garbage_collection(
    app: Flask, path: str
) -> None:
    request = parsed(path)
    request.environ["wsgi.input"] = Sent(bytes(100))
    body = weakref.ref(request.environ["wsgi.input"])
    gc.disable()
    try:
        call_application(app, request)
        assert body() is None
    finally:
        gc.enable()
