"""Deleting one's account: what goes and what stays, all or nothing, and exact whatever runs at the same time."""

import json
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, select, update

from directory.db.transactions import transaction
from directory.errors import LastAdmin, Unauthenticated, Unavailable, WrongPassword
from directory.extensions import db
from directory.models import AuditEntry, Delivery, User
from directory.services.identity import Caller
from directory.services.people import account_deletion
from directory.services.review import moderation, submissions
from tests.conftest import Statements
from tests.support.account_deletion import BODY, HOOK, PATH, faults, leave, left, rows
from tests.support.browsers import Browser
from tests.support.factories import PASSWORD, Api, World


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    """An application with an endpoint that wants to know of deletions."""
    return make_app(WEBHOOK_ENDPOINTS=json.dumps(HOOK))  # type: ignore[no-any-return]


def test_live_projects_stay_and_all_else_goes(notifying: Flask, world: World, ada: Caller) -> None:
    live = world.project(ada, votes=2, tags=["a", "b"])
    gone = {s: world.project(ada, s, tags=["b", s], category="web") for s in ("pending", "rejected")}
    voted, other_pending = world.project(votes=3), world.project(status="pending")
    for project in (live, voted):
        world.vote(project, ada)
    with notifying.app_context():  # a vote outlives the unpublishing of its project
        world.vote(unpublished := world.project(), ada)
        transaction(lambda: moderation.decide(unpublished, "unpublish", by=None, notify=[]))
    before = world.row(live)
    caller, browser = Api(notifying, world.caller(ada).token), Browser(notifying).sign_in("ada")

    answer = browser.call("DELETE", PATH, BODY)

    assert (answer.status_code, answer.data) == (204, b"")
    assert "Content-Type" not in answer.headers
    assert browser.cookie is None
    assert caller.get(PATH).status_code == 401
    assert left(notifying, ada) == {"states": {"live": 1}, "upvotes": 0, "sessions": 0, "tokens": 0}
    assert [world.row(project) for project in gone.values()] == [None, None]
    assert [world.stored(p)["upvotes"] for p in (live, voted, unpublished, other_pending)] == [2, 3, 0, 0]
    shown = Api(notifying).get(f"/api/projects/{live}").json
    assert shown["owner"] == {"id": ada.id, "username": f"deleted-{ada.id}"}
    after = world.row(live)
    facts = [(row.version, row.title, row.updated_at, row.published_at) for row in (before, after)]
    assert facts[0] == facts[1]
    assert faults(notifying) == []


def test_the_row_of_the_user_holds_nothing_personal(app: Flask, world: World, ada: Caller) -> None:
    world.project(ada)
    leave(app, ada)
    columns = (User.username, User.email, User.password_hash, User.role, User.status)
    assert rows(app, *columns, id=ada.id) == [(f"deleted-{ada.id}", f"deleted-{ada.id}", "", "member", "suspended")]
    assert rows(app, User.deleted_at, id=ada.id) != [(None,)]
    with app.app_context():
        for table in db.metadata.sorted_tables:
            for row in db.session.execute(select(table)):
                assert "ada" not in [*map(str, row)], table.name
                assert not any("ada@" in str(value) for value in row), table.name


def test_it_is_logged_by_ids_alone_and_notified_as_each_deletion_is(
    notifying: Flask, world: World, ada: Caller
) -> None:
    alone, pending, rejected = (world.project(ada, status) for status in ("pending", "pending", "rejected"))
    world.project(ada)
    with notifying.app_context():
        hooks = notifying.extensions["webhooks"]
        transaction(lambda: submissions.remove(alone, by=ada, notify=hooks))
    leave(notifying, ada, notify=notifying.extensions["webhooks"])
    columns = (AuditEntry.action, AuditEntry.actor_id, AuditEntry.project_id, AuditEntry.user_id, AuditEntry.from_state)
    log = [row for row in rows(notifying, *columns, actor_id=ada.id) if row[0].endswith("deleted")]
    assert sorted(log[1:], key=repr) == sorted([
        ("user.deleted", ada.id, None, ada.id, "active"),
        ("project.deleted", ada.id, pending, None, "pending"),
        ("project.deleted", ada.id, rejected, None, "rejected"),
    ], key=repr)  # fmt: skip
    told = [json.loads(payload) for (payload,) in rows(notifying, Delivery.payload)]
    assert [each["data"]["project"]["id"] for each in told] == [alone, pending, rejected]
    deleted = {"id": ada.id, "username": f"deleted-{ada.id}"}
    assert [each["data"]["deleted_by"] for each in told[1:]] == [deleted] * 2
    assert [each["data"]["project"]["owner"] for each in told[1:]] == [deleted] * 2
    admin = world.caller(world.admin())
    shown = admin.get(f"/api/admin/audit?actor_id={ada.id}").json["items"]
    assert len(shown) == 8
    assert {entry["actor"]["username"] for entry in shown} == {f"deleted-{ada.id}"}


