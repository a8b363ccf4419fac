"""The ledger's checker finds a wrong database out: each kind of damage is done to a right one, and is named."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

from directory.extensions import db
from tests.conftest import Database
from tests.support.factories import Api, World
from tests.support.ledger import Ledger, check

HOOK = '[{"url": "http://127.0.0.1:9/hook", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}]'


class History:
    """What happened to a database, noted as the callers saw it."""

    def __init__(self, app: Flask, world: World, path: Path) -> None:
        self.app, self.ledger = app, Ledger(path)
        self.owner, self.admin = world.user(), world.admin()
        self.by, self.decides = Api(app, world.caller(self.owner).token), Api(app, world.caller(self.admin).token)
        world.category("tools")
        self.live = self.submit("https://one.example")
        self.decide("approve", self.live)
        self.pending = self.submit("https://two.example")
        self.toggle(self.live)

    def submit(self, url: str) -> int:
        given = {"title": "One", "tagline": "One", "url": url, "category": "tools"}
        answer = self.by.post("/api/projects", given)
        self.ledger.note("submit", answer.status_code, project=answer.json["id"], title=given["title"])
        return int(answer.json["id"])

    def decide(self, word: str, project: int) -> None:
        answer = self.decides.put(f"/api/admin/projects/{project}/{word}")
        self.ledger.note(word, answer.status_code, project=project)

    def toggle(self, project: int) -> None:
        answer = self.by.post(f"/api/projects/{project}/upvote")
        self.ledger.note("toggle", answer.status_code, user=self.owner.id, project=project)

    def edit(self, project: int, title: str) -> None:
        answer = self.by.put(f"/api/projects/{project}", {"title": title})
        self.ledger.note("edit", answer.status_code, project=project, title=title, state=answer.json["status"])

    def delete(self, project: int) -> None:
        answer = self.by.delete(f"/api/projects/{project}")
        self.ledger.note("delete", answer.status_code, project=project)

    def damage(self, *statements: str) -> None:
        """Change the database without a note in the ledger."""
        named = {"live": self.live, "pending": self.pending, "user": self.owner.id, "admin": self.admin.id}
        with self.app.app_context(), db.engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement.format(**named)))


@pytest.fixture
def history(make_app: Any, tmp_path: Path) -> Any:
    app = make_app(WEBHOOK_ENDPOINTS=HOOK, REVIEW_ON_EDIT="never")
    made = History(app, World(app), tmp_path / "ledger")
    yield made
    made.ledger.close()


def found(history: History, database: Database) -> list[str]:
    return check(history.ledger.path, database.url)


def test_a_correct_database_passes(history: History, database: Database) -> None:
    for word in ("unpublish", "approve", "approve", "reject"):  # the last two change nothing
        history.decide(word, history.live)
    history.edit(history.live, "Another")
    history.decide("approve", history.live)
    history.decide("reject", history.pending)
    gone = history.submit("https://three.example")
    history.toggle(gone)
    history.delete(gone)
    assert found(history, database) == []


DEMOTED = (
    "INSERT INTO audit_entries (action, at, actor_id, user_id, to_state)"
    " VALUES ('user.role_changed', CURRENT_TIMESTAMP, {})"
)
EDGE = "INSERT INTO audit_entries (action, at, project_id, from_state, to_state) VALUES ({})"


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["UPDATE projects SET upvotes = 2 WHERE id = {live}"], "counts 2 votes and has 1"),
        (["DELETE FROM upvotes", "UPDATE projects SET upvotes = 0"], "was told to have a vote"),
        (
            [
                "INSERT INTO upvotes (user_id, project_id, created_at) VALUES ({user}, {pending}, CURRENT_TIMESTAMP)",
                "UPDATE projects SET upvotes = 1 WHERE id = {pending}",
            ],
            "never voted for",
        ),
        (["DELETE FROM deliveries"], "has 1 approvals and 0 events"),
        (["UPDATE deliveries SET project_id = {pending}"], "has 0 approvals and 1 events"),
        ([EDGE.format("'project.edited', CURRENT_TIMESTAMP, {pending}, 'pending', 'live'")], "it from pending to live"),
        ([EDGE.format("'project.unpublished', CURRENT_TIMESTAMP, {pending}, 'live', 'pending'")], "was pending and"),
        (
            [
                "UPDATE reviews SET turn = NULL, outcome = 'rejected' WHERE is_current",
                "UPDATE projects SET status = 'rejected' WHERE id = {pending}",
            ],
            "is rejected, by the audit log pending",
        ),
        (["UPDATE users SET role = 'member'"], "there is no active administrator"),
        (["UPDATE users SET status = 'suspended'"], "there is no active administrator"),
        (["UPDATE projects SET title = 'Lost' WHERE id = {live}"], "is called Lost, by what was acknowledged One"),
        (
            [
                "UPDATE reviews SET project_id = {live} WHERE is_current",
                "UPDATE projects SET status = 'pending' WHERE id = {live}",
                EDGE.format("'project.unpublished', CURRENT_TIMESTAMP, {live}, 'live', 'pending'"),
            ],
            "is pending, by what was acknowledged live",
        ),
        (
            [DEMOTED.format("{admin}, {user}, 'member'"), DEMOTED.format("{user}, {admin}, 'member'")],
            "after having lost that power",
        ),
        (["DELETE FROM projects WHERE id = {pending}"], "was acknowledged and is not there"),
    ],
)  # fmt: skip
def test_a_wrong_database_fails(history: History, database: Database, statements: list[str], said: str) -> None:
    history.damage(*statements)
    assert any(said in wrong for wrong in found(history, database))


@pytest.mark.parametrize(
    ("op", "reply", "said"),
    [
        ("submit", 201, "was acknowledged and is not there"),
        ("approve", 200, "approve was acknowledged and never happened"),
        ("unpublish", 200, "unpublish was acknowledged and never happened"),
    ],
)
def test_a_lost_acknowledged_write_fails(history: History, database: Database, op: str, reply: int, said: str) -> None:
    history.ledger.note(op, reply, project=4711)
    assert any(said in wrong for wrong in found(history, database))


def test_a_lost_deletion_fails(history: History, database: Database) -> None:
    history.ledger.note("delete", 204, project=history.pending)
    assert found(history, database) == [f"project {history.pending} was deleted and is there"]


def test_a_lost_toggle_fails_and_one_of_unknown_outcome_does_not(history: History, database: Database) -> None:
    vote = {"user": history.owner.id, "project": history.live}
    history.ledger.note("toggle", None, **vote)
    assert found(history, database) == []
    history.ledger.note("cast", 200, **vote)  # settles the doubt
    assert found(history, database) == []
    history.ledger.note("toggle", 200, **vote)
    assert found(history, database) == [f"user {history.owner.id} was told not to have a vote for {history.live}"]
    history.ledger.note("toggle", 503, **vote)
    assert found(history, database) == []
    history.ledger.note("withdraw", 200, **vote)
    assert len(found(history, database)) == 1
    assert check(history.ledger.path, database.url, late=True) == []  # the unknown one may have come after it


def test_a_lost_second_decision_fails(history: History, database: Database) -> None:
    for word in ("unpublish", "approve"):
        history.decide(word, history.live)
    history.ledger.note("reject", 409, project=history.live)
    assert found(history, database) == []
    history.ledger.note("unpublish", 200, project=history.live)
    twice = f"project {history.live}: unpublish was acknowledged 2 times and happened 1 times"
    assert found(history, database) == [twice, f"project {history.live} is live, by what was acknowledged pending"]
    history.ledger.note("approve", None, project=history.live)  # it may have been done after all
    assert found(history, database) == [twice]


def test_a_lost_approval_fails_even_after_an_earlier_one(history: History, database: Database) -> None:
    history.decide("unpublish", history.live)
    history.ledger.note("approve", 200, project=history.live)
    assert found(history, database) == [f"project {history.live} is pending, by what was acknowledged live"]
    history.ledger.note("unpublish", None, project=history.live)
    assert found(history, database) == []


def test_a_lost_edit_fails(history: History, database: Database) -> None:
    history.edit(history.pending, "Another")
    assert found(history, database) == []
    lost = {"project": history.pending, "title": "Third", "state": "pending"}
    history.ledger.note("edit", 503, **lost)
    history.ledger.note("edit", 409, **lost)
    assert found(history, database) == []
    history.ledger.note("edit", 200, **lost)
    assert found(history, database) == [f"project {history.pending} is called Another, by what was acknowledged Third"]
    history.edit(history.pending, "Fourth")
    history.ledger.note("edit", None, **lost)
    assert found(history, database) == []


def test_an_unknown_outcome_is_settled_by_the_next_acknowledged_request(history: History, database: Database) -> None:
    history.ledger.note("edit", 503, project=history.pending, title="Second", state=None)
    history.edit(history.pending, "Third")
    history.damage("UPDATE projects SET title = 'Second' WHERE id = {pending}")
    assert found(history, database) == [f"project {history.pending} is called Second, by what was acknowledged Third"]
    assert check(history.ledger.path, database.url, late=True) == []


def test_of_two_concurrent_requests_either_may_be_the_last(history: History, database: Database) -> None:
    began, other = time.monotonic(), {"project": history.pending, "title": "Other", "state": "pending"}
    history.edit(history.pending, "Another")
    history.ledger.note("edit", 200, began=began, **other)
    assert found(history, database) == []
    history.ledger.note("edit", 200, **other)
    assert found(history, database) == [f"project {history.pending} is called Another, by what was acknowledged Other"]


def test_an_edit_is_a_decision_where_it_sends_a_project_to_review(history: History, database: Database) -> None:
    history.decide("reject", history.pending)
    history.edit(history.pending, "Another")
    assert found(history, database) == []
    history.damage(
        "UPDATE reviews SET turn = NULL, outcome = 'rejected' WHERE is_current",
        "UPDATE projects SET status = 'rejected' WHERE id = {pending}",
        EDGE.format("'project.rejected', CURRENT_TIMESTAMP, {pending}, 'pending', 'rejected'"),
    )
    assert found(history, database) == [f"project {history.pending} is rejected, by what was acknowledged pending"]
    history.ledger.note("reject", None, project=history.pending)
    assert found(history, database) == []


def test_a_restored_administrator_may_act_again(history: History, database: Database) -> None:
    history.damage(
        DEMOTED.format("{admin}, {user}, 'member'"),
        DEMOTED.format("{user}, {user}, 'member'"),
        DEMOTED.format("{admin}, {user}, 'admin'"),
        DEMOTED.format("{user}, {admin}, 'member'"),
    )
    assert found(history, database) == []


def test_a_refused_request_counts_for_nothing(history: History, database: Database) -> None:
    for op in ("toggle", "submit", "edit", "delete", "approve"):
        history.ledger.note(op, 409, user=history.owner.id, project=history.pending)
    assert found(history, database) == []


def test_each_line_is_written_before_the_next_is_asked(history: History) -> None:
    lines = history.ledger.path.read_text().splitlines()
    history.ledger.note("toggle", 500, user=1, project=2)
    added = history.ledger.path.read_text().splitlines()[len(lines) :]
    found = [json.loads(line) for line in added]
    assert [line.pop("began") - line.pop("ended") for line in found] == [0]
    assert found == [{"op": "toggle", "user": 1, "project": 2, "reply": "unknown"}]
