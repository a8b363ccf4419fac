"""After the deletion of an account no text of any table of the database names its user."""

import json
import warnings
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import JSON, String, column, inspect, select, table, text, update
from sqlalchemy.exc import SAWarning

from directory import events
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import (
    AuditEntry,
    Delivery,
    DeliveryAttempt,
    DeliveryState,
    Identity,
    Passkey,
    PasskeyChallenge,
    Project,
    Report,
    SignInAttempt,
    User,
    now,
)
from directory.services.accounts import accounts, api_tokens, sessions
from directory.services.delivery import leases
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.identity import Caller
from directory.services.sign_in import recovery
from tests.support.account_deletion import HOOK, faults, rows
from tests.support.factories import Api, World
from tests.support.mailbox import server

# Every text about the user has the first word, every text of the user's projects the second.
DAY = timedelta(days=1)
USER, WORK = "zephyr", "quixot"
BEFORE, NAME = f"{USER}-before", f"{USER}ine"
PERSONAL = {
    "users.username", "users.email", "sessions.user_agent", "tokens.name", "identities.subject", "identities.email",
    "passkeys.name", "mail_links.email", "sign_in_attempts.next_path", "deliveries.payload",
    "delivery_attempts.response", "reports.text",
}  # fmt: skip
# What stays of projects that are deleted, by design: the log, the notifications of what was decided, and tags, with a
# count of 0. SQLite keeps words of its index until it merges the parts of the index.
OF_PROJECTS = {"audit_entries.project_title", "audit_entries.changes", "deliveries.payload", "tag_counts.tag"}
OF_PROJECTS |= {"project_search_data.block", "project_search_brief_data.block"}
# Tables with what administrators write about no user; digests of pictures and descriptions, ids of categories, and what
# reviewers write of a project.
OF_ADMINISTRATORS = {"rules", "rule_previews", "rule_actions", "saved_replies", "field_definitions"}
NOT_FILLED = {"logos.digest", "logos.small_digest", "projects.logo", "reviews.logo", "picture_uses.digest"}
NOT_FILLED |= {
    "known_time.name",
    "users.review_categories",
    "users.local_role",
    "users.local_categories",
    "projects.text_key",
    "projects.picked_words",
    "project_fields.field",
    "project_fields.value",
    "field_counts.field",
    "field_counts.value",
}
# Nothing looks at links here. What was seen goes with the project, and hosts after some minutes.
NOT_FILLED |= {"projects.links", "projects.repository", "link_checks.looks", "link_checks.lease_token"}
NOT_FILLED |= {"link_hosts.host", "link_hosts.lease_token", "link_counts.state"}


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    hook = [{**HOOK[0], "events": [each for each in events.WEBHOOKS if each.actor]}]
    mail = {"REVIEW_ON_EDIT": "always", "MAIL_URL": "smtp://127.0.0.1:25", "MAIL_FROM": "d@example.org"}
    return make_app(WEBHOOK_ENDPOINTS=json.dumps(hook), **mail)  # type: ignore[no-any-return]


def columns_with(app: Flask, word: str) -> set[str]:
    """The columns of all tables that the database has, of whatever type, in which a word occurs."""
    found = set()
    with app.app_context():
        on_postgresql = db.engine.dialect.name == "postgresql"
        for name in inspect(db.engine).get_table_names():
            with warnings.catch_warnings(action="ignore", category=SAWarning):  # of types that it does not know
                names = [each["name"] for each in inspect(db.engine).get_columns(name)]
            shown = [text(f'CAST("{each}" AS text)') if on_postgresql else column(each) for each in names]
            for row in db.session.execute(select(*shown).select_from(table(name))):
                values = (str(value, "latin-1") if isinstance(value, bytes) else str(value) for value in row)
                found |= {f"{name}.{each}" for each, value in zip(names, values, strict=True) if word in value.lower()}
    return found


def empty_columns(app: Flask) -> set[str]:
    """The columns with texts, of the tables of the models, without any in any row."""
    empty = set()
    with app.app_context():
        for each in db.metadata.sorted_tables:
            for one in each.c:
                is_text = isinstance(one.type, String | JSON) and each.name not in OF_ADMINISTRATORS
                if is_text and not any(db.session.scalars(select(one))):
                    empty.add(f"{each.name}.{one.name}")
    return empty


