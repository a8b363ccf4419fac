"""Group commit: several writes in one transaction, each of which gets its own result, or its own error, in time."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.db import deadline
from directory.db.group_commit import GroupCommit
from directory.errors import Unavailable
from directory.extensions import db
from directory.server.thread_pool import ThreadPool
from tests.support.greenlets import gather
from tests.support.waiting import until

WITHIN = 30.0


class Work:
    """Doubles numbers, and notes how it was asked."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.batches: list[list[int]] = []
        self.alone: list[int] = []
        self.fails: Callable[[list[int]], None] = lambda _items: None
        self.hinders: Callable[[int], object] = lambda _item: None
        self.repeatable: set[int] = set()
        self.left: list[float] = []
        self.combined: GroupCommit[int, int] = GroupCommit(self._alone, self._together, self.repeatable.__contains__)

    def _alone(self, item: int) -> int:
        self.alone.append(item)
        self.hinders(item)
        return 2 * item

    def _together(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.left.append(deadline.remaining(60))
        self.fails(items)
        return [2 * item for item in items]

    def told(self, *items: int, seconds: list[float] | None = None, pool: ThreadPool | None = None) -> list[Any]:
        return gather(self.app, *[partial(self.combined, item) for item in items], seconds=seconds, pool=pool)


@pytest.fixture
def work(app: Flask) -> Work:
    return Work(app)


def failed(app: Flask) -> DBAPIError:
    """An error that the database itself tells."""
    with app.app_context(), pytest.raises(DBAPIError) as caught:
        db.session.execute(text("SELECT * FROM nowhere"))
    return caught.value


def test_several_items_are_committed_together_and_each_gets_its_own_result(work: Work) -> None:
    assert work.told(1, 2, 2, 5, 4) == [2, 4, 4, 10, 8]
    assert work.batches == [[1, 2, 2, 5, 4]]
    assert work.alone == []


def test_an_item_without_others_is_committed_alone(app: Flask, work: Work) -> None:
    with app.app_context():
        assert work.combined(7) == 14
    assert (work.batches, work.alone) == ([], [7])


def test_each_of_many_threads_gets_its_own_result(work: Work) -> None:
    told: list[bool] = []

    def serve(thread: int) -> None:
        for start in range(thread * 1000, thread * 1000 + 300, 6):
            items = range(start, start + 6)
            told.append(work.told(*items) == [2 * item for item in items])

    threads = [threading.Thread(target=serve, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True] * 400
    done = [item for batch in work.batches for item in batch]
    assert sorted(done) == sorted(n * 1000 + i for n in range(8) for i in range(300))


UNSENT = (DBAPIError("x", None, Exception("connection refused")), PoolTimeout(), Unavailable())


@pytest.mark.parametrize("kind", range(4))
def test_the_items_of_a_failed_batch_are_committed_one_by_one(
    app: Flask, work: Work, kind: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The database refused it, or was not even asked."""
    error = [failed(app), *UNSENT][kind]
    caplog.set_level("INFO", "directory.db.group_commit")

    def fails(_items: list[int]) -> None:
        raise error

    work.fails = fails
    assert work.told(2, 3, 4) == [4, 6, 8]
    assert sorted(work.alone) == [2, 3, 4]
    assert [record.message for record in caplog.records] == ["not done together"]


@pytest.mark.parametrize("kind", ["lost", "fault", "end"])
def test_an_item_that_may_have_been_committed_is_repeated_only_where_that_is_harmless(
    app: Flask, work: Work, kind: str
) -> None:
    """And the next are served, whatever it was."""
    refused = failed(app)
    error = {
        "lost": DBAPIError("x", None, refused.orig or refused, connection_invalidated=True),
        "fault": KeyError("ours"),
        "end": SystemExit(),
    }[kind]

    def fails(items: list[int]) -> None:
        if 2 in items:
            raise error

    work.fails = fails
    work.repeatable.add(4)
    assert work.told(2, 3, 4) == [error, error, 8]
    assert work.alone == [4]
    assert work.told(5, 6) == [10, 12]


def test_an_item_that_is_stuck_delays_none_of_the_others(app: Flask, work: Work) -> None:
    ended: list[int] = []
    others = threading.Event()

    def fails(_items: list[int]) -> None:
        raise Unavailable

    def hinders(item: int) -> None:
        if item == 1:
            assert others.wait(WITHIN)

    def ask(item: int) -> None:
        work.combined(item)
        ended.append(item)
        if len(ended) == 3:
            others.set()

    work.fails, work.hinders = fails, hinders
    assert gather(app, *[partial(ask, item) for item in (1, 2, 3, 4)]) == [None] * 4
    assert ended[-1] == 1


def test_an_item_past_its_deadline_is_not_tried_again(work: Work) -> None:
    def fails(_items: list[int]) -> None:
        time.sleep(0.2)
        raise Unavailable

    work.fails = fails
    told = work.told(1, 2, seconds=[0.1, 60])
    assert isinstance(told[0], Unavailable)
    assert told[1] == 4
    assert work.alone == [2]


def test_an_item_that_gets_its_turn_past_its_deadline_does_not_begin(work: Work) -> None:
    def fails(_items: list[int]) -> None:
        raise Unavailable

    work.fails = fails
    work.hinders = lambda _item: time.sleep(0.3)
    pool, told = ThreadPool(1), []
    pool.submit(lambda: told.append(work.told(1, 2, 3, seconds=[0.2, 0.2, 60], pool=pool)))
    until(lambda: bool(told))
    assert told[0][0] == 2
    assert isinstance(told[0][1], Unavailable)
    assert told[0][2] == 6
    assert work.alone == [1, 3]


def test_a_batch_takes_no_longer_than_its_shortest_deadline(work: Work) -> None:
    assert work.told(0, 1, 2, seconds=[20.0, 7.0, 13.0]) == [0, 2, 4]
    assert 5 < work.left[0] <= 7
    with deadline.within(20):
        with deadline.expiring_at(time.monotonic() + 5):
            assert deadline.remaining(60) <= 5
        with deadline.expiring_at(time.monotonic() + 50):
            assert deadline.remaining(60) <= 20
        assert 19 < deadline.remaining(60) <= 20
    with deadline.expiring_at(time.monotonic() + 5):
        assert deadline.remaining(60) <= 5
    assert deadline.remaining(60) == 60
