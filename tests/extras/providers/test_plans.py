"""What the database reads for a sign-in by a provider."""

from contextlib import suppress
from datetime import timedelta

from flask import Flask
from sqlalchemy import event, insert, select

from directory.db.transactions import transaction
from directory.errors import SignInExpired
from directory.extensions import db
from directory.extras.providers import attempts, identities
from directory.extras.providers.provider import Claims
from directory.models import Identity, SignInAttempt, now
from directory.services.identity import Caller
from directory.services.sign_in import ways_in
from tests.db.test_plans import Plans, app, many, migrated  # noqa: F401 (fixtures)
from tests.support.factories import World

HOUR = timedelta(hours=1)


def test_identities_and_sign_ins_are_looked_up_by_indexes_alone(many: Flask, world: World) -> None:  # noqa: F811
    users = [world.user().id for _ in range(3)]
    claims = Claims("company", "https://login.example.org", "7", None, False, ())
    with many.app_context():
        at = {"created_at": now(), "last_used_at": now()}
        own = [
            {"user_id": users[0] if n % 50 == 0 else users[1], "issuer": claims.issuer, "subject": f"{n}", **at}
            for n in range(3_000)
        ]
        transaction(lambda: db.session.execute(insert(Identity), own))
        begun = [
            {"state_hash": f"{n:064}", "browser_hash": "", "provider": "company", "next_path": "/"}
            for n in range(3_000)
        ]
        at = {"created_at": now(), "expires_at": now() + HOUR}
        transaction(lambda: db.session.execute(insert(SignInAttempt), [{**one, **at} for one in begun]))
        with db.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")
        noted = Plans()
        event.listen(db.engine, "before_cursor_execute", noted.note)
        db.session.scalar(select(Identity.user_id).where(*identities._is(claims)))
        ways_in.identities(Caller(users[0], "x", "member"))
        with suppress(SignInExpired):
            attempts.take("none", "company", "none")
        db.session.scalars(select(SignInAttempt.id).where(SignInAttempt.expires_at < now() - HOUR).limit(5)).all()
        event.remove(db.engine, "before_cursor_execute", noted.note)
        plans = noted.explained()
    indexes = ("identities_issuer_subject", "identities_user_id", "attempts_state_hash", "attempts_expires_at")
    columns = ("issuer=?", "user_id=?", "state_hash=?", "expires_at<?")
    assert len(plans) == 4
    for plan, index, column in zip(plans, indexes, columns, strict=True):
        assert index in plan or column in plan, plan
        for table in ("identities", "sign_in_attempts"):
            assert f"Seq Scan on {table}" not in plan, plan
            assert f"SCAN {table}\n" not in f"{plan}\n", plan
