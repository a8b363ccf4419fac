"""The table of transitions of a review: what holds of every row, and of the database that keeps to it."""

import re

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Outcome, Reviewed, Status, now
from directory.services.review.case import advance, begun, flush, locked
from directory.services.review.steps import ENTRIES, STEPS, Act, Stage, Step
from tests.conftest import Statements
from tests.support.factories import World


@pytest.mark.parametrize(("at", "step"), STEPS.items(), ids=lambda it: "-".join(map(str, it[:3])))
def test_the_state_of_a_project_follows_from_its_case(at: tuple[Reviewed, Stage, Act], step: Step) -> None:
    kind, stage, act = at
    is_of_changes = kind is Reviewed.CHANGES and act is not Act.UNPUBLISH
    by_outcome = {None: Status.PENDING, Outcome.REJECTED: Status.REJECTED}
    assert step.status == (Status.LIVE if is_of_changes else by_outcome.get(step.outcome, Status.LIVE))
    assert step.turn is not None or step.outcome is not None
    assert (step.event is None) == (act is Act.HOLD)
    assert act in ENTRIES or step.turn is not None or step.outcome is not None
    if stage in {Stage.APPEALED, Stage.DOWN_APPEALED} and act not in {Act.UPHOLD, Act.REVERSE}:
        assert step.ends is not None


def test_every_act_and_every_stage_is_in_the_table() -> None:
    assert {act for _kind, _stage, act in STEPS} == {*Act}
    assert {stage for _kind, stage, _act in STEPS} == {*Stage}


@pytest.mark.parametrize(("was", "status"), [("pending", "live"), ("pending", "rejected"), ("live", "pending")])
def test_the_database_refuses_a_status_without_its_case(app: Flask, world: World, was: str, status: str) -> None:
    project = world.project(status=was)
    change = text("UPDATE projects SET status = :status, published_at = created_at WHERE id = :id")
    with app.app_context(), pytest.raises(IntegrityError, match=r"ck_projects_case|does not agree with its case"):
        db.session.execute(change, {"status": status, "id": project})


def test_of_a_case_is_written_what_differs_and_once(app: Flask, world: World, statements: Statements) -> None:
    project_id = world.project(status="pending")

    def step() -> list[int]:
        [case] = locked([project_id])
        written = []
        for act in (None, Act.HOLD, None, Act.RELEASE, Act.APPROVE):
            statements.clear()
            if act is not None:
                advance(case, act, by=None, at=now())
            flush([case])
            written.append(sum(each.startswith("UPDATE reviews SET") for each in statements))
        assert case.review is None
        raise LookupError(written)

    with app.app_context(), pytest.raises(LookupError, match=re.escape("[0, 1, 0, 1, 1]")):
        transaction(step)
    with app.app_context():
        assert transaction(lambda: [case.stage for case in locked([project_id])]) == [Stage.QUEUED]


def test_a_new_case_can_be_changed_after_it_was_written(app: Flask, world: World) -> None:
    project_id = world.project()

    def step() -> None:
        [case] = locked([project_id])
        at = now()
        case.review = begun(case.project, Reviewed.CHANGES, at)
        case.review.changes = {"title": "Other"}
        flush([case])
        advance(case, Act.HOLD, by=None, at=at)
        flush([case])

    with app.app_context():
        transaction(step)
        [case] = transaction(lambda: locked([project_id]))
        assert (case.stage, case.review and case.review.changes) == (Stage.HELD, {"title": "Other"})
