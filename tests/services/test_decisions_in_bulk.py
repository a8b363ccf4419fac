"""Decisions about a hundred items take no more statements than those about ten, and do to each what one does."""

from collections import Counter
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import AuditEntry, Delivery, Project, Review
from directory.services.data import counter_checks, recount
from directory.services.delivery import deliveries
from tests.conftest import Statements
from tests.support.factories import Api, World
from tests.support.mailbox import Mailbox
from tests.support.reviewing import NOTIFYING

PATH = "/api/admin/projects/decisions"
SIZES = (1, 10, 100)
# One project needs no lock before those of the triggers: those of the categories, the owners and the tags.
LOCKS = 3


@pytest.fixture
def app(make_app: Any, mailbox: Mailbox) -> Flask:
    """An application with a webhook that wants every event, and with mail."""
    return make_app(**NOTIFYING, **mailbox.settings)  # type: ignore[no-any-return]


def decided(admin: Api, decision: str, projects: list[int]) -> list[dict[str, Any]]:
    answer = admin.post(PATH, {"decision": decision, "ids": projects, "reason": "Because."})
    assert answer.status_code == 200, answer.json
    assert [item["id"] for item in answer.json["items"]] == projects
    return list(answer.json["items"])


def faults(app: Flask) -> list[Any]:
    with app.app_context():
        return recount.look(lambda number: number > 0).faults + counter_checks.look_beside()


def logged(app: Flask) -> Counter[str]:
    with app.app_context():
        return Counter(db.session.scalars(select(AuditEntry.action)))


def queued(app: Flask) -> Counter[tuple[str, bool]]:
    """The deliveries by event, and whether they are mail."""
    with app.app_context():
        rows = db.session.execute(select(Delivery.event, Delivery.endpoint)).all()
    return Counter((event, endpoint == "mail") for event, endpoint in rows)


def revised(world: World, number: int) -> int:
    """A live project with changes of everything that search, counters and logs depend on."""
    owner = world.user()
    project = world.project(owner, tags=["one"])
    world.category("web")
    changes = {"title": f"New {number}", "url": f"https://new.example/{project}", "category": "web", "tags": ["two"]}
    world.revise(project, owner, **changes)
    return project


MADE = {
    "approve": lambda world, _: world.project(status="pending", tags=["a", "b"]),
    "reject": lambda world, _: world.project(status="pending"),
    "unpublish": lambda world, _: world.project(tags=["a"]),
    "delete": lambda world, _: world.project(tags=["a"]),
    "approve changes": revised,
    "reject changes": revised,
}


@pytest.mark.parametrize("kind", MADE)
def test_the_statements_do_not_grow_with_the_projects(
    app: Flask, world: World, admin: Api, statements: Statements, kind: str
) -> None:
    decision, costs, before = kind.split()[0], [], logged(app)
    for size in SIZES:
        projects = [MADE[kind](world, number) for number in range(size)]
        if size == 1:
            made = logged(app)
        admin.get("/api/auth/me")
        statements.clear()
        items = decided(admin, decision, list(reversed(projects)))
        costs.append(len(statements))
        assert {item["status"] for item in items} == {200}
    assert costs[1] == costs[2]
    # The two deliveries of a single event are two statements, and those of many one. On PostgreSQL new cases of many
    # are COPY, which is not recorded.
    assert costs[0] - 2 <= costs[1] <= costs[0] + LOCKS
    event = {"approve": "approved", "reject": "rejected", "unpublish": "unpublished", "delete": "deleted"}[decision]
    event = f"project.edit_{event}" if "changes" in kind else f"project.{event}"
    already = made[event] - before[event]  # a project to be taken down was approved before
    assert logged(app)[event] == sum(SIZES) * (1 + already)
    sent = queued(app)
    mails = 0 if decision == "delete" else sum(SIZES)
    hooks = {"approve changes": "project.edited"}.get(kind, event)
    assert sent == +Counter({(hooks, False): 0 if kind == "reject changes" else sum(SIZES), (event, True): mails})
    assert faults(app) == []


