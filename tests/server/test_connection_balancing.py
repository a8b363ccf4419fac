"""Connections are shared evenly among the processes, and none waits for a process that hangs."""

import errno
import math
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from directory.server import connection_balancing
from directory.server.connection_balancing import Acceptor
from directory.server.tuning import NO_FILES_SECONDS, YIELD_LOOK_SECONDS
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


def hold_open(server: Serving, stack: ExitStack, number: int) -> None:
    """Open so many connections, each answered once, until the stack is closed."""
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


@pytest.mark.our_worker("balancing")
def test_every_process_gets_its_share(server: Serving) -> None:
    got: list[list[int]] = []
    while not got or (got[-1][0] < CALLERS / 6 and len(got) < 5):  # the machine may be doing other things
        with ExitStack() as stack:
            hold_open(server, stack, CALLERS)
            got.append(shares(server))
        time.sleep(1)
    assert sum(got[-1]) >= CALLERS
    assert got[-1][0] >= CALLERS / 6, got  # half of what is fair


class Listener:
    """A socket with so many clients in its queue."""

    def __init__(self, waiting: int) -> None:
        self.waiting, self.closed = waiting, False

    def accept(self) -> tuple[Any, Any]:
        if not self.waiting:
            raise BlockingIOError(errno.EAGAIN, "none")
        self.waiting -= 1
        return None, ("192.0.2.1", 5)

    def getsockname(self) -> tuple[str, int]:
        return "x", 80

    def setblocking(self, _blocks: bool) -> None:
        """Nothing blocks."""

    def close(self) -> None:
        self.closed = True


class Process:
    """A process that accepts, beside another that has so many connections."""

    def __init__(self, waiting: int, *, own: int = 1, other: int = 0, most: int = 61) -> None:
        self.count, self.listener, self.watched = own, Listener(waiting), False
        self.acceptor = Acceptor(
            self,
            [self.listener],
            1,
            most=most,
            count=lambda: self.count,
            take=self._take,  # type: ignore[arg-type]
        )
        self.beside(other)

    def _take(self, *_: Any) -> None:
        self.count += 1

    def beside(self, other: int) -> None:
        connection_balancing._held[2] = other + 1

    def register(self, *_: Any) -> None:
        self.watched = True

    def unregister(self, *_: Any) -> None:
        self.watched = False

    def turn(self) -> int:
        """How many connections it accepts in a turn."""
        before = self.count
        self.acceptor.adjust()
        if self.watched:
            self.acceptor.accept(self.listener)
        return self.count - before


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    yield
    for age in (1, 2):
        connection_balancing.forget(age)


def test_a_process_yields_until_another_has_taken_a_connection_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_balancing, "YIELD_SECONDS", 60)
    process = Process(9)
    assert process.turn() == 0
    assert not process.watched
    assert process.acceptor.timeout() == YIELD_LOOK_SECONDS
    process.beside(1)
    assert process.turn() == 1, "now it has no more than the other"
    assert not process.watched


def test_a_process_that_yields_in_vain_accepts_twice_as_many_each_time_until_another_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_balancing, "YIELD_SECONDS", 60)
    process = Process(100)

    def turn(*, in_vain: bool) -> int:
        if in_vain:
            process.acceptor._resume = 0.0
        return process.turn()

    assert [turn(in_vain=True) for _ in range(7)] == [0, 1, 2, 4, 8, 16, 16]
    process.beside(79)
    assert turn(in_vain=False) == 61 - 48, "no more than the limit allows"
    process.beside(0)
    process.count, process.acceptor._allowance = 2, 16
    assert turn(in_vain=False) == 0, "another has come: it is to have its share again"
    assert turn(in_vain=True) == 1
    process.beside(79)
    process.listener.waiting = 3
    assert turn(in_vain=False) == 3
    assert not process.acceptor._allowance


def test_a_process_at_its_limit_of_connections_accepts_none_until_one_is_closed() -> None:
    process = Process(9, own=3, other=9, most=4)
    assert process.turn() == 1
    assert process.turn() == 0
    assert (process.watched, process.acceptor.timeout()) == (False, math.inf)
    process.count = 2
    assert process.turn() == 2


def test_a_process_that_shuts_down_accepts_queued_connections_and_closes_its_listener() -> None:
    process = Process(9, own=5, other=0)
    process.turn()
    process.acceptor.stop()
    assert (process.count, process.listener.closed, process.watched) == (14, True, False)
    assert process.turn() == 0


def test_a_process_that_shuts_down_neither_wakes_for_the_listener_nor_has_the_others_yield_to_it() -> None:
    process = Process(0, own=2, other=8)
    process.turn()
    assert connection_balancing._held[1] == 3
    process.acceptor.stop()
    process.acceptor.adjust()
    assert (process.acceptor.timeout(), connection_balancing._held[1]) == (math.inf, 0)


def test_without_file_descriptors_a_process_pauses_and_any_other_error_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(9, other=99)
    fails = [OSError(errno.EMFILE, "no files"), OSError(errno.ECONNABORTED, "gone"), OSError(errno.EBADF, "broken")]

    def accept() -> Any:
        raise fails.pop(0)

    monkeypatch.setattr(process.listener, "accept", accept)
    assert process.turn() == 0
    assert not process.watched
    assert 0 < process.acceptor.timeout() <= NO_FILES_SECONDS
    process.acceptor._resume = 0.0
    assert process.turn() == 0
    assert process.watched
    with pytest.raises(OSError, match="broken"):
        process.turn()


@pytest.mark.our_worker("balancing")
def test_no_connection_waits_for_a_process_that_hangs_or_was_killed(server: Serving) -> None:
    hanging, killed, _ = server.children()
    hanging.suspend()
    try:
        with ExitStack() as stack:
            hold_open(server, stack, CALLERS)
            killed.send_signal(signal.SIGKILL)
            hold_open(server, stack, CALLERS)
    finally:
        hanging.resume()


@pytest.mark.our_worker("descriptors")
def test_a_process_that_ran_out_of_file_descriptors_recovers(database: Database, tmp_path: Path) -> None:
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
                return hold_open(server, stack, number)
        except (AssertionError, OSError):
            assert time.monotonic() < give_up
            time.sleep(0.5)
