"""Many accounts are found by filters, and suspended or deleted at once, each as a single one is."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from sqlalchemy import func, insert, select, update

from directory.api.admin import users as routes
from directory.db import portions
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, Project, Session, Token, User
from directory.services.accounts import sessions
from directory.services.accounts.users import Filters
from directory.services.data import counter_checks, recount
from directory.services.identity import Caller
from directory.services.people import account_deletion, large_work
from directory.services.people import user_decisions as decisions
from directory.services.people.user_decisions import Decision, waiting
from directory.services.review import takedown
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING

PATH = "/api/admin/users/decisions"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def app(make_app: Any) -> Flask:
    return make_app(**NOTIFYING)  # type: ignore[no-any-return]


@pytest.fixture
def admin(app: Flask, world: World) -> Api:
    return Api(app, world.caller(world.admin("root")).token)


def change(app: Flask, user: Caller, **columns: Any) -> Caller:
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == user.id).values(**columns)))
    return user


def spammers(app: Flask, world: World, number: int) -> list[Caller]:
    """Accounts of one domain, each with a pending project and a vote."""
    project, made = world.project(), []
    for n in range(number):
        user = change(app, world.user(f"spam{n}"), email=f"spam{n}@spam.example")
        world.project(user, "pending")
        world.vote(project, user)
        made.append(user)
    return made


def status(app: Flask) -> dict[str, str]:
    with app.app_context():
        rows = db.session.execute(select(User.username, User.status, User.deleted_at)).all()
    return {name: "deleted" if deleted_at else state for name, state, deleted_at in rows}


def actions(app: Flask, actor: str = "root") -> list[str]:
    with app.app_context():
        query = select(AuditEntry.action).join(User, User.id == AuditEntry.actor_id).where(User.username == actor)
        return list(db.session.scalars(query.order_by(AuditEntry.id)))


def faults(app: Flask) -> list[Any]:
    with app.app_context():
        return recount.look(lambda number: number > 0).faults + counter_checks.look_beside()


# --- Filters ----------------------------------------------------------------------------------------------------------


def test_users_are_filtered_by_day_domain_confirmation_and_whether_anything_was_live(
    app: Flask, world: World, admin: Api
) -> None:
    change(app, world.user("old"), created_at=LONG_AGO)
    change(app, world.user("spam"), email="spam@spam.example")
    change(app, world.user("sub"), email="sub@mail.spam.example")
    change(app, world.user("sure"), email_verified_at=LONG_AGO)
    change(app, world.user("umlaut"), email="umlaut@xn--exmple-cua.de")
    author, was_live, pending = world.user("author"), world.user("was-live"), world.user("waits")
    world.project(author)
    admin.put(f"/api/admin/projects/{world.project(was_live)}/unpublish")
    world.project(pending, "pending")

    def found(query: str) -> set[str]:
        answer = admin.get(f"/api/admin/users?role=member&limit=100&{query}")
        assert answer.status_code == 200, answer.json
        names = {user["username"] for user in answer.json["items"]}
        assert answer.json["pagination"]["total"] == len(names)
        return names

    everybody = found("")
    assert everybody == {"old", "spam", "sub", "sure", "umlaut", "author", "was-live", "waits"}
    assert found("created_to=2020-01-01") == found("created_from=2020-01-01&created_to=2020-01-01") == {"old"}
    assert found("created_to=2020-01-01T00:00:00Z") == set()
    assert found("created_from=2020-01-02") == everybody - {"old"}
    assert found("email_domain=SPAM.example") == {"spam"}
    assert found("email_domain=spam.example&q=sub") == set()
    for spelling in ("exämple.de", " EXÄMPLE。de", "xn--exmple-cua.de", "XN--EXMPLE-CUA.de"):
        assert found(f"email_domain={quote(spelling)}") == {"umlaut"}
    assert found("email_verified=true") == {"sure"}
    assert found("email_verified=false") == everybody - {"sure"}
    assert found("live=true") == {"author", "was-live"}
    assert found("live=false") == everybody - {"author", "was-live"}
    for wrong in (
        "email_domain=a@b.example",
        "email_domain=_",
        "email_domain=%C3%A4",
        "email_domain=%F0%9F%98%80.a..b",
        "live=1",
        "email_verified=yes",
        "created_from=soon",
    ):
        assert admin.get(f"/api/admin/users?{wrong}").status_code == 422


# --- Decisions --------------------------------------------------------------------------------------------------------


def test_all_that_match_are_suspended_and_what_they_submitted_taken_down(app: Flask, world: World, admin: Api) -> None:
    made = spammers(app, world, 3)
    world.project(made[0])
    world.user("innocent")
    before = len(actions(app))
    body = {"decision": "suspend", "match": {"email_domain": "spam.example", "live": False}, "reason": "Spam."}
    assert admin.post(PATH, body).json == {"changed": 2, "remaining": 0}
    assert status(app) == {
        **dict.fromkeys(status(app), "active"), "spam1": "suspended", "spam2": "suspended",
    }  # fmt: skip
    assert actions(app)[before:] == ["user.status_changed"] * 2
    assert admin.post(PATH, body).json == {"changed": 0, "remaining": 0}
    taking_down = {**body, "unpublish": True, "match": {"email_domain": "spam.example"}}
    before = len(actions(app))
    assert admin.post(PATH, taking_down).json == {"changed": 3, "remaining": 0}
    assert sorted(actions(app)[before:]) == sorted(
        ["user.status_changed", "project.unpublished", *["project.rejected"] * 4]
    )
    assert admin.post(PATH, taking_down).json == {"changed": 0, "remaining": 0}
    assert faults(app) == []


def test_who_has_submitted_nothing_is_suspended_too_and_only_what_is_open_keeps_a_suspended_one_waiting(
    app: Flask, world: World, admin: Api
) -> None:
    idle = world.user("idle")
    done, open_ = world.user("done"), world.user("open")
    world.project(done, "rejected")
    project = world.project(open_)
    change(app, done, status="suspended")
    change(app, open_, status="suspended")
    body = {"decision": "suspend", "unpublish": True, "ids": [idle.id, done.id, open_.id]}
    assert admin.post(PATH, body).json == {"changed": 2, "remaining": 0}
    assert status(app)["idle"] == "suspended"
    assert world.stored(project)["status"] == "rejected"


def test_the_accounts_are_in_the_order_of_their_ids_behind_the_last_one(app: Flask, world: World) -> None:
    users = [world.user().id for _ in range(4)]
    decision = Decision(decision="delete", filters=Filters(), ids=(*reversed(users),), by=None, notify=[])
    with app.app_context():
        assert waiting(decision) == users
        assert waiting(decision, 2) == users[:2]
        assert waiting(decision, 2, users[1]) == users[2:]


def test_those_given_are_deleted_but_no_administrator_and_not_the_caller(app: Flask, world: World, admin: Api) -> None:
    made, other = spammers(app, world, 2), world.admin("other")
    me = admin.get("/api/auth/me").json["id"]
    ids = [made[1].id, other.id, me, 10**9, made[0].id]
    for _ in range(2):
        answer = admin.post(PATH, {"decision": "delete", "ids": ids, "reason": "Spam."})
        assert answer.status_code == 200
    assert status(app)["other"] == status(app)["root"] == "active"
    assert {status(app)[f"deleted-{user.id}"] for user in made} == {"deleted"}
    assert [action for action in actions(app) if action.startswith("user.")] == ["user.deleted"] * 2
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(Project).where(Project.status == "pending")) == 0
    assert faults(app) == []
    everybody = {"decision": "delete", "match": {"role": "admin"}}
    assert admin.post(PATH, everybody).json == {"changed": 0, "remaining": 0}


def test_one_request_decides_about_a_portion_and_says_how_many_remain(
    app: Flask, world: World, admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    spammers(app, world, 5)
    body = {"decision": "delete", "match": {"email_domain": "spam.example"}}
    monkeypatch.setattr(routes, "AT_ONCE", 2)
    assert [admin.post(PATH, body).json for _ in range(4)] == [
        {"changed": 2, "remaining": 3}, {"changed": 2, "remaining": 1},
        {"changed": 1, "remaining": 0}, {"changed": 0, "remaining": 0},
    ]  # fmt: skip


def test_a_request_ends_after_its_time(app: Flask, world: World, admin: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    spammers(app, world, 2)
    monkeypatch.setattr(routes, "SECONDS", 0.0)
    body = {"decision": "suspend", "match": {"email_domain": "spam.example"}}
    assert admin.post(PATH, body).json == {"changed": 0, "remaining": 2}


def test_an_account_with_too_much_is_left_out_and_the_others_are_decided(
    app: Flask, world: World, admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = spammers(app, world, 3)
    world.project(made[1], "pending")
    monkeypatch.setattr(takedown, "AT_ONCE", 1)
    monkeypatch.setattr(account_deletion, "PROJECTS_MAX", 1)
    match = {"email_domain": "spam.example"}
    suspending = {"decision": "suspend", "match": match, "unpublish": True}
    assert admin.post(PATH, suspending).json == {"changed": 2, "remaining": 1}
    assert status(app)["spam1"] == "active"
    assert admin.post(PATH, {"decision": "delete", "match": match}).json == {"changed": 2, "remaining": 1}
    result = app.test_cli_runner().invoke(args=["users", "delete", "--email-domain", "spam.example", "--yes"])
    assert result.stdout == "1 account deleted.\n"  # a command has no such limit
    assert faults(app) == []


@pytest.fixture
def decide(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Decides about the accounts of a domain, as a command does, and yields how many each transaction has changed.

    A transaction is never too slow for twice as many accounts in the next one.
    """
    monkeypatch.setattr(portions, "PORTION_SECONDS", 1e9)
    monkeypatch.setattr(large_work, "PORTION_SECONDS", 1e9)

    def carry_out(decision: str, **options: bool) -> Iterator[int]:
        filters = Filters(email_domain="spam.example")
        with app.app_context():
            yield from large_work.carry_out(Decision(decision=decision, filters=filters, by=None, notify=[], **options))

    return carry_out


