"""No request waits for a mute or slow PostgreSQL beyond its deadline, and the server is used again once it answers."""

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
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.db import circuit_breaker, deadline, deadline_connection
from directory.db.circuit_breaker import CircuitBreaker
from directory.db.statements import Prepared
from directory.db.transactions import transaction
from directory.extensions import db
from tests.conftest import Database, build
from tests.support.caching import close_snapshots
from tests.support.chaosproxy import ChaosProxy
from tests.support.factories import Api, World
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("waits_as_shipped")
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
    close_snapshots(app)


@contextmanager
def connected(app: Flask) -> Iterator[Any]:
    with app.app_context(), db.engine.connect() as reached:
        yield reached


@on_postgresql
def test_a_mute_database_means_503_in_time_and_then_at_once(behind: Flask, world: World, proxy: ChaosProxy) -> None:
    voter, project = world.caller(world.user()), world.project()
    asked = [Api(behind), Api(behind, voter.token)]
    path = f"/api/projects/{project}/upvote"
    assert [api.get("/api/projects").status_code for api in asked] == [200, 200]
    proxy.set("mute")

    assert asked[1].post(path).json["code"] == "unavailable"
    until(lambda: asked[0].get("/api/projects").status_code == 503, 20)
    began = time.monotonic()
    answers = [api.get("/api/projects") for api in asked for _ in range(50)]
    assert {answer.status_code for answer in answers} == {503}
    assert time.monotonic() - began < 100 * deadline.SECONDS / 4  # on a busy machine too; none waits for its deadline
    assert Api(behind).get("/healthz").status_code == 200
    assert Api(behind).get("/readyz").status_code == 503
    proxy.set("pass")
    until(lambda: asked[1].post(path).status_code == 200, 20)
    assert asked[0].get(f"/api/projects/{project}").status_code == 200


