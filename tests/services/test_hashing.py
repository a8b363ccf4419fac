"""Many sign in at once: whoever waits for a turn at hashing holds nothing that the others need."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from directory.db import deadline
from directory.http.password_checks import DOOR
from directory.services.accounts import passwords
from tests.support.factories import PASSWORD, Api, World
from tests.support.waiting import until

LOGINS = 12  # more than there are connections to the database
WITHIN = 60.0


class Hashers(ThreadPoolExecutor):
    """The threads that hash, and how many hashes they were asked for."""

    asked = 0

    def submit(self, *work: Any, **options: Any) -> Any:
        self.asked += 1
        return super().submit(*work, **options)


@pytest.fixture
def hashers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hashers]:
    with Hashers(passwords.AT_ONCE) as hashers:
        monkeypatch.setattr(passwords, "_hashers", hashers)
        yield hashers


@contextmanager
def busy(hashers: Hashers) -> Iterator[None]:
    """No hash is made within this."""
    over = Event()
    for _ in range(passwords.AT_ONCE):
        hashers.submit(over.wait, WITHIN)
    hashers.asked = 0
    try:
        yield
    finally:
        over.set()


def test_reads_and_writes_are_answered_while_more_wait_to_hash_than_there_are_connections(
    make_app: Any, world: World, hashers: Hashers
) -> None:
    app = make_app(THREADS="1")
    world.user("ada")
    project_id, member = world.project(), world.user()
    token = world.caller(member).token
    given = {"login": "ada", "password": PASSWORD}
    with ThreadPoolExecutor(LOGINS) as pool:
        with busy(hashers):
            waiting = [pool.submit(Api(app).post, "/api/auth/login", given) for _ in range(LOGINS)]
            until(lambda: hashers.asked == DOOR, WITHIN)
            caller = Api(app, token)
            assert caller.get("/api/projects").status_code == 200
            assert caller.put(f"/api/projects/{project_id}/upvote").json["upvotes"] == 1
            assert Api(app).get("/healthz").status_code == 200
            assert not any(login.done() for login in waiting)
            assert hashers.asked == DOOR, "the others wait where they hold nothing"
        assert [login.result(WITHIN).status_code for login in waiting] == [200] * LOGINS


def test_who_cannot_be_let_in_within_a_request_s_time_is_told_so(
    make_app: Any, hashers: Hashers, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, given = make_app(), {"login": "nobody", "password": PASSWORD}
    with ThreadPoolExecutor(DOOR) as pool, busy(hashers):
        inside = [pool.submit(Api(app).post, "/api/auth/login", given) for _ in range(DOOR)]
        until(lambda: hashers.asked == DOOR, WITHIN)
        monkeypatch.setattr(deadline, "SECONDS", 0.2)
        refused = Api(app).post("/api/auth/login", given)
        assert (refused.status_code, refused.json["code"]) == (503, "unavailable")
        assert not any(login.done() for login in inside)


def test_a_thread_that_hashes_leaves_the_processor_to_others() -> None:
    passwords.hash_password(PASSWORD)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    seen = passwords._hashers.submit(os.getpriority, os.PRIO_PROCESS, 0).result()
    assert seen == (min(own + 5, 19) if sys.platform == "linux" else own)


@pytest.mark.parametrize(
    ("platform", "own", "asked"),
    [
        ("linux", 0, [(os.PRIO_PROCESS, 0, 5)]), ("linux", 10, [(os.PRIO_PROCESS, 0, 15)]),
        ("linux", 17, [(os.PRIO_PROCESS, 0, 19)]), ("darwin", 0, []),
    ],
)  # fmt: skip
def test_a_thread_that_hashes_gives_way_where_a_thread_can(
    monkeypatch: pytest.MonkeyPatch, platform: str, own: int, asked: list[tuple[int, ...]]
) -> None:
    given: list[tuple[int, ...]] = []

    def forbid(*priority: int) -> None:
        given.append(priority)
        raise PermissionError

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "getpriority", lambda *_: own)
    monkeypatch.setattr(os, "setpriority", forbid)
    passwords._give_way()
    assert given == asked
