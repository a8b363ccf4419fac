"""What the application says to a request that the worker has read itself, as it goes over the wire."""

from types import SimpleNamespace
from typing import Any

import pytest
from directory.server.wire import Wire
from gunicorn.workers.gthread import ThreadWorker

from directory.server import fast_path as express
from directory.server.fast_path import ExpressWorker
from directory.server.request_reader import Bare
from tests.server.test_fast_path import DELETE, GET, Loop


class Body(list[bytes]):
    """Parts of a body, which want to be closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def said(status: str, headers: list[tuple[str, str]], body: list[bytes]) -> tuple[bytes, bytes, bytes]:
    wire: Any = Wire.__new__(Wire)
    given = Body(body)

    def app(environ: dict[str, Any], start: Any) -> Body:
        assert environ == {"server": 1, "request": 2}
        start("500 First", [("Content-Length", "9")])
        start(status, headers, (None, None, None))
        return given

    wire._app = app
    try:
        return tuple(wire.whole(Bare({"request": 2}), {"server": 1}))  # type: ignore[return-value]
    finally:
        assert given.closed


def test_what_it_said_last_goes_out() -> None:
    lines = b"A: b\r\ncontent-length: 2\r\n"
    assert said("200 OK", [("A", "b"), ("content-length", "2")], [b"x", b"y"]) == (b"200 OK", lines, b"xy")


def test_a_body_whose_length_nobody_told_does_not_run_into_the_next_answer() -> None:
    assert said("200 OK", [("A", "b")], [b"x", b"y"]) == (b"200 OK", b"A: b\r\nContent-Length: 2\r\n", b"xy")
    assert said("404 NOT FOUND", [], []) == (b"404 NOT FOUND", b"Content-Length: 0\r\n", b"")


@pytest.mark.parametrize("status", ["204 NO CONTENT", "304 NOT MODIFIED"])
def test_an_answer_that_has_no_body_tells_no_length(status: str) -> None:
    assert said(status, [("A", "b")], []) == (status.encode(), b"A: b\r\n", b"")


@pytest.mark.parametrize("value", ["x\r\nB: y", "x\ny", "x\ry", "\N{SNOWMAN}"])
def test_a_header_that_could_pass_for_two_is_not_sent(value: str) -> None:
    with pytest.raises(ValueError, match=r"end of a line|codec"):
        said("200 OK", [("A", value)], [])


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def test_what_escapes_the_application_is_a_500_and_the_end_of_the_connection(loop: Loop) -> None:
    asked: list[int] = []

    def fail(*_given: Any) -> None:
        asked.append(1)
        raise ZeroDivisionError

    loop.wire.whole = fail  # type: ignore[method-assign, assignment]
    told: list[Any] = []
    loop.worker.handle_error = lambda *given: told.append(given)
    client, conn = loop.client()
    with client, conn.sock:
        client.sendall(DELETE)
        loop.turn()
        assert loop.worker.handle(conn) is False
    assert asked == [1]  # it may have done what it was asked to
    assert told[0][:3] == (None, conn.sock, conn.client)
    assert isinstance(told[0][3], ZeroDivisionError)


@pytest.mark.parametrize("head", [GET, DELETE])
@pytest.mark.parametrize("most", [2, 3])
def test_where_too_many_connections_are_kept_gunicorn_answers_and_closes_this_one(
    loop: Loop, most: int, head: bytes
) -> None:
    loop.worker.max_keepalived = most
    (client, conn), *idle = [loop.client() for _ in range(3)]
    client.sendall(head)
    loop.turn()
    assert loop.handed == [conn]
    assert ("asked" in vars(conn)) is (most == 3)
    for each in [client, conn.sock, *(sock for other, kept in idle for sock in (other, kept.sock))]:
        each.close()


@pytest.mark.parametrize("why", [None, "tls", "http/2", "judged by gunicorn", "below a path", "one each"])
def test_who_lets_gunicorn_judge_what_is_asked_does_without(why: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    worker: Any = ExpressWorker.__new__(ExpressWorker)
    worker._wire = None
    worker.wsgi = SimpleNamespace(extensions={"wire": "wire"})
    worker.cfg = SimpleNamespace(
        is_ssl=why == "tls",
        keepalive=0 if why == "one each" else 5,
        http2_cleartext="both" if why == "http/2" else "off",
        secure_scheme_headers={"a": "b"} if why == "judged by gunicorn" else {},
    )
    if why == "below a path":
        monkeypatch.setenv("SCRIPT_NAME", "/below")
    monkeypatch.setattr(express, "base_environ", lambda _cfg: {"a": "b"})
    monkeypatch.setattr(ThreadWorker, "run", lambda _self: None)
    worker.run()
    assert worker._wire == ("wire" if why is None else None)
    assert worker._base == {"a": "b", "wsgi.multithread": True}