@pytest.mark.parametrize(
    ("decision", "options", "locked"),
    [
        ("suspend", {}, ["users", "users", "projects"]),
        ("suspend", {"unpublish": True}, ["users", "users", "projects", "categories"]),
        ("delete", {}, ["users", "users", "projects", "categories", "user_submissions"]),
    ],
)
def test_a_transaction_decides_about_several_accounts_and_locks_all_before_it_changes_any(
    app: Flask,
    world: World,
    database: Any,
    decide: Any,
    statements: Any,
    decision: str,
    options: Any,
    locked: list[str],
) -> None:
    spammers(app, world, 7)
    statements.clear()
    assert list(decide(decision, **options)) == [1, 2, 4]
    assert faults(app) == []
    looks = [place for place, each in enumerate(statements) if "FROM users" in each and "LIMIT" in each]
    last = statements[looks[2] + 1 : looks[3]]  # of four accounts
    writes = next(place for place, each in enumerate(last) if each.startswith(("INSERT", "UPDATE", "DELETE")))
    tables = [re.findall(r"FROM (\w+)", each)[0] for each in last[:writes] if " FOR " in each]
    assert tables[: len(locked)] == (locked if database.backend == "postgresql" else [])


def test_a_run_that_was_stopped_loses_its_last_transaction_alone_and_the_next_one_goes_on(
    app: Flask, world: World, decide: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = spammers(app, world, 7)
    with monkeypatch.context() as killed:

        def delete(user_id: int, **given: Any) -> None:
            if user_id == made[5].id:
                raise KeyboardInterrupt
            account_deletion.delete_user(user_id, **given)

        killed.setattr(decisions, "account_deletion", SimpleNamespace(delete_user=delete))
        done = decide("delete")
        assert [next(done), next(done)] == [1, 2]
        with pytest.raises(KeyboardInterrupt):
            next(done)
    assert sorted(name for name in status(app) if name.startswith("spam")) == ["spam3", "spam4", "spam5", "spam6"]
    assert faults(app) == []
    assert list(decide("delete")) == [1, 2, 1]
    assert faults(app) == []


def test_a_transaction_ends_after_its_time(
    app: Flask, world: World, decide: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spammers(app, world, 4)
    monkeypatch.setattr(large_work, "PORTION_SECONDS", 0.0)
    assert list(decide("suspend")) == [1, 1, 1, 1]


def test_an_account_that_no_longer_matches_under_its_lock_stays(
    app: Flask, world: World, admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    from directory.services.people import user_decisions

    made = spammers(app, world, 2)
    found = user_decisions.waiting

    def confirmed_meanwhile(*given: Any) -> list[int]:
        ids = found(*given)
        change(app, made[0], email_verified_at=LONG_AGO)
        return ids

    monkeypatch.setattr(user_decisions, "waiting", confirmed_meanwhile)
    body = {"decision": "delete", "match": {"email_domain": "spam.example", "email_verified": False}}
    assert admin.post(PATH, body).json == {"changed": 1, "remaining": 0}
    assert status(app)["spam0"] == "active"


def test_a_caller_who_is_no_longer_an_administrator_decides_nothing(
    app: Flask, world: World, admin: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    from directory.services.people import user_decisions

    spammers(app, world, 1)
    me, found = admin.get("/api/auth/me").json["id"], user_decisions.waiting
    world.admin("other")

    def demoted_meanwhile(*given: Any) -> list[int]:
        change(app, Caller(me, "root", "admin"), role="member")
        return found(*given)

    monkeypatch.setattr(user_decisions, "waiting", demoted_meanwhile)
    answer = admin.post(PATH, {"decision": "delete", "match": {"email_domain": "spam.example"}})
    assert (answer.status_code, status(app)["spam0"]) == (403, "active")


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"decision": "suspend"}, ["ids"]),
        ({"decision": "suspend", "ids": [1], "match": {"q": "a"}}, ["ids"]),
        ({"decision": "suspend", "match": {}}, ["match"]),
        ({"decision": "suspend", "match": {"q": "  "}}, ["match"]),
        ({"decision": "suspend", "match": None}, ["match"]),
        ({"decision": "suspend", "match": {"sort": "newest"}}, ["match/sort"]),
        ({"decision": "suspend", "match": {"live": 0}}, ["match/live"]),
        ({"decision": "ban", "ids": [1]}, ["decision"]),
        ({"ids": [1]}, ["decision"]),
        ({"decision": "delete", "ids": [1], "unpublish": True}, ["unpublish"]),
        ({"decision": "delete", "ids": []}, ["ids"]),
        ({"decision": "delete", "ids": [1, 1]}, ["ids"]),
        ({"decision": "delete", "ids": list(range(1, 102))}, ["ids"]),
        ({"decision": "delete", "ids": [0]}, ["ids/0"]),
    ],
)
def test_a_bad_decision_is_refused(admin: Api, body: dict[str, Any], pointers: list[str]) -> None:
    answer = admin.post(PATH, body)
    assert (answer.status_code, answer.json["code"]) == (422, "validation_failed")
    assert sorted(error["pointer"] for error in answer.json["errors"]) == [f"#/{each}" for each in pointers]


