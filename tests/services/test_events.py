"""Each event is caused once, and what the log, timeline, thread, webhooks and mail say of it is what its row says."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, text, update

from directory import events
from directory.db.transactions import transaction
from directory.events import Event
from directory.extensions import db
from directory.models import AuditEntry, Delivery, MailLink, Project, Review, Status, now
from directory.services.accounts import accounts, mail_links
from directory.services.catalog import fields
from directory.services.data import wholesale
from directory.services.delivery import first_week
from directory.services.delivery.channels import MAIL
from directory.services.delivery.leases import Lease
from directory.services.delivery.mail import messages
from directory.services.delivery.webhooks import formats
from directory.services.review import approvals, deadlines
from directory.services.review.case import advance, flush, locked
from directory.services.review.steps import Act
from directory.services.sign_in import links, recovery
from directory.services.site import Site
from tests.support.authenticator import Authenticator
from tests.support.browsers import Browser
from tests.support.extras import rows
from tests.support.factories import PASSWORD, Api, World
from tests.support.mailbox import Mailbox
from tests.support.reviewing import ENDPOINT

NEW_PASSWORD = "a horse of another colour"
WHY, TEXT = {"reason": "So."}, {"text": "Look."}


class Scene:
    """A directory that sends everything, with the member ada, the administrators root and eve, and what they do."""

    def __init__(self, make_app: Any, mailbox: Mailbox) -> None:
        wanted = [each for each in events.WEBHOOKS if each != events.WEBHOOK_TEST]
        hook = {**ENDPOINT, "name": "hook", "events": wanted}
        switched_on = {"APPEALS": "on", "REPORTS": "members"}
        mail = {**mailbox.settings, "SITE_URL": "http://localhost"}
        self.app: Flask = make_app(WEBHOOK_ENDPOINTS=json.dumps([hook]), **switched_on, **mail)
        self.world, self.notify = World(self.app), self.app.extensions["webhooks"]
        [self.server] = [each for each in self.notify if each.format == MAIL]
        self.ada, self.root = self.world.user("ada"), self.world.admin("root")
        self.world.change(self.ada, email_verified_at=now())
        self.owner, self.admin = self.world.caller(self.ada), self.world.caller(self.root)
        self.world.category("tools")
        self.project = 0  # the one that the event is about

    def run(self, work: Callable[[], Any]) -> Any:
        with self.app.app_context():
            return transaction(work)

    def submit(self) -> str:
        """A new project of ada's: its path."""
        given = {"title": "Lamp", "tagline": "A lamp", "url": "https://lamp.example/", "category": "tools"}
        self.project = int(done(self.owner.post("/api/projects", given))["id"])
        return f"/api/projects/{self.project}"

    def decide(self, decision: str, body: Any = None) -> str:
        """The same after a decision by root."""
        path = f"/api/projects/{self.project}" if self.project else self.submit()
        done(self.admin.put(f"/api/admin/projects/{self.project}/{decision}", body))
        return path

    def live(self, *changes: str) -> str:
        """The same of a live project, with changes of it that wait."""
        path = self.decide("approve")
        for tagline in changes:
            done(self.owner.put(path, {"tagline": tagline}))
        return path

    def unpublished(self) -> str:
        self.live()
        return self.decide("unpublish", WHY)

    def asked(self) -> str:
        return self.decide("request-changes", {"message": "What does it do?"})

    def imported(self) -> None:
        at = now()
        given = fields.filled({"title": "Lamp", "tagline": "A lamp", "url": "https://lamp.example/"})
        [category] = self.world.category_ids("tools") or ()
        draft = wholesale.Draft(self.ada.id, category, given, Status.LIVE, at, at)
        [self.project] = self.run(lambda: wholesale.write([draft], decided_by=None, imported=True))

    def approve_once(self) -> None:
        self.submit()
        self.world.approve(self.project, self.root)

    def hold(self) -> None:
        self.submit()

        def work() -> None:
            [case] = locked([self.project])
            advance(case, Act.HOLD, by=None, at=now())
            flush([case])

        self.run(work)

    def remind(self) -> None:
        self.asked()
        times = {"since": now() - timedelta(days=20), "until": now() + timedelta(days=3)}
        self.run(lambda: db.session.execute(update(Review).values(**times)))
        assert self.run(lambda: deadlines.remind(9, notify=self.notify)) == 1

    def week(self) -> None:
        self.live()
        self.run(lambda: db.session.execute(update(Project).values(published_at=now() - timedelta(days=8))))
        assert self.run(lambda: first_week.tell(9, notify=self.notify)) == 1

    def judge(self, *decisions: str) -> None:
        self.live()
        voter = self.world.user()
        self.world.vote(self.project, voter)
        path = f"/api/admin/projects/{self.project}/votes/decisions"
        for decision in decisions:
            done(self.admin.post(path, {"decision": decision, "user_ids": [voter.id]}))

    def erase_message(self) -> None:
        path = self.asked()
        message = done(self.owner.post(f"{path}/messages", TEXT))["id"]
        done(self.admin.delete(f"/api/admin/messages/{message}"))

    def browser(self) -> Browser:
        return Browser(self.app).sign_in("ada")

    def add_passkey(self) -> tuple[Browser, str]:
        browser, path = self.browser(), "/api/auth/passkeys"
        made = Authenticator("http://localhost").create(done(browser.post(f"{path}/options")))
        return browser, f"{path}/{done(browser.post(path, {'credential': made}))['id']}"

    def remove_passkey(self) -> None:
        browser, path = self.add_passkey()
        done(browser.delete(path))

    def reset_passkeys(self) -> None:
        self.add_passkey()
        self.command("users", "reset-passkeys", "ada")

    def command(self, *words: str) -> None:
        self.app.test_cli_runner().invoke(args=words)

    def rename(self) -> None:
        self.world.change(self.ada, may_rename=True)
        self.run(lambda: accounts.choose_username("lovelace", by=self.ada))

    def register(self) -> None:
        given = {"username": "bob", "email": "bob@example.org", "password": PASSWORD}
        done(Api(self.app).post("/api/auth/register", given))

    def sign_in_by_link(self) -> None:
        token = self.run(lambda: links.make(self.ada.id))
        self.run(lambda: links.sign_in(token, user_agent=""))

    def change_password(self) -> None:
        done(self.owner.put("/api/auth/me", {"password": NEW_PASSWORD, "current_password": PASSWORD}))

    def change_email(self) -> None:
        def propose() -> None:
            known = accounts.get(self.ada.id).password_hash
            recovery.propose_email(self.ada, "new@example.org", known_hash=known, server=self.server)

        self.run(propose)
        with self.app.app_context():
            link = db.session.scalars(select(MailLink).where(MailLink.email == "new@example.org")).one()
            token = mail_links.token_of_link(link, self.server.keys)
        self.run(lambda: recovery.verify(token, self.server))

    def forget_password(self) -> None:
        self.run(lambda: recovery.forgot(accounts.get(self.ada.id), self.server))

    def token(self) -> str:
        return f"/api/auth/tokens/{done(self.owner.post('/api/auth/tokens', {'name': 'x'}))['id']}"

    def test(self) -> int:
        return int(done(self.admin.post("/api/admin/webhooks/endpoints/hook/test"))["id"])

    def miscount(self) -> None:
        self.live()
        self.run(lambda: db.session.execute(text("UPDATE projects SET upvotes = 7")))
        self.command("recount")

    def administer(self, **values: Any) -> None:
        done(self.admin.put(f"/api/admin/users/{self.ada.id}", values))

    def categorise(self) -> None:
        self.administer(role="reviewer")
        self.administer(review_categories=["tools"])


