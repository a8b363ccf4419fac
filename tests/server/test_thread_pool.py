"""The threads that serve: one that waits gives its slot back, and no more threads work than there are slots."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from directory.db.slots import given_back
from directory.server.thread_pool import ThreadPool
from tests.support.waiting import until

WITHIN = 30.0


class Work:
    """Pieces of work that are calls; what they return is gathered."""

    def __init__(self, size: int) -> None:
        self.done: list[Any] = []
        self.pool = ThreadPool(size)

    def put(self, *pieces: Callable[[], Any]) -> None:
        for piece in pieces:
            self.pool.submit(lambda piece=piece: self.done.append(piece()))


def test_each_slot_is_a_thread_and_each_piece_is_done_once() -> None:
    meeting = threading.Barrier(3, timeout=WITHIN)
    work = Work(3)
    work.put(*[meeting.wait] * 30)
    until(lambda: len(work.done) == 30)
    assert Counter(work.done) == {0: 10, 1: 10, 2: 10}


def test_while_one_waits_another_serves_in_its_place() -> None:
    over, waiting, work = threading.Event(), threading.Event(), Work(1)

    def wait() -> str:
        with given_back():
            waiting.set()
            over.wait(WITHIN)
        return "waited"

    work.put(wait)
    assert waiting.wait(WITHIN)
    work.put(lambda: "served")
    until(lambda: work.done == ["served"])
    over.set()
    until(lambda: work.done == ["served", "waited"])


def test_a_thread_that_returns_takes_a_slot_and_never_one_more() -> None:
    busy, most, lock, work = [0], [0], threading.Lock(), Work(2)

    def at_work() -> None:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.001)
        with lock:
            busy[0] -= 1

    def wait() -> None:
        at_work()
        with given_back():
            time.sleep(0.005)
        at_work()

    before = threading.active_count()
    work.put(*[wait, at_work] * 50)
    until(lambda: len(work.done) == 100)
    assert most == [2]
    until(lambda: threading.active_count() == before)


def test_a_thread_that_fails_while_waiting_returns_too() -> None:
    work = Work(1)

    def fail() -> str:
        try:
            with given_back():
                raise LookupError
        except LookupError:
            return "failed"

    work.put(fail, fail)
    until(lambda: work.done == ["failed"] * 2)


def test_a_thread_without_a_slot_waits_where_it_is() -> None:
    before = threading.active_count()
    with given_back():
        assert threading.active_count() == before


def test_a_block_keeps_its_slot_where_the_system_starts_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def hash_password() -> str:
        with given_back():
            return "hashed"

    work, before = Work(1), threading.active_count()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", full)
        work.put(hash_password, hash_password)
        until(lambda: work.done == ["hashed"] * 2)
    work.put(hash_password, hash_password)
    until(lambda: work.done == ["hashed"] * 4)
    until(lambda: threading.active_count() == before)


def test_a_block_within_a_block_gives_the_slot_back_once() -> None:
    work, before = Work(1), threading.active_count()

    def nested() -> str:
        with given_back(), given_back():
            return "done"

    work.put(nested, nested)
    until(lambda: work.done == ["done"] * 2)
    until(lambda: threading.active_count() == before)


def test_a_result_that_comes_after_the_end_of_the_loop_ends_no_thread() -> None:
    loop, work = asyncio.new_event_loop(), Work(1)
    loop.close()
    work.pool.call(loop, lambda: "late", work.done.append)
    work.put(lambda: "served")
    until(lambda: work.done == ["served"])
