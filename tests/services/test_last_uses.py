"""Last uses that votes record: in the transaction of the votes, for all callers together."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text, update

from directory.db.statements import use_connection
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import together
from directory.models import LastUse, Session, Token, User, now
from directory.services.accounts import last_uses, sessions
from directory.services.identity import Caller
from directory.services.votes import voting
from tests.conftest import Database, Statements
from tests.http.test_together import Scene, answered, asked, by_application, environ, transaction_of_session
from tests.support.factories import Api, World
from tests.support.waiting import until

DAY = timedelta(days=1)
SUSPENDS = "UPDATE users SET status = 'suspended' WHERE id = :id"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the lookup the time to open a connection on a busy machine."""
    monkeypatch.setattr(together, "LOOKUP_SECONDS", 60)


class Crowd:
    """Members whose sessions and tokens were last used a day ago, with the headers of their requests."""

    def __init__(self, app: Flask, world: World) -> None:
        self.scene = Scene(app, world)
        self.app, self.project, self.voters = app, self.scene.live[0], self.scene.voters
        name = app.config["COOKIE_NAME"]
        self.headers = [{"Authorization": self.scene.bearer(by)} for by in self.voters[:2]]
        self.headers += [{"Cookie": f"{name}={transaction_of_session(app, by)}"} for by in self.voters[2:]]
        self.headers = [{**each, "Sec-Fetch-Site": "same-origin"} for each in self.headers]
        self.age()

    def age(self) -> None:
        with self.app.app_context():
            for column in (Session.last_seen_at, Token.last_used_at, LastUse.seen_at):
                transaction(
                    lambda column=column: db.session.execute(update(column.class_).values({column: now() - DAY}))
                )

    def asks(self, action: str = "cast") -> list[dict[str, Any]]:
        return [environ(self.project, action, **headers) for headers in self.headers]

    def votes(self) -> int:
        return int(self.scene.world.stored(self.project)["upvotes"])

    def seen(self) -> list[bool]:
        """For each voter whether the account and its session or token were seen just now; both, or neither."""
        with self.app.app_context():
            return [self._is_seen(by) for by in self.voters]

    def _is_seen(self, by: Caller) -> bool:
        times: list[datetime] = [db.session.scalars(select(LastUse.seen_at).where(LastUse.user_id == by.id)).one()]
        used = [*db.session.scalars(select(Session.last_seen_at).where(Session.user_id == by.id))]
        used = used or [*db.session.scalars(select(Token.last_used_at).where(Token.user_id == by.id))]
        (recent,) = {each > now() - timedelta(minutes=1) for each in [*times, *used]}
        return recent


@pytest.fixture
def crowd(app: Flask, world: World) -> Crowd:
    return Crowd(app, world)


def statuses(found: list[Any]) -> list[str]:
    return [each if isinstance(each, str) else each[0][:3] for each in found]


def test_votes_and_last_uses_of_a_batch_take_the_statements_of_votes_alone(
    crowd: Crowd, statements: Statements, database: Database
) -> None:
    counts = []
    for is_due in (True, False):
        crowd.scene.forget()
        statements.clear()
        assert statuses(answered(crowd.app, crowd.asks())) == ["200"] * 4
        counts.append(len(statements))
        assert crowd.seen() == [True] * 4, is_due
    if database.backend == "postgresql":
        assert counts == [3, 3]  # the sessions, the tokens, the votes
    else:
        assert counts[0] - counts[1] == 3  # one for sessions, tokens and accounts each, however many they are


def test_a_vote_alone_records_its_last_use(crowd: Crowd) -> None:
    assert statuses(answered(crowd.app, crowd.asks()[:1])) == ["200"]
    assert statuses([by_application(crowd.app, crowd.asks()[2])]) == ["200"]
    assert crowd.seen() == [True, False, True, False]


