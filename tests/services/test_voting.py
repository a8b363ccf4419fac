"""Votes counted together are what they would be one after the other, and callers looked up together themselves."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask
from psycopg import errors
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.db import deadline
from directory.db.transactions import transaction
from directory.errors import NotFound, Unauthenticated, Unavailable
from directory.extensions import db
from directory.models import AccountStatus, Project, Session, Token, Upvote, User, now
from directory.services.accounts import api_tokens, sessions
from directory.services.catalog.orders import hot
from directory.services.identity import Caller
from directory.services.votes import voting
from directory.services.votes.voting import CountAlone, Vote
from tests.conftest import Database
from tests.support import votes as votes_of
from tests.support.factories import World
from tests.support.votes import gather
from tests.support.waiting import until

on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
ACTIONS = ("toggle", "cast", "withdraw")


def votes() -> set[tuple[int, int]]:
    return {(row.user_id, row.project_id) for row in db.session.execute(select(Upvote.user_id, Upvote.project_id))}


def stand(vote: Vote, there: set[tuple[int, int]]) -> tuple[bool, int]:
    """The result of a vote for a live project, by the rule itself."""
    key = (vote.by.id, vote.project_id)
    wanted = vote.action == "cast" or (vote.action == "toggle" and key not in there)
    (there.add if wanted else there.discard)(key)
    return wanted, sum(project == vote.project_id for _, project in there)


@pytest.mark.parametrize("seed", range(4))
def test_votes_together_are_votes_one_after_the_other(app: Flask, world: World, seed: int) -> None:
    live, waiting = [world.project() for _ in range(4)], world.project(status="pending")
    users = [world.user() for _ in range(4)]
    dice, began = random.Random(seed), now()
    there: set[tuple[int, int]] = set()
    with app.app_context():
        owner = db.session.scalar(select(Project.owner_id).where(Project.id == waiting))
        for size in (1, 2, 5, 40):
            batch = [
                Vote(dice.choice(users), dice.choice([*live, waiting, 10**9]), dice.choice(ACTIONS))
                for _ in range(size)
            ]
            for vote, outcome in zip(batch, voting._together(batch), strict=True):
                if vote.project_id == 10**9:
                    assert outcome is None
                elif vote.project_id == waiting:
                    assert outcome is not None
                    assert (outcome[0], outcome[1], outcome[3]) == ("pending", owner, 0)
                else:
                    assert outcome is not None
                    assert outcome[0] == "live"
                    # Of one project in the order in which they came; different ones do not meet.
                    assert (outcome[2], outcome[3]) == stand(vote, there)
        assert votes() == there
        for cast in db.session.scalars(select(Upvote.created_at)):
            assert began <= cast <= now()
        for project in db.session.scalars(select(Project)):
            assert project.upvotes == sum(each == project.id for _, each in there)
            assert project.hot == pytest.approx(hot(project.upvotes, project.listed_at))


IMPOSSIBLE = 2**70  # an id that neither database takes


def test_a_batch_that_fails_leaves_nothing(app: Flask, world: World) -> None:
    project, user = world.project(), world.user()
    with app.app_context():
        with pytest.raises((DBAPIError, OverflowError)):
            voting._together([Vote(user, project, "cast"), Vote(user, IMPOSSIBLE, "cast")])
        db.session.rollback()
        assert votes() == set()
        assert db.session.scalar(select(Project.upvotes)) == 0


def test_a_vote_that_cannot_be_counted_with_others_harms_none_of_them(app: Flask, world: World) -> None:
    """A batch with a vote that fails is refused whole; then each is counted, or refused, by itself."""
    project, users = world.project(), [world.user() for _ in range(6)]

    for _ in range(3):
        casts = [Vote(by, project, "cast") for by in users]
        told = gather(app, [*casts, *[Vote(users[0], IMPOSSIBLE, "cast")] * 2])
        assert [each["upvoted"] for each in told[:6]] == [True] * 6
        assert all(isinstance(each, DBAPIError | OverflowError) for each in told[6:])
    with app.app_context():
        assert db.session.scalar(select(Project.upvotes)) == db.session.scalar(select(func.count(Upvote.user_id))) == 6


def test_a_voter_who_is_not_active_is_refused_and_the_others_of_the_batch_are_counted(app: Flask, world: World) -> None:
    project, users = world.project(), [world.user() for _ in range(3)]
    gone = [world.user(status="suspended"), Caller(10**9, "ghost", "member")]
    for action, cast in (("cast", votes_of.cast), ("toggle", votes_of.toggle), ("withdraw", votes_of.withdraw)):
        told = gather(app, [Vote(by, project, action) for by in [*users, *gone]])
        assert [type(each) for each in told] == [dict] * 3 + [Unauthenticated] * 2
        with app.app_context():
            for by in gone:
                with pytest.raises(Unauthenticated):
                    cast(project, by=by)
            assert not votes() - {(by.id, project) for by in users}


@on_postgresql
def test_a_project_that_is_held_holds_up_no_vote_for_another(app: Flask, world: World) -> None:
    held, free, users = world.project(), world.project(), [world.user() for _ in range(8)]
    crowd = [Vote(by, project, "cast") for project, by in zip([free, held, *[free] * 6], users, strict=True)]
    with app.app_context(), db.engine.connect() as holder:
        with holder.execution_options(isolation_level="READ COMMITTED").begin():
            holder.execute(text("SELECT 1 FROM projects WHERE id = :id FOR UPDATE").bindparams(id=held))
            told: list[Any] = voting.count(crowd)
            assert isinstance(told[1], CountAlone)
            assert sorted(each["upvotes"] for each in [told[0], *told[2:]]) == [1, 2, 3, 4, 5, 6, 7]
        assert votes_of.counted(crowd[1])["upvotes"] == 1
    assert world.stored(held)["upvotes"] == 1
    assert world.stored(free)["upvotes"] == 7


@on_postgresql
def test_a_batch_locks_its_projects_in_the_order_of_their_ids_and_waits_for_none_of_them_long(
    app: Flask, world: World
) -> None:
    first, second, user = world.project(), world.project(), world.user()
    with app.app_context(), db.engine.connect() as holder, db.engine.connect() as other, ThreadPoolExecutor(1) as pool:
        asked = "SELECT proconfig FROM pg_proc WHERE proname = 'votes'"
        assert "lock_timeout=50" in (other.scalar(text(asked)) or [])
        other.execute(text("ALTER FUNCTION votes SET lock_timeout = '20s'"))
        try:
            with holder.execution_options(isolation_level="READ COMMITTED").begin():
                holder.execute(text("SELECT 1 FROM projects WHERE id = :id FOR UPDATE").bindparams(id=first))

                def vote() -> None:
                    with app.app_context():
                        voting._together([Vote(user, second, "cast"), Vote(user, first, "cast")])

                voted = pool.submit(vote)
                waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
                until(lambda: bool(other.scalar(waits)))
                # It waits for the first, and does not hold the second meanwhile.
                free = text("SELECT 1 FROM projects WHERE id = :id FOR UPDATE SKIP LOCKED").bindparams(id=second)
                assert other.scalar(free) == 1
            voted.result(20)
        finally:
            other.execute(text("ALTER FUNCTION votes SET lock_timeout = '50'"))
        assert votes() == {(user.id, first), (user.id, second)}


@contextmanager
def held(app: Flask, query: str, **values: int) -> Iterator[None]:
    """Another transaction holds the lock that a statement takes."""
    with app.app_context(), db.engine.connect() as connection:
        holder = connection.execution_options(isolation_level="READ COMMITTED")
        with holder.begin():
            holder.execute(text(query).bindparams(**values))
            yield


PROJECT, VOTER = "SELECT 1 FROM projects WHERE id = :id FOR UPDATE", "SELECT 1 FROM users WHERE id = :id FOR UPDATE"


@on_postgresql
@pytest.mark.parametrize("query", [PROJECT, VOTER])
def test_of_votes_together_only_those_are_left_out_that_would_wait_for_a_lock(
    app: Flask, world: World, query: str
) -> None:
    projects, users = [world.project() for _ in range(3)], [world.user() for _ in range(3)]
    locked = projects[1] if query == PROJECT else users[1].id
    casts = [Vote(user, project, "cast") for project, user in zip(projects, users, strict=True)]
    with held(app, query, id=locked), app.app_context():
        first, second, third, missing = voting._together([*casts, Vote(users[0], 10**9, "cast")])
    assert (first and first[2:], third and third[2:], missing) == ((True, 1), (True, 1), None)
    assert isinstance(second, Unavailable)
    with app.app_context():
        assert votes() == {(users[0].id, projects[0]), (users[2].id, projects[2])}


@on_postgresql
def test_while_a_project_is_known_to_be_locked_one_vote_waits_and_the_next_are_refused_at_once(
    app: Flask, world: World, statements: Any
) -> None:
    project, users = world.project(), [world.user() for _ in range(4)]

    def cast(by: Caller) -> Any:
        with app.app_context():
            return votes_of.cast(project, by=by)

    with ThreadPoolExecutor(1) as pool:
        with held(app, PROJECT, id=project), app.app_context():
            waiting = pool.submit(cast, users[0])
            until(lambda: voting._locked()._waited_for == {project})
            statements.clear()
            for user in users[1:]:
                with pytest.raises(Unavailable, match="being changed"):
                    votes_of.cast(project, by=user)
            assert statements == []
        assert waiting.result(20)["upvotes"] == 1
    assert cast(users[1])["upvotes"] == 2
    with app.app_context():
        assert voting._locked()._found == {}


@on_postgresql
@pytest.mark.parametrize("query", [VOTER, "LOCK TABLE projects IN ACCESS EXCLUSIVE MODE"])
def test_another_lock_than_that_of_the_project_stands_in_the_way_of_no_other_vote(
    app: Flask, world: World, query: str
) -> None:
    project, user, other = world.project(), world.user(), world.user()

    def cast(by: Caller) -> Any:
        with app.app_context():
            return votes_of.cast(project, by=by)

    waits = text(
        "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND query LIKE :vote"
    )
    with ThreadPoolExecutor(1) as pool:
        with held(app, query, **({"id": user.id} if query == VOTER else {})), app.app_context():
            waiting = pool.submit(cast, user)
            with db.engine.connect() as watcher:
                until(lambda: watcher.scalar(waits, {"vote": "%FROM vote(%"}))
            assert voting._locked()._found == {}
            if query == VOTER:
                assert cast(other)["upvotes"] == 1
        assert waiting.result(20)["upvoted"] is True


@on_postgresql
def test_a_lock_that_ends_at_the_second_look_is_waited_for_no_longer(app: Flask, world: World) -> None:
    project, user = world.project(), world.user()
    refused = DBAPIError("x", None, errors.LockNotAvailable("x"))
    with app.app_context(), patch.object(voting, "_VOTE_SOON") as soon, patch.object(voting, "_VOTE") as vote:
        soon.first.side_effect = refused
        assert votes_of.cast(project, by=user)["upvotes"] == 1
        assert not vote.first.called


@on_postgresql
def test_a_database_without_the_newer_function_counts_votes_by_the_older_one(app: Flask, world: World) -> None:
    project, user = world.project(), world.user()
    missing = DBAPIError("x", None, errors.UndefinedFunction("x"))
    with app.app_context(), patch.object(voting, "_VOTE_SOON") as soon:
        soon.first.side_effect = missing
        assert votes_of.cast(project, by=user)["upvotes"] == 1


@on_postgresql
@pytest.mark.parametrize("statement", ["_VOTE_SOON", "_VOTES", "_VOTES_IF_FREE"])
def test_what_is_no_lock_is_no_locked_project(app: Flask, world: World, statement: str) -> None:
    project, user = world.project(), world.user()
    failed, refused = DBAPIError("x", None, errors.DiskFull("x")), DBAPIError("x", None, errors.LockNotAvailable("x"))
    with app.app_context(), patch.object(voting, "_VOTE_SOON") as soon, patch.object(voting, statement) as failing:
        soon.first.side_effect = refused
        failing.first.side_effect = failing.all.side_effect = failed
        vote = Vote(user, project, "cast")
        with pytest.raises(DBAPIError, match="DiskFull"):
            voting._together([vote]) if statement == "_VOTES" else voting._on_postgresql(vote)
        assert voting._locked()._found == {}


@on_postgresql
def test_a_database_that_is_not_upgraded_yet_counts_votes_one_by_one(app: Flask, world: World, caplog: Any) -> None:
    """As while an upgrade is under way, and after a step back."""
    project, users = world.project(), [world.user() for _ in range(3)]
    caplog.set_level("INFO", "directory.services.votes.voting")
    with app.app_context():
        signature = "votes(bigint[], bigint[], text[], timestamptz)"
        with db.engine.begin() as connection:
            connection.execute(text(f"ALTER FUNCTION {signature} RENAME TO elsewhere"))
        try:
            told = gather(app, [Vote(user, project, "toggle") for user in users])
            assert sorted(each["upvotes"] for each in told) == [1, 2, 3]
        finally:
            with db.engine.begin() as connection:
                connection.execute(
                    text("ALTER FUNCTION elsewhere(bigint[], bigint[], text[], timestamptz) RENAME TO votes")
                )
        assert [record.reason for record in caplog.records if record.message == "not counted together"] == ["42883"]


@pytest.mark.parametrize("kind", ["token", "cookie"])
def test_callers_are_told_apart_when_they_are_looked_up_together(app: Flask, world: World, kind: str) -> None:
    users = [world.user() for _ in range(5)]
    with app.app_context():
        if kind == "token":
            credentials, model, over = sessions._FIND_BY_TOKEN, Token, {"expires_at": now() - timedelta(seconds=1)}
            secrets = [transaction(lambda by=user: api_tokens.issue("x", None, by=by))["token"] for user in users]
        else:
            credentials, model, over = sessions._FIND_BY_COOKIE, Session, {"last_seen_at": now() - sessions.IDLE}
            secrets = [transaction(lambda of=user: sessions.begin(of.id, user_agent="x")) for user in users]
        hashes = [sessions.digest(each) for each in secrets]
        ended = update(model).where(model.token_hash == hashes[1]).values(over)
        suspended = update(User).where(User.id == users[2].id).values(status=AccountStatus.SUSPENDED)
        transaction(lambda: [db.session.execute(each) for each in (ended, suspended)])
        keys = [*hashes, hashes[0], sessions.digest("unknown"), "", 'a","b', "\\", "{}", "NULL", hashes[4]]
        found = credentials.all([(each,) for each in keys])
        assert found == [credentials.one(each) for each in keys]
        assert [row and row[0] for row in found[:5]] == [users[0].id, None, None, users[3].id, users[4].id]
        assert found[5] == found[0]
        assert found[6:-1] == [None] * 6
        assert credentials.all([(hashes[1],)]) == [None]


def test_a_caller_who_is_put_out_is_out_whoever_asks_beside(app: Flask, world: World, database: Database) -> None:
    """A look-up that began before is no answer to who asked after it."""
    admin = world.caller(world.admin())
    crowd = [world.caller(world.user()) for _ in range(4)]
    victims = [world.user() for _ in range(8)]
    stop: list[bool] = []

    def ask(caller: Any) -> None:
        while not stop:
            assert caller.get("/api/auth/me").status_code == 200

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, caller) for caller in crowd]
        try:
            for victim in victims:
                caller = world.caller(victim)
                assert caller.get("/api/auth/me").status_code == 200
                assert admin.put(f"/api/admin/users/{victim.id}", {"status": "suspended"}).status_code == 200
                assert caller.get("/api/auth/me").status_code == 401
        finally:
            stop.append(True)
        for each in asking:
            each.result(30)


def test_a_vote_for_nothing_is_not_found_in_a_crowd_as_well(app: Flask, world: World) -> None:
    project, users = world.project(), [world.user() for _ in range(8)]
    wanted = [project if n % 2 else 10**9 for n in range(8)]
    told = gather(app, [Vote(user, each, "toggle") for each, user in zip(wanted, users, strict=True)])
    assert [isinstance(each, NotFound) or each["upvoted"] for each in told] == [True] * 8
    assert [isinstance(each, NotFound) for each in told] == [True, False] * 4
    assert world.stored(project)["upvotes"] == 4


@on_postgresql
def test_a_vote_for_which_no_time_is_left_is_not_sent(app: Flask, world: World) -> None:
    """The server might count it after its caller was told that it is not, and who tries again would take it back."""
    project, user = world.project(), world.user()
    with app.app_context():
        backends = text("SELECT pg_backend_pid()")
        before = db.session.scalar(backends)
        with deadline.within(-0.1), pytest.raises(PoolTimeout, match="no time left"):
            votes_of.toggle(project, by=user)
        assert votes() == set()
        assert db.session.scalar(backends) == before  # and no connection is given up for it
