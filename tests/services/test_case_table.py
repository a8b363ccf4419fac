"""The table of transitions of a review: what holds of every row, and of the database that keeps to it."""

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from directory.extensions import db
from directory.models import Outcome, Reviewed, Status
from directory.services.review.steps import ENTRIES, STEPS, Act, Stage, Step
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
