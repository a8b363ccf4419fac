"""Invariants under concurrency: real threads, in separate processes, on both databases."""

from collections import Counter
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, func, select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, Delivery, Project, Role, Upvote, User, UserCount
from directory.services.data import counter_checks
from tests.conftest import Database
from tests.support import concurrent_calls
from tests.support.factories import World

ENDPOINT = '[{"url": "http://127.0.0.1:9/hook", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}]'


def rows(app: Flask, query: Any) -> list[Any]:
    with app.app_context():
        return list(db.session.execute(query))


def acknowledged(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was done: a call that waited too long on a busy machine was refused whole, and may not have done a thing."""
    assert {answer["status"] for answer in answers} <= {200, 503}
    done = [answer for answer in answers if answer["status"] == 200]
    assert len(done) > 0.9 * len(answers)
    return done


def test_counters_equal_votes_and_the_parity_of_acknowledged_toggles(
    app: Flask, world: World, database: Database
) -> None:
    projects = [world.project() for _ in range(3)]
    users = [world.user() for _ in range(8)]
    tokens = {world.caller(user).token: user.id for user in users}
    calls = [(token, "POST", f"/api/projects/{p}/upvote", None) for token in tokens for p in projects]
    scripts = [concurrent_calls.shuffled(calls, seed) for seed in range(32)]

    answers = acknowledged(concurrent_calls.run(database.url, scripts, processes=4))

    toggles = Counter((tokens[a["token"]], a["json"]["project_id"]) for a in answers)
    votes = {(row.user_id, row.project_id) for row in rows(app, select(Upvote.user_id, Upvote.project_id))}
    assert votes == {pair for pair, times in toggles.items() if times % 2}
    for project, stored in rows(app, select(Project.id, Project.upvotes)):
        assert stored == sum(pair[1] == project for pair in votes)


def test_setting_and_clearing_votes_is_exact_beside_toggles(app: Flask, world: World, database: Database) -> None:
    project = world.project()
    tokens = [world.caller(world.user()).token for _ in range(4)]
    path = f"/api/projects/{project}/upvote"
    calls = [(token, method, path, None) for token in tokens for method in ("PUT", "DELETE", "POST")]
    acknowledged(
        concurrent_calls.run(database.url, [concurrent_calls.shuffled(calls, seed) for seed in range(16)], processes=2)
    )
    assert rows(app, select(Project.upvotes)) == rows(app, select(func.count()).select_from(Upvote))
    settled = concurrent_calls.threads(app, [[(token, "PUT", path, None)] * 2 for token in tokens])
    assert {a["json"]["upvoted"] for a in settled} == {True}
    assert rows(app, select(Project.upvotes)) == [(4,)]


def test_toggles_against_deletions_never_deadlock(app: Flask, world: World, database: Database) -> None:
    owner = world.user()
    deleter = world.caller(owner).token
    projects = [world.project(owner) for _ in range(12)]
    tokens = [world.caller(world.user()).token for _ in range(6)]
    toggles = [(token, "POST", f"/api/projects/{p}/upvote", None) for token in tokens for p in projects]
    scripts = [concurrent_calls.shuffled(toggles, seed) for seed in range(8)]
    scripts += [[(deleter, "DELETE", f"/api/projects/{p}", None) for p in projects[n::2]] for n in range(2)]

    answers = concurrent_calls.run(database.url, scripts, processes=2)

    assert {a["status"] for a in answers if a["method"] == "POST"} <= {200, 404}
    assert Counter(a["status"] for a in answers if a["method"] == "DELETE") == {204: 12}
    assert rows(app, select(func.count()).select_from(Upvote)) == [(0,)]


@pytest.mark.parametrize("round_", range(3))
def test_of_sixteen_admins_who_decide_at_once_one_wins(
    make_app: Any, world: World, database: Database, round_: int
) -> None:
    app = make_app(WEBHOOK_ENDPOINTS=ENDPOINT)
    project = world.project(status="pending")
    tokens = [world.caller(world.admin()).token for _ in range(16)]
    words = ["approve" if (n + round_) % 2 else "reject" for n in range(16)]
    scripts = [
        [(token, "PUT", f"/api/admin/projects/{project}/{word}", None)]
        for token, word in zip(tokens, words, strict=True)
    ]

    answers = concurrent_calls.threads(app, scripts)

    status = rows(app, select(Project.status))[0][0]
    winner = "approve" if status == "live" else "reject"
    for answer in answers:
        agrees = answer["path"].endswith(winner)
        assert answer["status"] == (200 if agrees else 409)
        assert agrees or answer["json"]["current_status"] == status
    decisions = rows(app, select(AuditEntry.action).where(AuditEntry.action != "project.submitted"))
    assert len(decisions) == 1
    assert len(rows(app, select(Delivery.id))) == (1 if status == "live" else 0)


def test_bulk_decisions_and_single_ones_make_each_project_live_once(
    make_app: Any, world: World, database: Database
) -> None:
    app = make_app(WEBHOOK_ENDPOINTS=ENDPOINT)
    projects = [world.project(status="pending", category=f"c{n % 3}") for n in range(24)]
    tokens = [world.caller(world.admin()).token for _ in range(6)]
    bulk = "/api/admin/projects/decisions"
    scripts = [
        [(token, "POST", bulk, {"decision": "approve", "ids": concurrent_calls.shuffled(projects, n)})]
        for n, token in enumerate(tokens[:4])
    ]
    scripts += [
        [(token, "PUT", f"/api/admin/projects/{p}/approve", None) for p in concurrent_calls.shuffled(projects, 9 + n)]
        for n, token in enumerate(tokens[4:])
    ]
    answers = concurrent_calls.threads(app, scripts)
    assert {answer["status"] for answer in answers} == {200}
    approved = rows(app, select(AuditEntry.project_id).where(AuditEntry.action == "project.approved"))
    assert sorted(row[0] for row in approved) == sorted(projects)
    assert len(rows(app, select(Delivery.id))) == len(projects)


REVIEWED = ("As reviewed", "live")


@pytest.mark.parametrize("alone", [False, True])
def test_nothing_goes_live_that_was_edited_after_its_review(
    app: Flask, world: World, database: Database, alone: bool
) -> None:
    """An owner edits while forty decisions are under way, in one request or each in its own."""
    owner = world.user()
    projects = [world.project(owner, "pending", title="As reviewed") for _ in range(40)]
    editor, admins = world.caller(owner), [world.caller(world.admin()).token for _ in range(2)]
    seen = {item["id"]: item["version"] for item in editor.get("/api/projects?owner=me&limit=100").json["items"]}
    before, meanwhile, never = projects[:5], projects[5:35], projects[35:]

    def edits(ids: list[int], seed: int) -> list[concurrent_calls.Call]:
        return [
            (editor.token, "PUT", f"/api/projects/{p}", {"title": "Edited"})
            for p in concurrent_calls.shuffled(ids, seed)
        ]

    concurrent_calls.threads(app, [edits(before, 0)])
    scripts = [edits(meanwhile[n::4], n) for n in range(4)]
    for token in admins:
        items = [{"id": project, "version": seen[project]} for project in projects]
        many = (token, "POST", "/api/admin/projects/decisions", {"decision": "approve", "items": items})
        each = [
            (token, "PUT", f"/api/admin/projects/{p}/approve", None, {"If-Match": f'"{seen[p]}"'}) for p in projects
        ]
        scripts.append(each if alone else [many])
    answers = (
        concurrent_calls.threads(app, scripts) if alone else concurrent_calls.run(database.url, scripts, processes=2)
    )

    outcomes = [item for answer in answers for item in (answer["json"].get("items") or ())]
    if alone:
        outcomes = [
            {**a["json"], "id": int(a["path"].split("/")[-2])} for a in answers if a["path"].endswith("approve")
        ]
    assert {answer["status"] for answer in answers} <= {200, 412}
    assert len(outcomes) == 80
    log: dict[int, list[str]] = {}
    for project, action in rows(app, select(AuditEntry.project_id, AuditEntry.action).order_by(AuditEntry.id)):
        log.setdefault(project, []).append(action.removeprefix("project."))
    for outcome in outcomes:
        project, is_stale = outcome["id"], outcome.get("code") == "precondition_failed"
        assert is_stale == (outcome["status"] == 412)
        assert is_stale or project not in before
        assert not is_stale or project not in never
        # Approved at most once, and then before it was edited.
        assert log[project] in (
            ["submitted", "edited"],
            ["submitted", "approved"],
            ["submitted", "approved", "edit_held"],
        )
        assert is_stale or "approved" in log[project]
        if not alone:
            now = outcome["project"]
            assert (now["title"], now["status"]) == (("Edited", "pending") if log[project][1] == "edited" else REVIEWED)
    shown = {p: (title, status) for p, title, status in rows(app, select(Project.id, Project.title, Project.status))}
    edited_first = {project for project in projects if log[project][1] == "edited"}
    assert {*before} <= edited_first
    assert {*never}.isdisjoint(edited_first)
    assert shown == {project: ("Edited", "pending") if project in edited_first else REVIEWED for project in projects}


def test_admins_who_demote_each_other_always_leave_one(app: Flask, world: World, database: Database) -> None:
    admins = [world.admin() for _ in range(8)]
    tokens = [world.caller(admin).token for admin in admins]
    changes = [{"role": "member"}, {"status": "suspended"}]
    scripts = [
        [(token, "PUT", f"/api/admin/users/{admins[(n + step) % 8].id}", changes[n % 2]) for step in (1, 3, 0)]
        for n, token in enumerate(tokens)
    ]

    answers = concurrent_calls.run(database.url, scripts, processes=2)

    assert {answer["status"] for answer in answers} <= {200, 401, 403, 409}
    active = select(User.id).where(User.role == Role.ADMIN, User.status == "active")
    assert rows(app, active)


def test_the_same_url_submitted_at_once_is_taken_once(app: Flask, world: World, database: Database) -> None:
    token = world.caller(world.user()).token
    body = {"title": "One", "tagline": "One", "url": "https://one.example", "category": world.category()}
    answers = concurrent_calls.run(
        database.url, [[(token, "POST", "/api/projects", body)] for _ in range(12)], processes=2
    )
    assert Counter(answer["status"] for answer in answers) == {201: 1, 409: 11}
    assert len(rows(app, select(AuditEntry.id))) == 1


def test_edits_with_if_match_lose_no_update(app: Flask, world: World, database: Database) -> None:
    owner = world.user()
    api = world.caller(owner)
    project = world.project(owner, status="pending")
    etag = api.get(f"/api/projects/{project}").headers["ETag"]
    answers = concurrent_calls.threads(
        app, [[(api.token, "PUT", f"/api/projects/{project}", {"title": f"T{n}"})] for n in range(8)]
    )
    assert {a["status"] for a in answers} == {200}
    assert api.put(f"/api/projects/{project}", {"title": "Stale"}, headers={"If-Match": etag}).status_code == 412
    with app.app_context():
        assert db.session.get(Project, project).version == 9


def test_category_counters_hold_while_projects_come_go_and_move(app: Flask, world: World, database: Database) -> None:
    for slug in ("a", "b"):
        world.category(slug)
    owner, admin = world.user(), world.caller(world.admin()).token
    token = world.caller(owner).token
    projects = [world.project(owner, status="pending", category="ab"[n % 2]) for n in range(8)]
    scripts = [
        [
            (token, "PUT", f"/api/projects/{p}", {"category": "ab"[(n + 1) % 2]}),
            (admin, "PUT", f"/api/admin/projects/{p}/approve", None),
            (token, "PUT", f"/api/projects/{p}", {"category": "ab"[n % 2], "title": f"Moved {n}"}),
            *([(token, "DELETE", f"/api/projects/{p}", None)] if n % 4 == 0 else []),
        ]
        for n, p in enumerate(projects)
    ]
    answers = concurrent_calls.run(database.url, scripts, processes=2)
    assert {a["status"] for a in answers} <= {200, 204}
    with app.app_context():
        for counters in db.session.execute(db.text("SELECT * FROM categories")).mappings():
            for status in ("live", "pending", "rejected"):
                counted = select(func.count()).where(Project.category_id == counters["id"], Project.status == status)
                assert counters[f"{status}_projects"] == db.session.scalar(counted)


def test_the_numbers_of_users_hold_while_some_register_and_others_change(
    app: Flask, world: World, database: Database
) -> None:
    admins = [world.caller(world.admin()).token for _ in range(3)]
    changed = [world.user().id for _ in range(4)]
    kinds = ({"role": "admin"}, {"status": "suspended"}, {"role": "member", "status": "active"})
    scripts = [
        # In opposite orders, so that two of them often move one user into the kind that the other moves one out of.
        *([(token, "PUT", f"/api/admin/users/{user}", kind) for kind in kinds for user in changed[:: 1 - 2 * (n % 2)]]
          for n, token in enumerate(admins)),
        *([(None, "POST", "/api/auth/register", {"username": f"new{n}-{m}", "email": f"new{n}{m}@example.org",
            "password": "correct horse battery"}) for m in range(3)] for n in range(3)),
    ]  # fmt: skip
    answers = concurrent_calls.run(database.url, scripts, processes=2)
    assert {a["status"] for a in answers} <= {200, 201}
    with app.app_context():
        assert counter_checks.USERS.look() == []
        assert sum(db.session.scalars(select(UserCount.users))) == 3 + 4 + 9


def test_users_who_are_gone_are_not_counted(app: Flask, world: World) -> None:
    gone = world.user("gone").id
    with app.app_context():
        transaction(lambda: db.session.execute(delete(User).where(User.id == gone)))
        assert counter_checks.USERS.look() == []
        assert sum(db.session.scalars(select(UserCount.users))) == 0
