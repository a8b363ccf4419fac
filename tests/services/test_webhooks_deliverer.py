"""The deliverer in this process: its turns, its threads, its end, and a database that goes away. On both databases."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from directory.db import deadline, transactions
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import now
from directory.runtime import housekeeping
from directory.services.delivery import deliveries, leases
from directory.services.delivery.channels import Endpoint
from directory.services.delivery.deliverer import Deliverer
from directory.services.delivery.schedule import DELAYS, HOUR, DeliveryPolicy
from directory.services.delivery.webhooks import sender
from directory.services.review import moderation
from tests.conftest import Database, build
from tests.support.chaosproxy import ChaosProxy
from tests.support.factories import World
from tests.support.outbox import Clock, attempts, delivery_thread, endpoint, put, quick, row, send_all, states
from tests.support.receiver import Receiver, after, hang, status
from tests.support.waiting import until


@pytest.fixture
def delivering(app: Flask) -> Iterator[Callable[..., Deliverer]]:
    """Starts deliverers in threads, and stops them at the end."""
    started: list[Deliverer] = []

    def start(*to: Endpoint, policy: DeliveryPolicy | None = None, parallel: int = 1) -> Deliverer:
        started.append(Deliverer(app.app_context, to, policy or quick(), parallel))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.stop()


def test_an_approval_is_delivered_with_the_public_project(app: Flask, world: World) -> None:
    with Receiver() as receiver:
        to, admin = endpoint(receiver.url), world.admin("root")
        project_id = world.project(status="pending", title="Grüße")
        with app.app_context():
            transaction(lambda: moderation.decide(project_id, "approve", by=admin, notify=[to]))
        assert send_all(delivery_thread(app, to, quick())) == 1

    [request] = receiver.received
    event = request.verified()
    assert event["type"] == "project.approved"
    assert event["data"]["approved_by"] == {"id": admin.id, "username": "root"}
    project = event["data"]["project"]
    assert (project["id"], project["title"], project["status"]) == (project_id, "Grüße", "live")
    assert "rejection_reason" not in project
    assert states(app) == {"delivered": 1}


def test_a_receiver_that_is_down_gets_ten_tries_on_the_schedule_and_then_one_by_hand(app: Flask) -> None:
    clock = Clock(now())
    with Receiver(lambda _name, number: status(503 if number <= 10 else 200)) as receiver:
        to = endpoint(receiver.url)
        by_hand = delivery_thread(app, to, quick(clock=clock))
        with app.app_context():
            [one] = put(to, next_attempt_at=clock())
        for tries in range(1, 11):
            began = clock()
            assert send_all(by_hand) == 1
            with app.app_context():
                delivery = row(one)
            if tries < 10:
                waited = (delivery.next_attempt_at - began).total_seconds()
                assert DELAYS[tries] * 0.8 <= waited <= DELAYS[tries] * 1.2
                clock.at = delivery.next_attempt_at - timedelta(milliseconds=1)
                assert send_all(by_hand) == 0
                clock.at = delivery.next_attempt_at
        assert states(app) == {"dead": 1}
        clock.advance(10 * 24 * HOUR)
        assert send_all(by_hand) == 0

        clock.at = now()
        with app.app_context():
            transaction(lambda: deliveries.redeliver(one, by=None))
        clock.advance(1)
        assert send_all(by_hand) == 1

    assert states(app) == {"delivered": 1}
    assert len({request.id for request in receiver.received}) == 1
    with app.app_context():
        assert [a.status for a in attempts(one)] == [503] * 10 + [200]


def test_a_healthy_endpoint_is_served_while_another_hangs(app: Flask, delivering: Callable[..., Deliverer]) -> None:
    with Receiver(hang()) as hanging, Receiver() as healthy:
        bad, good = endpoint(hanging.url), endpoint(healthy.url)
        with app.app_context():
            put(bad, 20)
            delivering(bad, good, policy=quick(deadline=30.0))
            hanging.wait(lambda r: sum(r.arrived.values()) == 1)
            put(good, 20)
            healthy.wait(lambda r: len(r.accepted()) == 20)
        # It took its share: one exchange, still under way.
        assert sum(hanging.arrived.values()) == 1
        hanging.ending.set()


@pytest.mark.usefixtures("waits_as_shipped")
@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_no_thread_waits_for_a_mute_database_without_end(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with ChaosProxy(make_url(database.url).port or 5432) as proxy, Receiver() as receiver:
        app = build(make_url(database.url).set(port=proxy.port).render_as_string(hide_password=False))
        by_hand, to = delivery_thread(app, endpoint(receiver.url), quick()), endpoint(receiver.url)
        assert by_hand.turn() is None
        monkeypatch.setattr(deadline, "SECONDS", 0.3)
        proxy.set("mute")
        with pytest.raises(OperationalError, match="did not answer in time"):
            by_hand.turn()
        assert not housekeeping.tidy(app, quick())
        proxy.set("pass")
        monkeypatch.undo()
        with app.app_context():
            put(to)
        assert send_all(by_hand) == 1
        with app.app_context():
            db.session.remove()
            db.engine.dispose()


def test_parallel_deliveries_go_to_one_endpoint_at_once(app: Flask, delivering: Callable[..., Deliverer]) -> None:
    with Receiver(hang()) as receiver:
        to = endpoint(receiver.url)
        with app.app_context():
            put(to, 5)
        delivering(to, parallel=3)
        receiver.wait(lambda r: len(r.arrived) == 3)
        receiver.ending.set()


def test_stopping_ends_the_exchange_in_hand_and_takes_nothing_more(app: Flask) -> None:
    release = threading.Event()
    with Receiver(after(lambda: release.wait(30), status(200))) as receiver:
        to = endpoint(receiver.url)
        with app.app_context():
            put(to, 3)
        deliverer = Deliverer(app.app_context, [to], quick())
        deliverer.start()
        receiver.wait(lambda r: len(r.arrived) == 1)
        stopper = threading.Thread(target=deliverer.stop)
        stopper.start()
        stopper.join(0.2)
        assert stopper.is_alive()
        release.set()
        stopper.join(30)

    assert not stopper.is_alive()
    assert states(app) == {"delivered": 1, "pending": 2}


def test_a_lease_that_has_aged_is_not_sent(app: Flask) -> None:
    with Receiver() as receiver:
        to = endpoint(receiver.url)
        with app.app_context():
            [one] = put(to)
        assert delivery_thread(app, to, quick(slack=0.0)).turn() is None

        assert receiver.received == []
        with app.app_context():
            assert row(one).lease_token is not None


def out_of_reach(*_: Any) -> Any:
    raise OperationalError("SELECT", {}, Exception("connection refused"), connection_invalidated=True)


def test_what_was_sent_is_written_down_when_the_database_is_back(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    complete, failures = leases.complete, iter([out_of_reach, out_of_reach])
    monkeypatch.setattr(leases, "complete", lambda *given: next(failures, complete)(*given))
    with Receiver() as receiver:
        to = endpoint(receiver.url)
        with app.app_context():
            put(to)
        deliverer = Deliverer(app.app_context, [to], quick())
        deliverer.start()
        receiver.wait(lambda _: states(app) == {"delivered": 1})
        deliverer.stop()

    assert len(receiver.received) == 1


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_a_locked_sqlite_is_one_line_of_the_log_and_the_deliverer_goes_on(
    app: Flask, database: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It gives up the wait for the lock of this process, and then that for the database's."""
    monkeypatch.setattr(transactions, "SQLITE_BUSY_MILLISECONDS", 100)
    caplog.set_level("WARNING", "directory.services.delivery.deliverer")
    with Receiver() as receiver:
        to = endpoint(receiver.url)
        with app.app_context():
            put(to)
            lock = transactions._write_locks[db.engine]
        deliverer = Deliverer(app.app_context, [to], quick(), 2)
        with closing(sqlite3.connect(database.path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with lock:
                deliverer.start()
                until(lambda: caplog.records)
            until(lambda: len({record.__dict__["reason"] for record in caplog.records}) == 2)
            holder.execute("ROLLBACK")
        receiver.wait(lambda _: states(app) == {"delivered": 1})
        deliverer.stop()
    seen = {(record.levelname, record.getMessage(), bool(record.exc_info)) for record in caplog.records}
    assert seen == {("WARNING", "no look at the outbox", False)}
    assert {record.__dict__["reason"] for record in caplog.records} == {"SQLITE_BUSY", "Unavailable"}


def test_a_fault_of_ours_before_a_delivery_is_an_error_with_its_trace(
    app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    slip = KeyError("a slip")
    delivery_thread(app, endpoint("http://127.0.0.1:1/"), quick())._wait_for_database(slip, None)
    [record] = caplog.records
    assert (record.levelname, record.message) == ("ERROR", "no look at the outbox")
    assert record.exc_info is not None
    assert record.exc_info[1] is slip


def test_what_was_sent_is_dropped_once_its_lease_is_over(app: Flask) -> None:
    to = endpoint("http://127.0.0.1:1/")
    with app.app_context():
        put(to)
    by_hand = delivery_thread(app, to, quick(deadline=0.5))
    done = by_hand.turn()
    assert done is not None

    assert by_hand._wait_for_database(OSError(), done) == done
    old = leases.Lease(1, "msg", "event", "{}", 0, "token", now(), taken=done[0].taken - 3600)
    assert by_hand._wait_for_database(OSError(), (old, done[1])) is None


def test_a_lane_outlives_a_fault_of_ours(
    app: Flask, monkeypatch: pytest.MonkeyPatch, delivering: Callable[..., Deliverer]
) -> None:
    send, faults = sender.send, iter([RuntimeError("can't start new thread")])

    def sometimes(*given: Any) -> Any:
        for fault in faults:
            raise fault
        return send(*given)

    monkeypatch.setattr(sender, "send", sometimes)
    with Receiver() as receiver:
        to = endpoint(receiver.url)
        with app.app_context():
            put(to, 2)
        delivering(to, policy=quick(deadline=0.5, slack=0.5))
        receiver.wait(lambda r: len(r.accepted()) == 2)
