"""Two requests about one project whose changes wait, at once: as if one came first, with one entry and one event."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier
from typing import Any, NamedTuple

import pytest
from flask import Flask
from sqlalchemy import select, text

from directory.api import account_deletion
from directory.extensions import db
from directory.http import endpoint
from directory.models import AuditEntry, Delivery, Project, Revision, Upvote
from directory.services.data import counter_checks, recount
from directory.services.identity import Caller
from directory.services.review import moderation
from directory.services.votes import voting
from tests.services.test_demotion_races import WAITING
from tests.support.factories import PASSWORD, Api, World
from tests.support.reviewing import NOTIFYING
from tests.support.waiting import until

_names = count(1)
# Who calls, how, and whether the version that was seen is sent along.
CALLS: dict[str, tuple[str, str, str, Any, bool]] = {
    "approve": ("root", "PUT", "/api/admin/projects/{project}/approve", None, True),
    "another approve": ("eve", "PUT", "/api/admin/projects/{project}/approve", None, True),
    "approve any version": ("root", "PUT", "/api/admin/projects/{project}/approve", None, False),
    "reject": ("eve", "PUT", "/api/admin/projects/{project}/reject", {"reason": "No."}, True),
    "reject any version": ("eve", "PUT", "/api/admin/projects/{project}/reject", {"reason": "No."}, False),
    "edit": ("owner", "PUT", "/api/projects/{project}", {"tagline": "Later"}, True),
    "edit any version": ("owner", "PUT", "/api/projects/{project}", {"tagline": "Later"}, False),
    "withdraw": ("owner", "DELETE", "/api/projects/{project}/revision", None, False),
    "withdraw what was seen": ("owner", "DELETE", "/api/projects/{project}/revision", None, True),
    "unpublish": ("eve", "PUT", "/api/admin/projects/{project}/unpublish", None, False),
    "delete": ("owner", "DELETE", "/api/projects/{project}", None, False),
    "take down": ("eve", "PUT", "/api/admin/users/{owner}", {"status": "suspended", "unpublish": True}, False),
    "leave": ("owner", "DELETE", "/api/auth/me", {"current_password": PASSWORD}, False),
    "vote": ("voter", "PUT", "/api/projects/{project}/upvote", None, False),
    "suspend the voter": ("eve", "PUT", "/api/admin/users/{voter}", {"status": "suspended"}, False),
}
# The answers of the two, where the first is first and where the second is; those of the contract's table.
RACES: dict[tuple[str, str], tuple[tuple[int, int], tuple[int, int]]] = {
    ("approve", "another approve"): ((200, 200), (200, 200)),
    ("approve", "edit"): ((200, 412), (412, 200)),
    ("approve", "edit any version"): ((200, 200), (412, 200)),
    ("approve any version", "edit any version"): ((200, 200), (200, 200)),
    ("approve", "withdraw"): ((200, 404), (200, 204)),  # what is live as it was needs no approval
    ("approve any version", "withdraw what was seen"): ((200, 412), (200, 204)),
    ("approve", "reject"): ((200, 412), (412, 200)),
    ("approve any version", "reject any version"): ((200, 409), (409, 200)),
    ("reject", "edit"): ((200, 412), (412, 200)),
    ("reject any version", "withdraw"): ((200, 204), (409, 204)),
    ("approve any version", "unpublish"): ((200, 200), (200, 200)),
    ("approve any version", "delete"): ((200, 204), (404, 204)),
    ("approve any version", "take down"): ((200, 200), (409, 200)),
    ("approve any version", "leave"): ((200, 204), (200, 204)),
    ("vote", "suspend the voter"): ((200, 200), (401, 200)),
}


class Case(NamedTuple):
    """A live project whose changes wait, and who acts on it."""

    project: int
    version: int
    people: dict[str, Caller]
    callers: dict[str, Api]

    def call(self, name: str) -> int:
        """Send a request of the table; the status of its answer."""
        who, method, path, body, is_versioned = CALLS[name]
        headers = {"If-Match": f'"{self.version}"'} if is_versioned else {}
        ids = {who: person.id for who, person in self.people.items()}
        path = path.format(project=self.project, **ids)
        return int(self.callers[who].call(method, path, body, headers=headers).status_code)


@pytest.fixture
def notifying(make_app: Any) -> Flask:
    return make_app(**NOTIFYING)  # type: ignore[no-any-return]


def begin(app: Flask, world: World) -> Case:
    """A project of an owner of its own."""
    number = next(_names)
    people = {who: world.user(f"{who}{number}") for who in ("owner", "voter")}
    people |= {who: world.admin(f"{who}{number}") for who in ("root", "eve")}
    project = world.project(people["owner"], title="Before")
    world.revise(project, people["owner"], title="After")
    callers = {who: Api(app, world.caller(person).token) for who, person in people.items()}
    return Case(project, world.stored(project)["version"], people, callers)


def end(app: Flask, case: Case) -> dict[str, Any]:
    """The project and all that was written about it."""
    columns = (Project.title, Project.tagline, Project.status, Project.version, Project.upvotes)
    with app.app_context():
        project = db.session.execute(select(*columns).where(Project.id == case.project)).one_or_none()
        revision = db.session.get(Revision, case.project)
        log = select(AuditEntry.action).where(AuditEntry.project_id == case.project).order_by(AuditEntry.id)
        events = select(Delivery.event).where(Delivery.project_id == case.project).order_by(Delivery.id)
        assert recount.look(lambda number: number > 0).faults + counter_checks.USERS.look() == []
        return {
            "project": project and tuple(project),
            "revision": revision and (revision.changes, revision.submitted_at is not None, revision.reason),
            "log": list(db.session.scalars(log)),
            "events": list(db.session.scalars(events)),
            "votes": len(list(db.session.scalars(select(Upvote).where(Upvote.project_id == case.project)))),
        }


def together(work: Callable[..., Any], ready: Barrier) -> Callable[..., Any]:
    """Have a function begin when both requests have come to it."""
    return lambda *args: (ready.wait(), work(*args))[1]


@pytest.mark.parametrize(("one", "other"), RACES)
def test_of_two_requests_at_once_each_is_answered_as_if_one_came_first(
    notifying: Flask, world: World, one: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = []
    for first, second in ((one, other), (other, one)):
        case = begin(notifying, world)
        answers = {name: case.call(name) for name in (first, second)}
        orders.append(((answers[one], answers[other]), end(notifying, case)))
    assert tuple(answers for answers, _ in orders) == RACES[one, other]

    case, ready = begin(notifying, world), Barrier(2, timeout=20)
    for module, name in ((endpoint, "transaction"), (account_deletion, "transaction"), (voting, "_count")):
        monkeypatch.setattr(module, name, together(getattr(module, name), ready))
    with ThreadPoolExecutor(2) as pool:
        at_once = tuple(pool.map(case.call, (one, other)))
    assert (at_once, end(notifying, case)) in orders


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_a_category_that_is_renamed_during_an_approval_is_the_one_that_is_approved(
    make_app: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, ada, games = make_app(), world.user(), world.category("games")
    project = world.project(ada)
    world.revise(project, ada, category=games)
    root, locked, renaming = world.caller(world.admin()), moderation.locked, []

    def then_rename(project_ids: Any) -> Any:
        cases = locked(project_ids)
        if not renaming:
            renaming.append(pool.submit(root.put, "/api/admin/categories/games", {"slug": "play"}))
            until(lambda: renaming[0].done() or watching.scalar(text(WAITING)) == 1)
        return cases

    monkeypatch.setattr(moderation, "locked", then_rename)
    with ThreadPoolExecutor(1) as pool, app.app_context(), db.engine.connect() as watching:
        assert root.put(f"/api/admin/projects/{project}/approve").status_code == 200
        assert renaming[0].result(20).status_code == 200
    assert world.stored(project)["category"]["slug"] == "play"
