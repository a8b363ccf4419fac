"""How a server ends: what is in hand is finished, clients that wait are let in, later ones are refused at once."""

import os
import selectors
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import gunicorn
import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

from directory.server import TESTED, is_tested, worker_class
from directory.server.worker import Worker
from tests.conftest import ENVIRONMENT, migrate
from tests.support.serving import Serving, serving

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LOGIN = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
WAITING = 20
SILENT = 40  # five times the threads


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    """A server of one process."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    migrate(url)
    with serving({**ENVIRONMENT, "DATABASE_URL": url}, tmp_path / "log") as served:
        yield served


def called(server: Serving, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall(sent)
    return connection


def status(connection: socket.socket) -> bytes:
    """The answer's status; nothing where the connection was cut off."""
    with closing(connection):
        return connection.makefile("rb").readline().partition(b" ")[2][:3]


def wait_until_refused(server: Serving) -> float:
    """Seconds until a new connection is refused; one that hangs fails the test."""
    began = time.monotonic()
    while time.monotonic() - began < 20:
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.sendall(HEALTH)
                assert connection.recv(1), "let in and cut off"
        except ConnectionRefusedError:
            return time.monotonic() - began
        time.sleep(0.01)
    raise AssertionError("a server that ends still takes callers")


@pytest.mark.our_worker("shutdown")
def test_a_server_that_shuts_down_finishes_requests_in_progress_and_refuses_new_ones(server: Serving) -> None:
    idle, slow = called(server, HEALTH), called(server, LOGIN)
    assert idle.recv(15) == b"HTTP/1.1 200 OK"
    server.process.send_signal(signal.SIGTERM)
    wait_until_refused(server)
    assert server.process.poll() is None, "it waits for the request in hand"
    slow.sendall(b"{}")
    assert status(slow) == b"422"
    idle.close()
    assert server.process.wait(20) == 0


@pytest.mark.our_worker("slow clients")
def test_clients_that_say_nothing_or_half_of_it_hold_no_thread(server: Serving) -> None:
    with ExitStack() as silent:
        for _ in range(SILENT):
            for sent in (b"", HEALTH[:20], LOGIN + b"{"):
                silent.enter_context(closing(called(server, sent)))
        caller = called(server, LOGIN + b"{}")
        caller.settimeout(10)
        assert status(caller) == b"422"


@pytest.mark.our_worker("shutdown")
def test_a_connection_accepted_before_the_shutdown_is_answered(server: Serving) -> None:
    [worker] = server.children()
    worker.suspend()
    callers = [called(server, HEALTH) for _ in range(WAITING)]
    server.process.send_signal(signal.SIGTERM)
    worker.send_signal(signal.SIGTERM)
    worker.resume()
    assert [status(caller) for caller in callers] == [b"200"] * WAITING
    assert server.process.wait(20) == 0


def test_a_server_that_has_ended_leaves_one_file(server: Serving, tmp_path: Path) -> None:
    account = b'{"username": "walter", "email": "w@example.org", "password": "a long enough one"}'
    head = LOGIN.replace(b"login", b"register").replace(b"Length: 2", b"Length: %d" % len(account))
    assert status(called(server, head + account)) == b"201"
    server.stop()
    assert [path.name for path in tmp_path.glob("x.db*")] == ["x.db"]
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        assert connection.execute("SELECT username FROM users").fetchall() == [("walter",)]


class Loop:
    """A worker in this process, with the settings that are given, over an application that echoes."""

    def __init__(self, **settings: Any) -> None:
        config = Config()
        for name, value in {"workers": 1, "threads": 2, "secure_scheme_headers": {}, **settings}.items():
            config.set(name, value)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.worker: Any = Worker(1, os.getppid(), [self.listener], None, 30, config, Logger(config))
        self.worker.wsgi, self.worker.poller = self.answer, selectors.DefaultSelector()
        self.worker.method_queue.init()
        self.worker.prepare()
        self.worker.acceptor.adjust()
        queue = self.worker.method_queue
        self.worker.poller.register(queue.fileno(), selectors.EVENT_READ, queue.run_callbacks)
        self.clients: list[socket.socket] = []
        self.fails: BaseException | None = None

    def answer(self, environ: Any, start: Any) -> list[bytes]:
        if self.fails:
            raise self.fails
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    def ask(self, sent: bytes, client: socket.socket | None = None) -> tuple[socket.socket, bytes]:
        """A client and the answer to what it has sent."""
        if client is None:
            client = socket.create_connection(("127.0.0.1", self.port))
            self.clients.append(client)
        client.setblocking(False)
        client.sendall(sent)
        told, give_up = b"", time.monotonic() + 30
        while b"\r\n\r\n" not in told:
            assert time.monotonic() < give_up
            self.worker.iterate(0.01)
            with suppress(BlockingIOError):
                told += client.recv(9999)
        return client, told

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.worker.connections.close_all()
        self.worker.poller.close()
        self.worker.method_queue.close()
        self.worker.tmp.close()
        self.listener.close()


