"""Connections are shared evenly among the processes, and a process that hangs keeps nobody waiting."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest
from gunicorn.workers.gthread import ThreadWorker

from directory.server import connections as balance
from directory.server.connections import BalancingWorker
from tests.conftest import ENVIRONMENT, Database
from tests.support.serving import Serving, serving

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
    vars(worker).update(alive=True, age=1, nr_conns=1, sockets=[], _accepting=True, _owed=0, _resume=0.0)
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


def test_who_yields_in_vain_takes_twice_as_many_each_time_until_another_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "YIELD", 60)
    worker, waiting, taken = BalancingWorker.__new__(BalancingWorker), 100, []
    vars(worker).update(
        alive=True, age=1, nr_conns=1, sockets=[], _accepting=True, _owed=0, _resume=0.0, worker_connections=61
    )

    def accept(self: BalancingWorker, _listener: object) -> None:
        nonlocal waiting
        self.nr_conns, waiting = self.nr_conns + min(waiting, 1), max(waiting - 1, 0)

    def turn(*, in_vain: bool) -> int:
        before, worker._resume = worker.nr_conns, 0.0 if in_vain else worker._resume
        worker._accepting = True
        worker.accept(None)
        taken.append(worker.nr_conns - before)
        return taken[-1]

    monkeypatch.setattr(ThreadWorker, "accept", accept)
    balance._held[2] = 1  # none, and one more
    try:
        assert [turn(in_vain=True) for _ in range(7)] == [0, 1, 2, 4, 8, 16, 16]
        balance._held[2] = 80
        assert turn(in_vain=False) == 61 - 48, "no more than there is room for"
        balance._held[2], worker.nr_conns, worker._owed = 1, 2, 16
        assert turn(in_vain=False) == 0, "another has come: it is to have its share again"
        assert turn(in_vain=True) == 1
        balance._held[2], waiting = 80, 3
        assert turn(in_vain=False) == 3
        assert not worker._owed
    finally:
        balance.forget(1)
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
