"""Several pieces of work done by one thread: they wait once for what they have in common, and none for another."""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from directory.db import deadline
from directory.server import greenlets
from directory.server.thread_pool import Seats
from tests.support.waiting import until

WITHIN = 30.0
WHO: ContextVar[str] = ContextVar("WHO")


class Log:
    """What has happened, in its order."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def together(self, items: list[Any]) -> None:
        self.lines.append(items)

    def work(self, name: str, times: int = 1) -> Callable[[], None]:
        def do() -> None:
            self.lines.append(f"{name} begins")
            for time in range(times):
                greenlets.share(self.together, (name, time))
            self.lines.append(f"{name} ends")

        return do


@pytest.fixture
def log() -> Log:
    return Log()


def do(*works: Callable[[], None]) -> int:
    """Do them, and say how often it was given."""
    return sum(1 for _ in greenlets.run(works))


def test_each_begins_before_any_goes_on_and_what_they_share_is_done_once(log: Log) -> None:
    assert do(log.work("a"), log.work("b"), log.work("none", times=0), log.work("c")) == 2
    assert log.lines == [
        "a begins", "b begins", "none begins", "none ends", "c begins",
        [("a", 0), ("b", 0), ("c", 0)], "a ends", "b ends", "c ends",
    ]  # fmt: skip


def test_they_may_share_again_and_other_things(log: Log) -> None:
    other: list[list[str]] = []
    assert do(log.work("a", times=3), log.work("b"), lambda: greenlets.share(other.append, "x")) == 5
    assert other == [["x"]]
    assert [line for line in log.lines if isinstance(line, list)] == [[("a", 0), ("b", 0)], [("a", 1)], [("a", 2)]]


def test_it_gives_before_it_waits_so_that_those_that_have_ended_are_known(log: Log) -> None:
    going = greenlets.run([log.work("a", times=0), log.work("b")])
    assert next(going) is False
    assert log.lines == ["a begins", "a ends", "b begins"]
    assert list(going) == [True]
    assert log.lines[-1] == "b ends"


def test_a_thread_that_serves_one_does_everything_at_once(log: Log) -> None:
    assert not greenlets.is_here()
    greenlets.share(log.together, 1)
    assert log.lines == [[1]]
    assert greenlets.aside(lambda: threading.get_ident()) == threading.get_ident()
    do(lambda: log.lines.append(greenlets.is_here()))
    assert log.lines == [[1], True]
    assert not greenlets.is_here()


def test_each_has_a_context_and_a_time_of_its_own(log: Log) -> None:
    seen: list[Any] = []

    def work(name: str, seconds: float) -> None:
        assert WHO.get(None) is None
        WHO.set(name)
        with deadline.within(seconds):
            greenlets.share(lambda_, name)
            assert deadline.left(100) <= seconds
            seen.append((WHO.get(), deadline.left(100) > seconds - 5))

    def lambda_(_names: list[str]) -> None:
        seen.append((WHO.get(), deadline.left(100)))

    WHO.set("outside")
    do(partial(work, "a", 20.0), partial(work, "b", 50.0))
    assert seen == [("a", 100), ("a", True), ("b", True)]
    assert WHO.get() == "outside"
    assert deadline.left(100) == 100


def test_who_goes_aside_keeps_none_of_the_others_waiting_nor_its_context_and_time_from_it() -> None:
    let, seen = threading.Event(), []

    def slow() -> None:
        WHO.set("slow")
        with deadline.within(20):
            seen.append(greenlets.aside(lambda: (let.wait(WITHIN), WHO.get(), 15 < deadline.left(60) <= 20)))

    def quick() -> None:
        seen.append(greenlets.aside(lambda: "quick"))
        let.set()

    assert do(slow, quick, lambda: seen.append("neither")) == 3
    assert seen == ["neither", "quick", (True, "slow", True)]


def test_what_is_raised_aside_is_raised_by_who_went(log: Log) -> None:
    def fail() -> None:
        raise KeyError("x")

    def work() -> None:
        with pytest.raises(KeyError, match="x"):
            greenlets.aside(fail)
        log.lines.append("told")

    do(work, log.work("a"))
    assert log.lines == ["a begins", [("a", 0)], "a ends", "told"]


def test_a_thread_of_the_server_leaves_its_seat_to_what_it_waits_for(log: Log) -> None:
    """With one seat: else nobody would ever do it. And no more is done at a time than there are seats."""
    seats, busy, most = Seats(1), [0], [0]

    def heavy() -> None:
        busy[0] += 1
        most[0] = max(most[0], busy[0])
        threading.Event().wait(0.01)
        busy[0] -= 1

    def piece() -> None:
        do(*[lambda: greenlets.aside(heavy)] * 5)
        log.lines.append("done")

    before = threading.active_count()
    for _ in range(3):
        seats.put(piece)
    until(lambda: log.lines == ["done"] * 3)
    assert most == [1]
    until(lambda: threading.active_count() == before)


def test_threads_gather_each_its_own(log: Log) -> None:
    meet = threading.Barrier(4, timeout=WITHIN)
    batches: list[list[Any]] = []

    def serve(number: int) -> None:
        do(*[lambda: (meet.wait(), greenlets.share(batches.append, number))] * 3)

    threads = [threading.Thread(target=serve, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN)
    assert sorted(batches) == [[n] * 3 for n in range(4)]