@pytest.fixture
def make_loop() -> Iterator[Callable[..., Loop]]:
    loops: list[Loop] = []

    def make(**settings: Any) -> Loop:
        loops.append(Loop(**settings))
        return loops[-1]

    yield make
    for loop in loops:
        loop.close()


def test_a_connection_stays_open_and_gunicorn_answers_over_it(make_loop: Callable[..., Loop]) -> None:
    loop = make_loop()
    client, told = loop.ask(HEALTH)
    assert told.endswith(b"Connection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
    assert loop.ask(HEALTH[:20] + HEALTH[20:], client)[1].endswith(b"ok")
    assert loop.worker.nr == 2


def test_the_last_request_that_a_worker_serves_ends_its_connection_and_the_worker(
    make_loop: Callable[..., Loop],
) -> None:
    loop = make_loop(max_requests=2)
    assert b"keep-alive" in loop.ask(HEALTH)[1]
    assert loop.worker.alive
    assert b"Connection: close" in loop.ask(HEALTH)[1]
    assert not loop.worker.alive


def test_with_too_many_connections_open_none_stays_open_after_its_answer(make_loop: Callable[..., Loop]) -> None:
    loop = make_loop(worker_connections=4)
    assert loop.worker.max_keepalived == 2
    assert b"keep-alive" in loop.ask(HEALTH)[1]
    assert b"Connection: close" in loop.ask(HEALTH)[1]


def test_what_escapes_the_application_is_a_500_and_the_end_of_the_connection(make_loop: Callable[..., Loop]) -> None:
    loop = make_loop()
    loop.fails = ZeroDivisionError()
    assert loop.ask(HEALTH)[1].startswith(b"HTTP/1.1 500 Internal Server Error\r\nConnection: close")


def test_a_request_that_does_not_come_in_time_is_refused_with_408(make_loop: Callable[..., Loop]) -> None:
    loop = make_loop()
    client = socket.create_connection(("127.0.0.1", loop.port))
    loop.clients.append(client)
    client.sendall(HEALTH[:20])
    while not loop.worker.connections.open or not next(iter(loop.worker.connections.open)).buffer:
        loop.worker.iterate(0.01)
    [connection] = loop.worker.connections.open
    assert 8 < connection.deadline - time.monotonic() <= 10
    connection.deadline = 0.0
    loop.worker.iterate(0.01)
    assert client.recv(9999).startswith(b"HTTP/1.1 408 Request Timeout\r\nConnection: close")


@pytest.mark.parametrize(
    "settings",
    [{"certfile": "x", "keyfile": "y"}, {"keepalive": 0}, {"proxy_protocol": "v1"}, {"http2_cleartext": "upgrade"}],
)
def test_what_only_gunicorn_can_do_it_does_in_its_own_loop(
    make_loop: Callable[..., Loop], settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    monkeypatch.setattr(ThreadWorker, "run", lambda _self: ran.append(1))
    loop = make_loop()
    for name, value in settings.items():
        loop.worker.cfg.settings[name].value = value
    loop.worker.run()
    assert ran == [1]


def test_a_worker_that_gets_sigterm_answers_what_has_begun(make_loop: Callable[..., Loop]) -> None:
    loop = make_loop()
    client = socket.create_connection(("127.0.0.1", loop.port))
    loop.clients.append(client)
    client.sendall(HEALTH)
    loop.worker.alive = False
    loop.worker._stop()
    told = client.recv(9999)
    assert b"Connection: close" in told
    assert told.endswith(b"ok")


@pytest.mark.parametrize(("wanted", "version", "serves"), [
    ("loop", TESTED[0], "directory.server.worker.Worker"), ("loop", "99.0", "gthread"),
    ("gthread", TESTED[0], "gthread"),
])  # fmt: skip
def test_only_a_gunicorn_that_was_tested_gets_our_worker(
    monkeypatch: pytest.MonkeyPatch, wanted: str, version: str, serves: str
) -> None:
    monkeypatch.setattr(gunicorn, "__version__", version)
    assert worker_class(wanted) == serves


def test_the_installed_gunicorn_was_tested() -> None:
    assert is_tested(), "run make check-worker, and add the version to directory/server/__init__.py"
