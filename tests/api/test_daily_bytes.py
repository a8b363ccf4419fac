"""What a member may store in a day, and what is stored for an edit."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, text, update

from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.models import DailyBytes, Logo, Project, User
from tests.support.factories import World
from tests.support.pictures import RED, picture

LETTERS = [chr(each) for each in range(0x20000, 0x20000 + 9_990)]


def ideographs(seed: int) -> str:
    """A description of ideographs of four bytes each, none of them twice."""
    return "".join(random.Random(seed).sample(LETTERS, len(LETTERS)))


def of_today(app: Flask, name: str) -> int:
    with app.app_context():
        stored = select(DailyBytes.bytes).join(User, User.id == DailyBytes.account_id).where(User.username == name)
        return db.session.scalar(stored) or 0


def in_log_and_facts(app: Flask) -> int:
    """The bytes of all changes in the log, and of all facts."""
    length = (
        "octet_length(CAST({} AS text))"
        if "postgresql" in app.config["SQLALCHEMY_DATABASE_URI"]
        else ("length(CAST({} AS blob))")
    )
    with app.app_context():
        words = "octet_length(words)" if on_postgresql() else "length(words)"
        sums = (
            f"SELECT coalesce(sum({length.format('changes')}), 0) FROM audit_entries",
            f"SELECT coalesce(sum({length.format('facts')} + {words}), 0) FROM rule_facts",
        )
        return sum(int(db.session.scalar(text(each)) or 0) for each in sums)


def test_an_edit_of_ideographs_stores_at_most_four_times_what_was_sent(app: Flask, world: World) -> None:
    ada = world.user("ada")
    project, caller = world.project(ada, "pending"), world.caller(ada)
    before, sent = 0, 0
    for seed in range(6):
        body = json.dumps({"description": ideographs(seed)}, ensure_ascii=False).encode()
        answer = caller.put(f"/api/projects/{project}", data=body, content_type="application/json")
        assert answer.status_code == 200
        before = before or in_log_and_facts(app)
        sent += len(body) if seed else 0
    assert sent < in_log_and_facts(app) - before <= 4 * sent


def test_the_log_keeps_an_edit_whole_and_its_letters_as_they_are(app: Flask, world: World) -> None:
    ada = world.user("ada")
    project, caller = world.project(ada, "pending", description="Vorher 前"), world.caller(ada)
    caller.put(f"/api/projects/{project}", {"description": "𠀀 nachher"})
    [entry] = world.caller(world.admin()).get("/api/admin/audit?action=project.edited").json["items"]
    assert entry["changes"]["description"] == {"from": "Vorher 前", "to": "𠀀 nachher"}
    with app.app_context():
        written = db.session.scalar(text("SELECT CAST(changes AS text) FROM audit_entries WHERE changes IS NOT NULL"))
    assert written == '{"description":{"from":"Vorher 前","to":"𠀀 nachher"}}'


def test_a_member_stores_so_much_in_a_day_and_no_more(make_app: Any) -> None:
    app = make_app(MEMBER_BYTES_PER_DAY="100000")
    world = World(app)
    ada = world.user("ada")
    project, caller = world.project(ada, "pending", description="a"), world.caller(ada)
    assert caller.put(f"/api/projects/{project}", {"description": "b" * 9_000}).status_code == 200
    first = of_today(app, "ada")
    assert 9_000 < first < 10_000
    answers = [caller.put(f"/api/projects/{project}", {"description": each * 9_000}) for each in "cdefghij"]
    assert [each.status_code for each in answers] == [200] * 4 + [429] * 4
    refused = answers[-1]
    assert refused.json["code"] == "rate_limited"
    assert refused.json["detail"].startswith("You have stored as much as you may in a day. Try again in ")
    assert 0 < int(refused.headers["Retry-After"]) <= 86_400
    stored = of_today(app, "ada")
    assert 80_000 < stored <= 100_000
    assert caller.get(f"/api/projects/{project}").json["description"] == "f" * 9_000
    assert caller.put(f"/api/projects/{project}", {"title": "Smaller"}).status_code == 200  # what still fits
    assert caller.delete(f"/api/projects/{project}").status_code == 204  # what is deleted stores nothing
    with app.app_context():
        db.session.execute(update(DailyBytes).values(day=DailyBytes.day - 1))
        db.session.commit()
    other = world.project(ada, "pending")
    assert caller.put(f"/api/projects/{other}", {"description": "Another day"}).status_code == 200
    assert of_today(app, "ada") < 1_000


def test_nothing_bounds_administrators_nor_reviewers_at_their_work(make_app: Any) -> None:
    app = make_app(MEMBER_BYTES_PER_DAY="1000")
    world = World(app)
    ada, root, rita = world.user("ada"), world.admin("root"), world.reviewer(username="rita")
    project = world.project(ada, "pending")
    assert world.caller(root).put(f"/api/projects/{project}", {"description": "b" * 9_000}).status_code == 200
    review = f"/api/review/projects/{project}"
    assert world.caller(rita).post(f"{review}/messages", {"text": "x" * 900}).status_code == 201
    assert world.caller(rita).post(f"{review}/messages", {"text": "x" * 900}).status_code == 201
    assert [of_today(app, name) for name in ("root", "rita")] == [0, 0]
    answer = world.caller(ada).post(f"/api/projects/{project}/messages", {"text": "x" * 900})
    assert (answer.status_code, answer.json["code"]) == (429, "rate_limited")


def test_without_a_bound_it_is_counted_all_the_same(make_app: Any) -> None:
    world = World(make_app(MEMBER_BYTES_PER_DAY="0"))
    ada = world.user("ada")
    project = world.project(ada, "pending")
    assert world.caller(ada).put(f"/api/projects/{project}", {"description": "b" * 9_000}).status_code == 200
    shown = world.caller(world.admin()).get(f"/api/admin/users/{ada.id}").json["stored_today"]
    assert shown["bytes"] > 9_000
    assert shown["most"] is None


def test_administrators_see_what_an_account_has_stored_today(make_app: Any) -> None:
    app = make_app(MEMBER_BYTES_PER_DAY="2000000")
    world = World(app)
    ada = world.user("ada")
    project = world.project(ada, "pending")
    world.caller(ada).put(f"/api/projects/{project}", {"description": "b" * 9_000})
    stored = of_today(app, "ada")
    shown = world.caller(world.admin()).get(f"/api/admin/users/{ada.id}").json["stored_today"]
    assert shown == {"bytes": stored, "most": 2_000_000}


def test_the_bound_holds_while_one_member_writes_at_once(make_app: Any) -> None:
    app = make_app(MEMBER_BYTES_PER_DAY="50000")
    world = World(app)
    ada = world.user("ada")
    projects = [world.project(ada, "pending", description="a") for _ in range(12)]

    def write(project: int) -> int:
        answer = world.caller(ada).put(f"/api/projects/{project}", {"description": "b" * 9_000})
        return int(answer.status_code)

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(write, projects))
    assert statuses == [200] * 5 + [429] * 7
    with app.app_context():
        saved = select(func.count()).where(Project.description == "b" * 9_000)
        assert db.session.scalar(saved) == 5
    assert 45_000 < of_today(app, "ada") <= 50_000


def test_what_a_deleted_account_has_stored_is_forgotten(app: Flask, world: World) -> None:
    ada = world.user("ada")
    project = world.project(ada, "pending")
    world.caller(ada).put(f"/api/projects/{project}", {"description": "Other"})
    assert of_today(app, "ada")
    assert world.caller(world.admin()).delete(f"/api/admin/users/{ada.id}").status_code == 204
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(DailyBytes)) == 0


def put(world: World, caller: Any, project: int, kind: str, content: bytes) -> int:
    path, method = (f"{project}/logo", "put") if kind == "logo" else (f"{project}/pictures?alt=A+square", "post")
    client = caller.app.test_client(use_cookies=False)
    headers = {"Authorization": f"Bearer {caller.token}", "Content-Type": "image/png"}
    return int(getattr(client, method)(f"/api/projects/{path}", data=content, headers=headers).status_code)


@pytest.mark.parametrize("kind", ["logo", pytest.param("picture", marks=pytest.mark.extra("pictures"))])
def test_of_what_a_member_has_put_and_deleted_twenty_are_kept(app: Flask, world: World, kind: str) -> None:
    ada, bob = world.user("ada"), world.user("bob")
    project, caller = world.project(ada, "pending"), world.caller(ada)
    others = world.project(bob, "pending")
    assert put(world, world.caller(bob), others, "logo", RED) in (200, 201)
    for number in range(25):
        assert put(world, caller, project, kind, picture((9, 9), (number * 10, 0, 0, 255))) in (200, 201)
        if kind == "picture":
            [shown] = caller.get(f"/api/projects/{project}").json["pictures"]
            assert caller.delete(f"/api/projects/{project}/pictures/{shown['id']}").status_code == 204
    if kind == "logo":
        assert caller.delete(f"/api/projects/{project}/logo").status_code == 204
    with app.app_context():
        kept = dict(db.session.execute(select(Logo.stored_by, func.count()).group_by(Logo.stored_by)).all())
        oldest = select(Logo.stored_at).where(Logo.stored_by == ada.id).order_by(Logo.stored_at).limit(1)
        newest = select(Logo.stored_at).where(Logo.stored_by == ada.id).order_by(Logo.stored_at.desc()).limit(1)
        assert db.session.scalar(newest) - db.session.scalar(oldest) >= timedelta(0)
    assert kept == {ada.id: 20, bob.id: 1}
    assert caller.delete(f"/api/projects/{project}").status_code == 204


def test_what_is_used_stays_however_much_else_is_put(app: Flask, world: World) -> None:
    ada = world.user("ada")
    projects, caller = [world.project(ada, "pending") for _ in range(2)], world.caller(ada)
    assert put(world, caller, projects[0], "logo", RED) == 200
    for number in range(23):
        assert put(world, caller, projects[1], "logo", picture((9, 9), (number * 10, 0, 0, 255))) == 200
    logo = caller.get(f"/api/projects/{projects[0]}").json["logo"]
    assert caller.get(logo["256"]).status_code == 200


@pytest.mark.extra("pictures")
def test_pictures_and_logos_are_limited_by_a_tier_of_their_own(make_app: Any) -> None:
    world = World(make_app(RATELIMIT_ENABLED="true", RATELIMIT_PICTURES="2 per hour"))
    ada = world.user("ada")
    project, caller = world.project(ada, "pending"), world.caller(ada)
    assert put(world, caller, project, "picture", RED) == 201
    assert caller.delete(f"/api/projects/{project}/logo").status_code == 204
    assert put(world, caller, project, "logo", RED) == 429
    assert caller.put(f"/api/projects/{project}", {"title": "Other"}).status_code == 200
