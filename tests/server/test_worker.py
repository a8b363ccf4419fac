"""How a server ends: what is in hand is finished, who waits is let in, and who comes later is turned away at once."""

import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

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


def test_one_that_ends_finishes_what_is_in_hand_and_refuses_the_next(server: Serving) -> None:
    kept, slow = called(server, HEALTH), called(server, LOGIN)
    assert kept.recv(15) == b"HTTP/1.1 200 OK"
    server.process.send_signal(signal.SIGTERM)
    wait_until_refused(server)
    assert server.process.poll() is None, "it waits for the request in hand"
    slow.sendall(b"{}")
    assert status(slow) == b"422"
    kept.close()
    assert server.process.wait(20) == 0


def test_callers_who_say_nothing_hold_no_thread(server: Serving) -> None:
    with ExitStack() as silent:
        for _ in range(SILENT):
            silent.enter_context(closing(called(server, b"")))
        caller = called(server, LOGIN + b"{}")
        caller.settimeout(10)
        assert status(caller) == b"422"


def test_who_was_admitted_before_the_end_is_answered(server: Serving) -> None:
    [worker] = server.children()
    worker.suspend()
    callers = [called(server, HEALTH) for _ in range(WAITING)]
    server.process.send_signal(signal.SIGTERM)
    worker.send_signal(signal.SIGTERM)
    worker.resume()
    assert [status(caller) for caller in callers] == [b"200"] * WAITING
    assert server.process.wait(20) == 0


def test_one_that_has_ended_leaves_one_file(server: Serving, tmp_path: Path) -> None:
    account = b'{"username": "walter", "email": "w@example.org", "password": "a long enough one"}'
    head = LOGIN.replace(b"login", b"register").replace(b"Length: 2", b"Length: %d" % len(account))
    assert status(called(server, head + account)) == b"201"
    server.stop()
    assert [path.name for path in tmp_path.glob("x.db*")] == ["x.db"]
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        assert connection.execute("SELECT username FROM users").fetchall() == [("walter",)]
