"""The routes of picks."""

from typing import Any

from flask import Blueprint, current_app

from directory.api.review.projects import after_decision
from directory.api.schemas.review import ReviewedProject
from directory.errors import InvalidTransition, OwnSubmission
from directory.extras.picks import picks
from directory.http.access import decides, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.fields import Line, Strict
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody

bp = Blueprint("review", __name__, url_prefix="/api/review")


class PickInput(Strict):
    """Why a project is picked."""

    words = Line(1, 200, required=True)


@bp.put("/projects/<id:project_id>/pick")
@reviewer_required
@decides
@documented(raises=(InvalidTransition, OwnSubmission))
@operation(body=JsonBody(PickInput()), answer=ReviewedProject())
def pick_project(project_id: int, body: dict[str, Any]) -> Any:
    """Pick a live project, with a line that says why.

    Picks are a list of their own, the latest first (`picked=true`). The owner gets a mail. The same words again change
    nothing; other words take their place, and the time of the pick stays. A project that is taken down keeps its pick,
    and is not listed meanwhile.
    """
    self_review = current_app.config["SELF_REVIEW"]
    picks.pick(project_id, body["words"], by=caller(), notify=subscribers(), self_review=self_review)
    return after_decision(project_id)


@bp.delete("/projects/<id:project_id>/pick")
@reviewer_required
@decides
@documented(raises=(InvalidTransition, OwnSubmission))
@operation(status=204)
def unpick_project(project_id: int) -> Any:
    """Take back the pick of a live project; without one nothing changes."""
    picks.unpick(project_id, by=caller(), notify=subscribers(), self_review=current_app.config["SELF_REVIEW"])
