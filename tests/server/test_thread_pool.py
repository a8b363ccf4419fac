"""The threads that serve: who waits leaves his seat to another, and never do more work than there are seats."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from directory.server.thread_pool import Seats, aside, by_another, leave
from tests.support.waiting import until

WITHIN = 30.0


class Work:
    """Pieces of work that are calls; what they return is gathered."""

    def __init__(self, seats: int) -> None:
        self.done: list[Any] = []
        self.seats = Seats(seats)

    def put(self, *pieces: Callable[[], Any]) -> None:
        for piece in pieces:
            self.seats.put(lambda piece=piece: self.done.append(piece()))


def test_each_seat_is_a_thread_and_each_piece_is_done_once() -> None:
    meeting = threading.Barrier(3, timeout=WITHIN)
    work = Work(3)
    work.put(*[meeting.wait] * 30)
    until(lambda: len(work.done) == 30)
    assert Counter(work.done) == {0: 10, 1: 10, 2: 10}


def test_while_one_waits_another_serves_in_its_place() -> None:
    over, waiting, work = threading.Event(), threading.Event(), Work(1)

    def wait() -> str:
        with aside():
            waiting.set()
            over.wait(WITHIN)
        return "waited"

    work.put(wait)
    assert waiting.wait(WITHIN)
    work.put(lambda: "served")
    until(lambda: work.done == ["served"])
    over.set()
    until(lambda: work.done == ["served", "waited"])


def test_who_comes_back_takes_a_seat_and_never_one_more() -> None:
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
        with aside():
            time.sleep(0.005)
        at_work()

    before = threading.active_count()
    work.put(*[wait, at_work] * 50)
    until(lambda: len(work.done) == 100)
    assert most == [2]
    until(lambda: threading.active_count() == before)


def test_who_fails_while_waiting_comes_back_too() -> None:
    work = Work(1)

    def fail() -> str:
        try:
            with aside():
                raise LookupError
        except LookupError:
            return "failed"

    work.put(fail, fail)
    until(lambda: work.done == ["failed"] * 2)


def test_a_thread_that_has_no_seat_waits_where_it_is() -> None:
    before = threading.active_count()
    with aside():
        assert threading.active_count() == before


def test_to_shut_down_is_to_leave_the_rest_to_the_end_of_the_process() -> None:
    work = Work(1)
    work.seats.shutdown(wait=False)
    work.put(lambda: "served")
    until(lambda: work.done == ["served"])


def test_who_leaves_for_good_makes_room_at_once_and_ends_with_what_it_does() -> None:
    over, left, work = threading.Event(), threading.Event(), Work(1)
    before = threading.active_count()

    def wait() -> str:
        leave()
        leave()
        with aside():
            left.set()
        over.wait(WITHIN)
        return "waited"

    work.put(wait)
    assert left.wait(WITHIN)
    assert threading.active_count() == before + 1
    work.put(lambda: "served")
    until(lambda: work.done == ["served"])
    over.set()
    until(lambda: work.done == ["served", "waited"])
    until(lambda: threading.active_count() == before)
    work.put(lambda: "more")
    until(lambda: work.done[-1] == "more")


def test_where_there_is_no_room_for_another_thread_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    work = Work(1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", full)
        work.put(lambda: leave())
        until(lambda: work.done == [None])
    work.put(lambda: "served")
    until(lambda: work.done == [None, "served"])


def test_what_another_is_to_do_takes_a_seat_or_outside_of_a_server_a_thread() -> None:
    work, done = Work(2), []
    work.put(lambda: by_another(lambda: done.append(threading.get_ident())))
    until(lambda: bool(done))
    by_another(lambda: done.append(threading.get_ident()))
    until(lambda: len(done) == 2)
    assert len({*done, threading.get_ident()}) == 3
