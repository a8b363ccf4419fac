"""Whose connections make room for others: those that wait for clients with many, the oldest first."""

import json
from functools import partial
from typing import Any

import pytest

from directory.server import dispatch
from directory.server.dispatch import Dispatcher
from directory.server.protocol import Connection
from tests.support.reading import Transport

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class From(Transport):
    """A transport to a client of this address; of a socket in the file system without one."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    def get_extra_info(self, name: str) -> Any:
        if not self.address:
            return {"peername": "", "sockname": "/run/directory.sock"}[name]
        return {"peername": (self.address, 5), "sockname": ("localhost", 80)}[name]


class Loop:
    """An event loop of which only the scheduled calls are run."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def call_soon(self, call: Any, *args: Any) -> None:
        self.calls.append(partial(call, *args))

    call_soon_threadsafe = call_soon

    def run(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()


class Crowd:
    """Connections of a process, the older first."""

    def __init__(self) -> None:
        self.loop: Any = Loop()
        self.dispatcher = Dispatcher(None, self.loop, threads=0, keepalive=5, count=lambda: None)
        self.time = 0.0

    def connect(self, address: str, sent: bytes = b"") -> Connection:
        connection = Connection(self.dispatcher)
        transport = From(address)
        transport.protocol = connection
        connection.connection_made(transport)
        if sent:
            connection.data_received(sent)
        self.time += 1
        connection.waits_since = self.time
        return connection

    def closed(self, connections: list[Connection]) -> list[int]:
        """The places of those that are closed."""
        return [place for place, each in enumerate(connections) if each.transport.closed]


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> Crowd:
    monkeypatch.setattr(dispatch, "EVICTED", 5)
    return Crowd()


def test_the_client_with_the_most_connections_makes_room_and_its_oldest_go_first(crowd: Crowd) -> None:
    addresses = ["192.0.2.1"] * 3 + ["192.0.2.2"] * 5 + ["192.0.2.3"] * 2
    connections = [crowd.connect(address) for address in addresses]
    crowd.dispatcher.make_room()
    assert crowd.closed(connections) == [3, 4]
    crowd.dispatcher.make_room()
    assert crowd.closed(connections) == [0, 3, 4]


@pytest.mark.parametrize("address", ["", "127.0.0.1"])
def test_behind_a_proxy_the_oldest_go_first(crowd: Crowd, address: str) -> None:
    connections = [crowd.connect(address) for _ in range(10)]
    crowd.dispatcher.make_room()
    assert crowd.closed(connections) == [0, 1]


def test_a_client_of_ipv6_is_its_network(crowd: Crowd) -> None:
    connections = [crowd.connect("192.0.2.1"), *(crowd.connect(f"2001:db8::{n}") for n in range(4))]
    crowd.dispatcher.make_room()
    assert crowd.closed(connections) == [1]


def test_who_is_being_answered_stays(crowd: Crowd) -> None:
    connections = [crowd.connect("192.0.2.1", GET) for _ in range(4)]
    crowd.dispatcher.make_room()
    assert crowd.closed(connections) == []
    waiting = crowd.connect("192.0.2.2")
    crowd.dispatcher.make_room()
    assert crowd.closed([*connections, waiting]) == [4]


def test_the_memory_of_slow_clients_is_bounded(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dispatch, "HELD_MAX", 1000)
    connections: list[Any] = [crowd.connect("192.0.2.1", GET) for _ in range(4)]
    idle = crowd.connect("192.0.2.1")
    for connection in connections:
        connection.transport.blocks = True
        connection.respond(b"200 OK", b"", bytes(300), keep=True)
    assert crowd.dispatcher.held > 1000
    assert crowd.closed(connections) == [], "not in the middle of what they do"
    crowd.loop.run()
    assert crowd.closed([*connections, idle]) == [0, 1, 2]
    assert 0 < crowd.dispatcher.held <= 500
    connections[3].transport.take(10_000)
    assert crowd.dispatcher.held == 0
    assert [(each.message, each.__dict__["connections"]) for each in caplog.records] == [
        ("connections closed for others", 3)
    ]


def test_who_sends_requests_without_waiting_for_responses_occupies_memory(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "HELD_MAX", 1000)
    other = crowd.connect("192.0.2.2", GET)
    connections: list[Any] = [crowd.connect("192.0.2.1", GET * 10) for _ in range(4)]
    assert crowd.dispatcher.held > 1000
    crowd.loop.run()
    assert crowd.closed([*connections, other]) == [0, 1, 2]
    assert crowd.dispatcher.held == len(GET * 10)
    connections[0].respond(b"200 OK", b"", b"", keep=True)
    assert connections[0].transport.sent == b""


def test_the_memory_of_uploads_that_wait_for_a_thread_is_bounded(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "LARGE_MAX", 300_000)
    upload = b"POST /submit HTTP/1.1\r\nHost: x\r\nContent-Length: 131072\r\n\r\n" + bytes(131_072)
    first, second, third = (crowd.connect("192.0.2.1", upload) for _ in range(3))
    crowd.loop.run()
    refusals = [each.transport.sent for each in (first, second, third)]  # type: ignore[attr-defined]
    assert refusals[:2] == [b"", b""]
    head, _, body = refusals[2].partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nRetry-After: 2\r\n" in head
    assert json.loads(body)["code"] == "unavailable"
    small = crowd.connect("192.0.2.1", GET)
    crowd.loop.run()
    assert small.transport.sent == b"", "what is small waits for a thread"  # type: ignore[attr-defined]
    crowd.dispatcher._pool._queue.get()()  # type: ignore[operator]  # a thread works for the first one
    crowd.loop.run()
    fourth = crowd.connect("192.0.2.1", upload)
    crowd.loop.run()
    assert fourth.transport.sent == b"", "there is room again"  # type: ignore[attr-defined]


def test_many_closed_connections_make_few_log_lines(crowd: Crowd, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        crowd.connect("192.0.2.1")
        crowd.dispatcher.make_room()
    assert len(caplog.records) == 1