def done(answer: Any) -> Any:
    """What a request that succeeded has answered."""
    assert 200 <= answer.status_code < 300, answer.json
    return answer.json


CAUSES: dict[Event, Callable[[Scene], Any]] = {
    events.PROJECT_SUBMITTED: Scene.submit,
    events.PROJECT_IMPORTED: Scene.imported,
    events.PROJECT_EDITED: lambda s: done(s.owner.put(s.live(), {"tags": ["light"]})),
    events.PROJECT_EDIT_HELD: lambda s: s.live("A lantern"),
    events.PROJECT_EDIT_APPROVED: lambda s: (s.live("A lantern"), s.decide("approve")),
    events.PROJECT_EDIT_REJECTED: lambda s: (s.live("A lantern"), s.decide("reject", WHY)),
    events.PROJECT_EDIT_WITHDRAWN: lambda s: done(s.owner.delete(f"{s.live('A lantern')}/revision")),
    events.PROJECT_APPROVAL_GIVEN: Scene.approve_once,
    events.PROJECT_APPROVAL_WITHDRAWN: lambda s: (
        s.approve_once(), s.run(lambda: approvals.withdraw(s.project, by=s.root)),
    ),
    events.PROJECT_APPROVED: lambda s: s.decide("approve"),
    events.PROJECT_REJECTED: lambda s: s.decide("reject", WHY),
    events.PROJECT_UNPUBLISHED: Scene.unpublished,
    events.PROJECT_DELETED: lambda s: done(s.owner.delete(s.submit())),
    events.PROJECT_VOTES_DISCOUNTED: lambda s: s.judge("discount"),
    events.PROJECT_VOTES_COUNTED: lambda s: s.judge("discount", "count"),
    events.PROJECT_CHANGES_REQUESTED: Scene.asked,
    events.PROJECT_ANSWERED: lambda s: done(s.owner.post(f"{s.asked()}/messages", TEXT)),
    events.PROJECT_CLOSING: Scene.remind,
    events.PROJECT_MESSAGE: lambda s: (
        s.submit(), done(s.admin.post(f"/api/review/projects/{s.project}/messages", TEXT)),
    ),
    events.PROJECT_RESUBMITTED: lambda s: done(s.owner.post(f"{s.asked()}/messages", {**TEXT, "resubmit": True})),
    events.PROJECT_RELEASED: lambda s: (s.hold(), done(s.admin.put(f"/api/review/projects/{s.project}/release"))),
    events.PROJECT_FIRST_WEEK: Scene.week,
    events.MESSAGE_ERASED: Scene.erase_message,
    events.USER_ROLE_CHANGED: lambda s: s.administer(role="reviewer"),
    events.USER_CATEGORIES_CHANGED: Scene.categorise,
    events.USER_STATUS_CHANGED: lambda s: s.administer(status="suspended"),
    events.USER_SIGNED_OUT: lambda s: (s.browser(), done(s.admin.delete(f"/api/admin/users/{s.ada.id}/sessions"))),
    events.USER_DELETED: lambda s: done(s.admin.delete(f"/api/admin/users/{s.ada.id}")),
    events.USER_RENAMED: Scene.rename,
    events.USER_PASSKEY_ADDED: Scene.add_passkey,
    events.USER_PASSKEY_REMOVED: Scene.remove_passkey,
    events.USER_PASSKEYS_RESET: Scene.reset_passkeys,
    events.USER_REGISTERED: Scene.register,
    events.USER_SIGNED_IN: lambda s: Browser(s.app).sign_in("root"),
    events.USER_SIGNED_IN_BY_LINK: Scene.sign_in_by_link,
    events.USER_PASSWORD_CHANGED: Scene.change_password,
    events.USER_EMAIL_CHANGED: Scene.change_email,
    events.USER_TOKEN_CREATED: Scene.token,
    events.USER_TOKEN_REVOKED: lambda s: done(s.owner.delete(s.token())),
    events.USERS_SIGNED_OUT: lambda s: done(s.admin.delete("/api/admin/sessions")),
    events.USERS_TOKENS_REVOKED: lambda s: done(s.admin.delete("/api/admin/tokens")),
    events.CATEGORY_CREATED: lambda s: done(s.admin.post("/api/admin/categories", {"slug": "new", "name": "New"})),
    events.CATEGORY_CHANGED: lambda s: done(s.admin.put("/api/admin/categories/tools", {"name": "Other"})),
    events.CATEGORY_DELETED: lambda s: done(s.admin.delete("/api/admin/categories/tools")),
    events.WEBHOOK_REDELIVERED: lambda s: done(s.admin.post(f"/api/admin/webhooks/deliveries/{s.test()}/redeliver")),
    events.WEBHOOK_TESTED: Scene.test,
    events.WEBHOOK_TEST: Scene.test,
    events.COUNTERS_REPAIRED: Scene.miscount,
    events.ACCOUNT_PASSWORD_RESET: Scene.forget_password,
    events.ACCOUNT_EMAIL_VERIFICATION: lambda s: s.run(
        lambda: recovery.ask_to_verify(accounts.get(s.ada.id), s.server)
    ),
    events.ACCOUNT_EMAIL_CHANGED: Scene.change_email,
    events.ACCOUNT_PASSWORD_CHANGED: Scene.change_password,
    events.ACCOUNT_PASSKEY_ADDED: Scene.add_passkey,
    events.ACCOUNT_PASSKEY_REMOVED: Scene.remove_passkey,
    **rows("causes"),
}  # fmt: skip


