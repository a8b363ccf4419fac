"""The service's promises hold for two hosts behind nginx as it is shipped."""

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import pytest

from tests.support import servers
from tests.support.factories import PASSWORD
from tests.support.proxy import TLS, nginx_there
from tests.support.site import Site

__all__ = ["nginx_there"]
pytestmark = [pytest.mark.postgresql, pytest.mark.redis, pytest.mark.slow]

MANY = "100000 per minute"
SLOW = 100  # callers of each kind; two hosts have 16 threads together


@pytest.fixture(scope="module")
def site(nginx_there: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with servers.or_skip():
        url = servers.url_of(servers.DATABASE)
        servers.url_of(servers.REDIS)
    with Site(tmp_path_factory.mktemp("site"), url, RATELIMIT_VOTING=MANY, RATELIMIT_WRITE=MANY) as running:
        yield running


def signed_in(site: Site, address: str) -> dict[str, str]:
    """The headers of a new user's browser."""
    user = site.world.user()
    answer = site.call("POST", "/api/auth/login", {"login": user.username, "password": PASSWORD}, address=address)
    assert answer.status == 200
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0], "Sec_Fetch_Site": "same-origin"}


def by_both(site: Site, ids: list[str]) -> bool:
    """Whether each host answered some of the requests, and together each of them once."""
    shares = [sum(site.served(number)[each] for each in ids) for number in range(2)]
    return min(shares) > 0 and sum(shares) == len(ids)


def test_a_session_holds_on_both_hosts_and_ends_on_both(site: Site) -> None:
    browser, ids = signed_in(site, "127.0.0.2"), [uuid4().hex for _ in range(10)]
    me = [site.call("GET", "/api/auth/me", X_Request_ID=each, **browser).status for each in ids]
    assert me == [200] * 10
    assert by_both(site, ids)
    assert site.call("POST", "/api/auth/logout", **browser).status == 204
    assert [site.call("GET", "/api/auth/me", **browser).status for _ in range(6)] == [401] * 6


def test_a_vote_on_one_host_is_seen_on_the_other(site: Site) -> None:
    project, browser, ids = site.world.project(), signed_in(site, "127.0.0.2"), [uuid4().hex for _ in range(10)]
    for number, each in enumerate(ids):
        voted = site.call("POST", f"/api/projects/{project}/upvote", X_Request_ID=each, **browser).json
        assert voted == {"project_id": project, "upvoted": number % 2 == 0, "upvotes": 1 - number % 2}
        assert [site.call("GET", f"/api/projects/{project}").json["upvotes"] for _ in range(2)] == [1 - number % 2] * 2
    assert by_both(site, ids)


def test_a_limit_counts_on_both_hosts_by_the_real_address(site: Site) -> None:
    def guess(number: int, address: str) -> Any:
        body = {"login": f"nobody{number}", "password": "x"}
        forged = f"203.0.113.{number}, 198.51.100.{number}"
        return site.call("POST", "/api/auth/login", body, address=address, X_Forwarded_For=forged).status

    assert [guess(number, "127.0.0.3") for number in range(12)] == [401] * 10 + [429] * 2
    assert guess(99, "127.0.0.4") == 401


def test_a_session_of_tls_is_for_tls_alone(site: Site) -> None:
    user = site.world.user()
    answer = site.call("POST", "/api/auth/login", {"login": user.username, "password": PASSWORD}, address="127.0.0.5")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-")
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert answer.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    connection = http.client.HTTPConnection("127.0.0.1", site.nginx.plain_port, timeout=30)
    connection.request("POST", "/api/auth/login?x=1", headers={"Host": "directory.example.com"})
    moved = connection.getresponse()
    assert (moved.status, moved.getheader("Location")) == (308, "https://directory.example.com/api/auth/login?x=1")
    connection.close()


def test_a_page_of_another_site_causes_no_write_through_nginx_either(site: Site) -> None:
    browser, project = signed_in(site, "127.0.0.6"), site.world.project()
    del browser["Sec_Fetch_Site"]
    own = f"https://localhost:{site.nginx.port}"
    path = f"/api/projects/{project}/upvote"
    assert (
        site.call("PUT", path, Origin="https://evil.example", X_Forwarded_Host="evil.example", **browser).status == 403
    )
    assert site.call("PUT", path, Origin=own, **browser).status == 200


def test_the_hosts_themselves_serve_metrics_and_probes(site: Site) -> None:
    for path in ("/readyz", "/metrics"):
        assert site.call("GET", path).status == 404
        assert [host.request("GET", path) for host in site.hosts] == [200, 200]