def submitted(caller: Api, number: int) -> int:
    fields = {"title": f"{WORK} {number}", "tagline": WORK, "description": f"A {WORK}.", "category": "tools"}
    fields |= {
        "url": f"https://{WORK}.example/{number}",
        "author": f"The makers of {WORK}",
        "tags": [f"{WORK}-{number}"],
    }
    fields |= {"repository_url": f"https://{WORK}.example/code", "logo_url": f"https://{WORK}.example/logo"}
    return int(caller.post("/api/projects", fields).json["id"])


def fill(app: Flask, world: World, root: Api) -> Caller:
    """A user with everything that the service stores of one: projects in all states, ways to sign in, mail, votes."""
    for slug in ("tools", "web"):
        world.category(f"former-{slug}")
        root.put(f"/api/admin/categories/former-{slug}", {"slug": slug, "description": slug})
    ada = world.user(BEFORE)
    caller = world.caller(ada)
    live, pending, rejected, deleted, held, refused = (submitted(caller, number) for number in range(6))
    for project in (live, held, refused, deleted):
        root.put(f"/api/admin/projects/{project}/approve")
    root.put(f"/api/admin/projects/{rejected}/reject", {"reason": "No."})
    with app.app_context():
        transaction(
            lambda: db.session.execute(update(User).where(User.id == ada.id).values(may_rename=True, feed_key_hash="f"))
        )
    assert caller.put("/api/auth/me", {"username": NAME, "language": "en"}).status_code == 200
    for project in (held, refused):
        later = {"title": f"Later {WORK}", "tags": [WORK], "category": "web"}
        assert caller.put(f"/api/projects/{project}", later).status_code == 200
    root.put(f"/api/admin/projects/{refused}/reject", {"reason": "No."})
    caller.put(f"/api/projects/{pending}", {"description": f"Another {WORK}."})
    caller.delete(f"/api/projects/{deleted}")
    root.put(f"/api/admin/projects/{live}/unpublish", {"reason": "For now."})
    root.put(f"/api/admin/projects/{live}/approve")
    for project in (liked := world.project(votes=1), world.project()):
        world.vote(project, ada)
    world.discount(liked, ada)
    with app.app_context():
        transaction(lambda: ways_in(ada))
        transaction(lambda: attempts())
    return ada


def ways_in(ada: Caller) -> None:
    user, later = accounts.get(ada.id), now() + timedelta(hours=1)
    api_tokens.issue(f"{USER}'s script", None, by=ada)
    sessions.begin(ada.id, user_agent=f"{USER.title()}browser/1.0")
    user.password_hash = "hash"
    recovery.forgot(user, server(25))
    recovery.propose_email(ada, f"{USER}-new@example.org", known_hash="hash", server=server(25))
    recovery.tell_of_password(user, server(25))
    [session, *_] = sessions.listed(ada)
    db.session.add_all([
        Report(
            project_id=1, project_title="Gone", reporter_id=ada.id, kind="spam", text=f"By {USER}.", outcome="acted",
            reply="Thanks.", settled_at=now(),
        ),
        Report(project_id=1, address_key="k", kind="spam", text=""),
        Identity(user_id=ada.id, issuer="https://id.example", subject=f"{USER}-1", email=f"{USER}@id.example"),
        Passkey(user_id=ada.id, credential_id="c", public_key="p", name=f"{USER}'s key"),
        PasskeyChallenge(session_id=session["id"], challenge_hash="h", expires_at=later),
        SignInAttempt(
            state_hash="s", browser_hash="b", provider="github", next_path=f"/users/{NAME}", user_id=ada.id,
            expires_at=later,
        ),
    ])  # fmt: skip


