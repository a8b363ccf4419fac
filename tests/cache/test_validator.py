"""What makes a kept answer stale: a vote those that show it or are ordered by it, anything else all of them."""

import random
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask
from sqlalchemy import text

from directory.cache.snapshots import Moved, probe
from directory.cache.validator import REMEMBERED, Basis, Changes, Guard
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Project
from tests.conftest import Database
from tests.support.factories import Api, World, lane_of

SORTS = ("newest", "upvotes", "popular")


def changed(*seen: list[Moved] | None) -> Changes:
    changes = Changes()
    for number, moved in enumerate(seen, start=1):
        changes.add(number, moved)
    return changes


def test_a_vote_spoils_what_shows_the_project_and_nothing_else_that_is_not_ordered_by_votes() -> None:
    changes = changed([], [Moved(7, 3, 4)])
    assert not changes.spared(Basis((5, 7)), 1)
    assert changes.spared(Basis((5, 6)), 1)
    assert changes.spared(Basis((5, 7)), 2)
    assert changes.spared(Basis(()), 1)


@pytest.mark.parametrize(
    ("low", "high", "spared"),
    [(5, 9, True), (4, 9, False), (3, 3, False), (1, 2, True), (0, 9, False), (4, 4, False), (0, 3, False)],
)
def test_a_vote_spoils_a_page_in_the_order_of_votes_that_it_could_reach(low: int, high: int, spared: bool) -> None:
    assert changed([], [Moved(7, 3, 4)]).spared(Basis((1,), low, high), 1) is spared


def test_what_may_be_anything_spoils_all_of_before_and_nothing_of_after() -> None:
    changes = changed([], [Moved(7, 3, 4)], None, [Moved(8, 1, 2)])
    assert not any(changes.spared(Basis(()), since) for since in (0, 1, 2))
    assert changes.spared(Basis((7,), 3, 4), 3)
    assert not changes.spared(Basis((8,)), 3)


def test_only_so_much_is_remembered_and_what_is_forgotten_counts_as_changed() -> None:
    changes = changed([], *([Moved(1, 5, 6)] for _ in range(2 * REMEMBERED + 1)))
    assert len(changes._moves) == REMEMBERED + 1
    assert not changes.spared(Basis((), 100, 200), 1)
    assert changes.spared(Basis((), 100, 200), REMEMBERED + 1)
    for number in range(REMEMBERED + 2):
        changes.add(30_000 + number, [Moved(number, 5, 6)])
    assert len(changes._votes) < 2
    assert not changes.spared(Basis((-1,)), 30_000)


def test_every_column_of_a_project_is_noted(app: Flask, database: Database) -> None:
    if database.backend == "sqlite":
        assert_whole_on_sqlite(app)
        return
    query = text(
        "SELECT t.tgname, array_agg(a.attname) FROM pg_trigger t JOIN pg_attribute a "
        "ON a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr) WHERE t.tgname = 'projects_noted' GROUP BY 1"
    )
    with app.app_context():
        [(_, noted)] = db.session.execute(query).all()
        always = db.session.execute(text("SELECT tgname, tgenabled FROM pg_trigger WHERE tgname LIKE '%noted'")).all()
    assert {*noted, "upvotes", "hot", "listed_at"} == {column.name for column in Project.__table__.columns}
    assert len(always) == 7
    assert {how for _, how in always} <= {"A", b"A"}


def assert_whole_on_sqlite(app: Flask) -> None:
    """SQLite tells that there was a write, and so that anything may have changed."""
    with app.app_context():
        seen = probe(db.engine)
    assert seen.read(None, 1.0)[1] is None
    seen.close()


def test_what_no_answer_shows_spoils_none(app: Flask, world: World, api: Api, database: Database) -> None:
    owner = world.user()
    project = world.project(owner)
    guard: Guard = app.extensions["guard"]
    before = guard.moment()
    assert before is not None
    world.caller(owner)
    after = guard.moment()
    assert after is not None
    assert after.number > before.number
    assert after.changes.spared(Basis((project,)), before.number) is (database.backend == "postgresql")


def test_a_lost_connection_spoils_everything(app: Flask, world: World) -> None:
    world.project()
    guard: Guard = app.extensions["guard"]
    before = guard.moment()
    guard.close()
    after = guard.moment()
    assert before is not None
    assert after is not None
    assert not after.changes.spared(Basis(()), before.number)


def test_who_keeps_others_waiting_opens_no_connection(app: Flask) -> None:
    with app.app_context():
        guard = Guard(db.engine)
        assert guard.moment() is not None

        class Turn:
            """Had just now by somebody who lost the connection."""

            def acquire(self, timeout: float) -> bool:
                guard.close()
                return timeout < 1

            def release(self) -> None:
                pass

        with patch.object(guard, "_turn", Turn()):
            assert guard.at_once() is None
        assert guard._probe is None
        assert guard.moment() is not None
        guard.close()


