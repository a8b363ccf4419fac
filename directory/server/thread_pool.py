"""Runs work in threads, in its order, and never more of them at a time than there are slots.

A thread that hashes, or waits for its turn to hash, gives its slot back (`db/slots.py`), and another thread works in
its place. When it returns it queues behind the work that waits. The thread that reaches its place in the queue ends,
and the one that returned takes its slot. So no more threads work, or hold a connection, than there are slots.
"""

import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from directory.db import slots


class ThreadPool:
    """Threads that do the pieces of work that come, in their order. They end with the process."""

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
            loop.call_soon_threadsafe(end, outcome)

        self.submit(run)

    def release(self) -> bool:
        """Start one more thread, for the slot that is given back; False where the system can start none."""
        try:
            self._start()
        except RuntimeError:
            return False
        return True

    def acquire(self) -> None:
        """Wait for a slot: for a thread to end in favour of the calling one, behind the work that waits."""
        turn = threading.Event()
        self._queue.put(turn)
        turn.wait()

    def _start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        slots.current.set(self)
        while slots.current.get() is self:
            work = self._queue.get()
            if isinstance(work, threading.Event):
                work.set()
                return
            work()