def test_nginx_caches_the_openapi_document_without_request_ids_and_credentials(site: Site) -> None:
    ids = [uuid4().hex for _ in range(4)]
    answers = [site.call("GET", "/api/openapi.json", X_Request_ID=each) for each in ids]
    assert [answer.headers["x-request-id"] for answer in answers] == ids
    assert len({answer.body for answer in answers}) == 1
    assert sum(site.served(number)[each] for each in ids for number in range(2)) == 1
    tag = answers[0].headers["etag"]
    assert site.call("GET", "/api/openapi.json", If_None_Match=tag).status == 304
    assert site.call("GET", "/api/openapi.json", Authorization="Bearer nonsense").status == 401
    assert site.call("GET", "/api/openapi.json?x=1").status == 422
    assert site.call("GET", "/api/docs").headers["content-type"] == "text/html; charset=utf-8"


class Load(threading.Thread):
    """A user who votes and reads without a pause, over one connection; `answers` by the id of the request."""

    def __init__(self, site: Site, stopping: threading.Event) -> None:
        super().__init__(daemon=True)
        self.answers: dict[str, Any] = {}
        self.toggles = 0
        self._port, self._stopping = site.nginx.port, stopping
        user = site.world.user()
        self.project, self._token = site.world.project(user), site.world.caller(user).token

    def run(self) -> None:
        own = f"/api/projects/{self.project}"
        connection = http.client.HTTPSConnection("localhost", self._port, timeout=30, context=TLS)
        while not self._stopping.is_set():
            for method, path in (("POST", f"{own}/upvote"), ("GET", "/api/projects"), ("PUT", own), ("GET", own)):
                self._ask(connection, method, path)
            self.toggles += 1
        connection.close()

    def _ask(self, connection: http.client.HTTPSConnection, method: str, path: str) -> None:
        request_id = f"{method}-{uuid4().hex}"
        headers = {"Authorization": f"Bearer {self._token}", "X-Request-ID": request_id}
        headers["Content-Type"] = "application/json"
        body = json.dumps({"tagline": request_id}) if method == "PUT" else None
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            self.answers[request_id] = answer.status
        except (OSError, http.client.HTTPException) as error:
            self.answers[request_id] = repr(error)
            connection.close()


@contextmanager
def idle(port: int) -> Iterator[None]:
    """An idle keep-alive connection, which a host that is stopped waits for."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    yield
    connection.close()


@pytest.mark.faults
@pytest.mark.our_worker("shutdown")
def test_restarting_one_host_after_the_other_loses_no_request_and_does_none_twice(site: Site) -> None:
    stopping = threading.Event()
    loads = [Load(site, stopping) for _ in range(2)]
    for load in loads:
        load.start()
    for number in range(2):
        time.sleep(1.5)  # nginx looks for a host that was away once a second
        with idle(site.hosts[number].port):
            site.stop(number)
        site.start_again(number)
    time.sleep(1.5)
    stopping.set()
    for load in loads:
        load.join(60)
    answers = {key: status for load in loads for key, status in load.answers.items()}
    assert {key: status for key, status in answers.items() if status != 200} == {}
    assert len(answers) > 100
    done = site.served(0) + site.served(1)
    assert {key: done[key] for key in answers if not key.startswith("GET") and done[key] != 1} == {}
    for load in loads:
        assert site.world.stored(load.project)["upvotes"] == load.toggles % 2


@pytest.mark.faults
def test_unfinished_requests_delay_no_other_caller(site: Site) -> None:
    unfinished = [b"GET /api/projects HTTP/1.1\r\nHost: localhost\r\nX-Slow:", body(b'{"login": "')]
    with ExitStack() as open_ones:
        for sent in unfinished * SLOW:
            tcp = open_ones.enter_context(socket.create_connection(("127.0.0.1", site.nginx.port), timeout=30))
            open_ones.enter_context(tls(tcp)).sendall(sent)
        statuses = [site.call("GET", "/api/projects").status for _ in range(50)]
        assert statuses == [200] * 50
        seconds = timed(site)
    assert seconds < 5


def body(begun: bytes) -> bytes:
    """A login of 60 bytes that goes no further than it has begun."""
    head = b"POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head + b"Content-Length: 60\r\n\r\n" + begun


def tls(tcp: socket.socket) -> ssl.SSLSocket:
    return TLS.wrap_socket(tcp, server_hostname="localhost")


def timed(site: Site) -> float:
    """How long a write takes."""
    began = time.monotonic()
    login = {"login": "nobody", "password": "x"}
    assert site.call("POST", "/api/auth/login", login, address="127.0.0.7").status == 401
    return time.monotonic() - began
