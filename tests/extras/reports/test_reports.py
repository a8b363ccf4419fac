"""Reports: who may make one, one open report for each caller and project, and what settles it."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, func, select, update
from sqlalchemy.exc import IntegrityError

from directory.db.paging import Window
from directory.db.transactions import transaction
from directory.errors import DirectoryError, NotFound
from directory.extensions import db
from directory.extras.reports import reports, routes
from directory.models import AuditEntry, Delivery, Report, User, now
from directory.services import deleting, health
from directory.services.delivery.outbox import UNCONFIRMED_MAILS
from directory.services.identity import Caller
from directory.services.people import account_deletion, administration, kept_reports
from directory.services.review import moderation, submissions, takedown
from tests.conftest import Statements
from tests.support.factories import Api, World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = [{"url": "https://hook.example/", "secret": SECRET, "events": ["project.reported"]}]


@pytest.fixture
def app(make_app: Any) -> Flask:
    """Everybody may report, and a webhook learns of it."""
    return make_app(  # type: ignore[no-any-return]
        REPORTS="everybody",
        WEBHOOK_ENDPOINTS=json.dumps(HOOK),
        MAIL_URL="smtp://mail.example.org",
        MAIL_FROM="directory@example.org",
        SITE_URL="https://directory.example.net",
    )


class Rules:
    """The rules, each in a transaction of its own."""

    def __init__(self, app: Flask, world: World) -> None:
        self.app, self.world, self.reviewer = app, world, world.admin("reviewer")
        self.notify = app.extensions["webhooks"]

    def do(self, work: Any) -> Any:
        with self.app.app_context():
            return transaction(work)

    def report(self, project: int, by: Caller | None, kind: str = "spam", text: str = "", key: str = "k") -> None:
        address = None if by else key
        self.do(lambda: reports.make(project, kind, text, by=by, address_key=address, notify=self.notify))

    def settle(self, project: int, outcome: str, reply: str | None = None, by: Caller | None = None) -> Any:
        by = by or self.reviewer
        return self.do(lambda: reports.settle(project, outcome, reply, by=by, notify=self.notify))

    def listed(self, state: str = "open", kind: str | None = None, by: Caller | None = None) -> list[Any]:
        by = by or self.reviewer
        return list(self.do(lambda: reports.page(Window(100), by=by, state=state, kind=kind)).items)

    def numbers(self, **filters: Any) -> list[tuple[int, int]]:
        return [(group["project"]["id"], group["number"]) for group in self.listed(**filters)]

    def rows(self) -> list[Any]:
        columns = (Report.project_id, Report.project_title, Report.reporter_id, Report.address_key, Report.outcome)
        return [tuple(row) for row in self.do(lambda: db.session.execute(select(*columns).order_by(Report.id)).all())]

    def mails(self) -> list[Any]:
        query = select(Delivery.payload).where(Delivery.event == "report.settled").order_by(Delivery.id)
        return [json.loads(payload)["data"] for payload in self.do(lambda: db.session.scalars(query).all())]

    def events(self) -> list[Any]:
        query = select(Delivery.payload).where(Delivery.event == "project.reported").order_by(Delivery.id)
        return [json.loads(payload)["data"] for payload in self.do(lambda: db.session.scalars(query).all())]


@pytest.fixture
def rules(app: Flask, world: World) -> Rules:
    return Rules(app, world)


def code_of(call: Any) -> str:
    with pytest.raises(DirectoryError) as refused:
        call()
    return refused.value.code


def test_each_caller_has_one_open_report_about_a_project_and_the_last_words_count(rules: Rules, world: World) -> None:
    project, ada = world.project(title="Lanternfish"), world.user("ada")
    rules.report(project, ada, "spam", "Advertising.")
    rules.report(project, None, "other", "Odd.", key="one")
    rules.report(project, None, "broken_link", key="two")
    rules.report(project, ada, "mine", "I wrote it.")
    rules.report(project, None, "harmful", "It bites.", key="one")
    [group] = rules.listed()
    assert (group["number"], group["kinds"]) == (3, {"broken_link": 1, "harmful": 1, "mine": 1})
    assert [(each["text"], each["reporter"]) for each in group["texts"]] == [
        ("It bites.", None), ("I wrote it.", {"id": ada.id, "username": "ada"}),
    ]  # fmt: skip
    # A webhook learns of each new one, and not who made it.
    events = rules.events()
    assert [event["kind"] for event in events] == ["spam", "other", "broken_link"]
    assert {*events[0]} == {"project", "kind"}
    assert events[0]["project"]["title"] == "Lanternfish"
    assert "Advertising" not in json.dumps(events)


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_only_a_live_project_can_be_reported(rules: Rules, world: World, status: str) -> None:
    owner = world.user()
    project = world.project(owner, status)
    for by in (None, owner, world.user()):
        with pytest.raises(NotFound):
            rules.report(project, by)
    with pytest.raises(NotFound):
        rules.report(10**9, None)
    assert rules.rows() == []


def test_one_more_anonymous_report_than_there_may_be_takes_the_place_of_the_newest(
    rules: Rules, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "STRANGERS_MAX", 2)
    project, other, ada = world.project(), world.project(), world.user()
    rules.report(project, None, text="Text 0", key="k0")
    rules.report(project, ada, text="Of ada")
    for number in range(1, 5):
        rules.report(project, None, text=f"Text {number}", key=f"k{number}")
    rules.report(other, None, key="k1")
    rules.report(project, None, text="Again", key="k0")
    assert rules.numbers() == [(project, 3), (other, 1)]
    assert [key for reported, _, _, key, _ in rules.rows() if reported == project] == ["k0", None, "k4"]
    [texts] = [group["texts"] for group in rules.listed() if group["project"]["id"] == project]
    assert [each["text"] for each in texts] == ["Text 4", "Of ada", "Again"]
    assert len(rules.events()) == 4  # of k0, ada and k1, and about the other project


def test_the_database_refuses_a_second_open_report_of_a_caller(rules: Rules, world: World) -> None:
    project, ada = world.project(), world.user()
    rules.report(project, ada)
    rules.report(project, None, key="one")
    for whose in ({"reporter_id": ada.id}, {"address_key": "one"}):
        with pytest.raises(IntegrityError):
            rules.do(lambda whose=whose: db.session.add(Report(project_id=project, kind="spam", text="", **whose)))


def test_one_of_many_reports_at_once_by_one_caller_is_new(rules: Rules, world: World) -> None:
    project, ada = world.project(), world.user()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: rules.report(project, ada, text=f"Number {n}"), range(8)))
    assert (rules.numbers(), len(rules.events())) == ([(project, 1)], 1)


def test_a_settlement_is_logged_and_mailed_once_and_the_address_is_forgotten(rules: Rules, world: World) -> None:
    project, ada, bob = world.project(title="Lanternfish"), world.user("ada"), world.user("bob")
    for by in (ada, bob, None):
        rules.report(project, by, text="Look.")
    with rules.app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == bob.id).values(notify=False)))
    rules.settle(project, "unfounded", "We looked.")
    rules.settle(project, "unfounded", "Something else.")
    assert code_of(lambda: rules.settle(project, "acted")) == "invalid_transition"
    assert {row[3:] for row in rules.rows()} == {(None, "unfounded")}
    assert rules.mails() == [
        {
            "user": {"id": ada.id, "username": "ada"}, "project": {"id": project, "title": "Lanternfish"},
            "outcome": "unfounded", "reply": "We looked.",
        }
    ]  # fmt: skip
    log = select(
        AuditEntry.actor_id, AuditEntry.project_id, AuditEntry.from_state, AuditEntry.to_state, AuditEntry.reason
    )
    found = rules.do(lambda: db.session.execute(log.where(AuditEntry.action == "report.settled")).all())
    assert [tuple(row) for row in found] == [(rules.reviewer.id, project, "open", "unfounded", "We looked.")]
    [group] = rules.listed("settled")
    assert (group["number"], group["outcome"], group["reply"]) == (3, "unfounded", "We looked.")
    assert rules.listed() == []


def test_a_report_after_a_settlement_is_a_new_one_that_is_settled_by_itself(rules: Rules, world: World) -> None:
    project = world.project()
    rules.report(project, None)
    rules.settle(project, "unfounded")
    rules.report(project, None)
    assert rules.numbers() == [(project, 1)]
    rules.settle(project, "acted", "Now we see it.")
    [group] = rules.listed("settled")
    assert (group["number"], group["outcome"], group["reply"]) == (2, "acted", "Now we see it.")


def test_what_nobody_reported_cannot_be_settled(rules: Rules, world: World) -> None:
    project = world.project()
    for wanted in (project, 10**9):
        with pytest.raises(NotFound):
            rules.settle(wanted, "acted")
        with pytest.raises(NotFound):
            rules.do(lambda wanted=wanted: reports.require_settleable(wanted, by=rules.reviewer))
    rules.report(project, None)
    rules.do(lambda: reports.require_settleable(project, by=rules.reviewer))


@pytest.mark.parametrize(
    ("other", "may"),
    [
        ({"role": "member"}, True),
        ({"role": "reviewer", "review_categories": "games"}, True),
        ({"role": "reviewer", "review_categories": "tools"}, False),
        ({"role": "reviewer", "review_categories": "tools", "status": "suspended"}, True),
        ({"role": "reviewer"}, False),
        ({"role": "admin"}, False),
    ],
)
def test_nobody_settles_reports_about_their_own_project_while_somebody_else_may(
    rules: Rules, world: World, other: dict[str, Any], may: bool
) -> None:
    project, values = world.project(rules.reviewer), dict(other)
    if "review_categories" in other:
        world.category(other["review_categories"])
        values["review_categories"] = world.category_ids(other["review_categories"])
    world.change(world.user(), **values)
    rules.report(project, None)
    tries = [lambda: rules.do(lambda: reports.require_settleable(project, by=rules.reviewer))]
    for attempt in (*tries, lambda: rules.settle(project, "acted")):
        if may:
            attempt()
        else:
            assert code_of(attempt) == "own_submission"


def test_of_sixteen_settlements_at_once_one_is_made(rules: Rules, world: World) -> None:
    project, ada = world.project(), world.user()
    rules.report(project, ada)

    def settle(outcome: str) -> str:
        try:
            rules.settle(project, outcome)
        except DirectoryError as error:
            return error.code
        return outcome

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(settle, ["acted", "unfounded"] * 8))
    won = next(outcome for outcome in found if outcome != "invalid_transition")
    assert sorted(found) == sorted([won] * 8 + ["invalid_transition"] * 8)
    assert [mail["outcome"] for mail in rules.mails()] == [won]


def unpublish(rules: Rules, project: int, owner: Caller) -> None:
    rules.do(lambda: moderation.decide(project, "unpublish", by=rules.reviewer, notify=rules.notify))


def delete_in_bulk(rules: Rules, project: int, owner: Caller) -> None:
    rules.do(lambda: moderation.decide_many("delete", {project: None}, by=rules.reviewer, notify=rules.notify))


def delete_own(rules: Rules, project: int, owner: Caller) -> None:
    rules.do(lambda: submissions.remove(project, by=owner, notify=rules.notify))


def take_down(rules: Rules, project: int, owner: Caller) -> None:
    rules.do(lambda: takedown.take_down(owner.id, by=rules.reviewer, notify=rules.notify, reason=None))


@pytest.mark.parametrize("leave", [unpublish, delete_in_bulk, delete_own, take_down], ids=lambda each: each.__name__)
def test_what_takes_a_project_off_the_directory_settles_its_reports(rules: Rules, world: World, leave: Any) -> None:
    owner, ada, bob = world.user("owner"), world.user("ada"), world.user("bob")
    project = world.project(owner, title="Lanternfish")
    for by in (ada, bob, None):
        rules.report(project, by)
    with rules.app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == bob.id).values(status="suspended")))
    leave(rules, project, owner)
    is_deleted = leave in (delete_in_bulk, delete_own)
    anonymous = [] if is_deleted else [(project, "Lanternfish", None, None, "acted")]
    assert rules.rows() == [(project, "Lanternfish", each.id, None, "acted") for each in (ada, bob)] + anonymous
    assert [(mail["user"]["id"], mail["outcome"], mail.get("reply")) for mail in rules.mails()] == [
        (ada.id, "acted", None)
    ]
    assert (rules.listed(), len(rules.listed("settled"))) == ([], 0 if is_deleted else 1)
    own = rules.do(lambda: reports.own(ada, Window(20))).items
    assert [(each["title"], each["outcome"], each["slug"]) for each in own] == [("Lanternfish", "acted", None)]
    assert own[0]["settled_at"] <= now()
    logged = rules.do(lambda: db.session.scalar(select(func.count()).where(AuditEntry.action == "report.settled")))
    assert logged == 0  # the decision's own entry says it


def test_a_reporter_sees_no_title_that_was_never_public(rules: Rules, world: World) -> None:
    owner, ada = world.user(), world.user()
    project = world.project(owner, title="Lanternfish")
    rules.report(project, ada)
    rules.settle(project, "unfounded")
    unpublish(rules, project, owner)
    changed = {"title": "Not yet public"}
    rules.do(lambda: submissions.edit(project, changed, by=owner, review_on_edit="always", notify=[]))
    titles = lambda: [each["title"] for each in rules.do(lambda: reports.own(ada, Window(20))).items]  # noqa: E731
    assert titles() == ["Lanternfish"]
    rules.do(lambda: moderation.decide(project, "approve", by=None, notify=[]))
    assert titles() == ["Not yet public"]
    unpublish(rules, project, owner)
    rules.do(lambda: submissions.edit(project, {"title": "Later"}, by=owner, review_on_edit="always", notify=[]))
    delete_own(rules, project, owner)
    assert titles() == ["Not yet public"]


def test_reports_of_a_suspended_member_come_back_with_the_account(rules: Rules, world: World) -> None:
    ada, alone, shared = world.user(), world.project(), world.project()
    for project in (alone, shared):
        rules.report(project, ada, text="Look.")
    rules.report(shared, None, "other")

    def become(status: str) -> None:
        rules.do(lambda: administration.administer(ada.id, role=None, status=status, by=None))

    become("suspended")
    assert rules.numbers() == [(shared, 1)]
    assert rules.do(lambda: db.session.scalar(reports.number_open())) == 1
    assert rules.listed()[0]["texts"] == []
    with pytest.raises(NotFound):
        rules.settle(alone, "acted")
    rules.settle(shared, "acted")
    become("active")
    assert rules.numbers() == [(alone, 1), (shared, 1)]  # what was out of sight was not settled


def test_lists_are_complete_filtered_and_paged_whatever_the_order_of_the_reports(rules: Rules, world: World) -> None:
    projects = [world.project(category=category) for category in ("games", "tools", "tools")]
    for number, project in enumerate([projects[1], projects[0], projects[1], projects[2], projects[0]]):
        rules.report(project, None, "spam" if number % 2 else "other", f"Text {number}", key=f"{number}")
    assert rules.numbers() == [(projects[1], 2), (projects[0], 2), (projects[2], 1)]
    assert rules.numbers(kind="spam") == [(projects[0], 1), (projects[2], 1)]
    outside = world.reviewer("tools")
    assert rules.numbers(by=outside) == [(projects[1], 2), (projects[2], 1)]
    with pytest.raises(NotFound):
        rules.settle(projects[0], "acted", by=outside)
    for state in ("open", "settled"):
        whole, seen, window = rules.listed(state), [], Window(1)
        while True:
            found = rules.do(
                lambda window=window, state=state: reports.page(window, by=rules.reviewer, state=state, kind=None)
            )
            seen += found.items
            if found.next is None:
                break
            window = Window(1, page=None, position=found.next)
        assert (seen, len(seen)) == (whole, 3)
        for project in projects if state == "open" else ():
            rules.settle(project, "acted")
    assert [group["project"]["id"] for group in rules.listed("settled")] == projects[::-1]
    assert rules.numbers(state="settled", by=outside) == [(projects[2], 1), (projects[1], 2)]
    assert "reporter" not in rules.listed("settled", by=outside)[0]["texts"][0]


def test_a_list_has_the_newest_texts_alone_in_a_number_of_statements_that_does_not_grow(
    rules: Rules, world: World, statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "TEXTS_MAX", 2)
    costs = []
    for number in range(2):
        project = world.project()
        for text in ("first", "", "second", "third"):
            rules.report(project, None, text=text, key=f"{number}{text}")
        statements.clear()
        assert [text["text"] for text in rules.listed()[-1]["texts"]] == ["third", "second"]
        costs.append(len(statements))
    assert costs[0] == costs[1]


def test_an_address_that_is_not_confirmed_gets_few_mails_of_outcomes(rules: Rules, world: World) -> None:
    ada, bob = world.user(), world.user()
    confirming = update(User).where(User.id == bob.id).values(email_verified_at=now())
    rules.do(lambda: db.session.execute(confirming))
    projects = [world.project() for _ in range(UNCONFIRMED_MAILS + 1)]
    for project in projects:
        for by in (ada, bob):
            rules.report(project, by)
    rules.settle(projects[0], "acted")
    rest = dict.fromkeys(projects[1:])
    rules.do(lambda: moderation.decide_many("unpublish", rest, by=rules.reviewer, notify=rules.notify))
    mailed = [mail["user"]["id"] for mail in rules.mails()]
    assert (mailed.count(ada.id), mailed.count(bob.id)) == (UNCONFIRMED_MAILS, UNCONFIRMED_MAILS + 1)


def test_deleting_the_account_deletes_its_reports(rules: Rules, world: World) -> None:
    ada, live, gone = world.user(), world.project(), world.project()
    for project in (live, gone):
        rules.report(project, ada)
    rules.report(live, None)
    rules.do(lambda: moderation.decide_many("delete", {gone: None}, by=rules.reviewer, notify=[]))
    rules.do(lambda: account_deletion.delete_user(ada.id, by=None, notify=[]))
    assert rules.rows() == [(live, None, None, "k", None)]


def test_settled_reports_of_anonymous_callers_are_deleted_after_a_while(
    rules: Rules, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, ada = world.project(), world.user()
    for by in (ada, None):
        rules.report(project, by)
    rules.settle(project, "acted")
    rules.report(project, None)
    old = update(Report).where(Report.settled_at.is_not(None))
    purge = lambda days, **options: rules.do(  # noqa: E731
        lambda: (
            db.session.execute(old.values(settled_at=now() - timedelta(days=days))),
            kept_reports.purge(10, **options),
        )[1]
    )
    assert purge(kept_reports.KEPT_DAYS - 1) == 0
    monkeypatch.setattr(deleting, "FEW", 0)
    assert purge(kept_reports.KEPT_DAYS + 1, guarded=False) == 1
    assert [row[2:] for row in rules.rows()] == [(ada.id, None, "acted"), (None, "k", None)]


def test_the_gauge_counts_open_reports_and_asks_nothing_while_reports_are_off(
    rules: Rules, world: World, statements: Statements
) -> None:
    rules.report(world.project(), None)
    with rules.app.app_context():
        assert health.ledger(db.engine, None, gauges={"open": routes.open_reports()}).gauges == {"open": [(1,)]}
        statements.clear()
        rules.app.config["REPORTS"] = "off"
        assert health.ledger(db.engine, None, gauges={"open": routes.open_reports()}).gauges == {"open": [(0,)]}
    assert [statement for statement in statements if "reports" in statement] == []


def test_with_reports_off_a_decision_costs_no_statement_more(make_app: Any, world: World, mailbox: Mailbox) -> None:
    mail = {
        "MAIL_URL": f"smtp://127.0.0.1:{mailbox.port}",
        "MAIL_FROM": "d@example.org",
        "SITE_URL": "https://d.example",
    }
    app = make_app(**mail)
    assert "report.settled" not in app.extensions["mail_server"].events
    admin, project = Api(app, world.caller(world.admin()).token), world.project()
    with app.app_context():
        engine = db.engine
    recorded = Statements()
    event.listen(engine, "before_cursor_execute", recorded.note)
    for path in (f"/api/admin/projects/{project}/unpublish", f"/api/admin/projects/{project}/approve"):
        assert admin.put(path).status_code == 200
    event.remove(engine, "before_cursor_execute", recorded.note)
    assert [statement for statement in recorded if "reports" in statement] == []


def sent(app: Flask, mailbox: Mailbox) -> list[Any]:
    """The mails that a deliverer hands in."""
    [server] = [each for each in app.extensions["webhooks"] if each.format == "mail"]
    send_all(delivery_thread(app, server, quick()))
    return sorted(mailbox.taken, key=lambda mail: str(mail.message["Subject"]), reverse=True)


def test_the_mail_has_the_outcome_the_reply_and_the_way_to_switch_it_off(
    make_app: Any, world: World, mailbox: Mailbox
) -> None:
    app = make_app(REPORTS="members", **mailbox.settings)
    rules, ada = Rules(app, World(app)), world.user("ada")
    for outcome, reply in (("unfounded", "We looked.\nTwice."), ("acted", None)):
        project = world.project(title="Lanternfish")
        rules.report(project, ada)
        rules.settle(project, outcome, reply)
    unfounded, acted = sent(app, mailbox)
    assert unfounded.to == ["ada@example.org"]
    assert unfounded.message["Subject"] == "Your report about “Lanternfish” was looked at"
    assert "looked at. The reviewers found no reason to act.\n\nThe reply: We looked.\nTwice.\n\n" in unfounded.text
    assert "/mine?reports=1" in unfounded.text
    assert unfounded.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert acted.message["Subject"] == "Your report about “Lanternfish” was acted on"
    assert "The reply" not in acted.text
    assert "reviewer" not in acted.text


def test_a_reporter_who_switches_mail_off_meanwhile_gets_none(make_app: Any, world: World, mailbox: Mailbox) -> None:
    app = make_app(REPORTS="members", **mailbox.settings)
    rules, ada, project = Rules(app, World(app)), world.user("ada"), world.project()
    rules.report(project, ada)
    rules.settle(project, "acted")
    world.change(ada, notify=False)
    assert sent(app, mailbox) == []
