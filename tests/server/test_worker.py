"""How a server ends: what is being answered is finished, clients that wait are let in, later ones are refused."""

import os
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger

from directory.server.worker import Worker
from tests.conftest import ENVIRONMENT, migrate
from tests.support.serving import Serving, serving
from tests.support.waiting import until

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
    assert server.process.poll() is None, "it waits for the request that it answers"
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
    [worker] = server.workers()
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


class Running:
    """A worker in a thread of this process, with the settings that are given, over an application that echoes."""

    def __init__(self, **settings: Any) -> None:
        config = Config()
        for name, value in {"workers": 1, "threads": 2, **settings}.items():
            config.set(name, value)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.worker: Any = Worker(1, os.getppid(), [self.listener], None, 30, config, Logger(config))
        self.worker.wsgi, self.worker.handles_signals = self.answer, False
        self.clients: list[socket.socket] = []
        self.fails: BaseException | None = None
        self.size, self.asked, self.goes_on = 2, 0, threading.Event()
        self.goes_on.set()
        self.thread = threading.Thread(target=self.worker.run)
        self.thread.start()

    def answer(self, environ: Any, start: Any) -> list[bytes]:
        if self.fails:
            raise self.fails
        self.asked += 1
        if environ["PATH_INFO"] == "/waits":
            self.goes_on.wait(30)
        start("200 OK", [("Content-Length", str(self.size))])
        return [b"ok".ljust(self.size)]

    def connect(self, sent: bytes) -> socket.socket:
        """A client that has sent so much."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        self.clients.append(client)
        client.sendall(sent)
        return client

    def ask(self, sent: bytes, client: socket.socket | None = None) -> tuple[socket.socket, bytes]:
        """A client and the answer to what it has sent."""
        if client is None:
            client = self.connect(sent)
        else:
            client.sendall(sent)
        told = b""
        while b"\r\n\r\nok" not in told and b'"}' not in told:
            received = client.recv(9999)
            assert received, told
            told += received
        return client, told

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.worker.alive = False
        self.thread.join(30)
        self.worker.tmp.close()
        self.listener.close()


@pytest.fixture
def make_worker() -> Iterator[Callable[..., Running]]:
    workers: list[Running] = []

    def make(**settings: Any) -> Running:
        workers.append(Running(**settings))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close()


def test_a_connection_stays_open_for_further_requests(make_worker: Callable[..., Running]) -> None:
    running = make_worker()
    client, told = running.ask(HEALTH)
    assert told.endswith(b"Connection: keep-alive\r\nContent-Length: 2\r\n\r\nok")
    client.sendall(HEALTH[:20])
    assert running.ask(HEALTH[20:], client)[1].endswith(b"ok")
    assert running.worker.nr == 2


def test_the_last_request_that_a_worker_serves_ends_the_worker(make_worker: Callable[..., Running]) -> None:
    running = make_worker(max_requests=2)
    assert b"keep-alive" in running.ask(HEALTH)[1]
    assert b"ok" in running.ask(HEALTH)[1]
    running.thread.join(20)
    assert not running.thread.is_alive()


def test_a_worker_takes_no_more_connections_than_it_may(make_worker: Callable[..., Running]) -> None:
    """While the clients of all of them wait for their responses."""
    running = make_worker(worker_connections=2)
    running.goes_on.clear()
    busy = [running.connect(HEALTH.replace(b"healthz", b"waits")) for _ in range(2)]
    late = running.connect(HEALTH)
    late.settimeout(0.6)
    with pytest.raises(TimeoutError):
        late.recv(1)
    running.goes_on.set()
    for client in (*busy, late):
        client.settimeout(20)
        assert client.recv(99).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("kind", ["nothing", "half a head", "half a body", "takes no answer", "answered", "refused"])
def test_clients_that_wait_make_room_for_others(make_worker: Callable[..., Running], kind: str) -> None:
    """The oldest first, so that the newest has its time; whoever is being answered is not cut off."""
    running = make_worker(worker_connections=20, threads=3, keepalive=30)
    running.goes_on.clear()
    busy = running.connect(HEALTH.replace(b"healthz", b"waits"))
    until(lambda: running.asked)
    running.size = 2**22 if kind == "takes no answer" else 2
    sent = {
        "nothing": b"", "half a head": HEALTH[:20], "half a body": LOGIN + b"{", "refused": b"no request\r\n\r\n",
    }.get(kind, HEALTH)  # fmt: skip
    for _ in range(60):
        running.connect(sent)
    late = running.connect(b"")
    running.size = 2
    assert running.ask(HEALTH, late)[1].startswith(b"HTTP/1.1 200 OK")
    running.goes_on.set()
    assert running.ask(b"", busy)[1].startswith(b"HTTP/1.1 200 OK")
    assert len(running.worker._dispatcher.connections) <= 20


def test_the_system_takes_little_of_a_response_before_its_client_does(make_worker: Callable[..., Running]) -> None:
    running = make_worker()
    running.ask(HEALTH)  # connections that come before the worker has begun have the system's own buffer
    running.size = 2**23
    running.connect(HEALTH)
    until(lambda: running.worker._dispatcher.held)
    assert running.size - running.worker._dispatcher.held < 2**20


def test_a_worker_that_runs_out_of_files_recovers(make_worker: Callable[..., Running], monkeypatch: Any) -> None:
    running = make_worker()
    running.ask(HEALTH)
    failures = [OSError(24, "too many"), OSError(103, "gone")]

    class Failing:
        def __init__(self, listener: socket.socket) -> None:
            self.accept, self.fileno = listener.accept, listener.fileno

    real = running.worker._accept

    def accept(listener: socket.socket) -> bool:
        if failures:
            failing: Any = Failing(listener)
            error = failures.pop(0)
            failing.accept = lambda: (_ for _ in ()).throw(error)
            return bool(real(failing))
        return bool(real(listener))

    renewed = threading.Event()

    def renew() -> None:
        running.worker._set_accepting(False)
        running.worker._set_accepting(True)
        renewed.set()

    monkeypatch.setattr(running.worker, "_accept", accept)
    running.worker._loop.call_soon_threadsafe(renew)
    assert renewed.wait(30)
    assert running.ask(HEALTH)[1].endswith(b"ok")
    assert failures == []


def test_what_escapes_the_application_is_a_problem_and_the_end_of_the_connection(
    make_worker: Callable[..., Running],
) -> None:
    running = make_worker()
    running.fails = ZeroDivisionError()
    told = running.ask(HEALTH)[1]
    assert told.startswith(b"HTTP/1.1 500 INTERNAL SERVER ERROR\r\n")
    assert b"Connection: close" in told
    assert b"application/problem+json" in told


@pytest.mark.parametrize("settings", [{"certfile": "x", "keyfile": "y"}, {"proxy_protocol": "v1"}])
def test_what_this_worker_does_not_have_it_says(settings: dict[str, Any]) -> None:
    config = Config()
    for name, value in settings.items():
        config.settings[name].value = value
    worker = Worker(1, os.getppid(), [], None, 30, config, Logger(config))
    with pytest.raises(RuntimeError, match="SERVER_WORKER=gthread"):
        worker.run()
    worker.tmp.close()


def test_a_worker_that_is_to_end_answers_what_has_come(make_worker: Callable[..., Running]) -> None:
    running = make_worker()
    client = socket.create_connection(("127.0.0.1", running.port), timeout=20)
    running.clients.append(client)
    client.sendall(HEALTH)
    running.worker.alive = False
    told = b"".join(iter(lambda: client.recv(9999), b""))
    assert told.endswith(b"ok")


def test_a_worker_whose_parent_is_gone_ends(make_worker: Callable[..., Running], monkeypatch: Any) -> None:
    running = make_worker()
    running.worker.ppid = 0
    running.thread.join(20)
    assert not running.thread.is_alive()
