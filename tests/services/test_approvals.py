"""Approvals by several people: the last one moves the state, and what changes the project or the people voids them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, text

from directory.db.transactions import transaction
from directory.errors import Duplicate, InvalidTransition, NotFound, PreconditionFailed
from directory.extensions import db
from directory.models import AccountStatus, Approval, AuditEntry, Delivery, Project, ReviewClaim, Role, now
from directory.services import turns
from directory.services.catalog import catalog
from directory.services.identity import Caller
from directory.services.people import account_deletion, administration
from directory.services.review import approvals, moderation, submissions, takedown
from tests.conftest import Database, Statements
from tests.support.factories import World
from tests.support.outbox import endpoint
from tests.support.waiting import until

TWO = moderation.Terms(required=2)
HOOK = replace(endpoint("http://127.0.0.1:1/"), events=frozenset({"project.approved", "project.edited"}))


@pytest.fixture
def people(world: World) -> list[Caller]:
    """Three who may review."""
    return [world.admin(name) for name in ("ada", "bea", "cyd")]


def run(app: Flask, work: Callable[[], Any]) -> Any:
    with app.app_context():
        return transaction(work)


def approve(
    app: Flask, project: int, by: Caller | None, required: int = 2, reason: str | None = None, **given: Any
) -> None:
    terms = moderation.Terms(reason, required=required)
    run(app, lambda: moderation.decide(project, "approve", by=by, notify=[HOOK], terms=terms, **given))


def edit(app: Flask, project: int, by: Caller, **fields: Any) -> None:
    run(app, lambda: submissions.edit(project, fields, by=by, review_on_edit="material", notify=[]))


def given(app: Flask, project: int, required: int = 2) -> list[str] | None:
    """The names of those whose approvals count; None if none are shown."""
    with app.app_context():
        shown: dict[str, Any] = {"id": project, "standing": turns.of_each([project])[project]}
        approvals.add([shown], required)
        return shown["approvals"] and [each["user"]["username"] for each in shown["approvals"]["given"]]


def log(app: Flask, project: int) -> list[tuple[str, int | None]]:
    """The decisions about a project, each with the id of who made it."""
    with app.app_context():
        entries = select(AuditEntry).where(AuditEntry.project_id == project).order_by(AuditEntry.id)
        return [
            (entry.action.removeprefix("project."), entry.actor_id)
            for entry in db.session.scalars(entries)
            if "appro" in entry.action
        ]


def events(app: Flask) -> list[str]:
    with app.app_context():
        return list(db.session.scalars(select(Delivery.event).order_by(Delivery.id)))


@pytest.fixture(params=["submission", "revision"])
def waiting(request: pytest.FixtureRequest, world: World) -> int:
    """A project that can be approved: a pending one, and a live one whose changes wait."""
    if request.param == "submission":
        return world.project(status="pending")
    owner = world.user()
    project = world.project(owner)
    world.revise(project, owner, title="Later")
    return project


def is_decided(world: World, project: int) -> bool:
    """Whether the project is live and nothing of it waits."""
    with world.app.app_context():
        return turns.of_each([project])[project].outcome == "approved"


@pytest.mark.parametrize("required", [2, 3])
def test_the_last_approval_moves_the_state_and_alone_notifies(
    app: Flask, world: World, people: list[Caller], waiting: int, required: int
) -> None:
    before = world.stored(waiting)
    revised = before["status"] == "live"
    entries = []
    for number, person in enumerate(people[: required - 1], 1):
        approve(app, waiting, person, required, versions=(before["version"],))
        entries.append(("approval_given", person.id))
        assert world.stored(waiting) == before
        assert given(app, waiting, required) == [each.username for each in people[:number]]
        assert (log(app, waiting)[-number:], events(app)) == (entries, [])
    last = people[required - 1]
    approve(app, waiting, last, required, versions=(before["version"],))
    assert is_decided(world, waiting)
    assert log(app, waiting)[-required:] == [*entries, ("edit_approved" if revised else "approved", last.id)]
    assert events(app) == ["project.edited" if revised else "project.approved"]
    assert world.stored(waiting)["version"] == before["version"] + 1
    approve(app, waiting, last, required)  # which was made before
    assert (len(events(app)), given(app, waiting, required)) == (1, None)


def test_the_same_person_again_changes_nothing(app: Flask, people: list[Caller], waiting: int) -> None:
    approve(app, waiting, people[0])
    with app.app_context():
        before = db.session.execute(select(Approval.version, Approval.at)).all()
    logged = log(app, waiting)
    approve(app, waiting, people[0])
    with app.app_context():
        assert db.session.execute(select(Approval.version, Approval.at)).all() == before
    assert (given(app, waiting), log(app, waiting)) == (["ada"], logged)


def test_a_reason_is_kept_in_the_log_and_the_entry_counts_in_no_waiting_time(
    app: Flask, people: list[Caller], waiting: int
) -> None:
    approve(app, waiting, people[0], reason="Looks right.")
    with app.app_context():
        entry = db.session.scalars(select(AuditEntry).where(AuditEntry.action == "project.approval_given")).one()
        status = db.session.get_one(Project, waiting).status
    assert (entry.reason, entry.waited_seconds, entry.changes) == ("Looks right.", None, None)
    assert (entry.from_state, entry.to_state) == (status, status)


def reject(app: Flask, project: int, by: Caller) -> None:
    """Reject what waits, and have it wait again."""
    run(app, lambda: moderation.decide(project, "reject", by=by, notify=[]))
    with app.app_context():
        owner = Caller(db.session.get_one(Project, project).owner_id, "owner", Role.MEMBER)
    edit(app, project, owner, title="Once more")


def set_ada(**values: Any) -> Callable[..., None]:
    """Give ada, who has approved, another role or status, and take it back."""

    def change(app: Flask, _project: int, by: Caller, ada: Caller) -> None:
        before = {"role": Role.ADMIN, "status": AccountStatus.ACTIVE}
        for each in (values, before):
            new = {"role": None, "status": None, **{name: each[name] for name in values}}
            run(app, lambda new=new: administration.administer(ada.id, by=by, **new))

    return change


def by_owner(app: Flask, project: int, *_: Any) -> None:
    with app.app_context():
        owner = Caller(db.session.get_one(Project, project).owner_id, "owner", Role.MEMBER)
    edit(app, project, owner, title="Another title")


def delete_ada(app: Flask, _project: int, by: Caller, ada: Caller) -> None:
    run(app, lambda: account_deletion.delete_user(ada.id, by=by, notify=[]))


VOIDS: dict[str, Callable[..., None]] = {
    "an edit by the owner": by_owner,
    "an edit by an administrator": lambda app, project, by, _ada: edit(app, project, by, tagline="Another tagline"),
    "an edit by who approved": lambda app, project, _by, ada: edit(app, project, ada, tagline="Another tagline"),
    "a request for changes": lambda app, project, by, _ada: run(
        app, lambda: moderation.decide(project, "request_changes", by=by, notify=[], terms=moderation.Terms("Why?"))
    ),
    "a rejection": lambda app, project, by, _ada: reject(app, project, by),
    "a demotion": set_ada(role=Role.MEMBER),
    "a suspension": set_ada(status=AccountStatus.SUSPENDED),
    "a deletion": delete_ada,
}


@pytest.mark.parametrize("name", VOIDS)
def test_what_voids_an_approval(app: Flask, world: World, people: list[Caller], waiting: int, name: str) -> None:
    ada, bea, cyd = people
    approve(app, waiting, ada)
    VOIDS[name](app, waiting, bea, ada)
    assert given(app, waiting) == []
    approve(app, waiting, bea)
    assert (given(app, waiting), is_decided(world, waiting)) == (["bea"], False)
    approve(app, waiting, cyd)
    assert is_decided(world, waiting)


def test_an_unpublished_project_needs_its_approvals_again(app: Flask, world: World, people: list[Caller]) -> None:
    ada, bea, _ = people
    project = world.project(status="pending")
    for person in (ada, bea):
        approve(app, project, person)
    run(app, lambda: moderation.decide(project, "unpublish", by=ada, notify=[]))
    assert given(app, project) == []
    approve(app, project, ada)
    assert world.stored(project)["status"] == "pending"
    approve(app, project, bea)
    assert world.stored(project)["status"] == "live"


def test_a_takedown_voids_approvals(app: Flask, world: World, people: list[Caller]) -> None:
    owner = world.user()
    project = world.project(owner, "pending")
    approve(app, project, people[0])
    run(app, lambda: takedown.take_down(owner.id, by=people[1], notify=[], reason=None))
    edit(app, project, owner, title="Once more")
    assert given(app, project) == []


def test_another_reviewer_who_is_demoted_voids_nothing(app: Flask, people: list[Caller], waiting: int) -> None:
    approve(app, waiting, people[0])
    set_ada(role=Role.MEMBER)(app, waiting, people[0], people[1])
    assert given(app, waiting) == ["ada"]


def test_an_approval_is_taken_back_by_who_gave_it(app: Flask, people: list[Caller], waiting: int) -> None:
    ada, bea, _ = people
    approve(app, waiting, ada)
    with pytest.raises(NotFound):
        run(app, lambda: approvals.withdraw(waiting, by=bea))
    run(app, lambda: approvals.withdraw(waiting, by=ada))
    assert given(app, waiting) == []
    with pytest.raises(NotFound):
        run(app, lambda: approvals.withdraw(waiting, by=ada))
    with pytest.raises(NotFound):
        run(app, lambda: approvals.withdraw(10**9, by=ada))
    assert log(app, waiting)[-2:] == [("approval_given", ada.id), ("approval_withdrawn", ada.id)]


def test_a_void_approval_cannot_be_taken_back(app: Flask, people: list[Caller], waiting: int) -> None:
    approve(app, waiting, people[0])
    by_owner(app, waiting)
    with pytest.raises(NotFound):
        run(app, lambda: approvals.withdraw(waiting, by=people[0]))


def test_another_number_moves_nothing_until_somebody_approves(
    app: Flask, world: World, people: list[Caller], waiting: int
) -> None:
    ada, bea, _ = people
    approve(app, waiting, ada, required=3)
    approve(app, waiting, bea, required=3)
    assert (given(app, waiting, 2), given(app, waiting, 1)) == (["ada", "bea"], None)
    assert not is_decided(world, waiting)
    approve(app, waiting, ada, required=2)
    assert is_decided(world, waiting)
    assert log(app, waiting)[-1][1] == ada.id


def test_one_is_enough_again_after_the_number_was_lowered(
    app: Flask, world: World, people: list[Caller], waiting: int
) -> None:
    approve(app, waiting, people[0], required=2)
    approve(app, waiting, people[0], required=1)
    assert is_decided(world, waiting)


def test_the_command_of_the_operator_needs_no_other_approval(app: Flask, world: World, waiting: int) -> None:
    approve(app, waiting, None, required=3)
    assert is_decided(world, waiting)


def test_a_version_that_was_not_seen_and_another_state_get_no_approval(
    app: Flask, world: World, people: list[Caller], waiting: int
) -> None:
    with pytest.raises(PreconditionFailed):
        approve(app, waiting, people[0], versions=(999,))
    with pytest.raises(InvalidTransition):
        approve(app, world.project(status="rejected"), people[0])
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(Approval)) == 0


def test_in_bulk_each_project_has_its_own_number(app: Flask, world: World, people: list[Caller]) -> None:
    ada, bea, _ = people
    owner = world.user()
    fresh, begun, gone = world.project(status="pending"), world.project(status="pending"), world.project(owner)
    revised = world.project(owner)
    world.revise(revised, owner, title="Later")
    world.revise(gone, owner, title="Later")
    for project in (begun, revised):
        approve(app, project, ada)
    wanted = dict.fromkeys((fresh, begun, revised, gone))
    found = run(app, lambda: moderation.decide_many("approve", wanted, by=bea, notify=[HOOK], terms=TWO))
    assert found == dict.fromkeys(wanted)
    assert {project for project in wanted if is_decided(world, project)} == {begun, revised}
    assert (given(app, fresh), given(app, gone)) == (["bea"], ["bea"])
    assert sorted(events(app)) == ["project.approved", "project.edited"]


def test_an_address_that_is_taken_keeps_the_revision_and_no_new_approval(
    app: Flask, world: World, people: list[Caller]
) -> None:
    ada, bea, _ = people
    owner = world.user()
    first, second = world.project(owner), world.project(owner)
    world.revise(first, owner, url="https://taken.example")
    world.revise(second, owner, title="Later")
    for project in (first, second):
        approve(app, project, ada)
    world.project(owner, "pending", url="https://taken.example")
    with pytest.raises(Duplicate):
        approve(app, first, bea)
    wanted = dict.fromkeys((first, second))
    found = run(app, lambda: moderation.decide_many("approve", wanted, by=bea, notify=[], terms=TWO))
    assert found == {first: "duplicate", second: None}
    assert (given(app, first), is_decided(world, first), is_decided(world, second)) == (["ada"], False, True)
    assert log(app, first)[-1] == ("approval_given", ada.id)


def test_one_approval_names_no_table_of_approvals_or_claims(
    app: Flask, people: list[Caller], waiting: int, statements: Statements
) -> None:
    statements.clear()
    approve(app, waiting, people[0], required=1)
    assert any("UPDATE projects" in each for each in statements)
    assert [each for each in statements if "approvals" in each or "claims" in each] == []


def race(works: list[Callable[[], Any]]) -> list[Any]:
    """Run each in a thread of its own, all from the same moment on."""
    ready = Barrier(len(works), timeout=30)
    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(lambda work: (ready.wait(), work())[1], works))


def test_of_sixteen_who_approve_at_once_one_moves_it(app: Flask, world: World, waiting: int) -> None:
    people = [world.admin() for _ in range(16)]
    before = log(app, waiting)
    race([partial(approve, app, waiting, person, required=3) for person in people])
    assert is_decided(world, waiting)
    last = "edit_approved" if before else "approved"
    assert [action for action, _ in log(app, waiting)[len(before) :]] == ["approval_given", "approval_given", last]
    assert len(events(app)) == 1


def test_the_last_approval_and_the_demotion_of_who_gave_the_first_at_once(
    app: Flask, world: World, people: list[Caller]
) -> None:
    ada, bea, _ = people

    def demote() -> None:
        administration.administer(ada.id, role=Role.MEMBER, status=None, by=bea)

    for _ in range(5):
        project = world.project(status="pending")
        approve(app, project, ada)
        race([partial(approve, app, project, bea), partial(run, app, demote)])
        if not is_decided(world, project):
            assert given(app, project) == ["bea"]
        run(app, lambda: administration.administer(ada.id, role=Role.ADMIN, status=None, by=bea))


LOCKS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


def test_the_last_approval_waits_for_the_demotion_of_who_gave_the_first(
    app: Flask, world: World, people: list[Caller], database: Database
) -> None:
    if database.backend != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    ada, bea, _ = people
    project = world.project(status="pending")
    approve(app, project, ada)
    with ThreadPoolExecutor(1) as pool, app.app_context(), db.engine.connect() as other, db.engine.connect() as look:
        demoting = other.execution_options(isolation_level="READ COMMITTED")
        demoting.execute(text("UPDATE users SET role = 'member' WHERE id = :id"), {"id": ada.id})
        last = pool.submit(approve, app, project, bea)
        until(lambda: look.scalar(text(LOCKS)) == 1)
        demoting.commit()
        last.result(30)
    assert (given(app, project), is_decided(world, project)) == (["bea"], False)


def test_a_demotion_waits_for_an_approval_that_was_begun(
    app: Flask, world: World, people: list[Caller], database: Database
) -> None:
    if database.backend != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    ada, bea, _ = people
    project = world.project(status="pending")
    with ThreadPoolExecutor(1) as pool, app.app_context(), db.engine.connect() as look:

        def approve_slowly() -> Any:
            moderation.decide(project, "approve", by=ada, notify=[], terms=TWO)
            begun = pool.submit(set_ada(role=Role.MEMBER), app, project, bea, ada)
            until(lambda: look.scalar(text(LOCKS)) == 1)
            return begun

        transaction(approve_slowly).result(30)
    assert given(app, project) == []


def test_how_many_have_some_approvals_and_not_enough(app: Flask, world: World, people: list[Caller]) -> None:
    ada, bea, _ = people
    one, two, void = (world.project(status="pending") for _ in range(3))
    for project, person in ((one, ada), (two, ada), (two, bea), (void, ada)):
        approve(app, project, person, required=3)
    by_owner(app, void)
    with app.app_context():
        assert [db.session.scalar(approvals.pending(required)) for required in (1, 2, 3)] == [0, 1, 2]


def test_approvals_of_earlier_versions_are_deleted_in_portions(app: Flask, world: World, people: list[Caller]) -> None:
    kept, *void = (world.project(status="pending") for _ in range(4))
    for project in (kept, *void):
        approve(app, project, people[0])
    for project in void:
        by_owner(app, project)
    assert [run(app, lambda: approvals.purge(2)) for _ in range(3)] == [2, 1, 0]
    assert given(app, kept) == ["ada"]
    with app.app_context():
        assert list(db.session.scalars(select(Approval.project_id))) == [kept]


def test_expired_claims_are_deleted_in_portions(app: Flask, world: World, people: list[Caller]) -> None:
    kept, *expired = (world.project(status="pending") for _ in range(4))
    facts = {"user_id": people[0].id, "version": 1}
    held = [ReviewClaim(project_id=kept, until=now() + timedelta(minutes=1), **facts)]
    held += [ReviewClaim(project_id=each, until=now() - timedelta(seconds=1), **facts) for each in expired]
    run(app, lambda: db.session.add_all(held))
    assert [run(app, lambda: approvals.purge_claims(2)) for _ in range(3)] == [2, 1, 0]
    with app.app_context():
        assert [*db.session.scalars(select(ReviewClaim.project_id))] == [kept]


def test_approvals_go_with_their_project(app: Flask, world: World, people: list[Caller]) -> None:
    project = world.project(status="pending")
    approve(app, project, people[0])
    run(app, lambda: moderation.decide_many("delete", {project: None}, by=people[1], notify=[]))
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(Approval)) == 0


@pytest.mark.parametrize("size", [1, 20])
def test_the_approvals_of_a_page_cost_one_statement(
    app: Flask, world: World, people: list[Caller], statements: Statements, size: int
) -> None:
    projects = [world.project(status="pending") for _ in range(size)]
    for project in projects:
        approve(app, project, people[0])
    with app.app_context():
        shown = catalog.many(projects, viewer=people[0])
        statements.clear()
        approvals.add(list(shown.values()), 2)
        assert len([each for each in statements if "approvals" in each]) == 1
        first = shown[projects[0]]["approvals"]
        [one] = first["given"]
        assert (first["required"], one["user"]) == (2, {"id": people[0].id, "username": "ada"})
        assert abs((now() - one["at"]).total_seconds()) < 600
        statements.clear()
        approvals.add(list(shown.values()), 1)
        assert (list(statements), shown[projects[0]]["approvals"]) == ([], None)
