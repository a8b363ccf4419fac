"""Several requests served by one thread: each up to what they all wait for, then that for all, then each to its end.

A thread for each costs more than what it does. It is woken, waits for the interpreter, finds its caches cold, asks the
database, and all that again when that has answered. Here a piece of work is a greenlet, which leaves its thread to the
others while it waits.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from greenlet import getcurrent, greenlet

from directory.db import deadline
from directory.server import thread_pool as seats

Item = TypeVar("Item")
T = TypeVar("T")


class _Waiting(NamedTuple):
    """A piece of work that waits, with what it waits for and the context in which it does."""

    piece: Any
    item: Any
    context: Context


class _Gathering:
    """The pieces of work of a thread: which of them wait, and for what."""

    def __init__(self) -> None:
        self._thread = getcurrent()
        self.shared: defaultdict[Callable[[list[Any]], None], list[_Waiting]] = defaultdict(list)
        self.aside = 0  # how many have something done aside
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self.end = self._ended.put

    def next_ended(self) -> Any:
        """A piece for which what it does aside has ended. This thread leaves its seat to who does it."""
        seats.leave()
        self.aside -= 1
        return self._ended.get()

    def leave(self) -> None:
        """Let the others go on, until this piece is switched to."""
        with deadline.paused():
            self._thread.switch()


class _Own(threading.local):
    """The gathering that this thread serves."""

    gathering: _Gathering | None = None


_own = _Own()


def run(works: Iterable[Callable[[], None]]) -> Iterator[bool]:
    """Do pieces of work, none of which raises anything.

    Gives whenever the thread is about to wait, and at the end: whether all have ended but for those that go aside.
    """
    gathering = _own.gathering = _Gathering()
    try:
        for work in works:
            greenlet(work).switch()
        while gathering.shared or gathering.aside:
            yield not gathering.shared
            if not gathering.shared:
                gathering.next_ended().switch()
                continue
            together, waiting = gathering.shared.popitem()
            waiting[0].context.run(together, [each.item for each in waiting])
            for each in waiting:
                each.piece.switch()
        yield True
    finally:
        _own.gathering = None


def is_here() -> bool:
    """Whether this thread serves several requests."""
    return _own.gathering is not None


def share(together: Callable[[list[Item]], None], item: Item) -> None:
    """Wait until `together` has been called with this item and those of the others.

    It is called once for all of them, in the context of one, and raises nothing.
    """
    gathering = _own.gathering
    if gathering is None:
        together([item])
        return
    gathering.shared[together].append(_Waiting(getcurrent(), item, copy_context()))
    gathering.leave()


def aside(work: Callable[[], T]) -> T:
    """Have another thread do what may take long, so that nobody here waits for it. Raises what it raises."""
    gathering = _own.gathering
    if gathering is None:
        return work()
    done: Future[T] = Future()
    piece, context, ends = getcurrent(), copy_context(), deadline.end()

    def do() -> None:
        try:
            with deadline.until(ends):
                done.set_result(context.run(work))
        except BaseException as error:
            done.set_exception(error)
        gathering.end(piece)

    gathering.aside += 1
    seats.by_another(do)
    gathering.leave()
    return done.result()
