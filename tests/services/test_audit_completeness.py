"""Each write by an administrator, by a command and to the security of an account leaves one entry in the log."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click
import pytest
from flask import Flask
from sqlalchemy import select

from directory.cli import COMMANDS
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, DeliveryState, MailLink, Token
from directory.services.accounts import accounts, mail_links
from directory.services.delivery import deliveries
from directory.services.sign_in import recovery
from tests.support.extras import rows
from tests.support.factories import PASSWORD, Api, World
from tests.support.mailbox import Mailbox
from tests.support.reviewing import NOTIFYING

NEW_PASSWORD = "a horse of another colour"


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox) -> Flask:
    return make_app(**NOTIFYING, **mailbox.settings)  # type: ignore[no-any-return]


def log(app: Flask, after: int = 0) -> list[AuditEntry]:
    with app.app_context():
        return list(db.session.scalars(select(AuditEntry).where(AuditEntry.id > after).order_by(AuditEntry.id)))


def end(app: Flask) -> int:
    return max((entry.id for entry in log(app)), default=0)


def message(world: World) -> int:
    """What the owner of a project has written."""
    ada = world.user()
    path = f"/api/projects/{world.project(ada, 'pending')}/messages"
    return int(world.caller(ada).post(path, {"text": "Look."}).json["id"])


def delivery(admin: Api) -> int:
    [endpoint, *_] = admin.get("/api/admin/webhooks/endpoints").json["items"]
    return int(admin.post(f"/api/admin/webhooks/endpoints/{endpoint['name']}/test").json["id"])


def signed_in(world: World) -> int:
    user = world.user("ada")
    Api(world.app).post("/api/auth/login", {"login": "ada", "password": PASSWORD})
    return user.id


# For each route a call that changes something: the path's last part or parts, and the body.
WRITES: dict[tuple[str, str], Callable[[World, Api], tuple[str, Any]]] = {
    ("PUT", "projects/<id:project_id>/approve"): lambda w, _: (f"projects/{w.project(status='pending')}/approve", None),
    ("PUT", "projects/<id:project_id>/reject"): lambda w, _: (f"projects/{w.project(status='pending')}/reject", None),
    ("PUT", "projects/<id:project_id>/unpublish"): lambda w, _: (f"projects/{w.project()}/unpublish", None),
    ("PUT", "projects/<id:project_id>/request-changes"): lambda w, _: (
        f"projects/{w.project(status='pending')}/request-changes", {"message": "What does it do?"},
    ),
    ("POST", "projects/decisions"): lambda w, _: (
        "projects/decisions", {"decision": "approve", "ids": [w.project(status="pending")]},
    ),
    ("DELETE", "messages/<id:message_id>"): lambda w, _: (f"messages/{message(w)}", None),
    ("POST", "categories"): lambda *_: ("categories", {"slug": "new", "name": "New"}),
    ("PUT", "categories/<slug:slug>"): lambda w, _: (f"categories/{w.category()}", {"name": "Other"}),
    ("DELETE", "categories/<slug:slug>"): lambda w, _: (f"categories/{w.category()}", None),
    ("PUT", "users/<id:user_id>"): lambda w, _: (f"users/{w.user().id}", {"status": "suspended"}),
    ("DELETE", "users/<id:user_id>"): lambda w, _: (f"users/{w.user().id}", None),
    ("DELETE", "users/<id:user_id>/sessions"): lambda w, _: (f"users/{signed_in(w)}/sessions", None),
    ("POST", "users/decisions"): lambda w, _: ("users/decisions", {"decision": "suspend", "ids": [w.user().id]}),
    ("DELETE", "sessions"): lambda *_: ("sessions", None),
    ("DELETE", "tokens"): lambda *_: ("tokens", None),
    ("POST", "webhooks/endpoints/<endpoint>/test"): lambda _, a: (
        f"webhooks/endpoints/{a.get('/api/admin/webhooks/endpoints').json['items'][0]['name']}/test", None,
    ),
    ("POST", "webhooks/deliveries/<id:delivery_id>/redeliver"): lambda _, a: (
        f"webhooks/deliveries/{delivery(a)}/redeliver", None,
    ),
    **rows("writes"),
}  # fmt: skip


def routes(app: Flask) -> set[tuple[str, str]]:
    """The writing routes under /api/admin."""
    return {
        (method, rule.rule.removeprefix("/api/admin/"))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"GET", "HEAD", "OPTIONS"}
        if rule.rule.startswith("/api/admin/")
    }


def test_each_route_of_administrators_that_writes_is_tried_here(app: Flask) -> None:
    assert routes(app) == WRITES.keys() | rows("unlogged").keys()


@pytest.mark.parametrize("route", WRITES, ids=" ".join)
def test_each_write_of_an_administrator_leaves_one_entry(
    app: Flask, world: World, admin: Api, route: tuple[str, str]
) -> None:
    path, body = WRITES[route](world, admin)
    before = end(app)
    answer = admin.call(route[0], f"/api/admin/{path}", body)
    assert answer.status_code in {200, 201, 202, 204}, answer.json
    [entry] = log(app, before)
    with app.app_context():
        root = accounts.find("root")
        assert root is not None
        assert entry.actor_id == root.id
    reader = world.caller(world.admin())  # the caller's token may be revoked
    shown = reader.get("/api/admin/audit?limit=1").json["items"][0]
    assert (shown["id"], shown["action"], shown["actor"]["username"]) == (entry.id, entry.action, "root")


@pytest.mark.parametrize("route", WRITES, ids=" ".join)
def test_what_is_refused_leaves_none(app: Flask, world: World, admin: Api, route: tuple[str, str]) -> None:
    path, body = WRITES[route](world, admin)
    member = world.caller(world.user())
    before = end(app)
    assert member.call(route[0], f"/api/admin/{path}", body).status_code == 403
    assert log(app, before) == []


def test_a_category_is_logged_with_its_slug_and_what_changed(app: Flask, admin: Api) -> None:
    before, path = end(app), "/api/admin/categories"
    admin.post(path, {"slug": "tools", "name": "Tools"})
    admin.put(f"{path}/tools", {"name": "Tools"})  # changes nothing
    admin.put(f"{path}/tools", {"name": "Utilities", "slug": "utilities"})
    admin.put(f"{path}/utilities", {"description": "Small ones."})
    admin.delete(f"{path}/utilities")
    assert admin.delete(f"{path}/utilities").status_code == 404
    entries = log(app, before)
    assert [entry.action.removeprefix("category.") for entry in entries] == ["created", "changed", "changed", "deleted"]
    same = {"from": "utilities", "to": "utilities"}
    assert [entry.changes for entry in entries[1:3]] == [
        {"slug": {"from": "tools", "to": "utilities"}, "name": {"from": "Tools", "to": "Utilities"}},
        {"slug": same, "description": {"from": "", "to": "Small ones."}},
    ]
    assert entries[0].changes["name"] == {"from": None, "to": "Tools"}  # type: ignore[index]
    assert entries[3].changes["name"] == {"from": "Utilities", "to": None}  # type: ignore[index]


# --- What commands do -------------------------------------------------------------------------------------------------

# Commands that write, and leave no entry of their own.
NOT_LOGGED = {
    "seed": "each project that it adds has the entries of its submission and decision",
    "import": "each project has an entry; tests/cli/test_cli_import.py",
    "copy": "the log is copied with everything else",
    "tidy": "it deletes what has expired, as housekeeping does every hour",
    "users sign-in-link": "the use of the link is logged; tests/api/test_passwords_off.py",
    **rows("unlogged_commands"),
}
NO_WRITE = {
    "check",
    "export",
    "backup",
    "mail send-test",
    "webhooks list",
    "webhooks send-test",
    "users export",
    "users list",
}
NO_WRITE |= {"webhooks work"}  # it delivers


def one_user(world: World, *command: str, **user: str) -> list[str]:
    return ["users", *command, world.user("ada", **user).username]


def wrong_counter(world: World) -> list[str]:
    project = world.project()
    with world.app.app_context():
        transaction(
            lambda: db.session.execute(db.text("UPDATE projects SET upvotes = 7 WHERE id = :id"), {"id": project})
        )
    return ["recount"]


LOGGED: dict[str, Callable[[World, Api], tuple[list[str], str]]] = {
    "users create-admin": lambda *_: (
        ["users", "create-admin", "--username", "eve", "--email", "eve@example.org", "--password", NEW_PASSWORD],
        "user.registered",
    ),
    "users promote": lambda w, _: (one_user(w, "promote"), "user.role_changed"),
    "users demote": lambda w, _: (one_user(w, "demote", role="admin"), "user.role_changed"),
    "users review": lambda w, _: (one_user(w, "review"), "user.role_changed"),
    "users suspend": lambda w, _: (one_user(w, "suspend"), "user.status_changed"),
    "users activate": lambda w, _: (one_user(w, "activate", status="suspended"), "user.status_changed"),
    "users set-password": lambda w, _: (
        [*one_user(w, "set-password"), "--password", NEW_PASSWORD], "user.password_changed",
    ),
    "users delete": lambda w, _: ([*one_user(w, "delete"), "--yes"], "user.deleted"),
    "users sign-out-all": lambda *_: (["users", "sign-out-all", "--yes"], "users.signed_out"),
    "users revoke-all-tokens": lambda *_: (["users", "revoke-all-tokens", "--yes"], "users.tokens_revoked"),
    "webhooks redeliver": lambda _, a: (["webhooks", "redeliver", str(delivery(a))], "webhook.redelivered"),
    "recount": lambda w, _: (wrong_counter(w), "counters.repaired"),
    **rows("commands"),
}  # fmt: skip


def commands(app: Flask) -> set[str]:
    """The names of our commands, those of groups with the name of the group."""
    context, found = click.Context(app.cli), set()
    for name in (*COMMANDS, *app.cli.extras.get("", ())):
        command = app.cli.get_command(context, name)
        parts = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"{name} {part}".strip() for part in parts}
    return found


def test_each_command_is_tried_here_or_says_why_not(app: Flask) -> None:
    assert commands(app) == LOGGED.keys() | NOT_LOGGED.keys() | NO_WRITE


@pytest.mark.parametrize("name", LOGGED)
def test_a_command_that_writes_leaves_one_entry_without_an_actor(
    app: Flask, world: World, admin: Api, name: str
) -> None:
    arguments, action = LOGGED[name](world, admin)
    before = end(app)
    result = app.test_cli_runner().invoke(args=arguments)
    assert result.exception is None or name == "recount", result.output  # recount exits by 1 where it found a fault
    [entry] = log(app, before)
    assert (entry.action, entry.actor_id) == (action, None)


def test_many_deliveries_sent_again_are_one_entry(app: Flask, admin: Api) -> None:
    for _ in range(3):
        delivery(admin)
    before = end(app)
    with app.app_context():
        assert transaction(lambda: deliveries.redeliver_all(since=log(app)[0].at - timedelta(days=1))) == 3
        assert transaction(lambda: deliveries.redeliver_all(states=[DeliveryState.DEAD])) == 0
    [entry] = log(app, before)
    assert entry.changes == {"deliveries": {"from": None, "to": "3"}}


# --- The security of accounts -----------------------------------------------------------------------------------------


def test_the_log_has_what_concerns_the_security_of_an_account_and_no_address(
    app: Flask, world: World, mailbox: Mailbox
) -> None:
    anyone = Api(app)
    given = {"username": "ada", "email": "ada@example.org", "password": PASSWORD}
    user_id = anyone.post("/api/auth/register", given).json["id"]
    with app.app_context():
        user = accounts.get(user_id)
        ada = world.caller(accounts.Caller(user.id, user.username, user.role))
    token = ada.post("/api/auth/tokens", {"name": "A name"}).json["id"]
    ada.delete(f"/api/auth/tokens/{token}")
    ada.put("/api/auth/me", {"password": NEW_PASSWORD, "current_password": PASSWORD})
    server = mailbox.server()
    with app.app_context():
        transaction(lambda: recovery.propose_email(
            accounts.Caller(user_id, "ada", "member"), "new@example.org",
            known_hash=accounts.get(user_id).password_hash, server=server,
        ))  # fmt: skip
        link = db.session.scalars(select(MailLink).where(MailLink.email == "new@example.org")).one()
        transaction(lambda: recovery.verify(mail_links.token_of(link.nonce, server.key), server))
        transaction(lambda: recovery.forgot(accounts.get(user_id), server))
        link = db.session.scalars(select(MailLink).where(MailLink.purpose == "reset")).one()
        new_hash = accounts.prepare_password(PASSWORD, username="ada", email="new@example.org")
        opened = mail_links.token_of(link.nonce, server.key)
        transaction(lambda: recovery.reset(opened, new_hash, revoke_tokens=True, server=server))
    assert anyone.post("/api/auth/login", {"login": "ada", "password": PASSWORD}).status_code == 200
    entries = log(app)
    assert [entry.action for entry in entries] == [
        "user.registered", "user.token_created", "user.token_revoked", "user.password_changed", "user.email_changed",
        "user.password_changed",
    ]  # fmt: skip
    assert {(entry.actor_id, entry.user_id) for entry in entries} == {(user_id, user_id)}
    texts = [getattr(entry, column.key) for entry in entries for column in AuditEntry.__table__.c]
    assert not [
        text for text in texts if isinstance(text, str) and ("@" in text or "127.0.0.1" in text or "A name" in text)
    ]


def test_sign_ins_of_administrators_are_in_the_log_and_not_those_of_members(app: Flask, world: World) -> None:
    root, ada = world.admin("root"), world.user("ada")
    for login in ("ada", "root", "root"):
        assert Api(app).post("/api/auth/login", {"login": login, "password": PASSWORD}).status_code == 200
    assert Api(app).post("/api/auth/login", {"login": "root", "password": "wrong wrong"}).status_code == 401
    assert [(entry.action, entry.actor_id) for entry in log(app)] == [("user.signed_in", root.id)] * 2
    with app.app_context():
        assert db.session.scalar(select(Token.id).where(Token.user_id == ada.id)) is None
