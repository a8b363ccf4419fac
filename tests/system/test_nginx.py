"""nginx as it is configured in deploy/, before scripted hosts: what it sends on, to which host, and how often."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import pytest

from directory.http.headers import SECURITY
from directory.http.request_body import BODY_MAX, PICTURE_MAX, UPLOAD_MAX
from tests.support.processes import free_port
from tests.support.proxy import Answer, Nginx, call, nginx_there

__all__ = ["nginx_there"]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nX-Request-ID: other\r\n\r\nok"


class Host:
    """Takes whole requests and answers each with the same bytes; none are a connection that is cut off."""

    def __init__(self, answer: bytes = OK, port: int = 0) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        # A thread that waits in accept() holds the socket open; this ends its waiting.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    self.requests.append(_whole(connection))
                    connection.sendall(self.answer)


def _whole(connection: socket.socket) -> bytes:
    """A request and its body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def before(nginx_there: None) -> Iterator[Callable[..., Nginx]]:
    """Starts nginx before two ports."""
    with ExitStack() as started:
        yield lambda *hosts: started.enter_context(closing(Nginx(hosts)))


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    both = Host(), Host()
    yield both
    for host in both:
        host.close()


def header(request: bytes, name: str) -> str | None:
    """A header of a request that was sent on; it may be there once."""
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    found = [value.strip() for key, _, value in (line.partition(":") for line in lines) if key.lower() == name.lower()]
    assert len(found) < 2
    return found[0] if found else None


