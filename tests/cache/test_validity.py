"""Whatever is written, an answer from the cache equals a new answer."""

import random
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask
from sqlalchemy import text

from directory.db.transactions import transaction
from directory.extensions import db
from tests.conftest import Database
from tests.support.caching import cache_of
from tests.support.factories import Api, World
from tests.support.lists import ORDERS, ORDERS_BY_VOTES
from tests.support.voter import race

pytestmark = pytest.mark.response_cache


class Writer:
    """Writes at random, through the API and directly in the database."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.admin = world.caller(world.admin())
        self.members = [world.caller(world.user()) for _ in range(5)]
        for category in ("tools", "games"):
            world.category(category)
        self.projects = [world.project(votes=n % 4, tags=["a"]) for n in range(9)]

    def write(self) -> str:
        """Write something, and return what it was."""
        rare = (self.edit, self.hide, self.show, self.submit, self.rename, self.remove, self.recount, self.sign_in)
        does = self.random.choices((self.vote, *rare), weights=(16, *(1 for _ in rare)))[0]
        does(self.random.choice(self.projects))
        return does.__name__

    def vote(self, project: int) -> None:
        self.random.choice(self.members).post(f"/api/projects/{project}/upvote")

    def edit(self, project: int) -> None:
        given = {"title": f"Title {self.random.random()}", "tags": [self.random.choice("ab")]}
        self.admin.put(f"/api/projects/{project}", given)

    def hide(self, project: int) -> None:
        self.admin.put(f"/api/admin/projects/{project}/unpublish")

    def show(self, project: int) -> None:
        self.admin.put(f"/api/admin/projects/{project}/approve")

    def submit(self, _project: int) -> None:
        self.projects.append(self.world.project(category=self.random.choice(("tools", "games"))))

    def rename(self, _project: int) -> None:
        self.admin.put("/api/admin/categories/tools", {"name": f"Tools {self.random.random()}"})

    def remove(self, project: int) -> None:
        if len(self.projects) > 5:
            self.admin.delete(f"/api/projects/{project}")
            self.projects.remove(project)

    def recount(self, project: int) -> None:
        """Damage a counter directly in the database, and run the command that repairs it."""
        with self.world.app.app_context():
            damage = text("UPDATE projects SET upvotes = upvotes + 3, hot = hot + 1 WHERE id = :id")
            transaction(lambda: db.session.execute(damage, {"id": project}))
        self.world.app.test_cli_runner().invoke(args=["recount"])

    def sign_in(self, _project: int) -> None:
        self.world.user()


@pytest.mark.parametrize("seed", [1, 2])
def test_an_answer_from_the_cache_equals_one_that_is_made_anew(
    app: Flask, world: World, api: Api, database: Database, seed: int
) -> None:
    writer = Writer(world, seed)
    cache = cache_of(app)
    pages = [f"/api/projects?sort={sort}&limit=3&page={page}" for sort in ORDERS for page in (1, 2, 3)]
    others = ("?q=project", "?tag=a&limit=3", "?category=games&sort=upvotes", "?limit=2&q=title&sort=upvotes")
    paths = [*pages, *(f"/api/projects{other}" for other in others), "/api/categories", "/api/projects.atom"]
    done: list[str] = []
    from_store = 0
    for _ in range(50):
        done.append(writer.write())
        for path in [*paths, f"/api/projects/{writer.random.choice(writer.projects)}"]:
            with patch.object(cache, "make", wraps=cache.make) as made:
                cached = api.get(path)
            from_store += not made.called and not path.endswith("atom")
            fresh = api.get(path, headers={"Cookie": "no=cache"})
            assert (cached.status_code, cached.data) == (fresh.status_code, expected(fresh, cached)), (done, path)
    if database.backend == "postgresql":
        assert from_store > 100


def expected(fresh: Any, cached: Any) -> bytes:
    """The body of the fresh answer; a refusal holds the id of its request, so that two of them differ."""
    return cached.data if fresh.status_code == 404 == cached.status_code else fresh.data


def test_an_empty_page_behind_a_cursor_is_valid_only_until_votes_change(app: Flask, world: World, api: Api) -> None:
    first, second = world.project(), world.project()
    for sort in ORDERS_BY_VOTES:
        set_votes(app, first, 3)
        set_votes(app, second, 1)
        cursor = api.get(f"/api/projects?sort={sort}&limit=1").json["pagination"]["next_cursor"]
        path = f"/api/projects?sort={sort}&limit=1&cursor={cursor}"
        set_votes(app, second, 9)
        assert api.get(path).json["items"] == []
        set_votes(app, second, 1)
        assert [item["id"] for item in api.get(path).json["items"]] == [second]


def set_votes(app: Flask, project: int, votes: int) -> None:
    """Set the number of votes directly in the database."""
    with app.app_context():
        counted = text("UPDATE projects SET upvotes = :votes, hot = :votes WHERE id = :id")
        transaction(lambda: db.session.execute(counted, {"votes": votes, "id": project}))


def test_the_next_answer_shows_what_was_acknowledged(world: World, api: Api) -> None:
    bob = world.user()
    project = world.project(bob)
    caller, admin = world.caller(bob), world.caller(world.admin())
    path = f"/api/projects/{project}"

    def shown() -> tuple[Any, ...]:
        listed = api.get("/api/projects").json["items"]
        return api.get(path).status_code, [(item["title"], item["upvotes"]) for item in listed]

    assert shown() == shown()
    title = api.get(path).json["title"]
    caller.post(f"{path}/upvote")
    assert shown() == (200, [(title, 1)])
    admin.put(path, {"title": "Other"})
    assert shown() == (200, [("Other", 1)])
    admin.put("/api/admin/categories/tools", {"name": "Renamed"})
    assert api.get(path).json["category"]["name"] == "Renamed"
    admin.put(f"/api/admin{path.removeprefix('/api')}/unpublish")
    assert shown() == (404, [])


def test_readers_in_one_process_see_what_another_process_wrote(app: Flask, world: World, database: Database) -> None:
    project = world.project()
    tokens = [world.caller(world.user()).token for _ in range(40)]
    wrong: list[Any] = []

    def read(acknowledged: list[int], ended: Event) -> None:
        while not ended.is_set():
            before = acknowledged[-1]
            shown = Api(app).get(f"/api/projects/{project}").json["upvotes"]
            if shown < before:  # a vote that was acknowledged before the request must show
                wrong.append((before, shown))

    acknowledged = race(database.url, project, tokens, read)
    assert acknowledged[-1] == 40
    assert wrong == []
