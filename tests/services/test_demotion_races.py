"""Decisions of somebody who is being demoted: none commits after the demotion."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import endpoint
from directory.models import AuditEntry, Category, Project, Role, User
from directory.services import permissions
from tests.conftest import Database
from tests.services.test_suspension_races import Pause
from tests.support.exchanges import handling
from tests.support.factories import World
from tests.support.waiting import until

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
DEEDS: dict[str, tuple[str, str, Any]] = {
    "approves": ("PUT", "/api/admin/projects/{pending}/approve", {}),
    "rejects": ("PUT", "/api/admin/projects/{pending}/reject", {"reason": "No."}),
    "unpublishes": ("PUT", "/api/admin/projects/{live}/unpublish", {}),
    "decides many": ("POST", "/api/admin/projects/decisions", {"decision": "approve", "ids": [1]}),
    "edits another's": ("PUT", "/api/projects/{live}", {"tagline": "Changed"}),
    "deletes another's": ("DELETE", "/api/projects/{live}", None),
    "suspends": ("PUT", "/api/admin/users/{owner}", {"status": "suspended", "unpublish": True}),
    "promotes": ("PUT", "/api/admin/users/{owner}", {"role": "admin"}),
    "signs out": ("DELETE", "/api/admin/users/{owner}/sessions", None),
    "adds a category": ("POST", "/api/admin/categories", {"slug": "new", "name": "New"}),
    "edits a category": ("PUT", "/api/admin/categories/tools", {"name": "Changed"}),
    "deletes a category": ("DELETE", "/api/admin/categories/spare", None),
}


@pytest.fixture
def scene(world: World) -> dict[str, Any]:
    owner = world.user("ada")
    world.category("spare")
    pending, live = world.project(owner, "pending"), world.project(owner)
    return {"pending": pending, "live": live, "owner": owner.id, "grace": world.admin("grace"), "root": world.admin()}


def seen(app: Flask) -> tuple[Any, ...]:
    """All that the deeds could change."""
    with app.app_context():
        projects = db.session.execute(select(Project.id, Project.status, Project.tagline).order_by(Project.id)).all()
        categories = db.session.execute(select(Category.slug, Category.name).order_by(Category.slug)).all()
        users = select(User.username, User.role, User.status).where(User.username != "grace").order_by(User.id)
        entries = select(AuditEntry.action).where(AuditEntry.action != "user.role_changed")
        return projects, categories, db.session.execute(users).all(), db.session.scalars(entries).all()


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("values", [{"role": "member"}, {"status": "suspended"}])
def test_what_begins_before_a_demotion_and_ends_after_it_is_refused(
    app: Flask, world: World, scene: dict[str, Any], monkeypatch: pytest.MonkeyPatch, deed: str, values: dict[str, str]
) -> None:
    method, path, body = DEEDS[deed]
    caller, other = world.caller(scene["grace"]), world.caller(scene["root"])
    caller.get("/api/auth/me")
    if body and "ids" in body:
        body = {"decision": body["decision"], "items": [{"id": scene["pending"]}]}
    before = seen(app)
    pause = Pause("grace")
    monkeypatch.setattr(endpoint, "transaction", pause.before(transaction))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(caller.call, method, path.format(**scene), body)
        assert pause.arrived.wait(30)
        assert other.put(f"/api/admin/users/{scene['grace'].id}", values).status_code == 200
        entries = seen(app)[3]
        pause.go_on.set()
        assert answer.result(30).status_code in ({403} if "role" in values else {401, 403})
    assert seen(app)[:3] == before[:3]
    assert seen(app)[3] == entries


def test_an_approval_that_waits_for_a_lock_sees_a_demotion_meanwhile(
    app: Flask, world: World, scene: dict[str, Any], database: Database
) -> None:
    if database.backend != "postgresql":
        pytest.skip("SQLite has one lock, for which a write waits before its transaction")
    caller, other = world.caller(scene["grace"]), world.caller(scene["root"])
    caller.get("/api/auth/me")
    other.get("/api/auth/me")
    path = f"/api/admin/projects/{scene['pending']}/approve"
    with ThreadPoolExecutor(1) as pool, app.app_context(), db.engine.connect() as connection:
        holding = connection.execution_options(isolation_level="READ COMMITTED")
        holding.execute(select(Project.id).where(Project.id == scene["pending"]).with_for_update())
        answer = pool.submit(caller.put, path)
        with db.engine.connect() as looking:
            until(lambda: looking.scalar(text(WAITING)))
        assert other.put(f"/api/admin/users/{scene['grace'].id}", {"role": "member"}).status_code == 200
        holding.rollback()
        refused = answer.result(30)
    assert (refused.status_code, refused.json["code"]) == (403, "admin_required")
    assert world.stored(scene["pending"])["status"] == "pending"


@pytest.mark.parametrize("kind", ["admin", "reviewer"])
@pytest.mark.parametrize("deed", ["approves", "rejects", "unpublishes", "decides many"])
def test_a_demotion_waits_for_a_decision_that_has_passed_its_last_check(
    app: Flask, world: World, scene: dict[str, Any], monkeypatch: pytest.MonkeyPatch, kind: str, deed: str
) -> None:
    by = scene["grace"] if kind == "admin" else world.reviewer("tools")
    caller, other = world.caller(by), world.caller(scene["root"])
    for each in (caller, other):
        each.get("/api/auth/me")
    method, path, body = DEEDS[deed]
    path = path.format(**scene) if kind == "admin" else path.format(**scene).replace("/admin/", "/review/")
    body = {"decision": "approve", "ids": [scene["pending"]]} if deed == "decides many" else body
    demote = {"role": "member"} if kind == "admin" else {"review_categories": ["spare"]}
    pause, still = Pause(by.username), permissions.still

    def checked(*args: Any) -> bool:
        passed = still(*args)
        pause.before(lambda: None)()
        return passed

    monkeypatch.setattr(permissions, "still", checked)
    with ThreadPoolExecutor(2) as pool, app.app_context(), db.engine.connect() as looking:
        on_sqlite = looking.dialect.name == "sqlite"
        decided = pool.submit(caller.call, method, path, body)
        assert pause.arrived.wait(30)
        demoted = pool.submit(other.put, f"/api/admin/users/{by.id}", demote)
        until(lambda: demoted.done() or on_sqlite or looking.scalar(text(WAITING)))
        assert not demoted.done()
        pause.go_on.set()
        assert [each.result(30).status_code for each in (decided, demoted)] == [200, 200]


def test_an_administrator_may_still_demote_and_suspend_oneself(world: World, scene: dict[str, Any]) -> None:
    grace = scene["grace"]
    assert world.caller(grace).put(f"/api/admin/users/{grace.id}", {"role": "member"}).status_code == 200


def test_a_member_who_was_never_an_administrator_edits_on(app: Flask, world: World, scene: dict[str, Any]) -> None:
    with app.app_context():
        demote = update(User).where(User.id == scene["grace"].id).values(role=Role.MEMBER)
        transaction(lambda: db.session.execute(demote))
    own = world.project(scene["grace"])
    assert world.caller(scene["grace"]).put(f"/api/projects/{own}", {"tagline": "Mine"}).status_code == 200


def test_the_last_check_comes_after_the_last_write(app: Flask, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write may wait for a lock, and the demotion may come meanwhile."""
    admin = world.admin()
    monkeypatch.setattr(permissions, "still", lambda _by, _action: not db.session.new)
    with handling(app, method="POST") as exchange:
        exchange.identify(admin)
        exchange.privilege = "administer"
        transaction(lambda: db.session.add(Category(slug="new", name="New")))
