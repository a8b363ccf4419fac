"""Bytes that no well-behaved client sends, to the server as it is shipped: one meaning each, or a refusal."""

import re
import socket
import time
from collections.abc import Iterator

import pytest

from tests.conftest import SqliteDatabase
from tests.support.serving import Serving, serving

HOST = "Host: directory.example\r\n"
HIDDEN = "GET /healthz HTTP/1.1\r\nHost: hidden.example\r\n\r\n"
JSON = "Content-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("wire")
    database = SqliteDatabase(folder)
    database.reset()
    environment = {"DATABASE_URL": database.url, "SECRET_KEY": "0f1e2d3c4b5a69788796" * 2, "APP_ENV": "production"}
    with serving(environment, folder / "log") as running:
        yield running


def get(target: str, *headers: str) -> str:
    return "\r\n".join((f"GET {target} HTTP/1.1", HOST.strip(), *headers, "", ""))


END = get("/api/end", "X-Request-ID: the-end", "Connection: close")


def said(server: Serving, sent: str) -> tuple[list[int], str]:
    """The statuses of all answers on one connection, and their text: until it ends, at the latest by END."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall((sent + END).encode("latin-1"))
        text = b"".join(iter(lambda: connection.recv(65_536), b"")).decode("latin-1")
    text = text.rpartition("HTTP/1.1 404 NOT FOUND")[0] if "X-Request-ID: the-end" in text else text
    return [int(status) for status in re.findall(r"HTTP/1\.[01] (\d{3}) ", text)], text


def test_requests_in_a_row_are_answered_one_by_one(server: Serving) -> None:
    statuses, _text = said(server, get("/api/projects") + get("/api/nothing") + get("/api/projects"))
    assert statuses == [200, 404, 200]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("POST /api/projects", 401),  # refused before its body is looked at
        ("POST /api/nothing", 404),
        ("PATCH /api/projects", 405),
        ("GET /api/projects", 200),  # has no body; what comes is not taken for the next request
        ("GET /api/categories", 200),
    ],
)
def test_an_unread_body_is_never_taken_for_a_request(server: Serving, line: str, status: int) -> None:
    for _again in range(2):  # the second answer is a cached one
        framed = f"Content-Length: {len(HIDDEN)}\r\n\r\n{HIDDEN}"
        chunked = f"Transfer-Encoding: chunked\r\n\r\n{len(HIDDEN):x}\r\n{HIDDEN}\r\n0\r\n\r\n"
        for body in (framed, chunked):
            statuses, text = said(server, f"{line} HTTP/1.1\r\n{HOST}{JSON}{body}{get('/api/projects?limit=0')}")
            assert statuses in ([status], [status, 422])
            assert '"ok"' not in text


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: 0x5",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "X: a\r\n folded",
        "X: a\rb",
        "X\x00: a",
        "Host: another.example",
    ],
)
def test_a_request_that_could_be_read_in_two_ways_is_refused_and_ends_the_connection(
    server: Serving, framing: str
) -> None:
    statuses, text = said(server, f"POST /api/auth/login HTTP/1.1\r\n{HOST}{JSON}{framing}\r\n\r\n{HIDDEN}")
    assert len(statuses) == 1
    assert 400 <= statuses[0] < 600
    assert '"ok"' not in text


@pytest.mark.parametrize("chunks", ["zz\r\n{}\r\n", "-2\r\n{}\r\n", "2\r\n{}0", "2 \x00\r\n{}\r\n"])
def test_a_broken_chunk_is_refused_and_ends_the_connection(server: Serving, chunks: str) -> None:
    head = f"POST /api/auth/login HTTP/1.1\r\n{HOST}{JSON}Transfer-Encoding: chunked\r\n\r\n"
    statuses, text = said(server, f"{head}{chunks}\r\n0\r\n\r\n{HIDDEN}")
    assert statuses == [400]
    assert '"ok"' not in text


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://evil.example/api/projects", 200),
        ("http://user:pass@evil.example/api/projects", 200),
        ("//api/projects", 200),
        ("/api%2Fprojects", 200),
        ("//evil.example/api/projects", 404),
        ("/api//projects", 404),
        ("/api/projects/", 404),
        ("/api/projects;a=b", 404),
        ("/api/projects%00", 404),
        ("/api/../healthz", 404),
        ("/api/%2e%2e/healthz", 404),
        ("/API/projects", 404),
        ("//api/admin/users", 401),
        ("/api%2Fadmin%2Fusers", 401),
        ("http://evil.example/api/admin/users", 401),
        ("/api/./admin/users", 404),
        ("*", 400),
        ("api/projects", 400),
    ],
)
def test_every_spelling_of_a_target_means_one_path_and_protected_paths_stay_protected(
    server: Serving, target: str, status: int
) -> None:
    statuses, text = said(server, get(target))
    assert statuses == [status]
    assert "evil.example" not in text


@pytest.mark.parametrize(
    "header",
    [
        "SCRIPT_NAME: /api",
        "SCRIPT_NAME: /elsewhere",
        "PATH_INFO: /healthz",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Proto: https\r\nX-Forwarded-Ssl: off",
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Prefix: /evil",
        "Forwarded: host=evil.example;proto=https",
        "X-Original-URL: /api/admin/users",
        "X-Rewrite-URL: /api/admin/users",
        "X-HTTP-Method-Override: DELETE",
        "X_Request_ID: forged",
        "Connection: X-Request-ID, Host",
    ],
)
def test_headers_for_proxies_are_not_believed_of_a_client(server: Serving, header: str) -> None:
    usual, told = (said(server, get("/api/projects", *given))[1] for given in ((), (header,)))
    changing = re.compile("^(X-Request-ID|Date): .*\r\n", re.MULTILINE)
    assert changing.sub("", told) == changing.sub("", usual)
    assert "forged" not in told


@pytest.mark.parametrize("line", ["get /api/projects", "GET\t/api/projects", "G\x00T /api/projects", "GET /a x"])
def test_a_line_that_is_no_request_line_is_refused(server: Serving, line: str) -> None:
    assert said(server, f"{line} HTTP/1.1\r\n{HOST}\r\n")[0] == [400]


def test_an_older_client_is_answered_and_head_has_no_body(server: Serving) -> None:
    assert said(server, "GET /api/projects HTTP/1.0\r\n\r\n")[0] == [200]
    statuses, text = said(server, f"HEAD /api/projects HTTP/1.1\r\n{HOST}\r\n")
    assert statuses == [200]
    assert text.endswith("\r\n\r\n")


def test_more_headers_or_a_longer_line_than_there_may_be_are_refused(server: Serving) -> None:
    assert said(server, get("/api/projects", *(f"A{n}: b" for n in range(70))))[0] == [431]
    assert said(server, get("/api/projects", f"A: {'b' * 9000}"))[0] == [431]
    assert said(server, get("/" + "a" * 5000))[0] in ([400], [414])


def test_a_body_that_comes_in_pieces_later_is_never_taken_for_a_request(server: Serving) -> None:
    """Over a connection that the worker itself reads from: what announces a body is not for it to read."""
    for framing in ("Transfer-Encoding: chunked", f"Content-Length: {len(HIDDEN)}", "Expect: 100-continue"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            answers = connection.makefile("rb")
            connection.sendall(get("/api/projects").encode())
            assert answers.readline().split()[1] == b"200"
            head = f"POST /api/projects HTTP/1.1\r\n{HOST}{framing}\r\n\r\n"
            body = f"{len(HIDDEN):x}\r\n{HIDDEN}\r\n0\r\n\r\n" if "chunked" in framing else HIDDEN
            connection.sendall(head.encode())
            time.sleep(0.2)
            if "Expect" not in framing:
                connection.sendall(body.encode())
            connection.sendall(END.encode())
            text = b"".join(iter(lambda: connection.recv(65_536), b"")).decode("latin-1")
            assert "hidden" not in text
            assert re.findall(r"HTTP/1\.1 ([2-5]\d\d) ", text)[:1] != ["200"], framing
