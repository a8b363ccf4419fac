"""The proxy that misbehaves on demand: each mode, for connections that are open and for new ones."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import pytest

from tests.support.chaosproxy import ChaosProxy

LONG = 20.0


def echo(listener: socket.socket) -> None:
    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while piece := connection.recv(1024):
                connection.sendall(piece)

    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        Thread(target=answer, args=(connection,), daemon=True).start()


@pytest.fixture
def proxy() -> Iterator[ChaosProxy]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=echo, args=(listener,), daemon=True).start()
        with ChaosProxy(listener.getsockname()[1]) as made:
            yield made
        listener.shutdown(socket.SHUT_RDWR)


def connect(proxy: ChaosProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), LONG)


def echoed(connection: socket.socket, sent: bytes = b"hello") -> bytes:
    connection.sendall(sent)
    return received(connection, len(sent))


def received(connection: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size and (piece := connection.recv(1024)):
        got += piece
    return got


@pytest.mark.parametrize("mode", ["pass", "delay", "trickle"])
def test_the_proxy_passes_on_every_byte(proxy: ChaosProxy, mode: str) -> None:
    proxy.set(mode, 0.001)
    with connect(proxy) as connection:
        assert echoed(connection) == b"hello"
        assert echoed(connection, b"again") == b"again"


def test_a_refusing_proxy_accepts_no_connection_and_closes_open_ones(proxy: ChaosProxy) -> None:
    with connect(proxy) as inside:
        assert echoed(inside) == b"hello"
        proxy.set("refuse")
        assert inside.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(proxy)
        proxy.set("pass")
        with connect(proxy) as again:
            assert echoed(again) == b"hello"


def test_a_reset_cuts_off_open_connections_and_new_ones(proxy: ChaosProxy) -> None:
    with connect(proxy) as inside:
        assert echoed(inside) == b"hello"
        proxy.set("reset")
        with pytest.raises(ConnectionResetError):
            inside.recv(1)
        with pytest.raises(ConnectionResetError), connect(proxy) as outside:
            outside.recv(1)


def test_a_mute_proxy_takes_every_byte_and_sends_none_until_its_mode_changes(proxy: ChaosProxy) -> None:
    with connect(proxy) as inside:
        proxy.set("mute")
        with connect(proxy) as outside:
            for connection in (inside, outside):
                connection.sendall(b"hello")
                connection.settimeout(0.1)
                with pytest.raises(TimeoutError):
                    connection.recv(1)
                connection.settimeout(LONG)
            proxy.set("pass")
            assert received(inside, 5) == received(outside, 5) == b"hello"


@pytest.mark.parametrize("mode", ["delay", "trickle"])
def test_a_delay_ends_when_the_mode_changes(proxy: ChaosProxy, mode: str) -> None:
    proxy.set(mode, 3600)
    with connect(proxy) as inside:
        inside.sendall(b"hello")
        proxy.set("pass")
        assert received(inside, 5) == b"hello"
