"""What a rule holds out of the queue, or rejects: where it is shown, what ends a hold, and what the log says."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select, update

from directory.db.transactions import transaction
from directory.errors import OwnSubmission
from directory.extensions import db
from directory.models import AuditEntry, Project, Review, RuleAction, now
from directory.runtime import housekeeping
from directory.services import health
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.identity import Caller
from directory.services.review import holding, moderation
from directory.services.review.case import Terms, advance, current, flush
from directory.services.review.steps import Act, Stage
from tests.support.factories import Api, World
from tests.support.reviewing import NOTIFYING, outbox

QUEUE = "/api/review/projects?waiting=true"
HELD = "/api/review/projects?held=true"
REASON = "It looks generated."


def hold(app: Flask, project_id: int) -> None:
    """What a rule does within the transaction of a submission or an edit."""

    def work() -> None:
        case = current(db.session.get_one(Project, project_id))
        if case.stage is Stage.QUEUED:
            advance(case, Act.HOLD, by=None, at=now())
            flush([case])

    with app.app_context():
        transaction(work)


def reject(app: Flask, project_id: int, rule_id: int = 7) -> None:
    """The same by a rule that rejects."""
    with app.app_context():
        given: Any = {"notify": app.extensions["webhooks"], "terms": Terms(REASON, rule_id=rule_id)}
        transaction(lambda: moderation.decide_by_nobody("reject", [project_id], **given))


def listed(caller: Api, path: str) -> list[int]:
    answer = caller.get(path).json
    assert answer["pagination"]["total"] == len(answer["items"])
    return [each["id"] for each in answer["items"]]


def shown(caller: Api, project: int) -> Any:
    return caller.get(f"/api/projects/{project}").json


def logged(app: Flask, project: int) -> list[tuple[str, int | None]]:
    """The decisions about a project, each with the id of who made it."""
    with app.app_context():
        found = select(AuditEntry.action, AuditEntry.actor_id).where(AuditEntry.project_id == project)
        entries = list(db.session.execute(found.order_by(AuditEntry.id)))
    return [(action.removeprefix("project."), actor) for action, actor in entries if action in DECIDED]


DECIDED = {f"project.{word}" for word in ("released", "rejected", "edit_rejected", "approved", "edit_approved")}


def test_what_is_held_is_in_no_number_and_no_list_of_the_queue(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    owner, before, later = world.caller(ada), shown(admin, item), world.project(status="pending")
    assert listed(admin, QUEUE) == [item, later]
    hold(app, item)
    held = shown(owner, item)
    assert held == shown(admin, item) | {"has_upvoted": False} == before | {
        "has_upvoted": False, "queue_position": None, "review": {**before["review"], "held": True},
    }  # fmt: skip
    [mine] = [each for each in owner.get("/api/projects?owner=me").json["items"] if each["id"] == item]
    assert (mine["review"], mine["queue_position"]) == (held["review"], None)
    assert shown(admin, later)["queue_position"] == 1
    for query in ("", "&category=tools", "&q=project", "&first_time=true", "&sort=upvotes"):
        assert item not in listed(admin, f"{QUEUE}{query}"), query
    for path in (QUEUE, "/api/review/projects?waiting_for=review", f"{QUEUE}&category=tools"):
        assert listed(admin, path) == [later]
    kind = "submission" if before["status"] == "pending" else "revision"
    for query in ("", "&category=tools", "&q=project", f"&status={before['status']}", f"&kind={kind}", "&sort=newest"):
        assert listed(admin, f"{HELD}{query}") == [item], query
    for query in ("&waiting=true", "&waiting_for=owner", "&waiting_for=review", "&category=games"):
        assert listed(admin, f"{HELD}{query}") == [], query
    assert admin.get("/api/review/projects?held=false").status_code == 422
    figures = admin.get("/api/admin/analytics").json["review"]
    alone = shown(admin, later)["submitted_at"]
    assert (figures["queue_length"], figures["oldest_submitted_at"]) == (1, alone)
    summary = admin.get("/api/review/summary").json
    assert (summary["queue_length"], summary["oldest_submitted_at"]) == (1, alone)
    admin.put(f"/api/review/projects/{later}/approve")
    with app.app_context():
        ledger = health.ledger(db.engine, None)
    assert (ledger.pending, ledger.pending_since) == (0, None)
    assert admin.get("/api/review/summary").json["queue_length"] == 0


def test_a_release_puts_it_back_at_its_place_and_one_of_what_is_not_held_changes_nothing(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    before, later = shown(admin, item), world.project(status="pending")
    hold(app, item)
    path = f"/api/review/projects/{item}/release"
    assert [admin.put(path).json for _ in range(2)] == [{**before, "approvals": None}] * 2
    assert listed(admin, QUEUE) == [item, later]
    root = admin.get("/api/session").json["user"]["id"]
    assert logged(app, item)[-1] == ("released", root)
    assert logged(app, item).count(("released", root)) == 1
    [entry, *_] = admin.get(f"/api/admin/audit?action=project.released&project_id={item}").json["items"]
    assert (entry["from"], entry["to"], entry["rule_id"]) == (before["status"], before["status"], None)
    assert admin.put(f"/api/review/projects/{world.project()}/release").json["review"] is None
    assert admin.put("/api/review/projects/999/release").status_code == 404
    assert world.caller(ada).put(path).status_code == 403


def test_reviewers_release_in_their_categories_and_not_their_own_where_that_is_refused(
    app: Flask, make_app: Callable[..., Flask], world: World
) -> None:
    for category in ("tools", "games"):
        world.category(category)
    inside, outside = world.reviewer("tools"), world.reviewer("games")
    own = world.project(inside, "pending")
    hold(app, own)
    path = f"/api/review/projects/{own}/release"
    assert world.caller(outside).put(path).status_code == 404
    refusing = make_app(SELF_REVIEW="refuse")
    answer = Api(refusing, world.caller(inside).token).put(path)
    assert (answer.status_code, answer.json["code"]) == (403, "own_submission")
    with app.app_context(), pytest.raises(OwnSubmission):  # the service says so by itself
        transaction(lambda: holding.release(own, by=inside, notify=[], self_review="refuse"))
    assert world.caller(inside).put(path).status_code == 200


@pytest.mark.parametrize("decision", ["approve", "reject", "request-changes"])
def test_a_decision_ends_a_hold_and_its_wait_is_in_no_number(
    app: Flask, world: World, admin: Api, item: int, decision: str
) -> None:
    hold(app, item)
    body = {"message": "Which licence?"} if decision == "request-changes" else None
    assert admin.put(f"/api/review/projects/{item}/{decision}", body).status_code == 200
    assert listed(admin, HELD) == []
    with app.app_context():
        assert db.session.scalars(select(Review.turn).where(Review.turn == "rule")).all() == []
        newest = select(AuditEntry.waited_seconds).order_by(AuditEntry.id.desc()).limit(1)
        assert db.session.scalars(newest).one() is None


def test_a_suspension_that_takes_down_ends_a_hold(app: Flask, world: World, admin: Api, ada: Caller, item: int) -> None:
    hold(app, item)
    assert admin.put(f"/api/admin/users/{ada.id}", {"status": "suspended", "unpublish": True}).status_code == 200
    assert listed(admin, HELD) == []
    with app.app_context():
        assert db.session.scalars(select(Review.turn).where(Review.turn.is_not(None))).all() == []


def test_the_first_of_two_approvals_ends_a_hold(
    app: Flask, make_app: Callable[..., Flask], world: World, admin: Api, item: int
) -> None:
    two = Api(make_app(APPROVALS_REQUIRED="2"), admin.token)
    hold(app, item)
    answer = two.put(f"/api/review/projects/{item}/approve").json
    assert (len(answer["approvals"]["given"]), answer["review"]["held"]) == (1, False)
    assert listed(admin, QUEUE) == [item]


def test_an_edit_by_its_owner_neither_ends_a_hold_nor_makes_it_longer(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    hold(app, item)
    until = world.case(item).until
    assert until - now() > timedelta(days=13, hours=23)
    world.caller(ada).put(f"/api/projects/{item}", {"title": "Third"})
    hold(app, item)
    assert world.case(item).until == until
    assert listed(admin, HELD) == [item]


def test_an_edit_that_a_rule_holds_and_its_owner_keeps_is_held_once_it_is_given_back(
    world: World, admin: Api, ada: Caller, item: int
) -> None:
    words = [{"fact": "words", "is": "in", "value": ["casino"]}]
    world.rule(judges=["submission", "edit"], conditions=words, effect="hold", state="on")
    owner = world.caller(ada)
    admin.put(f"/api/review/projects/{item}/request-changes", {"message": "Which licence?"})
    owner.put(f"/api/projects/{item}", {"description": "The best casino.", "give_back": False})
    assert listed(admin, HELD) == []
    owner.post(f"/api/projects/{item}/messages", {"text": "The MIT licence.", "resubmit": True})
    assert listed(admin, HELD) == [item]
    assert listed(admin, QUEUE) == []


def test_after_fourteen_days_housekeeping_releases_it_in_portions(
    app: Flask, world: World, admin: Api, ada: Caller, item: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, fresh = world.project(ada, "pending"), world.project(ada, "pending")
    for each in (item, other, fresh):
        hold(app, each)
    assert housekeeping.tidy(app, DeliveryPolicy()) is False
    assert len(listed(admin, HELD)) == 3

    def age() -> None:
        aging = update(Review).where(Review.project_id.in_([item, other]), Review.turn == "rule")
        db.session.execute(aging.values(until=now() - timedelta(seconds=1)))

    with app.app_context():
        transaction(age)
    monkeypatch.setattr(housekeeping, "AT_ONCE", 1)
    assert [housekeeping.tidy(app, DeliveryPolicy()) for _ in range(3)] == [True, True, False]
    assert (listed(admin, HELD), listed(admin, QUEUE)) == ([fresh], [item, other])
    assert logged(app, item)[-1] == logged(app, other)[-1] == ("released", None)


# --- What a rule rejects ----------------------------------------------------------------------------------------------


def test_what_a_rule_rejects_was_decided_by_nobody_and_its_owner_may_send_it_again(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    owner, before = world.caller(ada), shown(world.caller(ada), item)
    hold(app, item)
    reject(app, item)
    after, is_live = shown(owner, item), before["status"] == "live"
    note = after["revision"] if is_live else {"reason": after["rejection_reason"], "rejected": {}}
    assert (after["status"], note["reason"]) == ("live" if is_live else "rejected", REASON)
    assert after["version"] == before["version"] + 1
    [entry] = admin.get(f"/api/admin/audit?project_id={item}&limit=1").json["items"]
    assert (entry["action"], entry["actor"]) == ("project.edit_rejected" if is_live else "project.rejected", None)
    assert (entry["rule_id"], entry["reason"]) == (7, REASON)
    [last] = owner.get(f"/api/projects/{item}/messages").json["items"][-1:]
    assert (last["from"], last["kind"], last["text"]) == ("service", "rejected", REASON)
    figures = admin.get("/api/admin/analytics").json
    assert figures["series"][-1]["rejections"] == (0 if is_live else 1)
    assert (figures["review"]["median_seconds_to_decision"], figures["review"]["approval_rate"]) == (None, None)
    assert figures["reviewers"] == []
    assert owner.put(f"/api/projects/{item}", {"title": "Third"}).status_code == 200
    assert listed(admin, QUEUE) == [item]


@pytest.mark.extra("appeals")
def test_the_owner_answers_and_appeals_against_a_rejection_by_a_rule(make_app: Callable[..., Flask]) -> None:
    app = make_app(APPEALS="on")
    world = World(app)
    ada, admin = world.user("ada"), world.caller(world.admin())
    owner, project = world.caller(ada), world.project(ada, "pending")
    reject(app, project)
    assert owner.post(f"/api/projects/{project}/messages", {"text": "I wrote it."}).status_code == 201
    assert owner.post(f"/api/projects/{project}/appeal", {"text": "No machine wrote it."}).status_code == 201
    settled = admin.put(f"/api/review/projects/{project}/appeal", {"outcome": "reversed", "reason": "You are right."})
    assert (settled.status_code, shown(admin, project)["status"]) == (200, "pending")


def test_decisions_by_nobody_change_no_rate_and_no_median(app: Flask, world: World, admin: Api) -> None:
    approved, rejected, by_rule = (world.project(status="pending") for _ in range(3))
    with app.app_context():
        aging = update(Review).values(place=now() - timedelta(hours=1))
        transaction(lambda: db.session.execute(aging))
    admin.put(f"/api/review/projects/{approved}/approve")
    admin.put(f"/api/review/projects/{rejected}/reject")
    before = admin.get("/api/admin/analytics").json
    reject(app, by_rule)
    after = admin.get("/api/admin/analytics").json
    assert before["review"]["approval_rate"] == after["review"]["approval_rate"] == 0.5
    median = "median_seconds_to_decision"
    assert before["review"][median] == after["review"][median] > 3_000
    assert before["reviewers"] == after["reviewers"]


def test_webhooks_and_the_owner_by_mail_learn_of_a_rejection_by_a_rule(make_app: Callable[..., Flask]) -> None:
    mail = {"MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "a@example.org", "SITE_URL": "http://localhost"}
    app = make_app(**NOTIFYING, **mail)
    reject(app, World(app).project(status="pending"))
    mailed, sent = outbox(app)
    assert mailed == sent
    assert (sent["type"], sent["data"]["rejected_by"], sent["data"]["reason"]) == ("project.rejected", None, REASON)


# --- Marks ------------------------------------------------------------------------------------------------------------


def test_an_item_names_the_rules_that_matched_what_waits_whatever_they_did(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    revised, earlier = shown(admin, item)["status"] == "live", now() - timedelta(days=1)
    notes = [
        ("Links", revised, now()),
        ("Ban", revised, now()),
        ("Old", revised, earlier),
        ("Other", not revised, now()),
    ]
    facts = {"rule_id": 1, "project_id": item, "acted": False, "effect": "mark", "version": 1}
    rows = [{**facts, "rule_name": name, "of_revision": of, "at": at} for name, of, at in notes]

    with app.app_context():
        transaction(lambda: db.session.execute(insert(RuleAction), rows * 2))
    marked = ["rule:Ban", "rule:Links"]
    [listed] = admin.get(QUEUE).json["items"]
    assert listed["warnings"] == admin.get(f"/api/review/projects/{item}").json["warnings"] == marked
    admin.put(f"/api/admin/users/{ada.id}", {"status": "suspended"})
    assert admin.get(f"/api/review/projects/{item}").json["warnings"] == ["owner_suspended", *marked]
