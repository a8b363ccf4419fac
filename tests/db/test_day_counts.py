"""The numbers of votes, registrations and entries of the log of each day, which triggers keep."""

from datetime import date, timedelta

import pytest
from flask import Flask
from sqlalchemy import select, text

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import DAY_COUNTS, now
from directory.runtime import housekeeping
from directory.services import day_counts
from directory.services.data import counter_checks
from directory.services.delivery.schedule import DeliveryPolicy
from tests.support.factories import World

# The owner, a fan, three voters and an administrator.
EVER = {"upvotes": 3, "signups": 6}
LONG_AGO = "2020-01-02 23:59:59.900000+00:00"


def numbers(app: Flask) -> dict[str, int]:
    """The sums of all days by kind, after the comparison of what is counted with the rows."""
    with app.app_context():
        assert counter_checks.DAYS.look() == []
        counted = day_counts.since(date(2000, 1, 1), ("upvotes", "signups", "project.deleted"))
        return {kind: sum(days.values()) for kind, days in counted.items()}


def close(app: Flask) -> int:
    with app.app_context():
        return transaction(day_counts.close)


def change(app: Flask, statement: str) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(text(statement)))


@pytest.mark.parametrize("closed", [False, True])
def test_whatever_happens_is_counted_on_its_day(app: Flask, world: World, closed: bool) -> None:
    """Before the votes of past days were counted, and after."""
    owner, fan = world.user(), world.user()
    voted, gone = world.project(owner, votes=2), world.project(owner, votes=1)
    admin = world.caller(world.admin())
    assert numbers(app).items() >= EVER.items()
    change(app, f"UPDATE upvotes SET created_at = '{LONG_AGO}'")
    if closed:
        assert close(app) == 1
        assert close(app) == 0
    assert numbers(app).items() >= EVER.items()
    world.vote(voted, fan)
    assert numbers(app)["upvotes"] == 4
    assert world.caller(fan).delete(f"/api/projects/{voted}/upvote").status_code == 200
    assert numbers(app)["upvotes"] == 3
    change(app, f"INSERT INTO upvotes (user_id, project_id, created_at) VALUES ({fan.id}, {voted}, '{LONG_AGO}')")
    assert numbers(app)["upvotes"] == 4
    change(app, f"UPDATE upvotes SET created_at = '2020-01-04 00:00:00.000000+00:00' WHERE user_id = {fan.id}")
    change(app, "UPDATE users SET created_at = '2020-01-03 00:00:00.000000+00:00'")
    assert numbers(app).items() >= {"upvotes": 4, "signups": 6}.items()
    assert admin.delete(f"/api/projects/{gone}").status_code == 204
    assert numbers(app).items() >= {"upvotes": 3, "project.deleted": 1}.items()


def test_housekeeping_counts_the_votes_of_past_days(app: Flask, world: World) -> None:
    world.project(votes=1)
    change(app, f"UPDATE upvotes SET created_at = '{LONG_AGO}'")
    housekeeping.tidy(app, DeliveryPolicy())
    assert close(app) == 0
    assert numbers(app)["upvotes"] == 1


def test_the_votes_of_a_day_are_counted_when_all_of_them_are_written(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.project(votes=3)
    present = now()
    for days, counted in ((0, 1), (1, 1), (2, 1), (7, 5)):
        monkeypatch.setattr(day_counts, "now", lambda days=days: present + timedelta(days=days))
        assert close(app) == counted
        assert numbers(app)["upvotes"] == 3


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_the_rows_of_a_day_are_replaced_by_their_sum(app: Flask, world: World) -> None:
    project = world.project()
    for _ in range(5):
        world.vote(project, world.user())
    change(app, f"UPDATE upvotes SET created_at = '{LONG_AGO}'")
    close(app)
    before = numbers(app)
    change(app, "SELECT sum_days(array_agg(kind::text), min(day)) FROM day_counts")
    assert numbers(app) == before
    with app.app_context():
        rows = list(db.session.execute(select(DAY_COUNTS.c.kind, DAY_COUNTS.c.day)))
    assert len(rows) == len(set(rows)) > 2


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_writers_of_one_day_do_not_wait_for_each_other(app: Flask, world: World) -> None:
    project, voters = world.project(), [world.user().id for _ in range(2)]
    close(app)
    vote = f"INSERT INTO upvotes (user_id, project_id, created_at) VALUES ({{}}, {{}}, '{LONG_AGO}')"
    with app.app_context(), db.engine.connect() as first, db.engine.connect() as second:
        for connection, voter in ((first, voters[0]), (second, voters[1])):
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("SET LOCAL lock_timeout = 100")
            connection.exec_driver_sql(vote.format(voter, project))
            connection.exec_driver_sql("SELECT sum_days(ARRAY['upvotes'], '2020-01-01')")
        first.exec_driver_sql("COMMIT")
        second.exec_driver_sql("COMMIT")
    assert numbers(app)["upvotes"] == 2