@on_postgresql
@pytest.mark.parametrize(("mode", "seconds"), [("delay", 0.4), ("trickle", 0.02)])
def test_the_deadline_holds_for_all_waits_of_a_request_together(
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
def test_a_long_statement_runs_to_its_end_while_the_server_answers_probes(
    behind: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline_connection, "SILENCE", 0.1)
    with connected(behind) as reached, deadline.within(20):
        assert reached.scalar(text("SELECT 7 FROM pg_sleep(0.7)")) == 7


@on_postgresql
def test_commands_have_no_deadline(behind: Flask, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline_connection, "SILENCE", 0.01)
    monkeypatch.setattr(deadline, "SECONDS", 0.01)
    with connected(behind) as reached:
        proxy.set("mute")
        threading.Timer(0.5, proxy.set, ["pass"]).start()
        assert reached.scalar(text("SELECT 7")) == 7


@on_postgresql
def test_while_the_circuit_breaker_is_open_no_connection_is_made_or_given_out(
    behind: Flask, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_breaker, "PROBE_PAUSE", 0.0)
    with connected(behind) as reached:
        breaker = reached.connection.dbapi_connection.breaker
    proxy.set("refuse")
    breaker.probe()
    until(breaker.check_open, 20)
    with behind.app_context():
        for empty, raised in ((False, PoolTimeout), (True, OperationalError)):
            if empty:
                db.engine.dispose()
            with pytest.raises(raised, match="does not answer"):
                db.engine.connect()
    proxy.set("pass")
    until(lambda: not breaker.check_open(), 20)
    with connected(behind) as reached:
        assert reached.scalar(text("SELECT 7")) == 7


@on_postgresql
def test_a_wait_that_is_given_up_soon_starts_no_probe(
    behind: Flask, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop waits for so short that a server that is merely slow is no reason for a probe."""
    probes: list[CircuitBreaker] = []
    monkeypatch.setattr(CircuitBreaker, "probe", lambda breaker: probes.append(breaker))
    monkeypatch.setattr(deadline_connection, "SILENCE", 0.2)
    for seconds in (0.05, 0.3):
        proxy.set("pass")
        with connected(behind) as reached:
            driver = reached.connection.dbapi_connection
            proxy.set("mute")
            driver.pgconn.send_query(b"SELECT 7")
            with pytest.raises(psycopg.OperationalError, match="did not answer in time"):
                driver.result(seconds)
            reached.invalidate()
        assert bool(probes) == (seconds > deadline_connection.SILENCE)


@on_postgresql
def test_an_error_tells_a_request_without_time_from_a_database_without_an_answer(behind: Flask) -> None:
    with behind.app_context(), deadline.within(deadline_connection.CONNECT_SECONDS / 2):
        db.engine.dispose()
        with pytest.raises(OperationalError, match="no time left to connect"):
            db.engine.connect()


def test_one_probe_runs_at_a_time() -> None:
    breaker, asked, answered = CircuitBreaker(), [], threading.Event()

    def connect() -> Any:
        asked.append(1)
        answered.wait()
        raise psycopg.OperationalError

    breaker.probe()
    assert not breaker.check_open()  # there was no connection yet
    breaker.connect = connect
    for _ in range(5):
        breaker.probe()
    until(lambda: asked, 20)
    answered.set()
    until(breaker.check_open, 20)
    assert len(asked) <= 2


def test_the_wait_for_a_thread_is_a_part_of_a_requests_time(
    app: Flask, world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    voter, path = world.caller(world.user()), f"/api/projects/{world.project()}/upvote"
    with other_writer(database):
        began = time.monotonic()
        monkeypatch.setattr(deadline, "SECONDS", 60.0)
        with deadline.within(0.2):  # as the server sets it after a wait
            assert voter.post(path).status_code == 503
        assert time.monotonic() - began < deadline.SECONDS / 2
        monkeypatch.undo()
    assert voter.post(path).json["upvotes"] == 1


@contextmanager
def other_writer(database: Database) -> Iterator[None]:
    """A writer whose transaction stays open for the length of the block."""
    engine = create_engine(database.url, poolclass=NullPool)
    with engine.connect() as connection:
        if database.backend == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT 1 FROM projects FOR UPDATE"))
        yield
        connection.rollback()


@pytest.mark.response_cache
@on_postgresql
def test_the_deadline_holds_for_an_answer_that_comes_byte_by_byte(
    behind: Flask, world: World, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = world.project(description="x" * 4000)
    api = Api(behind)
    assert api.get("/api/categories").status_code == 200
    monkeypatch.setattr(deadline, "SECONDS", 1.0)
    proxy.set("trickle", 0.02)  # seconds a byte: the project takes eighty
    began = time.monotonic()
    assert api.get(f"/api/projects/{project}").status_code == 503
    assert time.monotonic() - began < 30.0
    proxy.set("pass")


def test_outside_of_a_request_there_is_no_deadline() -> None:
    assert deadline.remaining(7.0) == 7.0
    with deadline.within(2.0):
        assert 0 < deadline.remaining(7.0) <= 2.0
        assert deadline.remaining(1.0) == 1.0
    with deadline.within(-1.0):
        assert deadline.remaining(7.0) == 0.0


def test_an_inner_deadline_never_extends_an_outer_one() -> None:
    with deadline.within(2.0):
        with deadline.within(60.0):
            assert deadline.remaining(60.0) <= 2.0
        with deadline.within(1.0):
            assert deadline.remaining(60.0) <= 1.0
        assert 1.0 < deadline.remaining(60.0) <= 2.0


def test_each_thread_has_a_deadline_of_its_own() -> None:
    found: list[float] = []
    with deadline.within(2.0):
        thread = threading.Thread(target=lambda: found.append(deadline.remaining(60.0)))
        thread.start()
        thread.join()
    assert found == [60.0]


@on_postgresql
@pytest.mark.parametrize("mode", ["mute", "reset", "trickle"])
def test_what_waits_to_be_sent_is_lost_with_its_connection_and_not_left_half_done(
    behind: Flask, world: World, proxy: ChaosProxy, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    rename = Prepared(text("UPDATE categories SET name = :name WHERE slug = 'tools'"))
    world.category()
    with behind.app_context():
        transaction(lambda: rename.later({"name": "First"}))

        def work() -> None:
            rename.later({"name": "Second"})
            rename.later({"name": "Third"})
            proxy.set(mode, 0.02)

        with monkeypatch.context() as brief:
            brief.setattr(deadline_connection, "GRACE", 0.1)
            with pytest.raises((DBAPIError, PoolTimeout)), deadline.within(0.3):
                transaction(work)
        with world.app.app_context():
            assert db.session.scalar(text("SELECT name FROM categories")) == "First"
        proxy.set("pass")
        until(lambda: is_renamed(rename, "Last"), 20)
        assert db.session.scalar(text("SELECT name FROM categories")) == "Last"


def is_renamed(rename: Prepared, name: str) -> bool:
    try:
        transaction(lambda: rename.later({"name": name}))
    except (DBAPIError, PoolTimeout):
        return False
    return True
