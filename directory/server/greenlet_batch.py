"""Several requests served by one thread: each up to what they all wait for, then that once, then each to its end.

A thread for each costs more than what it does: it is woken, waits for the interpreter, finds the processor's caches
cold, asks the database, and all that again when the database has answered. Here each request is a greenlet, and
leaves its thread to the others while it waits.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, NamedTuple

from greenlet import getcurrent, greenlet

from directory.db import deadline, group_commit
from directory.server.thread_pool import ThreadPool


class _Waiting(NamedTuple):
    """A greenlet that waits, with its item and the context in which it asked."""

    piece: Any
    item: Any
    context: Context


class GreenletBatch:
    """The pieces of work of one thread. It is the `batcher` of group commit for them."""

    def __init__(self, pool: ThreadPool) -> None:
        self._pool, self._thread = pool, getcurrent()
        self._shared: defaultdict[Callable[[list[Any]], None], list[_Waiting]] = defaultdict(list)
        self._in_threads = 0  # pieces that another thread works for
        self._ended: SimpleQueue[Any] = SimpleQueue()

    def run(self, works: Iterable[Callable[[], None]]) -> Iterator[bool]:
        """Run each work until it ends or waits; each has a context of its own and raises nothing.

        Yield before the thread blocks: True if the rest only waits for other threads. Yield True at the end.
        """
        for work in works:
            piece = greenlet(work)
            piece.gr_context = Context()
            piece.gr_context.run(group_commit.batcher.set, self)
            piece.switch()
        while self._shared or self._in_threads:
            yield not self._shared
            if not self._shared:
                self._next_ended().switch()
                continue
            together, waiting = self._shared.popitem()
            waiting[0].context.run(together, [each.item for each in waiting])
            for each in waiting:
                each.piece.switch()
        yield True

    def wait_for_group(self, together: Callable[[list[Any]], None], item: Any) -> None:
        """Wait until `together` has been called once, with this item and those of the others. It raises nothing."""
        self._shared[together].append(_Waiting(getcurrent(), item, copy_context()))
        self._leave()

    def run_in_thread(self, work: Callable[[], Any]) -> Any:
        """Have another thread do what may take long, while the others go on. Raises what the work raises."""
        done: Future[Any] = Future()
        piece, context, ends = getcurrent(), copy_context(), deadline.expires_at()

        def do() -> None:
            try:
                with deadline.expiring_at(ends):
                    done.set_result(context.run(work))
            except BaseException as error:
                done.set_exception(error)
            self._ended.put(piece)

        self._in_threads += 1
        self._pool.submit(do)
        self._leave()
        return done.result()

    def _next_ended(self) -> Any:
        """A piece for which another thread has done the work. This thread leaves its slot to that one, for good."""
        self._pool.retire()
        self._in_threads -= 1
        return self._ended.get()

    def _leave(self) -> None:
        """Let the others go on, until this piece is switched to."""
        self._thread.switch()
