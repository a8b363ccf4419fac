"""The loop's connections: a slow client costs a buffer, keeps no other waiting, and is let go in the end."""

import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from directory.server import connections
from directory.server.connections import Connection, Connections
from directory.server.tuning import (
    DISCARD_MAX,
    FIRST_BYTE_SECONDS,
    LINGER_SECONDS,
    SEND_SECONDS,
    STOP_SECONDS,
)

KEEPALIVE = 5.0


class Loop:
    """A loop around connections; what is received is in `received`."""

    def __init__(self) -> None:
        self.poller = selectors.DefaultSelector()
        self.received: list[tuple[Connection, bytes]] = []
        self.expired: list[Connection] = []
        self.connections = Connections(self.poller, KEEPALIVE, self._receive, self.expired.append)
        self.sockets: list[socket.socket] = []

    def _receive(self, connection: Connection, data: bytes) -> None:
        self.received.append((connection, data))
        if not data:
            self.connections.abort(connection)

    def client(self) -> tuple[socket.socket, Connection]:
        """A client and its connection."""
        ours, theirs = socket.socketpair()
        theirs.settimeout(10)
        self.sockets.append(theirs)
        self.connections.add(ours, ("192.0.2.1", 5), ("x", 80))
        return theirs, [*self.connections.open][-1]

    def turn(self) -> None:
        for key, _ in self.poller.select(0):
            key.data(key.fileobj)


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.connections.close_all()
    for each in loop.sockets:
        each.close()
    loop.poller.close()


def left(connection: Connection) -> float:
    return connection.deadline - time.monotonic()


def test_a_request_is_received_and_its_connection_stays_open(loop: Loop) -> None:
    client, connection = loop.client()
    loop.turn()
    assert loop.received == []
    assert FIRST_BYTE_SECONDS - 1 < left(connection) <= FIRST_BYTE_SECONDS
    for n in range(2):
        client.sendall(b"hello")
        loop.turn()
        assert loop.received[n] == (connection, b"hello")
        loop.connections.send(connection, b"ab", keep=True)
        assert client.recv(9) == b"ab"
        assert KEEPALIVE - 1 < left(connection) <= KEEPALIVE
    assert len(loop.connections) == 1


def test_nothing_is_read_while_a_request_is_answered(loop: Loop) -> None:
    client, connection = loop.client()
    loop.connections.pause(connection)
    loop.connections.pause(connection)
    client.sendall(b"more")
    loop.turn()
    assert loop.received == []
    loop.connections.close_expired(time.monotonic() + 1000)
    assert len(loop.connections) == 1, "it has no deadline"
    loop.connections.send(connection, b"answer", keep=True)
    loop.turn()
    assert loop.received == [(connection, b"more")]


def test_what_came_behind_a_request_is_received_when_its_answer_is_sent(loop: Loop) -> None:
    client, connection = loop.client()
    connection.rest = b"next"
    loop.connections.send(connection, b"answer", keep=True)
    assert client.recv(9) == b"answer"
    assert loop.received == [(connection, b"next")]
    assert connection.rest == b""


def test_an_answer_that_is_taken_slowly_waits_in_the_loop(loop: Loop) -> None:
    client, connection = loop.client()
    body = bytes(range(256)) * 20_000
    connection.rest = b"next"
    loop.connections.send(connection, b"head" + body + b"end", keep=True)
    assert connection.unsent
    assert SEND_SECONDS - 1 < left(connection) <= SEND_SECONDS
    assert loop.received == []
    taken = b""
    while not taken.endswith(b"end"):
        taken += client.recv(50_000)
        loop.turn()
    assert taken == b"head" + body + b"end"
    assert loop.received == [(connection, b"next")]


def test_a_client_that_reads_nothing_is_disconnected(loop: Loop) -> None:
    _, connection = loop.client()
    loop.connections.send(connection, b"x" * 5_000_000, keep=True)
    loop.connections.close_expired(connection.deadline - 1)
    assert len(loop.connections) == 1
    loop.connections.close_expired(connection.deadline)
    assert loop.connections.are_closed
    assert connection.sock.fileno() == -1
    assert not connection.unsent


