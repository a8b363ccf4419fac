"""What a week of looks at 100,000 projects costs: by what a few cost, and by what a look for them costs."""

import time
from datetime import timedelta
from typing import Any

import pytest

from directory.extras.links import hosts, worker
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
