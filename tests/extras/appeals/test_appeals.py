"""Appeals: who may appeal against what, how an appeal is settled, and what ends it without an outcome."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Review, User, now
from directory.runtime import housekeeping
from directory.services.delivery.schedule import DeliveryPolicy
from tests.extras.appeals.cases import KINDS, TEXT, WORDS, Case
from tests.support.factories import Api, World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all
from tests.support.reviewing import NOTIFYING, outbox

IN_APPEAL = "/api/review/projects?waiting_for=appeal"
NOT_POSSIBLE = (409, "appeal_not_possible")


@pytest.fixture(params=KINDS)
def case(request: Any, make_app: Any) -> Case:
    return Case(make_app(APPEALS="on"), request.param)


def refused(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json.get("code", "")


def test_while_an_appeal_is_open_the_project_waits_for_its_outcome_alone(case: Case) -> None:
    assert case.figures()[2:] == (0, 0, 0)
    answer = case.appeal()
    assert (answer.status_code, answer.json["kind"], answer.json["from"]) == (201, "appeal", "owner")
    assert (answer.json["text"], answer.json["author"]) == (TEXT["text"], None)
    open_, decided = case.shown(), case.decided
    assert open_["review"] == {
        "waiting_for": "appeal", "since": answer.json["at"], "closes_at": None, "held": False, "asked": None,
    }  # fmt: skip
    assert open_["version"] == decided["version"] + 1
    assert {**open_, "version": 0, "review": None} == {**decided, "version": 0, "review": None}
    [mine] = case.owner.get("/api/projects?owner=me").json["items"]
    assert mine["review"] == open_["review"]
    assert "review" not in (Api(case.app).get(f"/api/projects/{case.id}").json)
    assert case.in_list(IN_APPEAL)
    assert case.in_list(f"{IN_APPEAL}&category={case.decided['category']['slug']}&q=project")
    for word in ("waiting=true", "waiting_for=review", "waiting_for=owner", "waiting_for=appeal&waiting=true"):
        assert not case.in_list(f"/api/review/projects?{word}")
    assert case.figures() == (0, 0, 1, 0, 0)
    with case.app.app_context():  # nothing closes
        late = update(Review).where(Review.turn == "appeal").values(place=now() - timedelta(days=400))
        transaction(lambda: db.session.execute(late))
    housekeeping.tidy(case.app, DeliveryPolicy())
    assert case.shown()["review"] == open_["review"]
    assert refused(case.appeal()) == NOT_POSSIBLE
    again = {"text": "Look.", "resubmit": True}
    assert refused(case.owner.post(f"/api/projects/{case.id}/messages", again)) == (409, "invalid_transition")


def test_a_reversal_undoes_the_decision(case: Case) -> None:
    later = case.world.project(status="pending")
    votes = case.shown()["upvotes"]
    case.appeal()
    answer = case.settle("reversed")
    assert answer.status_code == 200
    project = case.shown()
    assert (answer.json["review"], answer.json["rejection_reason"]) == (case.before["review"], None)
    kept = ["status", "review", "revision", "rejection_reason", "title", "published_at"]
    kept += [] if case.kind == "unpublished" else ["submitted_at"]
    assert {name: project[name] for name in kept} == {name: case.before[name] for name in kept}
    assert project["upvotes"] == votes
    waiting = [item["id"] for item in case.root.get("/api/admin/projects?waiting=true").json["items"]]
    assert waiting == ([later] if case.kind == "unpublished" else [case.id, later])
    assert case.thread()[-2:] == [
        ("owner", "appeal", TEXT["text"]), ("reviewers", "appeal_reversed", WORDS["reversed"]),
    ]  # fmt: skip
    assert case.actions() == ["project.appeal_reversed", "project.appealed"]
    events = [each["event"] for each in case.owner.get(f"/api/projects/{case.id}/timeline").json["items"]]
    assert events[-2:] == ["appealed", "appeal_reversed"]
    assert case.figures() == (0, len(waiting), 0, 0, 1)
    assert case.settle("reversed").json == answer.json  # a lost answer
    assert refused(case.settle("upheld")) == (409, "invalid_transition")
    assert refused(case.appeal()) == NOT_POSSIBLE
    assert case.actions() == ["project.appeal_reversed", "project.appealed"]
    if case.kind == "revision":  # what waits again is what was sent
        assert case.root.put(f"/api/admin/projects/{case.id}/approve").json["title"] == "Another title"
        assert case.shown()["category"]["slug"] == "web"


def test_an_upheld_decision_stays(case: Case) -> None:
    case.appeal()
    answer = case.settle("upheld")
    assert answer.status_code == 200
    project = case.shown()
    kept = ("status", "submitted_at", "revision", "rejection_reason")
    assert {name: project[name] for name in kept} == {name: case.decided[name] for name in kept}
    waits, before = project["review"], case.decided["review"]
    if case.kind == "unpublished":  # it waits for its owner, from now on
        assert waits["waiting_for"] == "owner"
        assert (waits["since"] > before["since"], waits["closes_at"] > before["closes_at"]) == (True, True)
    else:
        assert waits is None
    assert case.thread()[-1] == ("reviewers", "appeal_upheld", WORDS["upheld"])
    assert case.figures() == (int(case.kind == "unpublished"), 0, 0, 1, 0)
    assert case.settle("upheld").json == answer.json
    assert refused(case.settle("reversed")) == (409, "invalid_transition")
    assert refused(case.appeal()) == NOT_POSSIBLE
    assert not case.in_list(IN_APPEAL)
    edited = case.owner.put(f"/api/projects/{case.id}", {"description": "MIT.", "title": "A third title"})
    assert (edited.status_code, edited.json["review"]["waiting_for"]) == (200, "review")
    assert "service" not in {sender for sender, *_ in case.thread()[1:]}


@pytest.mark.parametrize("what", ["edit", "withdraw", "approve", "reject", "request-changes", "unpublish", "suspend"])
def test_what_overtakes_an_appeal_ends_it_without_an_outcome(case: Case, what: str) -> None:
    """A decision that is not possible in the state leaves the appeal open."""
    case.appeal()
    at_admin = f"/api/admin/projects/{case.id}"
    words = {"request-changes": {"message": "Which licence?"}}
    if what == "edit":
        answer = case.owner.put(f"/api/projects/{case.id}", {"tags": ["mit"]})
    elif what == "withdraw":
        answer = case.owner.delete(f"/api/projects/{case.id}/revision")
    elif what == "suspend":
        body = {"status": "suspended", "unpublish": True, "reason": "Spam."}
        answer = case.root.put(f"/api/admin/users/{case.ada.id}", body)
        case.root.put(f"/api/admin/users/{case.ada.id}", {"status": "active"})
        case.owner = case.world.caller(case.ada)
    else:
        answer = case.root.put(f"{at_admin}/{what}", words.get(what))
    happens = {
        "rejected": {"edit"}, "revision": {"edit", "withdraw", "unpublish", "suspend"},
        "unpublished": {"edit", "approve", "reject", "request-changes", "suspend"},
    }  # fmt: skip
    if what not in happens[case.kind]:  # a repeated decision is 200 and changes nothing
        assert answer.status_code in {200, 404, 409}
        assert case.shown()["review"]["waiting_for"] == "appeal"
        assert case.settle("upheld").status_code == 200
        return
    assert answer.status_code in {200, 204}
    assert (case.shown()["review"] or {}).get("waiting_for") != "appeal"
    ends = case.ends()
    cause = {"edit": "edited", "withdraw": "withdrawn"}.get(what, "another decision")
    assert len(ends) == 1
    assert cause in ends[0]
    assert case.figures()[2:] == (0, 0, 0)
    assert refused(case.settle("reversed")) == (409, "invalid_transition")
    if what in {"reject", "suspend", "unpublish"}:  # which can be appealed against
        assert case.appeal().status_code == 201
    else:
        assert refused(case.appeal()) == NOT_POSSIBLE


def test_an_administrators_edit_leaves_an_appeal_open(case: Case) -> None:
    case.appeal()
    assert case.root.put(f"/api/projects/{case.id}", {"tagline": "By an administrator"}).status_code == 200
    assert case.shown()["review"]["waiting_for"] == "appeal"
    assert case.settle("reversed").status_code == 200
    assert case.owner.delete(f"/api/projects/{case.id}").status_code == 204


def test_a_decision_is_appealed_against_once_in_time_and_not_after_the_owner_has_gone_on(case: Case) -> None:
    with case.app.app_context():
        back = update(Review).where(Review.project_id == case.id, Review.is_current)
        transaction(lambda: db.session.execute(back.values(decided_at=now() - timedelta(days=180))))
    assert refused(case.appeal()) == NOT_POSSIBLE
    with case.app.app_context():
        nearly = now() - timedelta(days=179, hours=23)
        transaction(lambda: db.session.execute(back.values(decided_at=nearly)))
    assert case.owner.put(f"/api/projects/{case.id}", {"description": "MIT."}).status_code == 200
    assert refused(case.appeal()) == NOT_POSSIBLE
    approved = case.root.put(f"/api/admin/projects/{case.id}/approve")
    assert approved.json["status"] == "live"
    assert refused(case.appeal()) == NOT_POSSIBLE
    case.root.put(f"/api/admin/projects/{case.id}/unpublish")
    assert case.appeal().status_code == 201  # another decision
    assert case.actions() == ["project.appealed"]


def test_a_message_that_gives_back_overtakes_an_unpublishing(make_app: Any) -> None:
    case = Case(make_app(APPEALS="on"), "unpublished")
    case.owner.post(f"/api/projects/{case.id}/messages", {"text": "Look.", "resubmit": True})
    assert refused(case.appeal()) == NOT_POSSIBLE


@pytest.mark.parametrize("kind", ["rejected", "unpublished"])
def test_after_a_further_decision_of_who_has_settled_it_there_is_no_open_appeal(make_app: Any, kind: str) -> None:
    case = Case(make_app(APPEALS="on"), kind)
    assert refused(case.settle("upheld", case.root)) == (409, "invalid_transition")  # and not their own decision
    case.appeal()
    outcome = "upheld" if kind == "unpublished" else "reversed"
    assert case.settle(outcome).status_code == 200
    assert case.settle(outcome).status_code == 200
    assert case.eve.put(f"/api/review/projects/{case.id}/reject", {"reason": "Spam."}).status_code == 200
    for again in ("upheld", "reversed"):
        assert refused(case.settle(again)) == (409, "invalid_transition")


# --- Who may ---------------------------------------------------------------------------------------------------------


def test_the_owner_alone_appeals_and_another_reviewer_settles(case: Case) -> None:
    world, other = case.world, World(case.app)
    stranger, elsewhere = world.caller(world.user()), world.caller(other.reviewer(other.category("games")))
    hidden = {Api(case.app): 401, stranger: 404, case.root: 404, case.eve: 404}
    assert {by: case.appeal({"wrong": 1}, by).status_code for by in hidden} == hidden
    case.appeal()
    for by, code in ((Api(case.app), 401), (stranger, 403), (case.owner, 403), (elsewhere, 404)):
        assert case.settle("reversed", by).status_code == code
    assert refused(case.settle("reversed", case.root)) == (403, "own_decision")
    seen = {"If-Match": f'"{case.decided["version"]}"'}
    assert case.settle("upheld", headers=seen).status_code == 412
    world.change(case.judge, status="suspended")
    assert case.settle("upheld", case.root).status_code == 200  # nobody else may


def test_what_nobody_has_decided_anybody_may_settle(make_app: Any) -> None:
    case = Case(make_app(APPEALS="on"), "unpublished")
    with case.app.app_context():
        due = update(Review).values(until=now() - timedelta(days=1), since=now() - timedelta(days=31))
        transaction(lambda: db.session.execute(due.where(Review.project_id == case.id, Review.is_current)))
    housekeeping.tidy(case.app, DeliveryPolicy())
    assert case.shown()["status"] == "rejected"
    case.appeal()
    answer = case.settle("reversed", case.root)
    assert (answer.status_code, answer.json["status"], answer.json["review"]["waiting_for"]) == (
        200,
        "pending",
        "review",
    )


def test_where_nobody_reviews_their_own_they_do_not_settle_it_either(make_app: Any) -> None:
    case = Case(make_app(APPEALS="on", SELF_REVIEW="refuse"), "rejected")
    case.appeal()
    case.world.make_reviewer(case.ada)
    path = f"/api/review/projects/{case.id}/appeal"
    assert refused(case.owner.put(path, {"wrong": 1})) == (403, "own_submission")
    case.world.change(case.judge, status="suspended")
    assert case.settle("upheld", case.root).status_code == 200  # the owner is nobody else


@pytest.mark.parametrize("kind", ["rejected", "unpublished"])
def test_one_person_settles_where_several_have_to_approve(make_app: Any, kind: str) -> None:
    case = Case(make_app(APPEALS="on", APPROVALS_REQUIRED="2"), kind)
    case.appeal()
    path = f"/api/review/projects/{case.id}/approve"
    if kind == "unpublished":  # an approval that is not the last decides nothing
        first = case.eve.put(path).json
        assert ([each["user"]["id"] for each in first["approvals"]["given"]]) == [case.judge.id]
        assert case.shown()["review"]["waiting_for"] == "appeal"
    reversed_ = case.settle("reversed").json
    if kind == "unpublished":
        assert reversed_["status"] == "live"
        return
    assert reversed_["approvals"] == {"required": 2, "given": []}
    assert case.eve.put(path).json["status"] == "pending"
    assert case.root.put(path).json["status"] == "live"


def test_the_last_approval_overtakes_an_appeal(make_app: Any) -> None:
    case = Case(make_app(APPEALS="on", APPROVALS_REQUIRED="2"), "unpublished")
    case.appeal()
    for by in (case.eve, case.root):
        by.put(f"/api/review/projects/{case.id}/approve")
    assert (case.shown()["status"], case.shown()["review"]) == ("live", None)
    assert [sender for sender, *_ in case.thread()][-2:] == ["service", "reviewers"]
    assert refused(case.settle("reversed")) == (409, "invalid_transition")


def test_without_the_setting_nobody_appeals_and_open_appeals_can_be_settled(make_app: Any) -> None:
    off = Case(make_app(), "rejected")
    assert refused(off.appeal()) == NOT_POSSIBLE
    assert off.appeal({"wrong": 1}, off.eve).status_code == 404
    assert refused(off.settle("upheld")) == NOT_POSSIBLE
    case = Case(make_app(APPEALS="on"), "rejected")
    case.appeal()
    later = Api(make_app(), case.eve.token)
    assert case.settle("reversed", later).json["status"] == "pending"


@pytest.mark.parametrize("text", ["", " ", "x" * 4001, 1, None])
def test_an_appeal_and_its_outcome_have_words(make_app: Any, text: Any) -> None:
    case = Case(make_app(APPEALS="on"), "rejected")
    assert case.appeal({"text": text}).status_code == 422
    assert case.appeal({"text": "x" * 4000}).status_code == 201
    path = f"/api/review/projects/{case.id}/appeal"
    for wrong in ({"outcome": "upheld"}, {"reason": "x"}, {"outcome": "x", "reason": "x"}):
        assert case.eve.put(path, wrong).status_code == 422
    assert case.eve.put(path, {"outcome": "upheld", "reason": text and "x" * 2001}).status_code == 422
    assert case.eve.put(path, {"outcome": "upheld", "reason": "x" * 2000}).status_code == 200


def test_appeals_are_limited_with_messages_and_need_a_confirmed_address(make_app: Any) -> None:
    limited = Case(make_app(APPEALS="on", RATELIMIT_ENABLED="true", RATELIMIT_MESSAGES="1 per hour"), "rejected")
    codes = [limited.appeal().status_code, limited.appeal().status_code]
    assert codes == [201, 429]
    mail = {"MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "a@example.org", "SITE_URL": "http://localhost"}
    unconfirmed = Case(make_app(APPEALS="on", REQUIRE_VERIFIED_EMAIL="submit", **mail), "unpublished")
    assert refused(unconfirmed.appeal()) == (403, "email_not_verified")


# --- Webhooks, mail and accounts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rejected", "unpublished"])
def test_webhooks_learn_of_appeals_and_of_what_is_live_again(make_app: Any, kind: str) -> None:
    case = Case(make_app(APPEALS="on", **NOTIFYING), kind)
    entry = case.appeal().json["id"]
    case.settle("reversed")
    appealed, *rest = [
        each for each in outbox(case.app) if each["type"] not in {"project.rejected", "project.unpublished"}
    ]
    assert (appealed["type"], appealed["data"]["message_id"]) == ("project.appealed", entry)
    assert appealed["data"]["appealed_by"]["id"] == case.ada.id
    live = [(each["type"], each["data"]["approved_by"]["id"]) for each in rest]
    assert live == ([("project.approved", case.judge.id)] if kind == "unpublished" else [])
    assert not any(text in json.dumps(outbox(case.app)) for text in (TEXT["text"], WORDS["reversed"]))


@pytest.mark.parametrize("outcome", ["upheld", "reversed"])
def test_the_owner_gets_one_mail_with_the_outcome_and_the_reason(make_app: Any, outcome: str) -> None:
    with Mailbox() as mailbox:
        app = make_app(APPEALS="on", **mailbox.settings)
        case = Case(app, "unpublished")
        with app.app_context():
            transaction(lambda: db.session.execute(update(User).values(email_verified_at=now())))
        case.appeal()
        case.settle(outcome)
        [server] = app.extensions["webhooks"]
        send_all(delivery_thread(app, server, quick()))
        [mail] = [each for each in mailbox.taken if "appeal" in each.text]
    assert WORDS[outcome] in mail.text
    assert f"/mine/{case.id}" in mail.text
    assert ("was reversed" in mail.text) is (outcome == "reversed")


def test_a_deleted_account_takes_its_appeal_along(make_app: Any) -> None:
    case = Case(make_app(APPEALS="on"), "revision")
    other = Case(case.app, "revision")
    case.appeal()
    other.appeal()
    exported = case.owner.get("/api/auth/me/export").json["messages"]
    assert [each["text"] for each in exported if each["kind"] == "appeal"] == [TEXT["text"]]
    assert case.root.delete(f"/api/admin/users/{case.ada.id}").status_code == 204
    thread = case.eve.get(f"/api/review/projects/{case.id}/messages").json["items"]
    assert [each["text"] for each in thread if each["kind"] == "appeal"] == [""]
    assert (thread[-1]["from"], "withdrawn" in thread[-1]["text"]) == ("service", True)
    assert case.figures()[2:] == (1, 0, 0)
    assert not case.in_list(IN_APPEAL)
    assert other.in_list(IN_APPEAL)
    assert other.ends() == []


def test_a_category_that_is_gone_is_left_out_of_changes_that_wait_again(make_app: Any) -> None:
    case = Case(make_app(APPEALS="on"), "revision")
    case.appeal()
    assert case.root.delete("/api/admin/categories/web").status_code == 204
    assert case.settle("reversed").json["revision"]["changes"] == {"title": "Another title"}


def test_an_open_appeal_can_be_settled_and_its_outcome_repeated_after_appeals_are_off(
    make_app: Any, world: World
) -> None:
    ada, judge = world.user("ada"), world.reviewer()
    project = world.project(ada, "rejected")
    on, off = make_app(APPEALS="on"), make_app(APPEALS="off")
    assert Api(on, world.caller(ada).token).post(f"/api/projects/{project}/appeal", {"text": "So."}).status_code == 201
    reviewer, path = Api(off, world.caller(judge).token), f"/api/review/projects/{project}/appeal"
    assert reviewer.put(path, {"wrong": 1}).status_code == 422
    for _ in range(2):
        assert reviewer.put(path, {"outcome": "reversed", "reason": "Seen."}).status_code == 200
    assert reviewer.put("/api/review/projects/999/appeal", {"wrong": 1}).status_code == 404


def test_open_appeals_are_counted_until_their_outcome(make_app: Any) -> None:
    case = Case(make_app(METRICS_ENABLED="true", APPEALS="on"), "rejected")
    for step, number in ((lambda: case.root.get("/healthz"), 0), (case.appeal, 1), (lambda: case.settle("upheld"), 0)):
        assert step().status_code < 300
        assert f"directory_appeals_open {number}.0" in Api(case.app).get("/metrics").text
