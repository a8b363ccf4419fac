"""What a week of looks at 100,000 projects costs: by what a few cost, and by what a look for them costs."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from directory.extras.links import hosts, states, worker
from tests.extras.links.looks import Directory
from tests.extras.links.site import Site, asking

PROJECTS, WEEK = 100_000, timedelta(days=7)
MOST = 0.05  # of a core
FEW = 10


def test_a_week_of_looks_takes_little_of_a_core(
    directory: Directory, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "BETWEEN", timedelta(0))
    own = asking()
    turns = hosts.Turns(directory.app.app_context, time.sleep)
    for number in range(FEW):
        directory.world.project(url=site.url(f"/{number}"), repository_url=site.url(f"/{number}/code"))
    began = time.process_time()
    for watch in directory.take(FEW):
        worker.look(directory.app, watch, asking(turn=turns))
    of_looks = (time.process_time() - began) / FEW * PROJECTS / WEEK.total_seconds()
    idle: Any = worker.Worker(directory.app)
    idle.turn(own)
    began = time.process_time()
    for _ in range(FEW):
        assert idle.turn(own) == 0
    of_waiting = (time.process_time() - began) / FEW / worker.POLL
    assert of_looks + of_waiting < MOST


def test_a_week_of_looks_is_even() -> None:
    began = datetime(2026, 11, 2, tzinfo=UTC)
    ends_at, due = began + WEEK, dict.fromkeys(range(1, PROJECTS + 1), began)
    first = {number: states.next_turn(number, began, WEEK.days) for number in due}  # when they are given their turns
    by_hour, looks = Counter[int](), Counter[int]()
    for number, at in first.items():
        while at < ends_at:
            by_hour[int((at - began).total_seconds() // 3600)] += 1
            looks[number] += 1
            at = states.next_turn(number, at, WEEK.days)
    assert {*looks.values()} == {1}
    assert len(looks) == PROJECTS
    assert all(0.95 < number / (PROJECTS / WEEK.days / 24) < 1.05 for number in by_hour.values())
    assert len(by_hour) == WEEK.days * 24
