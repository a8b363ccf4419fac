"""Submitting, editing and deleting."""

from typing import Any

import pytest
from flask import Flask

from directory.extensions import db
from directory.models import AuditEntry
from tests.conftest import Statements
from tests.support import extras
from tests.support.concurrent_calls import threads
from tests.support.factories import Api, World

BODY = {"title": "Datasette", "tagline": "Explore data", "url": "https://datasette.io/", "category": "tools"}


def log(app: Flask) -> list[tuple[str, str | None, str | None]]:
    with app.app_context():
        entries = db.session.query(AuditEntry).order_by(AuditEntry.id)
        return [(entry.action, entry.from_state, entry.to_state) for entry in entries]


@pytest.fixture
def owner(world: World) -> Any:
    world.category()
    return world.caller(world.user("bob"))


def test_a_submission_is_pending_and_says_its_place_in_the_queue(world: World, owner: Api) -> None:
    world.project(status="pending")
    answer = owner.post("/api/projects", {**BODY, "tags": ["data", "cli"], "repository_url": None})
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/projects/{answer.json['id']}"
    assert answer.json["status"] == "pending"
    assert answer.json["queue_position"] == 2
    assert answer.json["slug"] == "datasette"
    assert answer.json["tags"] == ["data", "cli"]
    assert answer.json["published_at"] is None
    assert answer.json["submitted_at"] == answer.json["created_at"]
    again = owner.get(answer.headers["Location"])
    assert again.json == answer.json
    assert again.headers["ETag"] == answer.headers["ETag"]


def test_nobody_else_sees_it_before_it_is_approved(world: World, api: Api, owner: Api) -> None:
    path = owner.post("/api/projects", BODY).headers["Location"]
    assert api.get(path).status_code == 404
    assert world.caller(world.user()).get(path).status_code == 404
    assert world.caller(world.admin()).get(path).json["queue_position"] == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""), ("title", "x" * 101), ("title", "\u200b"), ("title", "a\nb"), ("title", None), ("title", 1),
        ("tagline", "x" * 141), ("description", "x" * 10_001), ("description", None), ("url", "ftp://example.org"),
        ("url", "https://u:p@example.org"), ("url", None), ("repository_url", "javascript:alert(1)"),
        ("logo_url", ""), ("category", "none"), ("category", "No Slug"), ("category", None), ("tags", ["a", "a"]),
        ("tags", list("abcdef")), ("tags", ["No Slug"]), ("tags", "a"), ("tags", None), ("tags", [1]),
        ("status", "live"), ("owner", "bob"), ("upvotes", 9), ("id", 1),
    ],
)  # fmt: skip
def test_a_bad_field_is_refused_by_name(owner: Api, field: str, value: Any) -> None:
    answer = owner.post("/api/projects", {**BODY, field: value})
    assert answer.status_code == 422
    assert answer.json["errors"][0]["pointer"].startswith(f"#/{field}")
    path = owner.post("/api/projects", BODY).headers["Location"]
    assert owner.put(path, {field: value}).status_code == 422


@pytest.mark.parametrize("missing", ["title", "tagline", "url", "category"])
def test_what_is_required_is_asked_for(owner: Api, missing: str) -> None:
    answer = owner.post("/api/projects", {name: value for name, value in BODY.items() if name != missing})
    assert answer.status_code == 422
    assert answer.json["errors"][0]["pointer"] == f"#/{missing}"


@pytest.mark.parametrize(
    "same", ["http://datasette.io", "https://WWW.Datasette.io/", "https://datasette.io:443/#about"]
)
def test_an_owner_submits_a_url_once(world: World, owner: Api, same: str) -> None:
    owner.post("/api/projects", BODY)
    answer = owner.post("/api/projects", {**BODY, "url": same})
    assert (answer.status_code, answer.json["code"]) == (409, "duplicate")
    assert [error["pointer"] for error in answer.json["errors"]] == ["#/url"]
    own = {
        "id": owner.get("/api/projects?owner=me").json["items"][0]["id"],
        "title": BODY["title"],
        "status": "pending",
    }
    assert answer.json["existing"] == own
    assert world.caller(world.user()).post("/api/projects", {**BODY, "url": same}).status_code == 201
    other = owner.post("/api/projects", {**BODY, "url": "https://other.example"}).headers["Location"]
    for caller in (owner, world.caller(world.admin())):
        refused = caller.put(other, {"url": same, "title": "Another"})
        assert (refused.status_code, refused.json["code"], refused.json["existing"]) == (409, "duplicate", own)
    assert owner.get(other).json["url"] == "https://other.example"