@pytest.mark.extra("appeals", "feed_keys", "picks", "providers", "replies", "reports", "spam_rules")
@pytest.mark.extra(
    "appeals", "feed_keys", "fields", "links", "picks", "providers", "replies", "reports", "spam_rules"
)  # the words of their events stay when they are deleted, for entries of the log have them
def test_each_event_has_a_cause() -> None:
    assert CAUSES.keys() == set(events.TABLE)


def test_each_event_has_a_constant_of_its_name() -> None:
    assert [getattr(events, each.upper().replace(".", "_")) for each in events.TABLE] == list(events.TABLE)
    assert [each.webhook_place for each in events.WEBHOOKS] == list(range(len(events.WEBHOOKS)))


@pytest.mark.parametrize("event", [each for each in events.TABLE if each in CAUSES])
def test_what_is_told_of_an_event_is_what_its_row_says(make_app: Any, mailbox: Mailbox, event: Event) -> None:
    scene = Scene(make_app, mailbox)
    CAUSES[event](scene)
    with scene.app.app_context():
        entries = list(db.session.scalars(select(AuditEntry).where(AuditEntry.action == event)))
        rows = list(db.session.scalars(select(Delivery).where(Delivery.event == event)))
        told = [messages.of_lease(_leased(each), scene.server).content for each in rows if each.endpoint == MAIL]
    sent = [json.loads(each.payload) for each in rows if each.endpoint == "hook"]
    assert [bool(entries), bool(sent), bool(told)] == [bool(event.sentence), bool(event.webhook), bool(event.mail)]
    if event.after:
        assert {entry.to_state for entry in entries} == {event.after}
    for payload in sent:
        _is_of(event, payload)
    for mail in told:
        facts = {"title": "“Lamp”", "site": scene.server.site.name}
        subject, first, *_ = (str(each.filled(**facts)) for each in event.mail)
        assert mail["Subject"] == subject
        assert first.partition("{")[0] in mail.get_content().replace("\r\n", "\n")
    if event.startswith("project.") and event != events.PROJECT_DELETED:
        _shows(scene, event)


