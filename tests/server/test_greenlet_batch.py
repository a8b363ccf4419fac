"""Several pieces of work done by one thread: they wait once for what they have in common, and none for another."""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from directory.db import deadline, group_commit
from directory.server.greenlet_batch import GreenletBatch
from directory.server.thread_pool import ThreadPool
from tests.support.greenlets import shared_pool
from tests.support.waiting import until

WITHIN = 30.0
NAME: ContextVar[str] = ContextVar("NAME")


def share(together: Callable[[list[Any]], None], item: Any) -> None:
    batch = group_commit.batcher.get()
    assert batch is not None
    batch.wait_for_group(together, item)


def run_in_thread(work: Callable[[], Any]) -> Any:
    batch = group_commit.batcher.get()
    assert batch is not None
    return batch.run_in_thread(work)


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
                share(self.together, (name, time))
            self.lines.append(f"{name} ends")

        return do


@pytest.fixture
def log() -> Log:
    return Log()


def do(*works: Callable[[], None], pool: ThreadPool | None = None) -> int:
    """Do them, and count how often it yielded."""
    return sum(1 for _ in GreenletBatch(pool or shared_pool()).run(works))


def test_each_begins_before_any_goes_on_and_what_they_share_is_done_once(log: Log) -> None:
    assert do(log.work("a"), log.work("b"), log.work("none", times=0), log.work("c")) == 2
    assert log.lines == [
        "a begins", "b begins", "none begins", "none ends", "c begins",
        [("a", 0), ("b", 0), ("c", 0)], "a ends", "b ends", "c ends",
    ]  # fmt: skip


def test_one_batch_may_share_several_results(log: Log) -> None:
    other: list[list[str]] = []
    assert do(log.work("a", times=3), log.work("b"), lambda: share(other.append, "x")) == 5
    assert other == [["x"]]
    assert [line for line in log.lines if isinstance(line, list)] == [[("a", 0), ("b", 0)], [("a", 1)], [("a", 2)]]


def test_a_batch_yields_before_it_waits_so_that_finished_greenlets_are_known(log: Log) -> None:
    going = GreenletBatch(shared_pool()).run([log.work("a", times=0), log.work("b")])
    assert next(going) is False
    assert log.lines == ["a begins", "a ends", "b begins"]
    assert list(going) == [True]
    assert log.lines[-1] == "b ends"


def test_only_its_own_works_have_a_batcher(log: Log) -> None:
    assert group_commit.batcher.get() is None
    do(lambda: log.lines.append(group_commit.batcher.get() is not None))
    assert log.lines == [True]
    assert group_commit.batcher.get() is None


def test_each_has_a_context_and_a_deadline_of_its_own() -> None:
    seen: list[Any] = []

    def work(name: str, seconds: float) -> None:
        assert NAME.get(None) is None
        NAME.set(name)
        with deadline.within(seconds):
            share(note, name)
            assert deadline.remaining(100) <= seconds
            seen.append((NAME.get(), deadline.remaining(100) > seconds - 5))

    def note(_names: list[str]) -> None:
        seen.append(NAME.get())

    NAME.set("outside")
    do(partial(work, "a", 20.0), partial(work, "b", 50.0))
    assert seen == ["a", ("a", True), ("b", True)]
    assert NAME.get() == "outside"
    assert deadline.remaining(100) == 100


def test_work_in_another_thread_delays_none_of_the_others_and_has_its_context_and_deadline() -> None:
    let, seen = threading.Event(), []

    def slow() -> None:
        NAME.set("slow")
        with deadline.within(20):
            seen.append(run_in_thread(lambda: (let.wait(WITHIN), NAME.get(), 15 < deadline.remaining(60) <= 20)))

    def quick() -> None:
        seen.append(run_in_thread(lambda: "quick"))
        let.set()

    assert do(slow, quick, lambda: seen.append("neither")) == 3
    assert seen == ["neither", "quick", (True, "slow", True)]


def test_an_exception_in_another_thread_is_raised_in_its_caller(log: Log) -> None:
    def fail() -> None:
        raise KeyError("x")

    def work() -> None:
        with pytest.raises(KeyError, match="x"):
            run_in_thread(fail)
        log.lines.append("told")

    do(work, log.work("a"))
    assert log.lines == ["a begins", [("a", 0)], "a ends", "told"]


def test_a_thread_of_the_pool_leaves_its_slot_to_what_it_waits_for(log: Log) -> None:
    """With one slot, else nothing would ever do it. And no more is done at a time than there are slots."""
    pool, busy, most = ThreadPool(1), [0], [0]

    def heavy() -> None:
        busy[0] += 1
        most[0] = max(most[0], busy[0])
        threading.Event().wait(0.01)
        busy[0] -= 1

    def piece() -> None:
        do(*[lambda: run_in_thread(heavy)] * 5, pool=pool)
        log.lines.append("done")

    before = threading.active_count()
    for _ in range(3):
        pool.submit(piece)
    until(lambda: log.lines == ["done"] * 3)
    assert most == [1]
    until(lambda: threading.active_count() == before)


def test_threads_batch_each_its_own() -> None:
    meet = threading.Barrier(4, timeout=WITHIN)
    batches: list[list[Any]] = []

    def serve(number: int) -> None:
        do(*[lambda: (meet.wait(), share(batches.append, number))] * 3)

    threads = [threading.Thread(target=serve, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN)
    assert sorted(batches) == [[n] * 3 for n in range(4)]