def test_of_many_submissions_of_one_url_at_once_all_but_one_name_the_project_that_holds_it(app: Flask) -> None:
    world = World(app)
    world.category(BODY["category"])
    token = world.caller(world.user()).token
    answers = threads(app, [[(token, "POST", "/api/projects", BODY)] for _ in range(8)])
    assert sorted(answer["status"] for answer in answers) == [201] + [409] * 7
    [made] = [answer["json"]["id"] for answer in answers if answer["status"] == 201]
    assert {answer["json"]["existing"]["id"] for answer in answers if answer["status"] == 409} == {made}


@pytest.mark.parametrize("partial", [False, True])
def test_one_answer_reports_all_that_is_wrong_with_a_submission(owner: Api, partial: bool) -> None:
    bad = {"title": "\ud800", "url": "ftp://x", "category": "no-such", "tags": ["A"], "unknown": 1}
    if partial:
        answer = owner.put(owner.post("/api/projects", BODY).headers["Location"], bad)
    else:
        answer = owner.post("/api/projects", bad)
    pointers = ["#/category", "#/tags/0", "#/title", "#/unknown", "#/url"]
    assert sorted(error["pointer"] for error in answer.json["errors"]) == sorted(
        pointers + ([] if partial else ["#/tagline"])
    )
    assert "errors_truncated" not in answer.json


def test_an_edit_of_a_rejected_project_sends_it_back(app: Flask, world: World, owner: Api) -> None:
    path = owner.post("/api/projects", BODY).headers["Location"]
    project_id = int(path.rpartition("/")[2])
    admin = world.caller(world.admin())
    admin.put(f"/api/admin/projects/{project_id}/reject", {"reason": "Say more."})
    assert owner.get(path).json["rejection_reason"] == "Say more."
    assert owner.put(path, {"title": BODY["title"]}).json["status"] == "rejected"
    edited = owner.put(path, {"description": "More."}).json
    assert (edited["status"], edited["rejection_reason"], edited["queue_position"]) == ("pending", None, 1)
    assert edited["submitted_at"] > edited["created_at"]
    assert log(app)[-2:] == [
        ("project.rejected", "pending", "rejected"),
        ("project.edited", "rejected", "pending"),
    ]


def test_an_edit_that_changes_nothing_leaves_no_trace(app: Flask, owner: Api) -> None:
    first = owner.post("/api/projects", BODY)
    answer = owner.put(first.headers["Location"], BODY)
    assert answer.status_code == 200
    assert answer.headers["ETag"] == first.headers["ETag"]
    assert owner.put(first.headers["Location"], {}).json == first.json
    assert len(log(app)) == 1


@pytest.mark.parametrize(
    ("review", "changes", "held"),
    [
        ("material", {"title": "Other"}, ["title"]), ("material", {"url": "https://other.example"}, ["url"]),
        ("material", {"tagline": "Other", "tags": ["x"]}, ["tagline"]), ("material", {"tags": ["x"]}, []),
        ("always", {"tags": ["x"]}, ["tags"]), ("never", {"title": "Other"}, []),
    ],
)  # fmt: skip
def test_what_was_reviewed_is_what_is_shown(
    make_app: Any, world: World, review: str, changes: dict[str, str], held: list[str]
) -> None:
    app = make_app(REVIEW_ON_EDIT=review)
    bob = world.user()
    path = f"/api/projects/{world.project(bob, votes=1)}"
    caller = Api(app, world.caller(bob).token)
    before = caller.get(path).json
    answer = caller.put(path, changes).json
    assert (answer["status"], answer["upvotes"]) == ("live", 1)
    assert answer["published_at"] is not None
    assert {name: answer[name] for name in changes} == {
        name: before[name] if name in held else value for name, value in changes.items()
    }
    waits = answer["revision"] and answer["revision"]["changes"]
    assert waits == ({name: changes[name] for name in held} or None)


def test_an_administrators_edit_never_changes_the_state(world: World) -> None:
    admin = world.caller(world.admin())
    for status in ("live", "pending", "rejected"):
        edited = admin.put(f"/api/projects/{world.project(status=status)}", {"title": "Edited", "tagline": "E"})
        assert edited.json["status"] == status
        assert edited.json["slug"] == "edited"
    own = world.admin()
    rejected = world.project(own, "rejected")
    kept = world.caller(own).put(f"/api/projects/{rejected}", {"title": "Mine"}).json
    assert (kept["status"], kept["rejection_reason"]) == ("rejected", "Not yet.")


