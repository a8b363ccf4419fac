"""Saved replies: reviewers read them, administrators write them, at most a hundred with names of their own."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, func, select

from directory.db import first_rows
from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.replies.replies import MOST
from directory.models import AuditEntry, SavedReply
from tests.support.factories import Api, World

REPLIES = "/api/review/replies"
REPLY = {"name": "Unclear", "decision": "request_changes", "text": "What does {title} do, {owner}?\n{site}"}


@pytest.fixture
def admin(world: World) -> Api:
    return world.caller(world.admin())


def log(app: Flask) -> list[tuple[str, Any]]:
    with app.app_context():
        query = select(AuditEntry.action, AuditEntry.changes).where(AuditEntry.action.startswith("reply."))
        return [(action, changes) for action, changes in db.session.execute(query.order_by(AuditEntry.id))]


def fill(app: Flask, number: int) -> None:
    """Have so many saved replies."""
    rows = [SavedReply(name=f"Reply {n}", decision="reject", text="x") for n in range(number)]
    with app.app_context():
        transaction(lambda: db.session.execute(delete(SavedReply)) and db.session.add_all(rows))


def test_reviewers_read_by_name_what_administrators_write(app: Flask, world: World, admin: Api) -> None:
    fill(app, 0)
    with app.app_context():  # as a migration or a new database has them
        transaction(lambda: first_rows.insert_replies(db.session.connection()))
    reviewer = world.caller(world.reviewer())
    first = reviewer.get(REPLIES).json["items"]
    for decision, texts in first_rows.REPLIES.items():
        assert {each["name"]: each["text"] for each in first if each["decision"] == decision} == texts
    made = admin.post(REPLIES, REPLY)
    assert (made.status_code, made.json) == (201, {"id": made.json["id"], **REPLY})
    path = f"{REPLIES}/{made.json['id']}"
    changed = admin.put(path, {"name": "aardvark", "decision": "unpublish"}).json
    assert changed == {"id": made.json["id"], **REPLY, "name": "aardvark", "decision": "unpublish"}
    assert admin.put(path, {"text": REPLY["text"]}).status_code == 200  # changes nothing
    names = [each["name"] for each in reviewer.get(REPLIES).json["items"]]
    assert names == sorted([*(each["name"] for each in first), "aardvark"], key=str.lower)
    assert [admin.delete(path).status_code for _ in range(2)] == [204, 404]
    assert admin.put(path, {"text": "x"}).status_code == 404
    assert reviewer.get(REPLIES).json["items"] == first
    same = {"from": "aardvark", "to": "aardvark"}
    assert log(app) == [
        ("reply.created", {name: {"from": None, "to": value} for name, value in REPLY.items()}),
        (
            "reply.changed",
            {"name": {**same, "from": "Unclear"}, "decision": {"from": "request_changes", "to": "unpublish"}},
        ),
        (
            "reply.deleted",
            {
                "name": {**same, "to": None},
                "decision": {"from": "unpublish", "to": None},
                "text": {"from": REPLY["text"], "to": None},
            },
        ),
    ]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": " "}, "#/name"), ({"name": "x" * 61}, "#/name"), ({"text": ""}, "#/text"),
        ({"text": "x" * 2001}, "#/text"), ({"decision": "approve"}, "#/decision"), ({"id": 7}, "#/id"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_refused(app: Flask, admin: Api, change: dict[str, Any], pointer: str) -> None:
    refused = admin.post(REPLIES, {**REPLY, **change})
    assert (refused.status_code, [each["pointer"] for each in refused.json["errors"]]) == (422, [pointer])
    assert log(app) == []


def test_names_are_unique(app: Flask, admin: Api) -> None:
    other = admin.post(REPLIES, {**REPLY, "name": "Other"}).json["id"]
    before = log(app)
    assert admin.post(REPLIES, REPLY).status_code == 201
    for refused in (admin.post(REPLIES, REPLY), admin.put(f"{REPLIES}/{other}", {"name": REPLY["name"]})):
        assert (refused.status_code, refused.json["code"]) == (409, "duplicate")
        assert [each["pointer"] for each in refused.json["errors"]] == ["#/name"]
    assert [action for action, _ in log(app)[len(before) :]] == ["reply.created"]


def test_of_those_who_save_the_last_reply_at_once_one_does(app: Flask, world: World) -> None:
    fill(app, MOST - 1)
    callers = [Api(app, world.caller(world.admin()).token) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: callers[n].post(REPLIES, {**REPLY, "name": f"Last {n}"}), range(8)))
    assert sorted(each.status_code for each in found) == [201] + [409] * 7
    assert {each.json["code"] for each in found if each.status_code == 409} == {"too_many"}
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(SavedReply)) == MOST


@pytest.mark.parametrize(
    "text", ["Dear {name}", "{Title}", "{title", "owner}", "{ title }", "{{title}}", "{titles}", "{имя}"]
)
def test_a_word_in_braces_that_stands_for_nothing_is_refused_with_those_that_do(admin: Api, text: str) -> None:
    made = admin.post(REPLIES, REPLY).json["id"]
    for answer in (
        admin.post(REPLIES, {**REPLY, "name": "Other", "text": text}),
        admin.put(f"{REPLIES}/{made}", {"text": text}),
    ):
        assert answer.status_code == 422
        detail = "These alone may be in braces: {title}, {owner}, {site}."
        assert answer.json["errors"] == [{"pointer": "#/text", "detail": detail}]


def test_braces_without_a_word_are_letters_as_others(admin: Api) -> None:
    text = "{title}{owner} :-} {} { } {site}"
    assert admin.post(REPLIES, {**REPLY, "text": text}).json["text"] == text
