"""A TCP proxy of the tests' own that misbehaves on demand, between the service and its database or its Redis.

Modes hold for open connections too. `pass` passes every byte on; `refuse` accepts no connection and closes open ones;
`reset` cuts all of them off by RST; `mute` takes bytes and holds them back until the mode changes; `delay` passes each
piece on after some seconds; `trickle` does so for each byte.
"""

import socket
import struct
from contextlib import suppress
from threading import Condition, Thread
from typing import Self

from tests.support.processes import free_port

PIECE = 65_536
RST = struct.pack("ii", 1, 0)  # SO_LINGER of zero seconds: closing throws away what is unsent and says so


class ChaosProxy:
    """Listens on `port` of loopback for what listens on another."""

    def __init__(self, target: int) -> None:
        self.port, self._target = free_port(), target
        self._changed = Condition()
        self._mode, self._seconds = "refuse", 0.0
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.set("pass")

    def set(self, mode: str, seconds: float = 0.05) -> None:
        """Change the mode, of the connections that are open too."""
        with self._changed:
            self._mode, self._seconds = mode, seconds
            self._changed.notify_all()
        if mode in {"refuse", "reset"}:
            self._let_go(by_reset=mode == "reset")
        if mode == "refuse":
            self._stop_listening()
        elif self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
            Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.set("refuse")

    def _stop_listening(self) -> None:
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            self._listener.close()
            self._listener = None

    def _let_go(self, *, by_reset: bool) -> None:
        with self._changed:
            gone, self._open = self._open, set()
        for end in gone:
            _close(end, by_reset=by_reset)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                self._join(listener.accept()[0])

    def _join(self, near: socket.socket) -> None:
        """Connect a caller with the target, by a thread for each direction."""
        if self._mode == "reset":
            _close(near, by_reset=True)
            return
        try:
            far = socket.create_connection(("127.0.0.1", self._target), 5)
        except OSError:
            _close(near, by_reset=True)
            return
        far.settimeout(None)
        with self._changed:
            self._open |= {near, far}
        for source, sink in ((near, far), (far, near)):
            Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                self._forward(piece, sink)
        with self._changed:
            ours, self._open = {source, sink} & self._open, self._open - {source, sink}
        for end in ours:  # what is no longer open is being let go, by RST perhaps
            _close(end)

    def _forward(self, piece: bytes, sink: socket.socket) -> None:
        """Send a piece on, as the mode has it by then. A change of the mode ends every wait."""
        while piece:
            size = 1 if self._held() == "trickle" else len(piece)
            sink.sendall(piece[:size])
            piece = piece[size:]

    def _held(self) -> str:
        """Wait for as long as the mode says; the mode that was waited in."""
        with self._changed:
            self._changed.wait_for(lambda: self._mode != "mute")
            mode = self._mode
            if mode in {"delay", "trickle"}:
                self._changed.wait_for(lambda: self._mode != mode, self._seconds)
                self._changed.wait_for(lambda: self._mode != "mute")
            return mode


def _close(end: socket.socket, *, by_reset: bool = False) -> None:
    with suppress(OSError):
        if by_reset:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
        # Whoever reads from it has to be woken, or it would stay open; of reading alone the other side hears nothing.
        end.shutdown(socket.SHUT_RD if by_reset else socket.SHUT_RDWR)
    end.close()
