"""A recognised request is understood as gunicorn and the application understand it."""

import socket
import time
from contextlib import closing
from typing import Any

import pytest
from gunicorn import http
from gunicorn.config import Config
from gunicorn.http import wsgi
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.middleware.proxy_fix import ProxyFix

from directory.cache.cacheable_request import UNCACHEABLE, CacheableRequest, has_credentials
from directory.server.application import Application, ReceivedRequest
from directory.server.connections import Connection
from directory.server.request_reader import HEAD_MAX_SIMPLE, ParsedRequest, recognise

LIST = b"GET /api/projects?page=2 HTTP/1.1\r\n"
HOST = b"Host: x\r\n"
CLIENT, SERVER = ("127.0.0.1", 5), ("127.0.0.1", 80)


def understood(head: bytes, hops: int) -> ParsedRequest | None:
    return recognise(head, hops, lambda given: given or "fresh")


def environ_of(head: bytes) -> dict[str, Any]:
    """What gunicorn hands to an application. Raises what it refuses a request by."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        theirs.sendall(head)
        theirs.shutdown(socket.SHUT_WR)
        config = Config()
        config.set("secure_scheme_headers", {})  # as in gunicorn.conf.py: the application judges what a proxy says
        request = next(http.get_parser(config, ours, CLIENT))
        assert request is not None
        assert request.body.read() == b""
        assert not request.should_close()
        return wsgi.create(request, ours, CLIENT, SERVER, config)[1]  # type: ignore[no-any-return]


def behind(hops: int, environ: dict[str, Any]) -> dict[str, Any]:
    """What the application sees behind as many trusted proxies."""
    if hops:
        list(ProxyFix(lambda _environ, _start: [], x_for=hops, x_proto=hops, x_host=hops)(environ, None))
    return environ


# By name and not by what the code has, which these hold.
READ_OTHERWISE = (
    "Transfer-Encoding", "TE", "Trailer", "Expect", "Upgrade", "HTTP2-Settings", "Proxy-Connection", "Keep-Alive",
)  # fmt: skip
ANSWERED_OTHERWISE = ("Authorization", "Cookie", "Origin", "If-Match", "Range", "Content-Length")
KNOWN = (
    "Host",
    "host",
    "X-Forwarded-Proto",
    "X-Forwarded-For",
    "X-Request-ID",
    "If-None-Match",
    "Accept",
    "Connection",
    "Content-Type",
    "Sec-Fetch-Site",
)
NAMES = (
    st.sampled_from(KNOWN)
    | st.from_regex(r"[A-Za-z0-9-]{1,12}", fullmatch=True)
    | st.sampled_from(READ_OTHERWISE + ANSWERED_OTHERWISE)
)
VALUES = st.sampled_from(
    ["x", "http", "https", "https, http", "keep-alive", "close", "*", '"a", W/"b"', "0"]
) | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
TARGETS = st.text(st.sampled_from("abcXYZ0189/_.~-?&=%#+;:@\"'"), max_size=20)


METHODS = st.sampled_from(["GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "QUERY"])
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=6)
# What no request says, and what the service has no use for.
SERVERS = {"wsgi.errors", "wsgi.file_wrapper", "wsgi.input", "gunicorn.socket", "wsgi.multithread"}
UNUSED = {"wsgi.early_hints"}


@given(METHODS, TARGETS, HEADERS, st.integers(0, 2))
def test_a_recognised_request_means_the_same_to_gunicorn_and_werkzeug(
    method: str, target: str, headers: list[tuple[str, str]], hops: int
) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in [("Host", "x"), *headers])
    head = f"{method} /{target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")
    found = understood(head, hops)
    if found is None:
        return
    environ = environ_of(head)
    ours = given_to_the_application(found)
    assert ours.pop("wsgi.input").read() == b""
    assert ours.keys() | {"wsgi.input"} == environ.keys() - UNUSED
    assert {name: environ[name] for name in ours if name not in SERVERS} == {
        name: value for name, value in ours.items() if name not in SERVERS
    }
    read = found.read or found.read_with_credentials
    if read is None:
        return
    assert (found.read is None) == has_credentials(environ) == (found.read_with_credentials is not None)
    environ = behind(hops, environ)
    assert read.key == (environ["wsgi.url_scheme"], environ["PATH_INFO"], environ["QUERY_STRING"])
    assert read.request_id == (environ.get("HTTP_X_REQUEST_ID") or "fresh")
    assert read.if_none_match == environ.get("HTTP_IF_NONE_MATCH")
    assert environ["REQUEST_METHOD"] == "GET"
    assert not any(f"HTTP_{name.upper().replace('-', '_')}" in environ for name in UNCACHEABLE)


def given_to_the_application(request: ParsedRequest) -> dict[str, Any]:
    """The environment that the application is asked with."""
    seen: list[dict[str, Any]] = []

    def app(environ: dict[str, Any], start: Any) -> list[bytes]:
        seen.append(environ)
        start("204 NO CONTENT", [])
        return []

    sock: Any = None
    Application(app, Config()).respond(ReceivedRequest(Connection(sock, CLIENT, SERVER), request, time.perf_counter()))
    return seen[0]


VOTE = b"POST /api/projects/7/upvote HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize("name", ANSWERED_OTHERWISE)
def test_a_request_whose_answer_may_differ_goes_to_the_application(name: str) -> None:
    found = understood(LIST + HOST + f"{name}: 0\r\n\r\n".encode(), 0)
    assert found is not None
    assert found.read is None


def test_what_the_application_is_asked_without_a_body_is_recognised() -> None:
    signed_in = b"Authorization: Bearer abc\r\n"
    browser = b"Cookie: a=b; c=d\r\nOrigin: https://x\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 0\r\n"
    for head in (
        VOTE + b"\r\n", VOTE + signed_in + b"\r\n", VOTE + browser + b"\r\n", LIST + HOST + signed_in + b"\r\n",
        LIST + HOST + b"If-Match: x\r\n\r\n", b"DELETE /api/projects/7 HTTP/1.1\r\nHost: x\r\n\r\n",
    ):  # fmt: skip
        for hops in (0, 2):
            found = understood(head, hops)
            assert found is not None, head
            assert found.read is None, head


@pytest.mark.parametrize(
    "more",
    [
        *(f"{name}: 0".encode() for name in READ_OTHERWISE), b"Transfer-Encoding: chunked",
        b"Content-Length: 1", b"Content-Length: 00",
        b"Content-Length: +0", b"Content-Length: 0, 0", b"Content-Length: ", b"Content-Length: 0\r\nContent-Length: 0",
        b"Authorization: a\r\nauthorization: b", b"Connection: close", b"A_B: x", b"A: \xc3\xa4",
    ],
)  # fmt: skip
def test_what_may_have_a_body_or_another_meaning_is_left_to_the_server(more: bytes) -> None:
    assert understood(VOTE + more + b"\r\n\r\n", 0) is None
    assert understood(VOTE + b"Authorization: Bearer x\r\n" + more + b"\r\n\r\n", 0) is None
    assert understood(VOTE + b"\r\n" + more, 0) is None


def read_of(head: bytes, hops: int) -> CacheableRequest | None:
    found = understood(head, hops)
    assert found is not None
    return found.read


def test_what_clients_and_proxies_send_is_recognised() -> None:
    nginx = b"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Request-ID: abc\r\nAccept: */*\r\n"
    found = read_of(LIST + HOST + nginx + b'If-None-Match: "e"\r\n\r\n', 1)
    assert found == CacheableRequest("https", "/api/projects", "page=2", "abc", '"e"')
    assert read_of(LIST + b"Host: a.example:8000\r\nConnection: Keep-Alive\r\n\r\n", 0) == CacheableRequest(
        "http", "/api/projects", "page=2", "fresh", None
    )
    assert read_of(LIST + HOST + b"X-Forwarded-Proto: https\r\n\r\n", 0).scheme == "http"  # type: ignore[union-attr]
    assert read_of(b"GET /api/projects/7 HTTP/1.1\r\nHost: x\r\n\r\n", 0).query == ""  # type: ignore[union-attr]
    assert read_of(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 0).path == "/healthz"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "head",
    [
        b"", LIST + HOST, LIST + b"\r\n", LIST + HOST + HOST + b"\r\n", LIST + b"Host: \r\n\r\n",
        LIST + b"Host: a/b\r\n\r\n", LIST + HOST + b"\r\nx", (LIST + HOST + b"\r\n") * 2,
        LIST + HOST + b" folded: x\r\n\r\n", LIST + HOST + b"A : x\r\n\r\n", LIST + HOST + b"A_B: x\r\n\r\n",
        LIST + HOST + b"A: \x00\r\n\r\n", LIST + HOST + b"A: \xc3\xa4\r\n\r\n", LIST + HOST + b"A: x\n\r\n",
        LIST + HOST + b"Connection: close\r\n\r\n", LIST + HOST + b"Connection: upgrade\r\n\r\n",
        LIST + HOST + b"A: x\r\n" * 41 + b"\r\n", LIST + HOST + b"A: " + b"x" * HEAD_MAX_SIMPLE + b"\r\n\r\n",
        b"get /api/projects HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /api/projects HTTP/1.0\r\nHost: x\r\n\r\n",
        b"HEAD /api/projects HTTP/1.1\r\nHost: x\r\n\r\n", b"GET //evil.example/api HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://x/api/projects HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /api/%70 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /api/a;b HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /api/a#b HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /api/a?b#c HTTP/1.1\r\nHost: x\r\n\r\n", b"GET  /api/a HTTP/1.1\r\nHost: x\r\n\r\n",
        *(LIST + HOST + f"{name}: 0\r\n\r\n".encode() for name in READ_OTHERWISE),
    ],
)  # fmt: skip
def test_a_doubtful_request_is_not_recognised(head: bytes) -> None:
    assert understood(head, 0) is None


@pytest.mark.parametrize(("hops", "said"), [(1, b"https, http"), (1, b""), (1, b"ftp"), (2, b"https"), (2, b"a, b")])
def test_a_doubtful_scheme_is_left_to_the_application(hops: int, said: bytes) -> None:
    found = understood(LIST + HOST + b"X-Forwarded-Proto: " + said + b"\r\n\r\n", hops)
    assert found is not None
    assert found.read is None
    assert given_to_the_application(found)["HTTP_X_FORWARDED_PROTO"] == said.decode()
    assert (read_of(LIST + HOST + b"\r\n", hops) is None) == (hops == 2)
