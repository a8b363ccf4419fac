"""The threads of projects: who reads and writes them, what counts as unread, and what is erased."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Message, MessageKind, Sender, now
from directory.services.identity import Caller
from directory.services.review import thread
from directory.services.review.thread import Entry
from tests.support.factories import PASSWORD, Api, World

ENTRY = {"id", "at", "from", "kind", "text", "author"}


@pytest.fixture
def admin(app: Flask, world: World) -> Api:
    return Api(app, world.caller(world.admin("root")).token)


def entries(caller: Api, project: int) -> list[tuple[str, str, str]]:
    items = caller.get(f"/api/projects/{project}/messages").json["items"]
    assert all(item.keys() == ENTRY for item in items)
    return [(item["from"], item["kind"], item["text"]) for item in items]


def unread(caller: Api) -> int:
    number = caller.get("/api/session").json["user"]["unread"]
    assert isinstance(number, int)
    return number


def note(app: Flask, project: int, owner: Caller, by: Caller, text: str = "Looks odd.") -> None:
    """A note of a reviewer."""
    entry = Entry(MessageKind.NOTE, project, owner.id, text)
    with app.app_context():
        transaction(lambda: thread.add(entry, sender=Sender.REVIEWERS, by=by, at=now()))


@pytest.mark.parametrize("status", ["live", "pending", "rejected"])
def test_the_owner_writes_in_every_state_and_raises_no_version(world: World, ada: Caller, status: str) -> None:
    owner, project = world.caller(ada), world.project(ada, status)
    before = owner.get(f"/api/projects/{project}").json
    answer = owner.post(f"/api/projects/{project}/messages", {"text": "It is mine.\r\nReally."})
    assert (answer.status_code, answer.json.keys()) == (201, ENTRY)
    assert (answer.json["from"], answer.json["kind"]) == ("owner", "message")
    assert (answer.json["text"], answer.json["author"]) == ("It is mine.\nReally.", None)
    listed = owner.get(f"/api/projects/{project}/messages").json["items"]
    assert listed[-1] == answer.json
    assert owner.get(f"/api/projects/{project}").json == before
    assert unread(owner) == len(listed) - 1  # the decisions that were made before


def test_the_thread_has_each_decision_with_its_reason_oldest_first(world: World, admin: Api, ada: Caller) -> None:
    owner, project = world.caller(ada), world.project(ada, "pending")
    admin.put(f"/api/admin/projects/{project}/reject", {"reason": "A dead link."})
    admin.put(f"/api/admin/projects/{project}/reject", {"reason": "Again."})  # changes nothing
    owner.put(f"/api/projects/{project}", {"tagline": "Another"})
    admin.put(f"/api/admin/projects/{project}/approve", {"reason": "For the log alone."})
    world.revise(project, ada, title="Other")
    admin.put(f"/api/admin/projects/{project}/reject")
    world.revise(project, ada, title="Third")
    admin.put(f"/api/admin/projects/{project}/approve")
    admin.put(f"/api/admin/projects/{project}/unpublish", {"reason": "Sold."})
    assert entries(owner, project) == [
        ("reviewers", "rejected", "A dead link."), ("reviewers", "approved", ""), ("reviewers", "rejected", ""),
        ("reviewers", "approved", ""), ("reviewers", "unpublished", "Sold."),
    ]  # fmt: skip
    assert unread(owner) == 5


def test_a_take_down_and_a_command_write_into_the_thread(app: Flask, world: World, admin: Api, ada: Caller) -> None:
    owner, project = world.caller(ada), world.project(ada)  # approved by nobody
    assert entries(owner, project) == [("service", "approved", "")]
    admin.put(f"/api/admin/users/{ada.id}", {"status": "suspended", "unpublish": True, "reason": "Spam."})
    admin.put(f"/api/admin/users/{ada.id}", {"status": "active"})
    kinds = [("reviewers", "unpublished", "Spam."), ("reviewers", "rejected", "Spam.")]
    assert entries(world.caller(ada), project)[1:] == kinds


def test_a_thread_is_read_by_cursor(world: World, ada: Caller) -> None:
    owner, project = world.caller(ada), world.project(ada, "pending")
    for number in range(3):
        owner.post(f"/api/projects/{project}/messages", {"text": str(number)})
    address, seen = f"/api/projects/{project}/messages?limit=2", []
    first = owner.get(address).json
    seen += first["items"]
    seen += owner.get(f"{address}&cursor={first['pagination']['next_cursor']}").json["items"]
    assert [item["text"] for item in seen] == ["0", "1", "2"]


@pytest.mark.parametrize("status", ["live", "pending"])
def test_a_thread_exists_for_its_owner_alone(app: Flask, world: World, admin: Api, ada: Caller, status: str) -> None:
    """An administrator who is not the owner is anybody else here; access comes before the body."""
    path = f"/api/projects/{world.project(ada, status)}/messages"
    for caller, code in ((Api(app), 401), (world.caller(world.user()), 404), (admin, 404)):
        answers = caller.get(path), caller.post(path, {"wrong": 1}), caller.put(f"{path}/read", {"wrong": 1})
        assert [answer.status_code for answer in answers] == [code] * 3
    assert world.caller(ada).get("/api/projects/999/messages").status_code == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"text": ""}, {"text": " \n "}, {"text": "x" * 4001}, {"text": 1}, {"text": "x", "internal": True}, []],
)
def test_a_message_has_words(world: World, ada: Caller, body: Any) -> None:
    project = world.project(ada, "pending")
    assert world.caller(ada).post(f"/api/projects/{project}/messages", body).status_code == 422
    assert world.caller(ada).post(f"/api/projects/{project}/messages", {"text": "x" * 4000}).status_code == 201


def test_what_was_read_is_not_unread(world: World, admin: Api, ada: Caller) -> None:
    owner, first, second = world.caller(ada), world.project(ada, "pending"), world.project(ada, "pending")
    for project in (first, second):
        admin.put(f"/api/admin/projects/{project}/approve")
        admin.put(f"/api/admin/projects/{project}/unpublish")
    assert unread(owner) == 4
    ids = [item["id"] for item in owner.get(f"/api/projects/{first}/messages").json["items"]]
    assert unread(owner) == 4  # the API marks nothing by itself
    assert owner.put(f"/api/projects/{first}/messages/read", {"up_to": ids[0]}).status_code == 204
    assert unread(owner) == 3
    for _ in range(2):
        assert owner.put(f"/api/projects/{first}/messages/read", {"up_to": 2**63 - 1}).status_code == 204
        assert unread(owner) == 2
    assert owner.put(f"/api/projects/{first}/messages/read", {"up_to": 0}).status_code == 422
    admin.put(f"/api/admin/projects/{first}/approve")
    assert unread(owner) == 3
    assert "unread" not in owner.get("/api/auth/me").json


def test_notes_are_for_reviewers(app: Flask, world: World, ada: Caller) -> None:
    owner, project = world.caller(ada), world.project(ada, "pending")
    note(app, project, ada, world.admin())
    assert entries(owner, project) == []
    assert unread(owner) == 0


def test_the_names_of_reviewers_are_shown_if_the_operator_wants_it(make_app: Any) -> None:
    app = make_app(REVIEWER_NAMES="shown")
    world = World(app)
    ada, root = world.user(), world.admin()
    project = world.project(ada, "pending")
    world.caller(root).put(f"/api/admin/projects/{project}/approve")
    written = world.caller(ada).post(f"/api/projects/{project}/messages", {"text": "Thank you."}).json
    assert written["author"] == {"id": ada.id, "username": ada.username}
    [approved, _] = world.caller(ada).get(f"/api/projects/{project}/messages").json["items"]
    assert approved["author"] == {"id": root.id, "username": root.username}


def test_the_decisions_that_owners_make_themselves_are_read(world: World) -> None:
    root = world.admin()
    project = world.project(root, "pending")
    world.caller(root).put(f"/api/admin/projects/{project}/approve")
    assert entries(world.caller(root), project) == [("reviewers", "approved", "")]
    assert unread(world.caller(root)) == 0


def test_the_queue_says_whose_owner_wrote_last(app: Flask, world: World, admin: Api, ada: Caller) -> None:
    projects = [world.project(ada, "pending") for _ in range(4)]
    owner = world.caller(ada)
    for project in projects[1:]:
        owner.post(f"/api/projects/{project}/messages", {"text": "Here it is."})
    note(app, projects[2], ada, world.admin())
    admin.put(f"/api/admin/projects/{projects[3]}/approve")
    listed = {item["id"]: item["answered"] for item in admin.get("/api/admin/projects").json["items"]}
    assert [listed[project] for project in projects] == [False, True, True, False]


# --- Giving back ------------------------------------------------------------------------------------------------------


def test_a_message_gives_a_project_that_was_taken_down_back_to_its_place(world: World, admin: Api, ada: Caller) -> None:
    owner, down = world.caller(ada), world.project(ada)
    admin.put(f"/api/admin/projects/{down}/unpublish", {"reason": "A dead link."})
    world.project(status="pending")
    before = owner.get(f"/api/projects/{down}").json
    answer = owner.post(f"/api/projects/{down}/messages", {"text": "The link works.", "resubmit": True})
    assert answer.status_code == 201
    after = owner.get(f"/api/projects/{down}").json
    assert (after["queue_position"], after["submitted_at"]) == (1, before["submitted_at"])
    assert (after["status"], after["rejection_reason"]) == ("pending", None)
    assert after["version"] == before["version"] + 1
    [newest, *_] = admin.get(f"/api/admin/projects/{down}/history").json["items"]
    assert (newest["action"], newest["from"], newest["to"]) == ("project.resubmitted", "pending", "pending")
    assert owner.get(f"/api/projects/{down}/timeline").json["items"][-1]["event"] == "resubmitted"


@pytest.mark.parametrize("status", ["live", "pending", "rejected"])
def test_nothing_is_given_back_where_nothing_waits_for_the_owner(world: World, ada: Caller, status: str) -> None:
    owner, project = world.caller(ada), world.project(ada, status)
    before = entries(owner, project)
    answer = owner.post(f"/api/projects/{project}/messages", {"text": "Look.", "resubmit": True})
    assert (answer.status_code, answer.json["code"]) == (409, "invalid_transition")
    assert answer.json["current_status"] == status
    assert entries(owner, project) == before


def test_a_confirmed_address_is_needed_to_give_back_where_submissions_need_one(make_app: Any) -> None:
    mail = {"MAIL_URL": "smtp://127.0.0.1:1", "MAIL_FROM": "a@example.org", "SITE_URL": "http://localhost"}
    world = World(make_app(REQUIRE_VERIFIED_EMAIL="submit", **mail))
    ada = world.user()
    project = world.project(ada)
    world.caller(world.admin()).put(f"/api/admin/projects/{project}/unpublish")
    path, owner = f"/api/projects/{project}/messages", world.caller(ada)
    refused = owner.post(path, {"text": "Look.", "resubmit": True})
    assert (refused.status_code, refused.json["code"]) == (403, "email_not_verified")
    assert owner.post(path, {"text": "Why?"}).status_code == 201


# --- Erasing, exporting, deleting -------------------------------------------------------------------------------------


def test_an_administrator_empties_a_text_once(app: Flask, world: World, admin: Api, ada: Caller) -> None:
    owner, project = world.caller(ada), world.project(ada, "pending")
    written = owner.post(f"/api/projects/{project}/messages", {"text": "My number is unlisted."}).json
    for _ in range(2):
        assert admin.delete(f"/api/admin/messages/{written['id']}").status_code == 204
    assert entries(owner, project) == [("owner", "message", "")]
    logged = admin.get("/api/admin/audit?action=message.erased").json["items"]
    assert [entry["project_id"] for entry in logged] == [project]
    assert admin.delete("/api/admin/messages/999").status_code == 404
    assert owner.delete(f"/api/admin/messages/{written['id']}").status_code == 403


def test_the_export_has_what_was_written_by_a_member_and_to_the_member_without_notes(
    app: Flask, world: World, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    from directory.services.people import account_export

    root, project, other = world.admin(), world.project(ada, "pending"), world.project(status="pending")
    note(app, project, ada, root)
    world.caller(root).put(f"/api/admin/projects/{project}/reject", {"reason": "No."})
    world.caller(root).put(f"/api/admin/projects/{other}/reject", {"reason": "No."})
    world.caller(ada).post(f"/api/projects/{project}/messages", {"text": "Why?"})
    found = world.caller(ada).get("/api/auth/me/export").json
    assert [(each["project_id"], each["text"]) for each in found["messages"]] == [(project, "Why?"), (project, "No.")]
    assert [each["author"] for each in found["messages"]] == [{"id": ada.id, "username": "ada"}, None]
    of_root = world.caller(root).get("/api/auth/me/export").json["messages"]
    assert [each["project_id"] for each in of_root] == [other, project]
    monkeypatch.setattr(account_export, "MESSAGES_MAX", 1)
    short = world.caller(ada).get("/api/auth/me/export").json
    assert (short["complete"], [each["text"] for each in short["messages"]]) == (False, ["Why?"])


def test_what_an_owner_wrote_goes_with_the_account_and_a_reviewer_leaves_the_words_behind(
    app: Flask, world: World, ada: Caller
) -> None:
    root, live = world.admin(), world.project(ada)
    owner = world.caller(ada)
    owner.post(f"/api/projects/{live}/messages", {"text": "My number is unlisted."})
    note(app, live, ada, root)
    world.caller(root).put(f"/api/admin/projects/{live}/unpublish", {"reason": "A dead link."})
    world.caller(root).put(f"/api/admin/projects/{live}/approve")
    bob = world.user("bob")
    of_bob = world.project(bob, "pending")
    world.caller(root).put(f"/api/admin/projects/{of_bob}/reject", {"reason": "Spam."})
    assert owner.delete("/api/auth/me", json={"current_password": PASSWORD}).status_code == 204
    with app.app_context():
        rows = db.session.execute(select(Message.kind, Message.text, Message.author_id).order_by(Message.id)).all()
    assert [tuple(row) for row in rows] == [
        ("approved", "", None), ("message", "", ada.id), ("note", "", root.id),
        ("unpublished", "A dead link.", root.id), ("approved", "", root.id), ("rejected", "Spam.", root.id),
    ]  # fmt: skip
    world.admin("other")
    world.caller(root).delete("/api/auth/me", json={"current_password": PASSWORD})
    with app.app_context():
        kept = select(Message.text, Message.author_id).where(Message.project_id == of_bob)
        assert [tuple(row) for row in db.session.execute(kept)] == [("Spam.", None)]


def test_a_thread_goes_with_its_project(app: Flask, world: World, ada: Caller) -> None:
    project = world.project(ada)
    assert world.caller(ada).delete(f"/api/projects/{project}").status_code == 204
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(Message)) == 0


def test_messages_are_limited_by_a_tier_of_their_own(make_app: Any) -> None:
    world = World(make_app(RATELIMIT_ENABLED="true", RATELIMIT_MESSAGES="1 per hour"))
    ada = world.user()
    project, owner = world.project(ada, "pending"), world.caller(ada)
    answers = [owner.post(f"/api/projects/{project}/messages", {"text": "Look."}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 429]
    assert owner.put(f"/api/projects/{project}/messages/read", {"up_to": 1}).status_code == 204


def test_an_answer_is_an_event_without_its_text(make_app: Any) -> None:
    hook = '[{"url": "https://hooks.example/", "secret": "' + "s" * 32 + '", "events": ["project.answered"]}]'
    app = make_app(WEBHOOK_ENDPOINTS=hook)
    world = World(app)
    ada = world.user()
    project = world.project(ada, "pending")
    world.caller(ada).post(f"/api/projects/{project}/messages", {"text": "My number is unlisted."})
    [sent] = world.caller(world.admin()).get("/api/admin/webhooks/deliveries").json["items"]
    assert sent["event"] == "project.answered"
    assert sent["payload"]["data"]["answered_by"] == {"id": ada.id, "username": ada.username}
    assert "unlisted" not in str(sent["payload"])


@pytest.mark.parametrize("is_there", [False, True])
def test_the_rule_itself_knows_the_owner_alone(app: Flask, world: World, ada: Caller, is_there: bool) -> None:
    from directory.errors import NotFound
    from directory.services.review import conversation

    project = world.project(status="pending") if is_there else 999
    with app.app_context(), pytest.raises(NotFound):
        transaction(lambda: conversation.answer(project, "Look.", by=ada, notify=[]))