def _leased(row: Delivery) -> Lease:
    return Lease(row.id, row.webhook_id, row.event, row.payload, 0, "", now())


def _is_of(event: Event, payload: Any) -> None:
    """Whether a webhook has the members, and in a chat the name, that the row gives it."""
    data = payload["data"]
    assert payload["type"] == event
    assert {member for member in data if member.endswith("_by")} == ({event.actor} if event.actor else set())
    carried = [name in data for name in ("changes", "message_id", "reason")]
    assert carried == [event.is_edit, event.has_message, event.has_reason]
    for style in ("discord", "slack"):
        assert event.webhook in formats.render(style, json.dumps(payload), Site("", "")).decode()


def _shows(scene: Scene, event: Event) -> None:
    """Whether the owner sees the event on the timeline and in the thread, with its words, if the row has some."""
    path = f"/api/projects/{scene.project}"
    line = {item["event"]: item for item in done(scene.owner.get(f"{path}/timeline"))["items"]}
    page = scene.browser().client.get(f"/mine/{scene.project}").text
    name = event.timeline_name or event.word
    assert (name in line) is (event.timeline is not None)
    if event.timeline:
        assert (event.thread or event.timeline) in page
        assert ("reason" in line[name]) is event.has_reason
    if event.kind:
        assert event.kind in [item["kind"] for item in done(scene.owner.get(f"{path}/messages"))["items"]]
        assert str(event.thread) in page
