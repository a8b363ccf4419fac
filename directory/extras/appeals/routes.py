"""The routes of appeals. With APPEALS=off nobody can appeal; an open appeal can still be settled."""

from typing import Any

from flask import Blueprint, current_app
from marshmallow import fields

from directory.api.review.projects import after_decision
from directory.api.schemas.messages import ANSWER_MAX, MessageOutput
from directory.api.schemas.review import ReviewedProject
from directory.errors import (
    AppealNotPossible,
    EmailNotVerified,
    NoAppeal,
    OwnDecision,
    OwnSubmission,
    PreconditionFailed,
)
from directory.extras.appeals import appeals
from directory.extras.appeals.appeals import KINDS
from directory.http.access import decides, own_required, require_verified, reviewer_required, shows_reviewers
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.fields import Prose, Strict, Word
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.identity import Caller
from directory.services.review import case

bp = Blueprint("appeals", __name__, url_prefix="/api/projects/<id:project_id>/appeal")
review = Blueprint("review", __name__, url_prefix="/api/review")


class AppealInput(Strict):
    """Why the owner asks for another look."""

    text = Prose(1, ANSWER_MAX, required=True)


class OutcomeInput(Strict):
    """The outcome of an appeal, and the reason for the owner."""

    outcome = Word(tuple(KINDS), required=True)
    reason = Prose(1, 2000, required=True)


class AppealsInSummary(Strict):
    """What the summary of the queue says of appeals."""

    appeals = fields.Boolean(required=True, metadata={"description": "Whether owners may appeal (APPEALS)."})


def are_on() -> bool:
    """Whether owners may appeal."""
    return bool(current_app.config["APPEALS"] == "on")


def add_to_summary(answers: list[dict[str, Any]], *, by: Caller) -> None:
    """Say in the summary of the queue whether owners may appeal."""
    for answer in answers:
        answer["appeals"] = are_on()


def _require_on(**_path: Any) -> None:
    """Raise AppealNotPossible while appeals are off."""
    if not are_on():
        raise AppealNotPossible


def _require_some(project_id: int) -> None:
    """Raise AppealNotPossible while appeals are off, unless one is open, or its outcome may be repeated."""
    if not are_on():
        appeals.require_one(project_id, by=caller())


@bp.post("")
@own_required
@documented(raises=(AppealNotPossible, EmailNotVerified))
@operation(body=JsonBody(AppealInput()), answer=MessageOutput(), status=201, tier="messages", when=_require_on)
def appeal(project_id: int, body: dict[str, Any]) -> Any:
    """Ask for another look at the rejection of a project or of changes of it, or at its unpublishing.

    Another person than the one who decided settles the appeal. It is possible once for each decision, within 180 days,
    and not after an edit or another decision. Until the outcome the project waits for nothing else, and does not close.
    Any other decision, and an edit or a withdrawal by the owner, end the appeal without an outcome.
    """
    require_verified("submit")
    return appeals.appeal(project_id, **body, by=caller(), notify=subscribers(), naming=shows_reviewers())


@review.put("/projects/<id:project_id>/appeal")
@reviewer_required
@decides
@documented(raises=(AppealNotPossible, NoAppeal, OwnDecision, OwnSubmission, PreconditionFailed))
@operation(body=JsonBody(OutcomeInput()), answer=ReviewedProject(), when=_require_some)
def settle_appeal(project_id: int, body: dict[str, Any]) -> Any:
    """Settle the open appeal about a project: uphold the decision, or reverse it. One person is enough.

    The person who made the decision may not settle the appeal, unless nobody else may. If a rejection is reversed, the
    project or revision waits for review again, at its old place. If an unpublishing is reversed, the project is live
    again, and webhooks get an approval; if it is upheld, the project waits for its owner again. The owner gets the
    outcome and the reason by mail.
    The same outcome again changes nothing. What was appealed while APPEALS was on can be settled after it is off.
    """
    config = current_app.config
    appeals.settle(
        project_id, **body, by=caller(), notify=subscribers(), is_on=are_on(), versions=versions_allowed(),
        self_review=config["SELF_REVIEW"], answer_within=case.within(config["CHANGES_DAYS"]),
    )  # fmt: skip
    return after_decision(project_id)
