"""A batcher of votes without a server."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask

from directory.db.transactions import transaction
from directory.http.wsgi import Response
from directory.server.protocol import Request
from directory.server.thread_pool import ThreadPool
from directory.server.vote_batching import VoteBatcher
from directory.services.accounts import api_tokens, sessions
from directory.services.identity import Caller
from tests.support.factories import World
from tests.support.reading import parsed
from tests.support.waiting import until

VOTES = {"projects.toggle_vote", "projects.cast_vote", "projects.withdraw_vote"}


class Timer:
    """A call of the loop's that is due at an instant, unless it is cancelled."""

    def __init__(self, due: float, do: Callable[[], object]) -> None:
        self.due, self.do = due, do

    def cancel(self) -> None:
        self.due = float("inf")


class Batches:
    """A batcher whose loop is this thread; requests that are left to the application are in `alone`."""

    def __init__(self, app: Flask) -> None:
        self.deferred: list[Callable[[], None]] = []
        self.timers: list[Timer] = []
        self.answers: dict[Request, Any] = {}
        self.alone: list[Request] = []
        loop: Any = self
        self.batcher = VoteBatcher(
            app, ThreadPool(2), loop, deliver=self.answers.__setitem__, alone=self.alone.append
        )  # fmt: skip

    def call_soon_threadsafe(self, do: Any, *given: Any) -> None:
        self.deferred.append(partial(do, *given))

    def call_later(self, seconds: float, do: Any) -> Timer:
        self.timers.append(Timer(time.monotonic() + seconds, do))
        return self.timers[-1]

    def serve(self, *requests: Request) -> list[int | str]:
        """The statuses of the answers to requests that come at once, or what came of them."""
        for each in requests:
            assert self.batcher.take(each)
        self.batcher.start()
        until(lambda: self.run_loop() and all(each in self.answers or each in self.alone for each in requests))
        return [self.told(each) for each in requests]

    def run_loop(self) -> bool:
        """Do what the loop would."""
        while self.deferred:
            self.deferred.pop(0)()
        due = [timer for timer in self.timers if timer.due <= time.monotonic()]
        self.timers = [timer for timer in self.timers if timer not in due and timer.due < float("inf")]
        for timer in due:
            timer.do()
        return True

    def told(self, request: Request) -> int | str:
        """The status of the response to a request, or what came of it."""
        outcome = self.answers.get(request, "alone")
        return int(outcome.status[:3]) if isinstance(outcome, Response) else str(outcome)


def vote(world: World, project: int, **headers: str) -> Request:
    """A vote that has come, by a new member who has been seen unless other headers are given."""
    if not headers:
        caller = world.caller(world.user())
        assert caller.get("/api/auth/me").status_code == 200
        headers = {"Authorization": f"Bearer {caller.token}"}
    return parsed(f"/api/projects/{project}/upvote", "POST", **headers)


def proofs_of(app: Flask, user: Caller) -> tuple[str, str]:
    """A token and a cookie of a user."""
    with app.app_context():
        token = transaction(lambda: api_tokens.issue("x", None, by=user))["token"]
        return token, transaction(lambda: sessions.begin(user.id, user_agent="x"))
