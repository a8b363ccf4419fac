"""The gunicorn worker: a process that runs the event loop, accepts connections, and ends when asked to or orphaned."""

import asyncio
import errno
import os
import signal
import socket
import time
from contextlib import suppress
from functools import partial
from typing import Any

import uvloop
from gunicorn.workers.base import Worker as Base

from directory.server.dispatch import Dispatcher
from directory.server.protocol import Connection

SEND_BUFFER = 65_536  # bytes of a response that the system takes before the client does; Linux takes twice as many
STOP_SECONDS = 2.0  # for which a stopping process keeps idle connections, on which a request may be on its way
TICK_SECONDS = 0.2  # between two checks of the deadlines, and of whether the process is to end
NO_FILES_SECONDS = 0.1  # after which a process that could open no more files accepts again

NOTHING_TO_ACCEPT = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED}  # another process took it, or the client left


class Worker(Base):  # type: ignore[misc]
    """A process that serves the sockets which gunicorn gives it."""

    alive: bool
    handles_signals = True  # False in tests that run it in a thread, where signals cannot be handled

    def run(self) -> None:
        """Serve until the end. Raises RuntimeError for a setting of gunicorn's that this worker does not have."""
        if self.cfg.is_ssl or self.cfg.proxy_protocol not in (False, "off"):
            raise RuntimeError("TLS and the PROXY protocol take SERVER_WORKER=gthread, or a proxy in front")
        loop = uvloop.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self._serve(loop))
        finally:
            loop.close()

    async def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._stop_requested = loop, asyncio.Event()
        self._dispatcher = Dispatcher(
            self.wsgi, loop, threads=self.cfg.threads, keepalive=self.cfg.keepalive, count=self._count_response
        )
        self._opening: set[asyncio.Task[Any]] = set()
        self._is_accepting, self._accepts_again_at = False, 0.0
        if self.handles_signals:
            loop.add_signal_handler(signal.SIGTERM, self._request_stop)
            for number in (signal.SIGINT, signal.SIGQUIT):
                loop.add_signal_handler(number, self.handle_quit, number, None)
        for listener in self.sockets:
            listener.setblocking(False)
            # Connections inherit it. Else the system copies megabytes for each client that takes nothing.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        while self.alive and os.getppid() == self.ppid:
            self._adjust_accepting()
            await self._tick()
        await self._stop()

    async def _tick(self) -> None:
        self.notify()
        self._dispatcher.expire()
        if not self._stop_requested.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop_requested.wait(), TICK_SECONDS)

    def _request_stop(self) -> None:
        self.alive = False
        self._stop_requested.set()

    def _count_response(self) -> None:
        """Count a response; the process ends after as many as gunicorn's configuration says."""
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            self.log.info("Autorestarting worker after current request.")
            self._request_stop()

    def _adjust_accepting(self) -> None:
        """Accept connections, unless this process has as many as it may and waits for none of their clients."""
        if self._is_full():
            self._dispatcher.make_room()
        self._set_accepting(not self._is_full() and time.monotonic() >= self._accepts_again_at)

    def _is_full(self) -> bool:
        held = len(self._dispatcher.connections) + len(self._opening)
        return bool(held >= self.cfg.worker_connections)

    def _set_accepting(self, wanted: bool) -> None:
        if wanted == self._is_accepting:
            return
        self._is_accepting = wanted
        for listener in self.sockets:
            if wanted:
                self._loop.add_reader(listener.fileno(), partial(self._accept, listener))
            else:
                self._loop.remove_reader(listener.fileno())

    def _accept(self, listener: Any) -> bool:
        """Accept one connection, so that each process gets its share of those that wait; whether there was any."""
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._accepts_again_at = time.monotonic() + NO_FILES_SECONDS
                self._set_accepting(False)
            elif error.errno not in NOTHING_TO_ACCEPT:
                raise
            return False
        sock.setblocking(False)
        opening = self._loop.create_task(self._loop.connect_accepted_socket(lambda: Connection(self._dispatcher), sock))
        self._opening.add(opening)
        opening.add_done_callback(self._opened)
        if self._is_accepting:
            self._adjust_accepting()
        return True

    def _opened(self, opening: "asyncio.Task[Any]") -> None:
        self._opening.discard(opening)
        if not opening.cancelled() and (error := opening.exception()) is not None:
            self.log.info("connection not opened: %s", error)

    async def _stop(self) -> None:
        """Accept the clients that wait, close the sockets, answer the requests that have begun, and end.

        A socket that stayed open would admit clients, and the end of the process would cut them off. A proxy may repeat
        a request at another host if its connection was refused, but not if it was cut off.
        """
        self.alive = False  # also where it ends because its parent has
        self._set_accepting(False)
        for listener in self.sockets:
            while self._accept(listener):
                pass
            listener.close()
        await asyncio.gather(*self._opening, return_exceptions=True)
        self._dispatcher.is_stopping = True
        began = time.monotonic()
        for connection in self._dispatcher.connections:
            if connection.is_idle:
                connection.deadline = min(connection.deadline, began + STOP_SECONDS)
        while self._dispatcher.connections and time.monotonic() < began + self.cfg.graceful_timeout:
            self.notify()
            self._dispatcher.expire()
            await asyncio.sleep(0.02)
        for connection in [*self._dispatcher.connections]:
            connection.transport.abort()
