"""Requests for changes: what waits for its owner, how it comes back, and what nobody answers."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, update

from directory.db.transactions import transaction
from directory.errors import NotFound
from directory.extensions import db
from directory.models import AuditEntry, Message, Project, Review, User, now
from directory.runtime import housekeeping
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.identity import Caller
from directory.services.review import conversation, deadlines, moderation
from tests.support.factories import Api, World
from tests.support.mailbox import Mailbox
from tests.support.outbox import delivery_thread, quick, send_all
from tests.support.reviewing import NOTIFYING, decisions, last_wait, outbox, put_back

QUEUE = "/api/admin/projects?waiting=true"
WITH_OWNER = "/api/admin/projects?waiting_for=owner"
MISSING = "Which licence does it have?"


def ask(admin: Api, project: int, message: str = MISSING, **options: Any) -> Any:
    return admin.put(f"/api/admin/projects/{project}/request-changes", {"message": message}, **options)


def listed(admin: Api, path: str) -> list[int]:
    answer = admin.get(path).json
    assert answer["pagination"]["total"] == len(answer["items"])
    return [each["id"] for each in answer["items"]]


def shown(caller: Api, project: int) -> Any:
    return caller.get(f"/api/projects/{project}").json


def turn(caller: Api, project: int) -> Any:
    """`review` of a project, which a list shows as well."""
    alone = shown(caller, project)["review"]
    in_list = [p["review"] for p in caller.get("/api/projects?owner=me").json["items"] if p["id"] == project]
    assert in_list in ([], [alone])
    return alone


def since(project: Any) -> Any:
    """Since when a project, or its revision, waits for review."""
    return (project["revision"] or project)["submitted_at"]


def give_back(owner: Api, project: int) -> None:
    answer = owner.post(f"/api/projects/{project}/messages", {"text": "MIT.", "resubmit": True})
    assert answer.status_code == 201


def test_what_changes_are_asked_of_waits_for_its_owner(world: World, admin: Api, ada: Caller, item: int) -> None:
    owner, before = world.caller(ada), shown(admin, item)
    since_then = {"since": since(before), "closes_at": None, "held": False, "asked": None}
    assert before["review"] == {"waiting_for": "review", **since_then}
    answer = ask(admin, item)
    assert (answer.status_code, answer.json["status"]) == (200, before["status"])
    assert answer.json["version"] == before["version"] + 1
    waits = turn(owner, item)
    assert waits == answer.json["review"]
    assert (waits["waiting_for"], waits["held"], waits["asked"]) == ("owner", False, "changes_requested")
    assert waits["closes_at"][:10] == (now() + timedelta(days=30)).date().isoformat()
    assert waits["since"] > since(before)
    assert "review" not in shown(world.caller(world.user()), item)
    assert listed(admin, QUEUE) == listed(admin, "/api/admin/projects?waiting_for=review") == []
    assert listed(admin, WITH_OWNER) == listed(admin, f"{WITH_OWNER}&category=tools&q=project") == [item]
    assert listed(admin, f"{WITH_OWNER}&waiting=true") == []
    assert shown(owner, item)["queue_position"] is None
    [mine] = [p for p in owner.get("/api/projects?owner=me").json["items"] if p["id"] == item]
    assert mine["queue_position"] is None
    figures = admin.get("/api/admin/analytics").json["review"]
    assert (figures["queue_length"], figures["oldest_submitted_at"]) == (0, None)
    entry = owner.get(f"/api/projects/{item}/messages").json["items"][-1]
    assert (entry["from"], entry["kind"], entry["text"]) == ("reviewers", "changes_requested", MISSING)


def test_an_edit_that_changes_something_gives_it_back_to_its_place(
    world: World, admin: Api, ada: Caller, item: int
) -> None:
    owner, later = world.caller(ada), world.project(status="pending")
    before = shown(owner, item)
    ask(admin, item)
    owner.put(f"/api/projects/{item}", {"tagline": shown(owner, item)["tagline"]})  # changes nothing
    admin.put(f"/api/projects/{item}", {"tagline": "By an administrator"})
    assert turn(owner, item)["waiting_for"] == "owner"
    assert owner.put(f"/api/projects/{item}", {"description": "MIT."}).status_code == 200
    assert turn(owner, item) == before["review"]
    assert listed(admin, QUEUE) == [item, later]
    assert listed(admin, WITH_OWNER) == []
    actions = [entry["action"] for entry in admin.get(f"/api/admin/projects/{item}/history").json["items"]]
    assert actions[0] == ("project.edited" if before["status"] == "pending" else "project.edit_held")
    assert "project.resubmitted" not in actions


def test_a_field_that_applies_at_once_gives_waiting_changes_back_too(world: World, admin: Api, ada: Caller) -> None:
    project = world.project(ada)
    owner = world.caller(ada)
    owner.put(f"/api/projects/{project}", {"title": "Other"})
    ask(admin, project)
    assert owner.put(f"/api/projects/{project}", {"tags": ["mit"]}).status_code == 200
    assert turn(owner, project)["waiting_for"] == "review"


def test_a_message_gives_it_back_without_an_edit(world: World, admin: Api, ada: Caller, item: int) -> None:
    owner, before = world.caller(ada), shown(world.caller(ada), item)
    ask(admin, item)
    version = shown(owner, item)["version"]
    path = f"/api/projects/{item}/messages"
    assert owner.post(path, {"text": "Wait."}).status_code == 201
    assert (turn(owner, item)["waiting_for"], shown(owner, item)["version"]) == ("owner", version)
    assert owner.post(path, {"text": "It has one.", "resubmit": True}).status_code == 201
    assert (turn(owner, item), shown(owner, item)["version"]) == (before["review"], version + 1)
    assert owner.post(path, {"text": "Again.", "resubmit": True}).status_code == 409
    events = [each["event"] for each in owner.get(f"/api/projects/{item}/timeline").json["items"]]
    assert events[-2:] == ["changes_requested", "resubmitted"]
    [newest, *_] = admin.get(f"/api/admin/projects/{item}/history").json["items"]
    state = before["status"]
    assert (newest["action"], newest["from"], newest["to"]) == ("project.resubmitted", state, state)


def test_from_the_fourth_request_on_it_comes_back_at_the_end(world: World, admin: Api, ada: Caller, item: int) -> None:
    owner, first = world.caller(ada), since(shown(world.caller(ada), item))
    world.project(status="pending")
    returns = []
    for number in range(5):
        assert ask(admin, item, f"Request {number}").status_code == 200
        owner.post(f"/api/projects/{item}/messages", {"text": "Look.", "resubmit": True})
        project = shown(owner, item)
        returns.append((since(project), project["queue_position"]))
    assert returns[:3] == [(first, 1)] * 3
    assert first < returns[3][0] < returns[4][0]
    assert [place for _, place in returns[3:]] == [2, 2]


def test_a_rejection_ends_the_submission_and_the_requests_are_counted_from_the_beginning(
    world: World, admin: Api, ada: Caller, item: int
) -> None:
    owner = world.caller(ada)
    for number in range(4):
        ask(admin, item, f"Request {number}")
        owner.put(f"/api/projects/{item}", {"description": f"Answer {number}"})
    admin.put(f"/api/admin/projects/{item}/reject")
    owner.put(f"/api/projects/{item}", {"description": "A new beginning"})
    begun = since(shown(owner, item))
    ask(admin, item)
    owner.put(f"/api/projects/{item}", {"description": "With an answer"})
    assert since(shown(owner, item)) == begun


def test_the_same_request_again_changes_nothing_and_another_one_is_refused(world: World, admin: Api, item: int) -> None:
    seen = f'"{shown(admin, item)["version"]}"'
    first = ask(admin, item, headers={"If-Match": seen}).json
    again = ask(admin, item, headers={"If-Match": seen})
    assert (again.status_code, again.json) == (200, first)
    other = ask(admin, item, "Something else.")
    assert (other.status_code, other.json["code"]) == (409, "invalid_transition")
    assert other.json["current_status"] == first["status"]
    late = ask(admin, item, "Something else.", headers={"If-Match": seen})
    assert late.status_code == 412
    assert shown(admin, item) == {name: value for name, value in first.items() if name != "approvals"}


def test_the_public_learns_nothing_of_what_waits_for_its_owner(world: World, admin: Api, api: Api, ada: Caller) -> None:
    project = world.project(ada)
    world.revise(project, ada, tagline="Another")
    paths = (f"/api/projects/{project}", "/api/projects", "/api/projects.atom", f"/p/{project}", "/")

    def public() -> list[str]:
        """What anybody is shown, but for the version, which a request raises."""
        return [re.sub(r'"version":\d+', "", api.get(path, follow_redirects=True).text) for path in paths]

    before = public()
    asked = admin.put(f"/api/admin/projects/{project}/request-changes", {"message": "A longer tagline, please."})
    assert asked.json["revision"] is not None
    assert public() == before
    assert world.caller(ada).post(f"/api/projects/{project}/messages", {"text": "Why?"}).status_code == 201
    assert public() == before


def test_of_what_was_taken_down_changes_can_be_asked(app: Flask, world: World, admin: Api, ada: Caller) -> None:
    project, owner = world.project(ada), world.caller(ada)
    admin.put(f"/api/admin/projects/{project}/unpublish", {"reason": MISSING})
    down = turn(owner, project)
    assert (down["waiting_for"], down["closes_at"] > down["since"], down["asked"]) == ("owner", True, "unpublished")
    asked = ask(admin, project)  # with the words of the reason
    assert (asked.status_code, asked.json["review"]["since"] > down["since"]) == (200, True)
    assert asked.json["review"]["asked"] == "changes_requested"
    assert asked.json["rejection_reason"] == MISSING
    owner.put(f"/api/projects/{project}", {"description": "MIT."})
    assert (turn(owner, project)["waiting_for"], shown(owner, project)["rejection_reason"]) == ("review", None)


@pytest.mark.parametrize("status", ["live", "rejected"])
def test_nothing_is_asked_of_what_does_not_wait(world: World, admin: Api, status: str) -> None:
    answer = ask(admin, world.project(status=status))
    assert (answer.status_code, answer.json["code"], answer.json["current_status"]) == (
        409, "invalid_transition", status,
    )  # fmt: skip
    assert ask(admin, 999).status_code == 404


@pytest.mark.parametrize("body", [{}, {"message": ""}, {"message": " "}, {"message": "x" * 2001}, {"reason": "x"}])
def test_a_request_has_words(world: World, admin: Api, body: Any) -> None:
    project = world.project(status="pending")
    assert admin.put(f"/api/admin/projects/{project}/request-changes", body).status_code == 422
    assert ask(admin, project, "x" * 2000).status_code == 200


@pytest.mark.parametrize(("decision", "status"), [("approve", "live"), ("reject", "rejected")])
def test_reviewers_may_decide_while_it_waits_for_its_owner(
    app: Flask, world: World, admin: Api, ada: Caller, item: int, decision: str, status: str
) -> None:
    live = shown(admin, item)["status"] == "live"
    ask(admin, item)
    decided = admin.put(f"/api/admin/projects/{item}/{decision}").json
    assert (decided["status"], decided["review"]) == ("live" if live else status, None)
    with app.app_context():
        [waited] = db.session.scalars(select(AuditEntry.waited_seconds).order_by(AuditEntry.id.desc()).limit(1))
    assert waited is None  # it was not the reviewers who kept it waiting


def test_a_batch_asks_for_changes_of_each(app: Flask, world: World, admin: Api, ada: Caller) -> None:
    pending, live, gone = world.project(ada, "pending"), world.project(ada), 999
    revised = world.project(ada)
    world.revise(revised, ada, title="Other")
    body = {"decision": "request_changes", "ids": [pending, live, revised, gone], "message": MISSING}
    answer = admin.post("/api/admin/projects/decisions", body)
    assert [each["status"] for each in answer.json["items"]] == [200, 409, 200, 404]
    assert [each["project"]["review"]["waiting_for"] for each in answer.json["items"][::2]] == ["owner", "owner"]
    again = admin.post("/api/admin/projects/decisions", body).json
    assert [each["status"] for each in again["items"]] == [200, 409, 200, 404]
    assert decisions(app).count("project.changes_requested") == 2
    for wrong, pointer in (
        ({**body, "reason": "x"}, "reason"), ({**body, "decision": "reject"}, "message"),
        ({"decision": "request_changes", "ids": [1]}, "message"),
    ):  # fmt: skip
        refused = admin.post("/api/admin/projects/decisions", wrong)
        assert [each["pointer"] for each in refused.json["errors"]] == [f"#/{pointer}"]


@pytest.mark.parametrize("size", [1, 12])
def test_a_batch_of_requests_costs_the_same_statements_whatever_its_size(
    world: World, admin: Api, ada: Caller, statements: Any, size: int
) -> None:
    ids = [world.project(ada, "pending") for _ in range(size)]
    admin.get("/api/auth/me")
    body = {"decision": "request_changes", "ids": ids, "message": MISSING}
    statements.clear()
    assert admin.post("/api/admin/projects/decisions", body).status_code == 200
    writes = [each for each in statements if each.startswith(("UPDATE", "INSERT"))]
    assert len(writes) in {2, 4}  # the project twice; on SQLite the log and the thread, on PostgreSQL by COPY


def test_a_confirmed_address_is_needed_to_give_back_by_an_edit(make_app: Any) -> None:
    mail = {"MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "a@example.org", "SITE_URL": "http://localhost"}
    world = World(make_app(REQUIRE_VERIFIED_EMAIL="submit", **mail))
    ada = world.user()
    project, admin = world.project(ada, "pending"), world.caller(world.admin())
    owner = world.caller(ada)
    assert owner.put(f"/api/projects/{project}", {"tagline": "Another"}).status_code == 200
    ask(admin, project)
    refused = owner.put(f"/api/projects/{project}", {"tagline": "A third one"})
    assert (refused.status_code, refused.json["code"]) == (403, "email_not_verified")
    assert (shown(owner, project)["tagline"], turn(owner, project)["waiting_for"]) == ("Another", "owner")


# --- Events and mail --------------------------------------------------------------------------------------------------


def test_a_request_and_the_answers_are_events_without_texts(make_app: Any) -> None:
    app = make_app(**NOTIFYING)
    world = World(app)
    ada, root = world.user(), world.admin()
    project, owner, admin = world.project(ada, "pending"), world.caller(ada), world.caller(root)
    ask(admin, project)
    owner.put(f"/api/projects/{project}", {"description": "MIT."})
    ask(admin, project, "And the source?")
    owner.post(f"/api/projects/{project}/messages", {"text": "Here it is.", "resubmit": True})
    owner.put(f"/api/projects/{project}", {"description": "BSD."})  # gives nothing back
    sent = outbox(app)
    asked, edited, _, written = sent
    assert [each["type"] for each in sent] == ["project.changes_requested", "project.answered"] * 2
    assert asked["data"]["requested_by"] == {"id": root.id, "username": root.username}
    assert edited["data"]["answered_by"] == {"id": ada.id, "username": ada.username}
    ids = [each["id"] for each in owner.get(f"/api/projects/{project}/messages").json["items"]]
    assert (asked["data"]["message_id"], written["data"]["message_id"]) == (ids[0], ids[2])
    assert "message_id" not in edited["data"]
    assert not any(text in json.dumps(sent) for text in (MISSING, "the source", "Here it is"))


def test_the_owner_gets_the_texts_by_mail_as_they_are_when_it_is_sent(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(**mailbox.settings)
        world = World(app)
        ada, muted, admin = world.user(), world.user(), world.caller(world.admin())
        confirm = update(User).values(email_verified_at=now())
        with app.app_context():
            transaction(lambda: db.session.execute(confirm))
        project, path = world.project(ada, "pending"), "/api/review/projects/{}/messages"
        world.caller(muted).put("/api/auth/me", {"notify": False})
        ask(admin, world.project(muted, "pending"))
        ask(admin, project)
        ask(admin, project)  # a lost answer
        path = path.format(project)
        admin.post(path, {"text": "One more thing."})
        erased = admin.post(path, {"text": "A secret."}).json
        admin.post(path, {"text": "Looks odd.", "internal": True})
        admin.delete(f"/api/admin/messages/{erased['id']}")
        [server] = app.extensions["webhooks"]
        send_all(delivery_thread(app, server, quick()))
        first, second = mailbox.taken
    assert MISSING in first.text
    assert f"/mine/{project}" in first.text
    assert "One more thing." in second.text


# --- Without an answer ------------------------------------------------------------------------------------------------


def tidy(app: Flask) -> None:
    housekeeping.tidy(app, DeliveryPolicy())


def test_what_nobody_answers_is_rejected_by_nobody(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    owner, before = world.caller(ada), shown(admin, item)
    ask(admin, item)
    world.age(days=29)
    tidy(app)
    assert turn(owner, item)["waiting_for"] == "owner"
    world.age(days=1)
    tidy(app)
    tidy(app)
    project = shown(owner, item)
    reason = "No answer within 30 days."
    assert project["review"] is None
    if before["status"] == "pending":
        assert (project["status"], project["rejection_reason"]) == ("rejected", reason)
    else:
        assert (project["status"], project["revision"]["reason"]) == ("live", reason)
    entry = owner.get(f"/api/projects/{item}/messages").json["items"][-1]
    assert (entry["from"], entry["kind"], entry["text"], entry["author"]) == ("service", "rejected", reason, None)
    [newest, *_] = admin.get(f"/api/admin/projects/{item}/history").json["items"]
    assert (newest["actor"], newest["reason"]) == (None, reason)
    with app.app_context():
        kinds = ("project.rejected", "project.edit_rejected")
        assert db.session.scalar(select(func.count()).where(AuditEntry.action.in_(kinds))) == 1


def test_what_was_taken_down_is_closed_too_and_what_was_given_back_is_not(
    app: Flask, world: World, admin: Api, ada: Caller
) -> None:
    down, back = world.project(ada), world.project(ada)
    for project in (down, back):
        admin.put(f"/api/admin/projects/{project}/unpublish")
    world.caller(ada).put(f"/api/projects/{back}", {"description": "MIT."})
    world.age(down, days=30)
    tidy(app)
    assert [shown(admin, project)["status"] for project in (down, back)] == ["rejected", "pending"]


def test_those_with_different_times_are_closed_one_after_the_other(make_app: Any) -> None:
    app = make_app(CHANGES_DAYS="7")
    world = World(app)
    admin, ada = world.caller(world.admin()), world.user()
    projects = [world.project(ada, "pending") for _ in range(2)]
    ask(admin, projects[0])
    with app.app_context():
        asking = {"by": None, "notify": [], "terms": moderation.Terms("x", answer_within=timedelta(days=3))}
        transaction(lambda: moderation.decide(projects[1], "request_changes", **asking))
    world.age(days=7)
    tidy(app)
    tidy(app)
    reasons = {shown(admin, project)["rejection_reason"] for project in projects}
    assert reasons == {"No answer within 7 days.", "No answer within 3 days."}


def test_a_closing_rejects_so_many_of_what_is_due_and_the_oldest_first(app: Flask, world: World, admin: Api) -> None:
    projects = newer, older, _young = [world.project(status="pending") for _ in range(3)]
    for project in projects:
        ask(admin, project)

    def close(most: int) -> int:
        return transaction(lambda: deadlines.close(most, notify=[]))

    with app.app_context():
        for project, days in ((newer, 30), (older, 31)):
            back = {"since": now() - timedelta(days=days), "until": now() - timedelta(days=days - 30)}
            db.session.execute(update(Review).where(Review.project_id == project).values(back))
        db.session.commit()
        for most, number, closed in ((1, 1, {older}), (9, 1, {older, newer}), (9, 0, {older, newer})):
            assert close(most) == number
            assert {*db.session.scalars(select(Project.id).where(Project.status == "rejected"))} == closed


def test_nothing_closes_where_the_operator_sets_no_time(make_app: Any) -> None:
    app = make_app(CHANGES_DAYS="0")
    world = World(app)
    admin, project = world.caller(world.admin()), world.project(status="pending")
    assert ask(admin, project).json["review"]["closes_at"] is None
    with app.app_context():
        transaction(lambda: db.session.execute(update(Review).values(until=now() - timedelta(days=1))))
    tidy(app)
    assert shown(admin, project)["status"] == "pending"


@pytest.mark.parametrize("answered", [False, True])
def test_the_closing_looks_again_under_the_lock(
    app: Flask, world: World, admin: Api, ada: Caller, item: int, answered: bool
) -> None:
    """As if the owner had answered, or been asked again, after the closing had found it."""
    ask(admin, item)
    if answered:
        world.caller(ada).put(f"/api/projects/{item}", {"description": "MIT."})
    before, terms = shown(admin, item), moderation.Terms("Too late.", is_late=True)
    with app.app_context():
        closing = {"by": None, "notify": [], "terms": terms}
        transaction(lambda: moderation._decide("reject", {item: None}, **closing))
    assert shown(admin, item) == before


# --- The time of a review ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_the_time_of_a_review_leaves_out_the_time_with_the_owner(
    app: Flask, world: World, admin: Api, ada: Caller, item: int, decision: str
) -> None:
    ask(admin, item)
    put_back(app, item, place=1000, since=900)
    give_back(world.caller(ada), item)
    ask(admin, item, "And which version?")
    put_back(app, item, since=40)
    world.caller(ada).put(f"/api/projects/{item}", {"title": "Version two"})
    assert admin.put(f"/api/admin/projects/{item}/{decision}").status_code == 200
    assert round(last_wait(app)) == 1000 - 900 - 40


def test_what_comes_back_at_the_end_of_the_queue_is_measured_from_there(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    put_back(app, item, place=1000)
    for number in range(4):
        ask(admin, item, f"Question {number}")
        give_back(world.caller(ada), item)
    admin.put(f"/api/admin/projects/{item}/approve")
    assert round(last_wait(app)) == 0


def test_what_was_taken_down_is_measured_without_the_time_with_the_owner(
    app: Flask, world: World, admin: Api, ada: Caller
) -> None:
    project = world.project(ada)
    admin.put(f"/api/admin/projects/{project}/unpublish")
    put_back(app, project, place=50, since=50)
    world.caller(ada).put(f"/api/projects/{project}", {"title": "Repaired"})
    admin.put(f"/api/admin/projects/{project}/approve")
    assert round(last_wait(app)) == 0


def test_a_submission_after_a_rejection_is_measured_from_the_edit(
    app: Flask, world: World, admin: Api, ada: Caller, item: int
) -> None:
    ask(admin, item)
    put_back(app, item, place=1000, since=900)
    give_back(world.caller(ada), item)
    admin.put(f"/api/admin/projects/{item}/reject")
    world.caller(ada).put(f"/api/projects/{item}", {"title": "From scratch"})
    admin.put(f"/api/admin/projects/{item}/approve")
    assert round(last_wait(app)) == 0


# --- The reviewers' side of the thread --------------------------------------------------------------------------------


def test_reviewers_read_and_write_with_notes(world: World, admin: Api, ada: Caller) -> None:
    owner, project = world.caller(ada), world.project(ada, "pending")
    path = f"/api/review/projects/{project}/messages"
    version = shown(owner, project)["version"]
    written = admin.post(path, {"text": "Hello."})
    assert (written.status_code, written.json["from"], written.json["author"]["username"]) == (
        201, "reviewers", "root",
    )  # fmt: skip
    noted = admin.post(path, {"text": "Looks odd.", "internal": True}).json
    assert noted["kind"] == "note"
    assert [each["text"] for each in admin.get(path).json["items"]] == ["Hello.", "Looks odd."]
    [seen] = owner.get(f"/api/projects/{project}/messages").json["items"]
    assert (seen["text"], seen["author"]) == ("Hello.", None)
    assert owner.get("/api/session").json["user"]["unread"] == 1
    assert shown(owner, project)["version"] == version
    for wrong in ({"text": "x", "resubmit": True}, {"text": ""}, {"internal": True}):
        assert admin.post(path, wrong).status_code == 422
    assert admin.post("/api/review/projects/999/messages", {"text": "x"}).status_code == 404
    assert admin.get("/api/review/projects/999/messages").status_code == 404


def test_notes_about_ones_own_project_are_in_no_answer(app: Flask, world: World, admin: Api) -> None:
    eve = world.admin("eve")
    project = world.project(eve, "pending")
    path = f"/api/review/projects/{project}/messages"
    admin.post(path, {"text": "Looks odd.", "internal": True})
    own = world.caller(eve)
    assert own.get(path).json["items"] == []
    assert own.post(path, {"text": "Mine.", "internal": True}).status_code == 404
    assert own.post(path, {"text": "As a reviewer."}).status_code == 201
    assert own.get("/api/session").json["user"]["unread"] == 0


def test_a_reviewer_reads_and_writes_in_the_threads_of_their_categories(world: World, ada: Caller) -> None:
    world.category("web")
    world.category()
    reviewer = world.caller(world.reviewer("tools"))
    for category, codes in (("tools", [200, 201, 200]), ("web", [404, 404, 404])):
        project = world.project(ada, "pending", category=category)
        path = f"/api/review/projects/{project}"
        answers = (
            reviewer.get(f"{path}/messages"), reviewer.post(f"{path}/messages", {"text": "Hello."}),
            reviewer.put(f"{path}/request-changes", {"message": MISSING}),
        )  # fmt: skip
        assert [answer.status_code for answer in answers] == codes


def test_where_nobody_reviews_their_own_they_neither_ask_nor_write_about_it(make_app: Any) -> None:
    world = World(make_app(SELF_REVIEW="refuse"))
    eve = world.admin()
    own, project = world.caller(eve), world.project(eve, "pending")
    path = f"/api/review/projects/{project}"
    answers = (
        own.get(f"{path}/messages"), own.post(f"{path}/messages", {"wrong": 1}),
        own.put(f"{path}/request-changes", {"wrong": 1}), ask(own, project),
    )  # fmt: skip
    assert {(answer.status_code, answer.json["code"]) for answer in answers} == {(403, "own_submission")}
    body = {"decision": "request_changes", "ids": [project], "message": MISSING}
    [outcome] = own.post("/api/review/projects/decisions", body).json["items"]
    assert (outcome["status"], outcome["code"]) == (403, "own_submission")
    assert own.post(f"/api/projects/{project}/messages", {"text": "As its owner."}).status_code == 201


# --- Races ------------------------------------------------------------------------------------------------------------


def made(app: Flask) -> list[str]:
    """The decisions."""
    return [action for action in decisions(app) if action != "project.edit_held"]


def race(app: Flask, *calls: Any) -> list[int]:
    """The status of each call, all of which begin at once."""
    barrier = Barrier(len(calls))

    def send(call: Any) -> int:
        barrier.wait()
        return int(call().status_code)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(send, calls))


@pytest.mark.parametrize("attempt", range(3))
def test_of_an_approval_and_a_request_at_once_one_wins(
    app: Flask, world: World, admin: Api, item: int, attempt: int
) -> None:
    seen = {"headers": {"If-Match": f'"{shown(admin, item)["version"]}"'}}
    path = f"/api/admin/projects/{item}"
    eve = world.caller(world.admin())
    codes = race(app, lambda: admin.put(f"{path}/approve", **seen), lambda: ask(eve, item, **seen))
    assert sorted(codes) in ([200, 409], [200, 412])
    assert len(made(app)) == 1
    waits = shown(admin, item)["review"]
    assert waits is None if codes[0] == 200 else waits["waiting_for"] == "owner"


@pytest.mark.parametrize("attempt", range(3))
def test_of_sixteen_requests_at_once_one_is_made(app: Flask, world: World, item: int, attempt: int) -> None:
    admins = [world.caller(world.admin()) for _ in range(4)]
    codes = race(app, *(lambda n=n: ask(admins[n % 4], item, f"Request {n % 2}") for n in range(16)))
    assert set(codes) == {200, 409}
    assert codes.count(200) == 8
    assert made(app) == ["project.changes_requested"]
    with app.app_context():
        assert db.session.scalar(select(func.count()).where(Message.kind == "changes_requested")) == 1


@pytest.mark.parametrize("attempt", range(3))
def test_a_return_and_a_rejection_at_once_end_in_the_rejection(
    app: Flask, world: World, admin: Api, ada: Caller, item: int, attempt: int
) -> None:
    owner = world.caller(ada)
    ask(admin, item)
    back, rejected = race(
        app, lambda: owner.post(f"/api/projects/{item}/messages", {"text": "Look.", "resubmit": True}),
        lambda: admin.put(f"/api/admin/projects/{item}/reject"),
    )  # fmt: skip
    assert (back in {201, 409}, rejected) == (True, 200)
    assert shown(admin, item)["review"] is None
    kinds = [each["kind"] for each in owner.get(f"/api/projects/{item}/messages").json["items"]]
    assert kinds.count("message") == (back == 201)


# --- The end of the time for an answer ------------------------------------------------------------------------------


def reminded(app: Flask) -> list[int]:
    """The projects whose owners were reminded, in the order of the mails."""
    return [body["data"]["project"]["id"] for body in outbox(app) if body["type"] == "project.closing"]


def confirm_all(app: Flask) -> None:
    """Confirm all addresses: others get few mails."""
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).values(email_verified_at=now())))


def later(app: Flask, project: int, days: float) -> None:
    """As if a project, or its revision, had waited for its owner for so many days more."""
    World(app).age(project, days=days)


def test_the_owner_is_reminded_once_a_week_before_the_end(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(**mailbox.settings)
        world = World(app)
        admin, ada = world.caller(world.admin()), world.user("ada")
        confirm_all(app)
        pending, live, down = world.project(ada, "pending"), world.project(ada), world.project(ada)
        world.revise(live, ada, title="Another title")
        for project in (pending, live):
            ask(admin, project)
        admin.put(f"/api/admin/projects/{down}/unpublish", {"reason": "A dead link."})
        for project in (pending, live, down):
            later(app, project, 22.9)
        tidy(app)
        assert reminded(app) == []
        for project in (pending, live, down):
            later(app, project, 0.2)
        tidy(app)
        tidy(app)
        assert sorted(reminded(app)) == [pending, live, down]
        [server] = app.extensions["webhooks"]
        send_all(delivery_thread(app, server, quick()))
        texts = [" ".join(each.text.split()) for each in mailbox.taken[-3:]]
        assert [MISSING in text for text in texts] == [True, True, False]
        assert "The reason: A dead link." in texts[2]
        assert all("back to the reviewers by" in text for text in texts)
        give_back(world.caller(ada), pending)
        ask(admin, pending, "And which version?")
        later(app, pending, 23.1)
        tidy(app)
        assert sorted(reminded(app)) == [pending, pending, live, down]


def test_who_had_a_week_or_less_gets_no_second_mail(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(CHANGES_DAYS="7", **mailbox.settings)
        world = World(app)
        project = world.project(world.user(), "pending")
        ask(world.caller(world.admin()), project)
        tidy(app)
        assert reminded(app) == []


def test_a_reminder_is_not_sent_where_the_owner_answered_meanwhile(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(**mailbox.settings)
        world = World(app)
        ada = world.user()
        project = world.project(ada, "pending")
        ask(world.caller(world.admin()), project)
        later(app, project, 25)
        tidy(app)
        give_back(world.caller(ada), project)
        [server] = app.extensions["webhooks"]
        send_all(delivery_thread(app, server, quick()))
        assert len(reminded(app)) == 1
        assert [each.message["Subject"] for each in mailbox.taken if "awaited" in each.message["Subject"]] == []


def test_several_processes_remind_once(make_app: Any) -> None:
    with Mailbox() as mailbox:
        app = make_app(**mailbox.settings)
        world = World(app)
        admin, ada = world.caller(world.admin()), world.user()
        confirm_all(app)
        projects = [world.project(ada, "pending") for _ in range(8)]
        for project in projects:
            ask(admin, project)
            later(app, project, 25)
        barrier = Barrier(4)

        def run(_number: int) -> int:
            with app.app_context():
                barrier.wait()
                return transaction(lambda: deadlines.remind(500, notify=app.extensions["webhooks"]))

        with ThreadPoolExecutor(4) as pool:
            assert max(pool.map(run, range(4))) == 8
        assert sorted(reminded(app)) == projects


def test_without_a_time_the_promise_of_what_waits_already_ends(app: Flask, world: World, admin: Api, item: int) -> None:
    assert ask(admin, item).json["review"]["closes_at"] is not None
    app.config["CHANGES_DAYS"] = 0
    housekeeping.hourly(app, DeliveryPolicy(), lambda _seconds: True)
    waits = shown(admin, item)["review"]
    assert (waits["waiting_for"], waits["closes_at"]) == ("owner", None)
    tidy(app)
    assert shown(admin, item)["review"] == waits


# --- What stays with its owner ---------------------------------------------------------------------------------------


def test_an_edit_that_does_not_give_back_leaves_it_with_its_owner(
    world: World, admin: Api, ada: Caller, item: int
) -> None:
    owner, waits = world.caller(ada), ask(admin, item).json["review"]
    edited = owner.put(f"/api/projects/{item}", {"description": "MIT.", "give_back": False}).json
    assert edited["review"] == waits
    assert "MIT." in json.dumps([edited["description"], edited["revision"]])
    assert turn(owner, item)["waiting_for"] == "owner"
    assert owner.put(f"/api/projects/{item}", {"title": "Version two"}).json["review"]["waiting_for"] == "review"


@pytest.mark.parametrize("kind", ["pending", "unpublished", "revision"])
def test_pictures_alone_do_not_give_back(world: World, admin: Api, ada: Caller, kind: str) -> None:
    project, owner = world.project(ada, "pending" if kind == "pending" else "live"), world.caller(ada)
    if kind == "revision":
        world.revise(project, ada, title="Another title")
    if kind == "unpublished":
        admin.put(f"/api/admin/projects/{project}/unpublish")
    else:
        ask(admin, project)
    waits = turn(owner, project)
    world.picture(project, by=ada)
    logo = owner.put(f"/api/projects/{project}", {"logo_url": "https://example.org/logo.png"})
    assert (logo.status_code, logo.json["review"], turn(owner, project)) == (200, waits, waits)
    assert owner.put(f"/api/projects/{project}", {"title": "Version two"}).json["review"]["waiting_for"] == "review"


def test_only_its_owner_gives_it_back_and_nothing_happens_where_nothing_waits(
    app: Flask, world: World, admin: Api, ada: Caller
) -> None:
    project, other = world.project(ada, "pending"), world.user()

    def give(by: Caller) -> Any:
        with app.app_context():
            transaction(lambda: conversation.give_back(project, by=by, notify=[]))
        return shown(admin, project)

    before = shown(admin, project)
    assert give(ada) == before
    waits = ask(admin, project).json["review"]
    with pytest.raises(NotFound):
        give(other)
    assert shown(admin, project)["review"] == waits
    assert give(ada)["review"]["waiting_for"] == "review"