# --- Commands ---------------------------------------------------------------------------------------------------------


def run(app: Flask, *arguments: str) -> Any:
    return app.test_cli_runner().invoke(args=["users", *arguments])


@pytest.mark.parametrize(("decision", "done"), [("suspend", "suspended"), ("delete", "deleted")])
def test_a_command_shows_what_matches_before_it_does_it(app: Flask, world: World, decision: str, done: str) -> None:
    spammers(app, world, 12)
    before = status(app)
    shown = run(
        app, decision, "--email-domain", "spam.example", "--email-verified", "false", "--created-from", "2020-01-01"
    )
    assert shown.exit_code == 0
    assert shown.stdout.splitlines() == [
        *(f"spam{n}" for n in range(10)),
        "… and 2 more",
        f"12 accounts would be {done}; nothing has changed. --yes does it.",
    ]
    assert status(app) == before
    result = run(app, decision, "--email-domain", "spam.example", "--live", "false", "--yes", "--reason", "Spam.")
    assert (result.exit_code, result.stdout) == (0, f"12 accounts {done}.\n")
    assert list(status(app).values()).count(done) == 12
    with app.app_context():
        entries = db.session.scalars(select(AuditEntry).where(AuditEntry.action.startswith("user."))).all()
    assert {(entry.actor_id, entry.reason) for entry in entries} == {(None, "Spam.")}
    assert len(entries) == 12