def attempts() -> None:
    """Each delivery was tried once, and the receiver named the user in its answer. Half are delivered."""
    for number, delivery in enumerate(db.session.scalars(select(Delivery).order_by(Delivery.id))):
        answer = f"<{USER}@example.org>: unknown"
        db.session.add(DeliveryAttempt(delivery_id=delivery.id, error="e", milliseconds=1, response=answer))
        if number % 2:
            delivery.state, delivery.settled_at = DeliveryState.DELIVERED, now()
        else:
            delivery.lease_token, delivery.leased_until = "t", now()


def test_no_text_of_any_table_names_a_deleted_user(notifying: Flask) -> None:
    world = World(notifying)
    root = world.caller(world.admin("grace"))
    ada = fill(notifying, world, root)
    assert columns_with(notifying, USER) == PERSONAL
    assert {"projects.title", "reviews.changes", "tag_counts.tag", "project_tags.tag"} <= columns_with(notifying, WORK)
    assert empty_columns(notifying) - NOT_FILLED == set()

    assert root.delete(f"/api/admin/users/{ada.id}").status_code == 204

    assert columns_with(notifying, USER) == set()
    stays = rows(notifying, Project.id, Project.status, owner_id=ada.id)
    assert {status for _, status in stays} == {"live"}
    for project, _ in stays:
        assert root.delete(f"/api/projects/{project}").status_code == 204
    assert columns_with(notifying, WORK) <= OF_PROJECTS
    assert faults(notifying) == []


def sent(delivery_id: int) -> None:
    """Have a delivery sent: a deliverer takes it, and completes it."""
    policy = DeliveryPolicy()
    [endpoint] = db.session.scalars(select(Delivery.endpoint).where(Delivery.id == delivery_id))
    db.session.execute(update(Delivery).values(lease_token=None, leased_until=None, next_attempt_at=now()))
    db.session.execute(update(Delivery).where(Delivery.id != delivery_id).values(next_attempt_at=policy.clock() + DAY))
    lease = leases.take(endpoint, policy)
    assert lease is not None
    assert lease.delivery_id == delivery_id
    assert leases.complete(lease, leases.Outcome(200, None, 1), policy) == "delivered"


def test_of_projects_that_go_with_their_owner_ids_alone_stay(notifying: Flask) -> None:
    """In the log, and of what was sent; what is still to be sent loses its body once it is."""
    world = World(notifying)
    root = world.caller(world.admin("grace"))
    ada = fill(notifying, world, root)
    kept = AuditEntry.id, AuditEntry.action, AuditEntry.project_id, AuditEntry.reason
    before = rows(notifying, *kept)
    assert root.delete(f"/api/admin/users/{ada.id}").status_code == 204
    assert rows(notifying, *kept)[: len(before)] == before
    present = {project for (project,) in rows(notifying, Project.id)}
    entries = rows(notifying, AuditEntry.project_id, AuditEntry.project_title, AuditEntry.changes)
    named = {project for project, title, changes in entries if WORK in f"{title}{changes}".lower()}
    assert named
    assert named <= present
    stored = rows(notifying, Delivery.id, Delivery.event, Delivery.project_id, Delivery.state, Delivery.payload)
    about = [row for row in stored if row[2] is not None]
    gone = {
        state: [row for row in about if row[2] not in present and row[3] == state] for state in ("pending", "delivered")
    }
    assert all(WORK in payload for *_, payload in gone["pending"])
    for number, event, project, _, payload in gone["delivered"]:
        assert json.loads(payload) == {"type": event, "data": {"project": {"id": project}}}
        answer = root.post(f"/api/admin/webhooks/deliveries/{number}/redeliver")
        assert (answer.status_code, answer.json["code"]) == (409, "invalid_transition")
    assert gone["delivered"]
    [whole, *_] = (row[0] for row in about if row[2] in present and row[3] == "delivered")
    assert root.post(f"/api/admin/webhooks/deliveries/{whole}/redeliver").status_code == 202
    of_live = [row for row in about if row[2] in present and row[3] == "pending" and WORK in row[4]]
    with notifying.app_context():
        for (number, *_), stays in ((gone["pending"][-1], False), (of_live[-1], True)):
            transaction(lambda number=number: sent(number))
            assert (WORK in db.session.get_one(Delivery, number, populate_existing=True).payload) is stays
