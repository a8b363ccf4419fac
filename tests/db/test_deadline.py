"""A PostgreSQL that is mute or slow holds nobody for longer than a request's time, and is used again when it speaks."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from flask import Flask
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.cache import validator
from directory.db import deadline
from directory.extensions import db
from tests.conftest import Database, build
from tests.support.chaosproxy import ChaosProxy
from tests.support.factories import Api, World
from tests.support.waiting import until

on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)


@pytest.fixture
def proxy(database: Database) -> Iterator[ChaosProxy]:
    with ChaosProxy(make_url(database.url).port or 5432) as made:
        yield made


@pytest.fixture
def behind(database: Database, proxy: ChaosProxy) -> Iterator[Flask]:
    """An application that reaches its database through the proxy."""
    app = build(make_url(database.url).set(port=proxy.port).render_as_string(hide_password=False))
    yield app
    proxy.set("pass")
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    app.extensions["guard"].close()


@contextmanager
def connected(app: Flask) -> Iterator[Any]:
    with app.app_context(), db.engine.connect() as connection:
        yield connection


@on_postgresql
def test_a_mute_database_is_503_in_time_and_then_at_once(behind: Flask, world: World, proxy: ChaosProxy) -> None:
    voter, project = world.caller(world.user()), world.project()
    asked = [Api(behind), Api(behind, voter.token)]
    path = f"/api/projects/{project}/upvote"
    assert [api.get("/api/projects").status_code for api in asked] == [200, 200]
    proxy.set("mute")

    began = time.monotonic()
    assert asked[1].post(path).json["code"] == "unavailable"
    assert time.monotonic() - began < 5

    until(lambda: asked[0].get("/api/projects").status_code == 503, 20)
    began = time.monotonic()
    answers = [api.get("/api/projects") for api in asked for _ in range(50)]
    assert {answer.status_code for answer in answers} == {503}
    assert time.monotonic() - began < 5  # all of them together: no more than one may take that waits by itself
    assert Api(behind).get("/healthz").status_code == 200
    assert Api(behind).get("/readyz").status_code == 503
    proxy.set("pass")
    until(lambda: asked[1].post(path).status_code == 200, 20)
    assert asked[0].get(f"/api/projects/{project}").status_code == 200


@on_postgresql
@pytest.mark.parametrize(("mode", "seconds"), [("delay", 0.4), ("trickle", 0.02)])
def test_a_request_has_its_time_for_all_that_it_waits_for(
    behind: Flask, world: World, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch, mode: str, seconds: float
) -> None:
    member = Api(behind, world.caller(world.user()).token)
    assert member.get("/api/auth/me").status_code == 200
    proxy.set(mode, seconds)
    with monkeypatch.context() as brief:
        brief.setattr(deadline, "SECONDS", 0.5)
        assert member.get("/api/auth/me").status_code == 503
    proxy.set("pass")
    until(lambda: member.get("/api/auth/me").status_code == 200, 20)


@on_postgresql
def test_what_takes_long_on_a_server_that_speaks_may_take_its_time(
    behind: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "SILENCE", 0.1)
    with connected(behind) as connection, deadline.within(20):
        assert connection.scalar(text("SELECT 7 FROM pg_sleep(0.7)")) == 7


@on_postgresql
def test_commands_may_wait(behind: Flask, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "SILENCE", 0.01)
    monkeypatch.setattr(deadline, "SECONDS", 0.01)
    with connected(behind) as connection:
        proxy.set("mute")
        threading.Timer(0.5, proxy.set, ["pass"]).start()
        assert connection.scalar(text("SELECT 7")) == 7


@on_postgresql
def test_while_the_server_is_away_no_connection_is_made_or_handed_out(
    behind: Flask, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "ASK_EVERY", 0.0)
    with connected(behind) as connection:
        watch = connection.connection.dbapi_connection.watch
    proxy.set("refuse")
    watch.suspect()
    until(lambda: watch.away, 20)
    with behind.app_context():
        for empty, raised in ((False, PoolTimeout), (True, OperationalError)):
            if empty:
                db.engine.dispose()
            with pytest.raises(raised, match="does not answer"):
                db.engine.connect()
    proxy.set("pass")
    until(lambda: not watch.away, 20)
    with connected(behind) as connection:
        assert connection.scalar(text("SELECT 7")) == 7


def test_a_server_is_asked_by_one_at_a_time() -> None:
    watch, asked, answered = deadline.Watch(), [], threading.Event()

    def connect() -> Any:
        asked.append(1)
        answered.wait()
        raise psycopg.OperationalError

    watch.suspect()
    assert not watch.away  # nobody knows how to connect yet
    watch.connect = connect
    for _ in range(5):
        watch.suspect()
    until(lambda: asked, 20)
    answered.set()
    until(lambda: watch.away, 20)
    assert len(asked) <= 2


def test_the_wait_for_a_thread_is_a_part_of_a_requests_time(app: Flask, world: World, database: Database) -> None:
    voter, path = world.caller(world.user()), f"/api/projects/{world.project()}/upvote"
    with other_writer(database):
        deadline.have_waited(deadline.SECONDS - 0.2)
        began = time.monotonic()
        assert voter.post(path).status_code == 503
        assert time.monotonic() - began < deadline.SECONDS - 1
    assert voter.post(path).json["upvotes"] == 1


@contextmanager
def other_writer(database: Database) -> Iterator[None]:
    """Somebody who has begun to write and does not end."""
    engine = create_engine(database.url, poolclass=NullPool)
    with engine.connect() as connection:
        if database.backend == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT 1 FROM projects FOR UPDATE"))
        yield
        connection.rollback()


def test_nobody_waits_long_for_the_mark_that_another_reads(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator, "TIMEOUT", 0.05)
    guard, answered, marks = app.extensions["guard"], threading.Event(), []
    monkeypatch.setattr(guard, "_read", lambda _: "mark" if answered.wait(20) else None)
    reading = threading.Thread(target=lambda: marks.append(guard.moment()))
    reading.start()
    until(guard._turn.locked, 20)
    assert guard.moment() is None
    answered.set()
    reading.join()
    assert marks == [guard.moment()] == ["mark"]


@on_postgresql
def test_a_server_that_never_pauses_holds_nobody_for_longer_than_a_request(
    behind: Flask, world: World, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = world.project(description="x" * 4000)
    api = Api(behind)
    assert api.get("/api/categories").status_code == 200
    monkeypatch.setattr(deadline, "SECONDS", 1.0)
    proxy.set("trickle", 0.002)  # seconds a byte: the project takes eight
    began = time.monotonic()
    assert api.get(f"/api/projects/{project}").status_code == 503
    assert time.monotonic() - began < 4.0
    proxy.set("pass")


def test_outside_of_a_request_there_is_all_the_time() -> None:
    assert deadline.left(7.0) == 7.0
    with deadline.within(2.0):
        assert 0 < deadline.left(7.0) <= 2.0
        assert deadline.left(1.0) == 1.0
    with deadline.within(-1.0):
        assert deadline.left(7.0) == 0.0
