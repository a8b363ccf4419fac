"""The clock is put forward or back by an hour: nothing of ours sticks. Leases are in test_webhooks_claims."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from limits import parse
from limits.strategies import MovingWindowRateLimiter

from directory.http.rate_limit_storage import ProcessMemory, Redis
from directory.models import base
from directory.services.accounts.sessions import IDLE
from tests.support import servers
from tests.support.browsers import Browser
from tests.support.factories import Api, World

LIMIT = parse("3 per 2 seconds")


class Clock:
    """What the service takes for the time: right, but for what it was put forward or back."""

    def __init__(self) -> None:
        self.offset, self._true = 0.0, time.time

    def time(self) -> float:
        return self._true() + self.offset

    def now(self, tz: Any = None) -> datetime:
        return datetime.fromtimestamp(self.time(), tz)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "time", made.time)
    monkeypatch.setattr(base, "datetime", made)
    return made


@pytest.fixture(params=["memory", "redis"])
def storage(request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        yield ProcessMemory()
        return
    with servers.or_skip():
        url = servers.url_of(servers.REDIS)
    made = Redis(url)
    yield made
    made.storage.close()


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_limit_holds_for_a_window_after_the_jump_at_most(storage: Any, clock: Clock, jump: int) -> None:
    limiter, caller = MovingWindowRateLimiter(storage), f"caller{jump}{time.time()}"
    assert [limiter.hit(LIMIT, caller) for _ in range(4)] == [True, True, True, False]
    clock.offset = jump
    give_up = time.monotonic() + 20
    while not limiter.hit(LIMIT, caller):
        assert time.monotonic() < give_up
        time.sleep(0.1)
    assert [limiter.hit(LIMIT, caller) for _ in range(4)].count(True) <= 3


def test_a_limit_in_memory_still_holds_when_the_clock_was_put_back(clock: Clock) -> None:
    limiter = MovingWindowRateLimiter(ProcessMemory())
    hourly = parse("3 per hour")
    assert [limiter.hit(hourly, "caller") for _ in range(3)] == [True] * 3
    clock.offset = -3600
    assert [limiter.hit(hourly, "caller") for _ in range(3)] == [False] * 3


@pytest.mark.parametrize("jump", [3600, -3600])
def test_sessions_and_tokens_outlive_a_jump(app: Any, world: World, clock: Clock, jump: int) -> None:
    world.user("ada")
    browser, token = Browser(app).sign_in("ada"), world.caller(world.user())
    clock.offset = jump
    assert browser.get("/api/auth/me").status_code == 200
    assert token.get("/api/auth/me").status_code == 200
    clock.offset = 0
    assert browser.get("/api/auth/me").status_code == 200


def test_the_clock_of_these_tests_is_the_services(app: Any, world: World, clock: Clock) -> None:
    world.user("ada")
    browser = Browser(app).sign_in("ada")
    clock.offset = (IDLE + timedelta(minutes=1)).total_seconds()
    assert base.now() > datetime.now(UTC) + IDLE
    assert browser.get("/api/auth/me").status_code == 401
    assert Api(app).get("/api/projects").status_code == 200
