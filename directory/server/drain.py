"""How a process of the server ends: nobody is left waiting at its door."""

import socket

from directory.server.connections import BalancingWorker


class DrainingWorker(BalancingWorker):
    """gunicorn's worker with threads, which lets in who is waiting when it is told to end, and then shuts the door.

    The kernel admits callers for as long as any process holds the listening socket. gunicorn's own worker holds it to
    its end, seconds later, and lets nobody in: a new caller hangs, and is cut off at last. A proxy cannot know that
    such a request was never read, so it may not give an unsafe one to another host. A refused one it may.
    """

    def set_accept_enabled(self, enabled: bool) -> None:
        """Begin or cease to accept; cease for good where it is the end."""
        super().set_accept_enabled(enabled)
        if not enabled and not self.alive:
            while self.sockets:
                self._shut(self.sockets.pop())

    def _shut(self, listener: socket.socket) -> None:
        """Take in those whom the kernel has admitted already, then close."""
        taken = -1
        while taken != self.nr_conns:
            taken = self.nr_conns
            self.accept(listener)
        listener.close()
