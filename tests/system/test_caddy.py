"""Caddy as it is configured in deploy/, before a scripted host: what it sends on, and what it answers itself."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.caddy import Caddy
from tests.support.servers import or_skip
from tests.system.test_nginx import Host, header


@pytest.fixture
def host() -> Iterator[Host]:
    with closing(Host()) as one:
        yield one


@pytest.fixture
def caddy(host: Host) -> Iterator[Caddy]:
    with or_skip():
        started = Caddy(host.port)
    with closing(started):
        yield started


def test_caddy_tells_the_service_the_real_caller_and_closes_what_is_for_operators(caddy: Caddy, host: Host) -> None:
    forged = "X-Forwarded-For: 6.6.6.6\nX-Forwarded-Proto: http\nX-Forwarded-Host: evil.example\nX-Request-ID: mine"
    name = f"localhost:{caddy.port}"
    assert caddy.call(f"GET /api/projects HTTP/1.1\nHost: {name}\n{forged}")[0] == 200
    [request] = host.requests
    assert header(request, "X-Forwarded-For") == "127.0.0.1"
    assert header(request, "X-Forwarded-Proto") == "https"
    assert header(request, "X-Forwarded-Host") == header(request, "Host") == name
    assert header(request, "X-Request-ID") == "mine"
    for path in ("/metrics", "/readyz"):
        status, headers, body = caddy.call(f"GET {path} HTTP/1.1\nHost: {name}")
        assert (status, headers["content-type"], b'"not_found"' in body) == (404, "application/problem+json", True)
    status, headers, _ = caddy.call("GET /a HTTP/1.1\nHost: localhost", tls=False)
    assert (status, headers["location"].startswith("https://localhost")) == (308, True)
    assert len(host.requests) == 1


def test_caddy_answers_in_the_services_shape_where_the_service_does_not(caddy: Caddy, host: Host) -> None:
    host.answer = b""  # it reads the request and breaks off
    status, headers, body = caddy.call(f"POST /api/projects HTTP/1.1\nHost: localhost:{caddy.port}\nContent-Length: 0")
    assert (status, headers["content-type"], headers["retry-after"]) == (503, "application/problem+json", "1")
    assert b'"code":"unavailable"' in body
    assert len(host.requests) == 1  # a write is never sent twice
    host.answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nConnection: close\r\n\r\nown"
    assert caddy.call(f"GET /api/projects/9 HTTP/1.1\nHost: localhost:{caddy.port}")[2] == b"own"
