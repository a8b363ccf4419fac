"""The deletion of somebody else's account while other requests run: one is first, and nothing of the user is left."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, text

from directory.api import account_deletion
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import endpoint
from directory.models import AuditEntry, Delivery, MailLink
from directory.services.accounts import accounts
from directory.services.identity import Caller
from directory.services.review import moderation
from directory.services.sign_in import recovery
from directory.services.votes import voting
from tests.support.account_deletion import BODY, HOOK, PATH, faults, leave, left, rows
from tests.support.factories import Api, World
from tests.support.mailbox import server
from tests.support.waiting import until

# Who calls besides the administrator who deletes ada, how, and the statuses of both: as if one of the two came first.
RACES: dict[str, tuple[str, str, str, Any, set[tuple[int, int]]]] = {
    "another deletion": ("eve", "DELETE", "/api/admin/users/{ada}", None, {(204, 409), (409, 204)}),
    "the deleter's own": ("eve", "DELETE", "/api/admin/users/{root}", None, {(204, 204), (401, 204), (403, 204)}),
    "her own deletion": ("ada", "DELETE", PATH, BODY, {(204, 401), (409, 204)}),
    "her promotion": ("eve", "PUT", "/api/admin/users/{ada}", {"role": "admin"}, {(204, 409), (204, 200)}),
    "an approval": ("eve", "PUT", "/api/admin/projects/{pending}/approve", None, {(204, 404), (204, 200)}),
    "her submission": ("ada", "POST", "/api/projects", "new", {(204, 401), (204, 201)}),
    "her vote": ("ada", "PUT", "/api/projects/{other}/upvote", None, {(204, 401), (204, 200)}),
}  # fmt: skip


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    events = ["project.submitted", "project.approved", "project.unpublished", "project.deleted"]
    return make_app(WEBHOOK_ENDPOINTS=json.dumps([{**HOOK[0], "events": events}]))  # type: ignore[no-any-return]


def expect_nothing_left(app: Flask, user: Caller, live: int = 1) -> None:
    found = left(app, user)
    assert (found["states"], found["upvotes"], found["sessions"], found["tokens"]) == ({"live": live}, 0, 0, 0)
    assert [payload for (payload,) in rows(app, Delivery.payload) if f'"{user.username}"' in payload] == []
    assert len(rows(app, AuditEntry.id, action="user.deleted", user_id=user.id)) == 1
    assert faults(app) == []


@pytest.mark.parametrize("other", RACES)
def test_of_two_deletions_at_once_one_is_done(
    notifying: Flask, world: World, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = {"ada": world.user("ada"), "root": world.admin("root"), "eve": world.admin("eve")}
    ada = people["ada"]
    live, pending = world.project(ada), world.project(ada, "pending")
    targets = {"other": world.project(), "pending": pending, **{name: user.id for name, user in people.items()}}
    callers = {name: Api(notifying, world.caller(user).token) for name, user in people.items()}
    who, method, address, body, allowed = RACES[other]
    if body == "new":
        body = {"title": "New", "tagline": "New", "category": "tools", "url": "https://new.example"}
    ready = Barrier(2, timeout=20)

    def together(work: Any) -> Any:
        return lambda *args, **options: (ready.wait(), work(*args, **options))[1]

    for module, name in ((endpoint, "transaction"), (account_deletion, "transaction"), (voting, "_count")):
        monkeypatch.setattr(module, name, together(getattr(module, name)))
    with ThreadPoolExecutor(2) as pool:
        deleted = pool.submit(callers["root"].delete, f"/api/admin/users/{ada.id}")
        second = pool.submit(callers[who].call, method, address.format(**targets), body)
        answers = deleted.result(30).status_code, second.result(30).status_code
    monkeypatch.undo()
    assert answers in allowed
    if answers[0] in (401, 403):  # who deletes was deleted first
        assert left(notifying, ada)["states"] == {"live": 1, "pending": 1}
        return
    expect_nothing_left(notifying, ada, 2 if (other, answers[1]) == ("an approval", 200) else 1)
    assert world.stored(live)["owner"]["username"] == f"deleted-{ada.id}"


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_an_event_about_a_live_project_under_way_gets_the_new_name_too(notifying: Flask, world: World) -> None:
    """Nothing else of the deletion changes that project."""
    ada, root = world.user("ada"), world.admin("root")
    project = world.project(ada)
    hooks = notifying.extensions["webhooks"]

    def blocked() -> bool:
        with notifying.app_context():
            return bool(db.session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))

    with ThreadPoolExecutor(1) as pool, notifying.app_context():

        def decide() -> Any:
            moderation.decide(project, "unpublish", by=root, notify=hooks)
            db.session.flush()
            deletion = pool.submit(leave, notifying, ada)
            until(blocked)
            return deletion

        transaction(decide).result(20)
    [(payload,)] = rows(notifying, Delivery.payload)
    assert json.loads(payload)["data"]["project"]["owner"]["username"] == f"deleted-{ada.id}"


@pytest.mark.parametrize("step", [recovery.forgot, recovery.ask_to_verify])
def test_a_mail_that_was_asked_for_before_leaves_no_address(app: Flask, world: World, step: Any) -> None:
    ada = world.user("ada")
    with app.app_context():
        known = accounts.get(ada.id)
        accounts.release()
        leave(app, ada)
        transaction(lambda: step(known, server(25)))
        assert db.session.scalar(select(func.count()).select_from(Delivery)) == 0
        assert list(db.session.execute(select(MailLink.user_id, MailLink.email))) == [(None, "")]
