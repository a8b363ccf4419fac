"""Requests that gather are served by one thread, and each is answered like any other: none lost, none for another."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.workers.gthread import ThreadWorker

from directory.server import greenlets
from directory.server import vote_batching as gathering
from directory.server.vote_batching import GatheringWorker
from tests.server.test_fast_path import DELETE, VOTE, Loop

END = b"A: b\r\n\r\nbody"


class Gathering(Loop):
    """The worker's loop, whose threads do nothing by themselves: what they are to do is in `works`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch, GatheringWorker)
        self.works: list[Callable[[], None]] = []
        self.deferred: list[Callable[[], None]] = []
        self.kept: list[Any] = []
        self.sockets: list[socket.socket] = []
        self.worker.tpool = SimpleNamespace(put=self.works.append)
        self.worker.method_queue = SimpleNamespace(defer=lambda do, *given: self.deferred.append(partial(do, *given)))
        self.worker.log = SimpleNamespace(exception=lambda _text: None)
        monkeypatch.setattr(ThreadWorker, "finish_request", lambda _self, conn, fs: self.finished(conn, fs))
        monkeypatch.setattr(
            ThreadWorker, "handle_error", lambda _self, _request, sock, _client, error: self.told(sock, error)
        )

    def _connected(self) -> tuple[socket.socket, Any]:
        theirs, conn = super()._connected()
        self.sockets += [theirs, conn.sock]
        return theirs, conn

    def finished(self, conn: Any, fs: Any) -> None:
        assert fs.result() is True
        self.kept.append(conn)

    def told(self, sock: socket.socket, error: BaseException) -> None:
        sock.sendall(f"500 {type(error).__name__}".encode())

    def voters(self, count: int) -> list[tuple[socket.socket, Any]]:
        """Clients that have sent a vote each, which the loop has read."""
        found = [self.client() for _ in range(count)]
        for client, _ in found:
            client.sendall(VOTE)
        self.turn()
        return found

    def work(self) -> None:
        """Do what threads are to do, and what the loop is to do then."""
        works, self.works[:] = self.works.copy(), []
        for each in works:
            each()
        deferred, self.deferred[:] = self.deferred.copy(), []
        for each in deferred:
            each()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gathering]:
    loop = Gathering(monkeypatch)
    yield loop
    for each in loop.sockets:
        each.close()
    loop.worker.poller.close()


def received(voters: list[tuple[socket.socket, Any]]) -> list[bytes]:
    return [client.recv(9000) for client, _ in voters]


@pytest.mark.parametrize("count", [1, 3])
def test_those_that_come_at_once_are_served_by_one_thread_and_kept(loop: Gathering, count: int) -> None:
    voters = loop.voters(count)
    assert (len(loop.works), loop.handed, [len(bares) for bares in loop.wire.ahead]) == (1, [], [count])
    assert list(loop.worker.keepalived_conns) == []
    loop.work()
    assert all(answer.endswith(END) for answer in received(voters))
    assert loop.kept == [conn for _, conn in voters]
    assert (loop.worker.nr, loop.worker.nr_conns, loop.wire.prepared) == (count, count, 1)


def test_who_comes_meanwhile_waits_and_what_else_comes_does_not(loop: Gathering) -> None:
    first = loop.voters(2)
    later, other = loop.client(), loop.client()
    later[0].sendall(VOTE)
    other[0].sendall(DELETE)
    loop.turn()
    assert loop.handed == [other[1]]
    assert len(loop.works) == 1
    later[0].sendall(VOTE)  # is not read before the one before has been answered
    loop.work()
    loop.turn()
    loop.work()
    assert all(answer.endswith(END) and answer.count(END) == 1 for answer in received([*first, later]))
    assert loop.kept == [conn for _, conn in [*first, later]]


def test_nobody_waits_where_the_database_is_far(loop: Gathering) -> None:
    loop.wire.is_near = False
    voters = [loop.voters(1)[0] for _ in range(3)]
    assert len(loop.works) == 3
    loop.work()
    received(voters)


def test_where_it_is_not_known_who_asks_each_gets_a_thread(loop: Gathering) -> None:
    loop.wire.knows = False
    voters = loop.voters(3)
    assert loop.works == []
    assert loop.handed == [conn for _, conn in voters]
    loop.wire.knows = True
    voters += loop.voters(2)
    assert len(loop.works) == 1  # nobody is held by those
    for conn in loop.handed:
        assert loop.worker.handle(conn) is True
    loop.handed.clear()
    loop.work()
    assert all(answer.endswith(END) for answer in received(voters))


