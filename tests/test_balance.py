"""Connections are shared evenly among the processes, and a process that hangs keeps nobody waiting."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest

from directory import balance
from directory.balance import BalancingWorker
from tests.conftest import ENVIRONMENT, Database
from tests.serving import Serving, serving

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
CALLERS = 24


@pytest.fixture
def server(database: Database, tmp_path: Path) -> Iterator[Serving]:
    settings = {**ENVIRONMENT, "DATABASE_URL": database.url, "WEB_CONCURRENCY": "3", "RATELIMIT_ENABLED": "false"}
    with serving(settings, tmp_path / "log") as served:
        while sum(worker.num_threads() > 1 for worker in served.children()) < 3:
            time.sleep(0.05)
        time.sleep(1)  # from its threads to its first turn
        yield served


def kept_open(server: Serving, stack: ExitStack, number: int) -> None:
    """So many callers who are answered and stay."""
    callers = [stack.enter_context(closing(called(server))) for _ in range(number)]
    for caller in callers:
        assert caller.recv(15) == b"HTTP/1.1 200 OK"


def called(server: Serving) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(HEALTH)
    return connection


def shares(server: Serving) -> list[int]:
    """How many connections each process has."""
    return sorted(
        len([c for c in worker.net_connections("tcp4") if c.raddr and c.laddr.port == server.port])
        for worker in server.children()
    )


def test_every_process_gets_its_share(server: Serving) -> None:
    got: list[list[int]] = []
    while not got or (got[-1][0] < CALLERS / 6 and len(got) < 5):  # the machine may be doing other things
        with ExitStack() as stack:
            kept_open(server, stack, CALLERS)
            got.append(shares(server))
        time.sleep(1)
    assert sum(got[-1]) >= CALLERS
    assert got[-1][0] >= CALLERS / 6, got  # half of what is fair


def test_a_process_yields_until_another_has_taken_a_connection_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "YIELD", 60)
    worker = BalancingWorker.__new__(BalancingWorker)
    vars(worker).update(alive=True, age=1, nr_conns=1, sockets=[], _accepting=True, _owed=False, _resume=0.0)
    balance._held[2] = 1  # none, and one more
    try:
        worker.accept(None)
        worker.set_accept_enabled(True)
        assert not worker._accepting
        balance._held[2] = 2
        worker.set_accept_enabled(True)
        assert worker._accepting
    finally:
        balance.forget(2)


def test_nobody_waits_for_a_process_that_hangs_or_has_been_killed(server: Serving) -> None:
    hanging, killed, _ = server.children()
    hanging.suspend()
    try:
        with ExitStack() as stack:
            kept_open(server, stack, CALLERS)
            killed.send_signal(signal.SIGKILL)
            kept_open(server, stack, CALLERS)
    finally:
        hanging.resume()


def test_a_process_that_may_open_no_more_files_lives_on_and_takes_callers_again(
    database: Database, tmp_path: Path
) -> None:
    settings = {**ENVIRONMENT, "DATABASE_URL": database.url, "RATELIMIT_ENABLED": "false"}
    with serving(settings, tmp_path / "log") as served:
        [worker] = served.children()
        _, most = worker.rlimit(psutil.RLIMIT_NOFILE)
        worker.rlimit(psutil.RLIMIT_NOFILE, (worker.num_fds() + CALLERS, most))
        with ExitStack() as stack:
            for _ in range(2 * CALLERS):
                stack.enter_context(closing(called(served)))
            time.sleep(1)
        until_answered(served, CALLERS // 2)
        assert served.children() == [worker]


def until_answered(server: Serving, number: int) -> None:
    """Until so many callers at once are answered: those of before are closed within some seconds."""
    give_up = time.monotonic() + 30
    while True:
        try:
            with ExitStack() as stack:
                return kept_open(server, stack, number)
        except (AssertionError, OSError):
            assert time.monotonic() < give_up
            time.sleep(0.5)
