"""The routes of claims, and what the queue shows of them. CLAIM_MINUTES=0 switches them off."""

from typing import Any

from flask import Blueprint, current_app

from directory.errors import Claimed, InvalidTransition, NotFound
from directory.extras.claims import claims
from directory.extras.claims.schemas import ClaimInput, ClaimOutput
from directory.http.access import reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.validation import JsonBody
from directory.services.identity import Caller

bp = Blueprint("review", __name__, url_prefix="/api/review")


def are_on() -> bool:
    """Whether projects can be claimed."""
    return bool(current_app.config["CLAIM_MINUTES"])


def _require_on(**_path: Any) -> None:
    """Raise NotFound while claims are off."""
    if not are_on():
        raise NotFound


def narrow(queries: list[dict[str, Any]], *, by: Caller) -> None:
    """Narrow a list to the projects that the caller claims, that others claim, or that nobody claims."""
    asked = {"me": {"claimed_by": by.id}, "others": {"claimed_by_others": by.id}, "none": {"unclaimed": "true"}}
    for query in queries:
        query["added"] |= asked.get(query.get("claimed", ""), {})


def add_claims(projects: list[dict[str, Any]], *, by: Caller) -> None:
    """Add to projects who looks at each, and until when, or None."""
    held = claims.of_each([project["id"] for project in projects]) if are_on() else {}
    for project in projects:
        project["claim"] = held.get(project["id"])


def add_to_summary(answers: list[dict[str, Any]], *, by: Caller) -> None:
    """Add to the summary of the queue how much the caller claims, and whether claims are on."""
    for answer in answers:
        answer |= {"mine": claims.mine(by) if are_on() else 0, "claims": are_on()}


@bp.put("/projects/<id:project_id>/claim")
@reviewer_required
@documented(raises=(Claimed, InvalidTransition))
@operation(body=JsonBody(ClaimInput(), optional=True), answer=ClaimOutput(), when=_require_on)
def claim(project_id: int, body: dict[str, Any]) -> Any:
    """Show the other reviewers that the caller looks at a project, or renew that.

    It ends after some minutes (CLAIM_MINUTES), with a decision, an approval, or an edit by the owner. It stands in the
    way of no decision. While somebody else claims the project, the answer is `claimed`, unless `take_over` is true.
    """
    return claims.take(project_id, by=caller(), minutes=current_app.config["CLAIM_MINUTES"], **body)


@bp.delete("/projects/<id:project_id>/claim")
@reviewer_required
@operation(status=204, when=_require_on)
def release(project_id: int) -> Any:
    """End the caller's own claim, if there is one."""
    claims.release(project_id, by=caller())
