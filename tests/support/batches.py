"""A batcher of votes without a server."""

from collections.abc import Callable
from functools import partial
from typing import Any

from flask import Flask
from gunicorn.config import Config

from directory.db.transactions import transaction
from directory.server.application import Application, ReceivedRequest, Response
from directory.server.thread_pool import ThreadPool
from directory.server.vote_batching import VoteBatcher
from directory.services.accounts import sessions
from directory.services.accounts.identity import Caller
from tests.support.factories import World
from tests.support.reading import parsed, received
from tests.support.waiting import until


class Batches:
    """A batcher whose loop is this thread; requests that are left to threads of their own are in `alone`."""

    def __init__(self, app: Flask) -> None:
        self.deferred: list[Callable[[], None]] = []
        self.answers: dict[ReceivedRequest, Any] = {}
        self.alone: list[ReceivedRequest] = []
        self.batcher = VoteBatcher(
            app, Application(app, Config()), ThreadPool(2),
            defer=lambda do, *given: self.deferred.append(partial(do, *given)),
            deliver=self.answers.__setitem__, alone=self.alone.append,
        )  # fmt: skip

    def serve(self, *requests: ReceivedRequest) -> list[int | str]:
        """The statuses of the answers to requests that come at once, or what came of them."""
        for each in requests:
            self.batcher.window.add(each)
        until(lambda: self.run_loop() and all(each in self.answers or each in self.alone for each in requests))
        return [self.told(each) for each in requests]

    def run_loop(self) -> bool:
        """Do what the loop would: a batch starts late where the pause after the one before has not passed."""
        self.batcher.start()
        return self.run_deferred()

    def run_deferred(self) -> bool:
        """Do what the loop was asked to do."""
        while self.deferred:
            self.deferred.pop(0)()
        return True

    def told(self, request: ReceivedRequest) -> int | str:
        """The status of the response to a request, or what came of it."""
        outcome = self.answers.get(request, "alone")
        return int(outcome.status[:3]) if isinstance(outcome, Response) else str(outcome)


def vote(world: World, project: int, **headers: str) -> ReceivedRequest:
    """A vote that has come, by a new member who has been seen unless other headers are given."""
    if not headers:
        caller = world.caller(world.user())
        assert caller.get("/api/auth/me").status_code == 200
        headers = {"Authorization": f"Bearer {caller.token}"}
    return received(parsed(f"/api/projects/{project}/upvote", "POST", **headers))


def proofs_of(app: Flask, user: Caller) -> tuple[str, str]:
    """A token and a cookie of a user."""
    with app.app_context():
        token = transaction(lambda: sessions.issue_token("x", None, by=user))["token"]
        return token, transaction(lambda: sessions.begin(user.id, user_agent="x"))