def test_the_log_names_people_by_their_ids_in_no_column(app: Flask) -> None:
    """Were there a column for a name or an address, an account could not be deleted from the log."""
    people = {"actor_id", "user_id"}
    facts = {"id", "action", "at", "project_id", "from_state", "to_state", "reason", "url_key", "waited_seconds",
             "project_title", "changes", "votes", "category_id", "rule_id"}  # fmt: skip
    assert {column.name for column in AuditEntry.__table__.c} == people | facts


def test_the_name_and_the_address_are_free_and_the_new_owner_has_nothing_of_the_old(
    app: Flask, world: World, api: Api, ada: Caller
) -> None:
    old = world.project(ada)
    leave(app, ada)
    assert api.get("/api/users/ada").status_code == api.get(f"/api/users/deleted-{ada.id}").status_code == 404
    new = {"username": "ada", "email": "ada@example.org", "password": PASSWORD}
    registered = api.post("/api/auth/register", new)
    assert registered.status_code == 201
    assert registered.json["id"] != ada.id
    assert api.get("/api/projects?owner=ada").json["items"] == []
    assert [item["id"] for item in api.get(f"/api/projects?owner=deleted-{ada.id}").json["items"]] == [old]


def test_a_deleted_account_is_signed_in_to_by_no_name_and_no_password(
    app: Flask, world: World, api: Api, ada: Caller
) -> None:
    leave(app, ada)
    for login in ("ada", "ada@example.org", f"deleted-{ada.id}", f"deleted-{ada.id}@example.org"):
        for password in (PASSWORD, " ", "x"):
            answer = api.post("/api/auth/login", {"login": login, "password": password})
            assert (answer.status_code, answer.json["code"]) == (401, "invalid_credentials")


def test_a_deleted_account_stays_as_it_is(app: Flask, world: World, ada: Caller) -> None:
    project = world.project(ada)
    leave(app, ada)
    admin = world.caller(world.admin("root"))
    path = f"/api/admin/users/{ada.id}"
    for body in ({"status": "active"}, {"role": "admin"}, {"role": "admin", "status": "suspended"}):
        answer = admin.put(path, body)
        assert (answer.status_code, answer.json["code"]) == (409, "account_deleted")
    assert admin.get(path).json["deleted_at"] is not None
    assert admin.get(path).json["stats"]["projects"]["live"] == 1
    # What is left may be taken down as of any suspended user, and decided one by one.
    assert admin.put(path, {"status": "suspended", "unpublish": True}).json["taken_down"]["rejected"] == 1
    assert admin.delete(f"/api/projects/{project}").status_code == 204
    assert admin.delete(f"{path}/sessions").status_code == 204
    assert faults(app) == []


def test_operators_cannot_open_a_deleted_account_either(app: Flask, ada: Caller) -> None:
    leave(app, ada)
    for command in (["activate"], ["promote"], ["set-password", "--password", "another password"]):
        ran = app.test_cli_runner().invoke(args=["users", command[0], f"deleted-{ada.id}", *command[1:]])
        assert (ran.exit_code, "This account is deleted." in ran.output) == (1, True), ran.output
    assert rows(app, User.password_hash, id=ada.id) == [("",)]


def test_a_name_that_somebody_has_from_before_it_was_reserved_does_not_stop_it(
    app: Flask, world: World, ada: Caller
) -> None:
    older = world.user(f"deleted-{ada.id}")
    leave(app, ada)
    [(name, address)] = rows(app, User.username, User.email, id=ada.id)
    assert name == address
    assert name.startswith(f"deleted-{ada.id}-")
    assert len(f"deleted-{2**63 - 1}-") + 4 <= 32
    assert rows(app, User.username, id=older.id) == [(f"deleted-{ada.id}",)]


