"""The counters of the tags: exact whatever changes at once, and locked in one order."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import permutations
from typing import Any

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import Connection, event, select, text

from directory.db.transactions import transaction, writing
from directory.extensions import db
from directory.models import Project, TagCount
from directory.services.data import counter_checks
from directory.services.review import moderation
from tests.support.factories import World
from tests.support.reviewing import restate

on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)


def stored(app: Flask) -> dict[str, int]:
    with app.app_context():
        rows = db.session.execute(select(TagCount.tag, TagCount.live_projects).order_by(TagCount.tag)).all()
        return dict(rows)


def run(app: Flask, *statements: str) -> None:
    with app.app_context():
        transaction(lambda: [db.session.execute(text(each)) for each in statements])


def stated(app: Flask, project_id: int, status: str) -> None:
    with app.app_context():
        transaction(lambda: restate(project_id, status))


def test_the_database_counts_whatever_the_statement(app: Flask, world: World) -> None:
    owner = world.user()
    one, two = world.project(owner, tags=["a", "b"]), world.project(owner, "pending", tags=["b", "c"])
    publish = "status = 'live', published_at = submitted_at"
    stated(app, two, "live")
    run(app, f"UPDATE projects SET {publish}")
    assert stored(app) == {"a": 1, "b": 2, "c": 1}
    run(app, 'UPDATE projects SET tags = \'["c", "b"]\'')
    assert stored(app) == {"a": 0, "b": 2, "c": 2}
    stated(app, one, "rejected")
    run(app, f"UPDATE projects SET status = 'rejected', tags = '[\"d\"]' WHERE id = {one}")
    assert stored(app) == {"a": 0, "b": 1, "c": 1}
    stated(app, one, "live")
    run(app, f"UPDATE projects SET {publish} WHERE id = {one}", f"UPDATE projects SET tags = '[]' WHERE id = {two}")
    assert stored(app) == {"a": 0, "b": 0, "c": 0, "d": 1}
    run(app, f"UPDATE projects SET upvotes = 7, title = 'x' WHERE id = {one}")
    assert stored(app) == {"a": 0, "b": 0, "c": 0, "d": 1}
    run(app, "DELETE FROM projects")
    assert stored(app) == {"a": 0, "b": 0, "c": 0, "d": 0}


@pytest.mark.direct("migrates")
def test_what_is_live_before_the_migration_is_counted_by_it(app: Flask, world: World) -> None:
    for status in ("live", "live", "pending"):
        world.project(status=status, tags=["a", status])
    with app.app_context():
        db.session.remove()
        flask_migrate.downgrade(revision="0008")
        flask_migrate.upgrade()
        assert counter_checks.TAGS.look() == []
    assert stored(app) == {"a": 2, "live": 2}
    world.project(tags=["a"])
    assert stored(app)["a"] == 3


def test_a_vote_touches_no_counter(app: Flask, world: World) -> None:
    project, voter = world.project(tags=["a"]), world.user()
    with app.app_context(), db.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            before = connection.scalar(text("SELECT xmin::text FROM tag_counts"))
        else:
            connection.execute(text("CREATE TRIGGER IF NOT EXISTS refused BEFORE UPDATE ON tag_counts "
                                    "BEGIN SELECT RAISE(ABORT, 'a vote wrote to it'); END"))  # fmt: skip
            connection.commit()
    world.vote(project, voter)
    with app.app_context(), db.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            assert connection.scalar(text("SELECT xmin::text FROM tag_counts")) == before
    assert world.stored(project)["upvotes"] == 1


TAGS = ["a", "b", "c"]


def decided_at_once(app: Flask, batches: list[Callable[[], Any]]) -> list[Exception]:
    """The errors of several pieces of work that begin together, each in a transaction that is not run again."""
    errors: list[Exception] = []
    begin = threading.Barrier(len(batches))

    def work(batch: Callable[[], Any]) -> None:
        with app.app_context():
            begin.wait()
            try:
                with writing():
                    batch()
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@contextmanager
def slow_counting(app: Flask) -> Iterator[None]:
    """Let each tag that is counted take a while, so that transactions meet."""
    slow = "CREATE TRIGGER slow AFTER UPDATE OR INSERT ON tag_counts FOR EACH ROW EXECUTE FUNCTION slow()"
    run(app, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
             "$$ BEGIN PERFORM pg_sleep(0.002); RETURN NULL; END $$", slow)  # fmt: skip
    try:
        yield
    finally:
        run(app, "DROP FUNCTION slow() CASCADE")


@on_postgresql
def test_approvals_that_share_tags_never_wait_for_each_other_in_a_ring(app: Flask, world: World) -> None:
    """Alone and many at once, in several categories, their tags in every order; some of the tags are new."""
    owner, admin = world.user(), world.admin()
    orders = [[*each] for each in permutations(TAGS)]
    world.project(tags=["b"])
    pending = [
        world.project(owner, "pending", tags=order, category=f"category-{n % 3}") for n, order in enumerate(orders * 4)
    ]

    def alone(project: int) -> Callable[[], Any]:
        return lambda: moderation.decide(project, "approve", by=admin, notify=[])

    def together(*projects: int) -> Callable[[], Any]:
        return lambda: moderation.decide_many("approve", dict.fromkeys(projects), by=admin, notify=[])

    with slow_counting(app):
        batches = [together(*pending[n:16:4]) for n in range(4)]
        assert decided_at_once(app, [*batches, *map(alone, pending[16:])]) == []
    assert stored(app) == {"a": 24, "b": 25, "c": 24}
    with app.app_context():
        assert counter_checks.TAGS.look() == []


@on_postgresql
def test_edits_and_deletions_beside_them_do_not_either(app: Flask, world: World) -> None:
    admin = world.admin()
    orders = [[*each] for each in permutations(TAGS)]
    live = [world.project(tags=order, category=f"category-{n % 2}") for n, order in enumerate(orders * 2)]

    def change(project: int, statement: str) -> Callable[[], Any]:
        return lambda: db.session.execute(text(f"{statement} WHERE id = {project}"))

    with slow_counting(app):
        errors = decided_at_once(app, [
            *(change(project, "UPDATE projects SET tags = '[\"c\", \"d\", \"a\"]'") for project in live[:4]),
            *(change(project, "DELETE FROM projects") for project in live[4:8]),
            lambda: moderation.decide_many("unpublish", dict.fromkeys(live[8:]), by=admin, notify=[]),
        ])  # fmt: skip
    assert errors == []
    assert stored(app) == {"a": 4, "b": 0, "c": 4, "d": 4}


def test_the_counters_of_a_batch_are_locked_before_its_first_decision(app: Flask, world: World, migrated: Any) -> None:
    admin = world.admin()
    pending = [world.project(status="pending", tags=["b", "a"]), world.project(status="pending", category="other")]
    seen: list[str] = []

    def note(_conn: Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        found = [word for word in ("FOR NO KEY UPDATE", "count_tag(", "UPDATE projects") if word in statement]
        seen.extend(found)

    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", note)
        transaction(lambda: moderation.decide_many("approve", dict.fromkeys(pending), by=admin, notify=[]))
        event.remove(db.engine, "before_cursor_execute", note)
    if migrated.backend == "postgresql":
        locked = ["FOR NO KEY UPDATE", "FOR NO KEY UPDATE", "count_tag("]  # projects, categories, tags
        assert seen[:4] == [*locked, "UPDATE projects"]
    with app.app_context():
        assert set(db.session.scalars(select(Project.status))) == {"live"}
