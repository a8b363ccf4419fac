"""Work of several threads done at once by one of them: nothing is lost, nobody refused for another or left waiting."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory import combined, patience
from directory.combined import Combined
from directory.database import on_postgresql
from directory.errors import Unavailable
from directory.extensions import db
from tests.conftest import Database, build
from tests.waiting import until

WITHIN = 30.0


class Work:
    """Doubles numbers: together when it is let, and notes how it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.alone: list[int] = []
        self.let = threading.Semaphore(0)
        self.fails: Callable[[list[int]], None] = lambda _items: None
        self.repeatable: set[int] = set()
        self.left: list[float] = []
        self.combined: Combined[int, int] = Combined(self._alone, self._together, self.repeatable.__contains__)

    def _alone(self, item: int) -> int:
        self.alone.append(item)
        return 2 * item

    def _together(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.left.append(patience.left(60))
        assert self.let.acquire(timeout=WITHIN)
        self.fails(items)
        return [2 * item for item in items]

    def queue(self, app: Flask) -> Any:
        with app.app_context():
            return self.combined._queues[db.engine]


class Callers:
    """Threads that have asked for a number each, and what they were told."""

    def __init__(self, app: Flask, work: Work, seconds: float | None = None) -> None:
        self.app, self.work, self.seconds = app, work, seconds
        self.told: dict[int, Any] = {}
        self.threads: list[threading.Thread] = []

    def ask(self, *items: int) -> None:
        """Ask for each in turn; they stand in the queue in this order."""
        for item in items:
            waiting = len(self.work.queue(self.app)._waiting) if self.work.batches else 0
            self.threads.append(threading.Thread(target=self._ask, args=[item], daemon=True))
            self.threads[-1].start()
            until(lambda: bool(self.work.batches))
            if len(self.threads) > 1:
                until(lambda count=waiting: len(self.work.queue(self.app)._waiting) > count)  # type: ignore[misc]

    def _ask(self, item: int) -> None:
        with self.app.app_context():
            try:
                if self.seconds is None:
                    self.told[item] = self.work.combined(item)
                else:
                    with patience.within(self.seconds):
                        self.told[item] = self.work.combined(item)
            except BaseException as error:
                self.told[item] = error

    def end(self) -> dict[int, Any]:
        for thread in self.threads:
            thread.join(WITHIN)
            assert not thread.is_alive()
        return self.told


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody tires of waiting for a turn."""
    monkeypatch.setattr(combined, "MOMENT", WITHIN)


@pytest.fixture
def work(app: Flask) -> Work:
    return Work()


@pytest.fixture
def callers(app: Flask, work: Work) -> Iterator[Callers]:
    callers = Callers(app, work)
    yield callers
    work.let.release(50)
    callers.end()


def failed(app: Flask) -> DBAPIError:
    """An error that the database itself tells."""
    with app.app_context(), pytest.raises(DBAPIError) as caught:
        db.session.execute(text("SELECT * FROM nowhere"))
    return caught.value


@pytest.mark.usefixtures("patient")
def test_who_comes_while_one_is_at_work_is_served_at_once_with_the_others(work: Work, callers: Callers) -> None:
    callers.ask(1, 2, 3, 4)
    work.let.release(2)
    assert callers.end() == {1: 2, 2: 4, 3: 6, 4: 8}
    assert work.batches == [[1], [2, 3, 4]]
    assert work.alone == []


@pytest.mark.usefixtures("patient")
def test_many_threads_each_get_their_own(app: Flask, work: Work) -> None:
    work.let.release(10**6)
    told: list[bool] = []

    def ask(thread: int) -> None:
        with app.app_context():
            told.extend(work.combined(item) == 2 * item for item in range(thread * 1000, thread * 1000 + 300))

    threads = [threading.Thread(target=ask, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True] * 2400
    done = [item for batch in work.batches for item in batch]
    assert sorted(done) == sorted(n * 1000 + i for n in range(8) for i in range(300))


@pytest.mark.usefixtures("patient")
def test_an_answer_that_was_under_way_is_none_to_who_asks_the_same_now(work: Work, callers: Callers) -> None:
    """It may be of before what this caller knows of."""
    callers.ask(7)
    callers.ask(7)
    until(lambda: len(work.queue(callers.app)._waiting) == 1)
    work.let.release(2)
    assert callers.end() == {7: 14}
    assert work.batches == [[7], [7]]


UNSENT = (DBAPIError("x", None, Exception("connection refused")), PoolTimeout(), Unavailable())


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("kind", range(4))
def test_what_was_not_done_together_is_done_by_each_alone(
    app: Flask, work: Work, callers: Callers, kind: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The database refused it, or was not even asked."""
    error = [failed(app), *UNSENT][kind]
    caplog.set_level("INFO", "directory.combined")

    def fails(items: list[int]) -> None:
        if 3 in items:
            raise error

    work.fails = fails
    callers.ask(1, 2, 3, 4)
    work.let.release(2)
    assert callers.end() == {1: 2, 2: 4, 3: 6, 4: 8}
    assert sorted(work.alone) == [2, 3, 4]
    assert [record.message for record in caplog.records] == ["not done together"]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("kind", ["lost", "fault", "end"])
def test_what_may_have_been_done_is_done_again_only_where_that_is_harmless(
    app: Flask, work: Work, callers: Callers, kind: str
) -> None:
    """And the next in the queue are served, whatever it was."""
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
    callers.ask(1, 2, 3, 4)
    work.let.release()
    until(lambda: len(work.batches) == 2)
    callers.ask(5)
    work.let.release(2)
    told = callers.end()
    assert {item: told[item] for item in (1, 4, 5)} == {1: 2, 4: 8, 5: 10}
    assert told[2] is error
    assert isinstance(told[3], Unavailable if kind == "end" else type(error))
    assert work.alone == [4]


def test_who_has_no_time_left_does_not_begin_again(app: Flask, work: Work) -> None:
    def fails(_items: list[int]) -> None:
        time.sleep(0.2)
        raise Unavailable

    work.fails = fails
    work.let.release()
    hurried = Callers(app, work, seconds=0.1)
    hurried.ask(1)
    assert isinstance(hurried.end()[1], Unavailable)
    assert work.alone == []


@pytest.mark.usefixtures("patient")
def test_together_it_takes_no_longer_than_any_of_them_has(app: Flask, work: Work) -> None:
    callers = {seconds: Callers(app, work, seconds=seconds) for seconds in (20.0, 7.0, 13.0)}
    for item, each in enumerate(callers.values()):
        if item:
            each.threads.append(threading.Thread(target=each._ask, args=[item], daemon=True))
            each.threads[-1].start()
            until(lambda count=item: len(work.queue(app)._waiting) == count)  # type: ignore[misc]
        else:
            each.ask(item)
    work.let.release(2)
    assert {item: told for each in callers.values() for item, told in each.end().items()} == {0: 0, 1: 2, 2: 4}
    assert work.batches == [[0], [1, 2]]
    assert 13 < work.left[0] <= 20
    assert work.left[1] <= 7
    with patience.within(20):
        with patience.until(time.monotonic() + 5):
            assert patience.left(60) <= 5
        with patience.until(time.monotonic() + 50):
            assert patience.left(60) <= 20
        assert 19 < patience.left(60) <= 20
    with patience.until(time.monotonic() + 5):
        assert patience.left(60) <= 5
    assert patience.left(60) == 60


def test_a_crowd_goes_one_by_one_where_the_database_is_far(
    app: Flask, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combined, "SOME", 3)
    monkeypatch.setattr(combined, "NEAR", 0.05)
    work.let.release(100)

    def ask(seconds: float, times: int) -> None:
        with app.app_context():
            for _ in range(times):
                work.fails = lambda _items: time.sleep(seconds)
                monkeypatch.setattr(work.combined, "_alone", lambda item: time.sleep(seconds) or 2 * item)
                assert work.combined(4) == 8

    ask(0.06, 3)
    assert len(work.batches) == 3
    ask(0.06, 4)
    with app.app_context():
        far = on_postgresql()
    assert len(work.batches) == (3 if far else 7)  # a file has one writer, however far it is
    ask(0.0, 5)  # the window that has begun has a slow answer in it, but the quickest counts
    assert len(work.batches) == (3 + 5 - 2 if far else 12)


def test_who_waits_too_long_for_a_turn_goes_alone(
    work: Work, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combined, "MOMENT", 0.3)
    callers.ask(1, 2)
    until(lambda: callers.told == {2: 4})
    assert work.alone == [2]
    callers.ask(3)
    work.let.release(2)
    assert callers.end() == {1: 2, 2: 4, 3: 6}
    assert work.batches == [[1], [3]]


def test_what_another_does_is_waited_for_only_as_long_as_the_request_has(
    app: Flask, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combined, "MOMENT", 0.4)
    monkeypatch.setattr(combined, "LONGER", 0.1)
    first, hurried = Callers(app, work), Callers(app, work, seconds=0.6)
    first.ask(1, 2)  # 2 leads next, and takes 3 along
    hurried.threads.append(threading.Thread(target=hurried._ask, args=[3], daemon=True))
    hurried.threads[-1].start()
    until(lambda: len(work.queue(app)._waiting) == 2)
    work.let.release()
    until(lambda: work.batches == [[1], [2, 3]])
    assert isinstance(hurried.end()[3], Unavailable)
    work.let.release()
    assert first.end() == {1: 2, 2: 4}
    assert work.alone == []


@pytest.mark.usefixtures("patient")
def test_each_database_has_a_queue_of_its_own(app: Flask, work: Work, callers: Callers, database: Database) -> None:
    other = build(database.url)
    callers.ask(1)
    work.let.release(2)
    with other.app_context():
        assert work.combined(5) == 10
        db.engine.dispose()
    assert callers.end() == {1: 2}
    assert sorted(work.batches) == [[1], [5]]