def test_deliveries_are_sent_again_by_as_many_statements_however_many_they_are(
    app: Flask, world: World, admin: Api, statements: Statements
) -> None:
    costs = []
    for size in SIZES:
        decided(admin, "approve", [world.project(status="pending") for _ in range(size)])
        with app.app_context():
            statements.clear()
            transaction(lambda: deliveries.redeliver_all())
            costs.append(len(statements))
    assert len(set(costs)) == 1


def test_of_many_changes_those_whose_url_is_taken_wait_on_and_the_others_are_made(
    app: Flask, world: World, admin: Api, statements: Statements
) -> None:
    owner = world.user()
    projects = [world.project(owner) for _ in range(20)]
    for project in projects:
        world.revise(project, owner, url=f"https://new.example/{project}", title=f"New {project}")
    for project in (projects[3], projects[17]):
        world.project(owner, url=f"http://www.new.example/{project}/")
    statements.clear()
    items = decided(admin, "approve", projects)
    refused = {item["id"]: item["code"] for item in items if item["status"] == 409}
    assert refused == {projects[3]: "duplicate", projects[17]: "duplicate"}
    with app.app_context():
        assert set(db.session.scalars(select(Review.project_id).where(Review.turn.is_not(None)))) == {
            projects[3],
            projects[17],
        }
        changed = set(db.session.scalars(select(Project.id).where(Project.title.startswith("New "))))
    assert changed == set(projects) - refused.keys()
    assert logged(app)["project.edit_approved"] == 18
    assert queued(app)["project.edited", False] == 18
    assert faults(app) == []


def test_changes_to_the_same_url_are_made_once_and_the_other_waits_on(world: World, admin: Api) -> None:
    owner = world.user()
    first, second, third = (world.project(owner, url=f"https://{n}.example/") for n in range(3))
    for project in (first, second):
        world.revise(project, owner, url="https://new.example/")
    world.revise(third, owner, url="https://free.example/")
    items = decided(admin, "approve", [third, second, first])
    assert [item["status"] for item in items] == [200, 409, 200]
    urls = ["https://new.example/", "https://1.example/", "https://free.example/"]
    assert [world.stored(project)["url"] for project in (first, second, third)] == urls


def test_a_mixed_batch_does_to_each_what_one_decision_does(app: Flask, world: World, admin: Api) -> None:
    together = [world.project(status="pending"), revised(world, 1), world.project(), world.project(status="rejected")]
    alone = [world.project(status="pending"), revised(world, 2), world.project(), world.project(status="rejected")]
    items = decided(admin, "approve", [*together, 999])
    assert [item["status"] for item in items] == [200, 200, 200, 409, 404]
    singly = [admin.put(f"/api/admin/projects/{one}/approve", {"reason": "Because."}) for one in alone]
    assert [answer.status_code for answer in singly] == [200, 200, 200, 409]

    def entries(project: int) -> list[tuple[Any, ...]]:
        with app.app_context():
            found = db.session.scalars(
                select(AuditEntry).where(AuditEntry.project_id == project).order_by(AuditEntry.id)
            )
            return [
                (e.action, e.from_state, e.to_state, e.reason, list(e.changes or ()), (e.waited_seconds or 0) > 0)
                for e in found
            ]

    assert [entries(project) for project in together] == [entries(project) for project in alone]


def test_approved_changes_write_every_column_that_is_made_from_them(app: Flask, world: World, admin: Api) -> None:
    owner = world.user()
    changes = {
        "title": "New Title", "url": "https://new.example/", "repository_url": "https://code.example/new",
        "category": world.category("web"),
    }  # fmt: skip
    revised, made = world.project(owner), world.project(world.user(), **changes)
    world.revise(revised, owner, **changes)
    assert decided(admin, "approve", [revised])[0]["status"] == 200
    with app.app_context():
        rows = [db.session.get_one(Project, project) for project in (revised, made)]
        derived = [(row.slug, row.url_key, row.repository_key, row.category_id) for row in rows]
    assert derived[0] == derived[1]
