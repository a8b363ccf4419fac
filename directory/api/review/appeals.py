"""The route that settles appeals."""

from typing import Any

from flask import current_app

from directory.api.blueprints import review
from directory.api.review.projects import after_decision
from directory.api.schemas.messages import OutcomeInput
from directory.api.schemas.review import ReviewedProject
from directory.errors import AppealNotPossible, NoAppeal, OwnDecision, OwnSubmission, PreconditionFailed
from directory.http.access import decides, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.review import appeals, case


def _require_some(project_id: int) -> None:
    """Raise AppealNotPossible while appeals are off, unless one is open, or its outcome may be repeated."""
    if current_app.config["APPEALS"] == "off":
        appeals.require_one(project_id, by=caller())


@review.put("/projects/<id:project_id>/appeal")
@reviewer_required
@decides
@documented(raises=(AppealNotPossible, NoAppeal, OwnDecision, OwnSubmission, PreconditionFailed))
@operation(body=JsonBody(OutcomeInput()), answer=ReviewedProject(), when=_require_some)
def settle_appeal(project_id: int, body: dict[str, Any]) -> Any:
    """Settle the open appeal about a project: uphold the decision, or reverse it. One person is enough.

    Who made the decision may not, unless nobody else may. A rejected project or revision whose rejection is reversed
    waits again at its old place; an unpublished project is live again, which webhooks learn as an approval. If an
    unpublishing is upheld, the project waits for its owner again. The owner gets the outcome and the reason by mail.
    The same outcome again changes nothing. What was appealed while APPEALS was on can be settled after it is off.
    """
    appeals.settle(project_id, **body, by=caller(), versions=versions_allowed(), **_rules())
    return after_decision(project_id)


def _rules() -> dict[str, Any]:
    """The settings that an outcome goes by."""
    config = current_app.config
    return {
        "notify": subscribers(),
        "is_on": config["APPEALS"] == "on",
        "self_review": config["SELF_REVIEW"],
        "answer_within": case.within(config["CHANGES_DAYS"]),
    }
