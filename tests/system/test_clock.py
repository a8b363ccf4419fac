"""The clock is put forward or back by an hour: nothing of ours sticks. Leases are in test_webhooks_leases."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from limits import parse
from limits.strategies import MovingWindowRateLimiter
from sqlalchemy import func, insert, select, text

from directory.db import clock as database_clock
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http.rate_limit_storage import ProcessMemory, Redis
from directory.models import (
    AuditEntry,
    Delivery,
    LinkPurpose,
    Logo,
    MailLink,
    PasskeyChallenge,
    Report,
    ReviewClaim,
    RuleFacts,
    Session,
    SignInAttempt,
    Token,
    User,
)
from directory.runtime import housekeeping
from directory.services import deleting
from directory.services.accounts import api_tokens, sessions
from directory.services.accounts.sessions import IDLE
from directory.services.delivery.mail import link_mails
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.pictures import logos
from directory.services.sign_in import links
from tests.support import servers
from tests.support.browsers import Browser
from tests.support.factories import Api, World

MAIL = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "directory@example.net", "SITE_URL": "https://directory.example"}

LIMIT = parse("3 per 2 seconds")


class Clock:
    """What the service takes for the time: right, but for what it was put forward or back."""

    def __init__(self) -> None:
        self.offset, self._true = 0.0, time.time

    def time(self) -> float:
        return self._true() + self.offset


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "time", made.time)
    return made


@pytest.fixture(params=["memory", "redis"])
def storage(request: pytest.FixtureRequest) -> Any:
    if request.param == "memory":
        yield ProcessMemory()
        return
    with servers.or_skip():
        url = servers.url_of(servers.REDIS)
    database_clock.forget()  # what a test before this one has learned
    made = Redis(url)
    yield made
    made.storage.close()


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_limit_holds_for_a_window_after_the_jump_at_most(storage: Any, clock: Clock, jump: int) -> None:
    limiter, caller = MovingWindowRateLimiter(storage), f"caller{jump}{time.time()}"
    assert [limiter.hit(LIMIT, caller) for _ in range(4)] == [True, True, True, False]
    clock.offset = jump
    give_up = time.monotonic() + 20
    while not limiter.hit(LIMIT, caller):
        assert time.monotonic() < give_up
        time.sleep(0.1)
    assert [limiter.hit(LIMIT, caller) for _ in range(4)].count(True) <= 3


def test_a_limit_in_memory_still_holds_when_the_clock_was_put_back(clock: Clock) -> None:
    limiter = MovingWindowRateLimiter(ProcessMemory())
    hourly = parse("3 per hour")
    assert [limiter.hit(hourly, "caller") for _ in range(3)] == [True] * 3
    clock.offset = -3600
    assert [limiter.hit(hourly, "caller") for _ in range(3)] == [False] * 3


@pytest.mark.parametrize("jump", [3600, -3600])
def test_sessions_and_tokens_outlive_a_jump(app: Any, world: World, clock: Clock, jump: int) -> None:
    world.user("ada")
    browser, token = Browser(app).sign_in("ada"), world.caller(world.user())
    clock.offset = jump
    assert browser.get("/api/auth/me").status_code == 200
    assert token.get("/api/auth/me").status_code == 200
    clock.offset = 0
    assert browser.get("/api/auth/me").status_code == 200


YEAR = 400 * 24 * 3600.0
on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)  # it has no clock but its host's
KINDS = (
    AuditEntry, Session, Token, MailLink, SignInAttempt, PasskeyChallenge, Delivery,
    Logo, Report, ReviewClaim, RuleFacts,
)  # fmt: skip


def numbers(app: Flask) -> dict[str, int]:
    with app.app_context():
        return {kind.__tablename__: db.session.scalar(select(func.count()).select_from(kind)) or 0 for kind in KINDS}


@pytest.fixture
def kept(make_app: Any, world: World) -> Flask:
    """A directory with something of everything that expires, of which nothing has."""
    app, ada = make_app(AUDIT_RETENTION="30", **MAIL), world.user("ada")
    before = database_clock.now() - timedelta(days=29)
    entries = [{"action": "user.signed_out", "at": before} for _ in range(deleting.FEW + 1)]
    with app.app_context():
        [server] = app.extensions["webhooks"]

        def fill() -> None:
            db.session.execute(insert(AuditEntry), entries)
            sessions.begin(ada.id, user_agent="")
            api_tokens.issue("x", database_clock.now() + timedelta(hours=1), by=ada)
            links.make(ada.id)
            ends = database_clock.now() + timedelta(minutes=5)
            db.session.add(PasskeyChallenge(challenge_hash="x", expires_at=ends))
            link_mails.queue(LinkPurpose.VERIFY, db.session.get(User, ada.id), "ada@example.org", server)
            logos.store((b"small", b"large"), by=ada.id)
            settled = {"outcome": "unfounded", "settled_at": before}
            db.session.add(Report(project_id=project, kind="spam", text="", **settled))
            db.session.add(RuleFacts(kind="submission", at=before, account_id=ada.id, facts={}, words=b""))
            until = database_clock.now() + timedelta(minutes=15)
            db.session.add(ReviewClaim(project_id=project, user_id=ada.id, version=1, until=until))

        project = world.project(ada)
        transaction(fill)
    return app


@on_postgresql
@pytest.mark.parametrize("jump", [YEAR, -YEAR])
def test_a_host_with_a_wrong_clock_ends_and_deletes_nothing(kept: Flask, clock: Clock, jump: float) -> None:
    browser, before = Browser(kept).sign_in("ada"), numbers(kept)
    assert all(before.values())
    clock.offset = jump
    housekeeping.tidy(kept, DeliveryPolicy())
    assert numbers(kept) == before
    assert browser.get("/api/auth/me").status_code == 200
    assert Browser(kept).sign_in("ada").get("/api/auth/me").status_code == 200
    with kept.app_context():
        newest = db.session.scalar(select(func.max(Session.created_at)))
    assert newest is not None
    assert abs(newest - datetime.now(UTC)) < timedelta(minutes=1)


@on_sqlite
def test_a_wrong_clock_does_not_empty_the_log_of_a_file(kept: Flask, clock: Clock) -> None:
    before = numbers(kept)
    clock.offset = YEAR
    housekeeping.tidy(kept, DeliveryPolicy())
    assert numbers(kept)["audit_entries"] == before["audit_entries"]


@on_sqlite
def test_a_wrong_clock_rejects_nobody_who_was_asked_until_it_is_right_again(
    app: Flask, world: World, clock: Clock
) -> None:
    ada, admin = world.user("ada"), world.caller(world.admin())
    projects = [world.project(ada, "pending") for _ in range(5)]
    for project in projects:
        assert admin.put(f"/api/review/projects/{project}/request-changes", {"message": "Why?"}).status_code == 200
    housekeeping.tidy(app, DeliveryPolicy())

    def states() -> set[str]:
        return {admin.get(f"/api/review/projects/{project}").json["status"] for project in projects}

    for number in range(3):
        clock.offset = YEAR + number
        housekeeping.tidy(app, DeliveryPolicy())
        world.project(ada)  # stored with the wrong time
    clock.offset = 0
    housekeeping.tidy(app, DeliveryPolicy())
    assert states() == {"pending"}
    for day in range(1, 32):  # hours and days pass, and the directory is quiet
        clock.offset = day * 23 * 3600
        housekeeping.tidy(app, DeliveryPolicy())
    assert states() == {"pending"}
    clock.offset = 32 * 23 * 3600
    housekeeping.tidy(app, DeliveryPolicy())
    assert states() == {"rejected"}


def ask(app: Flask) -> None:
    with app.app_context():
        db.session.execute(text("SELECT 1"))
        db.session.remove()


@on_postgresql
def test_each_connection_tells_the_time_and_a_wrong_clock_is_logged_once(
    make_app: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    database_clock.forget()  # what a test before this one has learned
    clock.offset = YEAR
    for app in (make_app(), make_app()):
        ask(app)
    assert abs(database_clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    [warned] = [record for record in caplog.records if record.message == "the clock of this host is wrong"]
    assert abs(warned.__dict__["seconds"] - YEAR) < 60


@on_postgresql
def test_a_pooled_connection_is_asked_for_the_time_now_and_then(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(app)
    learned, told = database_clock.steady(), list[str]()
    monkeypatch.setattr(database_clock, "learn", lambda epoch, _asked_at: told.append(epoch))
    for later in (database_clock.LEARN_EVERY - 60, database_clock.LEARN_EVERY + 60):
        monkeypatch.setattr(database_clock, "steady", lambda later=later: learned + later)
        ask(app)
    assert len(told) == 1
    assert abs(float(told[0]) - time.time()) < 60


@on_sqlite
def test_the_clock_of_these_tests_is_the_services(app: Any, world: World, clock: Clock) -> None:
    world.user("ada")
    browser = Browser(app).sign_in("ada")
    clock.offset = (IDLE + timedelta(minutes=1)).total_seconds()
    assert database_clock.now() > datetime.now(UTC) + IDLE
    assert browser.get("/api/auth/me").status_code == 401
    assert Api(app).get("/api/projects").status_code == 200


@pytest.fixture
def unknown() -> Any:
    """A process that has not asked any database for its time."""
    database_clock.forget()
    yield
    database_clock.forget()


def test_the_databases_time_is_of_the_middle_of_the_question_and_its_answer(
    unknown: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_clock, "steady", lambda: 101.0)
    monkeypatch.setattr(time, "time", lambda: 1000.5)  # right: half a second after the database read its clock
    database_clock.learn("1000.0", 100.0)
    assert database_clock.skew() == 0


def test_an_answer_that_took_too_long_tells_no_time(unknown: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_clock, "steady", lambda: 106.0)
    database_clock.learn("1000.0", 100.0)
    assert database_clock.is_due()
    database_clock.learn("1000.0", 105.0)
    assert not database_clock.is_due()
    database_clock.learn("5000.0", 100.0)
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    assert database_clock.now() == datetime.fromtimestamp(1000, UTC), "the earlier answer stays"