@pytest.mark.parametrize(("name", "code"), [("PROJECTS_MAX", "too_many_projects"), ("VOTES_MAX", "too_many_votes")])
def test_more_than_one_request_deletes_are_refused_and_nothing_changes(
    app: Flask, world: World, ada: Caller, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    """What is live and unchanged, and the votes of others, count for nothing."""
    monkeypatch.setattr(account_deletion, name, {"PROJECTS_MAX": 2, "VOTES_MAX": 1}[name])
    mine = [world.project(ada, "pending"), world.project(ada, "rejected"), world.project(ada), world.project(ada)]
    world.revise(mine[2], ada, title="Changed")
    voted = [world.project(), world.project()]
    for project in voted:
        world.vote(project, ada)
    world.vote(mine[3], world.user())
    caller = world.caller(ada)
    monkeypatch.setattr(account_deletion, {"PROJECTS_MAX": "VOTES_MAX", "VOTES_MAX": "PROJECTS_MAX"}[name], 9)
    answer = caller.call("DELETE", PATH, BODY)
    assert (answer.status_code, answer.json["code"]) == (409, code)
    assert "try again" in answer.json["detail"]
    states = {"pending": 1, "rejected": 1, "live": 2}
    assert left(app, ada) == {"states": states, "upvotes": 2, "sessions": 0, "tokens": 1}
    assert rows(app, User.username, User.deleted_at, id=ada.id) == [("ada", None)]
    for path in (f"/api/projects/{mine[0]}", f"/api/projects/{voted[0]}/upvote"):
        assert caller.delete(path).status_code in {200, 204}
    assert caller.call("DELETE", PATH, BODY).status_code == 204


def test_the_last_active_administrator_stays_and_another_may_go(app: Flask, world: World) -> None:
    admin = world.admin("root")
    caller = world.caller(admin)
    world.user(role="admin", status="suspended")
    answer = caller.call("DELETE", PATH, BODY)
    assert (answer.status_code, answer.json["code"]) == (409, "last_admin")
    assert caller.get(PATH).status_code == 200
    other = world.admin()
    assert caller.call("DELETE", PATH, BODY).status_code == 204
    assert rows(app, User.role, User.status, id=admin.id) == [("member", "suspended")]
    with pytest.raises(LastAdmin):
        leave(app, other)
    assert faults(app) == []


def test_what_changed_since_the_password_was_checked_decides(app: Flask, world: World, ada: Caller) -> None:
    with pytest.raises(WrongPassword):
        leave(app, ada, known_hash="another")
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == ada.id).values(role="admin")))
    with pytest.raises(Unavailable):  # the other administrators are not locked: the next request locks them
        leave(app, ada)
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == ada.id).values(status="suspended")))
    with pytest.raises(Unauthenticated):
        leave(app, ada)
    assert rows(app, User.username, id=ada.id) == [("ada",)]


@pytest.mark.parametrize("size", [1, 12])
def test_it_costs_the_same_statements_whatever_there_is_to_delete(
    notifying: Flask, world: World, ada: Caller, size: int
) -> None:
    for n in range(size):
        world.project(ada, "pending", category=f"c{n % 3}", tags=["a", f"b{n}"])
        world.vote(world.project(), ada)
    caller = Api(notifying, world.caller(ada).token)
    caller.get(PATH)  # the token's first use is written
    with notifying.app_context():
        engine = db.engine
    ran = Statements()
    event.listen(engine, "before_cursor_execute", ran.note)
    assert caller.call("DELETE", PATH, BODY).status_code == 204
    event.remove(engine, "before_cursor_execute", ran.note)
    # Who calls, the password; the account, what changes (3), whether the name is taken, the new name, the deliveries
    # with it (2 on PostgreSQL); the log; the votes (4 on SQLite, 3 on PostgreSQL), the projects, their entries, what
    # the event tells, the deliveries, the index (2 on SQLite), the deletion, what was sent about them and about those
    # that were gone before, with the log (3), the revisions, the threads (3), the reports, the facts for rules, the
    # bytes of the day; sessions, tokens, the key of the feed, mailed links, identities, sign-ins, passkeys, the status.
    # On PostgreSQL entries and deliveries of several projects are COPY, which are not recorded; the account is locked
    # twice, and the projects; if there are several, the counters of categories, owners and tags are locked before.
    most = (41 if size > 1 else 39) if engine.dialect.name == "postgresql" else 39
    assert len(ran) == most, "\n".join(ran)


def test_the_username_is_replaced_in_stored_deliveries(make_app: Any) -> None:
    events = ["project.submitted", "project.approved"]
    app = make_app(WEBHOOK_ENDPOINTS=json.dumps([{**HOOK[0], "events": events}]))
    world = World(app)
    ada, bob = world.user("ada"), world.user("bob")
    other = world.project(bob, "pending", title=f'{{"id":{ada.id},"username":"ada"}}')
    own = world.project(ada, "pending")
    admin = world.caller(world.admin("grace"))
    assert [admin.put(f"/api/admin/projects/{each}/approve").status_code for each in (own, other)] == [200, 200]
    assert world.caller(ada).delete(PATH, json=BODY).status_code == 204
    with app.app_context():
        payloads = [json.loads(each) for each in db.session.scalars(select(Delivery.payload).order_by(Delivery.id))]
    projects = [payload["data"]["project"] for payload in payloads]
    assert [project["owner"]["username"] for project in projects] == [f"deleted-{ada.id}", "bob"]
    assert "ada" in projects[1]["title"]
