"""How often an operation waits for the database server: what counts where that is some distance away."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.engine import make_url

from directory.cache import responder, snapshot_source
from directory.extensions import db
from tests.conftest import Database, build
from tests.support.caching import close_snapshots
from tests.support.calls import submission
from tests.support.factories import Api, World
from tests.support.members import bearer, by_loop, by_wsgi, cookie
from tests.support.reading import fast_path, parsed, together_in_loop
from tests.support.wire import Wire

pytestmark = [pytest.mark.response_cache, pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)]
Send = Callable[[], tuple[int, Any, bytes]]


@pytest.fixture(autouse=True)
def _slow_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the loop answers on a busy machine too."""
    monkeypatch.setattr(snapshot_source, "LOOP_TIMEOUT", 0.9)
    monkeypatch.setattr(responder, "LOOP_QUERY_SECONDS", 60.0)


@pytest.fixture
def wire(database: Database) -> Iterator[Wire]:
    with Wire(make_url(database.url).port or 0) as made:
        yield made


@pytest.fixture
def distant(database: Database, wire: Wire) -> Iterator[Flask]:
    """The application over the wire."""
    app = build(make_url(database.url).set(port=wire.port).render_as_string(hide_password=False))
    yield app
    close_snapshots(app)
    with app.app_context():
        db.engine.dispose()


class Operations:
    """What is asked, and what it takes: `first` once, to open connections and to prepare statements."""

    def __init__(self, app: Flask, world: World) -> None:
        self.app, self.fast, self.world, self.numbers = app, fast_path(app), world, count(1)
        owner, member = world.user("ada"), world.user("bob")
        self.project, self.mine = world.project(), world.project(owner)
        self.pending = [world.project(owner, "pending") for _ in range(4)]
        self.callers = {
            "": {}, "token": bearer(world, member), "cookie": cookie(app, "bob"),
            "owner": bearer(world, owner), "admin": bearer(world, world.admin()),
        }  # fmt: skip
        for headers in self.callers.values():  # records the first use
            by_wsgi(app, "/api/auth/me", headers)

    def read(self, path: str, caller: str = "") -> Any:
        answer = by_loop(self.fast, path, self.callers[caller])
        return answer or by_wsgi(self.app, path, self.callers[caller])

    def send(self, method: str, path: str, caller: str) -> Any:
        return by_wsgi(self.app, path, self.callers[caller], method)

    def submit(self) -> Any:
        body, headers = submission(self.world, next(self.numbers)), self.callers["token"]
        answer = Api(self.app).post("/api/projects", body, headers=headers)
        return answer.status_code, answer.headers, answer.data


def trips(wire: Wire, operation: Callable[[], Any]) -> int:
    """The round trips of an operation that has been done twice already."""
    for _ in range(2):
        assert operation()[0] in {200, 201, 204}
    before = wire.round_trips
    assert operation()[0] in {200, 201, 204}
    return wire.round_trips - before


def test_each_operation_takes_so_many_round_trips(distant: Flask, world: World, wire: Wire) -> None:
    does = Operations(distant, world)
    one, page = f"/api/projects/{does.project}", "/api/projects"

    def vote_and(path: str, caller: str) -> Callable[[], Any]:
        """A read after a vote, of which the vote is counted too."""

        def both() -> Any:
            does.send("POST", f"{one}/upvote", "token")
            return does.read(path, caller)

        return both

    vote = trips(wire, lambda: does.send("POST", f"{one}/upvote", "token"))
    measured = {
        "vote": vote,
        "list": trips(wire, lambda: does.read(page)),
        "one": trips(wire, lambda: does.read(one)),
        "list_me by token": trips(wire, lambda: does.read(page, "token")),
        "list_me by cookie": trips(wire, lambda: does.read(page, "cookie")),
        "one_me by token": trips(wire, lambda: does.read(one, "token")),
        "one_me by cookie": trips(wire, lambda: does.read(one, "cookie")),
        "list after a vote": trips(wire, vote_and(page, "")) - vote,
        "list_me after a vote": trips(wire, vote_and(page, "token")) - vote,
        "one_me after a vote": trips(wire, vote_and(one, "token")) - vote,
        "the owner's project": trips(wire, lambda: does.send("GET", f"/api/projects/{does.mine}", "owner")),
        "list of an administrator": trips(wire, lambda: does.send("GET", page, "admin")),
        "queue": trips(wire, lambda: does.send("GET", "/api/admin/projects", "admin")),
        "me": trips(wire, lambda: does.send("GET", "/api/auth/me", "token")),
        "submission": trips(wire, does.submit),
        "decision": trips(wire, lambda: does.send("PUT", f"/api/admin/projects/{does.pending.pop()}/approve", "admin")),
    }
    assert measured == {
        "vote": 2,
        "list": 1,
        "one": 1,
        "list_me by token": 1,
        "list_me by cookie": 1,
        "one_me by token": 1,
        "one_me by cookie": 1,
        "list after a vote": 2,
        "list_me after a vote": 3,
        "one_me after a vote": 1,
        "the owner's project": 1,
        "list of an administrator": 1,
        "queue": 5,
        "me": 2,
        "submission": 8,  # the search index, the log and the facts for rules wait for what is read next
        "decision": 6,  # what it writes goes with what it answers; then the caller's role, right before the commit
    }


def test_members_and_others_of_one_iteration_share_their_round_trips(distant: Flask, world: World, wire: Wire) -> None:
    does = Operations(distant, world)
    for caller in ("", "token", "token"):
        does.read("/api/projects", caller)
    paths = [("/api/projects", caller) for caller in ("", "", "token", "cookie", "token")]
    requests = [parsed(path, **does.callers[caller]) for path, caller in paths]
    before = wire.round_trips
    answers = together_in_loop(does.fast, requests)
    assert wire.round_trips - before == 1
    assert [answer is not None and answer.status for answer in answers] == [b"200 OK"] * 5


def test_members_of_an_iteration_are_bounded(distant: Flask, world: World, monkeypatch: Any) -> None:
    monkeypatch.setattr(responder, "READERS_MAX", 2)
    does = Operations(distant, world)
    requests = [parsed(f"/api/projects/{does.project}", **does.callers["token"]) for _ in range(3)]
    assert [answer is None for answer in together_in_loop(does.fast, requests)] == [False, False, True]