@pytest.mark.parametrize("unsent", [False, True])
def test_the_connection_of_a_client_that_is_gone_is_closed(loop: Loop, unsent: bool) -> None:
    client, connection = loop.client()
    if unsent:
        loop.connections.send(connection, b"x" * 5_000_000, keep=True)
    client.close()
    if unsent:
        loop.turn()
    else:
        loop.connections.send(connection, b"answer", keep=True)
    assert loop.connections.are_closed
    loop.connections.send(connection, b"late", keep=True)  # as a thread that knows nothing of it


def test_a_connection_is_closed_when_the_client_has_read_its_answer(loop: Loop) -> None:
    client, connection = loop.client()
    client.sendall(b"unread")
    loop.connections.send(connection, b"answer", keep=False)
    assert (len(loop.connections), loop.connections.are_closed) == (0, False)
    loop.turn()
    assert client.recv(99) == b"answer"
    assert client.recv(99) == b""
    loop.turn()
    assert not loop.connections.are_closed
    client.close()
    loop.turn()
    assert loop.connections.are_closed


def test_a_client_that_does_not_close_or_goes_on_sending_is_closed_by_the_server(loop: Loop) -> None:
    (silent, first), (sending, second) = loop.client(), loop.client()
    for connection in (first, second):
        loop.connections.send(connection, b"answer", keep=False)
        assert LINGER_SECONDS - 1 < left(connection) <= LINGER_SECONDS
    sending.setblocking(False)
    for _ in range(20):
        with suppress(BlockingIOError, BrokenPipeError):
            sending.send(b"x" * (DISCARD_MAX // 4))
        loop.turn()
    assert second.sock.fileno() == -1
    assert first.sock.fileno() > 0
    loop.connections.close_expired(first.deadline)
    assert loop.connections.are_closed
    assert silent.recv(99) == b"answer"


def test_the_number_of_lingering_connections_is_bounded(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LINGERING_MAX", 2)
    made = [loop.client()[1] for _ in range(3)]
    for connection in made:
        loop.connections.send(connection, b"answer", keep=False)
    assert [connection.sock.fileno() > 0 for connection in made] == [False, True, True]


def test_a_silent_client_is_disconnected_unless_bytes_have_arrived_since_the_last_check(loop: Loop) -> None:
    (late, active), (_, lost) = loop.client(), loop.client()
    active.deadline = lost.deadline = looked = time.monotonic()
    late.sendall(b"hello")
    loop.turn()
    loop.connections.send(active, b"answer", keep=True)
    loop.connections.close_expired(looked)
    assert [*loop.connections.open] == [active]
    assert lost.sock.fileno() == -1


def test_a_request_that_does_not_come_in_time_is_refused(loop: Loop) -> None:
    _, connection = loop.client()
    begun: Any = SimpleNamespace()
    connection.buffer = begun
    loop.connections.close_expired(connection.deadline)
    assert loop.expired == [connection]
    assert len(loop.connections) == 1


def test_at_shutdown_idle_connections_close_soon_and_those_with_a_request_later(loop: Loop) -> None:
    (_, idle), (_, begun), (_, busy) = loop.client(), loop.client(), loop.client()
    buffer: Any = SimpleNamespace()
    begun.buffer = buffer
    loop.connections.pause(busy)
    loop.connections.stop(time.monotonic())
    assert left(idle) <= STOP_SECONDS
    assert left(begun) > STOP_SECONDS
    loop.connections.send(busy, b"answer", keep=True)
    assert left(busy) <= STOP_SECONDS


def test_a_connection_that_cannot_be_polled_is_closed_alone(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space")

    ours, theirs = socket.socketpair()
    loop.sockets.append(theirs)
    with monkeypatch.context() as patched:
        patched.setattr(loop.poller, "register", full)
        loop.connections.add(ours, ("192.0.2.1", 5), ("x", 80))
    assert loop.connections.are_closed
    assert theirs.recv(9) == b""
