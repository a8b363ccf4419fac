"""Runs work in threads: first come, first served, by as many threads at a time as there are slots.

A thread that hashes a password or waits for another server gives its slot to a new thread meanwhile (`db/slots.py`).
To go on, the first thread puts an event in the queue, behind the waiting work. The thread that takes the event sets it
and ends, so its slot is the first thread's. Never do more threads work, or hold a connection, than there are slots.
"""

import threading
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from directory.db import deadline, slots
from directory.http.wsgi import Answer, Response, read_body
from directory.server.protocol import Request


class ThreadPool:
    """The threads, and the queue of their work."""

    def __init__(self, size: int) -> None:
        self._queue: SimpleQueue[Callable[[], object] | threading.Event] = SimpleQueue()
        self.submit = self._queue.put
        for _ in range(size):
            self._start()

    def call(self, loop: AbstractEventLoop, work: Callable[[], Any], end: Callable[[Any], object]) -> None:
        """Have a thread work, and call `end` in the loop with the result, or with the exception that ended the work."""

        def run() -> None:
            try:
                outcome = work()
            except BaseException as error:  # a thread that ended would be missing, and the client would wait for ever
                outcome = error
            with suppress(RuntimeError):  # raised if the loop is closed: the process is ending
                loop.call_soon_threadsafe(end, outcome)

        self.submit(run)

    def release(self) -> bool:
        """Start one more thread, for the slot that the caller gives back; False where the system can start none."""
        try:
            self._start()
        except RuntimeError:
            return False
        return True

    def acquire(self) -> None:
        """Wait for a slot, behind the work that waits: another thread ends, and the calling one takes its slot."""
        turn = threading.Event()
        self._queue.put(turn)
        turn.wait()

    def _start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        slots.current.set(self)
        while True:
            work = self._queue.get()
            if isinstance(work, threading.Event):
                work.set()
                return
            work()


def call_application(app: Callable[..., Iterable[bytes]], request: Request) -> Response:
    """The application's response. The request's deadline counts from when the server had read it.

    Raises what escapes the application, and ValueError for a header with a line break in it.
    """
    started: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        started[:] = status, headers

    try:
        with deadline.within(deadline.SECONDS - (time.perf_counter() - request.began)):
            body = read_body(app(request.environ, start))
    finally:
        # Werkzeug puts its request, which holds the environment, into it. Such a cycle, and the body that it holds,
        # would stay in memory until the garbage is collected.
        request.environ.clear()
    status, headers = started
    return Answer(status, headers, body).encoded()