def test_the_account_of_changes_is_pruned_and_whoever_reads_late_is_told(
    app: Flask, world: World, database: Database
) -> None:
    project = world.project()
    if database.backend == "sqlite":
        assert_whole_on_sqlite(app)
        return
    with app.app_context():
        guard = Guard(db.engine)
        first = guard.moment()
        for _ in range(3):
            transaction(lambda: db.session.execute(text("UPDATE projects SET upvotes = upvotes + 1")))
        late, current = Guard(db.engine), guard.moment()
        late._mark, late._moment, late._number = guard._mark, current, current.number
        prune()
        rows = db.session.execute(text("SELECT project_id FROM changes")).all()
        told = late.moment()
        guard.close()
        late.close()
    assert first is not None
    assert current is not None
    assert told is not None
    assert current.changes._votes == {project: current.number}
    assert rows == [(None,)]
    assert not told.changes.spared(Basis(()), current.number)


def prune() -> None:
    """Have a change noted again and again, until one of them deletes the notes before it."""
    noting = text(
        "DO $$ BEGIN LOOP UPDATE categories SET name = name WHERE false; "
        "EXIT WHEN NOT EXISTS (SELECT 1 FROM changes WHERE project_id IS NOT NULL); END LOOP; END $$"
    )
    transaction(lambda: db.session.execute(noting))


class Writer:
    """Writes whatever comes to mind, by the rules and behind their back."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.admin = world.caller(world.admin())
        self.members = [world.caller(world.user()) for _ in range(5)]
        for category in ("tools", "games"):
            world.category(category)
        self.projects = [world.project(votes=n % 4, tags=["a"]) for n in range(9)]

    def write(self) -> str:
        """Something; what it was."""
        rare = (self.edit, self.hide, self.show, self.submit, self.rename, self.remove, self.mend, self.sign_in)
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

    def mend(self, project: int) -> None:
        """Damage a counter, as somebody at the database's own prompt might, and have it mended."""
        with self.world.app.app_context():
            damage = text("UPDATE projects SET upvotes = upvotes + 3, hot = hot + 1 WHERE id = :id")
            transaction(lambda: db.session.execute(damage, {"id": project}))
        self.world.app.test_cli_runner().invoke(args=["recount"])

    def sign_in(self, _project: int) -> None:
        self.world.user()


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_is_written_a_kept_answer_is_what_would_be_made(
    app: Flask, world: World, api: Api, database: Database, seed: int
) -> None:
    writer = Writer(world, seed)
    lane = lane_of(app)
    assert lane is not None
    pages = [f"/api/projects?sort={sort}&limit=3&page={page}" for sort in SORTS for page in (1, 2, 3)]
    others = ("?q=project", "?tag=a&limit=3", "?category=games&sort=upvotes", "?limit=2&q=title&sort=upvotes")
    paths = [*pages, *(f"/api/projects{other}" for other in others), "/api/categories", "/api/projects.atom"]
    done: list[str] = []
    given_again = 0
    for _ in range(50):
        done.append(writer.write())
        for path in [*paths, f"/api/projects/{writer.random.choice(writer.projects)}"]:
            with patch.object(lane, "_made", wraps=lane._made) as made:
                kept = api.get(path)
            given_again += not made.called and not path.endswith("atom")
            fresh = api.get(path, headers={"Cookie": "no=lane"})
            assert (kept.status_code, kept.data) == (fresh.status_code, told(fresh, kept)), (done, path)
    if database.backend == "postgresql":
        assert given_again > 100


def told(fresh: Any, kept: Any) -> bytes:
    """What was made anew; a refusal tells the id of its request."""
    return kept.data if fresh.status_code == 404 == kept.status_code else fresh.data


class Emptied(Changes):
    """Where something is written that may be anything, just before one of its parts is read."""

    part = ""

    def __getattribute__(self, name: str) -> Any:
        if name == super().__getattribute__("part"):
            self.part = ""
            self.add(3, None)
        return super().__getattribute__(name)


@pytest.mark.parametrize("part", ["_everything", "_votes", "_moves", "_complete_since"])
@pytest.mark.parametrize("basis", [Basis((7,)), Basis((5,), 3, 4)])
def test_what_is_emptied_while_it_is_asked_spares_nothing_that_it_would_not_have(part: str, basis: Basis) -> None:
    changes = Emptied()
    changes.add(1, None)
    changes.add(2, [Moved(7, 3, 4)])
    changes.part = part
    assert not changes.spared(basis, 1)


def test_nobody_beyond_a_place_in_the_order_of_votes_is_nobody_only_until_votes_move(
    app: Flask, world: World, api: Api
) -> None:
    first, second = world.project(), world.project()
    for sort in ("upvotes", "popular"):
        give(app, first, 3)
        give(app, second, 1)
        cursor = api.get(f"/api/projects?sort={sort}&limit=1").json["pagination"]["next_cursor"]
        path = f"/api/projects?sort={sort}&limit=1&cursor={cursor}"
        give(app, second, 9)
        assert api.get(path).json["items"] == []
        give(app, second, 1)
        assert [item["id"] for item in api.get(path).json["items"]] == [second]


def give(app: Flask, project: int, votes: int) -> None:
    """Have a project have so many votes, behind the service's back."""
    with app.app_context():
        counted = text("UPDATE projects SET upvotes = :votes, hot = :votes WHERE id = :id")
        transaction(lambda: db.session.execute(counted, {"votes": votes, "id": project}))
