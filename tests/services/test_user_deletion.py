"""Deleting and exporting somebody else's account: as its user would, by the same rules, and with who did it."""

import json
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from directory.db.transactions import transaction
from directory.errors import AdminRequired
from directory.models import AuditEntry, Delivery, User
from directory.services.people import account_deletion, account_export
from tests.support.account_deletion import HOOK, faults, left, rows
from tests.support.browsers import Browser
from tests.support.factories import World

GONE = {"states": {"live": 1}, "upvotes": 0, "sessions": 0, "tokens": 0}


def path(user: Any) -> str:
    return f"/api/admin/users/{user.id}"


@pytest.fixture
def run(app: Flask) -> Any:
    """Run a command of `flask users`."""
    return lambda *args, **options: app.test_cli_runner().invoke(args=["users", *args], **options)


@pytest.mark.parametrize("status", ["active", "suspended"])
def test_an_administrator_deletes_an_account_as_its_user_would(make_app: Any, status: str) -> None:
    app = make_app(WEBHOOK_ENDPOINTS=json.dumps(HOOK))
    world = World(app)
    root, ada = world.admin("root"), world.user("ada")
    live, pending = world.project(ada, votes=1), world.project(ada, "pending", tags=["a"])
    voted = world.project(votes=2)
    world.vote(voted, ada)
    admin, caller, browser = world.caller(root), world.caller(ada), Browser(app).sign_in("ada")
    if status == "suspended":
        assert admin.put(path(ada), {"status": status}).status_code == 200

    answer = admin.delete(path(ada), json={"reason": "Asked for"})

    assert (answer.status_code, answer.data) == (204, b"")
    assert left(app, ada) == GONE
    assert (caller.get("/api/auth/me").status_code, browser.signed_in()) == (401, False)
    assert world.row(pending) is None
    assert [world.stored(project)["upvotes"] for project in (live, voted)] == [1, 2]
    assert faults(app) == []
    columns = (AuditEntry.action, AuditEntry.actor_id, AuditEntry.user_id, AuditEntry.project_id)
    more = (AuditEntry.from_state, AuditEntry.reason)
    log = rows(app, *columns, *more, actor_id=root.id)[status == "suspended" :]
    assert log == [
        ("user.deleted", root.id, ada.id, None, status, "Asked for"),
        ("project.deleted", root.id, None, pending, "pending", None),
    ]
    [event] = [json.loads(payload)["data"] for (payload,) in rows(app, Delivery.payload)]
    assert event["deleted_by"] == {"id": root.id, "username": "root"}
    assert event["project"]["owner"] == {"id": ada.id, "username": f"deleted-{ada.id}"}
    shown = admin.get(path(ada)).json
    assert shown["username"] == f"deleted-{ada.id}"
    told = next(entry for entry in shown["audit"] if entry["action"] == "user.deleted")
    assert (told["actor"]["username"], told["reason"]) == ("root", "Asked for")


def test_who_is_gone_or_was_never_there_is_not_deleted(app: Flask, world: World) -> None:
    admin, ada = world.caller(world.admin()), world.user("ada")
    assert admin.delete(path(ada)).status_code == 204  # a reason is optional, and so is a body
    again = admin.delete(path(ada), json={})
    assert (again.status_code, again.json["code"]) == (409, "account_deleted")
    assert admin.delete("/api/admin/users/999").status_code == 404
    assert len(rows(app, AuditEntry.id, action="user.deleted")) == 1


def test_who_is_no_administrator_any_more_deletes_nobody(app: Flask, world: World) -> None:
    world.admin()
    by, other = world.user(), world.user()
    with app.app_context(), pytest.raises(AdminRequired):
        transaction(lambda: account_deletion.delete_user(other.id, by=by, notify=[]))


def test_the_last_active_administrator_is_not_deleted(app: Flask, world: World, run: Any) -> None:
    root = world.admin("root")
    admin, other = world.caller(root), world.user(role="admin", status="suspended")
    answer = admin.delete(path(root))
    assert (answer.status_code, answer.json["code"]) == (409, "last_admin")
    refused = run("delete", "root", "--yes")
    assert (refused.exit_code, "last active administrator" in refused.stderr) == (1, True)
    assert admin.delete(path(other)).status_code == 204
    world.admin()
    assert admin.delete(path(root)).status_code == 204
    assert rows(app, User.role, User.status, id=root.id) == [("member", "suspended")]
    assert admin.get("/api/auth/me").status_code == 401


