"""The dashboard: every figure from real rows."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.api.admin import dashboard as routes
from directory.cache.changes import RecentChanges
from directory.cache.memo import Memo
from directory.cache.snapshot_source import Snapshot
from directory.db import deadline
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, Review, Upvote, User
from directory.services import analytics
from directory.services.data import import_export
from tests.conftest import Statements
from tests.support.caching import source_of
from tests.support.factories import Api, World
from tests.support.waiting import until


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin())


def dashboard(admin: Api, query: str = "") -> Any:
    answer = admin.get(f"/api/admin/analytics{query}")
    assert answer.status_code == 200, answer.json
    return answer.json


def test_an_empty_directory_is_all_zeros(admin: Api) -> None:
    figures = dashboard(admin, "?days=3")
    assert figures["totals"] == {
        "projects": {"live": 0, "pending": 0, "rejected": 0, "total": 0},
        "users": {"active": 1, "suspended": 0, "total": 1}, "upvotes": 0,
    }  # fmt: skip
    assert figures["review"] == {
        "queue_length": 0, "oldest_submitted_at": None, "median_seconds_to_decision": None, "approval_rate": None,
        "waiting_for_owner": 0, "appeals": {"open": 0, "upheld": 0, "reversed": 0},
    }  # fmt: skip
    zeros = {"submissions": 0, "imported": 0, "approvals": 0, "rejections": 0, "upvotes": 0}
    assert [{k: v for k, v in day.items() if k not in {"date", "signups"}} for day in figures["series"]] == [zeros] * 3
    today = datetime.now(UTC).date()
    assert [day["date"] for day in figures["series"]][-2:] == [str(today - timedelta(days=1)), str(today)]
    assert figures["top_projects"] == figures["top_categories"] == figures["reviewers"] == []
    assert figures["previous"] == {**zeros, "signups": 0}


def test_figures_count_what_happened(world: World, admin: Api) -> None:
    best = world.project(votes=2, category="web")
    other = world.project(votes=1)
    refused, gone, queued = (world.project(status="pending") for _ in range(3))
    admin.put(f"/api/admin/projects/{refused}/reject")
    world.user(status="suspended")
    admin.put(f"/api/admin/projects/{gone}/approve")
    admin.delete(f"/api/projects/{gone}")
    figures = dashboard(admin)
    assert figures["totals"]["projects"] == {"live": 2, "pending": 1, "rejected": 1, "total": 4}
    assert figures["totals"]["users"]["suspended"] == 1
    assert figures["totals"]["upvotes"] == 3
    assert figures["review"]["queue_length"] == 1
    assert figures["review"]["oldest_submitted_at"] == admin.get(f"/api/projects/{queued}").json["submitted_at"]
    assert figures["review"]["approval_rate"] == pytest.approx(0.5)  # of what people decided
    today = figures["series"][-1]
    assert (today["submissions"], today["approvals"], today["rejections"], today["upvotes"]) == (5, 3, 1, 3)
    assert today["signups"] == figures["totals"]["users"]["total"]
    assert [project["id"] for project in figures["top_projects"]] == [best, other]
    assert figures["top_categories"][0]["live_projects"] == 1
    assert len(figures["series"]) == 30


@pytest.mark.parametrize(("waits", "median"), [([5], 5), ([1, 9], 5), ([1, 2, 100], 2), ([4, 1, 3, 2], 2.5)])
def test_the_median_wait_is_the_middle_one(
    app: Flask, world: World, admin: Api, waits: list[int], median: float
) -> None:
    for n, wait in enumerate(waits):
        project = world.project(status="pending")
        with app.app_context():
            earlier = datetime.now(UTC) - timedelta(hours=wait)
            aged = update(Review).where(Review.project_id == project).values(place=earlier)
            transaction(lambda aged=aged: db.session.execute(aged))
        admin.put(f"/api/admin/projects/{project}/{'approve' if n % 2 else 'reject'}")
    figures = dashboard(admin, "?days=1")
    assert figures["review"]["median_seconds_to_decision"] == pytest.approx(median * 3600, abs=60)


def test_a_day_is_a_utc_day_and_the_window_ends_today(app: Flask, world: World, admin: Api) -> None:
    project = world.project(votes=3)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    instants = [midnight - timedelta(microseconds=1), midnight, midnight - timedelta(days=2)]
    with app.app_context():
        votes = list(db.session.query(Upvote).filter_by(project_id=project))
        keys = [(vote.user_id, at) for vote, at in zip(votes, instants, strict=True)]
        for user_id, at in keys:
            dated = update(Upvote).where(Upvote.user_id == user_id).values(created_at=at)
            transaction(lambda dated=dated: db.session.execute(dated))
        joined = update(User).where(User.id == keys[0][0]).values(created_at=midnight - timedelta(days=1))
        transaction(lambda: db.session.execute(joined))
    series = dashboard(admin, "?days=2")["series"]
    assert [day["upvotes"] for day in series] == [1, 1]
    assert series[0]["signups"] == 1
    assert [day["upvotes"] for day in dashboard(admin, "?days=1")["series"]] == [1]


def age(app: Flask, entry: int, **ago: float) -> None:
    """Enter an action of the log again, some time before now: the log itself cannot be changed."""
    with app.app_context():
        found = db.session.get_one(AuditEntry, entry)
        columns = {c.key: getattr(found, c.key) for c in AuditEntry.__table__.c if c.key != "id"}
        at = datetime.now(UTC) - timedelta(**ago)
        transaction(lambda: db.session.add(AuditEntry(**{**columns, "at": at})))


def test_the_period_before_has_the_same_totals(app: Flask, world: World, admin: Api) -> None:
    project = world.project(votes=2)
    with app.app_context():
        entries = {entry.action: entry.id for entry in db.session.query(AuditEntry)}
        voters = list(db.session.scalars(select(Upvote.user_id)))
        old = datetime.now(UTC) - timedelta(days=4)
        for change in (
            update(Upvote).where(Upvote.user_id == voters[0]).values(created_at=old),
            update(User).where(User.id.in_(voters)).values(created_at=old),
        ):
            transaction(lambda change=change: db.session.execute(change))
    for days in (3, 4, 5, 6):
        age(app, entries["project.submitted"], days=days)
    age(app, entries["project.approved"], days=5)
    figures = dashboard(admin, "?days=3")
    assert figures["previous"] == {
        "submissions": 3, "imported": 0, "approvals": 1, "rejections": 0, "upvotes": 1, "signups": 2,
    }  # fmt: skip
    now = figures["series"]
    assert sum(day["submissions"] for day in now) == 1
    # The period before the series of three days is the first half of a series of six.
    longer = dashboard(admin, "?days=6")["series"][:3]
    assert figures["previous"] == {name: sum(day[name] for day in longer) for name in figures["previous"]}
    assert project


def test_reviewers_stand_by_their_decisions_with_the_median_of_their_waits(
    app: Flask, world: World, admin: Api
) -> None:
    ann, ben, idle = world.admin("ann"), world.admin("ben"), world.admin("idle")
    waits = {ann: [2, 4], ben: [1, 9, 100, 5]}
    for by, hours in waits.items():
        for n, wait in enumerate(hours):
            project = world.project(status="pending")
            with app.app_context():
                earlier = datetime.now(UTC) - timedelta(hours=wait)
                aged = update(Review).where(Review.project_id == project).values(place=earlier)
                transaction(lambda aged=aged: db.session.execute(aged))
            world.caller(by).put(f"/api/admin/projects/{project}/{'reject' if n == 1 else 'approve'}")
    # A takedown's rejections of what was live waited for nobody: they count, and have no part in the median.
    spammer = world.user()
    for _ in range(3):
        world.project(spammer)
    world.caller(ann).put(f"/api/admin/users/{spammer.id}", {"status": "suspended", "unpublish": True})
    with app.app_context():
        old = db.session.scalar(select(AuditEntry.id).where(AuditEntry.actor_id == ben.id))
        assert old is not None
    age(app, old, days=9)
    first, second = dashboard(admin, "?days=5")["reviewers"]
    hour = pytest.approx
    assert {**first, "median_seconds": hour(first["median_seconds"] / 3600, abs=0.1)} == {
        "id": ann.id, "username": "ann", "approved": 1, "rejected": 4, "median_seconds": hour(3, abs=0.1),
    }  # fmt: skip
    assert (second["username"], second["approved"], second["rejected"]) == ("ben", 3, 1)
    assert second["median_seconds"] == pytest.approx(7 * 3600, abs=60)
    assert [each["approved"] for each in dashboard(admin, "?days=20")["reviewers"]] == [1, 4]
    assert idle.username not in {each["username"] for each in dashboard(admin)["reviewers"]}


def test_a_reviewer_whose_decisions_waited_for_nobody_has_no_median(world: World) -> None:
    ann, spammer = world.admin("ann"), world.user()
    world.project(spammer)
    world.caller(ann).put(f"/api/admin/users/{spammer.id}", {"status": "suspended", "unpublish": True})
    [only] = dashboard(world.caller(ann))["reviewers"]
    assert only == {"id": ann.id, "username": "ann", "approved": 0, "rejected": 1, "median_seconds": None}


def test_what_is_imported_is_neither_submitted_nor_decided(app: Flask, world: World, admin: Api) -> None:
    owner = world.user()
    world.category()
    rows = [
        {"title": "T", "tagline": "T", "url": f"https://example.org/{status}", "category": "tools", "status": status}
        for status in ("live", "pending", "rejected")
    ]
    with app.app_context():
        outcomes, strangers = transaction(lambda: import_export.take(rows, owner=owner))
    assert ([is_new for _project, is_new in outcomes], strangers) == ([True] * 3, set())
    figures = dashboard(admin)
    today = {**figures["series"][-1]}
    assert (today["imported"], today["submissions"], today["approvals"], today["rejections"]) == (3, 0, 0, 0)
    assert figures["review"]["median_seconds_to_decision"] is None
    assert figures["review"]["approval_rate"] is None
    assert figures["totals"]["projects"] == {"live": 1, "pending": 1, "rejected": 1, "total": 3}
    [entry] = admin.get(f"/api/admin/projects/{figures['top_projects'][0]['id']}/history").json["items"]
    assert (entry["action"], entry["from"], entry["to"]) == ("project.imported", None, "live")
    assert entry["actor"] is None  # a command did it


def test_the_story_of_the_demo_counts_as_if_it_had_happened(app: Flask, admin: Api) -> None:
    assert app.test_cli_runner().invoke(args=["seed"]).exit_code == 0
    figures = dashboard(admin, "?days=365")
    counted = {name: sum(day[name] for day in figures["series"]) for name in figures["previous"]}
    projects = figures["totals"]["projects"]
    assert (counted["submissions"], counted["imported"]) == (projects["total"], 0)
    assert (counted["approvals"], counted["rejections"]) == (projects["live"], projects["rejected"])
    [reviewer] = figures["reviewers"]
    assert (reviewer["approved"], reviewer["rejected"]) == (projects["live"], projects["rejected"])


def test_the_dashboard_costs_the_same_statements_whatever_its_days(
    app: Flask, admin: Api, statements: Statements
) -> None:
    costs = []
    for days in (1, 90):
        statements.clear()
        with app.app_context():
            analytics.dashboard(days)
        costs.append(len(statements))
    assert costs == [10, 10]


@pytest.mark.parametrize("days", ["0", "366", "x", "1.5", "-1", ""])
def test_days_are_from_one_to_a_year(admin: Api, days: str) -> None:
    assert admin.get(f"/api/admin/analytics?days={days}").status_code == 422
    assert len(dashboard(admin, "?days=365")["series"]) == 365


@pytest.mark.response_cache
def test_of_many_who_ask_one_sums_up(app: Flask, admin: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(app)
    snapshot = Snapshot(1, RecentChanges())
    monkeypatch.setattr(source, "snapshot", lambda: snapshot)
    monkeypatch.setattr(routes, "DASHBOARD_SECONDS", 1e12)  # for no minute to end meanwhile
    memo: Memo = app.extensions["memo"]
    came, one_at_a_time, make = [], memo.one_at_a_time, analytics.dashboard
    summed: list[int] = []

    def slow(days: int) -> Any:
        summed.append(days)
        until(lambda: len(came) >= 6)
        return make(days)

    def come(seconds: float) -> Any:
        came.append(seconds)
        return one_at_a_time(seconds)

    monkeypatch.setattr(analytics, "dashboard", slow)
    monkeypatch.setattr(memo, "one_at_a_time", come)
    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(lambda _: dashboard(admin), range(6)))
    assert len(summed) == 1
    assert told.count(told[0]) == 6
    snapshot = Snapshot(2, RecentChanges())
    assert dashboard(admin) != told[0]
    assert len(summed) == 2


@pytest.mark.response_cache
@pytest.mark.usefixtures("waits_as_shipped")
def test_who_has_waited_for_others_long_enough_sums_up_beside_them(app: Flask, admin: Api) -> None:
    with app.extensions["memo"].one_at_a_time(0):
        began = time.monotonic()
        assert dashboard(admin)["totals"]["users"]["total"] == 1
        assert time.monotonic() - began >= deadline.SECONDS / 3
