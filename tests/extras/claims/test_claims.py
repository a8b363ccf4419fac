"""Claims: who looks at a project, and what ends that."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select, update

from directory.db.transactions import transaction
from directory.errors import Claimed, InvalidTransition, NotFound, Unauthenticated
from directory.extensions import db
from directory.extras.claims import claims, routes
from directory.models import AccountStatus, AuditEntry, Delivery, Project, ReviewClaim, Role, User, now
from directory.services.clock import timestamp
from directory.services.identity import Caller
from directory.services.people import account_deletion, administration
from directory.services.review import moderation, submissions, takedown
from tests.conftest import Statements
from tests.services.test_holds import hold
from tests.support.factories import World


@pytest.fixture
def people(world: World) -> list[Caller]:
    """Two who may review."""
    return [world.admin(name) for name in ("ada", "bea")]


def run(app: Flask, work: Callable[[], Any]) -> Any:
    with app.app_context():
        return transaction(work)


def take(app: Flask, project: int, by: Caller, **given: Any) -> dict[str, Any]:
    claim: dict[str, Any] = run(app, lambda: claims.take(project, by=by, **{"minutes": 15, **given}))
    return claim


def holder(app: Flask, project: int) -> str | None:
    with app.app_context():
        claim = claims.of_each([project]).get(project)
        return claim and claim["user"]["username"]


def expire(app: Flask, project: int) -> None:
    past = {"until": now() - timedelta(seconds=1)}
    run(app, lambda: db.session.execute(update(ReviewClaim).where(ReviewClaim.project_id == project).values(past)))


@pytest.fixture(params=["submission", "revision"])
def waiting(request: pytest.FixtureRequest, world: World) -> int:
    """A project that waits for review: a pending one, and a live one with changes."""
    owner = world.user()
    if request.param == "submission":
        return world.project(owner, "pending")
    project = world.project(owner)
    world.revise(project, owner, title="Later")
    return project


def test_a_claim_is_of_one_person_and_is_renewed_by_the_same(app: Flask, people: list[Caller], waiting: int) -> None:
    ada, bea = people
    first = take(app, waiting, ada)
    assert first["user"] == {"id": ada.id, "username": "ada"}
    assert timedelta(minutes=14) < first["until"] - now() <= timedelta(minutes=15)
    again = take(app, waiting, ada)
    assert again["until"] > first["until"]
    with pytest.raises(Claimed) as refused:
        take(app, waiting, bea)
    shown = {**again, "until": timestamp(again["until"])}
    assert (refused.value.code, refused.value.extra) == ("claimed", {"claim": shown})
    assert holder(app, waiting) == "ada"
    assert take(app, waiting, bea, take_over=True)["user"]["username"] == "bea"
    assert holder(app, waiting) == "bea"


def test_a_claim_leaves_no_trace_in_the_project_the_log_and_the_outbox(
    app: Flask, world: World, people: list[Caller], waiting: int
) -> None:
    def seen() -> Any:
        with app.app_context():
            numbers = [db.session.scalar(select(func.count()).select_from(model)) for model in (AuditEntry, Delivery)]
        return world.stored(waiting), numbers

    before = seen()
    take(app, waiting, people[0])
    take(app, waiting, people[1], take_over=True)
    run(app, lambda: claims.release(waiting, by=people[1]))
    assert seen() == before


def test_a_claim_expires(app: Flask, people: list[Caller], waiting: int) -> None:
    ada, bea = people
    take(app, waiting, ada)
    expire(app, waiting)
    assert holder(app, waiting) is None
    assert take(app, waiting, bea)["user"]["username"] == "bea"


def test_what_does_not_wait_cannot_be_claimed(app: Flask, world: World, people: list[Caller]) -> None:
    ada, _ = people
    unpublished = world.project()
    run(app, lambda: moderation.decide(unpublished, "unpublish", by=None, notify=[]))
    refused = world.project(owner := world.user())
    world.revise(refused, owner, title="Later")
    run(app, lambda: moderation.decide(refused, "reject", by=None, notify=[]))
    for project in (world.project(), world.project(status="rejected"), unpublished, refused):
        with pytest.raises(InvalidTransition, match="does not wait for the reviewers"):
            take(app, project, ada)
    with pytest.raises(NotFound):
        take(app, 10**9, ada)


def test_what_is_held_or_appealed_can_be_claimed(app: Flask, world: World, people: list[Caller], waiting: int) -> None:
    hold(app, waiting)
    assert take(app, waiting, people[0])["user"]["username"] == "ada"
    refused = world.project(owner := world.user(), "rejected")
    world.appeal(refused, owner)
    take(app, refused, people[0])
    edit(app, refused, people[1], tagline="By an administrator")
    assert holder(app, refused) == "ada"


def test_one_ends_ones_own_claim_and_no_other(app: Flask, people: list[Caller], waiting: int) -> None:
    ada, bea = people
    run(app, lambda: claims.release(waiting, by=ada))  # there is none
    take(app, waiting, ada)
    run(app, lambda: claims.release(waiting, by=bea))
    assert holder(app, waiting) == "ada"
    run(app, lambda: claims.release(waiting, by=ada))
    assert holder(app, waiting) is None
    with pytest.raises(NotFound):
        run(app, lambda: claims.release(10**9, by=ada))


def test_a_suspended_person_claims_nothing(app: Flask, world: World, waiting: int) -> None:
    eve = world.user(role=Role.ADMIN, status=AccountStatus.SUSPENDED)
    with pytest.raises(Unauthenticated):
        take(app, waiting, eve)
    with pytest.raises(Unauthenticated):
        run(app, lambda: claims.release(waiting, by=eve))


def decide(decision: str, **given: Any) -> Callable[..., None]:
    return lambda app, project, _ada, bea: run(
        app, lambda: moderation.decide(project, decision, by=bea, notify=[], terms=moderation.Terms(**given))
    )


def edit(app: Flask, project: int, by: Caller, **fields: Any) -> None:
    run(app, lambda: submissions.edit(project, fields, by=by, review_on_edit="material", notify=[]))


def owner_of(app: Flask, project: int) -> Caller:
    with app.app_context():
        return Caller(db.session.get_one(Project, project).owner_id, "owner", Role.MEMBER)


def by_owner(app: Flask, project: int, *_: Any) -> None:
    edit(app, project, owner_of(app, project), title="Another title")


def take_down(app: Flask, project: int, _ada: Caller, bea: Caller) -> None:
    owner = owner_of(app, project)
    run(app, lambda: takedown.take_down(owner.id, by=bea, notify=[], reason=None))


def change_ada(**values: Any) -> Callable[..., None]:
    def change(app: Flask, _project: int, ada: Caller, bea: Caller) -> None:
        run(app, lambda: administration.administer(ada.id, by=bea, **{"role": None, "status": None, **values}))
        with app.app_context():  # back again, past the rules
            again = {"role": Role.ADMIN, "status": AccountStatus.ACTIVE}
            transaction(lambda: db.session.execute(update(User).where(User.id == ada.id).values(again)))

    return change


ENDS: dict[str, Callable[..., None]] = {
    "an approval": decide("approve"),
    "an approval that does not suffice": decide("approve", required=2),
    "a rejection": decide("reject"),
    "a request for changes": decide("request_changes", reason="Why?"),
    "an edit by the owner": by_owner,
    "a takedown": take_down,
    "a demotion": change_ada(role=Role.MEMBER),
    "a suspension": change_ada(status=AccountStatus.SUSPENDED),
    "a deletion": lambda app, _project, ada, bea: run(
        app, lambda: account_deletion.delete_user(ada.id, by=bea, notify=[])
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_what_ends_a_claim(app: Flask, people: list[Caller], waiting: int, name: str) -> None:
    ada, bea = people
    take(app, waiting, ada)
    ENDS[name](app, waiting, ada, bea)
    assert holder(app, waiting) is None


STAYS: dict[str, Callable[..., None]] = {
    "an edit by an administrator": lambda app, project, _ada, bea: edit(app, project, bea, tagline="Another tagline"),
    "an edit by the holder": lambda app, project, ada, _bea: edit(app, project, ada, tagline="Another tagline"),
    "an edit that changes nothing": lambda app, project, *_: edit(app, project, owner_of(app, project)),
    "the demotion of another": lambda app, project, ada, bea: change_ada(role=Role.MEMBER)(app, project, bea, ada),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_does_not_end_a_claim(app: Flask, people: list[Caller], waiting: int, name: str) -> None:
    ada, bea = people
    take(app, waiting, ada)
    STAYS[name](app, waiting, ada, bea)
    assert holder(app, waiting) == "ada"


def test_a_claim_that_a_decision_ended_does_not_come_back(app: Flask, people: list[Caller], waiting: int) -> None:
    ada, bea = people
    take(app, waiting, ada)
    decide("reject")(app, waiting, ada, bea)
    by_owner(app, waiting)
    assert holder(app, waiting) is None
    assert take(app, waiting, bea)["user"]["username"] == "bea"


def test_of_sixteen_who_claim_at_once_one_has_it(app: Flask, world: World, waiting: int) -> None:
    people = [world.admin() for _ in range(16)]
    ready = Barrier(len(people), timeout=30)

    def claim(person: Caller) -> str | None:
        ready.wait()
        try:
            return str(take(app, waiting, person)["user"]["username"])
        except Claimed as refused:
            return None if refused.extra["claim"] else "nobody"

    with ThreadPoolExecutor(len(people)) as pool:
        winners = [name for name in pool.map(claim, people) if name is not None]
    assert winners == [holder(app, waiting)]


def test_a_claim_and_an_approval_at_once_leave_no_claim(app: Flask, world: World, people: list[Caller]) -> None:
    ada, bea = people
    for _ in range(5):
        project = world.project(status="pending")
        with ThreadPoolExecutor(2) as pool:
            claim = pool.submit(partial(take, app, project, ada))
            pool.submit(partial(decide("approve"), app, project, ada, bea)).result(30)
            assert claim.exception(30) is None or isinstance(claim.exception(), InvalidTransition)
        assert holder(app, project) is None


def test_claims_go_with_their_project(app: Flask, world: World, people: list[Caller], waiting: int) -> None:
    take(app, waiting, people[0])
    run(app, lambda: moderation.decide_many("delete", {waiting: None}, by=people[1], notify=[]))
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(ReviewClaim)) == 0


@pytest.mark.parametrize("size", [1, 20])
def test_the_claims_of_a_page_cost_one_statement(
    app: Flask, world: World, people: list[Caller], statements: Statements, size: int
) -> None:
    projects = [world.project(status="pending") for _ in range(size)]
    take(app, projects[0], people[0])
    shown: list[dict[str, Any]] = [{"id": project} for project in projects]
    with app.app_context():
        statements.clear()
        routes.add_claims(shown, by=people[0])
        assert len(statements) == 1
        routes.add_claims([], by=people[0])
        assert len(statements) == 1
    assert shown[0]["claim"]["user"] == {"id": people[0].id, "username": "ada"}
    assert [each["claim"] for each in shown[1:]] == [None] * (size - 1)