def test_a_command_takes_a_username_or_filters(app: Flask, world: World) -> None:
    project = world.project(world.user("ada"))
    for arguments in ((), ("ada", "--q", "a"), ("ada", "--live", "false")):
        assert run(app, "suspend", *arguments).exit_code == 2
        assert run(app, "delete", *arguments).exit_code == 2
    assert run(app, "suspend", "--email-domain", "@").exit_code == 1
    assert "email_domain" in run(app, "suspend", "--email-domain", "@").stderr
    assert run(app, "suspend", "ada", "--unpublish", "--reason", "Spam.").exit_code == 0
    assert world.stored(project)["status"] == "rejected"
    assert world.reason(project) == "Spam."  # type: ignore[union-attr]


# --- The day on which something leaks ---------------------------------------------------------------------------------


def rows(app: Flask, model: Any) -> int:
    with app.app_context():
        return db.session.scalar(select(func.count()).select_from(model)) or 0


def test_everybody_is_signed_out_and_all_tokens_are_revoked(app: Flask, world: World, admin: Api) -> None:
    users = [world.user() for _ in range(3)]
    for user in users:
        world.caller(user)
        with app.app_context():
            transaction(lambda user=user: sessions.begin(user.id, user_agent=""))  # type: ignore[misc]
    assert admin.delete("/api/admin/sessions").status_code == 204
    assert (rows(app, Session), rows(app, Token)) == (0, 4)
    assert admin.delete("/api/admin/tokens").status_code == 204
    assert rows(app, Token) == 0
    assert admin.get("/api/auth/me").status_code == 401
    with app.app_context():
        of_users = select(AuditEntry).where(AuditEntry.action.startswith("users.")).order_by(AuditEntry.id)
        entries = list(db.session.scalars(of_users))
    assert [(entry.action, json.dumps(entry.changes)) for entry in entries] == [
        ("users.signed_out", '{"sessions": {"from": "3", "to": "0"}}'),
        ("users.tokens_revoked", '{"tokens": {"from": "4", "to": "0"}}'),
    ]