def test_what_fails_is_told_to_him_alone_and_by_a_thread(loop: Gathering) -> None:
    voters = loop.voters(3)
    loop.wire.fails = [KeyError("x"), SystemExit()]
    loop.work()
    assert loop.kept == [voters[2][1]]
    assert loop.handed == [conn for _, conn in voters[:2]]
    assert [loop.worker.handle(conn) for conn in loop.handed] == [False, False]
    told = received(voters)
    assert told[:2] == [b"500 SystemExit", b"500 KeyError"]
    assert told[2].endswith(END)


def test_who_does_not_take_an_answer_or_is_gone_keeps_no_other_waiting(
    loop: Gathering, monkeypatch: pytest.MonkeyPatch
) -> None:
    voters = loop.voters(3)
    voters[0][0].close()
    full = voters[1][1].sock
    full.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    with suppress(BlockingIOError):
        while True:
            full.send(b"x" * 4096)
    loop.work()
    assert loop.kept == [voters[2][1]]
    assert loop.handed == [voters[1][1]]
    assert loop.worker.nr_conns == 2
    assert voters[0][1].closed
    assert received(voters[2:])[0].endswith(END)
    slow = voters[1][0]
    reader = threading.Thread(target=lambda: taken.append(drained(slow)))
    taken: list[bytes] = []
    reader.start()
    assert loop.worker.handle(voters[1][1]) is True
    full.close()
    reader.join(30)
    assert taken[0].endswith(END)


def drained(client: socket.socket) -> bytes:
    with closing(client):
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_a_worker_that_ends_leaves_them_to_gunicorn(loop: Gathering) -> None:
    voters = loop.voters(2)
    loop.worker.alive = False
    loop.work()
    assert loop.handed == [conn for _, conn in voters]
    assert [loop.worker.handle(conn) for conn in loop.handed] == [("whole", VOTE)] * 2
    assert loop.kept == []


def test_who_would_be_begun_late_gets_a_thread_of_his_own(loop: Gathering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "SLOW", 0.05)
    voters = loop.voters(3)
    whole, asked = loop.wire.whole, []

    def slow(*given: Any) -> Any:
        asked.append(1)
        time.sleep(0.1)
        return whole(*given)

    monkeypatch.setattr(loop.wire, "whole", slow)
    loop.work()
    assert len(asked) == 1
    assert loop.kept == [voters[0][1]]
    assert loop.handed == [conn for _, conn in voters[1:]]
    for conn in loop.handed:
        assert loop.worker.handle(conn) is True
    assert all(answer.endswith(END) for answer in received(voters))


def test_if_the_thread_fails_all_that_are_left_are_told(loop: Gathering, monkeypatch: pytest.MonkeyPatch) -> None:
    voters = loop.voters(3)
    whole = loop.wire.whole
    wanted = iter([False, True, True])

    def waiting(*given: Any) -> Any:
        if next(wanted):
            greenlets.aside(lambda: None)
        return whole(*given)

    def fail(_self: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(loop.wire, "whole", waiting)
    monkeypatch.setattr(greenlets._Gathering, "next_ended", fail)
    loop.work()
    assert loop.kept == [voters[0][1]]
    assert loop.handed == [conn for _, conn in voters[1:]]
    assert [loop.worker.handle(conn) for conn in loop.handed] == [False, False]
    assert received(voters)[1:] == [b"500 RuntimeError"] * 2


def test_one_turn_looks_no_longer_than_it_may(loop: Gathering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "SLOW", 0.05)
    client, voter = loop.client(), loop.client()
    client[0].sendall(DELETE)
    voter[0].sendall(VOTE)
    look = loop.wire.look_ahead

    def slow(bares: list[Any]) -> bool:
        time.sleep(0.1)
        return look(bares)

    monkeypatch.setattr(loop.wire, "look_ahead", slow)
    loop.turn()
    assert (len(loop.wire.ahead), loop.works) == (1, [])
    loop.turn()
    assert (len(loop.wire.ahead), len(loop.works)) == (2, 1)
    loop.work()
    assert received([voter])[0].endswith(END)


def test_without_votes_the_loop_is_what_it_was(loop: Gathering) -> None:
    client, conn = loop.client()
    client.sendall(DELETE)
    loop.turn()
    assert loop.handed == [conn]
    assert loop.works == []
