"""Leases of due deliveries: token, schedule, and what is kept for how long. On both databases."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from directory.db.transactions import on_postgresql, transaction
from directory.extensions import db
from directory.models import DeliveryState, now
from directory.services.delivery import leases, schedule
from directory.services.delivery.leases import Outcome
from directory.services.delivery.schedule import DELAYS, HOUR, DeliveryPolicy
from tests.support.outbox import Clock, attempts, endpoint, put, row

HERE = endpoint("https://here.example/hook")
THERE = endpoint("https://there.example/hook")
OK = Outcome(200, None, 12, "fine")
FAILED = Outcome(500, None, 12, "no")

pytestmark = pytest.mark.usefixtures("context")


def take(policy: DeliveryPolicy, name: str = HERE.name) -> Any:
    return transaction(lambda: leases.take(name, policy))


def complete(lease: Any, outcome: Outcome, policy: DeliveryPolicy) -> str | None:
    return transaction(lambda: leases.complete(lease, outcome, policy))


@pytest.fixture
def clock() -> Clock:
    return Clock(now())


@pytest.fixture
def policy(clock: Clock) -> DeliveryPolicy:
    return DeliveryPolicy(clock=clock)


def test_the_one_that_has_been_due_for_longest_is_taken_first(policy: DeliveryPolicy) -> None:
    put(HERE, next_attempt_at=policy.clock() - timedelta(minutes=1))
    [older] = put(HERE, next_attempt_at=policy.clock() - timedelta(minutes=2))

    assert take(policy).delivery_id == older


def test_what_is_not_due_yet_is_not_taken(policy: DeliveryPolicy) -> None:
    put(HERE, next_attempt_at=policy.clock() + timedelta(seconds=1))

    assert not leases.waiting(HERE.name, policy)
    assert take(policy) is None


def test_an_endpoint_is_given_its_own_deliveries_alone(policy: DeliveryPolicy) -> None:
    put(THERE)

    assert not leases.waiting(HERE.name, policy)
    assert take(policy) is None
    assert take(policy, THERE.name) is not None


def test_what_is_leased_cannot_be_leased_again_before_its_lease_ends(policy: DeliveryPolicy, clock: Clock) -> None:
    [wanted] = put(HERE, next_attempt_at=policy.clock())
    first = take(policy)
    clock.advance(policy.lease.total_seconds() - 0.001)
    assert take(policy) is None

    clock.advance(0.001)
    second = take(policy)

    assert second.delivery_id == wanted
    assert second.token != first.token


def test_a_clock_that_is_put_back_does_not_keep_a_lease_alive(policy: DeliveryPolicy, clock: Clock) -> None:
    put(HERE, next_attempt_at=clock() - timedelta(days=1))
    assert take(policy) is not None
    clock.advance(-policy.lease.total_seconds())
    assert take(policy) is None

    clock.advance(-0.001)
    assert take(policy) is not None


def test_the_lease_outlasts_the_longest_exchange() -> None:
    assert DeliveryPolicy().lease > timedelta(seconds=DeliveryPolicy().deadline)


def test_who_comes_after_the_lease_cannot_report(policy: DeliveryPolicy, clock: Clock) -> None:
    [one] = put(HERE, next_attempt_at=policy.clock())
    late = take(policy)
    clock.advance(60)
    holder = take(policy)

    assert complete(late, OK, policy) is None
    assert row(one).state == DeliveryState.PENDING
    assert attempts(one) == []
    assert complete(holder, OK, policy) == "delivered"


def test_who_comes_after_the_lease_may_report_while_nobody_else_has_leased(
    policy: DeliveryPolicy, clock: Clock
) -> None:
    [one] = put(HERE, next_attempt_at=policy.clock())
    late = take(policy)
    clock.advance(60)

    assert complete(late, OK, policy) == "delivered"
    assert row(one).state == DeliveryState.DELIVERED


def test_a_delivery_is_settled_by_success(policy: DeliveryPolicy) -> None:
    [one] = put(HERE, next_attempt_at=policy.clock())
    complete(take(policy), OK, policy)

    delivery = row(one)
    assert (delivery.state, delivery.attempts, delivery.settled_at) == ("delivered", 1, policy.clock())
    assert (delivery.lease_token, delivery.leased_until) == (None, None)
    [attempt] = attempts(one)
    assert (attempt.status, attempt.error, attempt.milliseconds, attempt.response) == (200, None, 12, "fine")
    assert attempt.at == policy.clock()


def test_every_status_of_success_delivers_and_no_other() -> None:
    statuses = (None, 100, 199, 200, 202, 299, 300, 304, 404, 500)

    assert [each for each in statuses if Outcome(each, None, 5).delivered] == [200, 202, 299]


def test_a_failure_is_tried_again_after_the_delay(policy: DeliveryPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda _low, _high: 1.0)
    [one] = put(HERE, next_attempt_at=policy.clock())
    assert complete(take(policy), FAILED, policy) == "pending"

    assert row(one).next_attempt_at == policy.clock() + timedelta(seconds=DELAYS[1])
    assert take(policy) is None


def test_a_receiver_that_asks_for_time_is_given_it(policy: DeliveryPolicy, clock: Clock) -> None:
    [one] = put(HERE, next_attempt_at=clock())
    complete(take(policy), Outcome(429, None, 5, retry_after=3600.0), policy)

    assert row(one).next_attempt_at == clock() + timedelta(hours=1)


def test_the_tenth_failure_is_the_last(policy: DeliveryPolicy) -> None:
    [one] = put(HERE, attempts=9, next_attempt_at=policy.clock())

    assert complete(take(policy), FAILED, policy) == "dead"
    assert (row(one).state, row(one).attempts, row(one).settled_at) == ("dead", 10, policy.clock())


@pytest.mark.parametrize("outcome", [Outcome(410, None, 5), Outcome(None, "refused", 5, is_final=True)])
def test_gone_and_a_final_refusal_end_a_delivery_at_once(policy: DeliveryPolicy, outcome: Outcome) -> None:
    [one] = put(HERE, next_attempt_at=policy.clock())

    assert complete(take(policy), outcome, policy) == "dead"
    assert row(one).attempts == 1


def test_a_long_error_is_cut_to_what_the_table_holds(policy: DeliveryPolicy) -> None:
    [one] = put(HERE, next_attempt_at=policy.clock())
    complete(take(policy), Outcome(None, "x" * 500, 5), policy)

    assert attempts(one)[0].error == "x" * 200


@pytest.mark.parametrize("tries", range(1, 10))
def test_each_delay_varies_by_a_fifth(tries: int) -> None:
    waits = [DeliveryPolicy().wait(tries, None) for _ in range(200)]

    low, high = timedelta(seconds=DELAYS[tries] * 0.8), timedelta(seconds=DELAYS[tries] * 1.2)
    assert all(wait is not None and low <= wait <= high for wait in waits)
    assert len(set(waits)) > 100


def test_the_schedule_is_ten_tries_over_three_days() -> None:
    assert DELAYS == (0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
    assert DeliveryPolicy().wait(10, None) is None


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(60.0, 60.0), (1.0, 5.0), (0.0, 5.0), (10 * 24 * HOUR, 24 * HOUR)],
)
def test_retry_after_puts_off_within_a_day_and_never_brings_forward(
    asked: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda _low, _high: 1.0)

    assert DeliveryPolicy().wait(1, asked) == timedelta(seconds=seconds)


def test_what_was_settled_ninety_days_ago_is_deleted_with_its_attempts(policy: DeliveryPolicy, clock: Clock) -> None:
    [old, dead, young] = put(HERE, 3, next_attempt_at=policy.clock())
    [waiting] = put(HERE, created_at=now() - timedelta(days=400), next_attempt_at=policy.clock() + timedelta(days=99))
    for outcome in (OK, Outcome(410, None, 1)):
        complete(take(policy), outcome, policy)
    clock.advance(1)
    complete(take(policy), OK, policy)
    clock.advance(90 * 24 * HOUR)

    assert transaction(lambda: leases.purge(policy)) == 2

    left = {delivery_id for (delivery_id,) in db.session.execute(text("SELECT id FROM deliveries"))}
    assert left == {young, waiting}
    assert attempts(old) == attempts(dead) == []
    assert len(attempts(young)) == 1


def test_the_clock_is_the_databases() -> None:
    before, told, after = now(), schedule.database_clock(), now()

    # Server and test share a machine here; that the server is asked at all shows in the statements, below.
    assert before <= told <= after


def test_leases_are_timed_by_the_database_server_where_there_is_one(statements: list[str]) -> None:
    leases.waiting(HERE.name, DeliveryPolicy())

    assert ("clock_timestamp()" in statements[0]) == on_postgresql()


def test_the_look_for_due_deliveries_goes_by_its_index() -> None:
    put(HERE, 50)
    db.session.execute(text("ANALYZE"))
    if on_postgresql():
        db.session.execute(text("SET LOCAL enable_seqscan = off"))
    compiled = leases._due(HERE.name, now(), DeliveryPolicy()).compile(db.engine)
    explain = "EXPLAIN" if on_postgresql() else "EXPLAIN QUERY PLAN"
    rows = db.session.connection().exec_driver_sql(f"{explain} {compiled}", _parameters(compiled))

    assert "ix_deliveries_due" in " ".join(str(step) for step in rows)


def _parameters(compiled: Any) -> Any:
    given = {
        name: (p(compiled.params[name]) if (p := compiled._bind_processors.get(name)) else compiled.params[name])
        for name in compiled.params
    }
    return given if compiled.positiontup is None else tuple(given[name] for name in compiled.positiontup)
