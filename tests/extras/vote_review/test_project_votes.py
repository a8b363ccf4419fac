"""The votes of a project for administrators: who voted, by what signs a vote is doubtful, and decisions about them."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Upvote, User, now
from directory.services.identity import Caller
from tests.conftest import Statements
from tests.support.factories import Api, World

ALL = ["new_accounts", "unverified", "single_owner"]


@pytest.fixture
def root(world: World) -> Api:
    return world.caller(world.admin("root"))


def path(project: int) -> str:
    return f"/api/admin/projects/{project}/votes"


def decide(root: Api, project: int, decision: str, **body: Any) -> dict[str, Any]:
    answer = root.post(f"{path(project)}/decisions", {"decision": decision, **body})
    assert answer.status_code == 200, answer.json
    return answer.json  # type: ignore[no-any-return]


def seen(root: Api, project: int, query: str = "") -> list[int]:
    return [item["user"]["id"] for item in root.get(path(project) + query).json["items"]]


def entries(root: Api) -> list[tuple[str, str | None, Any]]:
    items = root.get("/api/admin/audit?limit=100").json["items"]
    return [(e["action"], e["reason"], e["votes"]) for e in items if e["action"].startswith("project.votes")]


def change(app: Flask, user: Caller, **values: Any) -> None:
    with app.app_context():
        transaction(lambda: db.session.execute(update(User).where(User.id == user.id).values(**values)))


def settled(app: Flask, world: World, *, verified: bool = True, days: int = 30) -> Caller:
    """A user whose account is some days old."""
    user = world.user()
    change(app, user, created_at=now() - timedelta(days=days), email_verified_at=now() if verified else None)
    return user


def test_it_shows_who_voted_and_what_else_they_voted_for(app: Flask, world: World, root: Api) -> None:
    owner, fan, other_fan = world.user(), settled(app, world), world.user()
    project, second, other = world.project(owner), world.project(owner), world.project()
    for each in (second, other):  # somebody else's votes are not among them
        world.vote(each, other_fan)
    for each in (other, second, project):
        world.vote(each, fan)
    item = root.get(path(project)).json["items"][0]
    with app.app_context():
        stored = db.session.get_one(User, fan.id)
        vote = db.session.get_one(Upvote, (fan.id, project))
        joined, at = (instant.isoformat(timespec="microseconds") for instant in (stored.created_at, vote.created_at))
    assert item == {
        "user": {
            "id": fan.id,
            "username": fan.username,
            "status": "active",
            "created_at": joined.replace("+00:00", "Z"),
            "email_verified": True,
        },
        "at": at.replace("+00:00", "Z"),
        "counted": True,
        "votes": 3,
        "for_owner": 2,
    }


def test_votes_are_listed_newest_first_by_cursor(app: Flask, world: World, root: Api) -> None:
    project, users = world.project(), [world.user() for _ in range(5)]
    for user in users:
        world.vote(project, user)
    with app.app_context():  # two of one instant
        at = db.session.get_one(Upvote, (users[1].id, project)).created_at
        same = update(Upvote).where(Upvote.user_id == users[2].id).values(created_at=at)
        transaction(lambda: db.session.execute(same))
    newest = [user.id for user in reversed(users)]
    assert seen(root, project) == newest
    found, cursor = [], ""
    for _ in range(3):
        answer = root.get(f"{path(project)}?limit=2{cursor}").json
        found += [item["user"]["id"] for item in answer["items"]]
        assert answer["summary"]["counted"] == 5
        cursor = f"&cursor={answer['pagination']['next_cursor']}"
    assert found == newest
    assert answer["pagination"]["next_cursor"] is None
    before = root.get(f"{path(project)}?limit=2&cursor={answer['pagination']['prev_cursor']}").json["items"]
    assert [item["user"]["id"] for item in before] == newest[2:4]
    refused = root.get(f"{path(project)}?limit=2&counted=true{cursor}")
    assert refused.status_code == 422


def test_they_are_narrowed_to_those_that_count_and_those_that_do_not(app: Flask, world: World, root: Api) -> None:
    project = world.project()
    fan, gone, shill = (world.user() for _ in range(3))
    for user in (fan, gone, shill):
        world.vote(project, user)
    root.put(f"/api/admin/users/{gone.id}", {"status": "suspended"})
    decide(root, project, "discount", user_ids=[shill.id])
    assert seen(root, project) == [shill.id, gone.id, fan.id]
    assert seen(root, project, "?counted=true") == [fan.id]
    assert seen(root, project, "?counted=false") == [shill.id, gone.id]
    items = root.get(path(project)).json["items"]
    assert [(item["counted"], item["user"]["status"]) for item in items] == [
        (False, "active"), (False, "suspended"), (True, "active"),
    ]  # fmt: skip
    assert root.get(f"{path(project)}?counted=yes").status_code == 422


def test_the_summary_counts_each_sign(app: Flask, world: World, root: Api) -> None:
    owner = world.user()
    project, second, elsewhere = world.project(owner), world.project(owner), world.project()
    honest, fresh, unverified, single, both = (settled(app, world) for _ in range(5))
    change(app, fresh, created_at=now() - timedelta(hours=23))
    change(app, unverified, email_verified_at=None)
    world.vote(elsewhere, honest)
    world.vote(second, honest)
    world.vote(second, single)
    for user in (honest, fresh, unverified, single, both):
        world.vote(project, user)
    summary = {"counted": 5, "discounted": 0, "suspended": 0, "new_accounts": 1, "unverified": 1, "single_owner": 1}
    assert root.get(path(project)).json["summary"] == summary
    decide(root, project, "discount", user_ids=[both.id, single.id])
    for user in (both, fresh):
        root.put(f"/api/admin/users/{user.id}", {"status": "suspended"})
    # A discounted vote of a suspended user is discounted; the signs are those of all votes.
    summary |= {"counted": 2, "discounted": 2, "suspended": 1}
    assert root.get(path(project)).json["summary"] == summary
    assert root.get(f"{path(project)}?counted=false&limit=1").json["summary"] == summary
    zeros = dict.fromkeys(summary, 0)
    assert root.get(path(world.project())).json["summary"] == zeros


@pytest.mark.parametrize(
    ("age", "new"),
    [
        (timedelta(hours=24), 0),
        (timedelta(hours=24, microseconds=-1), 1),
        (timedelta(hours=24, microseconds=1), 0),
        (timedelta(0), 1),
    ],
)
def test_an_account_is_new_for_24_hours_to_the_microsecond(
    app: Flask, world: World, root: Api, age: timedelta, new: int
) -> None:
    user, project = world.user(), world.project()
    world.vote(project, user)
    with app.app_context():
        at: datetime = db.session.scalars(select(Upvote.created_at)).one()
    change(app, user, created_at=at - age)
    assert root.get(path(project)).json["summary"]["new_accounts"] == new
    assert decide(root, project, "discount", match=["new_accounts"])["changed"] == new


def test_a_ring_is_found_and_discounted_by_a_rule_and_counted_again(app: Flask, world: World, root: Api) -> None:
    owner = world.user()
    pushed, second, other = world.project(owner), world.project(owner), world.project()
    ring, fans = [settled(app, world) for _ in range(3)], [settled(app, world) for _ in range(2)]
    for user in ring:
        world.vote(second, user)
        world.vote(pushed, user)
    for fan in fans:
        world.vote(other, fan)
        world.vote(pushed, fan)
    assert root.get(path(pushed)).json["summary"]["single_owner"] == 3
    assert decide(root, pushed, "discount", match=["single_owner"], reason="One ring.") == {"changed": 3, "upvotes": 2}
    assert root.get(f"/api/projects/{second}").json["upvotes"] == 3
    assert sorted(seen(root, pushed, "?counted=false")) == sorted(user.id for user in ring)
    assert root.get(path(pushed)).json["summary"]["single_owner"] == 3
    assert decide(root, pushed, "count", match=["single_owner"]) == {"changed": 3, "upvotes": 5}
    votes = {"number": 3, "user_ids": sorted(user.id for user in ring)}
    assert entries(root) == [
        ("project.votes_counted", None, votes), ("project.votes_discounted", "One ring.", votes),
    ]  # fmt: skip


def test_match_means_any_of_the_rules(app: Flask, world: World, root: Api) -> None:
    project = world.project()
    honest, fresh, unverified = (settled(app, world) for _ in range(3))
    change(app, fresh, created_at=now())
    change(app, unverified, email_verified_at=None)
    for user in (honest, fresh, unverified):
        world.vote(project, user)
    assert decide(root, project, "discount", match=ALL) == {"changed": 2, "upvotes": 1}
    assert seen(root, project, "?counted=true") == [honest.id]
    assert decide(root, project, "count", match=["unverified"]) == {"changed": 1, "upvotes": 2}
    assert decide(root, project, "count", match=["single_owner"]) == {"changed": 0, "upvotes": 2}


def test_a_decision_is_idempotent_and_is_logged_where_it_changed_something(world: World, root: Api) -> None:
    project, voters, bystander = world.project(), [world.user() for _ in range(3)], world.user()
    for user in voters:
        world.vote(project, user)
    ids = [user.id for user in voters]
    assert decide(root, project, "count", user_ids=ids) == {"changed": 0, "upvotes": 3}
    first = decide(root, project, "discount", user_ids=[ids[1], bystander.id, 10**9, ids[0]], reason="A ring.")
    assert first == {"changed": 2, "upvotes": 1}
    assert decide(root, project, "discount", user_ids=ids[:2]) == {"changed": 0, "upvotes": 1}
    assert decide(root, project, "discount", user_ids=ids) == {"changed": 1, "upvotes": 0}
    assert decide(root, project, "count", user_ids=[*ids, bystander.id]) == {"changed": 3, "upvotes": 3}
    assert entries(root) == [
        ("project.votes_counted", None, {"number": 3, "user_ids": ids}),
        ("project.votes_discounted", None, {"number": 1, "user_ids": ids[2:]}),
        ("project.votes_discounted", "A ring.", {"number": 2, "user_ids": ids[:2]}),
    ]
    log = root.get("/api/admin/audit?action=project.votes_discounted").json["items"]
    assert [(e["project_id"], e["project"]["id"], e["actor"]["username"], e["user_id"]) for e in log] == [
        (project, project, "root", None)
    ] * 2
    history = root.get(f"/api/admin/projects/{project}/history").json["items"]
    assert [e["votes"] for e in history if e["action"] == "project.submitted"] == [None]


@pytest.mark.parametrize("means", ["user_ids", "match"])
def test_a_decision_is_about_the_votes_for_one_project_alone(world: World, root: Api, means: str) -> None:
    one, other, sock = world.project(), world.project(), world.user()
    world.vote(one, sock)
    world.vote(other, sock)
    votes = {"user_ids": [sock.id]} if means == "user_ids" else {"match": ["new_accounts"]}

    def counted() -> list[int]:
        return [root.get(f"/api/projects/{project}").json["upvotes"] for project in (one, other)]

    assert decide(root, one, "discount", **votes) == {"changed": 1, "upvotes": 0}
    assert counted() == [0, 1]
    assert decide(root, other, "discount", **votes) == {"changed": 1, "upvotes": 0}
    assert decide(root, other, "count", **votes) == {"changed": 1, "upvotes": 1}
    assert counted() == [0, 1]
    assert seen(root, one, "?counted=false") == [sock.id]


def test_a_suspended_voter_can_be_discounted_and_stays_so_when_active(world: World, root: Api) -> None:
    project, sock = world.project(votes=1), world.user()
    world.vote(project, sock)
    root.put(f"/api/admin/users/{sock.id}", {"status": "suspended"})
    assert decide(root, project, "discount", user_ids=[sock.id]) == {"changed": 1, "upvotes": 1}
    root.put(f"/api/admin/users/{sock.id}", {"status": "active"})
    assert root.get(f"/api/projects/{project}").json["upvotes"] == 1
    assert decide(root, project, "count", user_ids=[sock.id]) == {"changed": 1, "upvotes": 2}


@pytest.mark.parametrize("status", ["pending", "rejected"])
def test_votes_of_projects_that_are_not_live_are_judged_too(world: World, root: Api, status: str) -> None:
    project, sock = world.project(), world.user()
    world.vote(project, sock)
    root.put(f"/api/admin/projects/{project}/unpublish")
    if status == "rejected":
        root.put(f"/api/admin/projects/{project}/reject")
    assert decide(root, project, "discount", user_ids=[sock.id]) == {"changed": 1, "upvotes": 0}
    assert seen(root, project) == [sock.id]


def test_the_owner_and_the_public_learn_nothing_of_a_decision(world: World, api: Api, root: Api) -> None:
    owner, sock = world.user(), world.user()
    project = world.project(owner)
    world.vote(project, sock)
    mine, version = world.caller(owner), world.stored(project)["version"]
    before = mine.get(f"/api/projects/{project}/timeline").json
    decide(root, project, "discount", user_ids=[sock.id], reason="A ring.")
    assert mine.get(f"/api/projects/{project}/timeline").json == before
    assert world.stored(project)["version"] == version  # as with a vote, so that no edit is refused
    for caller, code in ((api, 401), (mine, 403), (world.caller(sock), 403)):
        for answer in (caller.get(path(project)), caller.post(f"{path(project)}/decisions", {"decision": "count"})):
            assert answer.status_code == code


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"user_ids": [1]}, {"#/decision"}),
        ({"decision": "delete", "user_ids": [1]}, {"#/decision"}),
        ({"decision": "discount"}, {"#/user_ids"}),
        ({"decision": "discount", "user_ids": [1], "match": ["unverified"]}, {"#/user_ids"}),
        ({"decision": "discount", "user_ids": []}, {"#/user_ids"}),
        ({"decision": "discount", "user_ids": None}, {"#/user_ids"}),
        ({"decision": "discount", "user_ids": [*range(1, 1002)]}, {"#/user_ids"}),
        ({"decision": "discount", "user_ids": [1, 1]}, {"#/user_ids"}),
        ({"decision": "discount", "user_ids": [0]}, {"#/user_ids/0"}),
        ({"decision": "discount", "user_ids": [2**63]}, {"#/user_ids/0"}),
        ({"decision": "discount", "user_ids": ["1"]}, {"#/user_ids/0"}),
        ({"decision": "discount", "user_ids": [1.5]}, {"#/user_ids/0"}),
        ({"decision": "discount", "match": []}, {"#/match"}),
        ({"decision": "discount", "match": ["unverified", "unverified"]}, {"#/match"}),
        ({"decision": "discount", "match": ["all"]}, {"#/match/0"}),
        ({"decision": "discount", "match": "unverified"}, {"#/match"}),
        ({"decision": "discount", "user_ids": [1], "reason": "x" * 1001}, {"#/reason"}),
        ({"decision": "discount", "user_ids": [1], "all": True}, {"#/all"}),
    ],
)
def test_a_body_that_is_not_a_decision_is_refused(world: World, root: Api, body: Any, pointers: set[str]) -> None:
    answer = root.post(f"{path(world.project())}/decisions", body)
    assert answer.status_code == 422
    assert {error["pointer"] for error in answer.json["errors"]} == pointers


def test_a_thousand_users_are_judged_at_once(world: World, root: Api) -> None:
    project, sock = world.project(), world.user()
    world.vote(project, sock)
    ids = [*range(10_000, 10_999), sock.id]
    assert decide(root, project, "discount", user_ids=ids) == {"changed": 1, "upvotes": 0}
    assert decide(root, project, "count", user_ids=[float(one) for one in ids], reason=None)["changed"] == 1


def test_a_project_that_is_not_there_is_not_found(world: World, root: Api) -> None:
    for number in ("999", str(2**63 - 1), "0"):
        assert root.get(f"/api/admin/projects/{number}/votes").status_code == 404
        body = {"decision": "discount", "match": ["unverified"]}
        assert root.post(f"/api/admin/projects/{number}/votes/decisions", body).status_code == 404


@pytest.mark.parametrize("size", [1, 9])
def test_the_list_costs_the_same_statements_whatever_the_number_of_votes(
    world: World, root: Api, statements: Statements, size: int
) -> None:
    project = world.project(votes=size)
    root.get("/api/auth/me")
    statements.clear()
    root.get(path(project))
    about_votes = [sql for sql in statements if "upvotes" in sql]
    assert len(about_votes) == 2, about_votes  # the page, and the summary
    assert len(statements) == 4, statements  # who calls, and the project


@pytest.mark.parametrize("size", [1, 9])
def test_a_decision_costs_the_same_statements_whatever_the_number_of_votes(
    world: World, root: Api, statements: Statements, size: int
) -> None:
    project, voters = world.project(), [world.user() for _ in range(size)]
    for voter in voters:
        world.vote(project, voter)
    root.get("/api/auth/me")
    statements.clear()
    decide(root, project, "discount", user_ids=[voter.id for voter in voters])
    # Who calls, whether the account is active, the project, the discounts, the count, the counter, the entry, and again
    # whether the caller may.
    assert len(statements) == 8, statements


def test_votes_are_decided_by_as_many_statements_however_many_they_are(
    world: World, root: Api, statements: Statements
) -> None:
    root.get("/api/auth/me")
    for decision in ("discount", "count"):
        costs = []
        for size in (1, 7):
            project, voters = world.project(), [world.user() for _ in range(size)]
            for voter in voters:
                world.vote(project, voter)
            path = f"/api/admin/projects/{project}/votes/decisions"
            if decision == "count":
                root.post(path, {"decision": "discount", "match": ["new_accounts"]})
            statements.clear()
            body = {"decision": decision, "user_ids": [voter.id for voter in voters]}
            assert root.post(path, body).json["changed"] == size
            costs.append(len(statements))
        assert len(set(costs)) == 1
