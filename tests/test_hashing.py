"""Many sign in at once: whoever waits for a turn at hashing holds nothing that the others need."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Any

import pytest

from directory.services import passwords
from tests.factories import PASSWORD, Api, World

LOGINS = 12  # more than there are connections to the database
WITHIN = 60.0


class Turns(BoundedSemaphore):
    """Turns at hashing, and how many have asked for one."""

    asked = 0

    def __enter__(self) -> Any:
        self.asked += 1
        return super().__enter__()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    turns = Turns(2)
    monkeypatch.setattr(passwords, "_turns", turns)
    return turns


def test_reads_and_writes_are_answered_while_more_wait_to_hash_than_there_are_connections(
    make_app: Any, world: World, turns: Turns
) -> None:
    app = make_app(THREADS="1")
    world.user("ada")
    project_id, member = world.project(), world.user()
    token = world.caller(member).token
    given = {"login": "ada", "password": PASSWORD}
    turns.asked = 0
    for _ in range(2):
        turns.acquire()
    with ThreadPoolExecutor(LOGINS) as pool:
        waiting = [pool.submit(Api(app).post, "/api/auth/login", given) for _ in range(LOGINS)]
        give_up = time.monotonic() + WITHIN
        while turns.asked < LOGINS and time.monotonic() < give_up:
            time.sleep(0.01)
        try:
            caller = Api(app, token)
            assert caller.get("/api/projects").status_code == 200
            assert caller.put(f"/api/projects/{project_id}/upvote").json["upvotes"] == 1
            assert Api(app).get("/healthz").status_code == 200
            assert not any(login.done() for login in waiting)
        finally:
            turns.release(2)
        assert [login.result(WITHIN).status_code for login in waiting] == [200] * LOGINS
