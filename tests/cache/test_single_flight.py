"""Threads that need the same work share one run of it, and none gets the result of a run that began before it came."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from flask import Flask

from directory.cache.single_flight import SingleFlight
from directory.db import deadline
from tests.support.caching import cache_of
from tests.support.factories import Api, World
from tests.support.waiting import until


def test_those_who_come_during_a_run_share_the_next_one() -> None:
    flights, runs, begun, go = SingleFlight(), list[int](), Event(), Event()

    def work() -> int:
        runs.append(len(runs))
        number = len(runs)
        begun.set()
        assert go.wait(30)
        return number

    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(flights.run, "key", work)
        assert begun.wait(30)
        others = [pool.submit(flights.run, "key", work) for _ in range(4)]
        until(lambda: flights._flights["key"].callers == 5)
        assert flights.run("other", lambda: 7) == 7
        go.set()
        assert [first.result(30), *(each.result(30) for each in others)] == [1, 2, 2, 2, 2]
    assert flights._flights == {}


def test_an_error_is_that_of_its_run_alone() -> None:
    flights, begun, go = SingleFlight(), Event(), Event()

    def fail() -> int:
        begun.set()
        assert go.wait(30)
        raise KeyError("x")

    with ThreadPoolExecutor(3) as pool:
        failing = pool.submit(flights.run, "key", fail)
        assert begun.wait(30)
        waiting = [pool.submit(flights.run, "key", lambda: 1) for _ in range(2)]
        until(lambda: flights._flights["key"].callers == 3)
        go.set()
        with pytest.raises(KeyError):
            failing.result(30)
        assert [each.result(30) for each in waiting] == [1, 1]
    assert flights._flights == {}


def test_who_has_waited_long_enough_runs_alone() -> None:
    flights = SingleFlight()

    def slow() -> int:
        with deadline.within(0.02):
            return flights.run("key", lambda: 2)

    with ThreadPoolExecutor(1) as pool:
        assert flights.run("key", lambda: pool.submit(slow).result(30)) == 2


@pytest.mark.response_cache
def test_of_many_who_need_a_stale_page_one_makes_it(app: Flask, world: World, api: Api, monkeypatch: Any) -> None:
    cache, voter = cache_of(app), world.caller(world.user())
    project = world.project()
    api.get("/api/projects?sort=upvotes")
    voter.post(f"/api/projects/{project}/upvote")
    make, made = cache.make, list[Any]()

    def slow(*given: Any) -> Any:
        made.append(given)
        key = given[0].key
        until(lambda: cache._flights._flights[key].callers == 6)
        return make(*given)

    monkeypatch.setattr(cache, "make", slow)
    with ThreadPoolExecutor(6) as pool:
        answers = [*pool.map(lambda _: Api(app).get("/api/projects?sort=upvotes").json, range(6))]
    assert [answer["items"][0]["upvotes"] for answer in answers] == [1] * 6
    assert len(made) <= 2, "one for the first, and one for all that came meanwhile, where anything was written"