def is_problem(answer: Answer, status: int, code: str) -> bool:
    """Whether nginx refused in the form of the service, with its headers of security."""
    said = answer.json
    request_id = answer.headers["x-request-id"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert {name: answer.headers[name.lower()] for name in SECURITY} == SECURITY
    assert "strict-transport-security" not in answer.headers  # only the service knows HSTS_SUBDOMAINS
    assert said.keys() == {"type", "title", "status", "detail", "code", "request_id"}
    assert (said["status"], said["type"], said["request_id"]) == (status, f"/api/problems/{code}", request_id)
    return (answer.status, said["code"]) == (status, code)


def test_the_hosts_get_the_real_address_and_not_the_one_that_the_caller_sends(before: Any, hosts: Any) -> None:
    port = before(hosts[0].port, hosts[1].port).port
    forged = {"X_Forwarded_For": "6.6.6.6", "X_Forwarded_Proto": "http", "X_Forwarded_Host": "evil.example"}
    for _ in range(2):
        assert call(port, "GET", "/api/projects", address="127.0.0.9", **forged).status == 200
    for host in hosts:
        [request] = host.requests
        assert header(request, "X-Forwarded-For") == "127.0.0.9"
        assert header(request, "X-Forwarded-Proto") == "https"
        assert header(request, "X-Forwarded-Host") == header(request, "Host") == f"localhost:{port}"


@pytest.mark.parametrize("given", [None, "mine-1.x", "x" * 65, "a b", "<script>"])
def test_an_answer_has_the_id_that_the_host_was_given(before: Any, hosts: Any, given: str | None) -> None:
    port = before(hosts[0].port, hosts[1].port).port
    answer = call(port, "GET", "/", **({"X_Request_ID": given} if given else {}))
    [request] = hosts[0].requests + hosts[1].requests
    assert answer.headers["x-request-id"] == header(request, "X-Request-ID")
    assert (answer.headers["x-request-id"] == given) == (given == "mine-1.x")
    assert len(answer.headers["x-request-id"]) in {8, 32}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_host_that_is_down_is_passed_over(before: Any, hosts: Any, method: str) -> None:
    port = before(free_port(), hosts[0].port).port
    body = None if method == "GET" else {"a": 1}
    assert [call(port, method, "/api/projects/1", body).status for _ in range(4)] == [200] * 4
    assert len(hosts[0].requests) == 4
    assert all(request.endswith(b'{"a": 1}') for request in hosts[0].requests if body)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_read_that_broke_off_is_sent_to_the_other_host(before: Any, hosts: Any, method: str) -> None:
    hosts[0].answer = b""
    port = before(hosts[0].port, hosts[1].port).port
    assert [call(port, method, "/api/projects").status for _ in range(2)] == [200] * 2
    assert len(hosts[0].requests) == 1
    assert len(hosts[1].requests) == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_that_was_sent_is_never_sent_again(before: Any, hosts: Any, method: str) -> None:
    for host in hosts:
        host.answer = b""
    answer = call(before(hosts[0].port, hosts[1].port).port, method, "/api/projects/1", {"a": 1})
    assert is_problem(answer, 503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert len(hosts[0].requests + hosts[1].requests) == 1


def test_where_no_host_answers_nginx_answers_in_the_services_shape(before: Any) -> None:
    port = before(free_port(), free_port()).port
    for method in ("GET", "POST", "PUT"):
        answer = call(port, method, "/api/projects", X_Request_ID="mine")
        assert is_problem(answer, 503, "unavailable")
        assert (answer.headers["x-request-id"], answer.headers["retry-after"]) == ("mine", "1")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_host_that_is_back_is_asked_at_once_where_the_other_is_away(before: Any, number: int, method: str) -> None:
    ports = free_port(), free_port()
    nginx = before(*ports)
    assert [call(nginx.port, "GET", "/api/projects").status for _ in range(4)] == [503] * 4
    with closing(Host(port=ports[number])) as back:
        assert call(nginx.port, method, "/api/projects/1").status == 200
        assert len(back.requests) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_that_broke_off_at_the_second_host_is_not_sent_again_either(
    before: Any, hosts: Any, method: str
) -> None:
    hosts[0].answer = b""
    port = before(free_port(), hosts[0].port).port
    answers = [call(port, method, "/api/projects/1", {"a": 1}) for _ in range(4)]
    assert all(is_problem(answer, 503, "unavailable") for answer in answers)
    assert len(hosts[0].requests) == 4


def test_a_read_that_breaks_off_everywhere_is_tried_three_times(before: Any, hosts: Any) -> None:
    for host in hosts:
        host.answer = b""
    assert is_problem(call(before(hosts[0].port, hosts[1].port).port, "GET", "/api/projects"), 503, "unavailable")
    assert len(hosts[0].requests + hosts[1].requests) == 3


def test_an_error_of_the_service_passes_unchanged(before: Any, hosts: Any) -> None:
    for host in hosts:
        host.answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 3\r\nRetry-After: 7\r\n\r\nown"
    answer = call(before(hosts[0].port, hosts[1].port).port, "GET", "/")
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (503, b"own", "7")


def test_the_bound_of_bodies_is_the_service_s_own(before: Any, hosts: Any) -> None:
    port = before(hosts[0].port, hosts[1].port).port
    assert call(port, "POST", "/api/projects", b"x" * BODY_MAX).status == 200
    assert is_problem(call(port, "POST", "/api/projects", b"x" * (BODY_MAX + 1)), 413, "too_large")
    assert call(port, "PUT", "/api/projects/1/logo", b"x" * UPLOAD_MAX).status == 200
    assert is_problem(call(port, "PUT", "/api/projects/1/logo", b"x" * (UPLOAD_MAX + 1)), 413, "too_large")
    assert call(port, "POST", "/api/projects/1/pictures", b"x" * PICTURE_MAX).status == 200
    assert is_problem(call(port, "POST", "/api/projects/1/pictures", b"x" * (PICTURE_MAX + 1)), 413, "too_large")
    assert call(port, "POST", "/mine/1/pictures", b"x" * (PICTURE_MAX + UPLOAD_MAX)).status == 200
    assert len(hosts[0].requests + hosts[1].requests) == 4


def test_the_bound_of_bodies_holds_for_chunked_ones(before: Any, hosts: Any) -> None:
    nginx = before(hosts[0].port, hosts[1].port)
    answers = [chunked(nginx.port, size) for size in (BODY_MAX, BODY_MAX + 1)]
    assert answers[0].status == 200
    assert is_problem(answers[1], 413, "too_large")
    assert [header(request, "Content-Length") for host in hosts for request in host.requests] == [str(BODY_MAX)]


def chunked(port: int, size: int) -> Answer:
    return call(port, "POST", "/api/projects", iter([b"x" * size]), Content_Type="application/json")


@pytest.mark.parametrize("path", ["/metrics", "/readyz", "//metrics", "/readyz?x=1", "/%6detrics", "/api/../readyz"])
def test_metrics_and_probes_are_not_reachable_from_outside(before: Any, hosts: Any, path: str) -> None:
    assert is_problem(call(before(hosts[0].port, hosts[1].port).port, "GET", path), 404, "not_found")
    assert hosts[0].requests + hosts[1].requests == []
