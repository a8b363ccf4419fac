"""Expired rows are deleted, and no other table grows without bound."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, func, insert, inspect, select, text, update
from sqlalchemy.exc import DatabaseError, OperationalError

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import (
    DAY_COUNTS,
    AuditEntry,
    AuditRetention,
    Delivery,
    KnownTime,
    MailLink,
    Project,
    Report,
    Review,
    RuleFacts,
    Session,
    SignInAttempt,
    Token,
    now,
)
from directory.runtime import housekeeping
from directory.services import audit, day_counts, deleting
from directory.services.accounts import api_tokens, sessions
from directory.services.delivery import leases
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.people import kept_reports
from tests.conftest import ENVIRONMENT, Database
from tests.support.factories import World
from tests.support.outbox import endpoint, put, states
from tests.support.serving import ROOT, WITHIN, serving
from tests.support.waiting import until

# Each table with the rule by which it stops growing. A new table fails the test below until its rule stands here.
WITH_PROJECTS = "one row, or a bounded number, for each project"
WITH_USERS = "one row, or a bounded number, for each user"
PURGED = "housekeeping deletes what has expired"
RULES = {
    "projects": "grows: what the directory is for", "users": "grows: accounts stay", "upvotes": "grows: votes",
    "vote_discounts": "grows: one for a voter and a project",
    "audit_entries": "grows, unless AUDIT_RETENTION is set", "audit_retention": "empty but within a transaction",
    "categories": "administrators make them", "category_slugs": "administrators make them",
    "field_definitions": "administrators make them", "project_fields": WITH_PROJECTS,
    "field_counts": "at most a row for each value of a live project",
    "saved_replies": "administrators write up to a hundred",
    "tag_counts": "one row for each tag",
    "user_counts": "one row for each state", "day_counts": "some rows for each day and kind of event",
    "project_tags": WITH_PROJECTS, "project_search": WITH_PROJECTS, "standings": WITH_PROJECTS,
    "reviews": "grows: one for each submission, and each edit that is reviewed",
    "picture_uses": WITH_PROJECTS, "messages": WITH_PROJECTS,
    "user_submissions": WITH_USERS, "daily_bytes": WITH_USERS, "identities": WITH_USERS, "passkeys": WITH_USERS,
    "last_uses": WITH_USERS,
    "passkey_challenges": PURGED,
    "approvals": "housekeeping deletes those of earlier versions; up to three wait for each project",
    "sessions": PURGED, "tokens": PURGED, "review_claims": PURGED,
    "sign_in_attempts": PURGED, "mail_links": PURGED, "deliveries": PURGED, "logos": PURGED,
    "link_checks": WITH_PROJECTS, "link_hosts": PURGED, "link_counts": "one row for each state of a link",
    "reports": "those of members grow: one for each; housekeeping deletes the settled ones of anonymous callers",
    "rules": "administrators make them, 50 at most", "rule_days": "one row for each day and rule",
    "rule_previews": "those older than a day go with the next preview", "rule_facts": PURGED,
    "rule_actions": WITH_PROJECTS,
    "delivery_attempts": "with their delivery",
    "alembic_version": "one row", "known_time": "one row", "changes": "one row for each writer, replaced",
}  # fmt: skip


def test_every_table_has_a_rule_by_which_it_stops_growing(app: Flask) -> None:
    with app.app_context():
        found = {name for name in inspect(db.engine).get_table_names() if not name.startswith("project_search_")}
    assert found - RULES.keys() == set()
    assert RULES.keys() - found <= {"changes"}  # PostgreSQL's alone


def count(app: Flask, model: Any) -> int:
    with app.app_context():
        return int(db.session.scalar(select(func.count()).select_from(model)) or 0)


def change(app: Flask, model: Any, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(update(model).values(values)))


def end(app: Flask, model: Any, **values: Any) -> None:
    """Change the newest row."""
    with app.app_context():
        newest = db.session.scalar(select(func.max(model.id)))
        transaction(lambda: db.session.execute(update(model).where(model.id == newest).values(values)))


def test_ended_sessions_tokens_links_and_sign_ins_are_deleted_and_living_ones_stay(app: Flask, world: World) -> None:
    ada = world.user("ada")
    with app.app_context():
        for _ in range(2):
            transaction(lambda: sessions.begin(ada.id, user_agent=""))
            transaction(lambda: api_tokens.issue("x", now() + timedelta(hours=1), by=ada))
        for expires_at in (now() + timedelta(hours=1), now() - timedelta(days=190)):
            link = {"purpose": "reset", "email": "", "nonce": str(expires_at), "token_hash": str(expires_at)}
            attempt = {"state_hash": str(expires_at), "browser_hash": "x", "provider": "company", "next_path": "/"}
            rows = [MailLink(**link, expires_at=expires_at), SignInAttempt(**attempt, expires_at=expires_at)]
            transaction(lambda rows=rows: db.session.add_all(rows))
    end(app, Session, last_seen_at=now() - timedelta(days=15))
    end(app, Token, expires_at=now() - timedelta(days=300))
    assert housekeeping.tidy(app, DeliveryPolicy()) is False
    assert {model: count(app, model) for model in (Session, Token, MailLink, SignInAttempt)} == {
        Session: 1, Token: 1, MailLink: 1, SignInAttempt: 1,
    }  # fmt: skip


def test_a_session_ends_after_thirty_days_however_much_it_is_used(app: Flask, world: World) -> None:
    ada = world.user()
    with app.app_context():
        transaction(lambda: sessions.begin(ada.id, user_agent=""))
    change(app, Session, created_at=now() - timedelta(days=31))
    housekeeping.tidy(app, DeliveryPolicy())
    assert count(app, Session) == 0


def test_deliveries_are_deleted_in_portions(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    to = endpoint("http://127.0.0.1:1/")
    with app.app_context():
        put(to, 3, state="dead", settled_at=now() - timedelta(days=91))
        put(to, 1)
    assert [housekeeping.tidy(app, DeliveryPolicy()) for _ in range(2)] == [True, False]
    assert states(app) == {"pending": 1}


@pytest.mark.parametrize("error", [OperationalError("", {}, Exception()), ZeroDivisionError()])
def test_a_purge_that_fails_is_logged_and_counted_and_those_after_it_run(
    make_app: Any, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> int:
        raise error

    app = make_app(METRICS_ENABLED="true", AUDIT_RETENTION="30")
    expired_token(world)
    put_entries(app, 1, days=31)
    for module in (sessions, leases):
        monkeypatch.setattr(module, "purge", fail)
    assert housekeeping.tidy(app, DeliveryPolicy()) is False
    with app.app_context():
        left = db.session.scalars(select(AuditEntry.action)).all()
    assert (count(app, Token), "user.signed_out" in left) == (0, False)
    failed = [record for record in caplog.records if record.message == "a purge failed"]
    assert [record.table for record in failed] == ["sessions", "deliveries"]
    assert [record.exc_info is not None for record in failed] == [isinstance(error, ZeroDivisionError)] * 2
    assert purges_counted(app) == {"failed": 2, "refused": 0}


def put_entries(app: Flask, number: int, *, days: float) -> None:
    rows = [{"action": "user.signed_out", "at": now() - timedelta(days=days)} for _ in range(number)]
    with app.app_context():
        transaction(lambda: db.session.execute(insert(AuditEntry), rows) if rows else None)


def purges_counted(app: Flask) -> dict[str, float]:
    registry, outcomes = app.extensions["metrics"].registry, ("failed", "refused")
    return {each: registry.get_sample_value("directory_purges_total", {"outcome": each}) for each in outcomes}


FEW = deleting.FEW


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [(FEW, 0, 0), (FEW + 1, FEW + 1, FEW + 1), (FEW + 2, FEW + 1, 2 * FEW + 3), (FEW + 1, 0, FEW + 1)],
)
def test_a_purge_of_more_than_half_of_the_log_is_refused_logged_and_counted(
    make_app: Any, caplog: pytest.LogCaptureFixture, old: int, new: int, left: int
) -> None:
    app = make_app(METRICS_ENABLED="true", AUDIT_RETENTION="30")
    put_entries(app, old, days=31)
    put_entries(app, new, days=29)
    housekeeping.tidy(app, DeliveryPolicy())
    assert count(app, AuditEntry) == left
    refused = [record.table for record in caplog.records if record.message.startswith("more than half of a table")]
    assert refused == (["audit_entries"] if left > new else [])
    assert purges_counted(app)["refused"] == len(refused)


def put_sessions(app: Flask, user_id: int, number: int) -> None:
    old = now() - timedelta(days=20)
    rows = [
        {"user_id": user_id, "token_hash": f"old {n}", "user_agent": "", "last_seen_at": old} for n in range(number)
    ]
    with app.app_context():
        transaction(lambda: db.session.execute(insert(Session), rows))


def put_tokens(app: Flask, user_id: int, number: int) -> None:
    old = now() - timedelta(days=20)
    rows = [{"user_id": user_id, "name": "x", "token_hash": f"old {n}", "expires_at": old} for n in range(number)]
    with app.app_context():
        transaction(lambda: db.session.execute(insert(Token), rows))


def put_deliveries(app: Flask, _user_id: int, number: int) -> None:
    with app.app_context():
        put(endpoint("http://127.0.0.1:1/"), number, state="dead", settled_at=now() - timedelta(days=91))


def put_reports(app: Flask, _user_id: int, number: int) -> None:
    old = now() - timedelta(days=kept_reports.KEPT_DAYS + 1)
    row = {"project_id": 1, "kind": "spam", "text": "", "outcome": "unfounded", "settled_at": old}
    with app.app_context():
        transaction(lambda: db.session.execute(insert(Report), [row] * number))


def put_rule_facts(app: Flask, user_id: int, number: int) -> None:
    old = now() - timedelta(days=app.config["RULE_FACTS_DAYS"] + 1)
    row = {"kind": "submission", "at": old, "account_id": user_id, "facts": {}, "words": b""}
    with app.app_context():
        transaction(lambda: db.session.execute(insert(RuleFacts), [row] * number))


PUTTING = {
    Session: put_sessions, Token: put_tokens, Delivery: put_deliveries, Report: put_reports, RuleFacts: put_rule_facts,
}  # fmt: skip


@pytest.mark.parametrize("model", PUTTING, ids=lambda model: model.__tablename__)
def test_what_cannot_be_replaced_is_not_deleted_as_a_whole_until_a_person_says_so(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch, model: Any
) -> None:
    monkeypatch.setattr(deleting, "FEW", 3)
    PUTTING[model](app, world.user().id, 5)
    housekeeping.tidy(app, DeliveryPolicy())
    assert count(app, model) == 5
    runner = app.test_cli_runner()
    refused = runner.invoke(args=["tidy"])
    assert (refused.exit_code, count(app, model)) == (1, 5)
    table = model.__tablename__
    assert f"{table}: nothing deleted: 5 rows of {table} have expired, and only 0 have not" in refused.output
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    done = runner.invoke(args=["tidy", "--all"])
    assert (done.exit_code, count(app, model)) == (0, 0)
    assert f"{table}: 5 rows deleted" in done.output


def test_the_share_is_that_of_the_table_and_not_of_a_portion(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleting, "FEW", 3)
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    ada = world.user()
    put_sessions(app, ada.id, 6)
    with app.app_context():
        for _ in range(5):
            transaction(lambda: sessions.begin(ada.id, user_agent=""))
    housekeeping.tidy(app, DeliveryPolicy())
    assert count(app, Session) == 11


def test_nothing_is_deleted_while_the_service_is_read_only(make_app: Any, world: World) -> None:
    ada, app = world.user(), make_app(READ_ONLY="true")
    with world.app.app_context():
        transaction(lambda: api_tokens.issue("x", now() + timedelta(hours=1), by=ada))
    change(world.app, Token, expires_at=now() - timedelta(days=1))
    assert housekeeping.tidy(app, DeliveryPolicy()) is False
    assert count(app, Token) == 1


@pytest.mark.parametrize(("days", "left"), [("", 3), ("30", 2), ("400", 3)])
def test_the_log_is_kept_for_ever_or_for_as_long_as_it_is_set(
    make_app: Any, world: World, days: str, left: int
) -> None:
    app = make_app(AUDIT_RETENTION=days)
    for age in (90, 29, 0):
        entry = AuditEntry(action="user.signed_out", at=now() - timedelta(days=age))
        with app.app_context():
            transaction(lambda entry=entry: db.session.add(entry))
    housekeeping.tidy(app, DeliveryPolicy())
    assert (count(app, AuditEntry), count(app, AuditRetention)) == (left, 0)


def test_an_entry_within_the_retention_cannot_be_deleted_with_the_old_ones(app: Flask, world: World) -> None:
    world.project()
    with app.app_context(), pytest.raises(DatabaseError, match="append-only"):
        transaction(
            lambda: (
                db.session.add(AuditRetention(before=now() - timedelta(days=1))),
                db.session.flush(),
                db.session.execute(delete(AuditEntry)),
            )
        )
    with app.app_context():
        for guarded in (True, False):
            assert transaction(lambda guarded=guarded: audit.purge(1, 500, guarded=guarded)) == 0  # type: ignore[misc]
        db.session.remove()
        with pytest.raises(DatabaseError, match="append-only"), db.engine.begin() as connection:
            connection.execute(text("UPDATE audit_entries SET reason = 'x'"))


def expired_token(world: World) -> None:
    ada = world.user()
    with world.app.app_context():
        transaction(lambda: api_tokens.issue("x", now() + timedelta(hours=1), by=ada))
    change(world.app, Token, expires_at=now() - timedelta(days=1))


EARLY = "import directory.runtime.housekeeping as h; h.FIRST = 0.2; "


@pytest.mark.faults
def test_the_deliverer_tidies_without_any_endpoint(app: Flask, world: World, database: Database) -> None:
    assert housekeeping.FIRST <= 60  # seconds from the start
    expired_token(world)
    code = (
        EARLY + "import sys; from flask.cli import main; sys.argv[1:] = ['--app', 'wsgi', 'webhooks', 'work']; main()"
    )
    environment = {**os.environ, **ENVIRONMENT, "DATABASE_URL": database.url}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL) as work:
        try:
            until(lambda: count(app, Token) == 0)
            work.send_signal(signal.SIGTERM)
            assert work.wait(WITHIN) == 0
        finally:
            work.kill()  # else a failure would wait for it forever


@pytest.mark.faults
def test_a_server_without_a_deliverer_tidies_by_itself(
    app: Flask, world: World, database: Database, tmp_path: Path
) -> None:
    expired_token(world)
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    environment = {**ENVIRONMENT, "DATABASE_URL": database.url, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with serving(environment, tmp_path / "log"):
        until(lambda: count(app, Token) == 0)


# --- What is due by the clock -----------------------------------------------------------------------------------------


@pytest.fixture
def due(world: World) -> tuple[int, int]:
    """A project whose owner has not answered in time, and one that a rule has held for long enough."""
    asked, held = world.project(status="pending"), world.project(status="pending")
    admin = world.caller(world.admin())
    assert admin.put(f"/api/review/projects/{asked}/request-changes", {"message": "A licence?"}).status_code == 200
    past = now() - timedelta(seconds=1)
    with world.app.app_context():
        waits = {"since": past - timedelta(days=30), "until": past}
        for project, values in ((asked, waits), (held, {"turn": "rule", "until": past})):
            db.session.execute(update(Review).where(Review.project_id == project).values(values))
        db.session.commit()
    return asked, held


def seen(app: Flask, due: tuple[int, int]) -> tuple[str, bool]:
    """The state of the one, and whether the other is held."""
    with app.app_context():
        state = db.session.scalars(select(Project.status).where(Project.id == due[0])).one()
        return state, db.session.scalar(select(Review.turn).where(Review.project_id == due[1])) == "rule"


def know(app: Flask, ago: timedelta | None) -> None:
    """Have housekeeping know the time of so long ago, or none."""
    with app.app_context():
        db.session.execute(delete(KnownTime))
        if ago is not None:
            db.session.add(KnownTime(name="housekeeping", at=now() - ago))
        db.session.commit()


@pytest.mark.parametrize("ago", [None, timedelta(0), timedelta(hours=23), timedelta(days=-400)])
def test_what_is_due_closes_by_a_clock_that_did_not_jump_be_it_the_only_one(
    app: Flask, due: tuple[int, int], ago: timedelta | None
) -> None:
    know(app, ago)
    housekeeping.tidy(app, DeliveryPolicy())
    assert seen(app, due) == ("rejected", False)
    with app.app_context():
        assert now() - db.session.scalars(select(KnownTime.at)).one() < timedelta(minutes=1)


def test_after_a_jump_of_the_clock_nothing_closes_is_released_or_counted_until_a_person_says_so(
    make_app: Any, due: tuple[int, int], world: World, caplog: pytest.LogCaptureFixture
) -> None:
    app = make_app(METRICS_ENABLED="true")
    know(app, timedelta(days=1, minutes=1))
    for _ in range(2):  # what is stored meanwhile does not make it right
        assert housekeeping.tidy(app, DeliveryPolicy()) is False
        world.project()
    assert (seen(app, due), days_counted(app)) == (("pending", True), 0)
    assert purges_counted(app) == {"failed": 0, "refused": 2}
    said = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert [text.partition(":")[0] for text in said] == ["nothing closes and nothing is released"] * 2
    runner = app.test_cli_runner()
    refused = runner.invoke(args=["tidy"])
    assert (refused.exit_code, seen(app, due), days_counted(app)) == (1, ("pending", True), 0)
    assert "nothing closed and nothing released: the clock says " in refused.output
    assert "sessions: 0 rows deleted" in refused.output
    done = runner.invoke(args=["tidy", "--all"])
    assert (done.exit_code, seen(app, due), days_counted(app)) == (0, ("rejected", False), 1)
    for line in ("day_counts: 1 day counted", "holds: 1 released", "projects: 1 rejected without an answer in time"):
        assert line in done.output
    assert runner.invoke(args=["tidy"]).exit_code == 0


def days_counted(app: Flask) -> int:
    with app.app_context():
        return db.session.scalar(select(func.count()).where(DAY_COUNTS.c.kind == day_counts.UNTIL)) or 0


def test_all_that_is_due_is_done_without_a_pause_however_its_portions_fall(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A portion has those that had one time to answer: it is not full, and there are more."""
    monkeypatch.setattr(housekeeping, "AT_ONCE", 4)
    ada, admin = world.user(), world.caller(world.admin())
    projects, changed = [world.project(ada, "pending") for _ in range(7)], [world.project(ada) for _ in range(3)]
    for project in changed:
        world.revise(project, ada, title="Another")
    for project in (*projects, *changed):
        assert admin.put(f"/api/review/projects/{project}/request-changes", {"message": "Why?"}).status_code == 200
    past = now() - timedelta(seconds=1)
    with app.app_context():
        for number, project in enumerate(projects):
            values = {"since": past - timedelta(days=number % 3 + 1), "until": past}
            db.session.execute(update(Review).where(Review.project_id == project).values(values))
        changes = update(Review).where(Review.kind == "changes")
        db.session.execute(changes.values(since=past - timedelta(days=2), until=past))
        db.session.commit()
    rounds = list(iter(lambda: housekeeping.tidy(app, DeliveryPolicy()), False))
    assert 3 < len(rounds) < 10
    with app.app_context():
        assert db.session.scalar(select(func.count()).where(Project.status == "pending")) == 0
        assert db.session.scalar(select(func.count()).where(Review.turn.is_not(None))) == 0
