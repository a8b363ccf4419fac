"""The projects whose recent votes look doubtful, against a slow count in Python."""

import random
from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.vote_review import decisions
from directory.extras.vote_review.decisions import RULES
from directory.models import Project, Upvote, User, VoteDiscount, now
from tests.conftest import Statements
from tests.support.factories import Api, World

PATH = "/api/admin/projects/doubtful"


@pytest.fixture
def root(world: World) -> Api:
    return world.caller(world.admin())


def fill(app: Flask, world: World) -> None:
    """Some owners, voters of each kind, and votes of different times."""
    chance = random.Random(7)
    owners, voters = [world.user() for _ in range(3)], [world.user() for _ in range(14)]
    projects = [world.project(owner) for owner in owners for _ in range(3)]
    hidden = world.project(owners[0], "pending")
    with app.app_context():
        transaction(lambda: _age(chance, [voter.id for voter in voters], [*projects, hidden]))


def _age(chance: random.Random, voters: list[int], projects: list[int]) -> None:
    for voter in voters:
        user = db.session.get_one(User, voter)
        user.created_at = now() - timedelta(days=chance.choice([1, 30]))
        user.email_verified_at = chance.choice([None, now()])
        user.status = chance.choice(["active", "active", "active", "suspended"])
        for project in chance.sample(projects, chance.choice([1, 2, 6])):
            at = user.created_at + timedelta(hours=chance.choice([1, 23, 25]), seconds=project)
            db.session.add(Upvote(user_id=voter, project_id=project, created_at=at))
            if chance.random() < 0.2:
                db.session.add(VoteDiscount(user_id=voter, project_id=project))


def counted(signs: Collection[str], recent: int) -> list[dict[str, Any]]:
    """What the answer has to be, by reading everything."""
    votes = list(db.session.scalars(select(Upvote)))
    users = {user.id: user for user in db.session.scalars(select(User))}
    projects = {project.id: project for project in db.session.scalars(select(Project))}
    discounted = {(each.user_id, each.project_id) for each in db.session.scalars(select(VoteDiscount))}
    found: dict[int, list[set[str]]] = {}
    for vote in sorted(votes, key=lambda each: each.created_at, reverse=True)[:recent]:
        user, project = users[vote.user_id], projects[vote.project_id]
        is_counted = user.status == "active" and (user.id, project.id) not in discounted
        if project.status == "live" and is_counted:
            liked = [projects[each.project_id].owner_id for each in votes if each.user_id == user.id]
            has = {
                "new_accounts": vote.created_at < user.created_at + timedelta(hours=24),
                "unverified": user.email_verified_at is None,
                "single_owner": len(liked) > 1 and set(liked) == {project.owner_id},
            }
            found.setdefault(project.id, []).append({sign for sign in RULES if has[sign]})
    answer = [
        {
            "id": each,
            "counted": len(of_votes),
            "doubtful": sum(not has.isdisjoint(signs) for has in of_votes),
            **{sign: sum(sign in has for has in of_votes) for sign in RULES},
        }
        for each, of_votes in found.items()
    ]
    everywhere = sum(each["doubtful"] for each in answer) / sum(each["counted"] for each in answer)
    answer = [each | {"is_above": each["doubtful"] / each["counted"] > everywhere} for each in answer]
    answer = [each for each in answer if each["doubtful"]]
    return sorted(answer, key=lambda each: (each["doubtful"] ** 2 / each["counted"], each["id"]), reverse=True)


@pytest.mark.parametrize("recent", [30, 1000])
@pytest.mark.parametrize("signs", [RULES, ("new_accounts", "single_owner")])
def test_it_counts_the_doubtful_votes_of_each_project(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch, signs: tuple[str, ...], recent: int
) -> None:
    fill(app, world)
    monkeypatch.setattr(decisions, "RECENT", recent)
    with app.app_context():
        expected = counted(signs, recent)
        assert {each["is_above"] for each in expected} == {True, False}
        assert decisions.doubtful_projects(signs) == expected


def test_it_has_pages(app: Flask, world: World, root: Api) -> None:
    fill(app, world)
    with app.app_context():
        expected = [each["id"] for each in counted(decisions.WITHOUT_MAIL, 1000)]
    pages = [root.get(f"{PATH}?limit=2&page={page}") for page in range(1, 9)]
    found = [[item["id"] for item in page.json["items"]] for page in pages]
    assert found == [expected[at : at + 2] for at in range(0, 16, 2)]
    assert {page.json["pagination"]["total"] for page in pages} == {len(expected)}
    assert 'rel="next"' in pages[0].headers["Link"]
    assert pages[0].json["items"][0]["title"].startswith("Project ")


def test_an_unconfirmed_address_is_a_sign_where_the_service_sends_mail(make_app: Any) -> None:
    mail = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "a@example.net", "SITE_URL": "https://directory.example"}
    app, mailing = make_app(), make_app(**mail)
    world = World(app)
    project, admin, voter = world.project(), world.admin(), world.user()
    with app.app_context():
        transaction(lambda: setattr(db.session.get_one(User, voter.id), "created_at", now() - timedelta(days=9)))
    world.vote(project, voter)
    assert world.caller(admin).get(PATH).json["items"] == []
    [found] = World(mailing).caller(admin).get(PATH).json["items"]
    assert (found["id"], found["doubtful"], found["unverified"]) == (project, 1, 1)


def test_it_is_one_statement_that_begins_with_the_newest_votes(
    app: Flask, world: World, root: Api, statements: Statements
) -> None:
    fill(app, world)
    root.get(PATH)
    statements.clear()
    assert root.get(f"{PATH}?limit=3").json["items"]
    [sql] = [each for each in statements if "recent" in each]
    assert "ORDER BY upvotes.created_at DESC" in sql


@pytest.mark.parametrize("limit", ["0", "101", "x"])
def test_a_limit_is_a_number_up_to_100(root: Api, limit: str) -> None:
    assert root.get(f"{PATH}?limit={limit}").status_code == 422
