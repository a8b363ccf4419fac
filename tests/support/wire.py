"""Counts round trips to a database server on the wire: what a distance between the two makes slow."""

import socket
from threading import Lock

from tests.support.chaosproxy import ChaosProxy


class Wire(ChaosProxy):
    """Forwards everything. A round trip begins where the service sends something after the server has answered."""

    def __init__(self, target: int) -> None:
        self.round_trips = 0
        self._lock = Lock()
        self._connections: dict[socket.socket, frozenset[int]] = {}  # by the end that is sent to
        self._waiting: set[frozenset[int]] = set()  # connections over which the server has been asked
        super().__init__(target)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        self._connections[sink] = frozenset((source.fileno(), sink.fileno()))
        super()._pump(source, sink)

    def _forward(self, piece: bytes, sink: socket.socket) -> None:
        connection, asks = self._connections[sink], sink.getpeername()[1] == self._target
        with self._lock:
            if not asks:
                self._waiting.discard(connection)
            elif connection not in self._waiting:
                self._waiting.add(connection)
                self.round_trips += 1
        super()._forward(piece, sink)
