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
from sqlalchemy import delete, func, inspect, select, text, update
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, AuditRetention, MailLink, Session, SignInAttempt, Token, now
from directory.runtime import housekeeping
from directory.services import audit
from directory.services.accounts import sessions
from directory.services.delivery import claims
from directory.services.delivery.schedule import Policy
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
    "categories": "administrators make them", "tag_counts": "one row for each tag",
    "user_counts": "one row for each state",
    "project_tags": WITH_PROJECTS, "project_search": WITH_PROJECTS, "standings": WITH_PROJECTS,
    "revisions": WITH_PROJECTS,
    "user_submissions": WITH_USERS, "identities": WITH_USERS, "passkeys": WITH_USERS, "passkey_challenges": PURGED,
    "sessions": PURGED, "tokens": PURGED,
    "sign_in_attempts": PURGED, "mail_links": PURGED, "deliveries": PURGED, "logos": PURGED,
    "delivery_attempts": "with their delivery",
    "alembic_version": "one row", "changes": "one row for each writer, replaced",
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
            transaction(lambda: sessions.issue_token("x", now() + timedelta(hours=1), by=ada))
        for expires_at in (now() + timedelta(hours=1), now() - timedelta(days=190)):
            link = {"purpose": "reset", "email": "", "nonce": str(expires_at), "token_hash": str(expires_at)}
            attempt = {"state_hash": str(expires_at), "browser_hash": "x", "provider": "company", "next_path": "/"}
            rows = [MailLink(**link, expires_at=expires_at), SignInAttempt(**attempt, expires_at=expires_at)]
            transaction(lambda rows=rows: db.session.add_all(rows))
    end(app, Session, last_seen_at=now() - timedelta(days=15))
    end(app, Token, expires_at=now() - timedelta(days=300))
    assert housekeeping.tidy(app, Policy()) is False
    assert {model: count(app, model) for model in (Session, Token, MailLink, SignInAttempt)} == {
        Session: 1, Token: 1, MailLink: 1, SignInAttempt: 1,
    }  # fmt: skip


def test_a_session_ends_after_thirty_days_however_much_it_is_used(app: Flask, world: World) -> None:
    ada = world.user()
    with app.app_context():
        transaction(lambda: sessions.begin(ada.id, user_agent=""))
    change(app, Session, created_at=now() - timedelta(days=31))
    housekeeping.tidy(app, Policy())
    assert count(app, Session) == 0


def test_deliveries_are_deleted_in_portions(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    to = endpoint("http://127.0.0.1:1/")
    with app.app_context():
        put(to, 3, state="dead", settled_at=now() - timedelta(days=91))
        put(to, 1)
    assert [housekeeping.tidy(app, Policy()) for _ in range(2)] == [True, False]
    assert states(app) == {"pending": 1}


def test_housekeeping_can_wait_for_the_database(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_reach(*_: Any) -> int:
        raise SQLAlchemyError

    monkeypatch.setattr(claims, "purge", out_of_reach)
    assert housekeeping.tidy(app, Policy()) is False


def test_nothing_is_deleted_while_the_service_is_read_only(make_app: Any, world: World) -> None:
    ada, app = world.user(), make_app(READ_ONLY="true")
    with world.app.app_context():
        transaction(lambda: sessions.issue_token("x", now() + timedelta(hours=1), by=ada))
    change(world.app, Token, expires_at=now() - timedelta(days=1))
    assert housekeeping.tidy(app, Policy()) is False
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
    housekeeping.tidy(app, Policy())
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
        assert transaction(lambda: audit.purge(now() - timedelta(days=1), 500)) == 0
        db.session.remove()
        with pytest.raises(DatabaseError, match="append-only"), db.engine.begin() as connection:
            connection.execute(text("UPDATE audit_entries SET reason = 'x'"))


def expired_token(world: World) -> None:
    ada = world.user()
    with world.app.app_context():
        transaction(lambda: sessions.issue_token("x", now() + timedelta(hours=1), by=ada))
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
        until(lambda: count(app, Token) == 0)
        work.send_signal(signal.SIGTERM)
        assert work.wait(WITHIN) == 0


@pytest.mark.faults
def test_a_server_without_a_deliverer_tidies_by_itself(
    app: Flask, world: World, database: Database, tmp_path: Path
) -> None:
    expired_token(world)
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    environment = {**ENVIRONMENT, "DATABASE_URL": database.url, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with serving(environment, tmp_path / "log"):
        until(lambda: count(app, Token) == 0)