def test_others_are_refused_and_the_hidden_stays_hidden(world: World, api: Api) -> None:
    eve = world.caller(world.user())
    for status, code in (("live", 403), ("pending", 404), ("rejected", 404)):
        path = f"/api/projects/{world.project(status=status)}"
        assert eve.put(path, {"title": "Mine"}).status_code == code
        assert eve.delete(path).status_code == code
        assert eve.put(path, data=b"not read").status_code == code
        assert api.delete(path).status_code == 401
    assert eve.delete("/api/projects/999").status_code == 404


def test_if_match_guards_edits_and_deletions(world: World) -> None:
    bob = world.user()
    caller, project = world.caller(bob), world.project(bob)
    path = f"/api/projects/{project}"
    etag = caller.get(path).headers["ETag"]
    world.vote(project, world.user())
    assert caller.put(path, {"tagline": "A"}, headers={"If-Match": etag}).status_code == 200
    for stale in (etag, '"nope"', 'W/"2-x"', "garbage", '"99-x"'):
        answer = caller.put(path, {"tagline": "B"}, headers={"If-Match": stale})
        assert (answer.status_code, answer.json["code"]) == (412, "precondition_failed")
        assert caller.delete(path, headers={"If-Match": stale}).status_code == 412
    assert caller.get(path).json["revision"]["changes"] == {"tagline": "A"}
    assert caller.put(path, {"tagline": "C"}, headers={"If-Match": "*"}).status_code == 200
    current = caller.get(path).headers["ETag"]
    for had in ("*", current, f'"0-x", W/{current}'):
        for options in ({"If-None-Match": had}, {"If-None-Match": had, "If-Match": current}):
            assert caller.put(path, {"tagline": "D"}, headers=options).status_code == 412
            assert caller.delete(path, headers=options).status_code == 412
    assert caller.put(path, {"tagline": "E"}, headers={"If-None-Match": '"0-x", "nope"'}).status_code == 200
    current = caller.get(path).headers["ETag"]
    assert caller.delete(path, headers={"If-Match": f'"0-x", {current}'}).status_code == 204


def test_a_deletion_takes_the_votes_and_leaves_the_history(app: Flask, world: World, owner: Api) -> None:
    path = owner.post("/api/projects", BODY).headers["Location"]
    admin = world.caller(world.admin())
    admin.put(f"/api/admin{path.removeprefix('/api')}/reject", {"reason": "Spam."})
    assert owner.delete(path).status_code == 204
    assert owner.get(path).status_code == 404
    assert owner.delete(path).status_code == 404
    anew = owner.post("/api/projects", {**BODY, "url": "http://www.datasette.io"}).headers["Location"]
    assert anew != path
    history = admin.get(f"/api/admin{anew.removeprefix('/api')}/history").json["items"]
    assert [entry["action"] for entry in history] == [
        "project.submitted", "project.deleted", "project.rejected", "project.submitted",
    ]  # fmt: skip
    assert history[2]["reason"] == "Spam."
    assert admin.get(f"/api/admin{path.removeprefix('/api')}/history").status_code == 200
    assert admin.get("/api/admin/projects/999/history").status_code == 404


def test_text_is_kept_as_given_save_for_its_form(owner: Api) -> None:
    body = {**BODY, "title": "  e\u0301tude  ", "description": " # Hi\r\n\tThere 🙂 "}
    answer = owner.post("/api/projects", body).json
    assert answer["title"] == "étude"
    assert answer["description"] == " # Hi\n\tThere 🙂 "


def test_an_edit_costs_few_statements(world: World, statements: Statements, migrated: Any) -> None:
    bob = world.user()
    caller, project = world.caller(bob), world.project(bob)
    caller.get("/api/projects")
    statements.clear()
    caller.put(f"/api/projects/{project}", {"tagline": "Other"})
    # who calls, may they, their account and the project locked, its revision, that it waits, the project's version, the
    # log, the answer; what the member has stored today; and with the rules against spam the facts by which these judge,
    # read, and stored in place of those of the edit before
    assert len(statements) == (13 if "spam_rules" in extras.ON else 10)
    statements.clear()
    caller.put(f"/api/projects/{project}", {"tags": ["other"]})
    # the same, with the change and the index (two tables on SQLite) in place of the revision and the version
    assert len(statements) == (10 if migrated.backend == "postgresql" else 11)


@pytest.mark.parametrize("value", ["false", 0, None])
def test_whether_an_edit_gives_back_is_true_or_false_and_nothing_like_it(world: World, value: Any) -> None:
    bob = world.user()
    answer = world.caller(bob).put(f"/api/projects/{world.project(bob, 'pending')}", {"give_back": value})
    assert (answer.status_code, [each["pointer"] for each in answer.json["errors"]]) == (422, ["#/give_back"])