@pytest.mark.parametrize(("path", "model"), [("sessions", Session), ("tokens", Token)])
def test_very_many_are_ended_in_short_transactions_and_the_callers_own_is_the_last(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch, path: str, model: Any
) -> None:
    root = world.admin("root")
    caller = Api(app, world.caller(root).token)
    with app.app_context():
        columns = [
            {"user_id": root.id, "token_hash": str(number)} | ({"name": "x"} if model is Token else {})
            for number in range(300)
        ]
        transaction(lambda: db.session.execute(insert(model), columns))
    portions: list[int] = []
    end_portion = sessions.end_portion

    def counted(*given: Any, **named: Any) -> list[int]:
        ids = end_portion(*given, **named)
        portions.append(len(ids))
        return ids

    monkeypatch.setattr(sessions, "end_portion", counted)
    monkeypatch.setattr(routes, "SECONDS", 0.0)
    left = caller.delete(f"/api/admin/{path}")
    assert (left.status_code, portions) == (503, [])
    assert left.json["detail"].endswith("are left. Send the request again.")
    monkeypatch.setattr(routes, "SECONDS", 60.0)
    assert caller.delete(f"/api/admin/{path}").status_code == 204
    assert rows(app, model) == 0
    assert sum(portions) == 300 + (model is Token)
    assert max(portions) < 300
    assert portions[-1] == (model is Token), "the caller's own token"


def test_commands_do_the_same_after_a_question(app: Flask, world: World) -> None:
    world.caller(world.user())
    runner = app.test_cli_runner()
    for command, said in (("sign-out-all", "0 sessions ended.\n"), ("revoke-all-tokens", "1 token revoked.\n")):
        assert runner.invoke(args=["users", command], input="n\n").exit_code == 1
        assert runner.invoke(args=["users", command], input="y\n").stdout.endswith(said)
    assert rows(app, Token) == 0
