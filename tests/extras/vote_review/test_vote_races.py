"""Votes, decisions about them, suspensions, activations and deletions at once: no deadlock, and no counter is off."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, text

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.vote_review import decisions
from directory.models import AuditEntry, Project, Upvote, User, VoteDiscount
from directory.services.data import counter_checks, recount
from directory.services.people import administration
from directory.services.votes.voting import COUNTS
from tests.conftest import Database
from tests.support import concurrent_calls
from tests.support.factories import PASSWORD, World
from tests.support.waiting import until

RULES = ["new_accounts", "single_owner"]
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
on_postgresql = pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)


def expect_exact(app: Flask) -> None:
    with app.app_context():
        counting = select(Upvote.project_id, func.count()).where(COUNTS).group_by(Upvote.project_id)
        counted = dict(db.session.execute(counting).all())
        for project in db.session.scalars(select(Project)):
            assert project.upvotes == counted.get(project.id, 0), project.id
        assert recount.look(lambda number: number > 0).faults == []
        assert counter_checks.look_beside() == []


def test_whatever_runs_at_once_the_counters_are_the_votes_that_count(
    app: Flask, world: World, database: Database
) -> None:
    roots = [world.caller(world.admin()).token for _ in range(3)]
    owner, voters, leaver = world.user(), [world.user() for _ in range(6)], world.user()
    projects = [world.project(owner if n % 2 else voters[n]) for n in range(6)]
    tokens = [world.caller(voter).token for voter in voters]
    for project in projects:
        world.vote(project, leaver)
    scripts = []
    for n, token in enumerate([*tokens, *tokens]):  # two tabs of each
        votes = [(token, method, f"/api/projects/{p}/upvote", None) for p in projects for method in ("POST", "PUT")]
        scripts.append(concurrent_calls.shuffled(votes, n))
    for n, root in enumerate(roots[:2]):
        ids = [voter.id for voter in voters]
        bodies: list[dict[str, Any]] = [{"user_ids": ids[n : n + 4]}, {"match": RULES}, {"user_ids": ids[::-1]}]
        deeds = [
            (root, "POST", f"/api/admin/projects/{p}/votes/decisions", {"decision": decision, **body})
            for p in projects
            for decision in ("discount", "count")
            for body in bodies
        ]
        scripts.append(concurrent_calls.shuffled(deeds, n))
    statuses = [
        (roots[2], "PUT", f"/api/admin/users/{voter.id}", body)
        for voter in voters[:3]
        for body in ({"status": "suspended"}, {"status": "active"}, {"status": "suspended", "unpublish": True})
    ]
    scripts.append(statuses)
    scripts.append([(world.caller(leaver).token, "DELETE", "/api/auth/me", {"current_password": PASSWORD})])

    answers = concurrent_calls.run(database.url, scripts, processes=2)

    assert {answer["status"] for answer in answers} <= {200, 204, 401, 404, 503}
    decided = [answer for answer in answers if "decisions" in answer["path"] and answer["status"] == 200]
    assert len(decided) > 40
    expect_exact(app)
    with app.app_context():
        assert db.session.scalar(select(func.count()).where(VoteDiscount.user_id == leaver.id)) == 0
        entries = db.session.scalars(
            select(AuditEntry.votes).where(AuditEntry.action.startswith("project.votes"))
        ).all()
        assert len(entries) == sum(answer["json"]["changed"] > 0 for answer in decided)
        assert all(entry and entry["number"] == len(entry["user_ids"]) > 0 for entry in entries)
        # Every discount was made once more than it was lifted, and every other one as often.
        balance: dict[tuple[int, int], int] = {}
        columns = select(AuditEntry.action, AuditEntry.project_id, AuditEntry.votes)
        for action, project, votes in db.session.execute(columns.where(AuditEntry.votes.is_not(None))):
            for user in votes["user_ids"]:
                step = 1 if action == "project.votes_discounted" else -1
                balance[user, project] = balance.get((user, project), 0) + step
        stored = {(row.user_id, row.project_id) for row in db.session.scalars(select(VoteDiscount))}
        assert {key for key, n in balance.items() if n and key[0] != leaver.id} == stored
        assert set(balance.values()) <= {0, 1}


def test_of_two_administrators_who_discount_the_same_votes_one_changes_them(
    app: Flask, world: World, database: Database
) -> None:
    project, voters = world.project(), [world.user() for _ in range(5)]
    for voter in voters:
        world.vote(project, voter)
    body = {"decision": "discount", "user_ids": [voter.id for voter in voters]}
    roots = [world.caller(world.admin()).token for _ in range(4)]
    scripts = [[(root, "POST", f"/api/admin/projects/{project}/votes/decisions", body)] for root in roots]
    answers = concurrent_calls.run(database.url, scripts, processes=2)
    assert sorted(answer["json"]["changed"] for answer in answers) == [0, 0, 0, 5]
    assert [answer["json"]["upvotes"] for answer in answers] == [0] * 4
    with app.app_context():
        assert db.session.scalar(select(func.count()).where(AuditEntry.votes.is_not(None))) == 1
    expect_exact(app)


@on_postgresql
@pytest.mark.parametrize("first", ["suspension", "decision"])
def test_a_suspension_and_a_decision_about_the_same_vote_wait_for_each_other_without_a_ring(
    app: Flask, world: World, first: str
) -> None:
    """Whichever has the project first, the other sees what it left."""
    admin, sock, project = world.admin(), world.user(), world.project(votes=1)
    world.vote(project, sock)

    def suspend() -> None:
        administration.administer(sock.id, role=None, status="suspended", by=None)

    def discount() -> None:
        decisions.decide(project, "discount", by=admin, user_ids=[sock.id])

    works = {"suspension": suspend, "decision": discount}
    earlier = works.pop(first)
    [later] = works.values()

    def run(work: Any) -> None:
        with app.app_context():
            transaction(work)

    with ThreadPoolExecutor(1) as pool, app.app_context(), db.engine.connect() as watching:

        def both() -> Any:
            earlier()
            waiting = pool.submit(run, later)
            until(lambda: watching.scalar(text(WAITING)) == 1)
            return waiting

        transaction(both).result(20)
    assert world.stored(project)["upvotes"] == 1
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(VoteDiscount)) == 1
        assert db.session.get_one(User, sock.id).status == "suspended"
    expect_exact(app)


@on_postgresql
def test_a_voter_who_toggles_meanwhile_waits_for_the_decision_and_keeps_the_discount(app: Flask, world: World) -> None:
    admin, sock, project = world.admin(), world.user(), world.project(votes=1)
    world.vote(project, sock)
    caller = world.caller(sock)
    with ThreadPoolExecutor(1) as pool, app.app_context(), db.engine.connect() as watching:

        def work() -> Any:
            decisions.decide(project, "discount", by=admin, user_ids=[sock.id])
            toggled = pool.submit(caller.post, f"/api/projects/{project}/upvote")
            until(lambda: watching.scalar(text(WAITING)) == 1)
            return toggled

        answer = transaction(work).result(20)
    assert (answer.json["upvoted"], answer.json["upvotes"]) == (False, 1)
    assert caller.post(f"/api/projects/{project}/upvote").json == {
        "project_id": project, "upvoted": True, "upvotes": 1,
    }  # fmt: skip
    expect_exact(app)