def test_a_transaction_that_fails_leaves_neither_vote_nor_last_use(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = [voting.Vote(crowd.voters[0], crowd.project, "cast", is_use_due=True)]
    with crowd.app.app_context():
        if db.engine.dialect.name == "postgresql":
            votes = [vote._replace(project_id=2**63) for vote in votes]
        else:
            monkeypatch.setattr(voting, "_on_sqlite", lambda vote: 1 / 0)
        assert isinstance(voting._count(votes)[0], Exception)
    assert crowd.seen() == [False] * 4


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
@pytest.mark.parametrize("locked", ["users", "tokens"])
def test_a_locked_row_delays_no_vote_and_its_use_is_recorded_the_next_time(crowd: Crowd, locked: str) -> None:
    """The lock is that of an edit of the account, which a vote does not wait for."""
    with crowd.app.app_context():
        engine = db.engine
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as other:
        column = "id" if locked == "users" else "user_id"
        lock = text(f"SELECT 1 FROM {locked} WHERE {column} = :id FOR NO KEY UPDATE")
        other.execute(lock, {"id": crowd.voters[0].id})
        assert statuses(answered(crowd.app, crowd.asks())) == ["200"] * 4
    assert crowd.votes() == 4
    assert crowd.seen() == [False, True, True, True]
    assert statuses(answered(crowd.app, crowd.asks())) == ["200"] * 4
    assert crowd.seen() == [True] * 4


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_an_account_is_suspended_while_its_vote_waits_and_no_lock_of_the_vote_is_in_the_way(crowd: Crowd) -> None:
    """Otherwise each would wait for the other: a deadlock."""
    by, app = crowd.voters[0], crowd.app
    with app.app_context():
        engine = db.engine
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with (
        ThreadPoolExecutor(1) as pool,
        engine.connect().execution_options(isolation_level="READ COMMITTED") as other,
        engine.connect() as watching,
    ):
        for statement in ("SELECT 1 FROM users WHERE id = :id FOR UPDATE", SUSPENDS):
            other.execute(text(statement), {"id": by.id})
        voted = pool.submit(answered, app, crowd.asks()[:1])
        until(lambda: watching.scalar(waiting) == 1)
        other.execute(text("SET LOCAL lock_timeout = 100"))
        for table in ("tokens", "last_uses"):
            other.execute(text(f"SELECT 1 FROM {table} WHERE user_id = :id FOR UPDATE"), {"id": by.id})
        other.execute(text("DELETE FROM tokens WHERE user_id = :id"), {"id": by.id})
        other.commit()
        assert statuses(voted.result()) == ["401"]
    assert crowd.votes() == 0


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_accounts_end_while_they_vote_without_a_deadlock(crowd: Crowd, world: World) -> None:
    """Each vote records a use; suspensions end all sessions and tokens of their accounts."""
    root = world.caller(world.admin())
    deadlocks = text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    before = counted(crowd.app, deadlocks)
    for _ in range(5):
        fresh = Crowd(crowd.app, world)
        with ThreadPoolExecutor(3) as pool:
            votes = [pool.submit(answered, crowd.app, fresh.asks("toggle")) for _ in range(2)]
            ending = pool.submit(end_all, root, fresh.voters)
            for each in votes:
                assert {*statuses(each.result())} <= {"200", "401", "application"}
            ending.result()
        assert fresh.votes() == 0
    assert counted(crowd.app, deadlocks) == before


def end_all(root: Api, voters: list[Caller]) -> None:
    for n, by in enumerate(voters):
        path = f"/api/admin/users/{by.id}"
        answer = root.delete(path) if n % 2 else root.put(path, {"status": "suspended"})
        assert answer.status_code in {200, 204}, answer.json


def counted(app: Flask, query: Any) -> int:
    with app.app_context(), db.engine.connect() as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
        return int(connection.execute(query).scalar_one())


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_locked_project_delays_no_other_vote_and_no_last_use(crowd: Crowd) -> None:
    asks = [*crowd.asks()[:3], environ(crowd.scene.live[1], "cast", **crowd.headers[3])]
    with crowd.app.app_context():
        engine = db.engine
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as other:
        other.execute(text("SELECT 1 FROM projects WHERE id = :id FOR UPDATE"), {"id": crowd.scene.live[1]})
        outcomes = together.Together(crowd.app).answer([asked(crowd.app, made) for made in asks])
        assert [callable(each) for each in outcomes] == [False, False, False, True]
        assert crowd.seen() == [True] * 4
    assert crowd.votes() == 3


def test_a_vote_that_is_refused_records_its_last_use(make_app: Any) -> None:
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_VOTING="1 per minute")
    crowd = Crowd(app, World(app))
    assert statuses(answered(app, crowd.asks())) == ["200"] * 4
    crowd.age()
    assert statuses(answered(app, crowd.asks())) == ["429"] * 4
    assert crowd.seen() == [True] * 4


@pytest.mark.parametrize("ended", ["revoked", "expired", "suspended"])
def test_who_has_ended_never_votes_and_is_never_seen(crowd: Crowd, ended: str) -> None:
    by = crowd.voters[0]
    with crowd.app.app_context():
        if ended == "revoked":
            transaction(lambda: sessions.revoke_tokens(by.id))
        elif ended == "expired":
            past = update(Token).where(Token.user_id == by.id).values(expires_at=now() - timedelta(seconds=1))
            transaction(lambda: db.session.execute(past))
        else:
            transaction(lambda: db.session.execute(update(User).where(User.id == by.id).values(status="suspended")))
    for _ in range(2):
        assert statuses(answered(crowd.app, crowd.asks())) == ["application", *["200"] * 3]
        assert statuses([by_application(crowd.app, crowd.asks()[0])]) == ["401"]
    assert crowd.votes() == 3
    with crowd.app.app_context():
        seen = db.session.scalars(select(LastUse.seen_at).where(LastUse.user_id == by.id)).one()
    assert seen < now() - DAY / 2


@pytest.mark.direct("reads the prepared statements of a connection")
@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_statements_for_several_callers_are_not_planned_for_each_run(crowd: Crowd) -> None:
    """PostgreSQL plans the first five runs, and later ones if it takes the plans for the values to be cheaper."""
    tokens = [sessions.of_token(crowd.scene.tokens[by]) for by in crowd.voters]
    with crowd.app.app_context(), db.engine.connect() as connection, use_connection(connection.connection, 60):
        connection.exec_driver_sql("ANALYZE")  # a plan depends on what an earlier test had in the tables
        connection.commit()
        for _ in range(20):
            callers = [sessions.caller_of(each, sessions.prefetch(tokens[:2])) for each in tokens[:2]]
            last_uses.record([found[0] for found in callers if found is not None])
        plans = connection.exec_driver_sql(
            "SELECT custom_plans, generic_plans FROM pg_prepared_statements "
            "WHERE statement LIKE '%%WITH ORDINALITY%%' OR statement LIKE '%%used_accounts%%'"
        ).all()
    assert [custom for custom, _ in plans] == [5, 5]