@pytest.mark.parametrize(("name", "code"), [("PROJECTS_MAX", "too_many_projects"), ("VOTES_MAX", "too_many_votes")])
def test_a_request_has_limits_and_the_command_has_none(
    app: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    monkeypatch.setattr(account_deletion, name, 1)
    admin, ada = world.caller(world.admin()), world.user("ada")
    for status in ("live", "rejected", "rejected"):
        world.project(ada, status)
    for _ in range(2):
        world.vote(world.project(), ada)
    answer = admin.delete(path(ada))
    assert (answer.status_code, answer.json["code"]) == (409, code)
    assert "`flask users delete`" in answer.json["detail"]
    assert left(app, ada)["upvotes"] == 2
    assert run("delete", "ada", "--yes").exit_code == 0
    assert left(app, ada) == GONE
    assert faults(app) == []


def test_an_administrator_needs_a_passkey_where_one_is_required(make_app: Any, world: World) -> None:
    ada, root = world.user("ada"), world.admin()
    strict = World(make_app(REQUIRE_PASSKEY="admins", SITE_URL="https://directory.example"))
    answer = strict.caller(root).delete(path(ada))
    assert (answer.status_code, answer.json["code"]) == (403, "passkey_required")
    assert rows(strict.app, User.username, id=ada.id) == [("ada",)]


def test_the_command_asks_and_is_logged_with_its_reason(app: Flask, world: World, run: Any) -> None:
    ada = world.user("ada")
    world.project(ada)
    for given in ("n\n", ""):
        refused = run("delete", "ada", input=given)
        assert (refused.exit_code, "Delete the account of ada? This cannot be undone." in refused.stderr) == (1, True)
    long = run("delete", "ada", "--yes", "--reason", "x" * 1001)
    assert (long.exit_code, long.stderr.splitlines()[-1].startswith("Error: reason: ")) == (1, True)
    assert rows(app, User.username, id=ada.id) == [("ada",)]
    done = run("delete", "ada@example.org", "--reason", "By letter", input="y\n")
    assert (done.exit_code, done.stdout) == (0, "The account of ada is deleted.\n")
    assert left(app, ada) == GONE
    columns = (AuditEntry.actor_id, AuditEntry.user_id, AuditEntry.reason)
    assert rows(app, *columns, action="user.deleted") == [(None, ada.id, "By letter")]
    again = run("delete", f"deleted-{ada.id}", "--yes")
    assert (again.exit_code, "This account is deleted." in again.stderr) == (1, True)
    assert run("delete", "nobody", "--yes").exit_code == 1


def test_the_command_exports_what_its_user_would_get_without_limits(
    app: Flask, world: World, run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ada = world.user("ada")
    for status in ("live", "pending", "rejected"):
        world.vote(world.project(), ada) if status == "live" else None
        world.project(ada, status, title=f"Ü {status}")
    world.vote(world.project(), ada)
    own = world.caller(ada).get("/api/auth/me/export").json
    for name in ("PROJECTS_MAX", "VOTES_MAX"):
        monkeypatch.setattr(account_export, name, 1)
    monkeypatch.setattr(account_export, "AT_ONCE", 2)
    assert world.caller(ada).get("/api/auth/me/export").json["complete"] is False
    file = tmp_path / "ada.json"
    assert run("export", "ada", "--output", str(file)).exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    written = json.loads(file.read_text())
    assert json.loads(run("export", "ada").stdout).keys() == written.keys()
    changing = {"exported_at", "tokens", "sessions"}
    assert {**written, **dict.fromkeys(changing)} == {**own, **dict.fromkeys(changing)}
    assert [len(written[name]) for name in ("projects", "votes", "tokens")] == [3, 2, 2]
    assert run("export", "nobody").exit_code == 1
