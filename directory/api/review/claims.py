"""The routes of claims: a reviewer shows the others that they look at a project. CLAIM_MINUTES=0 switches them off."""

from typing import Any

from flask import current_app

from directory.api.blueprints import review
from directory.api.schemas.review import ClaimInput, ClaimOutput
from directory.errors import Claimed, InvalidTransition
from directory.http.access import require_claims, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.validation import JsonBody
from directory.services.review import claims


@review.put("/projects/<id:project_id>/claim")
@reviewer_required
@documented(raises=(Claimed, InvalidTransition))
@operation(body=JsonBody(ClaimInput(), optional=True), answer=ClaimOutput(), when=require_claims)
def claim(project_id: int, body: dict[str, Any]) -> Any:
    """Show the other reviewers that the caller looks at a project, or renew that.

    It ends after some minutes (CLAIM_MINUTES), with a decision, an approval, or an edit by the owner. It stands in the
    way of no decision. While somebody else claims the project, the answer is `claimed`, unless `take_over` is true.
    """
    minutes = current_app.config["CLAIM_MINUTES"]
    return claims.take(project_id, by=caller(), minutes=minutes, take_over=body.get("take_over", False))


@review.delete("/projects/<id:project_id>/claim")
@reviewer_required
@operation(status=204, when=require_claims)
def release(project_id: int) -> Any:
    """End the caller's own claim, if there is one."""
    claims.release(project_id, by=caller())
